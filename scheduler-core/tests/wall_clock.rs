//! Cron timers under a wall clock that is set, or after suspension.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use scheduler_core::trigger::{CronTrigger, Zone};
use scheduler_core::{
    Clock, Due, Fired, ManualClock, Now, Run, ScheduledThreadPool, Stepped, Tick, Timer,
    VirtualWorkers,
};

use crate::kit::{WallTask, on_wall};
use crate::timers::{arm, probe_with};

/// No wait for the wall clock is longer than this without a look at it.
const LOOK: Duration = Duration::from_millis(500);

/// A pool on a clock moved by hand, and the runs of its tasks: when meant, when started.
struct Fixture {
    clock: ManualClock,
    workers: VirtualWorkers,
    pool: ScheduledThreadPool,
    /// The end of each worker's rest, if nothing wakes it before.
    rests: RefCell<BTreeMap<u64, Option<Tick>>>,
}

type Runs = Arc<Mutex<Vec<(DateTime<Utc>, DateTime<Utc>)>>>;

impl Fixture {
    fn at(wall: &str) -> Self {
        let (clock, workers) = (ManualClock::at(instant(wall)), VirtualWorkers::new());
        let builder = ScheduledThreadPool::builder().core_size(2).clock(Arc::new(clock.clone()));
        let pool = builder.virtual_workers(&workers).build().unwrap();
        Self { clock, workers, pool, rests: RefCell::default() }
    }

    /// Arms a timer for the next fire time, again and again.
    fn cron(&self, expression: &str) -> (Runs, Arc<Timer<WallTask>>) {
        let runs = Runs::default();
        let noted = Arc::clone(&runs);
        let trigger = CronTrigger::new(expression.parse().unwrap(), Zone::UTC);
        let body = move || {
            let run = Run::current().unwrap();
            noted.lock().unwrap().push((run.fire_time(), run.started_at()));
        };
        // Missed fire times are skipped.
        let next = move |now: DateTime<Utc>, last: Option<DateTime<Utc>>| {
            trigger.next_after(last.map_or(now, |last| last.max(now)))
        };
        let timer = on_wall(&self.pool, &self.clock, next, body);
        self.settle();
        (runs, timer)
    }

    /// A body that notes when it runs, by the monotonic clock.
    fn noting(&self, ticks: &Ticks) -> impl Fn() + Send + Sync + 'static {
        let (clock, ticks) = (self.clock.clone(), Arc::clone(ticks));
        move || ticks.lock().unwrap().push(clock.now().since(Tick::ZERO))
    }

    /// Steps the workers that were woken or whose rest is over, and holds that the rest of all has a bound.
    fn settle(&self) {
        let mut rests = self.rests.borrow_mut();
        let is_up = |worker: &u64, rests: &BTreeMap<u64, Option<Tick>>| match rests.get(worker) {
            Some(Some(until)) if *until <= self.clock.now() => true,
            Some(_) => self.workers.is_woken(*worker),
            None => true,
        };
        while let Some(worker) =
            self.workers.numbers().into_iter().find(|worker| is_up(worker, &rests))
        {
            rests.remove(&worker);
            if let Stepped::Waits(until) = self.workers.step(worker) {
                rests.insert(worker, until);
            }
        }
        rests.retain(|worker, _| self.workers.numbers().contains(worker));
        if !self.pool.is_terminated() {
            let next = rests.values().flatten().min().expect("a worker looks again");
            assert!(*next <= self.clock.now() + LOOK, "the next look is at {next:?}");
        }
    }

    /// When the first of the resting workers looks again, by itself.
    fn next_look(&self) -> Option<Tick> {
        self.rests.borrow().values().flatten().min().copied()
    }

    /// Lets time pass. Workers take a step when their rest is over, and not before: as in a machine,
    /// nothing tells them that the wall clock was set.
    fn pass_millis(&self, millis: u64) {
        let end = self.clock.now() + Duration::from_millis(millis);
        while let Some(next) = self.next_look().filter(|next| *next <= end) {
            self.clock.advance_to(next);
            self.settle();
        }
        self.clock.advance_to(end);
    }

    fn pass(&self, seconds: u64) {
        self.pass_millis(seconds * 1_000);
    }
}

/// When a task ran, by the monotonic clock.
type Ticks = Arc<Mutex<Vec<Duration>>>;

fn instant(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

fn fire_times(runs: &Runs) -> Vec<DateTime<Utc>> {
    runs.lock().unwrap().iter().map(|(fire_time, _)| *fire_time).collect()
}

#[track_caller]
fn check(runs: &Runs, expected: &[&str]) {
    let found: Vec<String> =
        fire_times(runs).iter().map(|time| time.format("%d %H:%M:%S").to_string()).collect();
    assert_eq!(found, expected);
}

/// Fault row F-TI2.
#[test]
fn f_ti2_a_stepped_wall_clock_moves_cron_and_leaves_rates_alone() {
    let fixture = Fixture::at("2026-01-01T12:00:00.5Z");
    let (every_second, _) = fixture.cron("* * * * * *");
    let (rate, delay) = (Ticks::default(), Ticks::default());
    let second = Duration::from_secs(1);
    fixture.pool.schedule_at_fixed_rate(Duration::ZERO, second, fixture.noting(&rate)).unwrap();
    fixture.pool.schedule_with_fixed_delay(Duration::ZERO, second, fixture.noting(&delay)).unwrap();
    fixture.settle();

    fixture.pass(20);
    assert_eq!(every_second.lock().unwrap().len(), 20);
    fixture.clock.step_wall(TimeDelta::hours(1));
    fixture.pass(20);
    let runs = every_second.lock().unwrap().len();
    assert!((40..=41).contains(&runs), "one run makes up for the skipped hour, not {runs}");
    fixture.clock.step_wall(TimeDelta::hours(-2));
    fixture.pass(20);
    let times = fire_times(&every_second);
    assert!(times.len() >= 59, "it is not silent after the step back: {}", times.len());
    let unmoved: Vec<Duration> = (0..=60).map(Duration::from_secs).collect();
    assert_eq!(*rate.lock().unwrap(), unmoved);
    assert_eq!(*delay.lock().unwrap(), unmoved);

    let mut sorted = times.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(sorted.len(), times.len(), "no second fires twice");

    // A step for each run, one for each look at the wall clock, and some to wake each other.
    let (runs, looks) = (times.len() as u64 + 2 * 61, 2 * 60);
    let steps = fixture.workers.steps();
    assert!(steps <= 2 * (runs + looks), "{steps} steps for {runs} runs: something spins");
}

#[test]
fn a_clock_that_was_years_ahead_does_not_silence_a_daily_task() {
    let fixture = Fixture::at("2036-05-05T08:59:59Z");
    let (runs, _) = fixture.cron("0 0 9 * * *");
    fixture.pass(2);
    fixture.clock.step_wall(instant("2026-01-01T08:59:50Z") - fixture.clock.wall());
    fixture.pass(15);
    check(&runs, &["05 09:00:00", "01 09:00:00"]);
    assert_eq!(fire_times(&runs)[1], instant("2026-01-01T09:00:00Z"));
}

#[test]
fn after_a_step_the_task_is_at_its_new_right_instant_within_a_second() {
    let fixture = Fixture::at("2026-01-01T06:00:00Z");
    let (runs, _) = fixture.cron("0 0 9 * * *");
    fixture.pass(3);
    fixture.clock.step_wall(TimeDelta::hours(4));
    fixture.pass(1);
    let (fire_time, started) = runs.lock().unwrap()[0];
    assert_eq!(fire_time, instant("2026-01-01T09:00:00Z"));
    assert!(started <= instant("2026-01-01T10:00:04Z"), "within a second: {started}");
}

/// Fault row F-TI3.
#[test]
fn f_ti3_a_suspended_machine_runs_what_it_missed_once_and_does_not_burst() {
    let fixture = Fixture::at("2026-01-01T23:00:00Z");
    let (nightly, _) = fixture.cron("0 0 3 * * *");
    let (later, rate) = (Ticks::default(), Ticks::default());
    fixture.pool.schedule(Duration::from_secs(36_000), fixture.noting(&later)).unwrap();
    let minute = Duration::from_secs(60);
    fixture.pool.schedule_at_fixed_rate(minute, minute, fixture.noting(&rate)).unwrap();
    fixture.settle();
    fixture.pass_millis(1_100);
    fixture.clock.suspend(Duration::from_secs(8 * 3_600));
    let awake = fixture.clock.wall();
    fixture.pass(1);
    check(&nightly, &["02 03:00:00"]);
    let started = nightly.lock().unwrap()[0].1;
    let late = (started - awake).to_std().expect("it cannot run before the machine is awake");
    assert!(late <= LOOK, "found {late:?} after waking");

    fixture.pass(36_000);
    assert_eq!(nightly.lock().unwrap().len(), 1);
    // The monotonic clock stood still, so tasks that go by it have missed nothing and make up for nothing.
    let minutes: Vec<Duration> = (1..=600).map(|n| minute * n).collect();
    assert_eq!(*rate.lock().unwrap(), minutes);
    assert_eq!(*later.lock().unwrap(), [Duration::from_secs(36_000)]);
}

#[test]
fn a_timer_that_is_disarmed_stays_so_through_a_step() {
    let fixture = Fixture::at("2026-01-01T12:00:00.5Z");
    let (runs, timer) = fixture.cron("* * * * * *");
    fixture.pass(2);
    fixture.clock.step_wall(TimeDelta::hours(-1));
    fixture.pass(2);
    let before = runs.lock().unwrap().len();
    timer.disarm().perform();
    fixture.clock.step_wall(TimeDelta::hours(-1));
    fixture.clock.advance(LOOK);
    fixture.pool.shutdown();
    fixture.settle();
    assert!(fixture.pool.is_terminated());
    fixture.pass(2);
    assert_eq!((runs.lock().unwrap().len(), timer.due()), (before, None));
}

#[test]
fn a_pool_does_not_terminate_before_a_timer_is_told_of_the_clock() {
    let Fixture { clock, workers, pool, .. } = Fixture::at("2026-01-01T00:00:00Z");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut probe = probe_with(|_, _| Fired::NothingToFinish);
    probe.on_set_back = {
        let (workers, pool, seen) = (workers.clone(), pool.clone(), Arc::clone(&seen));
        Box::new(move |_, _| {
            drop(pool.shutdown_now());
            let other = workers.step(2);
            seen.lock().unwrap().push((other, pool.is_terminated()));
        })
    };
    let timer = pool.timer("meddler", probe);
    arm(&timer, &clock, Due::Wall(Now::read(&clock).wall + Duration::from_secs(100)));
    assert!(pool.prestart());
    workers.run_until_idle();
    pool.set_core_size(1);
    workers.run_until_idle();
    // One worker is to leave now, and is the one that notices the clock set back.
    clock.advance(pool.keep_alive());
    clock.step_wall(TimeDelta::seconds(-2));
    workers.run_until_idle();
    assert_eq!(*seen.lock().unwrap(), [(Stepped::Left, false)]);
    assert_eq!((timer.due(), pool.is_terminated()), (None, true));
}
