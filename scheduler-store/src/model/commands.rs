//! Commands of people and of the program.

use super::state::State;
use crate::id::JobId;
use crate::job::{Job, JobState};
use crate::request::{Command, CommandAll, Commanded, CommandedAll};
use crate::schedule::{Definition, Rule, Schedule, TickJob};
use crate::time::StoreTime;

impl State {
    pub(super) fn command(&mut self, command: &Command, now: StoreTime) -> Commanded {
        match command {
            Command::Pause { schedule, until, by, reason } => {
                self.change(schedule, |row| row.pause(*until, by, reason, now))
            }
            Command::Resume { schedule } => self.change(schedule, |row| row.resume(now)),
            Command::RunNow { schedule, job } => self.run_now(schedule, *job, now),
            Command::Reschedule { schedule, rule } => self.reschedule(schedule, rule.clone(), now),
            Command::Put { definition } => self.put(definition, now),
            Command::Remove { schedule } => match self.schedules.remove(schedule) {
                Some(_) => Commanded::Done,
                None => Commanded::NotFound,
            },
            Command::Cancel { job } => self.cancel(*job, now),
            Command::Retry { job } => self.retry(*job, now),
            Command::Delete { job } => self.delete(*job, now),
        }
    }

    pub(super) fn command_all(&mut self, request: &CommandAll, now: StoreTime) -> CommandedAll {
        let mut all = CommandedAll::default();
        let jobs = self.select(&request.filter, request.limit);
        all.last = request.last_of(&jobs);
        // One may have made another ready, or keep it from that.
        for job in jobs.into_iter().map(|job| job.id) {
            let is_meant = self.jobs.get(&job).is_some_and(|row| request.filter.selects(&row.job));
            let is_done = is_meant && self.command(&request.action.of(job), now) == Commanded::Done;
            all.done += u64::from(is_done);
        }
        all
    }

    fn change(&mut self, schedule: &str, change: impl FnOnce(&mut Schedule)) -> Commanded {
        match self.schedules.get_mut(schedule) {
            Some(row) => {
                change(row);
                Commanded::Done
            }
            None => Commanded::NotFound,
        }
    }

    fn run_now(&mut self, schedule: &str, id: JobId, now: StoreTime) -> Commanded {
        let Some(row) = self.schedules.get(schedule) else { return Commanded::NotFound };
        if self.jobs.contains_key(&id) {
            return Commanded::Done;
        }
        let is_exclusive = row.is_exclusive();
        if let Some(busy) = self.busy(schedule).filter(|_| is_exclusive) {
            return Commanded::Conflict(busy.id);
        }
        let definition = row.definition.clone();
        let job = TickJob { id, tick: now, missed: 0, run_at: now };
        self.insert_of(&definition, is_exclusive, &job, true, now);
        Commanded::Done
    }

    fn reschedule(&mut self, name: &str, rule: Option<Rule>, now: StoreTime) -> Commanded {
        let is_busy = self.busy(name).is_some();
        self.change(name, |row| {
            let is_other = rule.as_ref().map(|rule| &rule.text)
                != row.override_rule.as_ref().map(|rule| &rule.text);
            if is_other {
                row.override_rule = rule.map(Rule::stored);
                row.restart(now, is_busy);
            }
        })
    }

    fn put(&mut self, definition: &Definition, now: StoreTime) -> Commanded {
        let is_busy = self.busy(&definition.name).is_some();
        let definition = Definition { is_dynamic: true, ..definition.clone() };
        match self.schedules.get_mut(&definition.name) {
            Some(row) if !row.definition.is_dynamic => return Commanded::InCode,
            Some(row) => {
                row.register(definition, now, is_busy);
            }
            None => {
                let row = Schedule::new(definition, now, now);
                self.schedules.insert(row.definition.name.clone(), row);
            }
        }
        Commanded::Done
    }

    fn cancel(&mut self, id: JobId, now: StoreTime) -> Commanded {
        let Some(job) = self.jobs.get_mut(&id).map(|row| &mut row.job) else {
            return Commanded::NotFound;
        };
        match job.state {
            JobState::Running => job.is_cancel_requested = true,
            JobState::Ready => {
                (job.state, job.finished_at) = (JobState::Cancelled, Some(now));
                let origin = job.origin.clone();
                if let Some(origin) = origin {
                    self.after_job(&origin.schedule, now);
                }
            }
            state => return Commanded::State(state),
        }
        Commanded::Done
    }

    fn retry(&mut self, id: JobId, now: StoreTime) -> Commanded {
        let Some(row) = self.jobs.get(&id) else { return Commanded::NotFound };
        let job = &row.job;
        if job.state == JobState::Running {
            return Commanded::State(job.state);
        }
        if !job.state.is_unfinished()
            && let Some(other) = self.rival(job, row.is_exclusive)
        {
            return Commanded::Conflict(other);
        }
        if let Some(job) = self.jobs.get_mut(&id).map(|row| &mut row.job) {
            job.retry(now);
        }
        Commanded::Done
    }

    /// The unfinished job that keeps an ended one from becoming ready (R13).
    fn rival(&self, job: &Job, is_exclusive: bool) -> Option<JobId> {
        let of_key = job.key.as_ref().and_then(|key| self.with_key(&job.task, key));
        let origin = job.origin.as_ref().filter(|_| is_exclusive);
        of_key.or_else(|| Some(self.busy(&origin?.schedule)?.id))
    }

    fn delete(&mut self, id: JobId, now: StoreTime) -> Commanded {
        let Some(row) = self.jobs.get(&id) else { return Commanded::NotFound };
        if row.job.state == JobState::Running {
            return Commanded::State(JobState::Running);
        }
        let origin = row.job.origin.clone();
        self.jobs.remove(&id);
        if let Some(origin) = origin {
            self.after_job(&origin.schedule, now);
        }
        Commanded::Done
    }
}

impl Job {
    /// Makes a job ready at once that waits or has ended, by hand.
    pub fn retry(&mut self, now: StoreTime) {
        if self.state != JobState::Ready {
            self.max_attempts = self.max_attempts.max(self.attempt.saturating_add(1));
            (self.lost, self.undecoded) = (0, 0);
        }
        (self.state, self.run_at, self.finished_at) = (JobState::Ready, now, None);
    }
}
