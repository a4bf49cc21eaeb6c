//! The thread of one monitor: waits on a clock, paces, sends, tries again.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use scheduler_core::{Clock, Tick};

use crate::failures::Failures;
use crate::inbox::{Batch, Inbox, Item};
use crate::monitor::Monitor;
use crate::pacing::Pacing;
use crate::ping::Ping;
use crate::sender::{Refusal, Sender};

/// The waits before the second and the third try.
const RETRY_AFTER: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(60)];

/// The longest wait that a service may ask for.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(3_600);

/// The most pings that wait for another try.
const RETRIES_MAX: usize = 256;

/// Prints a message.
pub(crate) type Print = dyn Fn(&str) + Send + Sync;

pub(crate) struct Worker {
    monitor: Arc<dyn Monitor>,
    /// The name of the monitor in messages.
    name: String,
    inbox: Arc<Inbox>,
    clock: Arc<dyn Clock>,
    print: Arc<Print>,
    sender: Sender,
    pacing: Pacing,
    retries: Vec<Attempt>,
    /// The number of the next ping that leaves the pacing.
    next_number: u64,
    /// By task, the greatest number that the monitor has taken.
    taken: HashMap<Arc<str>, u64>,
    /// The service asked for no request before this time.
    not_before: Duration,
    failures: Failures,
}

/// A ping on its way to the monitor.
struct Attempt {
    ping: Ping,
    number: u64,
    /// The number of refusals.
    refusals: usize,
    due: Duration,
}

impl Worker {
    pub(crate) fn new(
        monitor: Arc<dyn Monitor>,
        inbox: Arc<Inbox>,
        clock: Arc<dyn Clock>,
        print: Arc<Print>,
    ) -> Self {
        // A monitor is code of the program.
        let name = catch_unwind(AssertUnwindSafe(|| monitor.name().to_owned()));
        Self {
            monitor,
            name: name.unwrap_or_else(|_| "a monitor".to_owned()),
            inbox,
            clock,
            print,
            sender: Sender::default(),
            pacing: Pacing::default(),
            retries: Vec::new(),
            next_number: 0,
            taken: HashMap::new(),
            not_before: Duration::ZERO,
            failures: Failures::default(),
        }
    }

    /// Sends until the inbox is closed and empty.
    pub(crate) fn run(mut self) {
        loop {
            let seen = self.inbox.gate.epoch();
            let batch = self.inbox.take();
            let is_last = batch.is_closed;
            self.work(batch);
            self.inbox.rest();
            if is_last {
                return;
            }
            self.clock.wait(&self.inbox.gate, seen, self.next().map(tick));
        }
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(self.clock.now().as_nanos())
    }

    fn work(&mut self, batch: Batch) {
        self.failures.dropped += batch.dropped;
        for item in batch.items {
            let now = self.now();
            let ready = match item {
                Item::Ping(ping) => self.pacing.take(ping, now),
                Item::Ended(task) => {
                    let held = self.pacing.end(&task);
                    if !self.retries.iter().any(|attempt| attempt.ping.task.name == task) {
                        self.taken.remove(&task);
                    }
                    held
                }
                Item::Problem(text) => {
                    self.print(&format!("{} gets no pings: {text}", self.name));
                    None
                }
            };
            if let Some(ping) = ready {
                self.begin(ping);
            }
        }
        let is_last = batch.is_last || batch.is_closed;
        let is_flush = batch.is_flush || is_last;
        for ping in self.pacing.due(self.now(), is_flush) {
            self.begin(ping);
        }
        self.try_again(is_flush, is_last);
        self.inbox.counts.coalesced.fetch_add(self.pacing.take_coalesced(), Ordering::Relaxed);
        if let Some(text) = self.failures.message(&self.name, self.now(), is_flush) {
            self.print(&text);
        }
    }

    fn begin(&mut self, ping: Ping) {
        let number = self.next_number;
        self.next_number += 1;
        self.send(Attempt { ping, number, refusals: 0, due: Duration::ZERO });
    }

    /// Sends a ping unless the monitor has a newer one of the task, and keeps it for another try if need be.
    fn send(&mut self, attempt: Attempt) {
        let counts = &self.inbox.counts;
        // A service would take an old start for a run in progress, and an old end for news.
        if self.taken.get(&attempt.ping.task.name).is_some_and(|taken| *taken > attempt.number) {
            counts.coalesced.fetch_add(1, Ordering::Relaxed);
            return;
        }
        if attempt.refusals < RETRY_AFTER.len() && self.now() < self.not_before {
            let due = self.not_before;
            return self.keep(Attempt { due, ..attempt });
        }
        let result = match self.request(&attempt.ping) {
            Ok(None) => return,
            Ok(Some(request)) => self.sender.send(&request),
            Err(refusal) => Err(refusal),
        };
        match result {
            Ok(()) => {
                counts.sent.fetch_add(1, Ordering::Relaxed);
                let taken = self.taken.entry(Arc::clone(&attempt.ping.task.name)).or_default();
                *taken = attempt.number.max(*taken);
                if let Some(text) = self.failures.is_back(&self.name) {
                    self.print(&text);
                }
            }
            Err(refusal) => self.refused(attempt, refusal),
        }
    }

    /// The request for a ping. A monitor is code of the program: its panic costs one ping.
    fn request(&self, ping: &Ping) -> Result<Option<crate::ping::Request>, Refusal> {
        let request = catch_unwind(AssertUnwindSafe(|| self.monitor.request(ping)));
        request.map_err(|_| Refusal::lasting("it panicked"))
    }

    fn refused(&mut self, attempt: Attempt, refusal: Refusal) {
        let now = self.now();
        if let Some(wait) = refusal.retry_after {
            self.not_before = now + wait.min(RETRY_AFTER_MAX);
        }
        match RETRY_AFTER.get(attempt.refusals) {
            Some(wait) if refusal.is_temporary => {
                if let Some(text) = self.failures.is_away(&self.name, &refusal.reason, now) {
                    self.print(&text);
                }
                let due = (now + *wait).max(self.not_before);
                self.keep(Attempt { refusals: attempt.refusals + 1, due, ..attempt });
            }
            _ => self.fail(refusal.reason),
        }
    }

    fn keep(&mut self, attempt: Attempt) {
        if self.retries.len() < RETRIES_MAX {
            self.retries.push(attempt);
        } else {
            self.fail("too many pings wait for it".to_owned());
        }
    }

    fn fail(&mut self, reason: String) {
        self.inbox.counts.failed.fetch_add(1, Ordering::Relaxed);
        self.failures.failed(reason);
    }

    /// Sends again what is due, oldest first; with `all`, everything. With `is_last`, each ping has its last try.
    fn try_again(&mut self, all: bool, is_last: bool) {
        let now = self.now();
        let is_due = |attempt: &Attempt| all || now >= attempt.due;
        let (mut due, later): (Vec<_>, Vec<_>) = self.retries.drain(..).partition(is_due);
        self.retries = later;
        due.sort_by_key(|attempt| attempt.number);
        for attempt in due {
            let refusals = if is_last { RETRY_AFTER.len() } else { attempt.refusals };
            self.send(Attempt { refusals, ..attempt });
        }
    }

    /// The time of the next thing to do, if nothing comes.
    fn next(&self) -> Option<Duration> {
        let retries = self.retries.iter().map(|attempt| attempt.due);
        retries.chain(self.pacing.next()).chain(self.failures.due()).min()
    }

    /// The function that prints is code of the program.
    fn print(&self, text: &str) {
        let _ = catch_unwind(AssertUnwindSafe(|| (self.print)(&format!("monitors: {text}"))));
    }
}

fn tick(time: Duration) -> Tick {
    Tick::from_nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}
