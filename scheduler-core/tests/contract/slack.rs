//! The slack of a pool, and the head start of its workers.

use std::sync::Arc;
use std::time::Duration;

use crate::kit::{Journal, VirtualPool, ms};
use chrono::{DateTime, Utc};
use scheduler_core::time::{Epoch, EventCount};
use scheduler_core::{
    Body, Clock, ManualClock, PoolBuilder, ScheduledThreadPool, Stepped, Task, Tick, VirtualWorkers,
};

fn tick(after: Duration) -> Tick {
    Tick::ZERO + after
}

fn pool_of(workers: usize, slack: Duration) -> VirtualPool {
    let builder = ScheduledThreadPool::builder().core_size(workers).slack(slack);
    let stage = VirtualPool::build(builder);
    stage.pool.prestart_all();
    stage
}

fn pool_of_one(slack: Duration) -> VirtualPool {
    pool_of(1, slack)
}

/// The only worker takes one step.
fn step(stage: &VirtualPool) -> Stepped {
    stage.workers.step(1)
}

#[test]
fn tasks_due_within_the_slack_share_one_wake_up_and_keep_their_order() {
    let stage = pool_of_one(ms(3));
    let ran = Journal::new();
    for due in [7, 5, 6, 9] {
        stage.pool.schedule(ms(due), ran.noting(due)).unwrap();
    }
    assert_eq!(step(&stage), Stepped::Waits(Some(tick(ms(8)))));
    stage.clock.advance(ms(8));
    for _ in 0..3 {
        assert_eq!(step(&stage), Stepped::Ran);
    }
    assert_eq!(step(&stage), Stepped::Waits(Some(tick(ms(12)))));
    assert_eq!(ran.entries(), [5, 6, 7]);
}

#[test]
fn nothing_runs_before_it_is_due_whichever_worker_is_awake() {
    let stage = pool_of_one(ms(3));
    let ran = Journal::new();
    stage.pool.schedule(ms(5), ran.noting("first")).unwrap();
    stage.pool.schedule(ms(8), ran.noting("second")).unwrap();
    stage.clock.advance(ms(5) - Duration::from_nanos(1));
    assert_eq!(step(&stage), Stepped::Waits(Some(tick(ms(8)))));
    stage.clock.advance(Duration::from_nanos(1));
    assert_eq!(step(&stage), Stepped::Ran);
    assert_eq!(step(&stage), Stepped::Waits(Some(tick(ms(11)))));
    assert_eq!(ran.entries(), ["first"]);
}

#[test]
fn the_grid_of_a_rate_does_not_move_by_the_slack() {
    let stage = pool_of_one(ms(3));
    let ran = Journal::new();
    let body = Body::new({
        let (clock, ran) = (stage.clock.clone(), ran.clone());
        move || ran.note(clock.now())
    });
    stage.pool.submit_task(Task::at_fixed_rate(ms(10), body).initial_delay(ms(10))).unwrap();
    for _ in 0..3 {
        let Stepped::Waits(Some(until)) = step(&stage) else { panic!("it waits") };
        stage.clock.advance_to(until);
        assert_eq!(step(&stage), Stepped::Ran);
    }
    assert_eq!(ran.entries(), [ms(13), ms(23), ms(33)].map(tick));
}

#[test]
fn a_task_that_comes_while_a_worker_waits_is_served_within_its_own_slack() {
    let stage = pool_of_one(ms(3));
    let ran = Journal::new();
    stage.pool.schedule(ms(20), ran.noting("late")).unwrap();
    assert_eq!(step(&stage), Stepped::Waits(Some(tick(ms(23)))));
    stage.pool.schedule(ms(5), ran.noting("soon")).unwrap();
    assert!(stage.workers.is_woken(1));
    assert_eq!(step(&stage), Stepped::Waits(Some(tick(ms(8)))));
}

#[test]
fn who_stands_in_for_a_worker_looks_when_that_is_kept_for_longer_than_the_slack() {
    let stage = pool_of(2, ms(3));
    let ran = Journal::new();
    for due in [5, 6, 7, 9, 12] {
        stage.pool.schedule(ms(due), ran.noting(due)).unwrap();
    }
    assert_eq!(step(&stage), Stepped::Waits(Some(tick(ms(8)))));
    assert_eq!(stage.workers.step(2), Stepped::Waits(Some(tick(ms(11)))), "not at 9");
    stage.clock.advance(ms(8));
    for _ in 0..3 {
        assert_eq!(step(&stage), Stepped::Ran);
    }
    assert_eq!(step(&stage), Stepped::Waits(Some(tick(ms(15)))), "the other one looks for 9");
    assert!(!stage.workers.is_woken(2));
    stage.clock.advance(ms(3));
    assert_eq!(stage.workers.step(2), Stepped::Ran);
    assert_eq!(stage.workers.step(2), Stepped::Waits(None), "the other one looks for 12");
    assert_eq!(ran.entries(), [5, 6, 7, 9]);
}

/// However many tasks are long, as long as there are workers.
#[test]
fn no_task_is_later_than_twice_the_slack_where_others_are_long() {
    let stage = pool_of(4, ms(3));
    let started = Journal::new();
    for due in [5, 5, 6, 7] {
        let (workers, clock, started) =
            (stage.workers.clone(), stage.clock.clone(), started.clone());
        let body = move || {
            started.note((due, clock.now()));
            let next = match started.len() {
                1 => {
                    assert!(!workers.is_woken(2), "it looks by itself");
                    clock.advance(ms(3));
                    2
                }
                4 => return,
                _ => [3, 4].into_iter().find(|next| workers.is_woken(*next)).expect("one is woken"),
            };
            assert_eq!(workers.step(next), Stepped::Ran);
        };
        stage.pool.schedule(ms(due), body).unwrap();
    }
    let waits = [1, 2, 3, 4].map(|worker| stage.workers.step(worker));
    let expected = [Some(8), Some(11), None, None];
    assert_eq!(waits, expected.map(|until| Stepped::Waits(until.map(|until| tick(ms(until))))));
    stage.clock.advance(ms(8));
    assert_eq!(step(&stage), Stepped::Ran);
    let expected = [(5, 8), (5, 11), (6, 11), (7, 11)].map(|(due, at)| (due, tick(ms(at))));
    assert_eq!(started.entries(), expected);
}

/// A clock whose wake-ups take half a millisecond: a head start is two.
#[derive(Debug)]
struct Slow(ManualClock);

impl Clock for Slow {
    fn now(&self) -> Tick {
        self.0.now()
    }

    fn wall(&self) -> DateTime<Utc> {
        self.0.wall()
    }

    fn wake_latency(&self) -> Duration {
        Duration::from_micros(500)
    }

    fn wait(&self, gate: &Arc<EventCount>, seen: Epoch, until: Option<Tick>) {
        self.0.wait(gate, seen, until);
    }
}

/// Two workers whose clock is slow.
fn slow_pool(builder: PoolBuilder) -> (ScheduledThreadPool, ManualClock, VirtualWorkers) {
    let (clock, workers) = (ManualClock::new(), VirtualWorkers::new());
    let builder =
        builder.core_size(2).clock(Arc::new(Slow(clock.clone()))).virtual_workers(&workers);
    let pool = builder.build().unwrap();
    pool.prestart_all();
    (pool, clock, workers)
}

#[test]
fn who_wakes_up_first_has_a_head_start() {
    let (pool, clock, workers) = slow_pool(ScheduledThreadPool::builder());
    let ran = Journal::new();
    for due in [5, 6, 9] {
        pool.schedule(ms(due), ran.noting(due)).unwrap();
    }
    assert_eq!(workers.step(1), Stepped::Waits(Some(tick(ms(5)))));
    assert_eq!(workers.step(2), Stepped::Waits(Some(tick(ms(7)))), "not at 6");
    clock.advance(ms(5));
    assert_eq!(workers.step(1), Stepped::Ran);
    assert!(!workers.is_woken(2));
    let shortest_wait = Duration::from_micros(1_600);
    assert_eq!(workers.step(1), Stepped::Waits(Some(tick(ms(5) + shortest_wait))), "before 7");
    clock.advance(shortest_wait);
    assert_eq!(workers.step(1), Stepped::Ran);
    assert!(!workers.is_woken(2));
    assert_eq!(ran.entries(), [5, 6]);
}

/// A task that is due within 3.2 wake-ups is late, unless the wait is so brief that it is spun.
#[test]
fn no_wait_is_shorter_than_three_wake_ups_but_for_a_brief_one() {
    let (pool, clock, workers) = slow_pool(ScheduledThreadPool::builder());
    for nanos in [1_590_000, 1_300_000, 25_001, 25_000] {
        pool.schedule(Duration::from_nanos(nanos), || ()).unwrap();
        let until = Duration::from_nanos(if nanos == 25_000 { nanos } else { 1_600_000 });
        assert_eq!(workers.step(1), Stepped::Waits(Some(tick(until))), "{nanos}");
    }
    clock.advance(ms(2));
    assert_eq!(workers.step(1), Stepped::Ran);
}

/// Due times that are further apart than the head start get a worker each; a precise pool has no head start.
#[test]
fn a_head_start_ends_when_the_next_task_is_due_and_there_is_none_for_the_precise() {
    let waits = |builder, dues: [u64; 2]| {
        let (pool, _, workers) = slow_pool(builder);
        for due in dues {
            pool.schedule(ms(due), || ()).unwrap();
        }
        [1, 2].map(|worker| workers.step(worker))
    };
    let until = |dues: [u64; 2]| dues.map(|due| Stepped::Waits(Some(tick(ms(due)))));
    let builder = ScheduledThreadPool::builder;
    assert_eq!(waits(builder(), [5, 8]), until([5, 8]));
    assert_eq!(waits(builder(), [5, 5]), until([5, 7]));
    assert_eq!(waits(builder().precise(), [5, 6]), until([5, 6]));
    assert_eq!(waits(builder().slack(ms(1)), [5, 6]), until([6, 8]));
}
