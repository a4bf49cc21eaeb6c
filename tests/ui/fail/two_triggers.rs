use scheduler::scheduled;

#[scheduled(fixed_rate = "5s", cron = "0 0 6 * * *")]
fn two() {}

#[scheduled(cron = "0 0 6 * * *", fixed_delay = "5s", fixed_rate = "5s")]
fn three() {}

fn main() {}
