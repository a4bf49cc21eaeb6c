//! The thread that sends: waits on a clock, paces, tries again.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use scheduler_core::{Clock, Tick};

use crate::inbox::{Batch, Inbox, Item};
use crate::monitor::Monitor;
use crate::pacing::Pacing;
use crate::ping::Ping;
use crate::sender::{Refusal, Sender};

/// After how long a ping that was not taken is tried again, each time.
const AGAIN_AFTER: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(60)];

/// How many pings wait for another try at most.
const RETRIES_MAX: usize = 256;

/// How far apart messages are.
const MESSAGE_INTERVAL: Duration = Duration::from_secs(60);

/// Which tasks are reported to a monitor.
#[derive(Debug)]
pub(crate) enum Scope {
    All,
    Task(Named),
    Tagged(Arc<str>),
}

/// A task by its name, or by an end of it that no other task has.
#[derive(Debug)]
pub(crate) struct Named {
    name: Box<str>,
    /// The tasks that it could mean. Two are as ambiguous as more.
    meant: Mutex<Vec<Arc<str>>>,
}

impl Named {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.into(), meant: Mutex::default() }
    }

    fn could_mean(&self, task: &str) -> bool {
        let before = task.strip_suffix(&*self.name);
        before.is_some_and(|before| before.is_empty() || before.ends_with("::"))
    }

    fn know(&self, task: &Arc<str>) {
        let mut meant = self.meant.lock().unwrap_or_else(PoisonError::into_inner);
        if meant.len() < 2 && self.could_mean(task) && !meant.contains(task) {
            meant.push(Arc::clone(task));
        }
    }

    fn means(&self, task: &Arc<str>) -> bool {
        let meant = self.meant.lock().unwrap_or_else(PoisonError::into_inner);
        *self.name == **task || self.could_mean(task) && meant.iter().all(|it| it == task)
    }
}

/// A monitor and its tasks.
pub(crate) struct Route {
    pub(crate) scope: Scope,
    pub(crate) monitor: Box<dyn Monitor>,
}

impl Route {
    /// Notes that there is a task.
    pub(crate) fn know(&self, task: &Arc<str>) {
        if let Scope::Task(named) = &self.scope {
            named.know(task);
        }
    }

    pub(crate) fn takes(&self, task: &scheduler::TaskFacts) -> bool {
        match &self.scope {
            Scope::All => true,
            Scope::Task(named) => named.means(&task.name),
            Scope::Tagged(tag) => task.tags.contains(tag),
        }
    }
}

/// Prints a message.
pub(crate) type Print = dyn Fn(&str) + Send + Sync;

pub(crate) struct Worker {
    pub(crate) routes: Arc<[Route]>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) print: Box<Print>,
    pub(crate) sender: Sender,
    pub(crate) pacing: Pacing,
    pub(crate) retries: VecDeque<Retry>,
    pub(crate) troubles: Troubles,
}

/// A ping that a monitor has not taken.
pub(crate) struct Retry {
    ping: Ping,
    route: usize,
    tries: usize,
    due: Duration,
}

/// What has gone wrong since the last message.
#[derive(Debug, Default)]
pub(crate) struct Troubles {
    dropped: u64,
    failed: u64,
    last: Option<(String, String)>,
    told_at: Option<Duration>,
}

impl Worker {
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
        self.troubles.dropped += batch.dropped;
        for item in batch.items {
            let now = self.now();
            let ready = match item {
                Item::Ping(ping) => self.pacing.take(ping, now),
                Item::Ended(task) => self.pacing.end(&task),
            };
            if let Some(ping) = ready {
                self.tell_all(&ping);
            }
        }
        let is_last = batch.is_last || batch.is_closed;
        let is_flush = batch.is_flush || is_last;
        for ping in self.pacing.due(self.now(), is_flush) {
            self.tell_all(&ping);
        }
        self.try_again(is_flush, is_last);
        // ORDERING: a count that nothing depends on.
        self.inbox.counts.coalesced.store(self.pacing.coalesced, Ordering::Relaxed);
        self.report(is_flush);
    }

    fn tell_all(&mut self, ping: &Ping) {
        for route in 0..self.routes.len() {
            if self.routes[route].takes(&ping.task) {
                self.tell(ping, route, 0);
            }
        }
    }

    /// Sends a ping to one monitor, and keeps it for another try if need be.
    fn tell(&mut self, ping: &Ping, route: usize, tries: usize) {
        let monitor = &self.routes[route].monitor;
        // A monitor is code of the program: its panic costs one ping.
        let asked =
            catch_unwind(AssertUnwindSafe(|| (monitor.request(ping), monitor.name().to_owned())));
        let (result, name) = match asked {
            Ok((None, _)) => return,
            Ok((Some(request), name)) => (self.sender.send(&request), name),
            Err(_) => {
                let reason = "it panicked".to_owned();
                (Err(Refusal { reason, is_passing: false }), "a monitor".to_owned())
            }
        };
        let counts = &self.inbox.counts;
        let Err(refusal) = result else {
            counts.sent.fetch_add(1, Ordering::Relaxed);
            return;
        };
        match AGAIN_AFTER.get(tries) {
            Some(after) if refusal.is_passing && self.retries.len() < RETRIES_MAX => {
                let due = self.now() + *after;
                self.retries.push_back(Retry { ping: ping.clone(), route, tries: tries + 1, due });
            }
            _ => {
                counts.failed.fetch_add(1, Ordering::Relaxed);
                self.troubles.failed += 1;
                self.troubles.last = Some((name, refusal.reason));
            }
        }
    }

    /// Sends again what failed and is due; with `all`, everything. With `is_last`, what fails again is given up.
    fn try_again(&mut self, all: bool, is_last: bool) {
        for _ in 0..self.retries.len() {
            let Some(retry) = self.retries.pop_front() else { return };
            if all || self.now() >= retry.due {
                let tries = if is_last { AGAIN_AFTER.len() } else { retry.tries };
                self.tell(&retry.ping, retry.route, tries);
            } else {
                self.retries.push_back(retry);
            }
        }
    }

    /// When there is something to do, if nothing comes.
    fn next(&self) -> Option<Duration> {
        let retries = self.retries.iter().map(|retry| retry.due);
        let message = self.troubles.due();
        retries.chain(self.pacing.next()).chain(message).min()
    }

    /// Says what has gone wrong, at most once a minute.
    fn report(&mut self, is_last: bool) {
        let now = self.now();
        let Some(due) = self.troubles.due() else { return };
        if now >= due || is_last {
            let text = self.troubles.text();
            self.troubles = Troubles { told_at: Some(now), ..Troubles::default() };
            // What prints is code of the program, too.
            let _ = catch_unwind(AssertUnwindSafe(|| (self.print)(&text)));
        }
    }
}

impl Troubles {
    /// When there is something to say, and when it may be said.
    fn due(&self) -> Option<Duration> {
        let is_trouble = self.dropped > 0 || self.failed > 0;
        is_trouble.then(|| self.told_at.map_or(Duration::ZERO, |at| at + MESSAGE_INTERVAL))
    }

    fn text(&self) -> String {
        let pings =
            |count: u64| if count == 1 { "1 ping".to_owned() } else { format!("{count} pings") };
        let mut texts = Vec::new();
        if self.failed > 0 {
            let last = self
                .last
                .as_ref()
                .map(|(name, reason)| format!("; the last time {name}: {reason}"));
            texts.push(format!(
                "{} could not be sent{}",
                pings(self.failed),
                last.unwrap_or_default()
            ));
        }
        if self.dropped > 0 {
            texts.push(format!("{} did not fit into the queue", pings(self.dropped)));
        }
        format!("monitors: {}", texts.join(", and "))
    }
}

fn tick(time: Duration) -> Tick {
    Tick::from_nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}
