//! What a run is made of.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::Weak;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Duration;

use scheduler_core::Clock;
use scheduler_core::ScheduledThreadPool;
use scheduler_core::Tick;
use scheduler_core::WallTime;

use super::Cause;
use super::notes::Notes;
use super::stop::Stop;

/// One attempt of a run.
pub(super) struct Attempt {
    pub(super) facts: Facts,
    /// When it was due: its fire time, and jitter.
    pub(super) due: WallTime,
    /// None outside of any scheduler.
    pub(super) stage: Option<Stage>,
    pub(super) stop: Stop,
    pub(super) notes: Notes,
}

/// What is known of a run when it starts.
pub(crate) struct Facts {
    pub(crate) task: Arc<str>,
    pub(crate) number: u64,
    pub(crate) attempt: u32,
    pub(crate) cause: Cause,
    pub(crate) fire_time: WallTime,
    pub(crate) started_at: WallTime,
}

/// Where a run takes place.
pub(super) struct Stage {
    /// The run as the engine sees it.
    firing: scheduler_core::Run,
    /// The same for a future that goes on as a task of the engine.
    continued: OnceLock<scheduler_core::Run>,
    /// RACE: weak, because a run may be kept by its task, and must not keep the pool from ending.
    pub(super) pool: Weak<ScheduledThreadPool>,
    clock: Arc<dyn Clock>,
    /// When the time of this attempt is over. All workers may be busy when it is, and then nobody asks
    /// the run to stop.
    deadline: AtomicU64,
}

/// Where all runs of a task take place.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) task: &'a Arc<str>,
    pub(crate) pool: &'a Weak<ScheduledThreadPool>,
    pub(crate) clock: &'a Arc<dyn Clock>,
}

/// An attempt that starts.
#[derive(Clone, Copy)]
pub(crate) struct AttemptStart<'a> {
    pub(crate) number: u64,
    pub(crate) attempt: u32,
    pub(crate) cause: Cause,
    pub(crate) fire_time: WallTime,
    pub(crate) due: WallTime,
    pub(crate) deadline: Option<Tick>,
    pub(crate) engine: &'a scheduler_core::Run,
}

impl Attempt {
    /// One that takes place nowhere.
    pub(super) fn nowhere(facts: Facts) -> Self {
        let (stop, notes) = (Stop::default(), Notes::default());
        Self { due: facts.fire_time, facts, stage: None, stop, notes }
    }

    pub(super) fn new(place: Place<'_>, start: &AttemptStart<'_>) -> Self {
        let facts = Facts {
            task: Arc::clone(place.task),
            number: start.number,
            attempt: start.attempt,
            cause: start.cause,
            fire_time: start.fire_time,
            started_at: start.engine.started().wall,
        };
        let stage = Stage {
            firing: start.engine.clone(),
            continued: OnceLock::new(),
            pool: Weak::clone(place.pool),
            clock: Arc::clone(place.clock),
            deadline: AtomicU64::new(start.deadline.unwrap_or(Tick::MAX).as_nanos()),
        };
        Self { due: start.due, stage: Some(stage), ..Self::nowhere(facts) }
    }

    /// Becomes another attempt at the same place.
    pub(super) fn renew(&mut self, start: &AttemptStart<'_>) {
        let facts = &mut self.facts;
        facts.number = start.number;
        facts.attempt = start.attempt;
        facts.cause = start.cause;
        facts.fire_time = start.fire_time;
        facts.started_at = start.engine.started().wall;
        self.due = start.due;
        if let Some(stage) = &mut self.stage {
            stage.firing.clone_from(start.engine);
            drop(stage.continued.take());
            *stage.deadline.get_mut() = start.deadline.unwrap_or(Tick::MAX).as_nanos();
        }
        self.stop = Stop::default();
        self.notes.clear();
    }
}

impl Stage {
    /// The run as the engine sees it at present.
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

    /// How long this attempt may take still.
    pub(super) fn left(&self) -> Duration {
        // ORDERING: relaxed; it is set before the attempt begins, on its thread.
        let deadline = Tick::from_nanos(self.deadline.load(Ordering::Relaxed));
        if deadline == Tick::MAX { Duration::MAX } else { deadline.since(self.clock.now()) }
    }

    pub(super) fn set_deadline(&self, deadline: Option<Tick>) {
        self.deadline.store(deadline.unwrap_or(Tick::MAX).as_nanos(), Ordering::Relaxed);
    }
}
