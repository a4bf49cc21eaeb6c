//! The faults that a simulated seed can show.

use std::fmt;

/// The invariants; see the essay of the folder for what each says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Invariant {
    NeverEarly = 1,
    OneEnd,
    NoOverlap,
    Order,
    CancelMeansNoRun,
    FireTimes,
    Counts,
    Liveness,
    NothingLeft,
    Timers,
    StateForward,
    Memory,
    Events,
    ClockReads,
    /// A panic of the engine's own.
    NoPanic,
}

#[derive(Debug)]
pub(crate) struct Violation {
    pub(crate) invariant: Invariant,
    pub(crate) detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { invariant, detail } = self;
        write!(f, "I{} ({invariant:?}): {detail}", *invariant as u8)
    }
}

pub(crate) type Verdict = Result<(), Box<Violation>>;

impl Invariant {
    /// Holds, or is violated; the detail is only made up when it is.
    pub(crate) fn holds(self, holds: bool, detail: impl FnOnce() -> String) -> Verdict {
        if holds { Ok(()) } else { Err(Box::new(Violation { invariant: self, detail: detail() })) }
    }
}
