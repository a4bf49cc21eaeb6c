//! The listener, and its builder.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::{fmt, io};

use scheduler::{Clock, Event, EventKind, Listener, Outcome, SystemClock};

use crate::inbox::{Inbox, Item};
use crate::monitor::Monitor;
use crate::ping::{Phase, Ping, RunIds, cut, message};
use crate::sender::Sender;
use crate::worker::{Named, Print, Route, Scope, Worker};

/// Reports the runs of a scheduler to monitors: a [`Listener`].
///
/// It is handed to [`Builder::listener`](scheduler::Builder::listener). Clones are the same: keep one to
/// [`flush`](Self::flush) at the end.
///
/// ```no_run
/// use scheduler::Scheduler;
/// use scheduler_monitors::{Healthchecks, Monitors};
/// use std::time::Duration;
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let key = std::env::var("HC_PING_KEY")?;
///     let monitors = Monitors::builder()
///         .all(Healthchecks::project(format!("https://hc-ping.com/{key}")))
///         .start()?;
///     Scheduler::builder().listener(monitors.clone()).start()?;
///     monitors.flush(Duration::from_secs(5));
///     Ok(())
/// }
/// ```
#[derive(Clone)]
pub struct Monitors(Arc<Shared>);

struct Shared {
    inbox: Arc<Inbox>,
    routes: Arc<[Route]>,
    ids: RunIds,
    redact: Box<Redact>,
}

/// Changes the text of a failure.
type Redact = dyn Fn(&str) -> String + Send + Sync;

/// What has become of all pings so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// A monitor has taken them.
    pub sent: u64,
    /// They were not needed: a later one, or another one of the same run, says more.
    pub coalesced: u64,
    /// A monitor has not taken them, however often it was tried.
    pub failed: u64,
    /// There was no room for them in the queue.
    pub dropped: u64,
}

/// Makes [`Monitors`].
#[must_use = "nothing is reported to monitors before the start"]
pub struct MonitorsBuilder {
    routes: Vec<Route>,
    clock: Arc<dyn Clock>,
    print: Box<Print>,
    redact: Box<Redact>,
}

impl Monitors {
    /// Begins with no monitor.
    pub fn builder() -> MonitorsBuilder {
        MonitorsBuilder {
            routes: Vec::new(),
            clock: Arc::new(SystemClock::new()),
            print: Box::new(|text| eprintln!("WARN  {text}")),
            redact: Box::new(str::to_owned),
        }
    }

    /// Sends what waits and what is held back, for at most so long in real time. Returns false when that was too short.
    /// What a monitor does not take then has failed: it is not tried again.
    ///
    /// To be called after the scheduler has stopped and before the process ends, which ends the thread that sends.
    pub fn flush(&self, limit: Duration) -> bool {
        self.0.inbox.flush(limit)
    }

    /// What has become of all pings so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let counts = &self.0.inbox.counts;
        // ORDERING: counts that nothing depends on.
        Counts {
            sent: counts.sent.load(Ordering::Relaxed),
            coalesced: counts.coalesced.load(Ordering::Relaxed),
            failed: counts.failed.load(Ordering::Relaxed),
            dropped: counts.dropped.load(Ordering::Relaxed),
        }
    }
}

impl MonitorsBuilder {
    /// Reports one task to a monitor, by its name, or by an end of its name that no other task has: `report` for
    /// `shop::jobs::report`.
    pub fn task(self, name: &str, monitor: impl Monitor + 'static) -> Self {
        self.route(Scope::Task(Named::new(name)), monitor)
    }

    /// Reports the tasks with a tag to a monitor.
    pub fn tagged(self, tag: &str, monitor: impl Monitor + 'static) -> Self {
        self.route(Scope::Tagged(tag.into()), monitor)
    }

    /// Reports all tasks to a monitor.
    pub fn all(self, monitor: impl Monitor + 'static) -> Self {
        self.route(Scope::All, monitor)
    }

    fn route(mut self, scope: Scope, monitor: impl Monitor + 'static) -> Self {
        self.routes.push(Route { scope, monitor: Box::new(monitor) });
        self
    }

    /// Changes the texts of failures before anyone else gets them, to take out secrets.
    pub fn redact(mut self, redact: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        self.redact = Box::new(redact);
        self
    }

    /// Prints the messages of the monitors in another way than to stderr.
    pub fn messages(mut self, print: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.print = Box::new(print);
        self
    }

    /// The clock by which pings are paced; for tests.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Starts the thread that sends. It ends when the last clone is dropped and all has been sent.
    ///
    /// # Errors
    ///
    /// When the system has no thread.
    pub fn start(self) -> io::Result<Monitors> {
        let (inbox, routes) = (Arc::new(Inbox::default()), Arc::from(self.routes));
        let worker = Worker {
            routes: Arc::clone(&routes),
            inbox: Arc::clone(&inbox),
            clock: self.clock,
            print: self.print,
            sender: Sender::default(),
            pacing: Default::default(),
            retries: Default::default(),
            troubles: Default::default(),
        };
        let thread = std::thread::Builder::new().name("scheduler-monitors".to_owned());
        thread.spawn(move || worker.run())?;
        let (ids, redact) = (RunIds::default(), self.redact);
        Ok(Monitors(Arc::new(Shared { inbox, routes, ids, redact })))
    }
}

impl Shared {
    /// The ping for an event, if monitors need one.
    fn ping(&self, event: &Event) -> Option<Ping> {
        let task = event.task.as_ref()?;
        if !self.routes.iter().any(|route| route.takes(task)) {
            return None;
        }
        let (run, phase, message, took) = match &event.kind {
            EventKind::RunStarted { run, .. } if run.attempt == 1 => {
                (run, Phase::Started, None, None)
            }
            EventKind::RunFinished { run, outcome, took, .. } => {
                let message = outcome.failure().map(message);
                let phase = match outcome {
                    Outcome::Success => Phase::Succeeded,
                    Outcome::Cancelled => Phase::Cancelled,
                    Outcome::Refused(_) => return None,
                    _ => Phase::Failed,
                };
                (run, phase, message, Some(*took))
            }
            _ => return None,
        };
        let message = message.map(|text| {
            let mut text = (self.redact)(&text);
            cut(&mut text, crate::ping::MESSAGE_BYTES_MAX);
            Arc::from(text)
        });
        let run = self.ids.of(&task.name, run.number);
        Some(Ping { task: Arc::clone(task), run, phase, message, took, at: event.at })
    }
}

impl Listener for Monitors {
    fn on_event(&self, event: &Event) {
        let inbox = &self.0.inbox;
        match (&event.kind, &event.task) {
            (EventKind::TaskAdded { .. }, Some(task)) => {
                self.0.routes.iter().for_each(|route| route.know(&task.name));
            }
            (EventKind::TaskEnded { .. }, Some(task)) => {
                inbox.push(Item::Ended(Arc::clone(&task.name)), true);
            }
            (EventKind::SchedulerStopped { .. }, _) => inbox.hurry(),
            _ => {
                if let Some(ping) = self.0.ping(event) {
                    let is_urgent = ping.phase == Phase::Failed;
                    inbox.push(Item::Ping(ping), is_urgent);
                }
            }
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.inbox.close();
    }
}

impl fmt::Debug for Monitors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Monitors").field("counts", &self.counts()).finish_non_exhaustive()
    }
}

impl fmt::Debug for MonitorsBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.routes.iter().map(|route| route.monitor.name()).collect();
        f.debug_struct("MonitorsBuilder").field("monitors", &names).finish_non_exhaustive()
    }
}
