#![deny(warnings)]

use scheduler::{Attribute, scheduled};

#[scheduled(
    cron = "0 30 2 * * *",
    zone = "Europe/Berlin",
    name = "nightly",
    time_unit = "SECONDS",
    pool = "io",
    enabled = false,
    jitter = 30,
    timeout = "5m",
    overlap = "queue_one",
    misfire = "catch_up",
    on_error = "stop",
    until = "2099-01-01T00:00:00Z",
    max_runs = 5,
    skip_days = "holidays",
    tags = ["billing", "nightly"],
    retry(max = 3, base = 2, cap = "30s"),
    dst_gap = "run_after",
    dst_overlap = "first",
    crate = ::scheduler,
)]
fn nightly() {}

#[scheduled(fixed_rate = "1s", overlap = "allow", max_concurrent = 4, misfire = "skip", jitter = "999ms", enabled = true)]
fn rate() {}

#[scheduled(fixed_delay = "1s", initial_delay = "0s", jitter = "1m", on_error = "continue", retry(max = 1))]
fn delay() {}

#[scheduled(initial_delay = "1s", jitter = "1m", timeout = "1s", retry(max = "2", cap = "30s",))]
fn once() {}

#[scheduled(at = "2099-01-01T00:00:00+01:00", tags = "billing")]
fn at() {}

fn main() {
    let entries = scheduler::__private::entries();
    assert_eq!(entries.len(), 5);
    for (attribute, text) in [
        (Attribute::Enabled, "false"),
        (Attribute::TimeUnit, "SECONDS"),
        (Attribute::Jitter, "30"),
        (Attribute::RetryMax, "3"),
        (Attribute::RetryBase, "2"),
        (Attribute::RetryCap, "30s"),
        (Attribute::DstOverlap, "first"),
        (Attribute::MaxRuns, "5"),
        (Attribute::Tags, "billing, nightly"),
    ] {
        assert_eq!(entries[0].attribute(attribute), Some(text));
    }
    assert_eq!(entries[0].attributes.len(), 19);
    assert_eq!(entries[1].attribute(Attribute::Enabled), Some("true"));
    assert_eq!(entries[2].attribute(Attribute::RetryMax), Some("1"));
}
