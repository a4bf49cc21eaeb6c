use scheduler::scheduled;

#[scheduled(fixed_rate = "1000")]
fn text() {}

#[scheduled(fixed_delay = 1000)]
fn number() {}

#[scheduled(fixed_rate = "5s", timeout = 30)]
fn limit() {}

fn main() {}
