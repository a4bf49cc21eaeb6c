use scheduler::scheduled;

#[scheduled(fixed_rate = "5s")]
fn one(inbox: &str) {}

#[scheduled(fixed_rate = "5s")]
async fn two(a: u8, (b, c): (u8, u8)) {}

fn main() {}
