//! A run as its conductor sees it, which begins it, asks it to stop, and declares it over.

use std::sync::Arc;

use scheduler_core::ScheduledThreadPool;
use scheduler_core::Tick;
use scheduler_core::WallTime;

use super::Cause;
use super::Run;
use super::attempt::Attempt;
use super::attempt::AttemptStart;
use super::attempt::Facts;
use super::attempt::Place;
use super::current;
use super::stop::StopCause;

impl Run {
    /// An attempt of a run that begins now.
    pub(crate) fn begin(place: Place<'_>, start: &AttemptStart<'_>) -> Self {
        Self { attempt: Arc::new(Attempt::new(place, start)) }
    }

    /// Makes this run, which is over, another run of its task at the same place, and says whether it
    /// could: nobody else may have kept it.
    pub(crate) fn begin_anew(&mut self, start: &AttemptStart<'_>) -> bool {
        Arc::get_mut(&mut self.attempt).map(|attempt| attempt.renew(start)).is_some()
    }

    /// A run that takes place nowhere, for tests of code that is told of runs.
    #[cfg(test)]
    pub(crate) fn new(facts: Facts) -> Self {
        Self { attempt: Arc::new(Attempt::nowhere(facts)) }
    }

    /// A run outside of any scheduler.
    pub(crate) fn detached(task: &str) -> Self {
        let facts = Facts {
            task: task.into(),
            number: 1,
            attempt: 1,
            cause: Cause::Manual,
            fire_time: WallTime::from_nanos(0),
            started_at: WallTime::from_nanos(0),
        };
        Self { attempt: Arc::new(Attempt::nowhere(facts)) }
    }

    /// Calls `step` with this run as the [`current`](Self::current) one.
    pub(crate) fn enter<R>(self, step: impl FnOnce(&Self) -> R) -> R {
        current::enter(self, step)
    }

    /// Makes the request to stop, and says whether it was not made before. To be followed, with no
    /// lock held, by [`heed_stop`](Self::heed_stop).
    pub(crate) fn request_stop(&self, cause: StopCause) -> bool {
        self.attempt.stop.ask(cause)
    }

    /// Ends the waits of a run that was asked to stop, and has its future polled once more.
    pub(crate) fn heed_stop(&self) {
        if let Some(stage) = &self.attempt.stage {
            stage.engine().ask_to_stop();
        }
    }

    /// Whether the pool has asked the run to stop, because it shuts down. The time it has left is no part of
    /// that: whether it was over when the run ended is judged by the time of its end.
    pub(crate) fn is_stopped_by_pool(&self) -> bool {
        let stage = self.attempt.stage.as_ref();
        self.stop_cause().is_none() && stage.is_some_and(|stage| stage.engine().is_cancelled())
    }

    /// Gives an attempt this deadline, before its body is called.
    pub(crate) fn set_deadline(&self, deadline: Option<Tick>) {
        if let Some(stage) = &self.attempt.stage {
            stage.set_deadline(deadline);
        }
    }

    /// The attempt goes on as the task of the engine that the calling thread executes.
    pub(crate) fn goes_on(&self) {
        if let Some(stage) = &self.attempt.stage {
            stage.go_on();
        }
    }

    /// Why the run was asked to stop, where it was.
    pub(crate) fn stop_cause(&self) -> Option<StopCause> {
        self.attempt.stop.cause()
    }

    /// Whether it takes place in this pool.
    pub(crate) fn is_in(&self, pool: &Arc<ScheduledThreadPool>) -> bool {
        let stage = self.attempt.stage.as_ref();
        stage.is_some_and(|stage| std::ptr::addr_eq(stage.pool.as_ptr(), Arc::as_ptr(pool)))
    }

    pub(crate) fn is_same_attempt(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.attempt, &other.attempt)
    }

    /// Its fire time, as numbers.
    pub(crate) fn planned_for(&self) -> WallTime {
        self.attempt.facts.fire_time
    }

    /// Takes the notes out, for the record or the next attempt.
    pub(crate) fn take_notes(&self) -> Vec<Box<str>> {
        self.attempt.notes.take()
    }

    /// Gives a new attempt the notes of the one before.
    pub(crate) fn keep_notes(&self, kept: Vec<Box<str>>) {
        self.attempt.notes.keep(kept);
    }
}
