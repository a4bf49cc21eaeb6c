use scheduler::scheduled;

#[scheduled(cron = "0 0 25 * * MON-FRI")]
fn hour() {}

#[scheduled(cron = "0 0 9 * JAN-FOO *")]
fn month() {}

#[scheduled(cron = r"0	60 9 * * *")]
fn raw_string_with_tab() {}

fn main() {}
