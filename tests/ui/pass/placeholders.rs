use scheduler::{Attribute, scheduled};

#[scheduled(cron = "${report.cron:0 0 9 * * *}", zone = "${report.zone}", enabled = "${report.enabled:true}")]
fn report() {}

#[scheduled(cron = "0 ${minute} ${hour:9} * * *", zone = "${zone:${default.zone:UTC}}")]
fn in_parts() {}

#[scheduled(cron = "${off:-}")]
fn off_by_default() {}

#[scheduled(fixed_rate = "${every:5}", time_unit = "seconds", jitter = "${jitter}", timeout = "${timeout:1m}")]
fn tick() {}

#[scheduled(fixed_delay = "${delay}", initial_delay = "${first:0s}", retry(max = "${retries:3}", base = "${base}"), pool = "${pool:io}")]
fn poll() {}

#[scheduled(fixed_rate = 5, time_unit = "${unit}")]
fn unit() {}

#[scheduled(fixed_rate = 5, jitter = "500ms", time_unit = "${unit:seconds}")]
fn unit_with_default() {}

#[scheduled(fixed_rate = "1h", retry(max = 3, base = "90s", cap = 2), time_unit = "${unit:minutes}")]
fn unit_of_cap() {}

#[scheduled(fixed_rate = 5, jitter = "500ms", timeout = "1h", retry(max = 3, base = "90s", cap = "${cap:2}"), time_unit = "${unit}")]
fn nobody_knows_the_unit() {}

fn main() {
    let entries = scheduler::__private::entries();
    assert_eq!(entries.len(), 9);
    assert_eq!(entries[0].attribute(Attribute::Cron), Some("${report.cron:0 0 9 * * *}"));
}
