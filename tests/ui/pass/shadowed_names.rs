//! Familiar names mean something else here.

#![deny(warnings)]

use scheduler::scheduled;

#[allow(dead_code)]
mod taken {
    pub(crate) struct Result;
    pub(crate) struct Option;
    pub(crate) struct Box;
    pub(crate) struct Vec;
    pub(crate) struct String;
    pub(crate) struct Entry;
    pub(crate) trait Send {}
    pub(crate) trait Into {}
}
#[allow(unused_imports)]
use taken::*;

mod core {}
mod std {}

#[scheduled(fixed_rate = "1s")]
fn plain() {}

#[scheduled(cron = "0 0 6 * * *")]
async fn waits() -> ::std::result::Result<(), ::std::fmt::Error> {
    Ok(())
}

fn main() {
    assert_eq!(scheduler::entries().len(), 2);
}
