//! The running scheduler as the program has it, and its stop.

use std::sync::Arc;
use std::time::Duration;
use std::{mem, thread};

use chrono::{DateTime, Utc};
use scheduler_core::Clock;

use crate::base::set_once::SetOnce;
use crate::base::sync::Mutex;
use crate::observe::{Bus, Event, EventKind, catch, duration, on_one_line};
use crate::run::inject::States;
use crate::run::{Run, Shutdown};
use crate::start::builder::Builder;
use crate::start::context::Context;
use crate::start::entry_points::Annotated;
use crate::start::error::StopError;
use crate::start::pools::{Pools, Watch};
use crate::start::report::{
    Messages, StillRunning, cancelled, dropped_too_early, not_stopped, still_waiting, stopped,
    stopping, undelivered,
};
use crate::start::tasks::Tasks;
use crate::task::{ControlError, Until};

/// A running scheduler beside the rest of a program.
///
/// It installs no signal handler. Dropping it stops all tasks and waits for none.
///
/// In the child of a `fork` without `exec` its threads are missing, and locks that they held stay locked. Do not use it
/// there; end by `_exit` or `exec`.
///
/// ```rust
/// use scheduler::Scheduler;
///
/// let scheduler = Scheduler::builder().spawn()?;
/// // … serve requests …
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "dropping it stops all tasks; keep it, or use `scheduler::start()` to run until Ctrl-C"]
#[derive(Debug)]
pub struct Scheduler {
    running: Running,
    is_stopped: bool,
}

impl Scheduler {
    /// A builder with the default settings.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// Starts no new runs, and waits until those in progress have ended.
    ///
    /// It blocks the calling thread. In async code write [`shutdown_async`](Self::shutdown_async).
    ///
    /// # Errors
    ///
    /// When tasks had not ended within the [limit](Builder::await_termination). At once inside a task of this
    /// scheduler ([`StopError::is_inside_task`]), and with the feature `tokio` on the only thread of a runtime
    /// ([`StopError::is_inside_runtime`]): waiting there would keep tasks from ending. The scheduler stops all the same.
    pub fn shutdown(self) -> Result<(), StopError> {
        self.stop("")
    }

    /// As [`shutdown`](Self::shutdown), without blocking the calling thread.
    ///
    /// ```
    /// # fn main() {}
    /// # mod program {
    /// # /* The crate does not depend on Tokio, not even for its tests.
    /// #[tokio::main]
    /// # */
    /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let scheduler = scheduler::Scheduler::builder().spawn()?;
    ///     // … serve requests …
    ///     scheduler.shutdown_async().await?;
    ///     Ok(())
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When tasks had not ended within the [limit](Builder::await_termination). At once inside a task of this
    /// scheduler ([`StopError::is_inside_task`]).
    pub async fn shutdown_async(self) -> Result<(), StopError> {
        self.stop_async("").await
    }

    /// The tasks, for reading and controlling them.
    #[must_use]
    pub fn tasks(&self) -> Tasks {
        self.running.tasks.clone()
    }

    /// The durable jobs, to enqueue, to look at and to control.
    ///
    /// # Errors
    ///
    /// The scheduler has no [store](Builder::store).
    #[cfg(feature = "durable")]
    #[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
    pub fn jobs(&self) -> Result<crate::Jobs, crate::JobsError> {
        self.running.tasks.jobs()
    }

    /// The durable schedules in the store, those that are data among them.
    ///
    /// # Errors
    ///
    /// The scheduler has no [store](Builder::store).
    #[cfg(feature = "durable")]
    #[cfg_attr(docsrs, doc(cfg(feature = "durable")))]
    pub fn schedules(&self) -> Result<crate::Schedules, crate::JobsError> {
        self.running.tasks.schedules()
    }

    /// Blocks until a task has had some number of runs: see [`TaskControl::wait_for`](super::TaskControl::wait_for).
    ///
    /// # Errors
    ///
    /// As [`Tasks::wait_for`].
    pub fn wait_for(&self, name: &str, until: Until, limit: Duration) -> Result<(), ControlError> {
        self.running.tasks.wait_for(name, until, limit)
    }

    pub(super) fn new(running: Running) -> Self {
        Self { running, is_stopped: false }
    }

    #[cfg(test)]
    pub(super) fn wall(&self) -> chrono::DateTime<chrono::Utc> {
        self.running.clock.wall()
    }

    pub(super) fn running_mut(&mut self) -> &mut Running {
        &mut self.running
    }

    pub(super) fn stop(self, hint: &'static str) -> Result<(), StopError> {
        if let Some(run) = self.own_run() {
            return Err(self.stop_behind(&run, hint));
        }
        // A thread that executes a run belongs to a pool, and has only entered the runtime of its task.
        if Run::current().is_none() && Context::is_only_thread() {
            drop(self.stop_elsewhere(hint));
            return Err(StopError::inside_runtime());
        }
        self.drain(hint)
    }

    /// Stops on a thread of its own, which waits by the pool's clock.
    pub(super) async fn stop_async(self, hint: &'static str) -> Result<(), StopError> {
        if let Some(run) = self.own_run() {
            return Err(self.stop_behind(&run, hint));
        }
        self.stop_elsewhere(hint).await
    }

    /// The run of a task of this scheduler that the calling thread executes.
    fn own_run(&self) -> Option<Run> {
        Run::current().filter(|run| self.running.pools.execute(run))
    }

    /// Stops without the calling run, which cannot wait for itself.
    fn stop_behind(self, run: &Run, hint: &'static str) -> StopError {
        drop(self.stop_elsewhere(hint));
        StopError::inside_task(shown([run.task_name()]))
    }

    /// Stops on another thread, or here if none can be started.
    fn stop_elsewhere(self, hint: &'static str) -> SetOnce<Result<(), StopError>> {
        let (outcome, place) = (SetOnce::new(), Arc::new(Mutex::new(Some(self))));
        let (result, from) = (outcome.clone(), Arc::clone(&place));
        let take = |place: &Mutex<Option<Self>>| place.lock().take();
        let thread = thread::Builder::new().name("scheduler-stop".to_owned());
        let spawned = thread.spawn(move || {
            let Some(scheduler) = take(&from) else { return };
            let failed = scheduler.running.too_late(&[]);
            let stopped = catch(|| scheduler.drain(hint));
            result.set(stopped.unwrap_or(Err(failed)));
        });
        if spawned.is_err()
            && let Some(scheduler) = take(&place)
        {
            outcome.set(scheduler.drain(hint));
        }
        outcome
    }

    fn drain(mut self, hint: &str) -> Result<(), StopError> {
        self.is_stopped = true;
        self.running.stop(hint)
    }

    /// Ends what a failed start has begun.
    pub(super) fn give_up(mut self) {
        self.is_stopped = true;
        self.running.give_up();
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        if !self.is_stopped {
            self.running.stop_dropped();
        }
        self.running.clear();
    }
}

#[cfg(feature = "durable")]
use super::durable::Durable;

/// The time that tasks have to end after they were asked to stop.
const GRACE: Duration = Duration::from_millis(500);

/// The time between two messages about the tasks that a stop waits for.
const REMINDER: Duration = Duration::from_secs(10);

/// The time that the store has for the last outcomes of durable jobs.
#[cfg(feature = "durable")]
const STORE_LIMIT: Duration = Duration::from_secs(5);

/// The time that listeners have for the last events.
const FLUSH: Duration = Duration::from_secs(1);

/// The parts of a running scheduler.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) pools: Pools,
    pub(super) bus: Arc<Bus>,
    pub(super) messages: Messages,
    /// The time that a stop waits for runs in progress.
    pub(super) limit: Duration,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) shutdown: Shutdown,
    pub(super) tasks: Tasks,
    /// The managed values, also those that no task takes.
    pub(super) states: States,
    #[cfg(feature = "durable")]
    pub(super) durable: Option<Durable>,
    /// `None` in a simulation.
    pub(super) _annotated: Option<Arc<Annotated>>,
    /// `None` in a simulation, whose workers are never all busy for long.
    pub(super) _watch: Option<Watch>,
    /// A runtime that was built for the scheduler ends with it.
    pub(super) runtime: Context,
}

impl Running {
    pub(super) fn stop(&self, hint: &str) -> Result<(), StopError> {
        let begun = self.clock.wall();
        self.begin_stop(begun);
        let (running, limit) = (self.tasks.table.running(begun), self.limit);
        self.messages.announce(stopping(&running, limit, hint));
        let stopped = if self.await_runs() { Ok(()) } else { self.stop_runs() };
        #[cfg(feature = "durable")]
        self.durable.iter().for_each(|durable| durable.await_stop(STORE_LIMIT));
        self.announce_end(begun);
        stopped
    }

    /// Returns true if other processes run the durable jobs.
    pub(super) fn is_enqueue_only(&self) -> bool {
        #[cfg(feature = "durable")]
        let is_enqueue_only = self.durable.as_ref().is_some_and(Durable::is_enqueue_only);
        #[cfg(not(feature = "durable"))]
        let is_enqueue_only = false;
        is_enqueue_only
    }

    /// Starts no new runs.
    fn begin_stop(&self, at: DateTime<Utc>) {
        self.tasks.table.close();
        #[cfg(feature = "durable")]
        self.durable.iter().for_each(Durable::stop);
        self.bus.emit(Event::global(at, EventKind::SchedulerStopping {}));
        self.tasks.table.shut_down();
        self.pools.shutdown();
        self.shutdown.request();
    }

    /// Waits for the runs in progress, and prints now and then which they are.
    fn await_runs(&self) -> bool {
        let mut left = self.limit;
        loop {
            let (step, before) = (left.min(REMINDER), self.clock.now());
            if self.await_end(step) {
                return true;
            }
            // The pool returns at once if one of its workers would wait for itself.
            let is_refused = self.clock.now().since(before) < step;
            left -= step;
            if left.is_zero() || is_refused {
                return false;
            }
            let running = self.tasks.table.running(self.clock.wall());
            // Without runs, the threads are about to end.
            if !running.is_empty() {
                self.messages.announce(still_waiting(&running, left));
            }
        }
    }

    /// Asks the runs in progress to stop. Returns an error if there were any.
    fn stop_runs(&self) -> Result<(), StopError> {
        let late = self.tasks.table.running(self.clock.wall());
        self.end_runs();
        let _ = self.await_end(GRACE);
        let left = self.tasks.table.running(self.clock.wall());
        let is_left = |each: &StillRunning| left.iter().any(|left| left.task == each.task);
        let cut: Vec<_> = late.iter().filter(|each| !is_left(each)).cloned().collect();
        if !cut.is_empty() {
            self.messages.announce(cancelled(&cut, self.limit));
        }
        if !left.is_empty() {
            self.messages.announce(not_stopped(&left, self.limit));
        }
        if late.is_empty() {
            // All runs had ended, but not all threads.
            return Ok(());
        }
        Err(self.too_late(&late))
    }

    /// Asks the runs in progress to stop, and reports that.
    fn end_runs(&self) {
        self.tasks.table.report_shutdown();
        self.pools.shutdown_now();
    }

    fn await_end(&self, limit: Duration) -> bool {
        self.pools.await_termination(&*self.clock, limit)
    }

    fn announce_end(&self, begun: DateTime<Utc>) {
        let at = self.clock.wall();
        let took = (at - begun).to_std().unwrap_or_default();
        self.tasks.table.await_events(&*self.clock, FLUSH);
        let totals = self.tasks.table.totals();
        let unfinished = self.tasks.table.running(at).len();
        self.bus.emit(Event::global(at, EventKind::SchedulerStopped { took, unfinished }));
        if !self.bus.flush(FLUSH) {
            self.messages.announce(undelivered(self.bus.give_up(), FLUSH));
        }
        self.messages.announce(stopped(took, totals));
        self.messages.flush();
    }

    /// Ends what a failed start has begun.
    pub(super) fn give_up(&self) {
        self.begin_stop(self.clock.wall());
        self.pools.shutdown_now();
    }

    /// Stops all tasks without waiting, because the scheduler was dropped.
    fn stop_dropped(&self) {
        self.begin_stop(self.clock.wall());
        let tasks = &self.tasks.table;
        let has_run = !self.pools.are_idle() || tasks.totals().runs > 0;
        self.end_runs();
        if !has_run && !tasks.all().is_empty() {
            self.messages.announce(dropped_too_early());
        }
        self.messages.flush();
    }

    /// Drops all tasks, and the managed values. Runs that are still in progress report their end.
    pub(super) fn clear(&mut self) {
        // RACE: runs may begin until the pools are shut down, so not before.
        let is_idle = self.pools.are_idle();
        self.tasks.table.clear();
        for value in mem::take(&mut self.states).into_values() {
            if let Err(failure) = catch(|| drop(value)) {
                let kind = EventKind::DropPanicked { failure };
                self.bus.emit(Event::global(self.clock.wall(), kind));
                self.messages.flush();
            }
        }
        if is_idle {
            self.bus.close();
            self.messages.close();
        }
    }

    /// The error of a stop whose tasks did not end in time.
    pub(super) fn too_late(&self, tasks: &[StillRunning]) -> StopError {
        StopError::too_late(duration(self.limit), shown(tasks.iter().map(|each| &*each.task)))
    }
}

/// The names of tasks, and how an error shows them.
pub(super) fn shown<'a>(tasks: impl IntoIterator<Item = &'a str>) -> (Vec<String>, String) {
    let names: Vec<String> = tasks.into_iter().map(str::to_owned).collect();
    let shown: Vec<String> = names.iter().map(|name| format!("`{}`", on_one_line(name))).collect();
    (names, shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::Scheduler;
    use crate::define::schedule::Schedule;

    #[test]
    fn functions_are_called_with_the_tasks_at_the_start_and_a_panic_is_reported() {
        let (said, heard) = std::sync::mpsc::channel();
        let (listed, list) = std::sync::mpsc::channel();
        let builder = Scheduler::builder().environment([("PATH", "")]).settings("none.toml", "");
        let builder = builder.messages(move |text| drop(said.send(text.to_owned())));
        let builder = builder.task("purge", Schedule::fixed_rate("1h"), |_| {});
        let builder =
            builder.after_start(|_| -> () { panic!("too early") }).after_start(move |tasks| {
                let names =
                    tasks.list().iter().map(|task| task.name().to_owned()).collect::<Vec<_>>();
                listed.send(names).expect("the test listens");
            });
        let scheduler = builder.spawn().expect("it starts");
        assert_eq!(list.try_recv().expect("it was called before the start returned"), ["purge"]);
        scheduler.shutdown().expect("it stops");
        let said: Vec<String> = heard.try_iter().collect();
        assert!(
            said.iter().any(|text| text.contains("after_start") && text.contains("too early")),
            "{said:?}"
        );
    }

    #[test]
    fn a_sink_that_panics_does_not_keep_it_from_stopping() {
        let builder = Scheduler::builder().messages(|text| panic!("`{text}` cannot be printed"));
        let scheduler = builder.spawn().expect("it starts");
        scheduler.shutdown().expect("it stops");
    }
}
