//! Random scenarios on the real clock and in a simulation: the same runs start and end, and the same fire times are
//! skipped.
//!
//! A scenario is one task with a rule, policies, the lengths and outcomes of its attempts, and commands. All its times are
//! in units, and no two things happen within one unit. A slow moment of the machine may still exchange two of them, so a
//! scenario that differs is repeated with a longer unit; a difference that is there with the longest is a fault.
//!
//! `TEST_SCENARIOS=1500 cargo test -p tests --test facade as_simulated -- --nocapture` is the deep tier;
//! `SCHEDULER_SCENARIO_FIRST` is the first seed.
#![expect(clippy::print_stderr, reason = "how many were repeated is a figure of the deep tier")]
#![expect(clippy::disallowed_methods, reason = "the commands come by the system's clock")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::random::Random;
use chrono::{DateTime, Utc};
use scheduler::testing::Sim;
use scheduler::{
    Event, EventKind, Misfire, OnError, Overlap, Run, Schedule, Scheduler, TaskControl, tasks,
};

/// The period of each rule, in units. Everything else happens at other instants: attempts end a few units after a
/// multiple, and commands come at [`COMMANDS_AT`].
const PERIOD: u32 = 32;
const COMMANDS_AT: u32 = 24;
/// How many periods a scenario lasts.
const PERIODS: u32 = 9;
/// The units that are tried, one after the other.
const UNITS: [Duration; 4] = [
    Duration::from_millis(3),
    Duration::from_millis(8),
    Duration::from_millis(20),
    Duration::from_millis(50),
];
/// How many units an instant may differ: the lateness of several runs adds up.
const TOLERANCE: u64 = 8;
/// How many scenarios run at once; nearly all of their time they wait.
const AT_ONCE: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    Rate,
    Delay,
    Once,
}

#[derive(Clone, Copy, Debug)]
enum Command {
    Pause,
    Resume,
    RunNow,
    CancelRun,
}

/// How an attempt goes.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    units: u32,
    fails: bool,
}

#[derive(Clone, Debug)]
struct Scenario {
    rule: Rule,
    overlap: Overlap,
    misfire: Misfire,
    on_error: OnError,
    max_concurrent: Option<u32>,
    max_runs: Option<u64>,
    timeout: Option<u32>,
    retries: u32,
    is_async: bool,
    /// Of one attempt after the other, and again from the first.
    attempts: Vec<Attempt>,
    /// One at most after each fire time.
    commands: BTreeMap<u32, Command>,
}

impl Scenario {
    fn draw(seed: u64) -> Self {
        let mut random = Random(seed);
        let random = &mut random;
        let rule = random.pick(&[Rule::Rate, Rule::Rate, Rule::Rate, Rule::Delay, Rule::Once]);
        let overlap = random.pick(&[Overlap::Skip, Overlap::QueueOne, Overlap::Allow]);
        let are_beside = rule == Rule::Rate && overlap == Overlap::Allow;
        let attempts = (0..16).map(|number| Attempt {
            // Runs beside each other end at different instants, runs that follow each other not too far from the period.
            units: random.pick(&[0, 0, 1, 1, 2, 4]) * PERIOD
                + if are_beside { 1 + number % 8 * 2 } else { 1 },
            fails: random.below(4) == 0,
        });
        let attempts = attempts.collect();
        let is_async = random.below(2) == 0;
        let commands: &[Command] = match rule {
            // One of them at most: a delay that begins at a command would be over at another one.
            Rule::Delay => &[Command::RunNow],
            _ if are_beside => &[Command::Pause, Command::Resume],
            _ if is_async => {
                &[Command::Pause, Command::Resume, Command::RunNow, Command::CancelRun]
            }
            // In a simulation the body of a plain task is over before another command can come.
            _ => &[Command::Pause, Command::Resume, Command::RunNow],
        };
        let drawn = (0..PERIODS - 1).map(|period| (period, random.below(4), random.pick(commands)));
        let at_most = if rule == Rule::Delay { 1 } else { usize::MAX };
        let drawn = drawn.filter(|&(_, is_given, _)| is_given == 0).take(at_most);
        let commands = drawn.map(|(period, _, command)| (period, command)).collect();
        Self {
            rule,
            overlap,
            misfire: random.pick(&[Misfire::RunOnce, Misfire::Skip, Misfire::CatchUp]),
            on_error: random.pick(&[OnError::Continue, OnError::Continue, OnError::Stop]),
            max_concurrent: random.pick(&[None, Some(2)]),
            max_runs: random.pick(&[None, None, Some(3)]),
            // On the real clock a time limit also fires beside a plain function, and skips may be reported then.
            timeout: random.pick(&[None, None, is_async.then_some(PERIOD + 2)]),
            retries: if are_beside { 0 } else { random.pick(&[0, 0, 2]) },
            is_async,
            attempts,
            commands,
        }
    }

    fn schedule(&self, unit: Duration) -> Schedule {
        let period = unit * PERIOD;
        let mut schedule = match self.rule {
            Rule::Rate => Schedule::fixed_rate(period).initial_delay(period),
            Rule::Delay => Schedule::fixed_delay(period).initial_delay(period),
            Rule::Once => Schedule::once(period),
        };
        if self.rule == Rule::Rate {
            schedule = schedule.overlap(self.overlap).misfire(self.misfire);
            let limit = self.max_concurrent.filter(|_| self.overlap == Overlap::Allow);
            schedule = limit.into_iter().fold(schedule, Schedule::max_concurrent);
        }
        if self.rule != Rule::Once {
            schedule = schedule.on_error(self.on_error);
            schedule = self.max_runs.into_iter().fold(schedule, Schedule::max_runs);
        }
        let timeout = self.timeout.map(|units| unit * units);
        schedule = timeout.into_iter().fold(schedule, Schedule::timeout);
        schedule.retry(self.retries, "1us", "1us")
    }

    /// The next attempt that starts.
    fn attempt(&self, started: &AtomicU64) -> Attempt {
        let number = started.fetch_add(1, Ordering::Relaxed);
        self.attempts[usize::try_from(number).expect("a number") % self.attempts.len()]
    }
}

fn command(control: &TaskControl, command: Command) {
    // What a task is too late for is refused, in both worlds alike.
    let _ = match command {
        Command::Pause => control.pause(),
        Command::Resume => control.resume(),
        Command::RunNow => control.run_now().map(drop),
        Command::CancelRun => control.cancel_run(),
    };
}

/// The body of a plain task.
fn work(scenario: Arc<Scenario>, unit: Duration) -> impl Fn(&Run) -> Result<(), String> {
    let started = AtomicU64::new(0);
    move |run| {
        let attempt = scenario.attempt(&started);
        run.sleep(unit * attempt.units).map_err(|stopped| stopped.to_string())?;
        if attempt.fails { Err("as drawn".to_owned()) } else { Ok(()) }
    }
}

/// The body of an async task.
fn work_async(
    scenario: Arc<Scenario>,
    unit: Duration,
) -> impl Fn(Run) -> std::pin::Pin<Box<dyn Future<Output = Result<(), String>> + Send>> {
    let started = AtomicU64::new(0);
    move |run| {
        let attempt = scenario.attempt(&started);
        Box::pin(async move {
            run.sleep_async(unit * attempt.units).await;
            if attempt.fails { Err("as drawn".to_owned()) } else { Ok(()) }
        })
    }
}

fn simulated(scenario: &Arc<Scenario>, unit: Duration) -> Vec<Step> {
    let sim = Sim::at("2026-06-01T00:00:00Z").pool_size(8);
    let schedule = scenario.schedule(unit);
    let mut sim = if scenario.is_async {
        sim.define_async("work", schedule, work_async(Arc::clone(scenario), unit))
    } else {
        sim.define("work", schedule, work(Arc::clone(scenario), unit))
    };
    let first = sim.next("work").instant();
    for (&period, &next) in &scenario.commands {
        sim.advance_to(first + unit * (period * PERIOD + COMMANDS_AT));
        command(&sim.control("work"), next);
    }
    sim.advance_to(first + unit * (PERIODS * PERIOD));
    trace(&sim.events(), first, unit)
}

fn on_the_real_clock(scenario: &Arc<Scenario>, unit: Duration) -> Vec<Step> {
    let events = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&events);
    let builder = Scheduler::builder()
        .tasks(tasks![])
        .environment([("HOME", "/")])
        .messages(|_| {})
        .pool_size(8)
        .listener(move |event: &Event| {
            heard.lock().unwrap_or_else(PoisonError::into_inner).push(event.clone());
        });
    let schedule = scenario.schedule(unit);
    let builder = if scenario.is_async {
        builder.task_async("work", schedule, work_async(Arc::clone(scenario), unit))
    } else {
        builder.task("work", schedule, work(Arc::clone(scenario), unit))
    };
    let scheduler = builder.spawn().expect("a valid scenario");
    let control = scheduler.tasks().get("work").expect("the task");
    let Some(first) = control.snapshot().next else { return Vec::new() };
    let ahead = (first - Utc::now()).to_std().unwrap_or_default();
    let begun = Instant::now() + ahead;
    let sleep_until = |units: u32| {
        thread::sleep((begun + unit * units).saturating_duration_since(Instant::now()));
    };
    for (&period, &next) in &scenario.commands {
        sleep_until(period * PERIOD + COMMANDS_AT);
        command(&control, next);
    }
    sleep_until(PERIODS * PERIOD);
    let _ = control.cancel();
    let _ = control.cancel_run();
    let _ = scheduler.shutdown();
    let events = events.lock().unwrap_or_else(PoisonError::into_inner);
    trace(&events, first, unit)
}

/// Something that happened, and its instants in units since the first fire time.
#[derive(Debug)]
struct Step {
    what: String,
    at: [i64; 2],
}

impl Step {
    fn is_like(&self, other: &Self) -> bool {
        let is_near = |(mine, others): (i64, i64)| mine.abs_diff(others) <= TOLERANCE;
        self.what == other.what && self.at.into_iter().zip(other.at).all(is_near)
    }
}

/// What happened until three quarters after the last fire time; and what was skipped, by reason.
fn trace(events: &[Event], first: DateTime<Utc>, unit: Duration) -> Vec<Step> {
    let units = |at: DateTime<Utc>| {
        let micros = (at - first).num_microseconds().expect("a short scenario");
        let unit = i64::try_from(unit.as_micros()).expect("a short unit");
        (micros + unit / 2).div_euclid(unit)
    };
    let (mut trace, mut skipped) = (Vec::new(), BTreeMap::new());
    let end = i64::from((PERIODS - 1) * PERIOD + COMMANDS_AT);
    for event in events.iter().filter(|event| units(event.at) < end) {
        let at = units(event.at);
        let mut push = |what: String, also: i64| trace.push(Step { what, at: [at, also] });
        match &event.kind {
            EventKind::RunStarted { run, .. } => {
                let what = format!("run {}.{} starts: {:?}", run.number, run.attempt, run.cause);
                push(what, units(run.fire_time));
            }
            EventKind::AttemptFailed { run, .. } => {
                push(format!("run {}.{} failed", run.number, run.attempt), at);
            }
            EventKind::RunFinished { run, outcome, streak, .. } => {
                let (number, attempt, name) = (run.number, run.attempt, outcome.name());
                push(format!("run {number}.{attempt} ends: {name}, {streak} in a row"), at);
            }
            EventKind::Skipped { reason, first, last, count, .. } => {
                let (first, last) = (units(*first), units(*last));
                let sum = skipped.entry(reason.name()).or_insert((first, last, 0));
                *sum = (sum.0.min(first), sum.1.max(last), sum.2 + count);
            }
            EventKind::TaskEnded { state, .. } => push(state.name().to_owned(), at),
            EventKind::Paused { .. } => push("paused".to_owned(), at),
            EventKind::Resumed { .. } => push("resumed".to_owned(), at),
            _ => {}
        }
    }
    let skipped = skipped.into_iter().map(|(why, (first, last, count))| Step {
        what: format!("{count} skipped: {why}"),
        at: [first, last],
    });
    trace.extend(skipped);
    trace
}

/// Runs a scenario with longer and longer units until both traces are equal. Returns the number of repetitions.
fn compare(seed: u64) -> Result<usize, String> {
    let scenario = Arc::new(Scenario::draw(seed));
    let mut fault = String::new();
    for (repetitions, unit) in UNITS.into_iter().enumerate() {
        let (simulated, real) = (simulated(&scenario, unit), on_the_real_clock(&scenario, unit));
        let pairs = || simulated.iter().zip(&real);
        if simulated.len() == real.len() && pairs().all(|(simulated, real)| simulated.is_like(real))
        {
            return Ok(repetitions);
        }
        fault = format!("seed {seed}: {scenario:?}\nsimulated: {simulated:#?}\nreal: {real:#?}");
    }
    Err(fault)
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn as_simulated_so_on_the_real_clock() {
    let count = number("TEST_SCENARIOS", 64);
    let first = number("SCHEDULER_SCENARIO_FIRST", 0);
    let next = AtomicU64::new(first);
    let repeated = AtomicU64::new(0);
    let faults = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + count {
                        return;
                    }
                    match compare(seed) {
                        Ok(0) => {}
                        Ok(_) => _ = repeated.fetch_add(1, Ordering::Relaxed),
                        Err(fault) => {
                            faults.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
                        }
                    }
                }
            });
        }
    });
    eprintln!("{count} scenarios, {} of them repeated", repeated.into_inner());
    let faults = faults.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert!(faults.is_empty(), "{} differ\n{}", faults.len(), faults.join("\n\n"));
}

/// A comparison that finds nothing would prove nothing: another policy is another trace.
#[test]
fn scenarios_with_another_policy_differ() {
    let differing = (0..100).filter(|&seed| {
        let scenario = Arc::new(Scenario::draw(seed));
        let mut other = Scenario::clone(&scenario);
        other.overlap = if other.overlap == Overlap::Skip { Overlap::Allow } else { Overlap::Skip };
        let (one, other) = (simulated(&scenario, UNITS[0]), simulated(&Arc::new(other), UNITS[0]));
        one.len() != other.len() || one.iter().zip(&other).any(|(one, other)| !one.is_like(other))
    });
    let differing = differing.count();
    assert!(differing >= 25, "{differing} of 100");
}
