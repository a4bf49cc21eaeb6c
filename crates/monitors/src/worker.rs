//! The thread of a monitor: it takes what waits for it, sends it, and tries again.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use scheduler_core::time::EventCount;
use scheduler_core::{Clock, Tick};
use ureq::http::{Response, Uri, header};
use ureq::{Agent, Body};

use crate::pacing::Pacing;
use crate::services::{Monitor, Ping, Request};

/// The most items that wait; the last quarter is for failures and ends.
const CAPACITY: usize = 1_024;
/// The waits before a ping is tried again.
const RETRY_AFTER: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(60)];
/// The longest wait that a service may ask for.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(3_600);
/// The most pings that wait to be tried again.
const RETRIES_MAX: usize = 256;
/// The least time between two messages of one sort.
const MESSAGE_INTERVAL: Duration = Duration::from_secs(60);
/// The time that a service may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The most redirects that are followed.
const REDIRECTS_MAX: usize = 3;

/// Writes a message.
pub(crate) type Print = dyn Fn(&str) + Send + Sync;

/// The fates of all pings so far, summed up over the monitors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// A monitor has taken them.
    pub sent: u64,
    /// A later ping, or another one of the same run, says more.
    pub coalesced: u64,
    /// A monitor has not taken them after three tries.
    pub failed: u64,
    /// The queue was full.
    pub dropped: u64,
}

/// An item that waits for a worker.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Ping(Ping),
    /// The task has ended.
    Ended(Arc<str>),
    /// Why the route takes no task.
    Problem(String),
}

/// The way from the listener to a worker.
#[derive(Debug, Default)]
pub(crate) struct PingInbox {
    batch: Mutex<PingBatch>,
    settled: Condvar,
    gate: Arc<EventCount>,
}

/// The items that a worker takes at once.
#[derive(Debug, Default)]
pub(crate) struct PingBatch {
    items: VecDeque<Item>,
    dropped: u64,
    /// Held pings are sent, and failed ones tried again.
    pub(crate) is_flush: bool,
    /// The same, for the last time.
    pub(crate) is_last: bool,
    pub(crate) is_closed: bool,
    /// The worker has taken one, and has not settled it.
    is_busy: bool,
    pub(crate) counts: Counts,
}

impl PingInbox {
    pub(crate) fn push(&self, item: Item, is_urgent: bool) {
        let limit = if is_urgent { CAPACITY } else { CAPACITY - CAPACITY / 4 };
        self.set(|batch| {
            if batch.items.len() < limit {
                batch.items.push_back(item);
            } else {
                batch.dropped += 1;
                batch.counts.dropped += 1;
            }
        });
    }

    /// Changes what waits, and wakes the worker.
    pub(crate) fn set(&self, change: impl FnOnce(&mut PingBatch)) {
        change(&mut self.lock());
        self.gate.open();
    }

    fn take(&self) -> PingBatch {
        let mut batch = self.lock();
        let (is_closed, counts) = (batch.is_closed, batch.counts);
        std::mem::replace(
            &mut *batch,
            PingBatch { is_closed, counts, is_busy: true, ..PingBatch::default() },
        )
    }

    pub(crate) fn await_flush(&self, limit: Duration) -> bool {
        let is_at_work =
            |batch: &mut PingBatch| batch.is_busy || batch.is_last || !batch.items.is_empty();
        let flushed = self.settled.wait_timeout_while(self.lock(), limit, is_at_work);
        !flushed.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, PingBatch> {
        self.batch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The worker of a route.
pub(crate) struct MonitorWorker {
    monitor: Arc<dyn Monitor>,
    name: String,
    inbox: Arc<PingInbox>,
    clock: Arc<dyn Clock>,
    print: Arc<Print>,
    agent: Agent,
    pacing: Pacing,
    retries: Vec<PingAttempt>,
    next_number: u64,
    /// The last attempt of each task that the service has taken.
    taken: HashMap<Arc<str>, u64>,
    /// The service wants none before.
    not_before: Duration,
    dropped: u64,
    failed: u64,
    /// The reason of the last failure.
    last_failure: String,
    summed_up_at: Option<Duration>,
    is_away: bool,
    away_at: Option<Duration>,
}

/// A ping on its way.
struct PingAttempt {
    ping: Ping,
    number: u64,
    refusals: usize,
    due: Duration,
}

/// Why a service did not take a ping.
struct PingRefusal {
    reason: String,
    is_temporary: bool,
    retry_after: Option<Duration>,
}

impl MonitorWorker {
    pub(crate) fn new(
        monitor: Arc<dyn Monitor>,
        inbox: Arc<PingInbox>,
        clock: Arc<dyn Clock>,
        print: Arc<Print>,
    ) -> Self {
        // A monitor is code of the program.
        let name = catch_unwind(AssertUnwindSafe(|| monitor.name().to_owned()));
        let agent = Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .http_status_as_error(false)
            // A redirect to another host would carry the secret address there: `deliver` follows them itself.
            .max_redirects(0)
            .user_agent(concat!("scheduler-monitors/", env!("CARGO_PKG_VERSION")))
            .build();
        Self {
            monitor,
            name: name.unwrap_or_else(|_| "a monitor".to_owned()),
            inbox,
            clock,
            print,
            agent: agent.into(),
            pacing: Pacing::default(),
            retries: Vec::new(),
            next_number: 0,
            taken: HashMap::new(),
            not_before: Duration::ZERO,
            dropped: 0,
            failed: 0,
            last_failure: String::new(),
            summed_up_at: None,
            is_away: false,
            away_at: None,
        }
    }

    pub(crate) fn run(mut self) {
        loop {
            let seen = self.inbox.gate.epoch();
            let batch = self.inbox.take();
            let is_last = batch.is_closed;
            self.work(batch);
            self.inbox.lock().is_busy = false;
            self.inbox.settled.notify_all();
            if is_last {
                return;
            }
            let next = self.next().map(|at| u64::try_from(at.as_nanos()).unwrap_or(u64::MAX));
            self.clock.wait(&self.inbox.gate, seen, next.map(Tick::from_nanos));
        }
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(self.clock.now().as_nanos())
    }

    fn work(&mut self, batch: PingBatch) {
        self.dropped += batch.dropped;
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
            ready.into_iter().for_each(|ping| self.begin(ping));
        }
        let is_last = batch.is_last || batch.is_closed;
        let is_flush = batch.is_flush || is_last;
        for ping in self.pacing.due(self.now(), is_flush) {
            self.begin(ping);
        }
        self.try_again(is_flush, is_last);
        let coalesced = self.pacing.take_coalesced();
        self.inbox.lock().counts.coalesced += coalesced;
        self.sum_up(is_flush);
    }

    fn begin(&mut self, ping: Ping) {
        let number = self.next_number;
        self.next_number += 1;
        self.send(PingAttempt { ping, number, refusals: 0, due: Duration::ZERO });
    }

    fn send(&mut self, attempt: PingAttempt) {
        // A service would take an old start for a run in progress, and an old end for news.
        if self.taken.get(&attempt.ping.task.name).is_some_and(|taken| *taken > attempt.number) {
            self.inbox.lock().counts.coalesced += 1;
            return;
        }
        if attempt.refusals < RETRY_AFTER.len() && self.now() < self.not_before {
            let due = self.not_before;
            return self.keep(PingAttempt { due, ..attempt });
        }
        let request = catch_unwind(AssertUnwindSafe(|| self.monitor.request(&attempt.ping)));
        let result = match request {
            Ok(None) => return,
            Ok(Some(request)) => self.deliver(request),
            Err(_) => Err(PingRefusal::lasting("it panicked")),
        };
        match result {
            Ok(()) => {
                self.inbox.lock().counts.sent += 1;
                let taken = self.taken.entry(Arc::clone(&attempt.ping.task.name)).or_default();
                *taken = attempt.number.max(*taken);
                if std::mem::take(&mut self.is_away) {
                    self.print(&format!("{} takes pings again", self.name));
                }
            }
            Err(refusal) => self.refused(attempt, refusal),
        }
    }

    fn refused(&mut self, attempt: PingAttempt, refusal: PingRefusal) {
        let now = self.now();
        if let Some(wait) = refusal.retry_after {
            self.not_before = now + wait.min(RETRY_AFTER_MAX);
        }
        match RETRY_AFTER.get(attempt.refusals) {
            Some(wait) if refusal.is_temporary => {
                if !self.is_away && self.away_at.is_none_or(|at| now >= at + MESSAGE_INTERVAL) {
                    (self.is_away, self.away_at) = (true, Some(now));
                    let (name, reason) = (&self.name, &refusal.reason);
                    self.print(&format!("{name} is away: {reason}; pings are tried again"));
                }
                let due = (now + *wait).max(self.not_before);
                self.keep(PingAttempt { refusals: attempt.refusals + 1, due, ..attempt });
            }
            _ => self.fail(refusal.reason),
        }
    }

    fn keep(&mut self, attempt: PingAttempt) {
        match self.retries.len() < RETRIES_MAX {
            true => self.retries.push(attempt),
            false => self.fail("too many pings wait for it".to_owned()),
        }
    }

    fn fail(&mut self, reason: String) {
        self.inbox.lock().counts.failed += 1;
        (self.failed, self.last_failure) = (self.failed + 1, reason);
    }

    fn try_again(&mut self, all: bool, is_last: bool) {
        let now = self.now();
        let is_due = |attempt: &PingAttempt| all || now >= attempt.due;
        let (mut due, later): (Vec<_>, Vec<_>) = self.retries.drain(..).partition(is_due);
        self.retries = later;
        due.sort_by_key(|attempt| attempt.number);
        for attempt in due {
            let refusals = if is_last { RETRY_AFTER.len() } else { attempt.refusals };
            self.send(PingAttempt { refusals, ..attempt });
        }
    }

    /// When the failures are summed up, if there were any.
    fn sum_up_at(&self) -> Option<Duration> {
        let is_trouble = self.dropped > 0 || self.failed > 0;
        is_trouble.then(|| self.summed_up_at.map_or(Duration::ZERO, |at| at + MESSAGE_INTERVAL))
    }

    fn sum_up(&mut self, at_once: bool) {
        let now = self.now();
        if self.sum_up_at().is_none_or(|at| now < at && !at_once) {
            return;
        }
        let pings = |count| if count == 1 { "1 ping".to_owned() } else { format!("{count} pings") };
        let (failed, name, last) = (pings(self.failed), &self.name, &self.last_failure);
        let mut texts = Vec::new();
        if self.failed > 0 {
            texts.push(format!("{failed} could not be sent; the last time {name}: {last}"));
        }
        if self.dropped > 0 {
            texts.push(format!("{} did not fit into the queue", pings(self.dropped)));
        }
        self.print(&texts.join(", and "));
        (self.failed, self.dropped, self.summed_up_at) = (0, 0, Some(now));
    }

    fn next(&self) -> Option<Duration> {
        let retries = self.retries.iter().map(|attempt| attempt.due);
        retries.chain(self.pacing.next()).chain(self.sum_up_at()).min()
    }

    fn print(&self, text: &str) {
        let _ = catch_unwind(AssertUnwindSafe(|| (self.print)(&format!("monitors: {text}"))));
    }

    fn deliver(&self, mut request: Request) -> Result<(), PingRefusal> {
        for _ in 0..=REDIRECTS_MAX {
            let response = match &request.body {
                None => self.agent.get(&request.url).call(),
                Some((kind, body)) => {
                    let post = self.agent.post(&request.url).header(header::CONTENT_TYPE, *kind);
                    post.send(body.as_bytes())
                }
            };
            let response = response.map_err(|error| refusal(&error))?;
            let status = response.status();
            if status.is_success() {
                return Ok(());
            }
            if !status.is_redirection() {
                let (status, retry_after) = (status.as_u16(), retry_after(&response));
                let is_temporary = status == 408 || status == 429 || status >= 500;
                return Err(PingRefusal {
                    reason: format!("it answered {status}"),
                    is_temporary,
                    retry_after,
                });
            }
            let url = redirect(&request.url, &response);
            let url = url.ok_or_else(|| PingRefusal::lasting("it redirects to another host"))?;
            let body = request.body.filter(|_| matches!(status.as_u16(), 307 | 308));
            request = Request { url, body };
        }
        Err(PingRefusal::lasting(&format!("it redirects more than {REDIRECTS_MAX} times")))
    }
}

impl PingRefusal {
    fn lasting(reason: &str) -> Self {
        Self { reason: reason.to_owned(), is_temporary: false, retry_after: None }
    }
}

/// The pause that a service asks for in seconds.
fn retry_after(response: &Response<Body>) -> Option<Duration> {
    let seconds = response.headers().get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse();
    seconds.ok().map(Duration::from_secs)
}

/// The address of a redirect if it has the scheme, host and port of the request.
fn redirect(from: &str, response: &Response<Body>) -> Option<String> {
    let target = response.headers().get(header::LOCATION)?.to_str().ok()?;
    let from: Uri = from.parse().ok()?;
    let to: Uri = target.parse().ok()?;
    match to.authority() {
        Some(authority) if to.scheme() == from.scheme() && Some(authority) == from.authority() => {
            Some(target.to_owned())
        }
        None if target.starts_with('/') => {
            Some(format!("{}://{}{target}", from.scheme_str()?, from.authority()?))
        }
        _ => None,
    }
}

fn refusal(error: &ureq::Error) -> PingRefusal {
    let is_temporary = !matches!(error, ureq::Error::BadUri(_) | ureq::Error::Http(_));
    PingRefusal { reason: reason(error), is_temporary, retry_after: None }
}

/// The error without the address, which is a secret.
fn reason(error: &ureq::Error) -> String {
    match error {
        ureq::Error::BadUri(_) | ureq::Error::Http(_) => "its address is not a URL".to_owned(),
        ureq::Error::Timeout(_) => format!("it did not answer within {TIMEOUT:?}"),
        ureq::Error::HostNotFound => "its host is not known".to_owned(),
        ureq::Error::Io(error) => format!("no connection: {error}"),
        ureq::Error::TlsRequired => "`https` needs the feature `tls`".to_owned(),
        other => format!("no answer: {other}"),
    }
}
