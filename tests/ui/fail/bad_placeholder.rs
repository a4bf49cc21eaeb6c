use scheduler::scheduled;

#[scheduled(cron = "0 0 ${hour * * *")]
fn open() {}

#[scheduled(fixed_rate = "${:5s}")]
fn no_key() {}

#[scheduled(fixed_rate = "5s", name = "${name:report}")]
fn name() {}

#[scheduled(cron = "${report.cron:0 0 25 * * *}", zone = "${zone:Berlin}")]
fn report() {}

#[scheduled(fixed_rate = "${every:5}")]
fn tick() {}

#[scheduled(fixed_rate = "${every:}", enabled = "${on:yes}")]
fn empty() {}

fn main() {}
