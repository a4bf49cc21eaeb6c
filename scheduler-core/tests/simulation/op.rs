//! Operations on a pool as data: a seed becomes a list, which can be shortened.
//!
//! Whatever an operation picks, it picks by a number modulo what there is, so that it still means
//! something when operations before it are left out.

use super::words::{Due, Now, Rhythm, Shape};
use scheduler_core::ShutdownPolicy;

/// The pick that means the task whose body does this.
pub(crate) const MYSELF: u64 = u64::MAX;

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Client(ClientOp),
    /// A worker that is ready takes a step, or one that has been busy for long enough ends its run;
    /// if there is none, time jumps to the next event.
    Work(u64),
    /// A worker that was not woken takes a step.
    SpuriousStep(u64),
    /// A run ends before its drawn instant.
    FinishEarly(u64),
    /// Every worker that is ready takes steps until none is.
    Settle,
    Advance(u64),
    /// To the next due time, deadline or end of a run.
    JumpToNext,
    StepWall(i64),
    Suspend(u64),
    /// The next workers that the pool wants are refused.
    Refuse(u64),
}

/// An operation of a client; a body can perform it, too.
#[derive(Clone, Debug)]
pub(crate) enum ClientOp {
    Submit(Box<Blueprint>),
    Cancel { pick: u64, interrupts: bool },
    Wake { pick: u64, keeps_waker: bool },
    AskToStop(u64),
    MakeTimer(Box<TimerScript>),
    Arm { pick: u64, when: When },
    Disarm(u64),
    Remove(u64),
    Purge,
    DropHeld(u64),
    RunHeld(u64),
    SetCoreSize(usize),
    SetKeepAlive(u64),
    SetCoreMayTimeOut(bool),
    SetRemoveOnCancel(bool),
    SetPolicy(ShutdownPolicy),
    Prestart,
    Shutdown,
    ShutdownNow,
    DropPool,
}

/// A task before it is submitted.
#[derive(Clone, Debug)]
pub(crate) struct Blueprint {
    pub(crate) shape: Shape,
    pub(crate) rhythm: Rhythm,
    /// Nanoseconds; the greatest means never.
    pub(crate) delay: u64,
    pub(crate) survives_failure: bool,
    pub(crate) script: Script,
}

/// The behaviour of a body in its runs: a function of the seed and the run's number.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) seed: u64,
    pub(crate) panics_percent: u64,
    pub(crate) errors_percent: u64,
    /// The most polls of a run that are pending.
    pub(crate) polls_max: u64,
    /// True if the destructor of the body panics.
    pub(crate) is_bomb: bool,
    /// The operation that some runs perform on the pool from inside.
    pub(crate) deed: Option<ClientOp>,
}

/// When a timer is to fire.
#[derive(Clone, Copy, Debug)]
pub(crate) enum When {
    /// So many nanoseconds from now; the greatest number means never.
    In(u64),
    Ago(u64),
    /// When the wall clock shows so much more than now, or has shown so much less.
    Wall(i64),
    /// At the time that it is armed for already.
    Same,
}

impl When {
    pub(crate) fn due(self, now: Now, present: Option<Due>) -> Due {
        match self {
            Self::In(nanos) => Due::Tick(now.tick.saturating_add(nanos)),
            Self::Ago(nanos) => Due::Tick(now.tick.saturating_sub(nanos)),
            Self::Wall(nanos) => Due::Wall(now.wall.saturating_add(nanos)),
            Self::Same => present.unwrap_or(Due::Tick(now.tick)),
        }
    }
}

/// The behaviour of a timer when it fires: a function of the seed and the firing's number.
#[derive(Clone, Debug)]
pub(crate) struct TimerScript {
    pub(crate) seed: u64,
    pub(crate) panics_percent: u64,
    /// The chance that it arms itself again: when it fires, when that is over, when the clock was set back.
    pub(crate) rearms_percent: u64,
    /// The times for which it does.
    pub(crate) whens: Vec<When>,
    /// The operation that some firings perform on the pool from inside.
    pub(crate) deed: Option<ClientOp>,
}
