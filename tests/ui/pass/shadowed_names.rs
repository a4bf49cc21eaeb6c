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

/// Methods that everything has, of the names that generated code could call.
#[allow(dead_code)]
trait OnEverything: Sized {
    fn settle(self, _days: u32) {}
    fn of(self) {}
    fn with_receiver(self) {}
    fn as_deref(self) {}
}
impl<T> OnEverything for T {}

#[allow(non_camel_case_types, dead_code)]
struct usize;

mod core {}
mod std {}

#[scheduled(fixed_rate = "1s")]
fn plain() {}

#[scheduled(cron = "0 0 6 * * *")]
async fn waits() -> ::std::result::Result<(), ::std::fmt::Error> {
    Ok(())
}

#[scheduled(fixed_rate = "1s")]
fn optional(_state: ::std::option::Option<&u8>) {}

struct Reports;

#[scheduled]
impl Reports {
    #[cfg_attr(all(), scheduled(fixed_rate = "1s"))]
    #[cfg_attr(all(), scheduled(fixed_rate = "2s"))]
    fn sweep(&self) {}
}

fn main() {
    assert_eq!(scheduler::__private::entries().len(), 5);
}
