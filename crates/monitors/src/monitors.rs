//! The listener, and its builder.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::{fmt, io};

use scheduler::{Clock, Event, EventKind, Listener, Outcome, SystemClock, TaskFacts};

use crate::inbox::{Inbox, Item};
use crate::monitor::Monitor;
use crate::ping::{Phase, Ping, RunIds, cut, message};
use crate::route::{Route, Scope};
use crate::worker::{Print, Worker};

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
    routes: Vec<Route>,
    ids: RunIds,
    redact: Box<Redact>,
}

/// Changes the text of a failure.
type Redact = dyn Fn(&str) -> String + Send + Sync;

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

/// Makes [`Monitors`].
#[must_use = "nothing is reported to monitors before the start"]
pub struct MonitorsBuilder {
    routes: Vec<(Scope, Arc<dyn Monitor>)>,
    clock: Arc<dyn Clock>,
    print: Arc<Print>,
    redact: Box<Redact>,
}

impl Monitors {
    /// Begins with no monitor.
    pub fn builder() -> MonitorsBuilder {
        MonitorsBuilder {
            routes: Vec::new(),
            clock: Arc::new(SystemClock::new()),
            print: Arc::new(|text| eprintln!("WARN  {text}")),
            redact: Box::new(str::to_owned),
        }
    }

    /// Sends the pings that wait or are held back, for at most so long in real time. Returns false when that was too short.
    /// A ping that its monitor does not take then has failed.
    ///
    /// To be called after the scheduler has stopped and before the process ends, which ends the threads that send.
    pub fn flush(&self, limit: Duration) -> bool {
        self.0.routes.iter().for_each(|route| route.inbox.begin_flush());
        let clock = SystemClock::new();
        let begin = clock.now();
        self.0
            .routes
            .iter()
            .all(|route| route.inbox.await_flush(limit.saturating_sub(clock.now().since(begin))))
    }

    /// The fates of all pings so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut sum = Counts::default();
        for route in &self.0.routes {
            let counts = &route.inbox.counts;
            // ORDERING: counts that nothing depends on.
            sum.sent += counts.sent.load(Ordering::Relaxed);
            sum.coalesced += counts.coalesced.load(Ordering::Relaxed);
            sum.failed += counts.failed.load(Ordering::Relaxed);
            sum.dropped += counts.dropped.load(Ordering::Relaxed);
        }
        sum
    }
}

impl MonitorsBuilder {
    /// Reports one task to a monitor, by its name, or by an end of its name that no other task has: `report` for
    /// `shop::jobs::report`.
    pub fn task(self, name: &str, monitor: impl Monitor + 'static) -> Self {
        self.route(Scope::Task(name.into()), monitor)
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
        self.routes.push((scope, Arc::new(monitor)));
        self
    }

    /// Changes the texts of failures before anyone else gets them, to take out secrets.
    pub fn redact(mut self, redact: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        self.redact = Box::new(redact);
        self
    }

    /// Prints the messages of the monitors in another way than to stderr.
    pub fn messages(mut self, print: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.print = Arc::new(print);
        self
    }

    /// The clock by which pings are paced; for tests.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Starts a thread for each monitor. They end when the last clone is dropped and all has been sent.
    ///
    /// # Errors
    ///
    /// When the system has no thread.
    pub fn start(self) -> io::Result<Monitors> {
        let mut shared = Shared { routes: Vec::new(), ids: RunIds::default(), redact: self.redact };
        for (scope, monitor) in self.routes {
            let inbox = Arc::new(Inbox::default());
            shared.routes.push(Route::new(scope, Arc::clone(&inbox)));
            let (clock, print) = (Arc::clone(&self.clock), Arc::clone(&self.print));
            let worker = Worker::new(monitor, inbox, clock, print);
            let thread = std::thread::Builder::new().name("scheduler-monitors".to_owned());
            thread.spawn(move || worker.run())?;
        }
        Ok(Monitors(Arc::new(shared)))
    }
}

impl Shared {
    /// The ping for an event about a task, if there is one.
    fn ping(&self, event: &Event, task: &Arc<TaskFacts>) -> Option<Ping> {
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
        let routes = &self.0.routes;
        match (&event.kind, &event.task) {
            (EventKind::TaskAdded { .. }, Some(task)) => {
                routes.iter().for_each(|route| route.add(task));
            }
            (EventKind::TaskEnded { .. }, Some(task)) => {
                let takers = routes.iter().filter(|route| route.takes(task));
                takers
                    .for_each(|route| route.inbox.push(Item::Ended(Arc::clone(&task.name)), true));
            }
            (EventKind::SchedulerStarted { .. }, _) => {
                for route in routes {
                    if let Some(problem) = route.problem() {
                        route.inbox.push(Item::Problem(problem), true);
                    }
                }
            }
            (EventKind::SchedulerStopped { .. }, _) => {
                routes.iter().for_each(|route| route.inbox.hurry());
            }
            (_, Some(task)) => {
                let takers: Vec<&Route> = routes.iter().filter(|route| route.takes(task)).collect();
                if !takers.is_empty()
                    && let Some(ping) = self.0.ping(event, task)
                {
                    let is_urgent = ping.phase == Phase::Failed;
                    for route in takers {
                        route.inbox.push(Item::Ping(ping.clone()), is_urgent);
                    }
                }
            }
            _ => {}
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.routes.iter().for_each(|route| route.inbox.close());
    }
}

impl fmt::Debug for Monitors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Monitors").field("counts", &self.counts()).finish_non_exhaustive()
    }
}

impl fmt::Debug for MonitorsBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.routes.iter().map(|(_, monitor)| monitor.name()).collect();
        f.debug_struct("MonitorsBuilder").field("monitors", &names).finish_non_exhaustive()
    }
}
