use scheduler::scheduled;

#[scheduled(cron)]
fn nothing() {}

#[scheduled(cron =)]
fn nothing_after_equals() {}

#[scheduled(cron("0 0 9 * * *"))]
fn parentheses() {}

#[scheduled(cron: "0 0 9 * * *")]
fn colon() {}

#[scheduled(cron == "0 0 9 * * *")]
fn comparison() {}

fn main() {}
