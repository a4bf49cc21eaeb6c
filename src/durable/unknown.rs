//! Tasks that no living process has.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use scheduler_store::{Next, QueueDepth, SessionInfo, StoredSchedule};

use super::error::JobsError;
use super::jobs::Jobs;
use super::schedules::Schedules;

/// For how long a job has been due at least: a deploy in which all processes start again takes less.
const DUE: Duration = Duration::from_secs(60);

/// A task that no living process has, though jobs of it are due or a schedule of it fires: it was renamed or removed, or its name
/// is mistyped. See [`Jobs::unknown_tasks`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct UnknownTask {
    /// Its name.
    pub task: String,
    /// The number of its jobs that are due; 0 if only its schedules wait for it.
    pub due: u64,
    /// Its schedules, by name: those that are neither over nor paused.
    pub schedules: Vec<String>,
    /// The name of a known task that may have been meant.
    pub nearest: Option<String>,
}

/// Jobs and schedules that wait for a process.
impl Jobs {
    /// The tasks that no living process has, though jobs of them have been due for a minute, or schedules of them fire; by name.
    /// The numbers of jobs are those that [`depths`](Self::depths) has returned.
    ///
    /// One of the processes warns of them once a minute: [`StoreEvent::TaskUnknown`](crate::StoreEvent::TaskUnknown). A task is
    /// not among them any more as soon as a process has it, or its jobs and schedules are gone.
    ///
    /// ```
    /// use scheduler::{Jobs, JobsError};
    ///
    /// fn is_anything_lost(jobs: &Jobs) -> Result<bool, JobsError> {
    ///     let unknown = jobs.unknown_tasks(&jobs.depths()?)?;
    ///     for it in &unknown {
    ///         println!("{}: {} jobs are due; nearest name: {:?}", it.task, it.due, it.nearest);
    ///     }
    ///     Ok(!unknown.is_empty())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// The store did not answer.
    pub fn unknown_tasks(&self, depths: &[QueueDepth]) -> Result<Vec<UnknownTask>, JobsError> {
        let sessions = self.sessions()?;
        self.unknown_beside(&known_tasks(&sessions), depths)
    }

    /// The tasks that wait, and are not among the known ones.
    pub(super) fn unknown_beside(
        &self,
        known: &BTreeSet<&str>,
        depths: &[QueueDepth],
    ) -> Result<Vec<UnknownTask>, JobsError> {
        let mut waiting = Waiting { known, found: BTreeMap::new() };
        let is_due = |depth: &&QueueDepth| depth.oldest.is_some_and(|oldest| oldest >= DUE);
        for depth in depths.iter().filter(is_due) {
            if let Some(task) = waiting.of(&depth.task) {
                task.due += depth.due;
            }
        }
        let (schedules, has_processes) = (Schedules::of(self), !known.is_empty());
        let fires = |schedule: &StoredSchedule| self.fires(&schedules, schedule, has_processes);
        for schedule in schedules.list()?.into_iter().filter(fires) {
            if let Some(task) = waiting.of(&schedule.definition.task) {
                task.schedules.push(schedule.definition.name);
            }
        }
        Ok(waiting.found.into_values().collect())
    }

    /// True if a schedule should fire. Without any process, such as in the middle of a deploy, only one whose tick is late.
    fn fires(&self, schedules: &Schedules, schedule: &StoredSchedule, has_processes: bool) -> bool {
        let now = self.inner.client.store_now();
        let is_late = || schedule.next_tick().is_some_and(|at| at.after(DUE) <= now);
        let is_silent = schedule.next == Next::Never || schedules.is_paused(schedule);
        !is_silent && (has_processes || is_late())
    }
}

/// Tasks that wait for a process.
struct Waiting<'a> {
    known: &'a BTreeSet<&'a str>,
    found: BTreeMap<String, UnknownTask>,
}

impl Waiting<'_> {
    /// The row of a task; `None` if a process has it.
    fn of(&mut self, task: &str) -> Option<&mut UnknownTask> {
        if self.known.contains(task) {
            return None;
        }
        let nearest = || scheduler_expr::nearest(task, self.known.iter().copied());
        let new = || UnknownTask {
            task: task.to_owned(),
            due: 0,
            schedules: Vec::new(),
            nearest: nearest().map(str::to_owned),
        };
        Some(self.found.entry(task.to_owned()).or_insert_with(new))
    }
}

/// The names of the tasks that living processes have.
pub(super) fn known_tasks(sessions: &[SessionInfo]) -> BTreeSet<&str> {
    let living = sessions.iter().filter(|session| !session.has_run_out);
    living.flat_map(|session| &session.tasks).map(|task| &**task).collect()
}
