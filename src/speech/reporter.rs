//! The reporter: listens to events, and says what people should know.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;
use scheduler_core::trigger::Zone;

use crate::sync::Mutex;
use crate::sync::MutexGuard;

use super::Message;
use super::Voice;
use super::control;
use super::control::FirstSuccess;
use super::failures;
use super::failures::Failed;
use super::failures::Repeats;
use super::failures::What;
use super::trouble::Trouble;
use super::words::duration;
use crate::observe::Event;
use crate::observe::Listener;
use crate::observe::Outcome;
use crate::observe::StopReason;
use crate::observe::TaskFacts;
use crate::observe::TaskState;
use crate::run::Run;

/// Says what went wrong, and the little that is worth saying of what went well.
///
/// It learns of tasks by `TaskAdded`. The words are found under its lock, and said after it.
#[derive(Debug)]
pub(crate) struct Reporter {
    voice: Voice,
    desk: Mutex<Desk>,
    /// Whether it hears of every run, for a log that takes debug words.
    hears_all: Arc<AtomicBool>,
}

/// What has been said so far.
#[derive(Debug, Default)]
struct Desk {
    tasks: BTreeMap<Arc<str>, Card>,
    trouble: Trouble,
    is_started: bool,
    is_stopping: bool,
}

/// What has been said of one task.
#[derive(Debug, Default)]
struct Card {
    facts: Option<Arc<TaskFacts>>,
    has_succeeded: bool,
    repeats: Repeats,
    /// Failures in a row, and whether anything was said of them.
    streak: u64,
    is_streak_said: bool,
}

impl Reporter {
    pub(crate) fn new(voice: Voice) -> Self {
        let hears_all = Arc::new(AtomicBool::new(voice.wants_debug()));
        Self { voice, desk: Mutex::default(), hears_all }
    }

    /// Whether it wants to hear of every run; a log may be installed later, and begin to take debug words.
    pub(crate) fn wants_every_event(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.hears_all)
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finished(&self, run: &Run, event: &Event) -> Option<Message> {
        let Event::RunFinished { outcome, took, next, streak, at, .. } = event else { return None };
        let task = run.task_name();
        match outcome {
            Outcome::Success => self.succeeded(run, (*took, *at)),
            Outcome::Cancelled => {
                let took = duration(*took);
                let is_stopping = self.desk().is_stopping;
                let text = format!("a run of task `{task}` was cancelled after {took}");
                (!is_stopping).then(|| Message::info(text))
            }
            Outcome::Error(failure) | Outcome::Panic(failure) | Outcome::Timeout(failure) => {
                let (attempts, at) = (run.attempt(), *at);
                let what = What::Run { took: *took, attempts, streak: *streak, next: *next };
                self.desk().with_card(task, |card| {
                    let facts = card.facts.as_ref();
                    let said = card.repeats.report(&Failed { task, facts, failure, at, what });
                    card.streak = *streak;
                    card.is_streak_said |= said.is_some();
                    said
                })
            }
        }
    }

    fn succeeded(&self, run: &Run, (took, at): (Duration, DateTime<Utc>)) -> Option<Message> {
        let is_debug_wanted = self.voice.wants_debug();
        if is_debug_wanted {
            // ORDERING: relaxed, as where it is read.
            self.hears_all.store(true, Ordering::Relaxed);
        }
        let (task, number) = (run.task_name(), run.number());
        let mut desk = self.desk();
        let card = desk.tasks.get_mut(task)?;
        let streak = std::mem::take(&mut card.streak);
        let is_streak_said = std::mem::take(&mut card.is_streak_said);
        if !std::mem::replace(&mut card.has_succeeded, true) {
            let kind = card.facts.as_ref().map(|facts| facts.kind);
            let first = FirstSuccess { task, number, took, kind, is_debug_wanted };
            return Some(control::first_success(&first).note(card.repeats.untold()));
        }
        if streak > 0 && (is_streak_said || card.repeats.is_owing(at)) {
            return Some(failures::recovered(task, took, streak).note(card.repeats.untold()));
        }
        is_debug_wanted.then(|| {
            let took = duration(took);
            Message::debug(format!("task `{task}` finished run {number} in {took}"))
        })
    }

    fn words(&self, event: &Event) -> Option<Message> {
        match event {
            Event::RunStarted { .. } | Event::Lost { .. } => None,
            Event::RunFinished { run, .. } => self.finished(run, event),
            Event::AttemptFailed { run, failure, attempt, next_attempt_in, at } => {
                let what = What::Attempt { number: *attempt, next_in: *next_attempt_in };
                let task = run.task_name();
                self.desk().with_card(task, |card| {
                    let (facts, at) = (card.facts.as_ref(), *at);
                    card.repeats.report(&Failed { task, facts, failure, at, what })
                })
            }
            _ => self.desk().note(event),
        }
    }
}

impl Desk {
    /// Works on the card of a task; a run that outlives its task finds an empty one.
    fn with_card<R>(&mut self, task: &str, work: impl FnOnce(&mut Card) -> R) -> R {
        match self.tasks.get_mut(task) {
            Some(card) => work(card),
            None => work(&mut Card::default()),
        }
    }

    fn zone(&self, task: &str) -> Zone {
        failures::zone(self.tasks.get(task).and_then(|card| card.facts.as_ref()))
    }

    fn note(&mut self, event: &Event) -> Option<Message> {
        match event {
            Event::SchedulerStarted { .. } => self.is_started = true,
            Event::SchedulerStopping { .. } => self.is_stopping = true,
            Event::TaskAdded { task, is_disabled, .. } => {
                let card = Card { facts: Some(Arc::clone(task)), ..Card::default() };
                self.tasks.insert(Arc::clone(&task.name), card);
                return self
                    .is_started
                    .then(|| control::added(&task.name, &task.rule, *is_disabled));
            }
            Event::TaskEnded { task, state, .. } => return self.ended(task, *state),
            Event::Rescheduled { task, facts, .. } => {
                self.with_card(task, |card| card.facts = Some(Arc::clone(facts)));
                return control::words(event, facts.zone);
            }
            Event::StopAsked { run, why: StopReason::Timeout, .. } => {
                let facts = self.tasks.get(run.task_name()).and_then(|card| card.facts.as_ref());
                let is_async = facts.is_some_and(|facts| facts.is_async);
                return Some(control::too_long(run.task_name(), is_async));
            }
            Event::Paused { task, .. }
            | Event::Enabled { task, .. }
            | Event::Skipped { task, .. }
            | Event::TriggerFailed { task, .. } => {
                let zone = self.zone(task);
                return control::words(event, zone).or_else(|| self.trouble.report(event, zone));
            }
            _ => {
                let words = control::words(event, Zone::UTC);
                return words.or_else(|| self.trouble.report(event, Zone::UTC));
            }
        }
        None
    }

    fn ended(&mut self, task: &Arc<str>, state: TaskState) -> Option<Message> {
        let is_another = |facts: &Arc<TaskFacts>| !Arc::ptr_eq(&facts.name, task);
        let card = self.tasks.get(task);
        if card.and_then(|card| card.facts.as_ref()).is_some_and(is_another) {
            return (!self.is_stopping).then(|| control::ended_after_removal(task));
        }
        let mut card = self.tasks.remove(task).unwrap_or_default();
        self.trouble.forget(task);
        // They all end when the scheduler stops, which the last words say.
        if self.is_stopping {
            return None;
        }
        let kind = card.facts.as_ref().map(|facts| facts.kind);
        let words = control::ended(task, state, kind)?;
        Some(words.note(card.repeats.untold()))
    }
}

impl Listener for Reporter {
    fn on_event(&self, event: &Event) {
        if let Some(message) = self.words(event) {
            self.voice.say(&message);
        }
    }
}
