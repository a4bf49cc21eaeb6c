//! The listener that turns events into messages.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chrono::{DateTime, TimeDelta, Utc};

use super::events::{self, Shown};
use super::failures::{self, Failures};
use super::limit::{Count, Hidden, Limit};
use super::{Message, Messages};
use crate::base::sync::Mutex;
use crate::observe::{
    EXPLAIN_PAUSE, Event, EventKind, Level, Listener, Longest, Outcome, RuleKind, duration,
    instant, plural,
};

/// For how long a holder of threads is named: until late starts are explained again.
const HOLDER_AGE_MAX: TimeDelta = TimeDelta::seconds(EXPLAIN_PAUSE);

/// The most messages in a minute, of all tasks together.
const MESSAGES_MAX: u32 = 1_000;

/// Reports failures and warnings, and the first success of each task.
///
/// It counts and formats on the thread that emits, under its lock, so that no count is lost. [`Messages`] prints on
/// another thread.
#[derive(Debug)]
pub(crate) struct Reporter {
    messages: Messages,
    /// True if the log takes debug messages, which there are about every run.
    is_debug_wanted: Arc<AtomicBool>,
    state: Mutex<ReporterInner>,
}

#[derive(Debug)]
struct ReporterInner {
    /// By the name in the events of the present task, which differs by its pointer from the name of a removed task. Boxed:
    /// very many tasks may wait for their first message.
    tasks: BTreeMap<Arc<str>, Option<Box<TaskLog>>>,
    /// By the name of a pool or hook.
    places: BTreeMap<Box<str>, Shown>,
    /// The run that held the threads of each pool longest, and when that was last explained.
    holders: BTreeMap<Arc<str>, (DateTime<Utc>, Longest)>,
    /// The limit of all messages together, for many tasks that fail at once.
    all: Limit,
    is_started: bool,
    is_stopping: bool,
}

/// The reports about one task.
#[derive(Debug, Default)]
struct TaskLog {
    has_succeeded: bool,
    failures: Failures,
    shown: Shown,
    /// Failed runs in a row, and true if one of them was reported.
    streak: u64,
    is_streak_reported: bool,
}

impl Reporter {
    pub(crate) fn new(messages: Messages) -> Self {
        let is_debug_wanted = messages.is_debug_wanted();
        let state = ReporterInner {
            tasks: BTreeMap::new(),
            places: BTreeMap::new(),
            holders: BTreeMap::new(),
            all: Limit::new(MESSAGES_MAX, MESSAGES_MAX),
            is_started: false,
            is_stopping: false,
        };
        Self { messages, is_debug_wanted, state: Mutex::new(state) }
    }

    /// The messages about an event, with one about messages that were not printed before.
    fn report(&self, event: &Event) -> [Option<Message>; 2] {
        // ORDERING: relaxed, as where it is written.
        let is_debug_wanted = self.is_debug_wanted.load(Ordering::Relaxed);
        let mut state = self.state.lock();
        let message = state.message(event, is_debug_wanted);
        state.limited(event, message)
    }
}

impl ReporterInner {
    fn message(&mut self, event: &Event, is_debug_wanted: bool) -> Option<Message> {
        match &event.kind {
            EventKind::SchedulerStarted { .. } => self.is_started = true,
            EventKind::SchedulerStopping {} => self.is_stopping = true,
            EventKind::TaskAdded { .. } => {
                let name = Arc::clone(&event.task.as_ref()?.name);
                // An insertion alone would keep the name of the former task.
                self.tasks.remove(&name);
                self.tasks.insert(name, None);
                return self.is_started.then(|| Message::about(event, Level::Info));
            }
            EventKind::RunFinished { outcome: Outcome::Cancelled, .. } if self.is_stopping => {}
            EventKind::RunFinished { outcome: Outcome::Success, .. } => {
                let log = self.tasks.get_mut(event.task_name()?)?;
                return log.get_or_insert_default().success(event, is_debug_wanted);
            }
            EventKind::TaskEnded { .. } => return self.ended(event),
            _ => {
                if let EventKind::Starved { pool, longest, .. } = &event.kind {
                    self.holders.insert(Arc::clone(pool), (event.at, longest.clone()));
                }
                if let Some(place) = events::place(event) {
                    return self.places.entry(place.into()).or_default().report(event, None);
                }
                let holder = event.task.as_ref().and_then(|task| self.holders.get(&task.pool));
                let holder = holder.filter(|(at, _)| event.at - at <= HOLDER_AGE_MAX);
                let holder = holder.map(|(_, holder)| holder);
                // A run may outlive its task.
                let log = event.task_name().and_then(|task| self.tasks.get_mut(task));
                return match log {
                    Some(log) => log.get_or_insert_default().message(event, holder),
                    None => TaskLog::default().message(event, holder),
                };
            }
        }
        None
    }

    fn ended(&mut self, event: &Event) -> Option<Message> {
        let name = &event.task.as_ref()?.name;
        let known = self.tasks.get_key_value(name);
        if known.is_some_and(|(known, _)| !Arc::ptr_eq(known, name)) {
            let text = format!("the last run of the task `{name}` that was removed has ended");
            return (!self.is_stopping).then(|| Message::info(text).with_fields(event));
        }
        let mut log = self.tasks.remove(name).flatten().unwrap_or_default();
        // All tasks end when the scheduler stops, which the stop report covers.
        if self.is_stopping {
            return None;
        }
        Some(events::ended(event)?.note(log.failures.hidden()))
    }

    /// Shows a message unless there are too many of all tasks together; those that were hidden are counted before it.
    fn limited(&mut self, event: &Event, message: Option<Message>) -> [Option<Message>; 2] {
        let is_stop = matches!(
            event.kind,
            EventKind::SchedulerStopping {} | EventKind::SchedulerStopped { .. }
        );
        // A log that takes debug messages was configured for each success.
        let is_limited = message.as_ref().is_some_and(|message| message.level() != Level::Debug);
        if is_limited && !is_stop && !self.all.take(event.at, Count::ONE) {
            return [None, None];
        }
        let hidden = if is_limited || is_stop { self.all.take_hidden() } else { None };
        [hidden.map(|hidden| not_printed(hidden, event)), message]
    }
}

fn not_printed(hidden: Hidden, event: &Event) -> Message {
    let count = plural(hidden.count.number, "further message");
    let last = instant(hidden.last, event.zone());
    Message::warn(format!("{count} not printed, the last at {last}"))
        .note(format!("no more than {MESSAGES_MAX} are in a minute; a listener gets each event"))
}

impl TaskLog {
    fn message(&mut self, event: &Event, holder: Option<&Longest>) -> Option<Message> {
        match &event.kind {
            EventKind::RunFinished { outcome, streak, .. } if outcome.is_failure() => {
                let message = self.failures.report(event);
                self.streak = *streak;
                self.is_streak_reported |= message.is_some();
                message
            }
            EventKind::AttemptFailed { .. } => self.failures.report(event),
            _ => self.shown.report(event, holder),
        }
    }

    fn success(&mut self, event: &Event, is_debug_wanted: bool) -> Option<Message> {
        let EventKind::RunFinished { run, took, .. } = &event.kind else { return None };
        let (task, took) = (event.task.as_ref()?, duration(*took));
        let (name, streak) = (&task.name, mem::take(&mut self.streak));
        let is_streak_reported = mem::take(&mut self.is_streak_reported);
        if !mem::replace(&mut self.has_succeeded, true) {
            let text = match (task.kind, run.number) {
                (RuleKind::Once, _) => format!("task `{name}` finished its run in {took}"),
                (_, 1) => format!("task `{name}` finished its first run in {took}"),
                _ => format!("task `{name}` succeeded for the first time, in {took}"),
            };
            let message = Message::info(text).with_fields(event).note(self.failures.hidden());
            let is_once = task.kind == RuleKind::Once;
            return Some(if is_once { message } else { message.of_successes() });
        }
        if streak > 0 && (is_streak_reported || self.failures.has_hidden(event.at)) {
            let message = failures::recovered(event, &took, streak);
            return Some(message.note(self.failures.hidden()));
        }
        is_debug_wanted.then(|| Message::about(event, Level::Debug))
    }
}

impl Listener for Reporter {
    fn on_event(&self, event: &Event) {
        // Not reported; the first comes with every run.
        if matches!(event.kind, EventKind::RunStarted { .. } | EventKind::Lost { .. }) {
            return;
        }
        self.report(event).into_iter().flatten().for_each(|message| self.messages.print(message));
    }
}
