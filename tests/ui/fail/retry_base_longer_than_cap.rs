use scheduler::scheduled;

#[scheduled(fixed_rate = "5s", retry(max = 3, base = "10s", cap = "5s"))]
fn longer() {}

#[scheduled(fixed_rate = "5s", retry(max = 3, base = "10m"))]
fn longer_than_default() {}

fn main() {}
