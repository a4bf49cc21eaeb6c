//! What a run is made of.

use std::sync::Arc;
use std::sync::Weak;
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
    pub(super) engine: scheduler_core::Run,
    /// RACE: weak, because a run may be kept by its task, and must not keep the pool from ending.
    pub(super) pool: Weak<ScheduledThreadPool>,
    clock: Arc<dyn Clock>,
    /// When the time of this attempt is over. All workers may be busy when it is, and then nobody asks
    /// the run to stop.
    deadline: Option<Tick>,
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
pub(crate) struct Start<'a> {
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

    pub(super) fn new(place: Place<'_>, start: &Start<'_>) -> Self {
        let facts = Facts {
            task: Arc::clone(place.task),
            number: start.number,
            attempt: start.attempt,
            cause: start.cause,
            fire_time: start.fire_time,
            started_at: start.engine.started().wall,
        };
        let stage = Stage {
            engine: start.engine.clone(),
            pool: Weak::clone(place.pool),
            clock: Arc::clone(place.clock),
            deadline: start.deadline,
        };
        Self { due: start.due, stage: Some(stage), ..Self::nowhere(facts) }
    }

    /// Becomes another attempt at the same place.
    pub(super) fn renew(&mut self, start: &Start<'_>) {
        let facts = &mut self.facts;
        facts.number = start.number;
        facts.attempt = start.attempt;
        facts.cause = start.cause;
        facts.fire_time = start.fire_time;
        facts.started_at = start.engine.started().wall;
        self.due = start.due;
        if let Some(stage) = &mut self.stage {
            stage.engine.clone_from(start.engine);
            stage.deadline = start.deadline;
        }
        self.stop = Stop::default();
        self.notes.clear();
    }
}

impl Stage {
    /// How long this attempt may take still.
    pub(super) fn left(&self) -> Duration {
        self.deadline.map_or(Duration::MAX, |deadline| deadline.since(self.clock.now()))
    }
}
