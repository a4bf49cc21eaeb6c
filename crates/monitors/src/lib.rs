//! [healthchecks]: Healthchecks
//! [sentry]: Sentry
//! [cronitor]: Cronitor
//! [monitor]: Monitor
//! [counts]: Counts
//! [redact]: MonitorsBuilder::redact
#![doc = include_str!("manual.md")]
//
// INVARIANT: nothing is sent on a thread of a task. No message shows the ping URL of a monitor, which is a secret.

mod pacing;
mod services;
mod worker;

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use scheduler::{Clock, Event, EventKind, Failure, Listener, Outcome, SystemClock, TaskFacts};
use uuid::Uuid;

use crate::services::{MESSAGE_BYTES_MAX, cut};
use crate::worker::{Item, MonitorWorker, PingInbox, Print};

pub use services::{Cronitor, DsnError, Healthchecks, Monitor, Phase, Ping, Request, Sentry};
/// The crate `uuid`: the ids of runs are `uuid::Uuid`.
pub use uuid;
pub use worker::Counts;

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
pub struct Monitors(Arc<Routing>);

struct Routing {
    routes: Vec<MonitorRoute>,
    /// Two keys: a hash of a run by each makes its identity.
    keys: [RandomState; 2],
    redact: Box<Redact>,
}

/// Changes the text of a failure.
type Redact = dyn Fn(&str) -> String + Send + Sync;

/// The tasks of a monitor, and the way to its worker.
struct MonitorRoute {
    scope: Scope,
    /// Two tasks of the scope at most: more make no difference.
    tasks: Mutex<Vec<Arc<str>>>,
    inbox: Arc<PingInbox>,
}

enum Scope {
    All,
    Task(Arc<str>),
    Tagged(Arc<str>),
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
        self.inboxes().for_each(|inbox| inbox.set(|batch| batch.is_last = true));
        let clock = SystemClock::new();
        let end = clock.now() + limit;
        self.inboxes().all(|inbox| inbox.await_flush(end.since(clock.now())))
    }

    /// The fates of all pings so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.inboxes().map(|inbox| inbox.lock().counts).fold(Counts::default(), |sum, of| Counts {
            sent: sum.sent + of.sent,
            coalesced: sum.coalesced + of.coalesced,
            failed: sum.failed + of.failed,
            dropped: sum.dropped + of.dropped,
        })
    }

    fn inboxes(&self) -> impl Iterator<Item = &PingInbox> {
        self.0.routes.iter().map(|route| &*route.inbox)
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
        let mut shared =
            Routing { routes: Vec::new(), keys: Default::default(), redact: self.redact };
        for (scope, monitor) in self.routes {
            let inbox = Arc::<PingInbox>::default();
            let (clock, print) = (Arc::clone(&self.clock), Arc::clone(&self.print));
            let worker = MonitorWorker::new(monitor, Arc::clone(&inbox), clock, print);
            shared.routes.push(MonitorRoute { scope, tasks: Mutex::default(), inbox });
            let thread = std::thread::Builder::new().name("scheduler-monitors".to_owned());
            thread.spawn(move || worker.run())?;
        }
        Ok(Monitors(Arc::new(shared)))
    }
}

impl Routing {
    /// The ping for an event about a task, if there is one.
    fn ping(&self, event: &Event, task: &Arc<TaskFacts>) -> Option<Ping> {
        let (run, phase, message, took) = match &event.kind {
            EventKind::RunStarted { run, .. } if run.attempt == 1 => {
                (run, Phase::Started, None, None)
            }
            EventKind::RunFinished { run, outcome, took, .. } => {
                let phase = match outcome {
                    Outcome::Success => Phase::Succeeded,
                    Outcome::Cancelled => Phase::Cancelled,
                    Outcome::Refused(_) => return None,
                    _ => Phase::Failed,
                };
                (run, phase, outcome.failure().map(message), Some(*took))
            }
            _ => return None,
        };
        let message = message.map(|text| cut(&(self.redact)(&text), MESSAGE_BYTES_MAX).into());
        let run = self.identity(&task.name, run.number);
        Some(Ping { task: Arc::clone(task), run, phase, message, took, at: event.at })
    }

    /// The identity of a run: it is the same for start and end, and no other process has it.
    fn identity(&self, task: &str, number: u64) -> Uuid {
        let [high, low] = &self.keys;
        let bits = |key: &RandomState| u128::from(key.hash_one((task, number)));
        let bits = bits(high) << 64 | bits(low);
        uuid::Builder::from_custom_bytes(bits.to_be_bytes()).into_uuid()
    }
}

/// The error, its causes and its place.
fn message(failure: &Failure) -> String {
    let causes = failure.causes().map(|cause| format!("\ncaused by: {cause}"));
    let place = failure.place().map(|place| format!("\nat {place}"));
    let text = failure.message().to_owned() + &causes.chain(place).collect::<String>();
    cut(&text, MESSAGE_BYTES_MAX).to_owned()
}

impl MonitorRoute {
    fn is_in_scope(&self, task: &TaskFacts) -> bool {
        match &self.scope {
            Scope::All => true,
            Scope::Task(name) => ends_with(&task.name, name),
            Scope::Tagged(tag) => task.tags.contains(tag),
        }
    }

    fn with_tasks<R>(&self, look: impl FnOnce(&mut Vec<Arc<str>>) -> R) -> R {
        look(&mut self.tasks.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, task: &TaskFacts) {
        let is_in_scope = self.is_in_scope(task);
        self.with_tasks(|tasks| {
            if is_in_scope && tasks.len() < 2 && !tasks.contains(&task.name) {
                tasks.push(Arc::clone(&task.name));
            }
        });
    }

    fn takes(&self, task: &TaskFacts) -> bool {
        let is_only = || self.with_tasks(|tasks| tasks.iter().all(|other| *other == task.name));
        match &self.scope {
            Scope::Task(name) if *name != task.name => self.is_in_scope(task) && is_only(),
            _ => self.is_in_scope(task),
        }
    }

    /// Why it takes no task.
    fn problem(&self) -> Option<String> {
        self.with_tasks(|tasks| match (&self.scope, &tasks[..]) {
            (Scope::Task(name), []) => Some(format!("there is no task `{name}`")),
            (Scope::Task(name), [first, second]) if first != name && second != name => {
                Some(format!("`{name}` may be `{first}` or `{second}`: write more of the name"))
            }
            (Scope::Tagged(tag), []) => Some(format!("no task has the tag `{tag}`")),
            _ => None,
        })
    }
}

/// Returns true if the name is the task's, or an end of it at a `::`.
fn ends_with(task: &str, name: &str) -> bool {
    let before = task.strip_suffix(name);
    before.is_some_and(|before| before.is_empty() || before.ends_with("::"))
}

impl Listener for Monitors {
    fn on_event(&self, event: &Event) {
        let routes = || self.0.routes.iter();
        match (&event.kind, &event.task) {
            (EventKind::TaskAdded { .. }, Some(task)) => routes().for_each(|route| route.add(task)),
            (EventKind::TaskEnded { .. }, Some(task)) => {
                for route in routes().filter(|route| route.takes(task)) {
                    route.inbox.push(Item::Ended(Arc::clone(&task.name)), true);
                }
            }
            (EventKind::SchedulerStarted { .. }, _) => {
                for (route, problem) in routes().filter_map(|route| Some((route, route.problem()?)))
                {
                    route.inbox.push(Item::Problem(problem), true);
                }
            }
            (EventKind::SchedulerStopped { .. }, _) => {
                self.inboxes().for_each(|inbox| inbox.set(|batch| batch.is_flush = true));
            }
            (_, Some(task)) => {
                let mut takers = routes().filter(|route| route.takes(task)).peekable();
                if let Some(ping) = takers.peek().and_then(|_| self.0.ping(event, task)) {
                    let is_urgent = ping.phase == Phase::Failed;
                    takers.for_each(|route| route.inbox.push(Item::Ping(ping.clone()), is_urgent));
                }
            }
            _ => {}
        }
    }
}

impl Drop for Routing {
    fn drop(&mut self) {
        self.routes.iter().for_each(|route| route.inbox.set(|batch| batch.is_closed = true));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_one_identity_and_no_other_has_it() {
        let shared = || Routing {
            routes: Vec::new(),
            keys: Default::default(),
            redact: Box::new(str::to_owned),
        };
        let (ids, others) = (shared(), shared());
        assert_eq!(ids.identity("report", 1), ids.identity("report", 1));
        assert_ne!(ids.identity("report", 1), ids.identity("report", 2));
        assert_ne!(ids.identity("report", 1), others.identity("report", 1));
        assert_eq!(ids.identity("report", 1).get_version_num(), 8);
    }
}
