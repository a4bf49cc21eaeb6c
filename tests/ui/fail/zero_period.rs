use scheduler::scheduled;

#[scheduled(fixed_rate = "0s")]
fn rate() {}

#[scheduled(fixed_delay = 0, time_unit = "seconds")]
fn delay() {}

fn main() {}
