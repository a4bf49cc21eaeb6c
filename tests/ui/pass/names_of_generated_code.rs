//! Functions may be called what generated code calls its own.

use scheduler::scheduled;

#[scheduled(fixed_rate = "1s")]
fn value() {}

#[scheduled(fixed_rate = "1s")]
fn __ctor() {}

#[scheduled(fixed_rate = "1s")]
#[allow(non_snake_case)]
fn __INVENTORY() {}

#[scheduled(fixed_rate = "1s")]
#[allow(non_snake_case)]
fn SCHEDULED_ENTRY() {}

#[scheduled(fixed_rate = "1s")]
fn __x() {}

#[scheduled(fixed_rate = "1s")]
fn main2() {}

#[scheduled(fixed_rate = "1s")]
fn scheduler_private() {}

#[scheduled(fixed_rate = "1s")]
async fn async_value() {}

fn main() {
    assert_eq!(scheduler::__private::entries().len(), 8);
}
