use scheduler::scheduled;

#[scheduled(fixed_rate = "5s")]
fn one(_: impl std::fmt::Display) {}

#[scheduled(fixed_rate = "5s")]
fn two(_: &(impl Send + Sync), _: Option<&impl Iterator<Item = u8>>) {}

fn main() {}
