//! The contract of one-shot tasks: their times (EC-A) and order (EC-B).

use std::cmp::Ordering;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use super::kit::{
    Blocker, CAP, HOUR, Journal, ManualPool, Mutex, NANO, Pending, Random, VirtualPool, at_wall,
    check_pairs, eventually, ms, submit_pairs, value_of, wedge,
};
use chrono::{DateTime, TimeDelta, Utc};
use scheduler_core::time::{Epoch, EventCount};
use scheduler_core::{
    Clock, Error, ManualClock, ScheduledThreadPool, Task, TaskHandle, TaskState, Tick,
};

const CENTURY: Duration = Duration::from_secs(100 * 366 * 24 * 3600);

// A. One-shot timing and overflow

#[test]
fn ec_a1_value_task_is_not_early() {
    let stage = ManualPool::new(1);
    let (delay, before) = (ms(12), stage.clock.now());
    let inside = stage.clock.clone();
    let handle = stage.pool.schedule(delay, move || (42, inside.now())).unwrap();
    stage.await_parked(1);
    assert_eq!(stage.clock.next_deadline(), Some(before + delay));

    stage.clock.advance(delay - NANO);
    stage.await_parked(1);
    assert_eq!(handle.state(), TaskState::Scheduled);

    stage.clock.advance(NANO);
    let (value, started) = value_of(&handle);
    assert_eq!(value, 42);
    assert!(started >= before + delay);
    assert!(stage.clock.now() >= before + delay);
}

#[test]
fn ec_a1_a_worker_that_looks_too_early_does_not_run_the_task() {
    let stage = VirtualPool::new(1);
    let handle = stage.pool.schedule(ms(12), || 42).unwrap();
    assert_eq!(stage.run_due(), Some(Tick::ZERO + ms(12)));
    stage.clock.advance(ms(12) - NANO);
    // The worker looks, because a step of it is taken, one nanosecond before the time.
    assert_eq!(stage.run_due(), Some(Tick::ZERO + ms(12)));
    assert!(!handle.is_done());
    stage.clock.advance(NANO);
    assert_eq!(stage.run_due(), None);
    assert_eq!(handle.result_now(), Ok(42));
}

#[test]
fn ec_a2_unit_task_is_not_early() {
    let stage = ManualPool::new(1);
    let (delay, before) = (ms(12), stage.clock.now());
    let (inside, started) = (stage.clock.clone(), Journal::new());
    let noted = started.clone();
    let handle = stage.pool.schedule(delay, move || noted.note(inside.now())).unwrap();
    let waiter = handle.clone();
    let waiting = Pending::start(move || waiter.wait_for(CAP));
    stage.await_parked(2);
    stage.clock.advance(delay - NANO);
    stage.await_parked(2);
    assert!(waiting.is_blocked() && !handle.is_done());

    stage.clock.advance(NANO);
    assert_eq!(waiting.join(), Ok(()));
    assert_eq!(started.entries(), [before + delay]);
}

#[test]
fn ec_a3_an_executed_task_runs_with_no_further_action() {
    let stage = ManualPool::new(1);
    let (sender, ran) = mpsc::channel();
    drop(stage.pool.execute(move || sender.send(()).unwrap()).unwrap());
    ran.recv_timeout(CAP).expect("the task runs, though no thread waits for its handle");
}

#[test]
fn ec_a4_no_delay_and_past_instants_run_promptly() {
    // Delays are unsigned, so what lies in the past are instants of the wall clock.
    let stage = VirtualPool::new(1);
    stage.clock.advance(HOUR);
    let (ran, wall) = (Journal::new(), stage.clock.wall());
    let past = [
        wall,
        wall - TimeDelta::nanoseconds(1),
        wall - TimeDelta::hours(2),
        DateTime::from_timestamp(-1, 0).unwrap(),
        DateTime::<Utc>::MIN_UTC,
    ];
    stage.pool.schedule(Duration::ZERO, ran.noting(0)).unwrap();
    for (number, instant) in (1..).zip(past) {
        at_wall(&stage.pool, &stage.clock, instant, ran.noting(number));
    }
    assert_eq!(stage.run_due(), None);
    let mut numbers = ran.entries();
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5]);
    assert_eq!(stage.pool.stats().queued, 0);
}

#[test]
fn ec_a5_every_form_of_submission_delivers() {
    let stage = ManualPool::new(2);
    let ran = Journal::new();
    let value = stage.pool.submit(|| 7).unwrap();
    let unit = stage.pool.submit(ran.noting("unit")).unwrap();
    // The JDK's `submit(task, value)` is a closure that ends with the value.
    let (body, word) = (ran.noting("given"), String::from("value"));
    let given = stage.pool.submit(move || {
        body();
        word
    });
    let given = given.unwrap();
    assert_eq!(value_of(&value), 7);
    value_of(&unit);
    assert_eq!(value_of(&given), "value");
    assert_eq!(ran.len(), 2);
    let ends = [
        (value.is_done(), value.is_cancelled()),
        (unit.is_done(), unit.is_cancelled()),
        (given.is_done(), given.is_cancelled()),
    ];
    assert_eq!(ends, [(true, false); 3]);
}

/// The four kinds of submission in EC-A6.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Unit,
    Value,
    FixedDelay,
    FixedRate,
}

const KINDS: [Kind; 4] = [Kind::Unit, Kind::Value, Kind::FixedDelay, Kind::FixedRate];

/// Submits a task of this kind and gives back what cancels it.
fn submit_kind(
    pool: &ScheduledThreadPool,
    kind: Kind,
    delay: Duration,
    body: impl Fn() + Send + 'static,
) -> Result<Box<dyn Fn() -> bool>, Error> {
    fn canceller<T: Send + Sync + 'static>(handle: TaskHandle<T>) -> Box<dyn Fn() -> bool> {
        Box::new(move || handle.cancel())
    }
    match kind {
        Kind::Unit => pool.schedule(delay, body).map(canceller),
        Kind::Value => {
            let value = move || {
                body();
                7
            };
            pool.schedule(delay, value).map(canceller)
        }
        Kind::FixedDelay => pool.schedule_with_fixed_delay(delay, HOUR, body).map(canceller),
        Kind::FixedRate => pool.schedule_at_fixed_rate(delay, HOUR, body).map(canceller),
    }
}

#[test]
fn ec_a6_a_task_at_the_end_of_time_neither_runs_nor_blocks_another() {
    for now_kind in KINDS {
        for end_kind in KINDS {
            let stage = ManualPool::new(1);
            let wedge = wedge(&stage.pool);
            let (now_ran, end_ran) = (Journal::new(), Journal::new());
            let cancel_now =
                submit_kind(&stage.pool, now_kind, Duration::ZERO, now_ran.noting(())).unwrap();
            stage.clock.advance(NANO);
            let end = submit_kind(&stage.pool, end_kind, Duration::MAX, end_ran.noting(()));
            wedge.release();
            now_ran.await_len(1);
            stage.await_parked(1);
            assert_eq!(now_ran.len(), 1, "{now_kind:?} before {end_kind:?}");
            cancel_now();

            // Not even a clock that has come to its own end makes it run.
            stage.clock.advance_to(Tick::from_nanos(u64::MAX - 1));
            value_of(&stage.pool.submit(|| ()).unwrap());
            stage.clock.advance(NANO);
            stage.await_parked(1);
            assert_eq!(end_ran.len(), 0, "{now_kind:?} before {end_kind:?}");
            assert!(end.unwrap()(), "{end_kind:?} is still there to be cancelled");
        }
    }
}

#[test]
fn ec_a6_a_worker_that_looks_at_the_end_of_time_finds_nothing() {
    for kind in KINDS {
        let stage = VirtualPool::new(1);
        let ran = Journal::new();
        let cancel = submit_kind(&stage.pool, kind, Duration::MAX, ran.noting(())).unwrap();
        stage.clock.advance(Duration::MAX);
        assert_eq!(stage.run_due(), None);
        assert_eq!(ran.len(), 0, "{kind:?}");
        assert!(cancel(), "{kind:?} is still there to be cancelled");
    }
}

#[test]
fn ec_a6_a_giant_period_does_not_overtake_a_late_task() {
    // The defect of the JDK: the next fire time wraps, sorts first, and starves the queue.
    for giant in [Duration::MAX, Duration::from_nanos(u64::MAX), Duration::from_nanos(1 << 63)] {
        let stage = VirtualPool::new(1);
        stage.clock.advance(HOUR);
        let (giants, small) = (Journal::new(), Journal::new());
        stage.pool.schedule_at_fixed_rate(Duration::ZERO, giant, giants.noting(())).unwrap();
        stage.pool.schedule_with_fixed_delay(Duration::ZERO, giant, giants.noting(())).unwrap();
        stage.pool.schedule_at_fixed_rate(Duration::ZERO, ms(1), small.noting(())).unwrap();
        stage.clock.advance(ms(100));
        stage.run_for(ms(100));
        assert_eq!((giants.len(), small.len()), (2, 201), "period {giant:?}");
    }
}

#[test]
fn ec_a7_the_delay_of_a_task_at_the_end_of_time_is_immense() {
    let stage = VirtualPool::new(1);
    stage.clock.advance(HOUR);
    let first = stage.pool.schedule(Duration::MAX, || ()).unwrap();
    stage.clock.advance(HOUR);
    let second = stage.pool.schedule(Duration::MAX, || 7).unwrap();
    for delay in [first.delay(), second.delay()] {
        assert!(delay > CENTURY, "{delay:?}");
    }
    assert_eq!(second.compare(&first), Ordering::Greater);
    assert_eq!(first.compare(&second), Ordering::Less);
    assert_eq!(first.compare(&first.clone()), Ordering::Equal);
    assert_eq!(second.compare(&second.clone()), Ordering::Equal);
}

/// A clock that goes on while it is read, now by more and now by less, as the clock of a machine does.
#[derive(Debug)]
struct Restless {
    clock: ManualClock,
    pace: Mutex<Random>,
}

impl Restless {
    fn new() -> Self {
        Self { clock: ManualClock::new(), pace: Mutex::new(Random(7)) }
    }

    fn go_on(&self) {
        let by = self.pace.lock().unwrap().below(1000);
        self.clock.advance(Duration::from_nanos(by));
    }
}

impl Clock for Restless {
    fn now(&self) -> Tick {
        self.go_on();
        self.clock.now()
    }

    fn wall(&self) -> DateTime<Utc> {
        self.go_on();
        self.clock.wall()
    }

    fn wait(&self, gate: &Arc<EventCount>, seen: Epoch, until: Option<Tick>) {
        self.clock.wait(gate, seen, until);
    }
}

#[test]
fn ec_a7_the_order_of_two_tasks_does_not_depend_on_when_it_is_asked() {
    let clock = Arc::new(Restless::new());
    let pool = ScheduledThreadPool::builder().core_size(1).clock(clock).build().unwrap();
    let [first, second] =
        [0, 1].map(|micros| pool.schedule(HOUR + Duration::from_micros(micros), || ()).unwrap());
    for _ in 0..100 {
        assert_eq!(first.compare(&first.clone()), Ordering::Equal);
        assert_eq!(first.compare(&second), Ordering::Less);
        assert_eq!(second.compare(&first), Ordering::Greater);
    }
}

#[test]
fn ec_a7_tasks_of_two_pools_are_never_equal() {
    let (one, two) = (VirtualPool::new(1), VirtualPool::new(1));
    let one = one.pool.schedule(Duration::MAX, || ()).unwrap();
    let two = two.pool.schedule(Duration::MAX, || ()).unwrap();
    assert_ne!(one.compare(&two), Ordering::Equal);
    assert_eq!(one.compare(&two), two.compare(&one).reverse());
}

/// The task that is submitted last has not been looked at by anybody when the worker is free: all who could
/// are busy.
#[test]
fn a_task_that_comes_while_all_work_runs_before_later_ones() {
    let ManualPool { pool, clock } = ManualPool::new(1);
    let order = Journal::new();
    let wedge = wedge(&pool);
    let submit = |due: u64| {
        let order = order.clone();
        pool.schedule(ms(due), move || order.note(due)).unwrap()
    };
    let handles = [submit(20), submit(30)];
    assert_eq!(pool.queue().len(), 2, "they are found in the queue");
    let rest = [submit(25), submit(10), submit(20)];
    clock.advance(ms(40));
    let last = pool.submit(|| ()).unwrap();
    wedge.release();
    last.wait().unwrap();
    handles.iter().chain(&rest).for_each(|handle| handle.wait().unwrap());
    assert_eq!(order.entries(), [10, 20, 20, 25, 30]);
}

/// Tasks that are due at once and wait for their turn leave the queue like any other.
#[test]
fn a_task_that_is_due_already_leaves_the_queue_when_it_is_cancelled() {
    let ManualPool { pool, .. } = ManualPool::new(1);
    let wedge = wedge(&pool);
    let ran = Journal::new();
    let handles: Vec<TaskHandle<()>> = (0..200)
        .map(|number| {
            let ran = ran.clone();
            pool.submit(move || ran.note(number)).unwrap()
        })
        .collect();
    // Some are known only to the thread that has submitted them; others stand in the queue.
    for handle in handles[180..].iter().chain(&handles[..20]) {
        assert!(pool.is_queued(handle) && handle.cancel() && !pool.is_queued(handle));
    }
    assert_eq!((pool.queue().len(), pool.stats().queued), (160, 160));
    let removed = pool.remove(&handles[100]).expect("it waits");
    assert_eq!(pool.stats().queued, 159);
    drop(removed);
    wedge.release();
    handles[179].wait().unwrap();
    assert_eq!(ran.entries(), (20..180).filter(|number| *number != 100).collect::<Vec<_>>());
}

#[test]
fn ec_a8_no_random_delay_is_cut_short() {
    let stage = VirtualPool::new(2);
    let starts = Journal::new();
    let mut random = Random(8);
    for _ in 0..200 {
        let earliest = stage.clock.now() + Duration::from_nanos(random.below(50_000_000));
        let (clock, starts) = (stage.clock.clone(), starts.clone());
        let delay = earliest.since(stage.clock.now());
        stage.pool.schedule(delay, move || starts.note((clock.now(), earliest))).unwrap();
        stage.run_for(Duration::from_nanos(random.below(1_000_000)));
    }
    stage.run_for(ms(50));
    assert_eq!(starts.len(), 200);
    // A clock that stops at every deadline lets each task start exactly at its time.
    for (started, earliest) in starts.entries() {
        assert_eq!(started, earliest);
    }
}

#[test]
fn ec_a8_tasks_that_are_due_at_once_run_on_all_workers_that_wait() {
    let stage = ManualPool::new(3);
    assert_eq!(stage.pool.prestart_all(), 3);
    stage.await_parked(3);
    let blockers = [(); 3].map(|()| Blocker::new());
    for blocker in &blockers {
        stage.pool.schedule(ms(12), blocker.body()).unwrap();
    }
    stage.await_parked(3);
    stage.clock.advance(ms(12));
    // Each worker that takes a task sees to it that another one looks at the rest.
    blockers.iter().for_each(Blocker::await_started);
}

#[test]
fn ec_a8_a_nearer_task_is_not_kept_waiting_by_a_farther_one() {
    let stage = ManualPool::new(2);
    let ran = Journal::new();
    for (number, delay) in (0..).zip([HOUR, ms(20), ms(50), ms(10), ms(30), ms(10)]) {
        stage.pool.schedule(delay, ran.noting(number)).unwrap();
        stage.await_parked(2.min(stage.pool.stats().pool_size));
    }
    for (at, expected) in [(10, 2), (20, 3), (30, 4), (50, 5)] {
        stage.clock.advance_to(Tick::ZERO + ms(at));
        ran.await_len(expected);
        stage.await_parked(2);
        assert_eq!(ran.len(), expected);
    }
    assert_eq!(ran.entries()[2..], [1, 4, 2]);
}

// B. Order

#[test]
fn ec_b1_tasks_of_one_submitter_run_in_their_order() {
    let stage = ManualPool::new(1);
    let wedge = wedge(&stage.pool);
    let ran = Journal::new();
    for number in 0..1000 {
        stage.pool.execute(ran.noting(number)).unwrap();
    }
    wedge.release();
    ran.await_len(1000);
    assert_eq!(ran.entries(), (0..1000).collect::<Vec<_>>());
}

#[test]
fn ec_b2_tasks_run_in_the_order_of_their_due_times() {
    for seed in 0..20 {
        let stage = ManualPool::new(1);
        let wedge = wedge(&stage.pool);
        let ran = Journal::new();
        let mut delays: Vec<u64> = (1..=20).collect();
        Random(seed).shuffle(&mut delays);
        for delay in &delays {
            stage.pool.schedule(ms(*delay), ran.noting(*delay)).unwrap();
        }
        stage.clock.advance(ms(21));
        wedge.release();
        ran.await_len(20);
        assert_eq!(ran.entries(), (1..=20).collect::<Vec<_>>(), "delays {delays:?}");
    }
}

#[test]
fn ec_b3_a_past_instant_counts_as_now_among_those_of_its_clock() {
    let stage = ManualPool::new(1);
    let wedge = wedge(&stage.pool);
    let ran = Journal::new();
    stage.pool.schedule(ms(20), ran.noting('A')).unwrap();
    stage.pool.schedule(ms(10), ran.noting('B')).unwrap();
    // No delay is negative here; the least one is none.
    stage.pool.schedule(Duration::ZERO, ran.noting('C')).unwrap();
    stage.pool.schedule(Duration::ZERO, ran.noting('D')).unwrap();
    stage.clock.advance(ms(40));
    wedge.release();
    ran.await_len(4);
    assert_eq!(ran.entries(), ['C', 'D', 'B', 'A']);
}

#[test]
fn ec_b4_all_entry_points_are_one_ordering_domain() {
    let stage = ManualPool::new(1);
    let wedge = wedge(&stage.pool);
    let ran = Journal::new();
    stage.pool.execute(ran.noting('a')).unwrap();
    stage.pool.submit(ran.noting('b')).unwrap();
    stage.pool.schedule(Duration::ZERO, ran.noting('c')).unwrap();
    let (pool, body) = (stage.pool.clone(), ran.noting('d'));
    let invoking = Pending::start(move || pool.invoke_all([body]).map(|handles| handles.len()));
    eventually("the member is queued", || stage.pool.stats().queued == 4);
    stage.pool.execute(ran.noting('e')).unwrap();
    stage.pool.schedule_at_fixed_rate(Duration::ZERO, HOUR, ran.noting('f')).unwrap();
    stage.pool.schedule_with_fixed_delay(Duration::ZERO, HOUR, ran.noting('g')).unwrap();
    stage.pool.submit_task(Task::once(ran.noting('h'))).unwrap();
    let poll = ran.noting('i');
    stage.pool.schedule_async(Duration::ZERO, async move { poll() }).unwrap();
    let (pool, body) = (stage.pool.clone(), ran.noting('j'));
    let racing = Pending::start(move || pool.invoke_any([body]));
    eventually("the member is queued", || stage.pool.stats().queued == 10);
    stage.pool.execute(ran.noting('k')).unwrap();
    wedge.release();
    ran.await_len(11);
    assert_eq!(String::from_iter(ran.entries()), "abcdefghijk");
    assert_eq!((invoking.join(), racing.join()), (Ok(1), Ok(())));
}

#[test]
fn ec_b5_causal_order_across_threads_is_respected() {
    // With the clock at rest all due times are equal, so the sequence alone has to tell. Where the
    // due times tell is in `contract/real_clock.rs`.
    let stage = ManualPool::new(1);
    let wedge = wedge(&stage.pool);
    let ran = Journal::new();
    submit_pairs(&stage.pool, &ran);
    wedge.release();
    ran.await_len(2000);
    check_pairs(&ran.entries());
}
