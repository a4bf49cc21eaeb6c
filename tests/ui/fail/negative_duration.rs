use scheduler::scheduled;

#[scheduled(fixed_rate = "-5s")]
fn rate() {}

#[scheduled(fixed_rate = "5s", initial_delay = "-1s")]
fn initial_delay() {}

#[scheduled(fixed_delay = -1)]
fn number() {}

fn main() {}
