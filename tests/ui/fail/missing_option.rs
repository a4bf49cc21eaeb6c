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

#[scheduled("-5s")]
fn negative() {}

#[scheduled("0 9 * * *")]
fn without_seconds() {}

#[scheduled("0 0 25 * * *")]
fn wrong_expression() {}

#[scheduled("0 0,5,10,15,20,25,30,35,40,45,50,55 9 * * MON-FRI")]
fn long() {}

fn main() {}
