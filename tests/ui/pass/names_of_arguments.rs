//! Arguments, types and constants may have the names of generated code.

#![deny(warnings)]
#![allow(non_camel_case_types, non_upper_case_globals)]

use scheduler::scheduled;

struct scheduler_private;
struct ScheduledType;
const SCHEDULED_ENTRY: usize = 2;

#[allow(dead_code)]
mod constants {
    pub(crate) const resolver: u8 = 0;
    pub(crate) const run: u8 = 0;
    pub(crate) const value: u8 = 0;
    pub(crate) const a0: u8 = 0;
}
#[allow(unused_imports)]
use constants::*;

#[scheduled(fixed_rate = "1s")]
fn types(_: &scheduler_private, _: &ScheduledType, _: &[u8; SCHEDULED_ENTRY]) {}

#[scheduled(fixed_rate = "1s")]
async fn scheduled_a0(_scheduled_run: &scheduler_private, _scheduled_a1: Option<&u8>) {}

#[scheduled]
impl ScheduledType {
    #[scheduled(fixed_rate = "1s")]
    fn scheduled_value(&self, _: &Self) {}
}

fn main() {
    let _ = (scheduler_private, ScheduledType, SCHEDULED_ENTRY);
    assert_eq!(scheduler::__private::entries().len(), 3);
}
