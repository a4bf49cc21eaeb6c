use scheduler::scheduled;

#[scheduled(fixed_rate = "5s", retry(base = "1s"))]
fn base() {}

fn main() {}
