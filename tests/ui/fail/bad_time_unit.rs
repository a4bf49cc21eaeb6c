use scheduler::scheduled;

#[scheduled(fixed_rate = 5, time_unit = "secs")]
fn misspelt() {}

#[scheduled(fixed_rate = 5, time_unit = TimeUnit::SECONDS)]
fn path() {}

fn main() {}
