//! Takes clock, virtual workers and tasks from event to event.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use scheduler_core::{
    Begun, Clock, ManualClock, ScheduledThreadPool, Tick, VirtualRun, VirtualWorkers,
};

use crate::base::sync::{Mutex, MutexGuard};

use super::super::stage::{self, Parts, facts};
use super::checker::Checker;
use super::plan::{Op, Spec};
use super::runs::{Act, End};
use crate::observe::{BusBuilder, Event, TaskSnapshot};
use crate::run::inject::Call;
use crate::run::{Pause, Run, TaskError, TaskResult};
use crate::task::{Control, Policy, Rule};

pub(super) struct World {
    pub(super) clock: ManualClock,
    pub(super) tasks: Vec<Subject>,
    pool: Arc<ScheduledThreadPool>,
    virtual_workers: VirtualWorkers,
    /// Workers that have nothing to do.
    free: Vec<u64>,
    /// Runs whose bodies have been executed, by the end of their time.
    busy: BTreeMap<(Tick, u64), (u64, VirtualRun)>,
    /// The length of the body that is being executed, in nanoseconds.
    takes: Arc<AtomicU64>,
    order: u64,
    /// True if the wall clock was set, or the pool resized, and not everybody has seen it.
    is_news: bool,
    pub(super) plant: Plant,
}

pub(super) struct Subject {
    pub(super) control: Control,
    pub(super) checker: Arc<Mutex<Checker>>,
    shown: fn(&mut TaskSnapshot),
}

/// Planted bugs: wrong events, rules and snapshots for the checkers.
#[derive(Clone, Copy)]
pub(super) struct Plant {
    /// The number of times that a checker hears an event: 0, 1 or 2.
    pub(super) told: fn(&Event) -> usize,
    /// The rule and the policy that a checker expects.
    pub(super) taken_for: fn(&Spec) -> (Rule, Policy),
    /// Changes a snapshot.
    pub(super) shown: fn(&mut TaskSnapshot),
}

impl Plant {
    pub(super) const NONE: Self = Self {
        told: |_| 1,
        taken_for: |spec| (spec.rule.clone(), spec.policy.clone()),
        shown: |_| {},
    };
}

pub(super) fn lock(checker: &Mutex<Checker>) -> MutexGuard<'_, Checker> {
    checker.lock()
}

impl World {
    pub(super) fn new(start: DateTime<Utc>, workers: usize) -> Self {
        let (clock, virtual_workers) = (ManualClock::at(start), VirtualWorkers::new());
        let builder = ScheduledThreadPool::builder().core_size(workers);
        let pool = builder.clock(Arc::new(clock.clone())).virtual_workers(&virtual_workers).build();
        let pool = Arc::new(pool.expect("valid settings"));
        pool.prestart_all();
        let free = virtual_workers.numbers();
        Self {
            clock,
            tasks: Vec::new(),
            pool,
            virtual_workers,
            free,
            busy: BTreeMap::new(),
            takes: Arc::default(),
            order: 0,
            is_news: true,
            plant: Plant::NONE,
        }
    }

    pub(super) fn add(&mut self, spec: &Spec) {
        let (rule, policy) = (self.plant.taken_for)(spec);
        let checker = Checker::new(&rule, policy, self.clock.clone());
        let checker = Arc::new(Mutex::new(checker));
        let (hearing, told) = (Arc::clone(&checker), self.plant.told);
        let listener = move |event: &Event| {
            (0..told(event)).for_each(|_| lock(&hearing).hear(event));
        };
        let clock: Arc<dyn Clock> = Arc::new(self.clock.clone());
        let bus = BusBuilder::new().in_place(Arc::new(listener)).build(Arc::clone(&clock));
        let facts = facts(&format!("task-{}", self.tasks.len()), &spec.rule);
        let (rule, policy) = (spec.rule.clone(), spec.policy.clone());
        let parts = Parts {
            spec: stage::spec(facts, rule, policy, self.call(spec, &checker)),
            pool: Arc::clone(&self.pool),
            clock,
            bus: Arc::new(bus.expect("no thread is needed")),
            gates: Arc::default(),
            on_end: None,
        };
        let control = parts.begin().expect("the pool takes tasks");
        self.tasks.push(Subject { control, checker, shown: self.plant.shown });
        self.refresh();
    }

    fn call(&self, spec: &Spec, checker: &Arc<Mutex<Checker>>) -> Call {
        let (acts, checker) = (spec.acts, Arc::clone(checker));
        let begin = move |run: &Run| {
            let act = acts.of(run.number(), run.attempt());
            lock(&checker).will_do(run, act);
            act
        };
        if spec.is_async {
            return Call::of_async(move |run: Run| {
                let act = begin(&run);
                async move {
                    if !act.takes.is_zero() {
                        run.sleep_async(act.takes).await;
                    }
                    perform(act)
                }
            });
        }
        let takes = Arc::clone(&self.takes);
        let body = move |run: &Run| -> TaskResult {
            let act = begin(run);
            let nanos = u64::try_from(act.takes.as_nanos()).expect("no age");
            takes.store(nanos, Relaxed);
            perform(act)
        };
        Call::Sync(Arc::new(body))
    }

    /// The workers may have changed.
    fn refresh(&mut self) {
        let busy: Vec<u64> = self.busy.values().map(|(worker, _)| *worker).collect();
        self.free = self.virtual_workers.numbers();
        self.free.retain(|worker| !busy.contains(worker));
        self.is_news = true;
    }

    /// Lets time pass up to an instant, and whatever is due happen; `rests` is called whenever nothing
    /// is left to do at one.
    pub(super) fn advance_to(&mut self, end: Tick, rests: &mut impl FnMut(&Self)) {
        loop {
            if self.finish_one() || self.is_news && self.look() || self.begin_one() {
                continue;
            }
            if !self.free.is_empty() && !self.is_news {
                rests(self);
            }
            let now = self.clock.now();
            if now >= end {
                return;
            }
            let due = if self.free.is_empty() { None } else { self.virtual_workers.next_due() };
            let over = self.busy.keys().next().map(|(end, _)| *end);
            let next = due.into_iter().chain(over).min().unwrap_or(Tick::MAX);
            self.clock.advance_to(next.min(end).max(now));
        }
    }

    fn finish_one(&mut self) -> bool {
        let now = self.clock.now();
        let Some(first) = self.busy.first_entry().filter(|first| first.key().0 <= now) else {
            return false;
        };
        let (worker, run) = first.remove();
        run.finish();
        self.free.push(worker);
        true
    }

    /// Has each free worker look once; says whether one did something.
    fn look(&mut self) -> bool {
        if !self.busy.is_empty() && self.free.is_empty() {
            return false;
        }
        self.is_news = false;
        let mut has_happened = false;
        for worker in self.free.clone() {
            has_happened |= self.begin(worker);
        }
        has_happened
    }

    fn begin_one(&mut self) -> bool {
        let Some(worker) = self.free.last().copied() else { return false };
        let is_due = self.virtual_workers.next_due().is_some_and(|due| due <= self.clock.now());
        is_due
            && (self.begin(worker) || self.free.clone().into_iter().any(|other| self.begin(other)))
    }

    fn begin(&mut self, worker: u64) -> bool {
        match self.virtual_workers.begin(worker) {
            Begun::Run(run) => {
                let takes = Duration::from_nanos(self.takes.swap(0, Relaxed));
                if takes.is_zero() || run.is_pending() {
                    run.finish();
                } else {
                    self.order += 1;
                    let end = self.clock.now() + takes;
                    self.busy.insert((end, self.order), (worker, run));
                    self.free.retain(|free| *free != worker);
                }
                true
            }
            Begun::Waits(_) => false,
            Begun::Left => {
                self.refresh();
                true
            }
        }
    }

    pub(super) fn pass(&mut self, length: Duration, rests: &mut impl FnMut(&Self)) {
        self.advance_to(self.clock.now() + length, rests);
    }

    /// Sets the wall clock.
    pub(super) fn step_wall(&mut self, by: TimeDelta) {
        let before = self.clock.wall();
        self.clock.step_wall(by);
        for subject in &self.tasks {
            let mut checker = lock(&subject.checker);
            checker.clock_set();
            if by < TimeDelta::zero() {
                checker.clock_set_back(before);
            }
        }
        self.is_news = true;
    }

    /// Time passes, and no worker takes a step.
    pub(super) fn stall(&mut self, length: Duration) {
        self.clock.advance(length);
        self.is_news = true;
    }

    /// Does something, with whatever follows at once.
    pub(super) fn perform(&mut self, op: &Op, rests: &mut impl FnMut(&Self)) {
        match op {
            Op::Pass(length) => return self.pass(*length, rests),
            Op::Stall(length) => self.stall(*length),
            Op::Suspend(length) => self.step_wall(TimeDelta::from_std(*length).expect("hours")),
            Op::StepWall(by) => self.step_wall(*by),
            Op::Resize(workers) => {
                self.pool.set_core_size(*workers);
                self.pool.prestart_all();
                self.refresh();
            }
            Op::Add(spec) => self.add(spec),
            Op::Pause(task)
            | Op::PauseFor(task, _)
            | Op::Resume(task)
            | Op::RunNow(task)
            | Op::CancelRun(task)
            | Op::Reschedule(task, _)
            | Op::Cancel(task) => {
                if let Some(subject) = self.tasks.get(*task) {
                    subject.perform(op, self.clock.wall());
                }
            }
        }
        self.pass(Duration::ZERO, rests);
    }

    /// Looks at all tasks as others see them; not while the clock was set and no worker could look.
    pub(super) fn compare(&self) {
        if !self.is_news {
            self.tasks.iter().for_each(Subject::compare);
        }
    }

    /// Ends all tasks, and forgets the runs in progress, which hold the pool.
    pub(super) fn end(&mut self) {
        for subject in self.tasks.drain(..) {
            drop(subject.control.cancel());
        }
        drop(self.pool.shutdown_now());
        for (_, run) in std::mem::take(&mut self.busy).into_values() {
            run.finish();
        }
        while self.virtual_workers.numbers().into_iter().any(|worker| self.begin(worker)) {}
    }

    /// The first fault, with the number of its task.
    pub(super) fn fault(&self) -> Option<String> {
        let faults = self.tasks.iter().enumerate().map(|(number, subject)| {
            let fault = lock(&subject.checker).fault.clone();
            fault.map(|fault| format!("task {number}: {fault}"))
        });
        faults.flatten().next()
    }
}

impl Subject {
    fn perform(&self, op: &Op, wall: DateTime<Utc>) {
        let (control, has_ended) = (&self.control, lock(&self.checker).has_ended());
        let checker = || lock(&self.checker);
        checker().announced.forget();
        match op {
            _ if has_ended => assert!(control.pause(&Pause::new()).unwrap_err().is_ended()),
            Op::Pause(_) => drop(control.pause(&Pause::new())),
            Op::PauseFor(_, length) => drop(control.pause(&Pause::new().until(wall + *length))),
            Op::Resume(_) => {
                let mut shown = control.snapshot();
                (self.shown)(&mut shown);
                checker().will_resume(shown.would_run_at);
                drop(control.resume());
            }
            Op::CancelRun(_) => {
                checker().will_call_off();
                drop(control.cancel_run());
            }
            Op::Cancel(_) => {
                checker().will_cancel();
                drop(control.cancel());
            }
            Op::RunNow(_) => {
                checker().will_run_now();
                if control.run_now().is_err() {
                    checker().run_now_was_refused();
                }
            }
            Op::Reschedule(_, rule) => {
                checker().will_reschedule(rule);
                drop(control.reschedule(rule.clone()));
            }
            _ => {}
        }
    }

    fn compare(&self) {
        let mut shown = self.control.snapshot();
        (self.shown)(&mut shown);
        lock(&self.checker).compare(&shown);
    }
}

/// Ends a body; a panic without the words of the panic hook, because nothing has gone wrong.
fn perform(act: Act) -> TaskResult {
    match act.end {
        End::Succeeds => Ok(()),
        End::Fails => Err(TaskError::from_display("no luck")),
        End::Panics => resume_unwind(Box::new("no luck at all")),
    }
}
