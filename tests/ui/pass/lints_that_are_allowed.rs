//! Lints that an item allows are allowed for its generated code.

#![deny(warnings)]

use scheduler::scheduled;

#[deprecated]
pub struct OldDatabase;

#[allow(deprecated)]
#[scheduled(fixed_rate = "1s")]
fn allowed(_database: &OldDatabase) {}

#[scheduled(fixed_rate = "1s")]
#[expect(deprecated, reason = "until the new one is there")]
fn expected(_database: &OldDatabase) {}

#[cfg_attr(all(), allow(deprecated))]
#[scheduled(fixed_rate = "1s")]
fn conditional(_database: Option<&OldDatabase>) {}

#[deprecated]
pub struct Old;

#[allow(deprecated)]
#[scheduled]
impl Old {
    #[scheduled(fixed_rate = "1s")]
    fn sweep(&self) {}
}

pub struct Reports;

#[scheduled]
impl Reports {
    #[expect(deprecated)]
    #[scheduled(fixed_rate = "1s")]
    fn method(&self, _database: &OldDatabase) {}

    #[cfg_attr(all(), inline, cfg_attr(all(), expect(deprecated)))]
    #[scheduled(fixed_rate = "1s")]
    fn conditional_method(&self, _database: &OldDatabase) {}
}

pub struct Others;

#[scheduled]
impl Others {
    #![allow(deprecated)]

    #[scheduled(fixed_rate = "1s")]
    fn inside(&self, _database: &OldDatabase) {}
}

mod strict {
    #![forbid(deprecated)]

    #[scheduler::scheduled(fixed_rate = "1s")]
    #[inline]
    fn nothing_old() {}
}

fn main() {
    assert_eq!(scheduler::__private::entries().len(), 8);
}
