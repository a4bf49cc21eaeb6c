use scheduler::scheduled;

#[scheduled(cron = "0 9 * * MON-FRI")]
fn crontab() {}

#[scheduled(cron = "0 0 9 * * MON-FRI 2030")]
fn with_year() {}

#[scheduled(cron = "0 0 25 * * MON-FRI")]
fn hour() {}

#[scheduled(cron = "0 0 9 * JAN-FOO *")]
fn month() {}

#[scheduled(cron = r"0	60 9 * * *")]
fn raw_string_with_tab() {}

#[scheduled(cron = "0 0 0 30 2 *")]
fn thirtieth_of_february() {}

fn main() {}
