//! The contract of periodic tasks (EC-C).

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::kit::{
    HOUR, Journal, ManualPool, Mutex, NANO, Pending, VirtualPool, capped, eventually, ms, value_of,
};
use chrono::{DateTime, Utc};
use scheduler_core::time::{Epoch, EventCount};
use scheduler_core::{Clock, Error, ManualClock, ScheduledThreadPool, TaskHandle, TaskState, Tick};

/// The two ways to recur on the monotonic clock.
#[derive(Clone, Copy, Debug)]
enum Rhythm {
    FixedRate,
    FixedDelay,
}

impl Rhythm {
    const BOTH: [Self; 2] = [Self::FixedRate, Self::FixedDelay];

    fn submit(
        self,
        pool: &ScheduledThreadPool,
        initial: Duration,
        every: Duration,
        body: impl FnMut() + Send + 'static,
    ) -> Result<TaskHandle<()>, Error> {
        match self {
            Self::FixedRate => pool.schedule_at_fixed_rate(initial, every, body),
            Self::FixedDelay => pool.schedule_with_fixed_delay(initial, every, body),
        }
    }
}

/// A body that notes when it starts and takes the given times, the last one again and again.
fn taking(stage: &VirtualPool, starts: &Journal<u64>, times: &[u64]) -> impl FnMut() + 'static {
    let (clock, starts) = (stage.clock.clone(), starts.clone());
    let mut times = times.to_vec();
    move || {
        starts.note(millis(clock.now()));
        let time = if times.len() > 1 { times.remove(0) } else { times[0] };
        clock.advance(ms(time));
    }
}

fn millis(tick: Tick) -> u64 {
    assert_eq!(tick.as_nanos() % 1_000_000, 0, "{tick:?} is a whole number of milliseconds");
    tick.as_nanos() / 1_000_000
}

fn check_first_run(rhythm: Rhythm) {
    let stage = ManualPool::new(1);
    let ran = Journal::new();
    let (clock, noted) = (stage.clock.clone(), ran.clone());
    let body = move || noted.note(clock.now());
    let handle = rhythm.submit(&stage.pool, ms(12), HOUR, body).unwrap();
    stage.await_parked(1);
    stage.clock.advance(ms(12) - NANO);
    stage.await_parked(1);
    assert_eq!(ran.len(), 0, "{rhythm:?}");

    stage.clock.advance(NANO);
    ran.await_len(1);
    stage.await_parked(1);
    stage.clock.advance(HOUR - NANO);
    stage.await_parked(1);
    assert_eq!(ran.entries(), [Tick::ZERO + ms(12)], "{rhythm:?}");
    assert!(!handle.is_done());

    assert!(handle.cancel());
    assert!(handle.is_done() && handle.is_cancelled());
    stage.clock.advance(HOUR);
    value_of(&stage.pool.submit(|| ()).unwrap());
    assert_eq!(ran.len(), 1, "{rhythm:?}");
}

#[test]
fn ec_c1_a_fixed_rate_begins_after_its_initial_delay() {
    check_first_run(Rhythm::FixedRate);
}

#[test]
fn ec_c2_a_fixed_delay_begins_after_its_initial_delay() {
    check_first_run(Rhythm::FixedDelay);
}

#[test]
fn ec_c3_a_fixed_rate_keeps_its_rate() {
    for period in [1, 3, 9, 27] {
        let stage = VirtualPool::new(1);
        let starts = Journal::new();
        // However long a run takes, while it is shorter than the period.
        let body = taking(&stage, &starts, &[0, period - 1, period / 2]);
        stage.pool.schedule_at_fixed_rate(Duration::ZERO, ms(period), body).unwrap();
        stage.run_for(ms(7 * period) - NANO);
        assert_eq!(starts.len(), 7, "8 runs need at least 7 periods");
        stage.run_for(NANO);
        let grid: Vec<u64> = (0..8).map(|run| run * period).collect();
        assert_eq!(starts.entries(), grid);
    }
}

#[test]
fn ec_c4_a_fixed_delay_begins_at_the_end_of_the_run_before() {
    for delay in [1, 3, 9, 27] {
        let stage = VirtualPool::new(1);
        let starts = Journal::new();
        let body = taking(&stage, &starts, &[5, 0, delay, 40, 0]);
        stage.pool.schedule_with_fixed_delay(Duration::ZERO, ms(delay), body).unwrap();
        stage.run_for(ms(45 + 6 * delay));
        let expected = [0, 5 + delay, 5 + 2 * delay, 5 + 4 * delay, 45 + 5 * delay, 45 + 6 * delay];
        assert_eq!(starts.entries(), expected, "delay {delay}");
    }
}

#[test]
fn ec_c5_missed_firings_follow_back_to_back_and_the_grid_stays() {
    let stage = VirtualPool::new(1);
    let starts = Journal::new();
    let body = taking(&stage, &starts, &[210, 0]);
    stage.pool.schedule_at_fixed_rate(ms(7), ms(40), body).unwrap();
    stage.run_for(ms(330));
    assert_eq!(starts.entries(), [7, 217, 217, 217, 217, 217, 247, 287, 327]);
}

#[test]
fn ec_c6_runs_of_one_task_neither_overlap_nor_race() {
    let stage = ManualPool::new(4);
    assert_eq!(stage.pool.prestart_all(), 4);
    stage.await_parked(4);
    let (clock, inside) = (stage.clock.clone(), Arc::new(AtomicU64::new(0)));
    let (watch, seen) = (Arc::clone(&inside), Journal::new());
    let (noted, mut counter) = (seen.clone(), 0_u64);
    let body = move || {
        assert_eq!(watch.fetch_add(1, Ordering::SeqCst), 0, "two runs overlap");
        // The body takes three periods, so the next firing is always due before it ends.
        clock.advance(ms(3));
        counter += 1;
        let worker = std::thread::current().id();
        noted.note((counter, worker));
        assert_eq!(watch.fetch_sub(1, Ordering::SeqCst), 1, "two runs overlap");
    };
    let handle = stage.pool.schedule_at_fixed_rate(Duration::ZERO, ms(1), body).unwrap();
    seen.await_len(200);
    handle.cancel();
    assert_eq!(handle.state(), TaskState::Cancelled);
    let counts: Vec<u64> = seen.entries().into_iter().map(|(count, _)| count).take(200).collect();
    assert_eq!(counts, (1..=200).collect::<Vec<_>>());
}

#[test]
fn ec_c6_the_state_of_a_body_goes_with_it_from_worker_to_worker() {
    let stage = VirtualPool::new(4);
    stage.pool.prestart_all();
    let counts = Journal::new();
    let (noted, mut counter) = (counts.clone(), 0_u64);
    let body = move || {
        counter += 1;
        noted.note(counter);
    };
    stage.pool.schedule_at_fixed_rate(Duration::ZERO, ms(1), body).unwrap();
    for _ in 0..50 {
        for worker in stage.workers.numbers() {
            let run = match stage.workers.begin(worker) {
                scheduler_core::Begun::Run(run) => run,
                other => panic!("worker {worker} had nothing to run: {other:?}"),
            };
            // While this run is in progress no other worker finds the task, however late it is.
            stage.clock.advance(ms(3));
            for other in stage.workers.numbers().into_iter().filter(|other| *other != worker) {
                let begun = stage.workers.begin(other);
                assert!(matches!(begun, scheduler_core::Begun::Waits(_)), "{begun:?}");
            }
            run.finish();
        }
    }
    assert_eq!(counts.entries(), (1..=200).collect::<Vec<_>>());
}

fn check_failing_in_third_run(rhythm: Rhythm) {
    let stage = ManualPool::new(1);
    let (ran, others) = (Journal::new(), Journal::new());
    let (noted, mut number) = (ran.clone(), 0);
    let body = move || {
        number += 1;
        noted.note(number);
        assert!(number < 3, "the {number}rd run fails");
    };
    let handle = rhythm.submit(&stage.pool, Duration::ZERO, ms(1), body).unwrap();
    let other =
        stage.pool.schedule_at_fixed_rate(Duration::ZERO, ms(1), others.noting(())).unwrap();
    for run in 1..=3 {
        ran.await_len(run);
        others.await_len(run);
        stage.await_parked(1);
        stage.clock.advance(ms(1));
    }
    others.await_len(4);
    let waiter = handle.clone();
    let error = capped(move || waiter.wait()).unwrap_err();
    assert!(error.is_failed(), "{error}");
    let failure = error.failure().unwrap();
    assert_eq!((failure.message(), failure.is_panic()), ("the 3rd run fails", true));
    assert_eq!(handle.state(), TaskState::Failed);
    assert!(!stage.pool.is_queued(&handle));

    stage.await_parked(1);
    stage.clock.advance(ms(10));
    others.await_len(14);
    stage.await_parked(1);
    assert_eq!(ran.entries(), [1, 2, 3], "{rhythm:?}");
    assert!(!other.is_done());
    let stats = stage.pool.stats();
    assert_eq!((stats.queued, stats.pool_size, stats.largest_pool_size), (1, 1, 1));
}

#[test]
fn ec_c7_a_panic_ends_a_periodic_task_and_nothing_else() {
    Rhythm::BOTH.into_iter().for_each(check_failing_in_third_run);
}

#[test]
fn ec_c7_so_does_a_returned_error() {
    let stage = VirtualPool::new(1);
    let mut runs = 0;
    let body = move || {
        runs += 1;
        if runs < 3 { Ok(()) } else { Err("the third run fails") }
    };
    let handle = stage.pool.schedule_at_fixed_rate(Duration::ZERO, ms(1), body).unwrap();
    stage.run_for(ms(10));
    let failure = handle.failure_now().unwrap();
    assert_eq!((failure.message(), failure.is_panic()), ("the third run fails", false));
    assert_eq!((stage.pool.stats().queued, stage.pool.stats().completed), (0, 3));
}

#[test]
fn ec_c8_a_period_of_zero_is_refused_before_anything_happens() {
    for rhythm in Rhythm::BOTH {
        for initial in [Duration::ZERO, ms(1)] {
            let stage = VirtualPool::new(1);
            let error = rhythm
                .submit(&stage.pool, initial, Duration::ZERO, || panic!("must not run"))
                .unwrap_err();
            assert!(error.is_argument(), "{error}");
            let stats = stage.pool.stats();
            assert_eq!((stats.queued, stats.tasks, stats.largest_pool_size), (0, 0, 0));
            assert!(stage.workers.numbers().is_empty());
        }
    }
}

#[test]
fn ec_c8_the_error_says_which_argument_and_what_is_allowed() {
    let stage = VirtualPool::new(1);
    let check = |rhythm: Rhythm, expected: &str| {
        let error = rhythm.submit(&stage.pool, HOUR, Duration::ZERO, || ()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(Rhythm::FixedRate, "invalid period: it must be longer than zero");
    check(Rhythm::FixedDelay, "invalid delay: it must be longer than zero");
}

#[test]
fn ec_c8_the_least_period_is_taken() {
    let stage = VirtualPool::new(1);
    for rhythm in Rhythm::BOTH {
        let ran = Journal::new();
        let handle = rhythm.submit(&stage.pool, Duration::ZERO, NANO, ran.noting(())).unwrap();
        stage.run_for(NANO * 100);
        assert_eq!(ran.len(), 101, "{rhythm:?}");
        handle.cancel();
    }
}

fn check_wait(rhythm: Rhythm, ends: impl Fn(&TaskHandle<()>), expected: fn(&Error) -> bool) {
    let stage = ManualPool::new(1);
    let ran = Journal::new();
    let fails = Arc::new(Mutex::new(false));
    let (noted, failing) = (ran.clone(), Arc::clone(&fails));
    let body = move || {
        noted.note(());
        assert!(!*failing.lock().unwrap(), "asked to fail");
    };
    let handle = rhythm.submit(&stage.pool, Duration::ZERO, ms(1), body).unwrap();
    let waiter = handle.clone();
    let waiting = Pending::start(move || waiter.wait());
    for run in 1..=50 {
        ran.await_len(run);
        stage.await_parked(2);
        assert!(waiting.is_blocked(), "{rhythm:?} after {run} runs");
        stage.clock.advance(ms(1));
    }
    let waiter = handle.clone();
    let timed = Pending::start(move || waiter.wait_for(ms(20)));
    stage.await_parked(3);
    stage.clock.advance(ms(20) - NANO);
    stage.await_parked(3);
    assert!(timed.is_blocked());
    stage.clock.advance(NANO);
    assert!(timed.join().unwrap_err().is_timeout());

    *fails.lock().unwrap() = true;
    ends(&handle);
    stage.clock.advance(ms(1));
    let error = waiting.join().unwrap_err();
    assert!(expected(&error), "{error}");
}

#[test]
fn ec_c9_a_wait_outlasts_any_number_of_runs_until_the_task_is_cancelled() {
    for rhythm in Rhythm::BOTH {
        check_wait(rhythm, |handle| assert!(handle.cancel()), Error::is_cancelled);
    }
}

#[test]
fn ec_c9_a_wait_outlasts_any_number_of_runs_until_the_task_fails() {
    for rhythm in Rhythm::BOTH {
        check_wait(rhythm, |_| (), Error::is_failed);
    }
}

/// A manual clock that counts how often a waiting thread has gone on.
#[derive(Clone)]
struct CountingClock {
    clock: ManualClock,
    wakes: Arc<AtomicU64>,
}

impl fmt::Debug for CountingClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.clock.fmt(f)
    }
}

impl Clock for CountingClock {
    fn now(&self) -> Tick {
        self.clock.now()
    }

    fn wall(&self) -> DateTime<Utc> {
        self.clock.wall()
    }

    fn wait(&self, gate: &Arc<EventCount>, seen: Epoch, until: Option<Tick>) {
        self.clock.wait(gate, seen, until);
        self.wakes.fetch_add(1, Ordering::SeqCst);
    }
}

/// The number of wake-ups of 100 waiting workers for 1000 firings of one task. The same on the system's clock,
/// with the time that it takes, is in `contract/real_clock.rs`.
fn check_wakes(prestart_first: bool) {
    let clock = CountingClock { clock: ManualClock::new(), wakes: Arc::default() };
    let builder = ScheduledThreadPool::builder().core_size(100).clock(Arc::new(clock.clone()));
    let pool = builder.build().unwrap();
    if prestart_first {
        assert_eq!(pool.prestart_all(), 100);
        eventually("all workers rest", || clock.clock.parked() == 100);
    }
    let ran = Journal::new();
    pool.schedule_at_fixed_rate(ms(10), ms(10), ran.noting(())).unwrap();
    pool.prestart_all();
    for run in 1..=1000 {
        eventually("all workers rest", || clock.clock.parked() == 100);
        clock.clock.advance(ms(10));
        ran.await_len(run);
    }
    // One worker for each firing, and at most one more where the lead changes hands.
    let wakes = clock.wakes.load(Ordering::SeqCst);
    assert!(wakes <= 2 * 1000 + 1, "{wakes} wake-ups for 1000 firings");
}

#[test]
fn ec_c10_waiting_workers_do_not_all_wake_for_each_firing() {
    check_wakes(true);
}

#[test]
fn ec_c10_nor_do_those_that_come_when_the_task_is_waiting_already() {
    check_wakes(false);
}
