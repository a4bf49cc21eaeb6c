use scheduler::scheduled;

#[scheduled]
fn bare() {}

#[scheduled()]
fn empty() {}

#[scheduled(name = "nightly")]
fn only_a_name() {}

#[scheduled(time_unit = "seconds")]
fn only_a_unit() {}

fn main() {}
