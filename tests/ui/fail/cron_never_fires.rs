use scheduler::scheduled;

#[scheduled(cron = "0 0 0 30 2 *")]
fn thirtieth_of_february() {}

fn main() {}
