use scheduler::scheduled;

#[scheduled(cron = "")]
fn cron() {}

#[scheduled(fixed_rate = "")]
fn rate() {}

#[scheduled(cron = "0 0 9 * * *", zone = "")]
fn zone() {}

fn main() {}
