use scheduler::scheduled;

struct Cache;

#[scheduled(fixed_rate = "5s")]
fn one(_cache: &mut Cache) {}

#[scheduled(fixed_rate = "5s")]
async fn two(_cache: Option<&mut Vec<Cache>>) {}

#[scheduled(fixed_rate = "5s")]
fn slice(_bytes: &mut [u8]) {}

fn main() {
    one(&mut Cache);
    let _ = two(None);
}
