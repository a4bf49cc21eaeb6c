//! Who works: the workers of a pool, who of them leads, who is idle, and who may go.
//!
//! Of the workers that wait, at most one is the *leader*: it waits until the first task is due. One
//! more may be its *deputy*, which waits until the second one is; with slack, both wait for longer (see
//! `looks`). The others wait without a deadline and cost nothing. When the leader takes a task, its deputy
//! leads; so two workers take turns, each wakes up by itself, and nobody has to be woken. Where there is no
//! deputy, or one that waits for too long, a successor is appointed and woken. A task that becomes the first
//! one wakes the leader, and nobody else.

use std::sync::Arc;
use std::time::Duration;

use super::turn::Running;
use super::turn::Turn;
use crate::sync::planted;
use crate::time::Tick;

/// The number of a worker in its pool, from 1.
pub(crate) type WorkerNumber = u64;

/// The workers of a pool; each is busy, leads, is the deputy or idle, or else is about to look.
#[derive(Debug)]
pub(crate) struct Roster {
    pub(crate) core_size: usize,
    pub(crate) keep_alive: Duration,
    pub(crate) core_may_time_out: bool,
    /// Few, and the newest last: a search looks at less than a tree would.
    seats: Vec<Seat>,
    /// Parked workers without a deadline of the queue, the one who came last at the end.
    idle: Vec<WorkerNumber>,
    leader: Option<Watch>,
    /// Who leads when the leader has taken a task.
    deputy: Option<Watch>,
    largest: usize,
    /// How many runs those have made that have left.
    completed: u64,
    started: WorkerNumber,
}

#[derive(Debug)]
struct Seat {
    worker: WorkerNumber,
    turn: Arc<Turn>,
    /// How many runs the others had made when it last came by.
    seen: u64,
    /// Since when the worker has had nothing to run.
    idle_since: Option<Tick>,
}

/// A worker that waits until it is time to look at the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Watch {
    worker: WorkerNumber,
    /// When it will look at the queue again by itself.
    until: Tick,
    /// When that is due for which it comes.
    due: Tick,
}

/// When the queue is to be looked at, as a worker that parks finds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Looks {
    pub(crate) next: Option<Tick>,
    /// The look after that, as far as it is known.
    pub(crate) second: Option<Tick>,
}

impl Roster {
    pub(crate) fn new(core_size: usize, keep_alive: Duration, core_may_time_out: bool) -> Self {
        Self {
            core_size,
            keep_alive,
            core_may_time_out,
            seats: Vec::new(),
            idle: Vec::new(),
            leader: None,
            deputy: None,
            largest: 0,
            completed: 0,
            started: 0,
        }
    }

    pub(crate) fn live(&self) -> usize {
        self.seats.len()
    }

    /// How many are at a task, or make a call.
    pub(crate) fn busy(&self) -> usize {
        self.running().count()
    }

    /// How many are at a task, and how many runs there have been; a task is never in both.
    pub(crate) fn tally(&self) -> (usize, u64) {
        let tallies = self.seats.iter().map(|seat| seat.turn.tally());
        tallies.fold((0, self.completed), |(active, completed), (more, is_active)| {
            (active + usize::from(is_active), completed + more)
        })
    }

    pub(crate) fn largest(&self) -> usize {
        self.largest
    }

    pub(crate) fn running(&self) -> impl Iterator<Item = (WorkerNumber, Running)> {
        self.seats.iter().filter_map(|seat| Some((seat.worker, seat.turn.running()?)))
    }

    /// Adds a worker whose thread is about to be started.
    pub(crate) fn hire(&mut self) -> WorkerNumber {
        self.started += 1;
        let turn = Arc::new(Turn::default());
        self.seats.push(Seat { worker: self.started, turn, seen: 0, idle_since: None });
        self.largest = self.largest.max(self.seats.len());
        self.started
    }

    /// Removes a worker.
    pub(crate) fn dismiss(&mut self, worker: WorkerNumber) {
        self.arrive(worker);
        if let Some(index) = self.seats.iter().position(|seat| seat.worker == worker) {
            self.completed += self.seats.remove(index).turn.tally().0;
        }
    }

    /// Notes that a worker is awake: neither leader nor deputy nor idle. Says when that was due for which it comes.
    pub(crate) fn arrive(&mut self, worker: WorkerNumber) -> Option<Tick> {
        let is_worker = |watch: &mut Watch| watch.worker == worker;
        let watch = self.leader.take_if(is_worker).or_else(|| self.deputy.take_if(is_worker));
        if watch.is_none() {
            self.idle.retain(|idle| *idle != worker);
        }
        watch.map(|watch| watch.due)
    }

    /// Whether any worker but the one that calls does not wait.
    pub(crate) fn anyone_else_is_awake(&self) -> bool {
        self.seats.len() > self.everyone_waiting().count() + 1
    }

    /// Whether others have made runs since the worker last came by.
    pub(crate) fn others_are_brisk(&mut self, worker: WorkerNumber) -> bool {
        let (_, all) = self.tally();
        let Some(seat) = self.seat_mut(worker) else { return false };
        let others = all - seat.turn.tally().0;
        std::mem::replace(&mut seat.seen, others) < others
    }

    /// Notes what a worker runs.
    pub(crate) fn occupy(&mut self, worker: WorkerNumber, running: Running) {
        if let Some(seat) = self.seat_mut(worker) {
            seat.idle_since = None;
            seat.turn.begin(running);
            seat.turn.set_awake(true);
        }
    }

    /// What a worker runs, if it runs anything.
    pub(crate) fn running_of(&self, worker: WorkerNumber) -> Option<Running> {
        self.turn(worker)?.running()
    }

    /// Where a worker says what it is at.
    pub(crate) fn turn(&self, worker: WorkerNumber) -> Option<&Arc<Turn>> {
        self.seats.iter().find(|seat| seat.worker == worker).map(|seat| &seat.turn)
    }

    fn seat_mut(&mut self, worker: WorkerNumber) -> Option<&mut Seat> {
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
    /// `may_leave` is whether the worker may leave for being idle. The worker becomes leader if there is
    /// none, or if it has to look earlier than the present one, who then is its deputy; it becomes deputy
    /// if there is none that looks as early.
    pub(crate) fn park(
        &mut self,
        worker: WorkerNumber,
        now: Tick,
        looks: Looks,
        may_leave: bool,
    ) -> Option<Tick> {
        let is_timed = self.is_timed() && may_leave;
        let since = self.seat_mut(worker).map_or(now, |seat| {
            seat.turn.set_awake(false);
            *seat.idle_since.get_or_insert(now)
        });
        let limit = is_timed.then(|| since + self.keep_alive);
        if self.leader.is_none() {
            let is_in_time =
                |deputy: &mut Watch| looks.next.is_some_and(|look| deputy.until <= look);
            self.leader = self.deputy.take_if(is_in_time);
        }
        let leads = looks.next.filter(|look| is_earlier(*look, self.leader));
        let assists = looks.second.filter(|look| leads.is_none() && is_earlier(*look, self.deputy));
        if let Some(until) = leads {
            let former = self.leader.replace(Watch { worker, until, due: until });
            if let Some(former) = former.filter(|former| is_earlier(former.until, self.deputy)) {
                self.succeed(former);
            } else {
                self.idle.extend(former.map(|former| former.worker));
            }
        } else if let Some(until) = assists {
            self.succeed(Watch { worker, until, due: until });
        } else {
            self.idle.push(worker);
        }
        [leads.or(assists), limit].into_iter().flatten().min()
    }

    /// Makes somebody the deputy.
    fn succeed(&mut self, deputy: Watch) {
        let former = self.deputy.replace(deputy);
        self.idle.extend(former.map(|former| former.worker));
    }

    /// Sees to it that somebody looks at the queue at `next_look`, for what is due then or before, and says whom to wake
    /// for that.
    pub(crate) fn appoint(&mut self, next_look: Tick, due: Tick) -> Option<WorkerNumber> {
        let leader = self.leader.take().or_else(|| self.deputy.take());
        let worker = match leader {
            Some(leader) if leader.until <= next_look || planted("L1") => {
                self.leader = Some(leader);
                return None;
            }
            Some(leader) => leader.worker,
            None => self.idle.pop()?,
        };
        self.leader = Some(Watch { worker, until: next_look, due });
        Some(worker)
    }

    /// By when somebody looks at the queue, whatever is submitted; None where somebody has to be woken. Zero where
    /// nobody waits, who could be told: who is at a task looks before it waits.
    pub(crate) fn looks_by(&self) -> Option<Tick> {
        match self.leader {
            Some(leader) => Some(leader.until),
            None => self.anyone_waiting().is_none().then_some(Tick::ZERO),
        }
    }

    /// When one of those who wait looks at the queue by itself, as far as the queue is concerned.
    pub(crate) fn first_look(&self) -> Option<Tick> {
        self.leader.or(self.deputy).map(|watch| watch.until)
    }

    /// One of those who wait.
    pub(crate) fn anyone_waiting(&self) -> Option<WorkerNumber> {
        let watches = self.deputy.or(self.leader).map(|watch| watch.worker);
        self.idle.last().copied().or(watches)
    }

    /// All of those who wait.
    pub(crate) fn everyone_waiting(&self) -> impl Iterator<Item = WorkerNumber> {
        let watches = [self.deputy, self.leader].into_iter().flatten();
        self.idle.iter().copied().chain(watches.map(|watch| watch.worker))
    }
}

/// Whether a look is earlier than that of whoever watches.
fn is_earlier(look: Tick, watch: Option<Watch>) -> bool {
    watch.is_none_or(|watch| look < watch.until)
}

#[cfg(test)]
mod tests {
    use super::super::shutdown::Kind;
    use super::*;

    const RUNNING: Running = Running { kind: Kind::OneShot, sequence: 0 };

    fn roster(workers: usize) -> Roster {
        let mut roster = Roster::new(workers, Duration::from_millis(10), false);
        for _ in 0..workers {
            roster.hire();
        }
        roster
    }

    const fn tick(nanos: u64) -> Tick {
        Tick::from_nanos(nanos)
    }

    const fn look(next: u64) -> Looks {
        Looks { next: Some(tick(next)), second: None }
    }

    const fn looks(next: u64, second: u64) -> Looks {
        Looks { next: Some(tick(next)), second: Some(tick(second)) }
    }

    #[test]
    fn one_leads_and_the_others_wait_without_a_deadline() {
        let mut roster = roster(3);
        assert_eq!(roster.park(1, tick(0), look(50), true), Some(tick(50)));
        assert_eq!(roster.park(2, tick(0), look(50), true), None);
        assert_eq!(roster.park(3, tick(0), look(50), true), None);
    }

    #[test]
    fn a_nearer_task_wakes_the_leader_and_a_farther_one_nobody() {
        let mut roster = roster(2);
        roster.park(1, tick(0), look(50), true);
        roster.park(2, tick(0), look(50), true);
        assert_eq!(roster.appoint(tick(60), tick(60)), None);
        assert_eq!(roster.appoint(tick(40), tick(40)), Some(1));
        assert_eq!(roster.appoint(tick(40), tick(40)), None);
        assert_eq!(roster.appoint(tick(30), tick(30)), Some(1));
    }

    #[test]
    fn a_leader_that_takes_a_task_is_succeeded_by_one_idle_worker() {
        let mut roster = roster(3);
        for worker in 1..=3 {
            roster.park(worker, tick(0), look(50), true);
        }
        roster.arrive(1);
        roster.occupy(1, RUNNING);
        assert_eq!(roster.appoint(tick(70), tick(70)), Some(3));
        assert_eq!(roster.appoint(tick(70), tick(70)), None);
        assert_eq!(roster.busy(), 1);
    }

    #[test]
    fn who_comes_back_with_an_earlier_task_takes_the_lead_without_waking_anybody() {
        let mut roster = roster(2);
        roster.park(2, tick(0), look(50), true);
        assert_eq!(roster.park(1, tick(0), look(20), true), Some(tick(20)));
        assert_eq!(roster.everyone_waiting().collect::<Vec<_>>(), [2, 1]);
        roster.arrive(2);
        assert_eq!(roster.park(2, tick(10), look(20), true), None);
    }

    #[test]
    fn leader_and_deputy_take_turns_and_nobody_is_woken() {
        let mut roster = roster(3);
        for worker in 1..=3 {
            roster.park(worker, tick(0), looks(50, 60), true);
        }
        for due in [50, 60, 70, 80] {
            let leader = roster.leader.unwrap().worker;
            roster.arrive(leader);
            assert_eq!(roster.appoint(tick(due + 10), tick(due + 10)), None, "{due}");
            let until = roster.park(leader, tick(due), looks(due + 10, due + 20), true);
            assert_eq!(until, Some(tick(due + 20)));
            assert_ne!(roster.leader.unwrap().worker, leader);
        }
        assert_eq!(roster.idle, [3]);
    }

    #[test]
    fn a_deputy_that_would_look_too_late_is_woken_when_it_is_to_lead() {
        let mut roster = roster(2);
        roster.park(1, tick(0), looks(50, 90), true);
        assert_eq!(roster.park(2, tick(0), looks(50, 90), true), Some(tick(90)));
        roster.arrive(1);
        assert_eq!(roster.appoint(tick(70), tick(70)), Some(2));
        assert_eq!(roster.leader, Some(Watch { worker: 2, until: tick(70), due: tick(70) }));
    }

    #[test]
    fn a_leader_that_finds_nothing_leaves_the_lead_to_a_deputy_in_time() {
        let mut roster = roster(2);
        roster.park(1, tick(0), looks(50, 60), true);
        roster.park(2, tick(0), looks(50, 60), true);
        roster.arrive(1);
        assert_eq!(roster.park(1, tick(50), looks(60, 80), true), Some(tick(80)));
        assert_eq!(roster.leader, Some(Watch { worker: 2, until: tick(60), due: tick(60) }));
    }

    #[test]
    fn a_surplus_worker_times_out_after_its_keep_alive() {
        let mut roster = roster(2);
        roster.core_size = 1;
        let limit = tick(5) + Duration::from_millis(10);
        assert_eq!(roster.park(2, tick(5), Looks::default(), true), Some(limit));
        assert!(!roster.has_timed_out(2, tick(6)));
        assert!(roster.has_timed_out(2, limit));
        roster.dismiss(2);
        assert!(!roster.is_timed());
        assert_eq!((roster.live(), roster.largest()), (1, 2));
    }
}
