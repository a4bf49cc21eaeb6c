use scheduler::scheduled;

#[scheduled(fixed_rate = "5s", crate = "scheduler")]
fn text() {}

#[scheduled(fixed_rate = "5s", crate)]
fn nothing() {}

fn main() {}
