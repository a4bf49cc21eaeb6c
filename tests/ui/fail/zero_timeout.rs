use scheduler::scheduled;

#[scheduled(fixed_rate = "5s", timeout = "0s", jitter = "0s")]
fn none() {}

fn main() {}
