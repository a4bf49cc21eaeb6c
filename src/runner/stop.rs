//! The way a scheduler stops: no new runs, those in progress are waited for, then asked to stop.

use std::sync::Arc;
use std::sync::PoisonError;
use std::thread;
use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;
use scheduler_core::Clock;

use super::Scheduler;
use super::annotated::Annotated;
use super::context::Context;
use super::pools::Pools;
use super::tasks::Tasks;
use crate::error::StopError;
use crate::notice::Notice;
use crate::observe::Bus;
use crate::observe::Event;
use crate::observe::EventKind;
use crate::observe::Totals;
use crate::observe::catch;
use crate::observe::duration;
use crate::observe::on_one_line;
use crate::report::CutOff;
use crate::report::Messages;
use crate::report::NotStopped;
use crate::report::StillRunning;
use crate::report::StillWaiting;
use crate::report::Stopped;
use crate::report::Stopping;
use crate::report::dropped_too_early;
use crate::report::undelivered;
use crate::run::Run;
use crate::run::Shutdown;
use crate::sync::Mutex;

/// How long tasks have to end after they were asked to stop.
const GRACE: Duration = Duration::from_millis(500);

/// How often the stop says for whom it waits.
const REMINDER: Duration = Duration::from_secs(10);

/// How long listeners have to hear of what is left when everything else has ended.
const FLUSH: Duration = Duration::from_secs(1);

/// What a running scheduler is made of.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) pools: Pools,
    pub(super) bus: Arc<Bus>,
    pub(super) messages: Messages,
    /// How long a stop waits for runs in progress.
    pub(super) limit: Duration,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) shutdown: Shutdown,
    pub(super) tasks: Tasks,
    /// None in a simulation, beside which nothing runs.
    pub(super) _annotated: Option<Arc<Annotated>>,
    /// Dropped when the scheduler is: a runtime that was built for it ends then.
    pub(super) context: Context,
}

impl Scheduler {
    pub(super) fn stop(self, hint: &'static str) -> Result<(), StopError> {
        if let Some(run) = self.own_run() {
            return Err(self.stop_behind(&run, hint));
        }
        // A thread that executes a run belongs to a pool, and has only entered the runtime of its task.
        if Run::current().is_none() && Context::is_only_thread() {
            drop(self.stop_elsewhere(hint));
            return Err(StopError::blocks_runtime());
        }
        self.drain(hint)
    }

    /// Stops on a thread of its own: the waiting is done by the pool's clock, which no runtime drives.
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

    /// A run does not wait for itself: it is told so, and the stop goes on without it.
    fn stop_behind(self, run: &Run, hint: &'static str) -> StopError {
        drop(self.stop_elsewhere(hint));
        StopError::inside_task(shown([run.task_name()]))
    }

    /// Stops on another thread, or here if there is none to be had.
    fn stop_elsewhere(self, hint: &'static str) -> Notice<Result<(), StopError>> {
        let (outcome, place) = (Notice::new(), Arc::new(Mutex::new(Some(self))));
        let (given, from) = (outcome.clone(), Arc::clone(&place));
        let take = |place: &Mutex<Option<Self>>| {
            place.lock().unwrap_or_else(PoisonError::into_inner).take()
        };
        let thread = thread::Builder::new().name("scheduler-stop".to_owned());
        let spawned = thread.spawn(move || {
            let Some(scheduler) = take(&from) else { return };
            let limit = scheduler.running.limit;
            let stopped = catch(|| scheduler.drain(hint));
            given.give(stopped.unwrap_or_else(|_| Err(StopError::new(duration(limit), shown([])))));
        });
        if spawned.is_err()
            && let Some(scheduler) = take(&place)
        {
            outcome.give(scheduler.drain(hint));
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
        self.running.begin_stop(self.running.clock.wall());
        self.running.pools.shutdown_now();
    }
}

impl Running {
    fn stop(&self, hint: &str) -> Result<(), StopError> {
        let begun = self.clock.wall();
        self.begin_stop(begun);
        let (running, limit) = (self.tasks.running(begun), self.limit);
        self.messages.announce(Stopping { running: &running, limit, hint }.message());
        let stopped = if self.await_runs() { Ok(()) } else { self.stop_runs() };
        self.announce_end(begun);
        stopped
    }

    /// Starts no new runs.
    fn begin_stop(&self, at: DateTime<Utc>) {
        self.tasks.registry().close();
        self.bus.emit(Event::global(at, EventKind::SchedulerStopping {}));
        self.tasks.shut_down();
        self.pools.shutdown();
        self.shutdown.request();
    }

    /// Waits for the runs in progress, and says now and then for which.
    fn await_runs(&self) -> bool {
        let mut left = self.limit;
        loop {
            let (step, before) = (left.min(REMINDER), self.clock.now());
            if self.await_end(step) {
                return true;
            }
            // The engine refuses at once where one of its workers would wait for itself.
            let is_refused = self.clock.now().since(before) < step;
            left -= step;
            if left.is_zero() || is_refused {
                return false;
            }
            let running = self.tasks.running(self.clock.wall());
            self.messages.announce(StillWaiting { running: &running, left }.message());
        }
    }

    /// Asks the runs in progress to stop; it is no error if there are none.
    fn stop_runs(&self) -> Result<(), StopError> {
        let late = self.tasks.running(self.clock.wall());
        self.end_runs();
        let _ = self.await_end(GRACE);
        let left = self.tasks.running(self.clock.wall());
        let is_left = |each: &StillRunning| left.iter().any(|left| left.task == each.task);
        let cut: Vec<_> = late.iter().filter(|each| !is_left(each)).cloned().collect();
        if !cut.is_empty() {
            self.messages.announce(CutOff { running: &cut, limit: self.limit }.message());
        }
        if !left.is_empty() {
            self.messages.announce(NotStopped { running: &left, limit: self.limit }.message());
        }
        if late.is_empty() {
            // The threads had not ended yet, but all runs had.
            return Ok(());
        }
        Err(StopError::new(duration(self.limit), shown(late.iter().map(|each| &*each.task))))
    }

    /// Asks the runs in progress to stop, and says so.
    fn end_runs(&self) {
        self.tasks.report_shutdown();
        self.pools.shutdown_now();
    }

    fn await_end(&self, limit: Duration) -> bool {
        self.pools.await_termination(&*self.clock, limit)
    }

    fn announce_end(&self, begun: DateTime<Utc>) {
        let at = self.clock.wall();
        let took = (at - begun).to_std().unwrap_or_default();
        self.tasks.await_events(FLUSH);
        let Totals { runs, failures, skipped } = self.tasks.totals();
        let unfinished = self.tasks.running(at).len();
        self.bus.emit(Event::global(at, EventKind::SchedulerStopped { took, unfinished }));
        if !self.bus.flush(FLUSH) {
            self.messages.announce(undelivered(FLUSH));
        }
        self.messages.announce(Stopped { took, runs, failures, skipped }.message());
        self.messages.flush();
    }
}

/// Names of tasks, and how an error shows them.
fn shown<'a>(tasks: impl IntoIterator<Item = &'a str>) -> (Vec<String>, String) {
    let names: Vec<String> = tasks.into_iter().map(str::to_owned).collect();
    let shown: Vec<String> = names.iter().map(|name| format!("`{}`", on_one_line(name))).collect();
    (names, shown.join(", "))
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        let (running, now) = (&self.running, self.running.clock.wall());
        let tasks = &running.tasks;
        if !self.is_stopped {
            running.begin_stop(now);
            let has_run = !running.pools.are_idle() || tasks.totals().runs > 0;
            running.end_runs();
            if !has_run && tasks.registry().all().len() > 0 {
                running.messages.announce(dropped_too_early());
            }
            running.messages.flush();
        }
        // RACE: only now, as runs may begin until the pools are shut down.
        let is_idle = running.pools.are_idle();
        tasks.forget_all();
        // Listeners hear how a run ends that outlasts its scheduler; else nothing is left to be heard.
        if is_idle {
            running.bus.close();
            running.messages.close();
        }
    }
}
