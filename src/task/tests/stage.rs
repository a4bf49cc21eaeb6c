//! A stage for tests: one pool, virtual time, and a readable log.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use scheduler_core::trigger::{CronTrigger, Zone};
use scheduler_core::{
    Begun, Clock, ManualClock, ScheduledThreadPool, Tick, VirtualRun, VirtualWorkers,
};

use crate::base::sync::Mutex;
use crate::observe::{Bus, BusBuilder, Event, EventKind, RuleKind, TaskFacts};
pub(super) use crate::run::Pause;
use crate::run::inject::Call;
use crate::run::{Cause, Run, TaskError, TaskResult};
use crate::task::{Control, Gates, NotBegun, OnEnd, Policy, Rule, TaskEnv, TaskSpec};

/// When the stage's clock begins; a whole hour.
pub(super) const START: &str = "2026-03-02T00:00:00Z";

pub(super) fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

pub(super) fn s(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// The length and the result of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Goes {
    pub(super) takes: Duration,
    pub(super) fails: bool,
}

pub(super) const fn ok(takes_ms: u64) -> Goes {
    Goes { takes: Duration::from_millis(takes_ms), fails: false }
}

pub(super) const fn fails(takes_ms: u64) -> Goes {
    Goes { takes: Duration::from_millis(takes_ms), fails: true }
}

pub(super) struct Stage {
    pub(super) clock: ManualClock,
    pub(super) pool: Arc<ScheduledThreadPool>,
    pub(super) log: Arc<Log>,
    /// The number of steps that workers have begun.
    pub(super) firings: u64,
    /// True if there is a listener.
    pub(super) is_heard: bool,
    virtual_workers: VirtualWorkers,
    /// The length of the body that was called last.
    called: Arc<Mutex<Option<Duration>>>,
    in_progress: BTreeMap<u64, (Tick, VirtualRun)>,
}

/// The events, each with its time in seconds.
#[derive(Default)]
pub(super) struct Log {
    lines: Mutex<Vec<String>>,
    pub(super) events: Mutex<Vec<Event>>,
}

/// A task and its surroundings.
pub(super) struct Parts {
    pub(super) spec: TaskSpec,
    pub(super) pool: Arc<ScheduledThreadPool>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) bus: Arc<Bus>,
    pub(super) gates: Arc<Gates>,
    pub(super) on_end: Option<Arc<OnEnd>>,
}

impl Parts {
    pub(super) fn make(self) -> Control {
        let Self { spec, pool, clock, bus, gates, on_end } = self;
        let weak = Arc::downgrade(&pool);
        let env = TaskEnv { pool: weak, clock, bus, gates, pool_events: None, on_end };
        Control::make(spec, Arc::new(env), &pool)
    }

    /// Makes a task, and begins it.
    pub(super) fn begin(self) -> Result<Control, NotBegun> {
        let pool = Arc::clone(&self.pool);
        let control = self.make();
        control.begin(&pool).map(|()| control)
    }
}

pub(super) fn spec(facts: TaskFacts, rule: Rule, policy: Policy, call: Call) -> TaskSpec {
    TaskSpec {
        facts: Arc::new(facts),
        rule,
        policy: Arc::new(policy),
        durable: None,
        job: None,
        missing: Vec::new(),
        is_zone_default: false,
        call,
        disabled: None,
    }
}

impl Stage {
    pub(super) fn new() -> Self {
        Self::with_workers(8)
    }

    pub(super) fn with_workers(workers: usize) -> Self {
        let (clock, virtual_workers) = (ManualClock::at(start()), VirtualWorkers::new());
        let builder = ScheduledThreadPool::builder().core_size(workers);
        let pool = builder.clock(Arc::new(clock.clone())).virtual_workers(&virtual_workers).build();
        let pool = Arc::new(pool.expect("valid settings"));
        pool.prestart_all();
        let (log, called, in_progress) = <_>::default();
        Self { clock, pool, log, firings: 0, is_heard: true, virtual_workers, called, in_progress }
    }

    /// A plain task. `play` returns the length and the result of each attempt.
    pub(super) fn task(
        &self,
        rule: Rule,
        policy: Policy,
        play: impl Fn(&Run) -> Goes + Send + Sync + 'static,
    ) -> Control {
        self.start(rule, policy, self.call(play))
    }

    /// A plain function. `play` returns the length and the result of each call.
    pub(super) fn call(&self, play: impl Fn(&Run) -> Goes + Send + Sync + 'static) -> Call {
        let called = Arc::clone(&self.called);
        let call = move |run: &Run| -> TaskResult {
            let goes = play(run);
            *called.lock() = Some(goes.takes);
            if goes.fails { Err(TaskError::from_display("no luck")) } else { Ok(()) }
        };
        Call::Sync(Arc::new(call))
    }

    pub(super) fn start(&self, rule: Rule, policy: Policy, call: Call) -> Control {
        self.parts(rule, policy, call).begin().expect("the pool takes tasks")
    }

    /// A task that has not been made, for a test that has another clock, or does without the stage's start.
    pub(super) fn parts(&self, rule: Rule, policy: Policy, call: Call) -> Parts {
        let log = Arc::clone(&self.log);
        let mut bus = BusBuilder::new();
        if self.is_heard {
            bus = bus.listener(Arc::new(move |event: &Event| log.hear(event)));
        }
        let clock: Arc<dyn Clock> = Arc::new(self.clock.clone());
        let bus = bus.synchronous().build(Arc::clone(&clock)).expect("no thread is needed");
        Parts {
            spec: spec(facts("task", &rule), rule, policy, call),
            pool: Arc::clone(&self.pool),
            clock,
            bus: Arc::new(bus),
            gates: Arc::default(),
            on_end: None,
        }
    }

    /// Lets time pass up to a time since the start, in milliseconds, and whatever is due happen.
    pub(super) fn until(&mut self, at_ms: u64) {
        let end = Tick::ZERO + ms(at_ms);
        loop {
            let next = self.settle();
            match next.filter(|next| *next <= end) {
                Some(next) if next > self.clock.now() => self.clock.advance_to(next),
                Some(_) => {}
                None => break,
            }
        }
        self.clock.advance_to(end);
        self.settle();
    }

    /// Lets time pass up to then while no worker takes a step.
    pub(super) fn stall_until(&mut self, at_ms: u64) {
        self.clock.advance_to(Tick::ZERO + ms(at_ms));
        self.settle();
    }

    /// Sets the wall clock.
    pub(super) fn step_wall(&mut self, seconds: i64) {
        self.clock.step_wall(TimeDelta::seconds(seconds));
        self.settle();
    }

    /// Does what is due now, and returns when to look again.
    pub(super) fn settle(&mut self) -> Option<Tick> {
        loop {
            let now = self.clock.now();
            let over = self.in_progress.iter().filter(|(_, (end, _))| *end <= now);
            if let Some(worker) = over.min_by_key(|(_, (end, _))| *end).map(|(worker, _)| *worker) {
                let (_, run) = self.in_progress.remove(&worker).expect("it was just there");
                run.finish();
                continue;
            }
            let mut next = self.in_progress.values().map(|(end, _)| *end).min();
            let mut has_run = false;
            for worker in self.virtual_workers.numbers() {
                if self.in_progress.contains_key(&worker) {
                    continue;
                }
                match self.virtual_workers.begin(worker) {
                    Begun::Run(run) => {
                        has_run = true;
                        self.firings += 1;
                        let takes = self.called.lock().take().unwrap_or_default();
                        if takes.is_zero() {
                            run.finish();
                        } else {
                            self.in_progress.insert(worker, (now + takes, run));
                        }
                    }
                    Begun::Waits(until) => {
                        next = next.into_iter().chain(until).min();
                    }
                    Begun::Left => {}
                }
            }
            if !has_run {
                return next;
            }
        }
    }

    /// The log since the last call, in one line.
    pub(super) fn heard(&self) -> String {
        std::mem::take(&mut *self.log.lines.lock()).join(" | ")
    }
}

impl Log {
    fn hear(&self, event: &Event) {
        self.events.lock().push(event.clone());
        let mut line = String::new();
        match &event.kind {
            EventKind::RunStarted { run, .. } if run.attempt == 1 => {
                let (at, fire) = (seconds(run.started_at), seconds(run.fire_time));
                let word = if run.cause == Cause::Manual { "manual" } else { "start" };
                write!(line, "{word} {at}").unwrap();
                if fire != at {
                    write!(line, " ({fire})").unwrap();
                }
            }
            EventKind::RunStarted { run, .. } => {
                write!(line, "again {} #{}", seconds(run.started_at), run.attempt).unwrap();
            }
            EventKind::AttemptFailed { .. } | EventKind::TaskAdded { .. } => return,
            EventKind::RunFinished { outcome, .. } if !outcome.is_success() => {
                write!(line, "{} {}", outcome.name(), seconds(event.at)).unwrap();
            }
            EventKind::RunFinished { .. } => return,
            EventKind::Skipped { reason, last: fire_time, count, .. } => {
                write!(line, "{} {}", reason.name(), seconds(*fire_time)).unwrap();
                if *count > 1 {
                    write!(line, " x{count}").unwrap();
                }
            }
            EventKind::Paused { .. } => write!(line, "paused {}", seconds(event.at)).unwrap(),
            EventKind::Resumed { .. } => write!(line, "resumed {}", seconds(event.at)).unwrap(),
            EventKind::Rescheduled { .. } => write!(line, "rule {}", seconds(event.at)).unwrap(),
            EventKind::StopRequested { .. } => write!(line, "stop {}", seconds(event.at)).unwrap(),
            EventKind::TaskEnded { state, .. } => {
                write!(line, "{} {}", state.name(), seconds(event.at)).unwrap();
            }
            other => write!(line, "{other:?}").unwrap(),
        }
        self.lines.lock().push(line);
    }
}

/// An instant as seconds since the start.
pub(super) fn seconds(at: DateTime<Utc>) -> f64 {
    let nanos = (at - start()).num_nanoseconds().expect("near the start");
    #[expect(clippy::cast_precision_loss, reason = "a number for people")]
    let seconds = nanos as f64 / 1e9;
    (seconds * 1e3).round() / 1e3
}

pub(super) fn start() -> DateTime<Utc> {
    START.parse().expect("an instant")
}

pub(super) fn rate(period_ms: u64) -> Rule {
    Rule::FixedRate { period: ms(period_ms), initial_delay: None }
}

pub(super) fn delay(delay_ms: u64) -> Rule {
    Rule::FixedDelay { delay: ms(delay_ms), initial_delay: None }
}

pub(super) fn once(delay_ms: u64) -> Rule {
    Rule::Once { delay: ms(delay_ms) }
}

pub(super) fn cron(expression: &str) -> Rule {
    let expression = expression.parse().expect("a cron expression");
    Rule::Cron(Arc::new(CronTrigger::new(expression, Zone::UTC)))
}

pub(super) fn facts(name: &str, rule: &Rule) -> TaskFacts {
    TaskFacts {
        name: name.into(),
        function: None,
        kind: RuleKind::Custom,
        rule: rule.to_string().into(),
        period: rule.period(),
        zone: rule.zone().unwrap_or(Zone::UTC),
        pool: "default".into(),
        tags: Arc::new([]),
        is_async: false,
        is_durable: false,
        location: None,
    }
}
