//! A simulated scheduler, whose time the test moves.

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use scheduler_core::{Clock, Tick};

use crate::observe::{Event, Outcome, TaskSnapshot};
use crate::run::inject::{Managed, shown};
use crate::start::{Scheduler, StopError, TaskControl, Tasks};
use crate::testing::moment::{IntoMoment, Moment, moment};
use crate::testing::or_panic;
use crate::testing::record::EventText;
use crate::testing::script::{FakeResult, TaskScript};
use crate::testing::setup::{Setup, Started};
use crate::testing::world::{Step, World};

/// The most runs of a simulation without a limit.
pub(super) const RUNS_MAX: u64 = 10_000;

/// A scheduler on one thread, whose time the test moves.
///
/// It is the real scheduler: the same code reads annotations, resolves arguments, and decides fire times, overlaps,
/// retries and timeouts. Only the clock and the workers are replaced. Between two calls of the test nothing runs, and no
/// time passes.
///
/// A task is named in full, or by an unambiguous end of its path. Methods panic on unknown names, and where a test cannot
/// continue.
///
/// **Assertions belong anywhere**: a panic of a task, a listener or a trigger fails the test. Time stops, and the method
/// that moved it panics with task, run and message, or else the simulation when it is dropped. A test of panics calls
/// [`allow_panics`](Self::allow_panics); panics of [`panic_next`](Self::panic_next) are always allowed.
///
/// ```standalone_crate
/// use scheduler::scheduled;
/// use scheduler::testing::*;
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// #[derive(Default)]
/// struct FakeDb {
///     purges: AtomicU32,
/// }
///
/// #[scheduled(fixed_delay = "5s")]
/// fn purge(db: &FakeDb) {
///     db.purges.fetch_add(1, Ordering::Relaxed);
/// }
///
/// let mut sim = Sim::at("2026-01-01T00:00:00Z").manage(FakeDb::default()).task(purge);
/// sim.takes("purge", secs(3)); // each run lasts 3 s
/// sim.advance(secs(20));
/// assert_eq!(sim.starts("purge"), [0, 8, 16].map(secs));
/// assert_eq!(sim.get::<FakeDb>().purges.load(Ordering::Relaxed), 3);
/// ```
#[must_use = "a simulation does nothing until its time is moved"]
pub struct Sim {
    /// `None` once it has started.
    pub(super) setup: RefCell<Option<Setup>>,
    pub(super) started: OnceCell<Started>,
}

/// Moves time.
///
/// These methods panic if a task, a listener or a trigger panicked: see [`Sim`].
impl Sim {
    /// Advances time, and runs all that is due, also at its end.
    #[track_caller]
    pub fn advance(&mut self, length: Duration) {
        let until = self.world().now() + length;
        while self.step(until) != Step::Rests {}
    }

    /// Advances time until the wall clock shows an instant.
    ///
    /// # Panics
    ///
    /// When this is no instant, or has passed.
    #[track_caller]
    pub fn advance_to(&mut self, instant: impl IntoMoment) {
        let (to, now) = (moment(instant), self.now());
        let Ok(left) = (to.instant() - now.instant()).to_std() else {
            panic!("{to} is past: it is {now}");
        };
        self.advance(left);
    }

    /// Advances time until the next run of any task starts. Returns the name of the task, or `None` if there is no such
    /// run. A run that takes no time has ended by then.
    #[track_caller]
    pub fn run_next(&mut self) -> Option<String> {
        let record = &self.started().shared.record;
        let before = record.count().0;
        while record.count().0 == before {
            if self.step(Tick::MAX) == Step::Rests {
                return None;
            }
        }
        record.count().1.map(|name| name.to_string())
    }

    /// Advances time until nothing is in progress and nothing waits: all tasks have ended or are paused.
    ///
    /// # Panics
    ///
    /// After 10,000 runs, because a task recurs: give [a limit](Self::run_until_idle_or).
    #[track_caller]
    pub fn run_until_idle(&mut self) {
        let (world, record) = (self.world(), &self.started().shared.record);
        let before = record.count().0;
        while !world.is_idle() && self.step(Tick::MAX) != Step::Rests {
            let (runs, last) = record.count();
            assert!(
                runs - before < RUNS_MAX,
                "after {RUNS_MAX} runs there still are more, the last one of `{}`\n\
                 help: sim.run_until_idle_or(hours(1))",
                last.as_deref().unwrap_or_default()
            );
        }
    }

    /// As [`run_until_idle`](Self::run_until_idle), for at most `limit`.
    #[track_caller]
    pub fn run_until_idle_or(&mut self, limit: Duration) {
        let world = self.world();
        let until = world.now() + limit;
        while !world.is_idle() && self.step(until) != Step::Rests {}
    }

    /// Sets the wall clock forward. No time passes.
    #[track_caller]
    pub fn jump_wall_forward(&mut self, by: Duration) {
        self.world().step_wall(TimeDelta::from_std(by).unwrap_or(TimeDelta::MAX));
    }

    /// Sets the wall clock back. No time passes.
    #[track_caller]
    pub fn jump_wall_back(&mut self, by: Duration) {
        self.world().step_wall(-TimeDelta::from_std(by).unwrap_or(TimeDelta::MAX));
    }

    /// Suspends the machine: the wall clock advances, the monotonic one does not.
    #[track_caller]
    pub fn suspend(&mut self, length: Duration) {
        self.jump_wall_forward(length);
    }
}

/// Scripts runs.
impl Sim {
    /// Sets the time that each attempt of the task takes; no time by default.
    ///
    /// A plain function is called when the run starts; then its worker is busy until the time is over. An async function
    /// waits after its end, and holds no worker.
    #[track_caller]
    pub fn takes(&mut self, task: &str, length: Duration) {
        self.script(task).takes(length);
    }

    /// Sets the time of each of the next attempts. [`takes`](Self::takes) applies to those after them.
    #[track_caller]
    pub fn takes_each(&mut self, task: &str, lengths: impl IntoIterator<Item = Duration>) {
        self.script(task).takes_each(lengths);
    }

    /// Makes the next attempt fail with this error, without calling the task. Two calls make the next two fail.
    #[track_caller]
    pub fn fail_next(&mut self, task: &str, error: impl Into<String>) {
        self.script(task).fake_next(FakeResult::Error(error.into()));
    }

    /// Makes the next attempt panic, without calling the task. The test does not fail.
    #[track_caller]
    pub fn panic_next(&mut self, task: &str, text: impl Into<String>) {
        self.script(task).fake_next(FakeResult::Panic(text.into()));
    }
}

/// Reads what has happened.
impl Sim {
    /// When the runs of a task started, from the start of the simulation, by the monotonic clock. Further attempts of a
    /// run do not count.
    #[must_use]
    #[track_caller]
    pub fn starts(&self, task: &str) -> Vec<Duration> {
        self.started().shared.record.starts(self.control(task).name())
    }

    /// The outcomes of the runs that have ended: see [`assert_outcomes!`](crate::assert_outcomes).
    #[must_use]
    #[track_caller]
    pub fn outcomes(&self, task: &str) -> Vec<Outcome> {
        self.started().shared.record.outcomes(self.control(task).name())
    }

    /// All events in order; the last 100,000 if there are more.
    #[must_use]
    #[track_caller]
    pub fn events(&self) -> Vec<Event> {
        self.started().shared.record.events().0
    }

    /// All events as text, a line for each, with local times: for people, and for snapshot tests.
    #[must_use]
    #[track_caller]
    pub fn event_log(&self) -> String {
        let dropped = self.started().shared.record.events().1;
        let dropped = (dropped > 0).then(|| format!("… {dropped} earlier events\n"));
        let lines = self.event_lines().into_iter().map(|(_, line)| line + "\n");
        dropped.into_iter().chain(lines).collect()
    }

    /// The lines of the log, with the instants of their events.
    #[track_caller]
    pub(super) fn event_lines(&self) -> Vec<(DateTime<Utc>, String)> {
        let controls = self.started().controls();
        let names: Vec<&str> = controls.iter().map(TaskControl::name).collect();
        let text = EventText::new(self.started().start.zone(), &names);
        let (events, _) = self.started().shared.record.events();
        events.iter().map(|event| (event.at, text.line(event))).collect()
    }

    /// When the task starts next, in its own zone.
    ///
    /// # Panics
    ///
    /// When there is no known next start: the task is paused without an end, has ended, or waits for the end of a run. See
    /// [`snapshot`](Self::snapshot).
    #[must_use]
    #[track_caller]
    pub fn next(&self, task: &str) -> Moment {
        let snapshot = self.snapshot(task);
        let (state, zone) = (snapshot.state.name(), snapshot.facts.zone);
        match snapshot.next {
            Some(next) => Moment::new(next, zone),
            None => panic!("`{}` has no next run: it is {state}", snapshot.name()),
        }
    }

    /// The task at this moment.
    #[must_use]
    #[track_caller]
    pub fn snapshot(&self, task: &str) -> TaskSnapshot {
        self.control(task).snapshot()
    }

    /// A value that is managed for the tasks.
    ///
    /// # Panics
    ///
    /// When no value of this type is managed.
    #[must_use]
    #[track_caller]
    pub fn get<T: ?Sized + Managed>(&self) -> Arc<T> {
        self.get_as(None)
    }

    /// One of several values of a type that are managed for the tasks, by its name.
    ///
    /// # Panics
    ///
    /// When no value of this type and name is managed.
    #[must_use]
    #[track_caller]
    pub fn get_named<T: ?Sized + Managed>(&self, name: &str) -> Arc<T> {
        self.get_as(Some(name))
    }

    #[track_caller]
    fn get_as<T: ?Sized + Managed>(&self, name: Option<&str>) -> Arc<T> {
        let states = &self.started().states;
        or_panic(states.find::<T>(name).ok_or_else(|| {
            let managed = match states.described() {
                managed if managed.is_empty() => "nothing".to_owned(),
                managed => managed.join(", "),
            };
            let wanted = shown(std::any::type_name::<T>());
            format!("no `{wanted}` is managed, but: {managed}")
        }))
    }

    /// The time of the wall clock.
    #[must_use]
    #[track_caller]
    pub fn now(&self) -> Moment {
        Moment::new(self.world().wall(), self.started().start.zone())
    }

    /// The time since the start, by the monotonic clock.
    #[must_use]
    #[track_caller]
    pub fn elapsed(&self) -> Duration {
        self.world().now().since(Tick::ZERO)
    }

    /// The messages of the scheduler: the start message, failures, warnings.
    #[must_use]
    #[track_caller]
    pub fn messages(&self) -> Vec<String> {
        self.started().shared.record.messages()
    }
}

/// Controls tasks, as a program does with [`Tasks`].
impl Sim {
    /// Pauses a task.
    ///
    /// # Panics
    ///
    /// When it has ended.
    #[track_caller]
    pub fn pause(&mut self, task: &str) {
        or_panic(self.control(task).pause());
    }

    /// Resumes a paused task.
    ///
    /// # Panics
    ///
    /// When it is not paused, or has ended.
    #[track_caller]
    pub fn resume(&mut self, task: &str) {
        or_panic(self.control(task).resume());
    }

    /// Runs a task now, beside its schedule.
    ///
    /// # Panics
    ///
    /// When it is running already, and its `overlap` is `skip`; or when it has ended.
    #[track_caller]
    pub fn run_now(&mut self, task: &str) {
        or_panic(self.control(task).run_now());
        self.advance(Duration::ZERO);
    }

    /// All other controls of a task: pausing with a reason, rescheduling, cancelling.
    ///
    /// # Panics
    ///
    /// When there is no such task.
    #[must_use]
    #[track_caller]
    pub fn control(&self, task: &str) -> TaskControl {
        or_panic(self.started().control(task))
    }

    /// All tasks, for example to add and remove some.
    #[must_use]
    #[track_caller]
    pub fn running_tasks(&self) -> Tasks {
        self.started().tasks.clone()
    }

    /// Stops the scheduler: starts no new runs, and waits for those in progress.
    ///
    /// # Errors
    ///
    /// When runs were in progress for longer than the limit.
    #[track_caller]
    pub fn shutdown(&mut self) -> Result<(), StopError> {
        // Without a step before it, the start belongs to the test still, with its faults.
        self.started();
        let Some(started) = self.started.get_mut() else { return Ok(()) };
        started.controls = started.controls();
        let scheduler = started.scheduler.take();
        let stopped = scheduler.map_or(Ok(()), Scheduler::shutdown);
        self.world().panics().rethrow();
        stopped
    }

    /// Takes one step, at most up to a limit. Panics if user code panicked in it.
    #[track_caller]
    pub(super) fn step(&self, limit: Tick) -> Step {
        let world = self.world();
        let step = world.step(limit);
        world.panics().rethrow();
        step
    }

    #[track_caller]
    pub(super) fn world(&self) -> &World {
        &self.started().shared.world
    }

    #[track_caller]
    fn script(&self, task: &str) -> Arc<TaskScript> {
        let process = self.started().shared.process;
        self.world().script(process, self.control(task).name())
    }
}

/// A panic that no method has rethrown fails the test, unless it fails already.
impl Drop for Sim {
    fn drop(&mut self) {
        if let Some(started) = self.started.get()
            && !std::thread::panicking()
        {
            started.shared.world.panics().rethrow();
        }
    }
}
