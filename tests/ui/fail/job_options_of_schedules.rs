use scheduler::job;

#[job(name = "nightly", cron = "0 0 3 * * *", zone = "UTC", durable, overlap = "skip", misfire_window = "1d")]
fn nightly() {}

fn main() {}
