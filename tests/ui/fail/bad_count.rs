use scheduler::scheduled;

#[scheduled(fixed_rate = "5s", max_runs = 0)]
fn never() {}

#[scheduled(fixed_rate = "5s", overlap = "allow", max_concurrent = "many")]
fn word() {}

#[scheduled(fixed_rate = "5s", max_runs = 2.5)]
fn fraction() {}

fn main() {}
