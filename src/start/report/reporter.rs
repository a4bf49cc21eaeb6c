//! The listener that turns events into messages, and their limit.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fmt, mem};

use chrono::{DateTime, TimeDelta, Utc};
use scheduler_core::trigger::Zone;

use crate::base::sync::Mutex;
use crate::observe::{
    EXPLAIN_PAUSE, Event, EventKind, Level, Listener, Longest, Outcome, RuleKind, duration,
    instant, plural,
};
use crate::start::report::events::{self, Shown};
use crate::start::report::failures::{self, Failures};
use crate::start::report::{Message, Messages};

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
    all: MessageLimit,
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
            all: MessageLimit::new(MESSAGES_MAX, MESSAGES_MAX),
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

/// The time after which the bucket gets new tokens.
const MINUTE: TimeDelta = TimeDelta::minutes(1);

/// A number of messages, or of fire times that a message is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) number: u64,
    /// True if there may be more.
    pub(super) at_least: bool,
}

/// The decision about one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Show {
    /// In full. `is_last` is true if it took the last token; `hidden` counts those that were hidden before it.
    InFull { is_last: bool, hidden: Option<Hidden> },
    /// As one of `count` since the last one shown, including this one.
    Summed { count: Count, since: DateTime<Utc> },
    /// Not at all; it is counted.
    Nothing,
}

/// Messages that were hidden, and the time of the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hidden {
    pub(super) count: Count,
    pub(super) last: DateTime<Utc>,
}

/// A token bucket: each message that is shown takes a token, and those without one are counted.
#[derive(Clone, Debug)]
pub(super) struct MessageLimit {
    burst: u32,
    per_minute: u32,
    tokens: u32,
    refilled_at: DateTime<Utc>,
    /// When a message was shown last.
    shown_at: DateTime<Utc>,
    hidden: Option<Hidden>,
}

impl MessageLimit {
    /// A limit of `burst` messages at once, and `per_minute` after them.
    pub(super) fn new(burst: u32, per_minute: u32) -> Self {
        let never = DateTime::UNIX_EPOCH;
        let (tokens, hidden) = (burst, None);
        Self { burst, per_minute, tokens, refilled_at: never, shown_at: never, hidden }
    }

    /// Returns when a message was shown last.
    pub(super) fn shown_at(&self) -> DateTime<Utc> {
        self.shown_at
    }

    /// Returns true if a message was shown less than a minute ago.
    pub(super) fn was_shown_lately(&self, at: DateTime<Utc>) -> bool {
        at >= self.shown_at && at - self.shown_at < MINUTE
    }

    /// Takes a token, or counts the message as hidden. Returns true if the message is to be shown.
    pub(super) fn take(&mut self, at: DateTime<Utc>, count: Count) -> bool {
        self.refill(at);
        if self.tokens == 0 {
            let before = self.hidden.map_or(Count::default(), |hidden| hidden.count);
            self.hidden = Some(Hidden { count: before.plus(count), last: at });
            return false;
        }
        self.tokens -= 1;
        self.shown_at = at;
        true
    }

    /// Decides for a message of now that stands for `count`.
    pub(super) fn ask(&mut self, at: DateTime<Utc>, count: Count) -> Show {
        let since = self.shown_at;
        if !self.take(at, count) {
            return Show::Nothing;
        }
        match self.take_hidden() {
            None => Show::InFull { is_last: self.tokens == 0, hidden: None },
            // It begins anew: a summary would spread the old ones over the time between.
            Some(hidden) if at - hidden.last >= MINUTE => {
                Show::InFull { is_last: false, hidden: Some(hidden) }
            }
            Some(hidden) => Show::Summed { count: hidden.count.plus(count), since: since.min(at) },
        }
    }

    /// A clock that was set back brings new tokens, too.
    fn refill(&mut self, at: DateTime<Utc>) {
        let passed = at - self.refilled_at;
        if passed < TimeDelta::zero() || passed >= MINUTE {
            let minutes = u32::try_from(passed.num_minutes().max(1)).unwrap_or(u32::MAX);
            let new = self.per_minute.saturating_mul(minutes);
            self.tokens = self.tokens.saturating_add(new).min(self.burst);
            self.refilled_at = at;
        }
    }

    /// Returns true if messages were hidden, and one may be shown now.
    pub(super) fn has_hidden(&mut self, at: DateTime<Utc>) -> bool {
        self.refill(at);
        self.hidden.is_some() && self.tokens > 0
    }

    /// Takes out the count of hidden messages, which the caller reports.
    pub(super) fn take_hidden(&mut self) -> Option<Hidden> {
        self.hidden.take()
    }
}

impl Count {
    pub(super) const ONE: Self = Self { number: 1, at_least: false };

    fn plus(self, more: Self) -> Self {
        let number = self.number.saturating_add(more.number);
        Self { number, at_least: self.at_least || more.at_least }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.at_least { "at least " } else { "" }, self.number)
    }
}

impl Hidden {
    /// The note about it.
    pub(super) fn note(self, zone: Zone) -> String {
        format!("{} more, the last at {}, were not reported", self.count, instant(self.last, zone))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_000_000 + second, 0).unwrap()
    }

    fn show(limit: &mut MessageLimit, second: i64) -> String {
        match limit.ask(at(second), Count::ONE) {
            Show::InFull { hidden: Some(Hidden { count, last }), .. } => {
                format!("full, {count} hidden until {}", (last - at(0)).num_seconds())
            }
            Show::InFull { is_last: false, .. } => "full".to_owned(),
            Show::InFull { is_last: true, .. } => "last".to_owned(),
            Show::Summed { count, since } => {
                format!("{count} since {}", (since - at(0)).num_seconds())
            }
            Show::Nothing => "-".to_owned(),
        }
    }

    #[test]
    fn after_some_in_full_there_is_one_summary_a_minute() {
        let mut limit = MessageLimit::new(2, 1);
        let shown: Vec<String> = (0..=122).map(|second| show(&mut limit, second)).collect();
        assert_eq!(shown[..3], ["full", "last", "-"]);
        assert!(shown[2..60].iter().all(|shown| shown == "-"));
        assert_eq!(shown[60], "59 since 1");
        assert!(shown[61..120].iter().all(|shown| shown == "-"));
        assert_eq!(shown[120..], ["60 since 60", "-", "-"]);
    }

    #[test]
    fn rare_messages_are_shown_in_full() {
        let mut limit = MessageLimit::new(2, 1);
        let shown: Vec<String> = (0..5).map(|day| show(&mut limit, day * 86_400)).collect();
        assert_eq!(shown, ["full"; 5]);
    }

    #[test]
    fn a_bucket_is_filled_once_a_minute() {
        let mut limit = MessageLimit::new(1_000, 1_000);
        let mut shown = |second| (0..1_500).filter(|_| limit.take(at(second), Count::ONE)).count();
        assert_eq!([0, 59, 60, 61, 240].map(&mut shown), [1_000, 0, 1_000, 0, 1_000]);
        assert_eq!(limit.take_hidden().map(|hidden| hidden.count.number), Some(4_500));
        assert_eq!(limit.take_hidden(), None, "only once");
    }

    #[test]
    fn a_new_burst_is_not_summed_up_with_an_old_one() {
        let mut limit = MessageLimit::new(1, 1);
        let shown: Vec<String> =
            [0, 10, 20, 79, 139, 200].map(|second| show(&mut limit, second)).into();
        let expected = ["last", "-", "-", "3 since 0", "last", "last"];
        assert_eq!(shown, expected);
        let mut limit = MessageLimit::new(1, 1);
        let shown: Vec<String> =
            [0, 10, 20, 80, 81, 86_400].map(|second| show(&mut limit, second)).into();
        let expected =
            ["last", "-", "-", "full, 2 hidden until 20", "-", "full, 1 hidden until 81"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn messages_of_the_caller_are_not_summed_up() {
        let mut limit = MessageLimit::new(1, 1);
        let shown = [0, 10, 20].map(|second| show(&mut limit, second));
        assert_eq!(shown, ["last", "-", "-"]);
        assert!(!limit.has_hidden(at(59)) && limit.has_hidden(at(60)));
        assert_eq!(limit.take_hidden().map(|hidden| hidden.count.number), Some(2));
        assert!(!limit.has_hidden(at(60)));
        assert_eq!(show(&mut limit, 70), "last");
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_silence_it() {
        let mut limit = MessageLimit::new(1, 1);
        assert_eq!(show(&mut limit, 1_000), "last");
        assert_eq!(show(&mut limit, 1_001), "-");
        assert_eq!(show(&mut limit, 10), "2 since 10");
        assert_eq!(show(&mut limit, 11), "-");
    }
}
