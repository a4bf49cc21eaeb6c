//! The rules and policies of schedules, as the program knows them.

use std::fmt;
use std::time::Duration;

pub use scheduler_expr::Misfire;
use scheduler_store::{Next, StoreTime, StoredSchedule};

/// A tick is *missed* when the next one has come too, or when it is later than that.
pub const LATE: Duration = Duration::from_secs(60);

/// The treatment of a schedule's ticks that the store leaves to the processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Policy {
    /// The rule for ticks that were missed.
    pub misfire: Misfire,
    /// The greatest age of a missed tick that [`Misfire::CatchUp`] runs; none for any age.
    pub window: Option<Duration>,
    /// A job is due later than its tick by a part of this, which follows from the schedule's name and the tick.
    pub jitter: Duration,
    /// Ticks after this instant do not fire.
    pub until: Option<StoreTime>,
}

/// The rules of schedules, as the program understands them.
pub trait Rules: Send + Sync + fmt::Debug {
    /// Returns why this process cannot compute the ticks of a schedule: then it leaves them to others.
    ///
    /// # Errors
    ///
    /// The rule is of a newer build, or names what this process does not have.
    fn check(&self, schedule: &StoredSchedule) -> Result<(), String>;

    /// The first tick after an instant, of a rule whose timing is computed: [`Next::At`] or [`Next::Never`]. It has to be
    /// the same in each process with the same calculator, and is asked only of rules that pass [`check`](Self::check).
    fn next_after(&self, rule: &str, after: StoreTime) -> Next;

    /// The policy of a schedule.
    fn policy(&self, schedule: &StoredSchedule) -> Policy;
}
