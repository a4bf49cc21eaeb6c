//! Polls: repairs, claims from lanes and of other jobs, and what is due.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::ops::Bound;

use crate::column::JobRow;
use crate::command::{JobPause, Pause, PauseScope};
use crate::id::{JobId, SessionId, StoreTime};
use crate::job::{EXPIRED_MAX, JobState, StoredJob};
use crate::lane::{LaneGroup, Lanes, LimitsUsed, Turns, partition_depth};
use crate::limit::{Arrival, StoredLimits, TaskLimits};
use crate::model::ModelState;
use crate::request::{CLAIM_BYTES_MAX, DueSchedule, Poll, Polled};
use crate::schedule::StoredSchedule;
use crate::wait::{JobWait, LimitDepth, PartitionDepth, WaitReason, limit_depths};

impl ModelState {
    /// The answer, and whether the poll has changed something.
    pub(super) fn poll(
        &mut self,
        request: &Poll,
        turns: &mut Turns,
        now: StoreTime,
    ) -> (Polled, bool) {
        let leases = match request.with_leases {
            true => self.leases(request.session, now),
            false => Vec::new(),
        };
        if !self.is_alive(request.session, now) {
            return (Polled { now, leases, ..Polled::default() }, false);
        }
        let is_repaired = self.repair(now);
        let expired = self.expire(now);
        let is_brought_in = self.bring_in(request, now);
        let pause = self.sessions.get(&request.session).and_then(|row| row.pause.as_ref());
        let is_paused = pause.is_some_and(|pause| pause.holds(now));
        // No job is claimed while one is left that has expired.
        let limit = if is_paused || expired.is_partial { 0 } else { request.limit };
        let chosen = self.choose(&Poll { limit, ..request.clone() }, turns, now);
        let jobs = chosen.jobs.into_iter();
        let jobs =
            jobs.filter_map(|(id, is_ordered)| self.claim(id, request.session, is_ordered, now));
        let jobs: Vec<StoredJob> = jobs.collect();
        let is_changed =
            is_repaired || is_brought_in || !expired.tasks.is_empty() || !jobs.is_empty();
        let is_known = |task: &str| request.tasks.iter().any(|room| &*room.task == task);
        let known: Vec<&StoredSchedule> = self
            .schedules
            .values()
            .filter(|schedule| is_known(&schedule.definition.task))
            .collect();
        let due = known.iter().filter(|schedule| schedule.is_due(now)).map(|schedule| {
            let busy = self.busy(&schedule.definition.name);
            DueSchedule {
                schedule: StoredSchedule::clone(schedule),
                busy_since: busy.map(|job| job.created_at),
            }
        });
        let cancels = self.jobs.values().map(|row| &row.job).filter(|job| {
            job.state == JobState::Running
                && job.session == Some(request.session)
                && job.is_cancel_requested
        });
        let is_named = |paused: &JobPause| !matches!(paused.scope, PauseScope::Partition(..));
        let paused: Vec<JobPause> = self.pauses(now).filter(is_named).collect();
        let later =
            self.ready(request, now).filter(|row| row.lane().is_none() && now < row.job.run_at);
        let resumed = paused.iter().filter_map(|paused| paused.pause.until);
        let polled = Polled {
            now,
            is_alive: true,
            jobs,
            due: due.collect(),
            next_job: later.map(|row| row.job.run_at).chain(resumed).chain(chosen.opens_at).min(),
            next_tick: known.iter().filter_map(|schedule| schedule.decides_after(now)).min(),
            cancels: cancels.map(StoredJob::held).collect(),
            leases,
            paused: paused.into_iter().map(|paused| paused.scope).collect(),
            is_paused,
            is_partial: chosen.is_partial || expired.is_partial,
            is_full: chosen.is_full,
            damaged: Vec::new(),
            expired: expired.tasks,
        };
        (polled, is_changed)
    }

    /// Cancels jobs that have not begun by their time, the earliest first, within the bytes of a claim.
    fn expire(&mut self, now: StoreTime) -> Expired {
        let mut over: Vec<_> =
            self.jobs.values().map(|row| &row.job).filter(|job| job.is_expired(now)).collect();
        over.sort_by_key(|job| (job.expires_at, job.id));
        let total = over.len();
        let mut bytes = 0;
        let mut fits = |(before, job): &(usize, &StoredJob)| {
            bytes += job.payload.bytes.len();
            *before == 0 || bytes <= CLAIM_BYTES_MAX
        };
        let taken =
            over.into_iter().take(EXPIRED_MAX as usize).enumerate().take_while(|next| fits(next));
        let taken: Vec<JobId> = taken.map(|(_, job)| job.id).collect();
        let mut expired = Expired { is_partial: taken.len() < total, ..Expired::default() };
        for id in taken {
            let Some(row) = self.jobs.get_mut(&id) else { continue };
            row.job.expire(now);
            *expired.tasks.entry(row.job.task.clone()).or_default() += 1;
        }
        expired
    }

    /// Repairs what the end of a job has left. Returns true if something was left.
    fn repair(&mut self, now: StoreTime) -> bool {
        let names: Vec<String> = self.schedules.keys().cloned().collect();
        let repaired = names.iter().filter(|name| self.after_job(name, now));
        repaired.count() > 0
    }

    /// The pauses of jobs that hold.
    pub(super) fn pauses(&self, now: StoreTime) -> impl Iterator<Item = JobPause> {
        let holding = self.pauses.iter().filter(move |(_, pause)| pause.holds(now));
        holding.map(|(scope, pause)| JobPause { scope: scope.clone(), pause: pause.clone() })
    }

    /// Returns true if no such job may be claimed now (R21).
    pub(super) fn is_paused(&self, job: &StoredJob, now: StoreTime) -> bool {
        self.pauses(now).any(|paused| paused.scope.has(&job.task, &job.queue))
    }

    /// The ready jobs that the process of a poll may claim, also later.
    fn ready<'a>(&'a self, request: &'a Poll, now: StoreTime) -> impl Iterator<Item = &'a JobRow> {
        self.jobs.values().filter(move |row| {
            let job = &row.job;
            job.state == JobState::Ready
                && request.knows(&job.task, job.payload.version)
                && serves(request, &job.queue)
                && !self.is_paused(job, now)
        })
    }

    /// Due jobs get their lane. Returns true if there were some.
    fn bring_in(&mut self, request: &Poll, now: StoreTime) -> bool {
        let due = self.ready(request, now).filter(|row| {
            let has_lane =
                row.job.partition.is_some() || self.limits.of(&row.job.task).is_limited();
            row.job.run_at <= now && has_lane && row.lane().is_none()
        });
        let due: Vec<JobId> = due.map(|row| row.job.id).collect();
        for id in &due {
            if let Some(row) = self.jobs.get_mut(id) {
                row.seen_due_at = Some(now);
                row.job.partition.get_or_insert_default();
            }
        }
        !due.is_empty()
    }

    /// The jobs to claim: those in lanes, then others.
    fn choose(&mut self, request: &Poll, turns: &mut Turns, now: StoreTime) -> Chosen {
        let (in_lanes, others): (Vec<_>, Vec<_>) =
            self.ready(request, now).partition(|row| row.lane().is_some());
        let others: Vec<_> =
            others.into_iter().map(|row| &row.job).filter(|job| job.run_at <= now).collect();
        let in_lanes: Vec<_> = in_lanes.into_iter().map(|row| &row.job).collect();
        let groups: BTreeSet<LaneGroup> = match request.limit {
            0 => BTreeSet::new(),
            _ => in_lanes.iter().map(|job| LaneGroup::of(job)).collect(),
        };
        let lanes = self.lanes(in_lanes, now);
        let nothing_used = LimitsUsed::default();
        let are_others_due = !request.choose(others.clone(), &nothing_used, |job| job).is_empty();
        let Ok(claim) = request.claim_lanes(&lanes, &groups, turns, are_others_due);
        let chosen = request.choose(others, &claim.used, |job| job);
        let jobs = claim.jobs.iter().chain(&chosen).map(|job| job.id);
        let jobs = jobs.map(|id| (id, claim.ordered.contains(&id))).collect();
        let (is_partial, is_full, opens_at) = (claim.is_partial, claim.is_full, claim.opens_at);
        let chosen = Chosen { jobs, is_partial, is_full, opens_at };
        self.arrivals = lanes.arrivals.into_inner();
        chosen
    }

    fn lanes<'a>(&'a self, due: Vec<&'a StoredJob>, now: StoreTime) -> ModelLanes<'a> {
        ModelLanes {
            due,
            rows: self.jobs.values().collect(),
            limits: &self.limits,
            pauses: &self.pauses,
            arrivals: RefCell::new(self.arrivals.clone()),
            now,
        }
    }

    /// Those of these jobs that are ready, by identity, and why they do not run.
    pub(super) fn waits(&self, jobs: &[JobId], now: StoreTime) -> Vec<JobWait> {
        let pauses: Vec<JobPause> = self.pauses(now).collect();
        let (lanes, sessions) = (self.lanes(Vec::new(), now), self.session_infos(now));
        let asked: BTreeSet<&JobId> = jobs.iter().collect();
        let asked = asked.into_iter().filter_map(|id| self.jobs.get(id));
        let ready = asked.filter(|row| row.job.state == JobState::Ready);
        let wait = |row: &JobRow| {
            let Ok(reason) = WaitReason::of_job(&lanes, row, &pauses, &sessions);
            JobWait::new(row.job.id, reason)
        };
        ready.map(wait).collect()
    }

    /// The partitions of a task in which jobs are due or run.
    pub(super) fn partitions(&self, task: &str, limit: u32, now: StoreTime) -> Vec<PartitionDepth> {
        let limits = self.limits.of(task);
        let is_of = |job: &StoredJob| job.task == task || limits.names.contains(&job.task);
        let mut counts = BTreeMap::<&str, (u64, u64)>::new();
        for row in self.jobs.values().filter(|row| is_of(&row.job)) {
            let Some(partition) = row.job.partition.as_deref() else { continue };
            let (due, running) = counts.entry(partition).or_default();
            *due += u64::from(row.lane().is_some());
            *running += u64::from(row.job.state == JobState::Running);
        }
        counts.retain(|_, (due, running)| *due + *running > 0);
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(partition, (due, _))| (Reverse(*due), *partition));
        counts.truncate(limit as usize);
        let lanes = self.lanes(Vec::new(), now);
        let depth = |(partition, (due, running)): (&str, (u64, u64))| {
            let Ok(depth) = partition_depth(&lanes, &limits, (partition.to_owned(), due, running));
            depth
        };
        counts.into_iter().map(depth).collect()
    }

    /// The due jobs of all tasks that have a limit.
    pub(super) fn limit_depths(&self, now: StoreTime) -> Vec<LimitDepth> {
        let lanes = self.lanes(Vec::new(), now);
        let of_task = |(task, limits): (&str, TaskLimits)| {
            let mut due = BTreeMap::<(String, String), (u64, StoreTime)>::new();
            for row in self.jobs.values().filter(|row| row.job.task == task) {
                let Some(lane) = row.lane() else { continue };
                let place = (row.job.queue.clone(), lane.to_owned());
                let (jobs, oldest) = due.entry(place).or_insert((0, StoreTime::MAX));
                (*jobs, *oldest) = (*jobs + 1, (*oldest).min(row.job.run_at));
            }
            let Ok(depths) = limit_depths(&lanes, (task, &limits), due);
            depths
        };
        self.limits.limited().flat_map(of_task).collect()
    }

    /// Gives a job to a session.
    pub(super) fn claim(
        &mut self,
        id: JobId,
        session: SessionId,
        is_ordered: bool,
        now: StoreTime,
    ) -> Option<StoredJob> {
        let fence = self.next_fence();
        let row = self.jobs.get_mut(&id)?;
        row.job.claim(session, fence, row.key_until, is_ordered, now);
        Some(row.job.clone())
    }
}

fn serves(request: &Poll, queue: &str) -> bool {
    request.queues.as_ref().is_none_or(|queues| queues.iter().any(|each| &**each == queue))
}

/// Jobs that a poll has cancelled, by task.
#[derive(Default)]
struct Expired {
    tasks: BTreeMap<String, u64>,
    /// True if there are more.
    is_partial: bool,
}

/// The jobs that a poll claims.
struct Chosen {
    /// Each with true if it is in a partition with order.
    jobs: Vec<(JobId, bool)>,
    is_partial: bool,
    is_full: bool,
    opens_at: Option<StoreTime>,
}

/// The state, as a claim from lanes sees it.
struct ModelLanes<'a> {
    due: Vec<&'a StoredJob>,
    rows: Vec<&'a JobRow>,
    limits: &'a StoredLimits,
    pauses: &'a BTreeMap<PauseScope, Pause>,
    arrivals: RefCell<BTreeMap<(String, Option<String>), Arrival>>,
    now: StoreTime,
}

impl<'a> Lanes for ModelLanes<'a> {
    type Job = &'a StoredJob;
    type Error = Infallible;

    fn now(&self) -> StoreTime {
        self.now
    }

    fn job(job: &Self::Job) -> &StoredJob {
        job
    }

    fn limits(&self, task: &str) -> Result<TaskLimits, Infallible> {
        Ok(self.limits.of(task))
    }

    fn next(&self, group: &LaneGroup, after: Option<&str>) -> Result<Option<String>, Infallible> {
        let jobs = self.due.iter().filter(|job| LaneGroup::of(job) == *group);
        let lanes: BTreeSet<&str> = jobs.filter_map(|job| job.partition.as_deref()).collect();
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        Ok(lanes.range::<str, _>((from, Bound::Unbounded)).next().map(|lane| (*lane).to_owned()))
    }

    fn first(
        &self,
        group: &LaneGroup,
        lane: &str,
        limit: u32,
    ) -> Result<Vec<&'a StoredJob>, Infallible> {
        let of = |job: &&&StoredJob| {
            LaneGroup::of(job) == *group
                && job.partition.as_deref() == Some(lane)
                && job.held_until.is_none_or(|until| until <= self.now)
        };
        let mut jobs: Vec<_> = self.due.iter().filter(of).copied().collect();
        jobs.sort_by_key(|job| job.place());
        jobs.truncate(limit as usize);
        Ok(jobs)
    }

    fn head(&self, names: &[String], partition: &str) -> Result<Option<&'a StoredJob>, Infallible> {
        let of = |row: &&&JobRow| row.lane() == Some(partition) && names.contains(&row.job.task);
        let jobs = self.rows.iter().filter(of).map(|row| &row.job);
        let jobs = jobs.filter(|job| !job.is_expired(self.now));
        Ok(jobs.min_by_key(|job| job.place_in_order()))
    }

    fn parked(&self, names: &[String], partition: &str) -> Result<Option<JobId>, Infallible> {
        let jobs = self.rows.iter().map(|row| &row.job);
        let parked = jobs.filter(|job| {
            job.state == JobState::Parked
                && job.partition.as_deref() == Some(partition)
                && names.contains(&job.task)
        });
        Ok(parked.map(|job| job.id).min())
    }

    fn running(&self, names: &[String], partition: Option<&str>) -> Result<u32, Infallible> {
        let running = self.rows.iter().map(|row| &row.job);
        let running = running.filter(|job| job.state == JobState::Running);
        let jobs = running.filter(|job| names.contains(&job.task));
        let count = jobs.filter(|job| match (&job.partition, partition) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(own), Some(partition)) => own == partition,
        });
        Ok(u32::try_from(count.count()).unwrap_or(u32::MAX))
    }

    fn pause(&self, scope: &PauseScope) -> Result<Option<Pause>, Infallible> {
        Ok(self.pauses.get(scope).filter(|pause| pause.holds(self.now)).cloned())
    }

    fn arrival(&self, task: &str, partition: Option<&str>) -> Result<Option<Arrival>, Infallible> {
        let place = (task.to_owned(), partition.map(str::to_owned));
        Ok(self.arrivals.borrow().get(&place).copied())
    }

    fn set_arrival(
        &self,
        task: &str,
        partition: Option<&str>,
        arrival: Arrival,
    ) -> Result<(), Infallible> {
        let place = (task.to_owned(), partition.map(str::to_owned));
        self.arrivals.borrow_mut().insert(place, arrival);
        Ok(())
    }
}
