use scheduler::scheduled;

#[scheduled(cron = "0 0 9 * * *", zone = "Europe/Belrin")]
fn misspelt() {}

#[scheduled(cron = "0 0 9 * * *", zone = "Mars/Olympus_Mons")]
fn unknown() {}

fn main() {}
