use scheduler::scheduled;

#[scheduled(fixed_rate = "5s", fixed_rate = "6s")]
fn trigger() {}

#[scheduled(fixed_rate = "5s", name = "a", name = "b")]
fn name() {}

fn main() {}
