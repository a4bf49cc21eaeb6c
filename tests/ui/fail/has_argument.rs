use scheduler::scheduled;

#[scheduled(fixed_rate = "5s")]
fn one(_inbox: &str) {}

#[scheduled(fixed_rate = "5s")]
async fn two(_: u8, (_b, _c): (u8, u8)) {}

fn main() {}
