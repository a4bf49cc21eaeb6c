use scheduler::scheduled;

#[scheduled(fixed_rate = "5s", skip_days = "holidays")]
fn rate() {}

#[scheduled(cron = "@daily", skip_days = "")]
fn nameless() {}

fn main() {}
