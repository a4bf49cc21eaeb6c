use scheduler::scheduled;

#[scheduled(fixed_rate = "1s")]
fn tick(#[payload] _it: u8) {}

fn main() {}
