//! A running scheduler, and its stop.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_core::Clock;

use super::context::Context;
#[cfg(feature = "durable")]
use super::durable::Durable;
use super::entry_points::Annotated;
use super::error::StopError;
use super::pools::Pools;
use super::pools::Watch;
use super::report::{
    Messages, StillRunning, cancelled, dropped_too_early, not_stopped, still_waiting, stopped,
    stopping, undelivered,
};
use super::tasks::Tasks;
use crate::observe::{Bus, Event, EventKind, catch, duration, on_one_line};
use crate::run::Shutdown;
use crate::run::inject::States;

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
    pub(super) fn stop_dropped(&self) {
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
