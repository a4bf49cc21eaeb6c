use scheduler::scheduled;

#[scheduled(cron = "${report.cron:0 0 25 * * *}", zone = "${zone:Berlin}")]
fn report() {}

#[scheduled(fixed_rate = "${every:5}")]
fn tick() {}

#[scheduled(fixed_rate = "${every:}", enabled = "${on:yes}")]
fn empty() {}

fn main() {}
