//! Claims from lanes: the due jobs of partitions, which take turns.
//!
//! A *lane* is the ready jobs of one task, queue, version of the payload and partition that are due. A claim goes from lane to lane
//! in the order of their names, from where the last one of the process has ended, and around; a lane whose limit is reached costs
//! one look, also with a million jobs. The stores in memory and in SQLite claim by this; PostgreSQL has the same as a function.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use scheduler_expr::OnPark;

use crate::command::{JobPause, Pause, PauseScope};
use crate::decide::LineKind;
use crate::id::{JobId, StoreTime};
use crate::job::StoredJob;
use crate::limit::{Arrival, Limit, Rate, TaskLimits};
use crate::request::{CLAIM_BYTES_MAX, Poll};
use crate::wait::{PartitionDepth, PartitionOrder, Room};

/// The greatest number of lanes that one poll looks at of a task in a queue.
pub const LANES_MAX: usize = 200;

/// Lanes of one task, queue and version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneGroup {
    /// The task.
    pub task: String,
    /// The queue.
    pub queue: String,
    /// The version of the payloads.
    pub version: u32,
}

impl LaneGroup {
    /// The group of a job's lane.
    #[must_use]
    pub fn of(job: &StoredJob) -> Self {
        let (task, queue) = (job.task.clone(), job.queue.clone());
        Self { task, queue, version: job.payload.version }
    }
}

/// The lanes after which the claims of a process go on, by group.
pub type Turns = BTreeMap<LaneGroup, String>;

/// The tables of a store, as a claim from lanes reads and writes them.
pub trait Lanes {
    /// A job.
    type Job;
    /// Why the store did not answer.
    type Error;

    /// The instant of the claim.
    fn now(&self) -> StoreTime;

    /// The job as all stores know it.
    fn job(job: &Self::Job) -> &StoredJob;

    /// The limits of a task.
    ///
    /// # Errors
    ///
    /// The store did not answer, as for all methods.
    fn limits(&self, task: &str) -> Result<TaskLimits, Self::Error>;

    /// The first lane after one; the first of all after none.
    ///
    /// # Errors
    ///
    /// See [`limits`](Self::limits).
    fn next(&self, group: &LaneGroup, after: Option<&str>) -> Result<Option<String>, Self::Error>;

    /// The first jobs of a lane that are not held, by priority, place and identity.
    ///
    /// # Errors
    ///
    /// See [`limits`](Self::limits).
    fn first(
        &self,
        group: &LaneGroup,
        lane: &str,
        limit: u32,
    ) -> Result<Vec<Self::Job>, Self::Error>;

    /// The first of the jobs of these tasks that are in a lane of the partition, whatever their queues and versions, also if it is held:
    /// one that has begun before all others.
    ///
    /// # Errors
    ///
    /// See [`limits`](Self::limits).
    fn head(&self, names: &[String], partition: &str) -> Result<Option<Self::Job>, Self::Error>;

    /// A parked job of these tasks in the partition.
    ///
    /// # Errors
    ///
    /// See [`limits`](Self::limits).
    fn parked(&self, names: &[String], partition: &str) -> Result<Option<JobId>, Self::Error>;

    /// The pause of a partition that holds.
    ///
    /// # Errors
    ///
    /// See [`limits`](Self::limits).
    fn pause(&self, scope: &PauseScope) -> Result<Option<Pause>, Self::Error>;

    /// The number of running jobs of these tasks that have a partition: of one, or of all.
    ///
    /// # Errors
    ///
    /// See [`limits`](Self::limits).
    fn running(&self, names: &[String], partition: Option<&str>) -> Result<u32, Self::Error>;

    /// The arrival of a rate: of a partition, or of all.
    ///
    /// # Errors
    ///
    /// See [`limits`](Self::limits).
    fn arrival(&self, task: &str, partition: Option<&str>) -> Result<Option<Arrival>, Self::Error>;

    /// Keeps an arrival.
    ///
    /// # Errors
    ///
    /// See [`limits`](Self::limits).
    fn set_arrival(
        &self,
        task: &str,
        partition: Option<&str>,
        arrival: Arrival,
    ) -> Result<(), Self::Error>;
}

/// The jobs that a poll takes from lanes.
#[derive(Debug)]
pub struct LaneClaim<J> {
    /// The jobs, in the order in which they are claimed.
    pub jobs: Vec<J>,
    /// True if another poll may find more at once.
    pub is_partial: bool,
    /// True if as many jobs run as may: the end of one makes room for another.
    pub is_full: bool,
    /// When the first lane opens that its rate has closed.
    pub opens_at: Option<StoreTime>,
    /// The part of the poll's limits that they take.
    pub used: LimitsUsed,
    /// Those of them that are in partitions with order.
    pub ordered: BTreeSet<JobId>,
}

/// The part of a poll's limits that is taken.
#[derive(Clone, Debug, Default)]
pub struct LimitsUsed {
    pub(crate) tasks: BTreeMap<String, u32>,
    pub(crate) jobs: u32,
    pub(crate) lost: u32,
    pub(crate) long: u32,
    pub(crate) bytes: usize,
}

/// A lane in which jobs may start.
struct OpenLane<J> {
    lane: String,
    by_running: u32,
    by_rate: u32,
    arrival: Option<Arrival>,
    /// The only job that may start, where order counts.
    head: Option<J>,
    jobs: VecDeque<J>,
    taken: u32,
}

/// The lanes of a group that a claim has looked at.
struct Looked<J> {
    open: Vec<OpenLane<J>>,
    last: Option<String>,
    /// True if there are no others.
    is_round: bool,
}

impl Poll {
    /// Takes jobs from lanes. Without other due jobs that the poll could take they get all the room; else half of it.
    ///
    /// # Errors
    ///
    /// The store did not answer.
    pub fn claim_lanes<S: Lanes>(
        &self,
        store: &S,
        groups: &BTreeSet<LaneGroup>,
        turns: &mut Turns,
        are_others_due: bool,
    ) -> Result<LaneClaim<S::Job>, S::Error> {
        let (used, jobs, opens_at) = (LimitsUsed::default(), Vec::new(), None);
        let (is_partial, is_full, ordered) = (false, false, BTreeSet::new());
        let mut claim = LaneClaim { jobs, is_partial, is_full, opens_at, used, ordered };
        // None is claimed before it can begin, as of jobs that run at most once (R14).
        let all = self.limit.min(self.abandon_limit);
        let mut left = if are_others_due { all.div_ceil(2) } else { all };
        for (before, group) in (0..).zip(groups) {
            let share = left.div_ceil((groups.len() - before) as u32);
            let of_task = claim.used.tasks.get(&group.task).copied().unwrap_or(0);
            let room = share.min(self.room(&group.task).saturating_sub(of_task));
            left -= self.claim_group(store, group, turns, room, &mut claim)?;
        }
        Ok(claim)
    }

    /// Takes up to so many jobs of a group, and returns how many.
    fn claim_group<S: Lanes>(
        &self,
        store: &S,
        group: &LaneGroup,
        turns: &mut Turns,
        room: u32,
        claim: &mut LaneClaim<S::Job>,
    ) -> Result<u32, S::Error> {
        let limits = store.limits(&group.task)?;
        let LimitRoom { room: all, by_rate, arrival, .. } =
            limit_room(store, &limits, &limits.all, None)?;
        let by_running = room_left::<S>(&all, &limits, None, claim);
        let room = room.min(by_running).min(by_rate);
        let mut looked =
            look(store, group, &limits, turns.get(group).map(String::as_str), room, claim)?;
        let per = room.div_ceil((looked.open.len() as u32).max(1));
        for open in &mut looked.open {
            let limit = per.min(open.by_running).min(open.by_rate);
            open.jobs = match open.head.take() {
                Some(head) => {
                    claim.ordered.insert(S::job(&head).id);
                    [head].into()
                }
                None => store.first(group, &open.lane, limit)?.into(),
            };
            claim.is_partial |= limit == per && open.jobs.len() as u32 == per && per < room;
        }
        let (taken, last) = self.take_turns::<S>(&mut looked.open, room, claim);
        let last = if taken == room { last.or(looked.last) } else { looked.last };
        turns.extend(last.map(|lane| (group.clone(), lane)));
        claim.is_partial |= room > 0 && (taken == room || !looked.is_round);
        for open in looked.open {
            claim.is_full |= open.taken >= open.by_running;
            if let Some(rate) = limits.each.rate.filter(|_| open.taken > 0) {
                let arrival = rate.after(open.arrival, store.now(), open.taken);
                store.set_arrival(&limits.task, Some(&open.lane), arrival)?;
                claim.opens(rate, arrival, store.now());
            }
        }
        claim.is_full |= taken >= by_running;
        if let Some(rate) = limits.all.rate {
            let arrival = rate.after(arrival, store.now(), taken);
            if taken > 0 {
                store.set_arrival(&limits.task, None, arrival)?;
            }
            claim.opens(rate, arrival, store.now());
        }
        Ok(taken)
    }

    /// Takes the first job of each lane, then the second of each. Returns how many, and the lane of the last.
    fn take_turns<S: Lanes>(
        &self,
        open: &mut [OpenLane<S::Job>],
        room: u32,
        claim: &mut LaneClaim<S::Job>,
    ) -> (u32, Option<String>) {
        let (mut taken, mut last) = (0, None);
        let lost_left = self.lost_limit.saturating_sub(claim.used.lost);
        while taken < room && open.iter().any(|lane| !lane.jobs.is_empty()) {
            for lane in &mut *open {
                let Some(job) = lane.jobs.pop_front().filter(|_| taken < room) else { continue };
                if self.fits(S::job(&job), &mut claim.used) {
                    (taken, lane.taken) = (taken + 1, lane.taken + 1);
                    last = Some(lane.lane.clone());
                    claim.jobs.push(job);
                } else {
                    // Without room for lost jobs another poll finds no more.
                    claim.is_partial |= lost_left > 0 || !S::job(&job).is_quarantined();
                }
            }
        }
        (taken, last)
    }

    /// Returns true if a job is within the limits of its kind, and counts it.
    fn fits(&self, job: &StoredJob, used: &mut LimitsUsed) -> bool {
        let kind = LineKind::of(job);
        let bytes = if kind.is_long { 0 } else { job.payload.bytes.len() };
        let fits = (!kind.is_quarantined || used.lost < self.lost_limit)
            && (!kind.is_long || used.long < 1)
            && used.bytes + bytes <= CLAIM_BYTES_MAX;
        if fits {
            *used.tasks.entry(job.task.clone()).or_default() += 1;
            used.jobs += 1;
            used.lost += u32::from(kind.is_quarantined);
            used.long += u32::from(kind.is_long);
            used.bytes += bytes;
        }
        fits
    }
}

/// The starts that a limit leaves now.
pub(crate) struct LimitRoom<J> {
    pub(crate) room: Room,
    /// 0 also if the order of the partition lets none start.
    by_rate: u32,
    arrival: Option<Arrival>,
    pub(crate) head: Option<J>,
}

impl<J> LimitRoom<J> {
    /// The number of jobs that may start now.
    pub(crate) fn starts(&self) -> u32 {
        self.room.by_running().min(self.by_rate)
    }
}

/// The starts that a limit of a task leaves now: the one of a partition, or of all.
pub(crate) fn limit_room<S: Lanes>(
    store: &S,
    limits: &TaskLimits,
    limit: &Limit,
    partition: Option<&str>,
) -> Result<LimitRoom<S::Job>, S::Error> {
    let running = match limit.running {
        Some(_) => store.running(&limits.names, partition)?,
        None => 0,
    };
    let arrival = match limit.rate {
        Some(_) => store.arrival(&limits.task, partition)?,
        None => None,
    };
    let mut by_rate = limit.rate.map_or(u32::MAX, |rate| rate.room(arrival, store.now()));
    let closed = limit.rate.filter(|_| by_rate == 0);
    let opens_at = closed.map(|rate| rate.opens_at(arrival, store.now()));
    let (mut room, mut head) = (Room::new(limit.running, running, opens_at), None);
    if let Some(partition) = partition {
        let scope = PauseScope::Partition(limits.task.clone(), partition.to_owned());
        room.pause = store.pause(&scope)?.map(|pause| JobPause::new(scope, pause));
        by_rate = if room.pause.is_some() { 0 } else { by_rate };
    }
    if let (Some(on_park), Some(partition)) = (limit.ordered, partition) {
        head = store.head(&limits.names, partition)?;
        let parked = match on_park {
            OnPark::GoOn => None,
            OnPark::Hold => store.parked(&limits.names, partition)?,
        };
        let order = PartitionOrder::new(head.as_ref().map(S::job), parked, store.now());
        by_rate = if order.is_closed() { 0 } else { by_rate };
        room.order = Some(order);
    }
    Ok(LimitRoom { room, by_rate, arrival, head })
}

/// A partition, with the number of its due jobs and of those that run.
///
/// # Errors
///
/// The store did not answer.
pub fn partition_depth<S: Lanes>(
    store: &S,
    limits: &TaskLimits,
    (partition, due, running): (String, u64, u64),
) -> Result<PartitionDepth, S::Error> {
    let room = limit_room(store, limits, &limits.each, Some(&partition))?.room;
    let mut depth = PartitionDepth::new(partition, due, running, room.opens_at());
    depth.pause = room.pause.map(|paused| paused.pause);
    Ok(depth)
}

/// The number of jobs that a limit lets start beside those that run, and those that this claim has taken of other groups.
fn room_left<S: Lanes>(
    room: &Room,
    limits: &TaskLimits,
    partition: Option<&str>,
    claim: &LaneClaim<S::Job>,
) -> u32 {
    let taken = claim.jobs.iter().map(S::job).filter(|job| {
        let is_of_lane = partition.is_none() || job.partition.as_deref() == partition;
        is_of_lane && limits.names.contains(&job.task)
    });
    room.by_running().saturating_sub(if room.limit.is_some() { taken.count() as u32 } else { 0 })
}

/// Looks at lanes until enough are open: from the one after which the last claim has ended, around.
fn look<S: Lanes>(
    store: &S,
    group: &LaneGroup,
    limits: &TaskLimits,
    from: Option<&str>,
    room: u32,
    claim: &mut LaneClaim<S::Job>,
) -> Result<Looked<S::Job>, S::Error> {
    let mut looked = Looked { open: Vec::new(), last: None, is_round: false };
    let (mut count, mut has_wrapped) = (0, from.is_none());
    let mut after = from.map(str::to_owned);
    while count < LANES_MAX && (looked.open.len() as u32) < room {
        let Some(lane) = store.next(group, after.as_deref())? else {
            looked.is_round = std::mem::replace(&mut has_wrapped, true);
            after = None;
            if looked.is_round { break } else { continue }
        };
        looked.is_round = has_wrapped && from.is_some_and(|from| &*lane > from);
        if looked.is_round {
            break;
        }
        count += 1;
        let LimitRoom { room: each, by_rate, arrival, head } =
            limit_room(store, limits, &limits.each, Some(&lane))?;
        let by_running = room_left::<S>(&each, limits, Some(&lane), claim);
        claim.opens_at = claim.opens_at.into_iter().chain(each.opens_at()).min();
        claim.is_full |= by_running == 0;
        let is_of_other = head.as_ref().is_some_and(|head| LaneGroup::of(S::job(head)) != *group);
        if by_running.min(by_rate) > 0 && !is_of_other {
            let (lane, jobs) = (lane.clone(), VecDeque::new());
            looked.open.push(OpenLane { lane, by_running, by_rate, arrival, head, jobs, taken: 0 });
        }
        (after, looked.last) = (Some(lane.clone()), Some(lane));
    }
    Ok(looked)
}

impl<J> LaneClaim<J> {
    /// Remembers when a rate allows the next start that allows none now.
    fn opens(&mut self, rate: Rate, arrival: Arrival, now: StoreTime) {
        if rate.room(Some(arrival), now) == 0 {
            let opens_at = rate.opens_at(Some(arrival), now);
            self.opens_at = Some(self.opens_at.map_or(opens_at, |at| at.min(opens_at)));
        }
    }
}
