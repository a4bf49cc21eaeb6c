use scheduler::scheduled;

#[scheduled(cron = "0 0 9 * * *", initial_delay = "5s")]
fn both() {}

fn main() {}
