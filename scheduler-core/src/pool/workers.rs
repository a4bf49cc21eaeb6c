//! The workers of a pool: which of them leads, which are idle, and which may leave.
//!
//! Of the workers that wait, at most one is the *leader*: it waits until the first task is due. One
//! more may be its *deputy*, which waits until the second one is; with slack, both wait for longer (see
//! `wake_ups`). The others wait without a deadline and cost nothing. When the leader takes a task, its deputy
//! leads; so two workers take turns, each wakes up by itself, and none has to be woken. Where there is no
//! deputy, or one that waits for too long, a successor is appointed and woken. A task that becomes the first
//! one wakes the leader only.

use std::sync::Arc;
use std::time::Duration;

use super::activity::{Activity, Running};
use crate::sync::planted;
use crate::time::Tick;

/// The number of a worker in its pool, from 1.
pub(crate) type WorkerNumber = u64;

/// The workers of a pool; each is busy, leads, is the deputy or idle, or else is about to look.
#[derive(Debug)]
pub(crate) struct Workers {
    pub(crate) core_size: usize,
    pub(crate) keep_alive: Duration,
    pub(crate) core_may_time_out: bool,
    /// Few, and the newest last: a search looks at less than a tree would.
    members: Vec<Member>,
    /// Parked workers that wait for no due time, the latest at the end.
    idle: Vec<WorkerNumber>,
    leader: Option<Watch>,
    /// The worker that leads when the leader has taken a task.
    deputy: Option<Watch>,
    largest: usize,
    /// How many runs the workers made that have left.
    completed: u64,
    started: WorkerNumber,
}

#[derive(Debug)]
struct Member {
    worker: WorkerNumber,
    activity: Arc<Activity>,
    /// Since when the worker has had nothing to run.
    idle_since: Option<Tick>,
}

/// A worker that waits until it is time to look at the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Watch {
    worker: WorkerNumber,
    /// When it will look at the queue again by itself.
    until: Tick,
}

/// When the queue is to be looked at, as a worker that parks finds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WakeUps {
    pub(crate) next: Option<Tick>,
    /// The look after that, as far as it is known.
    pub(crate) second: Option<Tick>,
}

impl Workers {
    pub(crate) fn new(core_size: usize, keep_alive: Duration, core_may_time_out: bool) -> Self {
        Self {
            core_size,
            keep_alive,
            core_may_time_out,
            members: Vec::new(),
            idle: Vec::new(),
            leader: None,
            deputy: None,
            largest: 0,
            completed: 0,
            started: 0,
        }
    }

    pub(crate) fn live(&self) -> usize {
        self.members.len()
    }

    /// How many run a task, or make a call.
    pub(crate) fn busy(&self) -> usize {
        self.running().count()
    }

    /// How many run a task, and how many runs there have been; a task is never in both.
    pub(crate) fn tally(&self) -> (usize, u64) {
        let tallies = self.members.iter().map(|member| member.activity.tally());
        tallies.fold((0, self.completed), |(active, completed), (more, is_active)| {
            (active + usize::from(is_active), completed + more)
        })
    }

    pub(crate) fn largest(&self) -> usize {
        self.largest
    }

    pub(crate) fn running(&self) -> impl Iterator<Item = (WorkerNumber, Running)> {
        self.members.iter().filter_map(|member| Some((member.worker, member.activity.running()?)))
    }

    /// Adds a worker whose thread is about to be started.
    pub(crate) fn hire(&mut self) -> WorkerNumber {
        self.started += 1;
        let activity = Arc::new(Activity::default());
        self.members.push(Member { worker: self.started, activity, idle_since: None });
        self.largest = self.largest.max(self.members.len());
        self.started
    }

    /// Removes a worker.
    pub(crate) fn dismiss(&mut self, worker: WorkerNumber) {
        self.arrive(worker);
        if let Some(index) = self.members.iter().position(|member| member.worker == worker) {
            self.completed += self.members.remove(index).activity.tally().0;
        }
    }

    /// Records that a worker is awake: neither leader nor deputy nor idle.
    pub(crate) fn arrive(&mut self, worker: WorkerNumber) {
        let is_worker = |watch: &mut Watch| watch.worker == worker;
        let watch = self.leader.take_if(is_worker).or_else(|| self.deputy.take_if(is_worker));
        if watch.is_none() {
            self.idle.retain(|idle| *idle != worker);
        }
    }

    /// Notes what a worker runs.
    pub(crate) fn occupy(&mut self, worker: WorkerNumber, running: Running) {
        if let Some(member) = self.member_mut(worker) {
            member.idle_since = None;
            member.activity.begin(running);
            member.activity.set_awake(true);
        }
    }

    /// What a worker runs, if it runs anything.
    pub(crate) fn running_of(&self, worker: WorkerNumber) -> Option<Running> {
        self.activity(worker)?.running()
    }

    /// Where a worker publishes what it runs.
    pub(crate) fn activity(&self, worker: WorkerNumber) -> Option<&Arc<Activity>> {
        self.members.iter().find(|member| member.worker == worker).map(|member| &member.activity)
    }

    fn member_mut(&mut self, worker: WorkerNumber) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.worker == worker)
    }

    /// Returns true if workers leave when they have been idle for long enough.
    pub(crate) fn is_timed(&self) -> bool {
        self.core_may_time_out || self.live() > self.core_size
    }

    /// Returns true if a worker has been idle for long enough to leave.
    pub(crate) fn has_timed_out(&self, worker: WorkerNumber, now: Tick) -> bool {
        let member = self.members.iter().find(|member| member.worker == worker);
        let since = member.and_then(|member| member.idle_since);
        self.is_timed() && since.is_some_and(|since| now >= since + self.keep_alive)
    }

    /// Parks a worker that has nothing to run, and returns until when it is to wait.
    ///
    /// `may_leave` is whether the worker may leave when it has been idle for long enough. The worker becomes leader if
    /// there is none, or if it has to look earlier than the present one, which then is its deputy; it becomes deputy
    /// if there is none that looks as early.
    pub(crate) fn park(
        &mut self,
        worker: WorkerNumber,
        now: Tick,
        wake_ups: WakeUps,
        may_leave: bool,
    ) -> Option<Tick> {
        let is_timed = self.is_timed() && may_leave;
        let since = self.member_mut(worker).map_or(now, |member| {
            member.activity.set_awake(false);
            *member.idle_since.get_or_insert(now)
        });
        let limit = is_timed.then(|| since + self.keep_alive);
        if self.leader.is_none() {
            let is_in_time =
                |deputy: &mut Watch| wake_ups.next.is_some_and(|look| deputy.until <= look);
            self.leader = self.deputy.take_if(is_in_time);
        }
        let leads = wake_ups.next.filter(|look| is_earlier(*look, self.leader));
        let assists =
            wake_ups.second.filter(|look| leads.is_none() && is_earlier(*look, self.deputy));
        if let Some(until) = leads {
            let former = self.leader.replace(Watch { worker, until });
            if let Some(former) = former.filter(|former| is_earlier(former.until, self.deputy)) {
                self.succeed(former);
            } else {
                self.idle.extend(former.map(|former| former.worker));
            }
        } else if let Some(until) = assists {
            self.succeed(Watch { worker, until });
        } else {
            self.idle.push(worker);
        }
        [leads.or(assists), limit].into_iter().flatten().min()
    }

    /// Makes a worker the deputy.
    fn succeed(&mut self, deputy: Watch) {
        let former = self.deputy.replace(deputy);
        self.idle.extend(former.map(|former| former.worker));
    }

    /// Ensures that a worker looks at the queue at `next_wake_up`; returns the worker to wake for that.
    pub(crate) fn appoint(&mut self, next_wake_up: Tick) -> Option<WorkerNumber> {
        let leader = self.leader.take().or_else(|| self.deputy.take());
        let worker = match leader {
            Some(leader) if leader.until <= next_wake_up || planted("L1") => {
                self.leader = Some(leader);
                return None;
            }
            Some(leader) => leader.worker,
            None => self.idle.pop()?,
        };
        self.leader = Some(Watch { worker, until: next_wake_up });
        Some(worker)
    }

    /// When a worker looks at the queue, whatever is submitted; none if a worker has to be woken for that. Zero if no
    /// worker waits: one that runs a task looks before it waits.
    pub(crate) fn wakes_by(&self) -> Option<Tick> {
        match self.leader {
            Some(leader) => Some(leader.until),
            None => self.anyone_waiting().is_none().then_some(Tick::ZERO),
        }
    }

    /// When the first waiting worker looks at the queue by itself.
    pub(crate) fn first_wake_up(&self) -> Option<Tick> {
        self.leader.or(self.deputy).map(|watch| watch.until)
    }

    /// One of the workers that wait.
    pub(crate) fn anyone_waiting(&self) -> Option<WorkerNumber> {
        let watches = self.deputy.or(self.leader).map(|watch| watch.worker);
        self.idle.last().copied().or(watches)
    }

    /// All workers that wait.
    pub(crate) fn everyone_waiting(&self) -> impl Iterator<Item = WorkerNumber> {
        let watches = [self.deputy, self.leader].into_iter().flatten();
        self.idle.iter().copied().chain(watches.map(|watch| watch.worker))
    }
}

/// Returns true if a look is earlier than that of the watching worker, if there is one.
fn is_earlier(look: Tick, watch: Option<Watch>) -> bool {
    watch.is_none_or(|watch| look < watch.until)
}

#[cfg(test)]
mod tests {
    use super::super::shutdown::Kind;
    use super::*;

    const RUNNING: Running = Running { kind: Kind::OneShot, sequence: 0 };

    fn started(count: usize) -> Workers {
        let mut workers = Workers::new(count, Duration::from_millis(10), false);
        for _ in 0..count {
            workers.hire();
        }
        workers
    }

    const fn tick(nanos: u64) -> Tick {
        Tick::from_nanos(nanos)
    }

    const fn look(next: u64) -> WakeUps {
        WakeUps { next: Some(tick(next)), second: None }
    }

    const fn wake_ups(next: u64, second: u64) -> WakeUps {
        WakeUps { next: Some(tick(next)), second: Some(tick(second)) }
    }

    #[test]
    fn one_leads_and_the_others_wait_without_a_deadline() {
        let mut workers = started(3);
        assert_eq!(workers.park(1, tick(0), look(50), true), Some(tick(50)));
        assert_eq!(workers.park(2, tick(0), look(50), true), None);
        assert_eq!(workers.park(3, tick(0), look(50), true), None);
    }

    #[test]
    fn a_nearer_task_wakes_the_leader_and_a_farther_one_no_worker() {
        let mut workers = started(2);
        workers.park(1, tick(0), look(50), true);
        workers.park(2, tick(0), look(50), true);
        assert_eq!(workers.appoint(tick(60)), None);
        assert_eq!(workers.appoint(tick(40)), Some(1));
        assert_eq!(workers.appoint(tick(40)), None);
        assert_eq!(workers.appoint(tick(30)), Some(1));
    }

    #[test]
    fn a_leader_that_takes_a_task_is_succeeded_by_one_idle_worker() {
        let mut workers = started(3);
        for worker in 1..=3 {
            workers.park(worker, tick(0), look(50), true);
        }
        workers.arrive(1);
        workers.occupy(1, RUNNING);
        assert_eq!(workers.appoint(tick(70)), Some(3));
        assert_eq!(workers.appoint(tick(70)), None);
        assert_eq!(workers.busy(), 1);
    }

    #[test]
    fn a_worker_that_parks_with_an_earlier_task_takes_the_lead_and_wakes_none() {
        let mut workers = started(2);
        workers.park(2, tick(0), look(50), true);
        assert_eq!(workers.park(1, tick(0), look(20), true), Some(tick(20)));
        assert_eq!(workers.everyone_waiting().collect::<Vec<_>>(), [2, 1]);
        workers.arrive(2);
        assert_eq!(workers.park(2, tick(10), look(20), true), None);
    }

    #[test]
    fn leader_and_deputy_take_turns_and_none_is_woken() {
        let mut workers = started(3);
        for worker in 1..=3 {
            workers.park(worker, tick(0), wake_ups(50, 60), true);
        }
        for due in [50, 60, 70, 80] {
            let leader = workers.leader.unwrap().worker;
            workers.arrive(leader);
            assert_eq!(workers.appoint(tick(due + 10)), None, "{due}");
            let until = workers.park(leader, tick(due), wake_ups(due + 10, due + 20), true);
            assert_eq!(until, Some(tick(due + 20)));
            assert_ne!(workers.leader.unwrap().worker, leader);
        }
        assert_eq!(workers.idle, [3]);
    }

    #[test]
    fn a_deputy_that_would_look_too_late_is_woken_when_it_is_to_lead() {
        let mut workers = started(2);
        workers.park(1, tick(0), wake_ups(50, 90), true);
        assert_eq!(workers.park(2, tick(0), wake_ups(50, 90), true), Some(tick(90)));
        workers.arrive(1);
        assert_eq!(workers.appoint(tick(70)), Some(2));
        assert_eq!(workers.leader, Some(Watch { worker: 2, until: tick(70) }));
    }

    #[test]
    fn a_leader_that_finds_nothing_leaves_the_lead_to_a_deputy_in_time() {
        let mut workers = started(2);
        workers.park(1, tick(0), wake_ups(50, 60), true);
        workers.park(2, tick(0), wake_ups(50, 60), true);
        workers.arrive(1);
        assert_eq!(workers.park(1, tick(50), wake_ups(60, 80), true), Some(tick(80)));
        assert_eq!(workers.leader, Some(Watch { worker: 2, until: tick(60) }));
    }

    #[test]
    fn a_surplus_worker_times_out_after_its_keep_alive() {
        let mut workers = started(2);
        workers.core_size = 1;
        let limit = tick(5) + Duration::from_millis(10);
        assert_eq!(workers.park(2, tick(5), WakeUps::default(), true), Some(limit));
        assert!(!workers.has_timed_out(2, tick(6)));
        assert!(workers.has_timed_out(2, limit));
        workers.dismiss(2);
        assert!(!workers.is_timed());
        assert_eq!((workers.live(), workers.largest()), (1, 2));
    }
}
