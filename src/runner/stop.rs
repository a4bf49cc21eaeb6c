//! The way a scheduler stops: no new runs, those in progress are waited for, then asked to stop.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;
use scheduler_core::Clock;

use super::Scheduler;
use super::context::Context;
use super::pools::Pools;
use super::tasks::Tasks;
use crate::error::StopError;
use crate::notice::Notice;
use crate::observe::Bus;
use crate::observe::Event;
use crate::observe::Totals;
use crate::run::Shutdown;
use crate::speech::NotStopped;
use crate::speech::StillRunning;
use crate::speech::StillWaiting;
use crate::speech::Stopped;
use crate::speech::Stopping;
use crate::speech::Voice;
use crate::speech::dropped_too_early;
use crate::speech::duration;
use crate::speech::on_one_line;

/// How long tasks have to end after they were asked to stop.
const GRACE: Duration = Duration::from_secs(1);

/// How often the stop says for whom it waits.
const REMINDER: Duration = Duration::from_secs(10);

/// How long listeners have to hear of what is left when everything else has ended.
const FLUSH: Duration = Duration::from_secs(1);

/// What a running scheduler is made of.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) pools: Pools,
    pub(super) bus: Arc<Bus>,
    pub(super) voice: Voice,
    /// How long a stop waits for runs in progress.
    pub(super) limit: Duration,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) shutdown: Shutdown,
    pub(super) tasks: Tasks,
    /// Dropped when the scheduler is: a runtime that was built for it ends then.
    pub(super) _context: Option<Context>,
}

impl Scheduler {
    pub(super) fn stop(mut self, hint: &str) -> Result<(), StopError> {
        self.is_stopped = true;
        self.running.stop(hint)
    }

    /// Stops on a thread of its own: the waiting is done by the pool's clock, which no runtime drives.
    pub(super) async fn stop_async(self, hint: &'static str) -> Result<(), StopError> {
        let outcome = Notice::new();
        let given = outcome.clone();
        let (limit, tasks) = (self.running.limit, self.running.tasks.clone());
        let now = self.running.clock.wall();
        let thread = thread::Builder::new().name("scheduler-stop".to_owned());
        match thread.spawn(move || given.give(self.stop(hint))) {
            Ok(_) => outcome.await,
            // Without a thread to wait on, dropping has stopped the pools.
            Err(_) => Err(StopError::new(duration(limit), names(&tasks.running(now)))),
        }
    }
}

impl Running {
    fn stop(&self, hint: &str) -> Result<(), StopError> {
        let begun = self.clock.wall();
        self.begin_stop(begun);
        let (running, limit) = (self.tasks.running(begun), self.limit);
        self.voice.say(&Stopping { running: &running, limit, hint }.message());
        let stopped = if self.await_runs() { Ok(()) } else { self.stop_runs() };
        self.announce_end(begun);
        stopped
    }

    /// Starts no new runs: first of all, because saying so may take its time, where a pipe is full, or a
    /// function slow.
    fn begin_stop(&self, at: DateTime<Utc>) {
        self.bus.emit(Event::SchedulerStopping { at });
        self.pools.shutdown();
        self.shutdown.request();
    }

    /// Waits for the runs in progress, and says now and then for which.
    fn await_runs(&self) -> bool {
        let mut left = self.limit;
        loop {
            let step = left.min(REMINDER);
            if self.await_end(step) {
                return true;
            }
            left -= step;
            if left.is_zero() {
                return false;
            }
            let running = self.tasks.running(self.clock.wall());
            self.voice.say(&StillWaiting { running: &running, left }.message());
        }
    }

    /// Asks the runs in progress to stop; it is no error if there are none.
    fn stop_runs(&self) -> Result<(), StopError> {
        let late = self.tasks.running(self.clock.wall());
        self.pools.shutdown_now();
        let _ = self.await_end(GRACE);
        let left = self.tasks.running(self.clock.wall());
        if !left.is_empty() {
            self.voice.say(&NotStopped { running: &left, limit: self.limit }.message());
        }
        if late.is_empty() {
            // The threads had not ended yet, but all runs had.
            return Ok(());
        }
        Err(StopError::new(duration(self.limit), names(&late)))
    }

    fn await_end(&self, limit: Duration) -> bool {
        self.pools.await_termination(&*self.clock, limit)
    }

    fn announce_end(&self, begun: DateTime<Utc>) {
        let at = self.clock.wall();
        let took = (at - begun).to_std().unwrap_or_default();
        let Totals { runs, failures, skipped } = self.tasks.totals();
        self.bus.emit(Event::SchedulerStopped { at, took });
        self.bus.flush(FLUSH);
        self.voice.say(&Stopped { took, runs, failures, skipped }.message());
    }
}

/// The names of tasks, in backticks.
fn names(running: &[StillRunning]) -> Vec<String> {
    running.iter().map(|each| format!("`{}`", on_one_line(&each.task))).collect()
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        if !self.is_stopped {
            self.running.begin_stop(self.running.clock.wall());
            self.running.pools.shutdown_now();
            let tasks = &self.running.tasks;
            if tasks.totals().runs == 0 && !tasks.controls().is_empty() {
                self.running.voice.say(&dropped_too_early());
            }
        }
        self.running.tasks.forget_all();
    }
}
