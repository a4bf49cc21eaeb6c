use scheduler::scheduled;

#[scheduled(cron = "0 0 9 * * *", time_unit = "seconds")]
fn cron() {}

fn main() {}
