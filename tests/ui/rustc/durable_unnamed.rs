#![deny(warnings)]

use scheduler::scheduled;

#[scheduled(cron = "0 0 3 * * *", zone = "UTC", durable)]
fn nightly() {}

#[scheduled(cron = "0 0 4 * * *", zone = "UTC", durable, name = "named")]
fn named() {}

fn main() {}
