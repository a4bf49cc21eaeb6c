use scheduler::scheduled;

#[scheduled(fixed_rate = "5s")]
fn one(_: impl std::fmt::Display) {}

#[scheduled(fixed_rate = "5s")]
fn two(_: &(impl Send + Sync), _: Option<&impl Iterator<Item = u8>>) {}

#[scheduled(fixed_rate = "5s")]
fn three(_: scheduler::State<impl Send>) {}

#[scheduled(fixed_rate = "5s")]
fn four(_: Option<impl Mail>, _: Option<impl Send>, _: impl Mail + Other) {}

trait Mail: Send + Sync {}
trait Other {}

fn main() {}
