#![no_implicit_prelude]
#![deny(warnings)]

use ::scheduler::scheduled;

#[scheduled(fixed_rate = "1s", initial_delay = "2s")]
fn plain() {}

#[scheduled(initial_delay = 1, time_unit = "minutes")]
async fn waits() {}

fn main() {
    ::std::assert_eq!(::scheduler::__private::entries().len(), 2);
}
