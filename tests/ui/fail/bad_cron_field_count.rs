use scheduler::scheduled;

#[scheduled(cron = "0 9 * * MON-FRI")]
fn crontab() {}

#[scheduled(cron = "0 0 9 * * MON-FRI 2030")]
fn with_year() {}

fn main() {}
