//! The programs of the README and of the attributes' manual, as doctests.

#[cfg(all(doctest, feature = "sqlite"))]
#[doc = include_str!("../README.md")]
pub struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../scheduler-macros/src/manual.md")]
pub struct Scheduled;

#[cfg(doctest)]
#[doc = include_str!("../scheduler-macros/src/job.md")]
pub struct Job;
