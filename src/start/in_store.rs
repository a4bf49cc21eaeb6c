//! A durable task, as the store controls it.

use std::sync::Arc;

use scheduler_store::{Pause as StoredPause, StoreTime};

use crate::define::schedule::Schedule;
use crate::durable::{Jobs, JobsError, Schedules};
use crate::observe::{EventKind, TaskSnapshot, TaskState};
use crate::run::Pause;
use crate::task::{ControlError, ControlErrorKind};

/// A durable schedule or a kind of job of this process, in the store.
pub(super) struct InStore {
    jobs: Jobs,
    schedules: Schedules,
    name: Arc<str>,
}

impl InStore {
    pub(super) fn new(jobs: Jobs, name: Arc<str>) -> Self {
        Self { schedules: Schedules::of(&jobs), jobs, name }
    }

    pub(super) fn pause(&self, pause: &Pause) -> Result<(), ControlError> {
        self.done(match self.is_kind_of_job() {
            true => self.jobs.pause_task(&self.name, pause),
            false => self.schedules.pause(&self.name, pause),
        })
    }

    pub(super) fn resume(&self) -> Result<(), ControlError> {
        if !self.done(self.is_paused())? {
            return Err(ControlError::new(&self.name, ControlErrorKind::NotPaused));
        }
        self.done(match self.is_kind_of_job() {
            true => self.jobs.resume_task(&self.name),
            false => self.schedules.resume(&self.name),
        })
    }

    pub(super) fn reschedule(&self, rule: Schedule) -> Result<(), ControlError> {
        if self.is_kind_of_job() {
            let why = "it is a kind of job, and has no rule; a schedule of its jobs is made by `Schedules::put`";
            return Err(ControlError::refused(&self.name, why));
        }
        self.done(self.schedules.reschedule(&self.name, rule))
    }

    fn is_kind_of_job(&self) -> bool {
        self.jobs.former_names(&self.name).is_some()
    }

    fn is_paused(&self) -> Result<bool, JobsError> {
        if self.is_kind_of_job() {
            return self.jobs.is_task_paused(&self.name);
        }
        let schedules = self.schedules.list()?;
        let mine = schedules.iter().find(|schedule| schedule.definition.name == *self.name);
        Ok(mine.is_some_and(|schedule| self.schedules.is_paused(schedule)))
    }

    fn done<R>(&self, answer: Result<R, JobsError>) -> Result<R, ControlError> {
        answer.map_err(|error| match error {
            error if error.is_unavailable() => {
                let why = error.to_string();
                ControlError::new(&self.name, ControlErrorKind::Unavailable { why })
            }
            error if error.is_failed() => {
                let why = error.to_string();
                ControlError::new(&self.name, ControlErrorKind::Failed { why })
            }
            error if error.is_not_found() => {
                ControlError::refused(&self.name, "its schedule is not in the store yet")
            }
            error => ControlError::refused(&self.name, &error.to_string()),
        })
    }
}

/// The event of a pause in the store. The store fires the next tick, or has the next job.
pub(super) fn paused(pause: &StoredPause) -> EventKind {
    let (by, reason) = (text(&pause.by), text(&pause.reason));
    EventKind::Paused { by, reason, until: pause.until.map(StoreTime::utc), next: None }
}

/// Shows a pause in the store in the snapshot of its task.
pub(super) fn show_pause(snapshot: &mut TaskSnapshot, pause: &StoredPause) {
    if snapshot.state.is_ended() || snapshot.state == TaskState::Disabled {
        return;
    }
    if snapshot.state == TaskState::Waiting {
        snapshot.state = TaskState::Paused;
    }
    snapshot.is_paused = true;
    (snapshot.paused_by, snapshot.pause_reason) = (text(&pause.by), text(&pause.reason));
    snapshot.paused_since = Some(pause.since.utc());
    snapshot.paused_until = pause.until.map(StoreTime::utc);
    snapshot.would_run_at = snapshot.next.take();
}

/// A text that stores keep empty if there is none.
fn text(text: &str) -> Option<Arc<str>> {
    (!text.is_empty()).then(|| text.into())
}
