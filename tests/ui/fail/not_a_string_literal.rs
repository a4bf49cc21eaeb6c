use scheduler::scheduled;

const EVERY: &str = "5s";

#[scheduled(fixed_rate = EVERY)]
fn constant() {}

#[scheduled(fixed_rate = concat!("5", "s"))]
fn macro_call() {}

#[scheduled(fixed_rate = 5s)]
fn without_quotes() {}

#[scheduled(fixed_rate = 1.5)]
fn fraction() {}

#[scheduled(cron = 5)]
fn number() {}

#[scheduled(cron = b"0 0 9 * * *")]
fn bytes() {}

#[scheduled(cron = "0 0 9 " "* * *")]
fn two_strings() {}

#[scheduled(cron = ["0 0 9 * * *"])]
fn array() {}

#[scheduled(fixed_rate = 0s)]
fn zero() {}

#[scheduled(fixed_rate = "5s", retry(max = 3.5))]
fn half_an_attempt() {}

#[scheduled(fixed_rate = "5s", retry(max = LIMIT))]
fn attempts_of_a_constant() {}

fn main() {}
