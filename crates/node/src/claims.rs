//! The claimed jobs of this process, and its room for more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use scheduler_expr::Tick;
use scheduler_store::{ClaimRef, JobProgress, OnLost, SessionId, StoreTime, StoredJob, TaskRoom};

use crate::config::{Config, TaskConfig};

/// The jobs in hand: claimed, and not ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claims {
    jobs: BTreeMap<(scheduler_store::JobId, u64), Claim>,
    begun: u32,
    /// The number of those that are in quarantine (R14).
    quarantined: u32,
    /// The number of those whose runs go on, though their session has ended.
    outlived: u32,
    /// The average time of a run.
    mean: Option<Duration>,
    /// By pool: when a run of it began or ended last.
    moved: BTreeMap<Option<usize>, Tick>,
    /// Pools whose threads are held by what is no job, and until when nothing is claimed for them.
    starved: BTreeMap<Option<usize>, Tick>,
}

/// A job in hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) session: SessionId,
    /// The task that runs it, which may have had another name.
    pub(crate) task: Arc<str>,
    /// The pool whose thread its run holds.
    pub(crate) pool: Option<usize>,
    /// The job as it was claimed.
    pub(crate) job: Arc<StoredJob>,
    pub(crate) claimed: Tick,
    /// When its run began.
    pub(crate) begun: Option<Tick>,
    pub(crate) is_quarantined: bool,
    /// True if it runs at most once. Its run goes on when the session ends, because no other process may run it (R4).
    pub(crate) is_abandon: bool,
    pub(crate) is_lost: bool,
    pub(crate) is_cancelled: bool,
    /// True of a run that goes on, though the session of its claim has ended, or the store says that it has another owner.
    pub(crate) has_outlived: bool,
    /// True of a job that does not begin before another one's run has ended, see [`Claims::is_blocked`].
    pub(crate) is_held: bool,
    /// The last progress that its run has reported.
    pub(crate) progress: Option<JobProgress>,
    /// The last one that the store has answered for.
    pub(crate) kept_progress: Option<JobProgress>,
}

/// After that time without a run that begins or ends, a claim waits in vain for a thread that should be free.
pub(crate) const STARVED_AFTER: Duration = Duration::from_secs(1);

/// The time for which nothing is claimed then.
const STARVED_FOR: Duration = Duration::from_secs(10);

/// The longest time for which claimed work waits for a worker.
const PREFETCH: Duration = Duration::from_millis(75);

impl Claims {
    pub(crate) fn take(
        &mut self,
        job: &Arc<StoredJob>,
        task: &TaskConfig,
        session: SessionId,
        now: Tick,
    ) {
        let claim = Claim {
            session,
            task: Arc::clone(&task.task),
            pool: task.pool,
            job: Arc::clone(job),
            claimed: now,
            begun: None,
            is_quarantined: job.is_quarantined(),
            is_abandon: job.on_lost == OnLost::Abandon,
            is_lost: false,
            is_cancelled: false,
            has_outlived: false,
            is_held: false,
            progress: None,
            kept_progress: None,
        };
        self.quarantined += u32::from(job.is_quarantined());
        self.jobs.insert(key(job.held()), claim);
    }

    pub(crate) fn get_mut(&mut self, held: ClaimRef) -> Option<&mut Claim> {
        self.jobs.get_mut(&key(held))
    }

    pub(crate) fn contains(&self, held: ClaimRef) -> bool {
        self.jobs.contains_key(&key(held))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (ClaimRef, &Claim)> {
        self.jobs.iter().map(|((job, fence), claim)| {
            (ClaimRef { job: *job, fence: scheduler_store::Fence(*fence) }, claim)
        })
    }

    /// The claims that wait for a worker and meet a condition.
    pub(crate) fn waiting(&self, is_meant: impl Fn(&Claim) -> bool) -> Vec<ClaimRef> {
        let waiting = self.iter().filter(|(_, job)| job.begun.is_none() && is_meant(job));
        waiting.map(|(held, _)| held).collect()
    }

    /// A run begins.
    pub(crate) fn begin(&mut self, held: ClaimRef, now: Tick) {
        if let Some(job) = self.jobs.get_mut(&key(held))
            && job.begun.is_none()
        {
            job.begun = Some(now);
            self.begun += 1;
            self.moved.insert(job.pool, now);
        }
    }

    /// The progress of the session's runs that has changed since the store answered for it.
    pub(crate) fn changed_progress(&self, session: SessionId) -> Vec<(ClaimRef, JobProgress)> {
        let of_it = self.iter().filter(|(_, claim)| claim.session == session);
        let changed = of_it.filter(|(_, claim)| claim.progress != claim.kept_progress);
        changed.filter_map(|(held, claim)| Some((held, claim.progress.clone()?))).collect()
    }

    /// The claim of a run has ended, and the run goes on. Returns true if that is new.
    pub(crate) fn outlive(&mut self, held: ClaimRef) -> bool {
        let Some(claim) = self.jobs.get_mut(&key(held)).filter(|claim| !claim.has_outlived) else {
            return false;
        };
        claim.has_outlived = true;
        self.outlived += 1;
        true
    }

    /// The runs that have outlived their claims.
    fn outlived(&self) -> impl Iterator<Item = &Claim> {
        let some = (self.outlived > 0).then(|| self.jobs.values());
        some.into_iter().flatten().filter(|claim| claim.has_outlived)
    }

    /// When the job was accepted of a run of this schedule that has outlived its claim.
    pub(crate) fn outlived_since(&self, schedule: &str) -> Option<StoreTime> {
        let mut of_it = self.outlived().filter(|claim| schedule_of(&claim.job) == Some(schedule));
        of_it.next().map(|claim| claim.job.created_at)
    }

    /// Returns true if a job must not begin in this process now: a run goes on that has outlived its claim, of the same job, or of
    /// its schedule if that allows no overlap (R11).
    pub(crate) fn is_blocked(&self, job: &StoredJob, is_exclusive: bool) -> bool {
        let own = schedule_of(job).filter(|_| is_exclusive);
        self.outlived().any(|claim| {
            claim.job.id == job.id || (own.is_some() && schedule_of(&claim.job) == own)
        })
    }

    /// A job is not in hand any more: it has ended, or was given back.
    pub(crate) fn remove(&mut self, held: ClaimRef, now: Tick) -> Option<Claim> {
        let job = self.jobs.remove(&key(held))?;
        self.quarantined -= u32::from(job.is_quarantined);
        self.outlived -= u32::from(job.has_outlived);
        if let Some(begun) = job.begun {
            self.begun -= 1;
            self.moved.insert(job.pool, now);
            self.measure(now.since(begun));
        }
        Some(job)
    }

    fn measure(&mut self, took: Duration) {
        let took = took.max(Duration::from_micros(1));
        self.mean = Some(match self.mean {
            None => took,
            // A much longer run counts at once: too few jobs in hand are better than too many.
            Some(mean) if took > mean * 4 => (mean + took) / 2,
            Some(mean) => mean / 16 * 15 + took / 16,
        });
    }

    /// The number of workers that have neither a run nor a job that waits for them.
    pub(crate) fn free(&self, config: &Config) -> u32 {
        config.workers.saturating_sub(u32::try_from(self.jobs.len()).unwrap_or(u32::MAX))
    }

    /// The number of jobs that may be claimed: one for each free worker, and as many more as take [`PREFETCH`].
    pub(crate) fn room(&self, config: &Config) -> u32 {
        let claim = u32::try_from(self.jobs.len()).unwrap_or(u32::MAX);
        config.workers.saturating_add(self.prefetch(config)).saturating_sub(claim)
    }

    /// INVARIANT: what waits takes less than half a lease, by the average.
    pub(crate) fn prefetch(&self, config: &Config) -> u32 {
        let Some(mean) = self.mean else { return 0 };
        if self.has_quarantined() {
            return 0;
        }
        let time = PREFETCH.min(config.lease / 2);
        let each = time.as_nanos() / mean.as_nanos().max(1);
        let jobs = each.saturating_mul(u128::from(config.workers));
        u32::try_from(jobs).unwrap_or(u32::MAX).min(config.prefetch_max)
    }

    /// Returns true if a job is in hand that is in quarantine.
    pub(crate) fn has_quarantined(&self) -> bool {
        self.quarantined > 0
    }

    /// The number of jobs of each task that may be claimed.
    pub(crate) fn rooms(&self, config: &Config) -> Arc<[TaskRoom]> {
        let prefetch = self.prefetch(config);
        let tasks = config.tasks.iter();
        let rooms = tasks.map(|task| TaskRoom {
            task: Arc::clone(&task.name),
            room: self.room_of(task, config, if task.is_abandon { 0 } else { prefetch }),
            version: task.version,
        });
        rooms.collect()
    }

    /// The number of jobs of a task that may be claimed: for the threads of its pool, and beyond them for their part of what
    /// all workers prefetch.
    pub(crate) fn room_of(&self, task: &TaskConfig, config: &Config, prefetch: u32) -> u32 {
        if self.starved.contains_key(&task.pool) {
            return 0;
        }
        let all = pool_of(task, config).map(|threads| with_prefetch(threads, config, prefetch));
        self.within_limit(task).min(self.left(all, |job| job.pool == task.pool))
    }

    /// Returns true if a task that had no room has some again: for a thread, or for half of what may be claimed.
    pub(crate) fn has_room_again(&self, task: &TaskConfig, config: &Config) -> bool {
        let prefetch = if task.is_abandon { 0 } else { self.prefetch(config) };
        let half = pool_of(task, config)
            .map_or(1, |threads| (with_prefetch(threads, config, prefetch) / 2).max(1));
        self.room_of(task, config, 0) > 0 || self.room_of(task, config, prefetch) >= half
    }

    /// The claims that wait in vain, with their pools: a pool has fewer runs than threads, but none has begun or ended for
    /// [`STARVED_AFTER`]. Other work of the process holds its threads, and others could run the jobs. Nothing is claimed for such a
    /// pool for [`STARVED_FOR`].
    pub(crate) fn find_starved(&mut self, config: &Config, now: Tick) -> Vec<ClaimRef> {
        let begun = |pool: Option<usize>| {
            let of_it = |job: &&Claim| job.begun.is_some() && (pool.is_none() || job.pool == pool);
            self.jobs.values().filter(of_it).count()
        };
        let pools: BTreeSet<Option<usize>> = self
            .jobs
            .values()
            .filter(|job| self.starves_at(job).is_some_and(|at| at <= now))
            .map(|job| job.pool)
            .filter(|pool| begun(*pool) < threads_of(*pool, config) as usize)
            .collect();
        self.starved.extend(pools.iter().map(|pool| (*pool, now + STARVED_FOR)));
        self.waiting(|job| pools.contains(&job.pool))
    }

    /// When a claim that could begin has waited in vain, if nothing begins or ends in its pool before.
    fn starves_at(&self, job: &Claim) -> Option<Tick> {
        let last = match job.pool {
            Some(_) => self.moved.get(&job.pool).copied(),
            None => self.moved.values().copied().max(),
        };
        (job.begun.is_none() && !job.is_held)
            .then(|| last.unwrap_or_default().max(job.claimed) + STARVED_AFTER)
    }

    /// The first instant at which a claim has waited in vain that has not yet.
    pub(crate) fn next_starved(&self, now: Tick) -> Option<Tick> {
        let waits = self.jobs.values().filter_map(|job| self.starves_at(job));
        waits.map(|at| if at <= now { now + STARVED_AFTER } else { at }).min()
    }

    /// Claims for starved pools again when their time is over.
    pub(crate) fn forget_starved(&mut self, now: Tick) {
        self.starved.retain(|_, until| now < *until);
    }

    /// The number of further jobs of a task that its limit allows, whatever their pool has room for.
    pub(crate) fn within_limit(&self, task: &TaskConfig) -> u32 {
        self.left(task.limit, |job| job.task == task.task)
    }

    fn left(&self, limit: Option<u32>, is_counted: impl Fn(&Claim) -> bool) -> u32 {
        let Some(limit) = limit else { return u32::MAX };
        let count = self.jobs.values().filter(|job| is_counted(job)).count();
        limit.saturating_sub(u32::try_from(count).unwrap_or(u32::MAX))
    }

    pub(crate) fn oldest_waiting(&self) -> Option<Tick> {
        let waiting = self.jobs.values().filter(|job| job.begun.is_none());
        waiting.map(|job| job.claimed).min()
    }

    pub(crate) fn begun(&self) -> u32 {
        self.begun
    }
}

/// The number of runs of a pool that can go on at once.
fn threads_of(pool: Option<usize>, config: &Config) -> u32 {
    pool.and_then(|pool| config.pools.get(pool)).copied().unwrap_or(config.workers)
}

/// The threads of the task's pool, if its runs hold such.
fn pool_of(task: &TaskConfig, config: &Config) -> Option<u32> {
    task.pool.and_then(|pool| config.pools.get(pool)).copied()
}

/// The number of jobs that may be claimed for the threads of a pool.
fn with_prefetch(threads: u32, config: &Config, prefetch: u32) -> u32 {
    let part = u64::from(prefetch) * u64::from(threads) / u64::from(config.workers.max(1));
    threads.saturating_add(u32::try_from(part).unwrap_or(u32::MAX))
}

fn schedule_of(job: &StoredJob) -> Option<&str> {
    job.origin.as_ref().map(|origin| &*origin.schedule)
}

fn key(held: ClaimRef) -> (scheduler_store::JobId, u64) {
    (held.job, held.fence.0)
}
