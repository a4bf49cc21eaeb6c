use scheduler::scheduled;

#[scheduled(fixed_rate = "5s", timeout = "0s", jitter = 0)]
fn none() {}

fn main() {}
