use scheduler::scheduled;

#[scheduled(fixed_rate = "1s", queue = "mail")]
fn alone() {}

#[scheduled(fixed_rate = "1s", durable, on_error = "stop")]
fn stops() {}

#[scheduled(cron = "@daily", durable = true, max_runs = 5)]
fn counts() {}

#[scheduled(fixed_delay = "1s", durable, misfire_window = "1h")]
fn follows() {}

#[scheduled(cron = "@daily", durable = "yes", on_lost = "retry", priority = "hihg")]
fn words() {}

fn main() {}
