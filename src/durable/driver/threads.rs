//! The threads of a driver.

use std::io;
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::Duration;

use scheduler_core::time::EventCount;
use scheduler_node::{Channel, Input, Tick};
use scheduler_store::Watch;

use super::effects::{NodeDriver, paused_kinds};

/// For how long the watch waits at a time, and after an error.
const WATCH: Duration = Duration::from_secs(1);

impl NodeDriver {
    /// Starts the threads, and the node with them.
    ///
    /// # Errors
    ///
    /// A thread cannot be started.
    pub(crate) fn start_threads(self: &Arc<Self>) -> io::Result<()> {
        for channel in [Channel::Store, Channel::Lease] {
            self.start_thread(channel, self.slot(channel).thread())?;
        }
        if let Some(watch) = self.store.watch() {
            let driver = Arc::clone(self);
            spawn("scheduler-watch", move || driver.watch_with(watch))?;
        }
        let driver = Arc::clone(self);
        spawn("scheduler-node", move || driver.keep_time())
    }

    /// Starts a thread that asks the store.
    fn start_thread(self: &Arc<Self>, channel: Channel, thread: u64) -> io::Result<()> {
        let name = match channel {
            Channel::Store => "scheduler-store",
            Channel::Lease => "scheduler-lease",
        };
        let driver = Arc::clone(self);
        spawn(name, move || driver.ask_for(channel, thread))
    }

    /// Asks the store what the node wants to know.
    fn ask_for(&self, channel: Channel, thread: u64) {
        let slot = self.slot(channel);
        while let Some((request, what)) = slot.receive(&*self.clock, thread) {
            let answer = self.ask(request, &what);
            slot.answered(request);
            let paused = paused_kinds(&answer);
            // The answer to a request that was given up is none, and the node knows that.
            self.input(answer);
            self.heard(&what, paused);
        }
    }

    /// Gives up requests whose deadline has come: the store's call hangs, and another thread asks what is next.
    pub(super) fn give_up_requests(&self) {
        for channel in [Channel::Store, Channel::Lease] {
            let given_up = self.slot(channel).give_up(self.now());
            let Some((request, thread)) = given_up else { continue };
            let started = self.me.upgrade().map(|driver| driver.start_thread(channel, thread));
            if !matches!(started, Some(Ok(()))) {
                self.slot(channel).keep_thread();
            }
            self.input(Input::NoAnswer { request });
        }
    }

    /// Steps the node whenever its time has come, until it has stopped.
    fn keep_time(&self) {
        while !self.has_stopped() {
            let seen = self.timer.epoch();
            // RACE: a thread that steps the node meanwhile sees that this one is not waiting, and opens the gate.
            self.arm(Tick::MAX);
            let wake = self.step_node();
            self.arm(wake);
            if self.next_wake() < wake {
                continue;
            }
            let left = wake.since(self.now());
            let until = (wake != Tick::MAX).then(|| self.clock.now() + left);
            self.clock.wait(&self.timer, seen, until);
        }
    }

    fn arm(&self, wake: Tick) {
        *self.armed.lock().unwrap_or_else(PoisonError::into_inner) = wake;
    }

    /// Waits for changes by other processes.
    fn watch_with(&self, mut watch: Box<dyn Watch>) {
        let pause = Arc::new(EventCount::new());
        while !self.has_stopped() {
            match watch.wait(WATCH) {
                Ok(true) => self.nudge(),
                Ok(false) => {}
                Err(_) => {
                    let until = self.clock.now() + WATCH;
                    self.clock.wait(&pause, pause.epoch(), Some(until));
                }
            }
        }
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(body).map(drop)
}
