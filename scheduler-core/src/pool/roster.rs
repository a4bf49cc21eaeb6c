//! Who works: the workers of a pool, who of them leads, who is idle, and who may go.
//!
//! Of the workers that wait, at most one is the *leader*: it waits until the first task is due. The
//! others wait without a deadline and cost nothing. A leader that takes a task appoints a successor;
//! a task that becomes the first one wakes the leader, and nobody else.

use std::time::Duration;

use crate::time::Tick;

/// The number of a worker in its pool, from 1.
pub(crate) type WorkerNumber = u64;

/// The workers of a pool; each is busy, leads, or is idle.
#[derive(Debug)]
pub(crate) struct Roster<I> {
    pub(crate) core_size: usize,
    pub(crate) keep_alive: Duration,
    pub(crate) core_may_time_out: bool,
    /// Few, and the newest last: a search looks at less than a tree would.
    seats: Vec<Seat<I>>,
    /// Parked workers without a deadline of the queue, the one who came last at the end.
    idle: Vec<WorkerNumber>,
    leader: Option<Leader>,
    busy: usize,
    largest: usize,
    started: WorkerNumber,
}

#[derive(Debug)]
struct Seat<I> {
    worker: WorkerNumber,
    /// What the worker runs.
    running: Option<I>,
    /// Since when the worker has had nothing to run.
    idle_since: Option<Tick>,
}

/// The worker that waits for the first task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Leader {
    worker: WorkerNumber,
    /// When it will look at the queue again by itself.
    until: Tick,
}

impl<I> Roster<I> {
    pub(crate) fn new(core_size: usize, keep_alive: Duration, core_may_time_out: bool) -> Self {
        Self {
            core_size,
            keep_alive,
            core_may_time_out,
            seats: Vec::new(),
            idle: Vec::new(),
            leader: None,
            busy: 0,
            largest: 0,
            started: 0,
        }
    }

    pub(crate) fn live(&self) -> usize {
        self.seats.len()
    }

    pub(crate) fn busy(&self) -> usize {
        self.busy
    }

    pub(crate) fn largest(&self) -> usize {
        self.largest
    }

    pub(crate) fn running(&self) -> impl Iterator<Item = &I> {
        self.seats.iter().filter_map(|seat| seat.running.as_ref())
    }

    /// Adds a worker whose thread is about to be started.
    pub(crate) fn hire(&mut self) -> WorkerNumber {
        self.started += 1;
        self.seats.push(Seat { worker: self.started, running: None, idle_since: None });
        self.largest = self.largest.max(self.seats.len());
        self.started
    }

    /// Removes a worker, and hands back what it was running.
    pub(crate) fn dismiss(&mut self, worker: WorkerNumber) -> Option<I> {
        self.arrive(worker);
        let index = self.seats.iter().position(|seat| seat.worker == worker)?;
        let running = self.seats.remove(index).running;
        self.busy -= usize::from(running.is_some());
        running
    }

    /// Notes that a worker is awake: neither leader nor idle.
    pub(crate) fn arrive(&mut self, worker: WorkerNumber) {
        if self.leader.is_some_and(|leader| leader.worker == worker) {
            self.leader = None;
        } else {
            self.idle.retain(|idle| *idle != worker);
        }
    }

    /// Notes what a worker runs.
    pub(crate) fn occupy(&mut self, worker: WorkerNumber, item: I) {
        if let Some(seat) = self.seat_mut(worker) {
            seat.idle_since = None;
            let was_free = seat.running.replace(item).is_none();
            self.busy += usize::from(was_free);
        }
    }

    /// Notes that a worker has run what it had, and hands that back.
    pub(crate) fn vacate(&mut self, worker: WorkerNumber) -> Option<I> {
        let item = self.seat_mut(worker)?.running.take();
        self.busy -= usize::from(item.is_some());
        item
    }

    fn seat_mut(&mut self, worker: WorkerNumber) -> Option<&mut Seat<I>> {
        self.seats.iter_mut().find(|seat| seat.worker == worker)
    }

    /// Whether workers leave when they have been idle for long enough.
    pub(crate) fn is_timed(&self) -> bool {
        self.core_may_time_out || self.live() > self.core_size
    }

    /// Whether a worker has been idle for long enough to leave.
    pub(crate) fn has_timed_out(&self, worker: WorkerNumber, now: Tick) -> bool {
        let seat = self.seats.iter().find(|seat| seat.worker == worker);
        let since = seat.and_then(|seat| seat.idle_since);
        self.is_timed() && since.is_some_and(|since| now >= since + self.keep_alive)
    }

    /// Parks a worker that has nothing to run, and says until when it is to wait.
    ///
    /// `next_look` is when the queue has to be looked at again; `may_leave` is whether the worker may
    /// leave for being idle. The worker becomes leader if there is none, or if it has to look earlier
    /// than the present one, who then is idle.
    pub(crate) fn park(
        &mut self,
        worker: WorkerNumber,
        now: Tick,
        next_look: Option<Tick>,
        may_leave: bool,
    ) -> Option<Tick> {
        let is_timed = self.is_timed() && may_leave;
        let seat = self.seat_mut(worker);
        let since = seat.map_or(now, |seat| *seat.idle_since.get_or_insert(now));
        let limit = is_timed.then(|| since + self.keep_alive);
        let leads = next_look.filter(|look| self.leader.is_none_or(|leader| *look < leader.until));
        match leads {
            None => self.idle.push(worker),
            Some(until) => {
                self.idle.extend(self.leader.map(|leader| leader.worker));
                self.leader = Some(Leader { worker, until });
            }
        }
        [leads, limit].into_iter().flatten().min()
    }

    /// Sees to it that somebody looks at the queue at `next_look`, and says whom to wake for that.
    pub(crate) fn appoint(&mut self, next_look: Tick) -> Option<WorkerNumber> {
        let worker = match self.leader {
            Some(leader) if leader.until <= next_look => return None,
            Some(leader) => leader.worker,
            None => self.idle.pop()?,
        };
        self.leader = Some(Leader { worker, until: next_look });
        Some(worker)
    }

    /// By when somebody looks at the queue, whatever is submitted: at once where nobody waits, because a
    /// worker looks before it waits. None where somebody has to be woken.
    pub(crate) fn patience(&self) -> Option<Tick> {
        match self.leader {
            Some(leader) => Some(leader.until),
            None => self.idle.is_empty().then_some(Tick::ZERO),
        }
    }

    /// One of those who wait.
    pub(crate) fn anyone_waiting(&self) -> Option<WorkerNumber> {
        self.idle.last().copied().or(self.leader.map(|leader| leader.worker))
    }

    /// All of those who wait.
    pub(crate) fn everyone_waiting(&self) -> impl Iterator<Item = WorkerNumber> {
        self.idle.iter().copied().chain(self.leader.map(|leader| leader.worker))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roster(workers: usize) -> Roster<()> {
        let mut roster = Roster::new(workers, Duration::from_millis(10), false);
        for _ in 0..workers {
            roster.hire();
        }
        roster
    }

    const fn tick(nanos: u64) -> Tick {
        Tick::from_nanos(nanos)
    }

    #[test]
    fn one_leads_and_the_others_wait_without_a_deadline() {
        let mut roster = roster(3);
        assert_eq!(roster.park(1, tick(0), Some(tick(50)), true), Some(tick(50)));
        assert_eq!(roster.park(2, tick(0), Some(tick(50)), true), None);
        assert_eq!(roster.park(3, tick(0), Some(tick(50)), true), None);
    }

    #[test]
    fn a_nearer_task_wakes_the_leader_and_a_farther_one_nobody() {
        let mut roster = roster(2);
        roster.park(1, tick(0), Some(tick(50)), true);
        roster.park(2, tick(0), Some(tick(50)), true);
        assert_eq!(roster.appoint(tick(60)), None);
        assert_eq!(roster.appoint(tick(40)), Some(1));
        assert_eq!(roster.appoint(tick(40)), None);
        assert_eq!(roster.appoint(tick(30)), Some(1));
    }

    #[test]
    fn a_leader_that_takes_a_task_is_succeeded_by_one_idle_worker() {
        let mut roster = roster(3);
        for worker in 1..=3 {
            roster.park(worker, tick(0), Some(tick(50)), true);
        }
        roster.arrive(1);
        roster.occupy(1, ());
        assert_eq!(roster.appoint(tick(70)), Some(3));
        assert_eq!(roster.appoint(tick(70)), None);
        assert_eq!(roster.busy(), 1);
    }

    #[test]
    fn who_comes_back_with_an_earlier_task_takes_the_lead_without_waking_anybody() {
        let mut roster = roster(2);
        roster.park(2, tick(0), Some(tick(50)), true);
        assert_eq!(roster.park(1, tick(0), Some(tick(20)), true), Some(tick(20)));
        assert_eq!(roster.everyone_waiting().collect::<Vec<_>>(), [2, 1]);
        roster.arrive(2);
        assert_eq!(roster.park(2, tick(10), Some(tick(20)), true), None);
    }

    #[test]
    fn a_surplus_worker_times_out_after_its_keep_alive() {
        let mut roster = roster(2);
        roster.core_size = 1;
        let limit = tick(5) + Duration::from_millis(10);
        assert_eq!(roster.park(2, tick(5), None, true), Some(limit));
        assert!(!roster.has_timed_out(2, tick(6)));
        assert!(roster.has_timed_out(2, limit));
        roster.dismiss(2);
        assert!(!roster.is_timed());
        assert_eq!((roster.live(), roster.largest()), (1, 2));
    }
}
