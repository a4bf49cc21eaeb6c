//! Commands, enqueued jobs, and ticks that fire.

use std::convert::Infallible;

use crate::action::{Action, ActionFilter, Signature};
use crate::column::JobRow;
use crate::command::{BulkOutcome, Command, CommandAll, CommandOutcome, Pause, PauseScope};
use crate::error::Refusal;
use crate::id::{JobId, StoreTime};
use crate::job::{Enqueued, JobState, NewJob, OnConflict, StoredJob, When};
use crate::limit::{LimitScope, refuse_full};
use crate::model::ModelState;
use crate::request::{Fire, Fired};
use crate::schedule::{FireStep, StoredSchedule, TickJob};
use crate::skips::JobBefore;

impl ModelState {
    pub(super) fn command_by(
        &mut self,
        signature: Option<&Signature>,
        command: &Command,
        now: StoreTime,
    ) -> CommandOutcome {
        let by = signature.map_or("", |signature| &signature.by);
        let schedule = command.schedule();
        let before = schedule.and_then(|name| self.schedules.get(name)).cloned();
        let job = command.job().and_then(|id| self.row(id)).map(|row| row.job.clone());
        let limits = matches!(command, Command::SetLimit { .. }).then(|| self.limits.clone());
        let outcome = self.command((command, by), now);
        if let Some(signature) = signature.filter(|_| outcome == CommandOutcome::Done) {
            let after = schedule.and_then(|name| self.schedules.get(name));
            let node = command.node().and_then(|session| self.sessions.get(&session));
            let entry = match (schedule, node) {
                (Some(_), _) => signature.entry_of_schedule(command, before.as_ref(), after, now),
                (None, Some(node)) => signature.entry_of_node(command, &node.label, now),
                (None, None) => match &limits {
                    Some(before) => signature.entry_of_limit(command, (before, &self.limits), now),
                    None => signature.entry_of(command, job.as_ref(), now),
                },
            };
            self.keep(entry, signature.scope.is_some());
        }
        outcome
    }

    /// Keeps an action. One that is there already counts on, or stays as it is.
    pub(super) fn keep(&mut self, action: Action, adds: bool) {
        match self.actions.values_mut().find(|kept| kept.id == action.id) {
            Some(kept) => kept.count += if adds { action.count } else { 0 },
            None => drop(self.actions.insert((action.at, action.id), action)),
        }
    }

    pub(super) fn actions(&self, filter: &ActionFilter, limit: u32) -> Vec<Action> {
        let place = |after| self.actions.keys().find(|(_, id)| *id == after);
        let (is_page, until) = (filter.after.is_some(), filter.after.and_then(place));
        let is_before = |place| if is_page { Some(place) < until } else { true };
        let actions = self.actions.iter().rev().filter(|(place, _)| is_before(*place));
        let selected = actions.map(|(_, action)| action).filter(|one| one.is_selected(filter));
        selected.take(limit as usize).cloned().collect()
    }

    fn command(&mut self, (command, by): (&Command, &str), now: StoreTime) -> CommandOutcome {
        match command {
            Command::Pause { schedule, .. }
            | Command::Resume { schedule }
            | Command::Reschedule { schedule, .. }
            | Command::Remove { schedule } => self.change(schedule, (command, by), now),
            Command::PauseJobs { scope, until, by, reason } => {
                self.pause_jobs(scope, Pause::new(now, *until, by, reason), now)
            }
            Command::ResumeJobs { scope } => {
                self.pauses.remove(scope);
                CommandOutcome::Done
            }
            Command::SetLimit { task, scope, limit } => {
                self.limits.set(task, *scope, limit.clone());
                CommandOutcome::Done
            }
            Command::PauseNode { session, until, by, reason } => {
                self.pause_node(*session, Pause::new(now, *until, by, reason))
            }
            Command::ResumeNode { session } => self.resume_node(*session),
            Command::Put { definition } => self.change(&definition.name, (command, by), now),
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
            let is_done = is_meant
                && self.command((&request.action.of(job), ""), now) == CommandOutcome::Done;
            all.done += u64::from(is_done);
        }
        let entry = request.entry(all.done, now);
        entry.into_iter().for_each(|entry| self.keep(entry, true));
        all
    }

    fn pause_jobs(&mut self, scope: &PauseScope, pause: Pause, now: StoreTime) -> CommandOutcome {
        self.pauses.retain(|_, former| former.holds(now));
        let since = self.pauses.get(scope).map_or(now, |former| former.since);
        self.pauses.insert(scope.clone(), Pause { since, ..pause });
        CommandOutcome::Done
    }

    fn change(
        &mut self,
        schedule: &str,
        command: (&Command, &str),
        now: StoreTime,
    ) -> CommandOutcome {
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
                job.leave_order();
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
        if let Some(row) = self.jobs.get_mut(&id) {
            if matches!(row.job.state, JobState::Done | JobState::Cancelled) {
                row.seen_due_at = None;
            }
            let job = &mut row.job;
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

impl ModelState {
    /// Why none of these jobs is accepted, if a task or a partition is full.
    pub(super) fn full(&self, jobs: &[NewJob]) -> Option<Refusal> {
        let count = |new: &NewJob, scope, most| {
            let partition = new.partition.as_deref().unwrap_or_default();
            let is_counted = |row: &&JobRow| {
                let is_of = row.job.task == new.task && row.job.queue == new.queue;
                let is_in =
                    row.lane() == Some(partition) && row.job.payload.version == new.payload.version;
                is_of && if scope == LimitScope::Each { is_in } else { row.lane().is_some() }
            };
            let count = self.jobs.values().filter(is_counted).take(most as usize).count();
            Ok(u32::try_from(count).unwrap_or(u32::MAX))
        };
        let is_known = |new: &NewJob| Ok::<_, Infallible>(self.jobs.contains_key(&new.id));
        let limits = |task: &str| Ok(self.limits.of(task));
        let Ok(full) = refuse_full(jobs, is_known, limits, count);
        full
    }

    pub(super) fn enqueue(&mut self, new: &NewJob, now: StoreTime) -> Enqueued {
        if self.jobs.contains_key(&new.id) {
            return Enqueued::Accepted(new.id);
        }
        let run_at = match new.when {
            When::Now => now,
            When::After(wait) => now.after(wait),
            When::At(at) => at,
        };
        let Some(key) = &new.key else {
            self.insert(new, run_at, now);
            return Enqueued::Accepted(new.id);
        };
        let Some(other) = self.with_key(&new.task, &key.text, now) else {
            self.insert(new, run_at, now);
            return Enqueued::Accepted(new.id);
        };
        // Its own key may outlive a job that was sent before.
        if other == new.id {
            return Enqueued::Accepted(new.id);
        }
        let row = self.jobs.get_mut(&other).filter(|row| row.job.state == JobState::Ready);
        match row {
            Some(row) if key.on_conflict != OnConflict::Keep => {
                row.replace(new, run_at);
                Enqueued::Replaced(other)
            }
            _ => Enqueued::Kept(other),
        }
    }
}

impl ModelState {
    pub(super) fn fire(&mut self, request: &Fire, now: StoreTime) -> Fired {
        if !self.is_alive(request.session, now) {
            return Fired::Ended;
        }
        let busy = self.busy(&request.schedule).and_then(|job| self.jobs.get(&job.id));
        let before = busy.map_or(JobBefore::Ended, |row| {
            let waits = row.lane().is_some() && row.job.started_at.is_none();
            let is_limited = waits && self.limits.of(&row.job.task).is_limited();
            if is_limited { JobBefore::Limited } else { JobBefore::Unfinished }
        });
        let Some(schedule) = self.schedules.get_mut(&request.schedule) else {
            return Fired::Refused(None);
        };
        let tick = match schedule.fire(request, now, before) {
            FireStep::Answer(fired) => return fired,
            FireStep::Insert(tick) => tick,
        };
        let (definition, is_exclusive) = (schedule.definition.clone(), schedule.is_exclusive());
        if !self.insert_of(&definition, is_exclusive, &tick, false, now) {
            return Fired::Moved(None);
        }
        if let Some(schedule) = self.schedules.get_mut(&request.schedule) {
            schedule.has_fired(tick.tick);
        }
        let is_paused = self.jobs.get(&tick.id).is_some_and(|row| self.is_paused(&row.job, now));
        let is_known = request.claim.is_some_and(|known| definition.payload.version <= known);
        // A job with a partition, or of a task with limits, is claimed from its lane.
        let is_limited =
            definition.partition.is_some() || self.limits.of(&definition.task).is_limited();
        let is_claimed = is_known && tick.run_at <= now && !is_paused && !is_limited;
        let job = is_claimed.then(|| self.claim(tick.id, request.session, false, now)).flatten();
        Fired::Moved(job.map(Box::new))
    }
}
