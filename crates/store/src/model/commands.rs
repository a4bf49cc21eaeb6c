//! Commands of people and of the program.

use super::state::State;
use crate::command::{BulkOutcome, Command, CommandAll, CommandOutcome};
use crate::id::JobId;
use crate::job::{JobState, StoredJob};
use crate::pause::{Pause, PauseScope};
use crate::schedule::{StoredSchedule, TickJob};
use crate::time::StoreTime;

impl State {
    pub(super) fn command(&mut self, command: &Command, now: StoreTime) -> CommandOutcome {
        match command {
            Command::Pause { schedule, .. }
            | Command::Resume { schedule }
            | Command::Reschedule { schedule, .. }
            | Command::Remove { schedule } => self.change(schedule, command, now),
            Command::PauseJobs { scope, until, by, reason } => {
                self.pause_jobs(scope, Pause::new(now, *until, by, reason), now)
            }
            Command::ResumeJobs { scope } => {
                self.pauses.remove(scope);
                CommandOutcome::Done
            }
            Command::Put { definition } => self.change(&definition.name, command, now),
            Command::RunNow { schedule, job } => self.run_now(schedule, *job, now),
            Command::Cancel { job } => self.cancel(*job, now),
            Command::Retry { job } => self.retry(*job, now),
            Command::Delete { job } => self.delete(*job, now),
            Command::Edit { job, fence, payload } => match self.jobs.get_mut(job) {
                Some(row) if !row.is_gone => row.job.edit(*fence, payload),
                _ => CommandOutcome::NotFound,
            },
        }
    }

    pub(super) fn command_all(&mut self, request: &CommandAll, now: StoreTime) -> BulkOutcome {
        let mut all = BulkOutcome::default();
        let jobs = self.select(&request.filter, request.limit);
        all.last = request.last_of(&jobs);
        // One may have made another ready, or keep it from that.
        for job in jobs.into_iter().rev().map(|job| job.id) {
            let is_meant = self.row(job).is_some_and(|row| request.filter.selects(&row.job));
            let is_done =
                is_meant && self.command(&request.action.of(job), now) == CommandOutcome::Done;
            all.done += u64::from(is_done);
        }
        all
    }

    fn pause_jobs(&mut self, scope: &PauseScope, pause: Pause, now: StoreTime) -> CommandOutcome {
        self.pauses.retain(|_, former| former.holds(now));
        let since = self.pauses.get(scope).map_or(now, |former| former.since);
        self.pauses.insert(scope.clone(), Pause { since, ..pause });
        CommandOutcome::Done
    }

    fn change(&mut self, schedule: &str, command: &Command, now: StoreTime) -> CommandOutcome {
        self.on_row(schedule, |row, is_busy| StoredSchedule::execute(row, command, now, is_busy))
    }

    fn run_now(&mut self, schedule: &str, id: JobId, now: StoreTime) -> CommandOutcome {
        let Some(row) = self.schedules.get(schedule) else { return CommandOutcome::NotFound };
        if self.jobs.contains_key(&id) {
            return CommandOutcome::Done;
        }
        let is_exclusive = row.is_exclusive();
        if let Some(busy) = self.busy(schedule).filter(|_| is_exclusive) {
            return CommandOutcome::Conflict(busy.id);
        }
        let definition = row.definition.clone();
        let job = TickJob { id, tick: now, missed: 0, run_at: now };
        self.insert_of(&definition, is_exclusive, &job, true, now);
        CommandOutcome::Done
    }

    fn cancel(&mut self, id: JobId, now: StoreTime) -> CommandOutcome {
        let row = self.jobs.get_mut(&id).filter(|row| !row.is_gone);
        let Some(job) = row.map(|row| &mut row.job) else { return CommandOutcome::NotFound };
        match job.state {
            JobState::Running => job.is_cancel_requested = true,
            JobState::Ready => {
                (job.state, job.finished_at) = (JobState::Cancelled, Some(now));
                let origin = job.origin.clone();
                if let Some(origin) = origin {
                    self.after_job(&origin.schedule, now);
                }
            }
            state => return CommandOutcome::NotInState(state),
        }
        CommandOutcome::Done
    }

    fn retry(&mut self, id: JobId, now: StoreTime) -> CommandOutcome {
        let Some(row) = self.row(id) else { return CommandOutcome::NotFound };
        let job = &row.job;
        if job.state == JobState::Running {
            return CommandOutcome::NotInState(job.state);
        }
        if !job.state.is_unfinished()
            && let Some(other) = self.rival(job, row.is_exclusive, now)
        {
            return CommandOutcome::Conflict(other);
        }
        if let Some(job) = self.jobs.get_mut(&id).map(|row| &mut row.job) {
            job.retry(now);
            if let Some(key) = &job.key {
                let place = (job.task.clone(), key.clone());
                self.kept_keys.retain(|kept, (job, _)| *kept != place || *job == id);
            }
        }
        CommandOutcome::Done
    }

    /// The job that keeps an ended one from becoming ready (R13).
    fn rival(&self, job: &StoredJob, is_exclusive: bool, now: StoreTime) -> Option<JobId> {
        let of_key = job.key.as_ref().and_then(|key| self.with_key(&job.task, key, now));
        let of_key = of_key.filter(|other| *other != job.id);
        let origin = job.origin.as_ref().filter(|_| is_exclusive);
        of_key.or_else(|| Some(self.busy(&origin?.schedule)?.id))
    }

    fn delete(&mut self, id: JobId, now: StoreTime) -> CommandOutcome {
        let Some(row) = self.row(id) else { return CommandOutcome::NotFound };
        if row.job.state == JobState::Running {
            return CommandOutcome::NotInState(JobState::Running);
        }
        let origin = row.job.origin.clone();
        self.jobs.remove(&id);
        self.kept_keys.retain(|_, (job, _)| *job != id);
        if let Some(origin) = origin {
            self.after_job(&origin.schedule, now);
        }
        CommandOutcome::Done
    }
}
