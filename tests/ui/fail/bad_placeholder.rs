use scheduler::scheduled;

#[scheduled(cron = "0 0 ${hour * * *")]
fn open() {}

#[scheduled(fixed_rate = "${:5s}")]
fn no_key() {}

#[scheduled(fixed_rate = "5s", name = "${name:report}")]
fn name() {}

fn main() {}
