//! Reads any text as a settings file and applies it to tasks.
//!
//! No panic, each message on as many lines as it is meant to have, and a report of every value.
#![cfg_attr(fuzzing, no_main)]

use scheduler::{Attribute, Pool, Schedule, Scheduler};

pub fn check(text: &str) {
    let report = Schedule::cron("${own.cron:@daily}");
    let purge = || Schedule::fixed_delay("5s");
    let until = Schedule::default().set(Attribute::Until, "${own.until:2099-01-01T00:00:00Z}");
    let builder = Scheduler::builder()
        .task("shop::jobs::report", report, |_| {})
        .task("shop::purge", purge(), |_| {})
        .task("other::purge", purge(), |_| {})
        .pool("io", Pool::new())
        .zone("UTC")
        .defaults(until)
        .set("tasks.purge.timeout", "${own.timeout:1s}")
        .environment([("SCHEDULER_TASKS_REPORT_JITTER", "${own.jitter:1s}")])
        .settings("s.toml", text)
        .messages(|_| {});
    match builder.dry_run() {
        Ok(report) => assert!(!report.to_string().contains('\x1b'), "{report}"),
        Err(error) => {
            for fault in error.faults() {
                assert!(fault.lines().count() <= 8, "{fault}");
                assert!(!fault.chars().any(|c| c.is_control() && c != '\n'), "{fault}");
            }
        }
    }
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|text: &str| check(text));
