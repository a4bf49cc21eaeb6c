use scheduler::scheduled;

#[scheduled("0 0 9 * * *")]
fn expression() {}

#[scheduled("5s")]
fn duration() {}

#[scheduled(5)]
fn number() {}

#[scheduled(fixed_rate = "5s",, name = "a")]
fn two_commas() {}

#[scheduled(,)]
fn only_a_comma() {}

#[scheduled(scheduler::cron = "0 0 9 * * *")]
fn path() {}

fn main() {}
