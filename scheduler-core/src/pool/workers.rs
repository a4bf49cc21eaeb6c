//! The workers of a pool: how many, their runs, and the sleepers.

use std::sync::Arc;
use std::time::Duration;

use super::shutdown::EntryKind;
use crate::sync::{AtomicU64, Ordering};
use crate::time::{EventCount, Tick, is_brief};

/// The number of a worker in its pool, from 1.
pub(super) type WorkerNumber = u64;

/// The workers of a pool.
#[derive(Debug)]
pub(super) struct Workers {
    pub(super) core_size: usize,
    pub(super) keep_alive: Duration,
    pub(super) core_may_time_out: bool,
    /// In the order of their numbers. Few, so a search through a vector is cheapest.
    list: Vec<WorkerInfo>,
    largest: usize,
    /// The number of runs that were made by workers which have left.
    completed: u64,
    started: WorkerNumber,
}

/// A worker as its pool knows it.
#[derive(Clone, Debug)]
pub(super) struct WorkerInfo {
    pub(super) number: WorkerNumber,
    /// Where it waits.
    pub(super) gate: Arc<EventCount>,
    pub(super) tally: Arc<RunTally>,
}

impl Workers {
    pub(super) fn new(core_size: usize, keep_alive: Duration, core_may_time_out: bool) -> Self {
        Self {
            core_size,
            keep_alive,
            core_may_time_out,
            list: Vec::new(),
            largest: 0,
            completed: 0,
            started: 0,
        }
    }

    pub(super) fn live(&self) -> usize {
        self.list.len()
    }

    pub(super) fn largest(&self) -> usize {
        self.largest
    }

    /// Returns true if there are fewer workers than there should be.
    pub(super) fn is_short(&self) -> bool {
        self.live() < self.core_size.max(1)
    }

    /// Returns true if a worker runs a task, or makes a call.
    pub(super) fn is_any_busy(&self) -> bool {
        self.list.iter().any(|info| info.tally.is_busy())
    }

    /// The number of workers that run a task, and of runs that have ended; a task is never in both.
    pub(super) fn counts(&self) -> (usize, u64) {
        let tallies = self.list.iter().map(|info| info.tally.read());
        tallies.fold((0, self.completed), |(active, completed), (more, is_active)| {
            (active + usize::from(is_active), completed + more)
        })
    }

    pub(super) fn find(&self, worker: WorkerNumber) -> Option<&WorkerInfo> {
        self.list.iter().find(|info| info.number == worker)
    }

    /// Adds a worker whose thread is about to be started.
    pub(super) fn add(&mut self) -> WorkerNumber {
        self.started += 1;
        let (gate, tally) = (Arc::new(EventCount::new()), Arc::new(RunTally::default()));
        self.list.push(WorkerInfo { number: self.started, gate, tally });
        self.largest = self.largest.max(self.list.len());
        self.started
    }

    /// Removes a worker; returns true if it was there.
    pub(super) fn remove(&mut self, worker: WorkerNumber) -> bool {
        let index = self.list.iter().position(|info| info.number == worker);
        if let Some(index) = index {
            self.completed += self.list.remove(index).tally.read().0;
        }
        index.is_some()
    }

    /// Returns true if workers leave when they have been idle for long enough.
    pub(super) fn is_timed(&self) -> bool {
        self.core_may_time_out || self.live() > self.core_size
    }

    /// When a worker leaves that has been idle since then; [`Tick::MAX`] for never.
    pub(super) fn leaves_at(&self, idle_since: Tick) -> Tick {
        if self.is_timed() { idle_since + self.keep_alive } else { Tick::MAX }
    }
}

/// The runs of a worker; only the worker itself writes it.
#[derive(Debug, Default)]
pub(super) struct RunTally {
    /// Twice the number of runs that are over, and one more while a run is in progress: so both are read at once.
    runs: AtomicU64,
    /// One while the worker makes a call that does not count as a run.
    calls: AtomicU64,
}

impl RunTally {
    /// Notes that a run begins; called under the lock under which its task is taken.
    #[inline]
    pub(super) fn begin(&self, kind: EntryKind) {
        if kind == EntryKind::Alarm { self.calls.store(1, Ordering::Release) } else { self.add(1) }
    }

    /// Notes that the run is over, and whether it counts as one.
    #[inline]
    pub(super) fn end(&self, kind: EntryKind, counts: bool) {
        if kind == EntryKind::Alarm {
            self.calls.store(0, Ordering::Release);
        } else {
            self.add(if counts { 1 } else { -1 });
        }
    }

    #[inline]
    fn add(&self, more: i64) {
        // ORDERING: only this worker writes it. Release, so that a thread that sees a run counted sees what it did.
        let runs = self.runs.load(Ordering::Relaxed);
        self.runs.store(runs.wrapping_add_signed(more), Ordering::Release);
    }

    /// The number of runs that are over, and whether one more is in progress.
    fn read(&self) -> (u64, bool) {
        let runs = self.runs.load(Ordering::Acquire);
        (runs / 2, runs % 2 == 1)
    }

    fn is_busy(&self) -> bool {
        self.read().1 || self.calls.load(Ordering::Acquire) == 1
    }
}

/// Workers that sleep, and when each of them looks at the queue.
///
/// The first worker that finds nothing due sleeps until the first due time, the next one until the second; further ones sleep
/// without a time. So two workers take turns, each wakes up by itself, and one task costs one wake-up. A worker that leaves with
/// work wakes another one only if no sleeper looks in time for the rest.
#[derive(Debug, Default)]
pub(super) struct Sleepers {
    list: Vec<SleepingWorker>,
    /// The number of sleepers that were woken and have not looked yet.
    woken: usize,
}

#[derive(Debug)]
struct SleepingWorker {
    worker: WorkerNumber,
    /// When it looks at the queue by itself; [`Tick::MAX`] for never.
    look: Tick,
    gate: Arc<EventCount>,
}

impl Sleepers {
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// When the first of them looks; at once if one was woken.
    pub(super) fn first_look(&self) -> Tick {
        if self.woken > 0 {
            return Tick::ZERO;
        }
        self.list.iter().map(|sleeper| sleeper.look).min().unwrap_or(Tick::MAX)
    }

    /// The same for submitters ([`SubmitState`](super::inbox::SubmitState)): zero while none sleeps, because a busy worker looks.
    pub(super) fn wake_before(&self) -> Tick {
        if self.list.is_empty() { Tick::ZERO } else { self.first_look() }
    }

    /// Lets a worker sleep, and returns until when. `first` and `second` are when the queue is to be looked at.
    pub(super) fn park(
        &mut self,
        worker: WorkerNumber,
        gate: &Arc<EventCount>,
        first: Tick,
        second: Tick,
    ) -> Tick {
        let covering = |look: Tick| self.list.iter().filter(|sleeper| sleeper.look <= look).count();
        let look = if covering(first) == 0 {
            first
        } else if covering(second) < 2 {
            second
        } else {
            Tick::MAX
        };
        self.list.push(SleepingWorker { worker, look, gate: Arc::clone(gate) });
        look
    }

    /// Notes that a worker that slept looks, or is gone.
    pub(super) fn unpark(&mut self, worker: WorkerNumber) {
        match self.list.iter().position(|sleeper| sleeper.worker == worker) {
            Some(index) => _ = self.list.remove(index),
            None => self.woken -= 1,
        }
    }

    /// Wakes a worker, unless one looks by that time.
    pub(super) fn wake_for(&mut self, look: Tick, wake: &mut Vec<Arc<EventCount>>) {
        if look < self.first_look() {
            self.wake_one(wake);
        }
    }

    /// Wakes one, of those without a time if there is any.
    pub(super) fn wake_one(&mut self, wake: &mut Vec<Arc<EventCount>>) {
        let last = self.list.iter().enumerate().max_by_key(|(_, sleeper)| sleeper.look);
        if let Some(index) = last.map(|(index, _)| index) {
            self.woken += 1;
            wake.push(self.list.remove(index).gate);
        }
    }

    pub(super) fn wake_all(&mut self, wake: &mut Vec<Arc<EventCount>>) {
        self.woken += self.list.len();
        wake.extend(self.list.drain(..).map(|sleeper| sleeper.gate));
    }
}

/// The delay that lets tasks share wake-ups.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TimerSlack {
    pub(super) slack: Duration,
    /// The time that a wake-up takes.
    pub(super) wake_latency: Duration,
}

impl TimerSlack {
    /// When to look for what is due then; what is due at the end of time needs no look.
    pub(super) fn look(self, due: u64) -> Tick {
        Tick::from_nanos(due) + self.slack
    }

    /// The time of the second worker to look: at least a head start after the first. If the first one's tasks are short, it takes
    /// the next one, too, and the second worker would wake up in vain.
    pub(super) fn look_after(self, other: Tick, look: Tick) -> Tick {
        let head_start = self.head_start();
        look.max(other + head_start).min(look + head_start)
    }

    /// The end of a wait that begins now, which is no shorter than some wake-ups, unless it is so brief that the worker spins.
    pub(super) fn wait(self, now: Tick, look: Tick) -> Tick {
        if is_brief(look.since(now), self.wake_latency) {
            look
        } else {
            look.max(now + self.shortest_wait())
        }
    }

    /// A wake-up costs the processor about as much as it lasts. With shorter waits, a pool whose tasks are due closer together
    /// is busy with waking up; with longer ones, they are later than need be.
    fn shortest_wait(self) -> Duration {
        self.wake_latency.saturating_mul(16) / 5
    }

    /// A fourth longer than the shortest wait: so a worker whose tasks are short has waited again before the other one looks.
    fn head_start(self) -> Duration {
        self.wake_latency.saturating_mul(4).max(self.slack)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn tick(nanos: u64) -> Tick {
        Tick::from_nanos(nanos)
    }

    fn park(sleepers: &mut Sleepers, worker: u64, first: u64, second: u64) -> Tick {
        sleepers.park(worker, &Arc::new(EventCount::new()), tick(first), tick(second))
    }

    #[test]
    fn two_cover_the_next_two_due_times_and_others_sleep_without_a_time() {
        let mut sleepers = Sleepers::default();
        assert_eq!(park(&mut sleepers, 1, 50, 60), tick(50));
        assert_eq!(park(&mut sleepers, 2, 50, 60), tick(60));
        assert_eq!(park(&mut sleepers, 3, 50, 60), Tick::MAX);
        assert_eq!(sleepers.wake_before(), tick(50));
        sleepers.unpark(1);
        assert_eq!(park(&mut sleepers, 1, 60, 70), tick(70), "they take turns");
    }

    #[test]
    fn an_earlier_entry_wakes_a_sleeper_without_a_time_and_a_later_one_wakes_none() {
        let mut sleepers = Sleepers::default();
        park(&mut sleepers, 1, 50, 60);
        park(&mut sleepers, 2, 50, 60);
        park(&mut sleepers, 3, 50, 60);
        let mut wake = Vec::new();
        sleepers.wake_for(tick(50), &mut wake);
        assert!(wake.is_empty());
        sleepers.wake_for(tick(40), &mut wake);
        sleepers.wake_for(tick(30), &mut wake);
        assert_eq!((wake.len(), sleepers.wake_before()), (1, Tick::ZERO));
        sleepers.unpark(3);
        assert_eq!(sleepers.first_look(), tick(50));
    }

    #[test]
    fn the_first_to_look_has_a_head_start_of_four_wake_ups_or_of_the_slack() {
        let micros = Duration::from_micros;
        let at = |micros: u64| tick(1_000 * micros);
        let timer_slack = TimerSlack { slack: Duration::ZERO, wake_latency: micros(10) };
        assert_eq!(timer_slack.look_after(at(100), at(104)), at(140));
        assert_eq!(timer_slack.look_after(at(100), at(300)), at(300));
        let slack = TimerSlack { slack: micros(1_000), ..timer_slack };
        assert_eq!(slack.look_after(at(100), at(104)), at(1_100));
    }
}
