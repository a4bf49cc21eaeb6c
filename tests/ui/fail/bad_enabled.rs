use scheduler::scheduled;

#[scheduled(fixed_rate = "5s", enabled = "yes")]
fn text() {}

#[scheduled(fixed_rate = "5s", enabled = 0)]
fn number() {}

#[scheduled(fixed_rate = "5s", enabled = cfg!(unix))]
fn call() {}

#[scheduled(fixed_rate = "5s", disabled = true)]
fn other() {}

fn main() {}
