use scheduler::scheduled;

#[scheduled(fixed_rate = "5s", jitter = "5s")]
fn as_long() {}

#[scheduled(fixed_rate = "${every:1m}", jitter = 2, time_unit = "minutes")]
fn longer_than_default() {}

fn main() {}
