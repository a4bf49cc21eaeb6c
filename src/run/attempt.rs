//! One attempt of a run, and its execution.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use scheduler_core::{Clock, ScheduledThreadPool, Tick, WallTime};

use super::cause::Cause;
use super::job::ClaimedJob;
use super::notes::Notes;
use super::poll::Polls;
use super::stop::Stop;
use crate::base::metadata::TaskFacts;

/// One attempt of a run.
pub(crate) struct Attempt {
    pub(crate) task: Arc<TaskFacts>,
    pub(crate) number: u64,
    pub(crate) attempt: u32,
    pub(crate) max_attempts: u32,
    pub(crate) cause: Cause,
    pub(crate) fire_time: WallTime,
    /// The fire time plus jitter, or the end of the wait after the attempt before.
    pub(crate) due: WallTime,
    pub(crate) started_at: WallTime,
    /// `None` outside of any scheduler.
    pub(crate) execution: Option<Execution>,
    pub(crate) stop: Stop,
    pub(crate) notes: Notes,
    /// Of a future.
    pub(crate) polls: Polls,
    /// The job that runs.
    pub(crate) claimed: Option<Arc<ClaimedJob>>,
}

/// The execution of an attempt.
pub(crate) struct Execution {
    /// The run as the engine sees it.
    firing: scheduler_core::Run,
    /// The same for a future that goes on as a task of the engine.
    continued: OnceLock<scheduler_core::Run>,
    /// RACE: weak, because a run may be kept by its task, and must not keep the pool from ending.
    pub(super) pool: Weak<ScheduledThreadPool>,
    pub(super) clock: Arc<dyn Clock>,
    /// When the time of this attempt is over, in nanoseconds. All workers may be busy then, so that no thread asks the run to
    /// stop.
    deadline: AtomicU64,
}

impl Attempt {
    /// One outside of any scheduler.
    pub(crate) fn detached(task: Arc<TaskFacts>) -> Self {
        let zero = WallTime::from_nanos(0);
        Self {
            task,
            number: 1,
            attempt: 1,
            max_attempts: 1,
            cause: Cause::Manual,
            fire_time: zero,
            due: zero,
            started_at: zero,
            execution: None,
            stop: Stop::default(),
            notes: Notes::default(),
            polls: Polls::default(),
            claimed: None,
        }
    }

    /// The attempt of a claimed job.
    pub(crate) fn of_job(task: Arc<TaskFacts>, claimed: &Arc<ClaimedJob>) -> Self {
        let job = claimed.job();
        #[cfg(not(feature = "durable"))]
        match (*job, task) {}
        #[cfg(feature = "durable")]
        {
            let tick = job.origin.as_ref().map(|origin| origin.tick);
            Self {
                attempt: job.attempt,
                max_attempts: job.max_attempts,
                cause: match tick {
                    None => Cause::Job,
                    Some(None) => Cause::Manual,
                    Some(Some(_)) => Cause::Schedule,
                },
                fire_time: tick.flatten().unwrap_or(job.run_at).utc().into(),
                due: job.run_at.utc().into(),
                claimed: Some(Arc::clone(claimed)),
                ..Self::detached(task)
            }
        }
    }

    #[cfg(test)]
    pub(super) fn of(info: &super::info::RunInfo, task: Arc<TaskFacts>) -> Self {
        Self {
            number: info.number,
            attempt: info.attempt,
            max_attempts: info.max_attempts,
            cause: info.cause,
            fire_time: info.fire_time.into(),
            due: info.due.into(),
            started_at: info.started_at.into(),
            ..Self::detached(task)
        }
    }
}

impl Execution {
    /// An execution in a firing of the engine.
    pub(crate) fn new(
        firing: &scheduler_core::Run,
        pool: &Weak<ScheduledThreadPool>,
        clock: &Arc<dyn Clock>,
        deadline: Option<Tick>,
    ) -> Self {
        Self {
            firing: firing.clone(),
            continued: OnceLock::new(),
            pool: Weak::clone(pool),
            clock: Arc::clone(clock),
            deadline: AtomicU64::new(nanos(deadline)),
        }
    }

    /// Returns the run as the engine sees it at present.
    pub(super) fn engine(&self) -> &scheduler_core::Run {
        self.continued.get().unwrap_or(&self.firing)
    }

    /// The attempt goes on as the task of the engine that the calling thread executes.
    pub(super) fn go_on(&self) {
        if self.continued.get().is_none()
            && let Some(run) = scheduler_core::Run::current()
        {
            drop(self.continued.set(run));
        }
    }

    /// Returns how long the attempt may still take.
    pub(super) fn left(&self) -> Duration {
        // ORDERING: relaxed; it is set before the attempt begins, on its thread.
        let deadline = Tick::from_nanos(self.deadline.load(Ordering::Relaxed));
        if deadline == Tick::MAX { Duration::MAX } else { deadline.since(self.clock.now()) }
    }

    pub(super) fn set_deadline(&self, deadline: Option<Tick>) {
        // ORDERING: relaxed, see `left`.
        self.deadline.store(nanos(deadline), Ordering::Relaxed);
    }
}

fn nanos(deadline: Option<Tick>) -> u64 {
    deadline.unwrap_or(Tick::MAX).as_nanos()
}
