//! The whole scheduler by the system's clock, for `TEST_SOAK_SECONDS`.
//!
//! There are 10⁴ fire times a second, beside threads that add, reschedule and remove tasks, and pools that are shut down in
//! the middle of everything. Nothing is lost, doubled or early, and memory, threads and descriptors stay.
//!
//! `TEST_SOAK_SECONDS=1800 cargo test -p tests --release --test soak_real_clock -- --nocapture`
#![cfg(target_os = "linux")]
#![expect(clippy::print_stderr, reason = "the test prints figures")]

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64};
use std::sync::{Arc, RwLock, mpsc};
use std::time::Duration;
use std::{fs, thread};

use scheduler::engine::{Clock, ScheduledThreadPool, SystemClock, Tick};
use scheduler::{Counters, Run, Schedule, Scheduler, Tasks};

/// Plain tasks and async ones, each with its period: 5,000 fire times a second of each kind.
const KINDS: [(u64, u64, bool); 2] = [(50, 10, false), (10, 2, true)];

/// The counts of one task by its runs.
#[derive(Default)]
struct Seen {
    runs: AtomicU64,
    first_fire: AtomicI64,
    last_fire: AtomicI64,
    faults: AtomicU64,
}

impl Seen {
    fn look(&self, run: &Run, period: Duration) {
        let fire = run.fire_time().timestamp_nanos_opt().expect("this age");
        let last = self.last_fire.swap(fire, SeqCst);
        let is_first = self.runs.fetch_add(1, SeqCst) == 0;
        if is_first {
            self.first_fire.store(fire, SeqCst);
        }
        // The wall clock, by which fire times are reported, may be slewed by a little.
        let distance = (fire - last).unsigned_abs();
        let is_twice = !is_first && (fire <= last || u128::from(distance) < period.as_nanos() / 2);
        let is_early = run.started_at() < run.due();
        self.faults.fetch_add(u64::from(is_twice || is_early), SeqCst);
    }

    /// From the first run to the last one, each fire time ran or was reported as skipped.
    fn check(&self, name: &str, period: Duration, counters: &Counters) {
        assert_eq!(self.faults.load(SeqCst), 0, "`{name}` ran early or twice");
        assert_eq!(self.runs.load(SeqCst), counters.runs, "`{name}`: runs that are counted");
        let span = self.last_fire.load(SeqCst) - self.first_fire.load(SeqCst);
        let fires = u128::from(span.unsigned_abs()) / period.as_nanos() + 1;
        let decided = u128::from(counters.runs + counters.skipped());
        // Wall times are rounded, and the last fire times of all may be skipped as others come.
        assert!(fires <= decided + 1 && decided <= fires + 2, "`{name}`: {decided} of {fires}");
        assert!(counters.skipped() * 100 < counters.runs, "`{name}`: {counters:?}");
    }
}

#[derive(Clone, Copy, Debug)]
struct Usage {
    kib: u64,
    threads: u64,
    descriptors: usize,
}

impl Usage {
    fn now() -> Self {
        let text = fs::read_to_string("/proc/self/status").expect("a Linux system");
        let number = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)).expect(key);
            line.split_whitespace().next().and_then(|number| number.parse().ok()).expect(key)
        };
        let descriptors = fs::read_dir("/proc/self/fd").expect("a Linux system").count();
        Self { kib: number("VmRSS:"), threads: number("Threads:"), descriptors }
    }
}

/// Adds tasks, has them do this and that, and removes them.
fn churn(tasks: &Tasks, round: u64) {
    let name = format!("churn-{}", round % 5);
    let Ok(task) = tasks.add(&name, Schedule::fixed_rate("1ms"), |_| {}) else { return };
    drop(task.run_now());
    drop(task.reschedule(Schedule::fixed_delay("1ms")));
    drop(task.pause());
    drop(task.resume());
    drop(task.cancel_run());
    if round.is_multiple_of(2) {
        drop(task.cancel());
    }
    tasks.remove(&name).expect("it is there");
}

/// Shuts a pool down while two threads submit to it: what it has accepted runs or is given back, once.
fn race() {
    let pool = ScheduledThreadPool::new(2);
    let (ran, accepted, cancelled) = <(Arc<AtomicU64>, AtomicU64, AtomicU64)>::default();
    let drained = thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for number in 0..200 {
                    let ran = Arc::clone(&ran);
                    let body = move || ran.fetch_add(1, SeqCst);
                    let delay = Duration::from_micros(number % 7 * 50);
                    let Ok(handle) = pool.schedule(delay, body) else { break };
                    accepted.fetch_add(1, SeqCst);
                    if number % 5 == 0 && handle.cancel() {
                        cancelled.fetch_add(1, SeqCst);
                    }
                }
            });
        }
        thread::yield_now();
        pool.shutdown_now().len() as u64
    });
    assert!(pool.await_termination(Duration::from_secs(60)), "the pool ends");
    // One that was cancelled as its body began has run, too.
    let (ran, accepted, cancelled) =
        (ran.load(SeqCst), accepted.into_inner(), cancelled.into_inner());
    assert!(ran + drained <= accepted, "{ran} ran, {drained} given back, {accepted} accepted");
    assert!(ran + drained + cancelled >= accepted, "{ran}, {drained}, {cancelled}, {accepted}");
}

/// One of 10⁴ fire times a second belongs to each.
fn scheduler(seen: &mut Vec<(String, Duration, Arc<Seen>)>) -> Scheduler {
    let mut builder = Scheduler::builder().pool_size(2).zone("Europe/Berlin").messages(|_| {});
    for (count, millis, is_async) in KINDS {
        let period = Duration::from_millis(millis);
        for number in 0..count {
            let name = format!("every-{millis}ms-{number}");
            let watch = Arc::new(Seen::default());
            seen.push((name.clone(), period, Arc::clone(&watch)));
            let schedule =
                Schedule::fixed_rate(period).set(scheduler::Attribute::Misfire, "catch_up");
            builder = if is_async {
                builder.task_async(&name, schedule, move |run| {
                    watch.look(&run, period);
                    std::future::ready(())
                })
            } else {
                builder.task(&name, schedule, move |run| watch.look(run, period))
            };
        }
    }
    let cron = Schedule::cron("* * * * * *");
    builder.task("every second", cron, |_| {}).spawn().expect("it starts")
}

#[test]
fn ten_thousand_fire_times_a_second_leave_no_trace() {
    let seconds = std::env::var("TEST_SOAK_SECONDS").map_or(20, |text| text.parse().unwrap());
    let (clock, mut seen) = (SystemClock::new(), Vec::new());
    let scheduler = scheduler(&mut seen);
    let (is_over, quiet) = (AtomicBool::new(false), RwLock::new(()));
    let (churned, raced) = (AtomicU64::new(0), AtomicU64::new(0));
    let tasks = scheduler.tasks();
    let (begin, end) = thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(SeqCst) {
                let _stays = quiet.read().unwrap();
                churn(&tasks, churned.fetch_add(1, SeqCst));
                rest(Duration::from_millis(2));
            }
        });
        scope.spawn(|| {
            while !is_over.load(SeqCst) {
                let _stays = quiet.read().unwrap();
                race();
                raced.fetch_add(1, SeqCst);
                rest(Duration::from_millis(20));
            }
        });
        let sample = || {
            let _alone = quiet.write().unwrap();
            Usage::now()
        };
        let mut usages = Vec::new();
        while clock.now().since(Tick::ZERO) < Duration::from_secs(seconds) {
            rest(Duration::from_secs((seconds / 10).max(1)));
            usages.push(sample());
            eprintln!("{:?}: {:?}", clock.now().since(Tick::ZERO), usages.last());
        }
        is_over.store(true, SeqCst);
        (usages[usages.len() / 3], usages[usages.len() - 1])
    });
    let end_of_all = clock.now().since(Tick::ZERO);
    // The counters stay equal to the counts of the bodies.
    let named = |name: &str| tasks.get(name).expect("it is there");
    seen.iter().for_each(|(name, ..)| named(name).pause().expect("it is not paused"));
    while seen.iter().any(|(name, ..)| named(name).snapshot().running > 0) {
        rest(Duration::from_millis(10));
    }
    let (mut runs, mut skips) = (0, 0);
    for (name, period, seen) in &seen {
        let counters = named(name).snapshot().counters;
        seen.check(name, *period, &counters);
        let fires = end_of_all.as_millis() / period.as_millis();
        // The clock began before the scheduler, and what waits for a worker at the end is called off.
        let seconds_late = 5_000 / period.as_millis();
        let decided = u128::from(counters.runs + counters.skipped());
        assert!(decided + seconds_late > fires, "`{name}` falls behind: {decided} of {fires}");
        (runs, skips) = (runs + counters.runs, skips + counters.skipped());
    }
    scheduler.shutdown().expect("it stops");
    let (churned, raced) = (churned.into_inner(), raced.into_inner());
    let per_second = u128::from(runs) * 1_000 / end_of_all.as_millis().max(1);
    eprintln!(
        "{runs} runs in {end_of_all:?}, {per_second} a second, {skips} skipped; {churned} tasks added and \
         removed, {raced} pools shut down; from {begin:?} to {end:?}"
    );
    assert_eq!((begin.threads, begin.descriptors), (end.threads, end.descriptors));
    assert!(end.kib < begin.kib + 1_024, "memory grows from {begin:?} to {end:?}");
}

/// Lets real time pass.
fn rest(length: Duration) {
    let (_nobody, never) = mpsc::channel::<()>();
    assert!(never.recv_timeout(length).is_err());
}
