//! Sessions, and ends of claims.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use crate::check::storable;
use crate::column::JobRow;
use crate::command::{CommandOutcome, Pause};
use crate::decide::EndedNodes;
use crate::id::{Fence, JobId, SessionId, StoreTime};
use crate::job::{ClaimRef, JobState, OnLost, StoredJob};
use crate::model::{ModelState, SessionRow};
use crate::request::{
    Close, End, Failing, Finish, Finished, Lease, Open, Opened, OtherApplication, Prune, Reap,
    Reaped, Register, Registered, Renew, Renewed, reap_count,
};
use crate::schedule::{RunEnd, ScheduleSpec, StoredSchedule};
use crate::session::{ENDED_SESSION_RETENTION, SessionEnd, SessionInfo};

impl ModelState {
    pub(super) fn open(&mut self, request: &Open, now: StoreTime) -> Opened {
        let mut pause = None;
        if let Some(replaced) = request.replaces {
            self.end_session(replaced, Some(&request.label), now);
            let former = self.ended_sessions.get(&replaced);
            pause = former.and_then(|(row, _)| row.pause.clone());
        }
        self.sessions.entry(request.id).or_insert_with(|| SessionRow {
            label: storable(&request.label),
            build: storable(&request.build),
            application: storable(&request.application),
            tasks: Arc::clone(&request.tasks),
            queues: request.queues.clone(),
            concurrency: request.concurrency,
            clock_offset: None,
            pause,
            opened_at: now,
            lease_until: now.after(request.lease),
            renewals: 0,
        });
        let others = self.sessions.iter().filter(|(id, _)| **id != request.id);
        let others = others.filter(|(_, row)| now < row.lease_until).map(|(_, row)| {
            let (application, label) = (row.application.clone(), row.label.clone());
            let other = OtherApplication { application, label };
            (other, row.tasks.iter().map(|task| &*task.name).collect())
        });
        Opened { now, other_application: request.other_application(others) }
    }

    pub(super) fn renew(&mut self, request: &Renew, now: StoreTime) -> Renewed {
        let is_alive = self.is_alive(request.session, now);
        if let Some(row) = self.sessions.get_mut(&request.session).filter(|_| is_alive) {
            row.lease_until = now.after(request.lease);
            row.renewals += 1;
            row.clock_offset = request.clock_offset;
        }
        let written = request.progress.iter().filter(|(held, progress)| {
            let running = self.jobs.get_mut(&held.job).map(|row| &mut row.job).filter(|job| {
                job.held() == *held
                    && job.session == Some(request.session)
                    && job.state == JobState::Running
            });
            let running = running.filter(|_| is_alive);
            running.map(|job| job.progress = Some(progress.clone())).is_some()
        });
        let is_complete = written.count() == request.progress.len();
        Renewed { now, is_alive, is_complete }
    }

    /// The leases of all other sessions.
    #[must_use]
    pub fn leases(&self, session: SessionId, now: StoreTime) -> Vec<Lease> {
        let others = self.sessions.iter().filter(|(id, _)| **id != session);
        let lease = |(id, row): (&SessionId, &SessionRow)| Lease {
            session: *id,
            mark: row.renewals,
            has_run_out: row.lease_until <= now,
        };
        others.map(lease).collect()
    }

    pub(super) fn close(&mut self, request: &Close, now: StoreTime) {
        for held in self.held(request.session) {
            self.finish(&Finish::new(request.session, held, End::GiveBack), now);
        }
        self.end_session(request.session, None, now);
    }

    /// Ends a session, which a process of this name has found lost, or which was closed. Returns the name of its process.
    fn end_session(
        &mut self,
        session: SessionId,
        found_by: Option<&str>,
        now: StoreTime,
    ) -> Option<String> {
        let jobs = u32::try_from(self.held(session).len()).unwrap_or(u32::MAX);
        let row = self.sessions.remove(&session)?;
        let label = row.label.clone();
        let end = SessionEnd::new(now, found_by, jobs);
        self.ended_sessions.entry(session).or_insert((row, end));
        Some(label)
    }

    pub(super) fn register(&mut self, request: &Register, now: StoreTime) -> Registered {
        let is_alive = self.is_alive(request.session, now);
        let definitions = if is_alive { &*request.definitions } else { &[] };
        let opened = request.first_opened;
        if is_alive {
            self.limits.register(&request.limits, opened);
        }
        let register = |definition: &ScheduleSpec| {
            self.on_row(&definition.name, |row, is_busy| {
                StoredSchedule::register_as(row, definition, opened, now, is_busy)
            })
        };
        Registered { now, is_alive, schedules: definitions.iter().map(register).collect() }
    }

    pub(super) fn reap(&mut self, request: &Reap, now: StoreTime) -> Reaped {
        let (mut reaped, mut ended_nodes) = (Reaped::default(), EndedNodes::default());
        for lease in &request.dead {
            let is_dead = self
                .sessions
                .get(&lease.session)
                .is_some_and(|row| row.renewals == lease.mark && row.lease_until <= now);
            if is_dead
                && let Some(label) = self.end_session(lease.session, Some(&request.found_by), now)
            {
                ended_nodes.add(lease.session, label);
                reaped.sessions.push(lease.session);
            }
        }
        let is_orphan = |job: &StoredJob| {
            job.state == JobState::Running
                && job.session.is_none_or(|session| !self.sessions.contains_key(&session))
        };
        let orphans = self.jobs.values().map(|row| &row.job).filter(|job| is_orphan(job));
        let orphans: Vec<_> = orphans.map(|job| (job.id, job.payload.bytes.len())).collect();
        let count = reap_count(orphans.iter().map(|(_, length)| *length));
        for (id, _) in orphans.into_iter().take(count) {
            let Some(job) = self.jobs.get_mut(&id).map(|row| &mut row.job) else { continue };
            let last = &mut self.fence;
            let next_fence = || {
                *last += 1;
                Fence(*last)
            };
            let node = ended_nodes.of(job).to_owned();
            job.lose(request, &node, next_fence, now);
            let job = job.clone();
            if job.state != JobState::Ready {
                self.run_ended(&job, now);
            }
            reaped.jobs.push(job);
        }
        reaped
    }

    pub(super) fn held(&self, session: SessionId) -> Vec<ClaimRef> {
        let jobs = self.jobs.values().map(|row| &row.job);
        let held =
            jobs.filter(|job| job.state == JobState::Running && job.session == Some(session));
        held.map(StoredJob::held).collect()
    }

    pub(super) fn session_infos(&self, now: StoreTime) -> Vec<SessionInfo> {
        let open = self.sessions.iter().map(|(id, row)| SessionInfo {
            has_run_out: row.lease_until <= now,
            ..row.info(*id, now)
        });
        let mut ended: Vec<_> = self
            .ended_sessions
            .iter()
            .filter(|(_, (_, end))| now.before(ENDED_SESSION_RETENTION) < end.at)
            .collect();
        ended.sort_by_key(|(id, (_, end))| (Reverse(end.at), **id));
        let ended = ended
            .into_iter()
            .map(|(id, (row, end))| SessionInfo { ended: Some(end.clone()), ..row.info(*id, now) });
        open.chain(ended).collect()
    }

    pub(super) fn pause_node(&mut self, session: SessionId, pause: Pause) -> CommandOutcome {
        let Some(row) = self.sessions.get_mut(&session) else { return CommandOutcome::NotFound };
        let former = row.pause.as_ref().filter(|former| former.holds(pause.since));
        let since = former.map_or(pause.since, |former| former.since);
        row.pause = Some(Pause { since, ..pause });
        CommandOutcome::Done
    }

    pub(super) fn resume_node(&mut self, session: SessionId) -> CommandOutcome {
        let Some(row) = self.sessions.get_mut(&session) else { return CommandOutcome::NotFound };
        row.pause = None;
        CommandOutcome::Done
    }
}

impl SessionRow {
    fn info(&self, id: SessionId, now: StoreTime) -> SessionInfo {
        let queues = self.queues.as_ref();
        SessionInfo {
            label: self.label.clone(),
            build: self.build.clone(),
            application: self.application.clone(),
            tasks: self.tasks.to_vec(),
            queues: queues.map(|queues| queues.iter().map(ToString::to_string).collect()),
            concurrency: self.concurrency,
            clock_offset: self.clock_offset,
            pause: self.pause.clone().filter(|pause| pause.holds(now)),
            ..SessionInfo::new(id, self.opened_at)
        }
    }
}

impl ModelState {
    pub(super) fn finish(&mut self, request: &Finish, now: StoreTime) -> Finished {
        let Finish { session, held, end, progress } = request;
        let node = self.sessions.get(session).map(|row| row.label.clone());
        let (is_open, node) = (node.is_some(), node.unwrap_or_default());
        let row = self.jobs.get_mut(&held.job).filter(|row| {
            let is_held = row.job.session == Some(*session) && row.job.fence == held.fence;
            // No other process runs a job that runs at most once: its end counts also when the session is gone (R4).
            is_held && (is_open || row.job.on_lost == OnLost::Abandon)
        });
        let Some(row) = row else { return Finished::Lost };
        let job = &mut row.job;
        if job.end_late(end, &node, now) {
            job.report(progress.as_ref());
            row.is_gone = *end == End::Gone;
            return Finished::Stored(job.state);
        }
        if job.state != JobState::Running {
            return Finished::AlreadyMine(job.state);
        }
        job.report(progress.as_ref());
        job.end(end, &node, now);
        row.is_gone = *end == End::Gone;
        let job = job.clone();
        if !job.state.is_unfinished() {
            self.run_ended(&job, now);
        }
        Finished::Stored(job.state)
    }

    /// A run has ended a job.
    fn run_ended(&mut self, job: &StoredJob, now: StoreTime) {
        match job.state {
            JobState::Done => drop(self.failing.remove(&job.task)),
            JobState::Parked => {
                let former = self.failing.get(&job.task);
                let (failures, since) = former.map_or((0, now), |row| (row.failures, row.since));
                let row = Failing::new(failures + 1, since, RunEnd::of(job, now));
                self.failing.insert(job.task.clone(), row);
            }
            _ => {}
        }
        let Some(origin) = &job.origin else { return };
        if let Some(row) = self.schedules.get_mut(&origin.schedule) {
            row.note_end(job, now);
        }
        self.after_job(&origin.schedule, now);
    }

    pub(super) fn prune(&mut self, request: &Prune, now: StoreTime) -> u64 {
        let limit = request.limit as usize;
        let jobs = self.prune_jobs(request, now);
        let over = now.before(request.keep_over);
        let over = self.schedules.values().filter(|row| row.is_over(over));
        let mut over: Vec<_> = over.map(|row| (row.cursor, row.definition.name.clone())).collect();
        over.sort_unstable();
        over.truncate(limit);
        for (_, name) in &over {
            self.schedules.remove(name);
        }
        self.prune_keys(limit, now);
        self.arrivals.retain(|_, arrival| arrival.lies_ahead(now));
        self.prune_sessions(limit, now);
        (jobs + over.len() + self.prune_actions(request, now)) as u64
    }

    fn prune_actions(&mut self, request: &Prune, now: StoreTime) -> usize {
        let old = self.actions.keys().take_while(|(at, _)| at.after(request.keep_actions) <= now);
        let old: Vec<_> = old.take(request.limit as usize).copied().collect();
        old.iter().for_each(|place| drop(self.actions.remove(place)));
        old.len()
    }

    fn prune_jobs(&mut self, request: &Prune, now: StoreTime) -> usize {
        let ended = |is_meant: fn(&JobState) -> bool, keep: Duration| {
            let jobs = self.jobs.values().map(|row| &row.job);
            let old = jobs.filter(|job| is_meant(&job.state)).filter_map(|job| {
                Some((job.finished_at.filter(|at| at.after(keep) <= now)?, job.id))
            });
            let mut old: Vec<_> = old.collect();
            old.sort_unstable();
            old
        };
        let mut parked = ended(|state| *state == JobState::Parked, request.keep_parked);
        parked.truncate(request.limit as usize);
        let is_done = |state: &JobState| matches!(state, JobState::Done | JobState::Cancelled);
        let mut done = ended(is_done, request.keep_done);
        let until = request.done_until(done.iter().map(|(at, _)| (*at, 1)));
        done.retain(|(at, _)| until.is_some_and(|until| *at <= until));
        let jobs = [parked, done].concat();
        for (_, id) in &jobs {
            self.jobs.remove(id);
        }
        jobs.len()
    }

    fn prune_sessions(&mut self, limit: usize, now: StoreTime) {
        let old = self.ended_sessions.iter().map(|(id, (_, end))| (end.at, *id));
        let mut old: Vec<_> =
            old.filter(|(at, _)| *at <= now.before(ENDED_SESSION_RETENTION)).collect();
        old.sort_unstable();
        for (_, id) in old.iter().take(limit) {
            self.ended_sessions.remove(id);
        }
    }

    /// Keys whose time is over, and whose jobs have ended.
    fn prune_keys(&mut self, limit: usize, now: StoreTime) {
        let is_over = |job: &JobId, until: StoreTime| {
            let is_unfinished = |row: &JobRow| row.job.state.is_unfinished();
            until <= now && !self.jobs.get(job).is_some_and(is_unfinished)
        };
        let keys = self.kept_keys.iter().filter(|(_, (job, until))| is_over(job, *until));
        let mut keys: Vec<_> = keys.map(|(place, (_, until))| (*until, place.clone())).collect();
        keys.sort_unstable();
        for (_, place) in keys.iter().take(limit) {
            self.kept_keys.remove(place);
        }
    }
}
