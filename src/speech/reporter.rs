//! The reporter: listens to events, and says what people should know.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use crate::sync::Mutex;

use super::Message;
use super::Messages;
use super::budget::Budget;
use super::control;
use super::control::FirstSuccess;
use super::failures;
use super::failures::Failed;
use super::failures::Repeats;
use super::failures::What;
use super::trouble;
use super::trouble::Trouble;
use super::words::duration;
use crate::observe::Event;
use crate::observe::Listener;
use crate::observe::Outcome;
use crate::observe::TaskFacts;
use crate::observe::TaskState;

/// Says what went wrong, and the little that is worth saying of what went well.
///
/// It is called on the thread on which something happens. There it counts and finds the words, under its
/// lock, so that no count is lost; [`Messages`] has them printed elsewhere. It learns of tasks by `TaskAdded`.
#[derive(Debug)]
pub(crate) struct Reporter {
    messages: Messages,
    /// Whether it hears of every run, for a log that takes debug words.
    is_debug_wanted: Arc<AtomicBool>,
    desk: Mutex<Desk>,
}

/// What has been said so far.
#[derive(Debug, Default)]
struct Desk {
    tasks: BTreeMap<Arc<str>, Card>,
    /// By the name of a pool or hook.
    elsewhere: BTreeMap<Box<str>, Trouble>,
    budget: Budget,
    is_started: bool,
    is_stopping: bool,
}

/// What has been said of one task.
#[derive(Debug, Default)]
struct Card {
    facts: Option<Arc<TaskFacts>>,
    has_succeeded: bool,
    repeats: Repeats,
    trouble: Trouble,
    /// Failures in a row, and whether anything was said of them.
    streak: u64,
    is_streak_said: bool,
}

impl Reporter {
    pub(crate) fn new(messages: Messages) -> Self {
        let is_debug_wanted = messages.is_debug_wanted();
        Self { messages, is_debug_wanted, desk: Mutex::default() }
    }

    fn hear(&self, event: &Event) -> [Option<Message>; 2] {
        // ORDERING: relaxed, as where it is written.
        let is_debug_wanted = self.is_debug_wanted.load(Ordering::Relaxed);
        let mut desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        let said = desk.words(event, is_debug_wanted);
        desk.within_budget(event, said)
    }
}

impl Desk {
    fn words(&mut self, event: &Event, is_debug_wanted: bool) -> Option<Message> {
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
            Event::RunFinished { outcome: Outcome::Cancelled, .. } if self.is_stopping => {}
            Event::RunFinished { run, outcome: Outcome::Success, .. } => {
                return self.tasks.get_mut(run.task_name())?.succeeded(event, is_debug_wanted);
            }
            Event::TaskEnded { task, state, .. } => return self.ended(task, *state),
            _ => {
                return match trouble::place(event) {
                    None => self.with_card(event, |card| card.words(event)),
                    Some(place) => {
                        self.elsewhere.entry(place.into()).or_default().report(event, None)
                    }
                };
            }
        }
        None
    }

    /// Works on the card of a task; a run that outlives its task finds an empty one.
    fn with_card<R>(&mut self, event: &Event, work: impl FnOnce(&mut Card) -> R) -> R {
        match event.task().and_then(|task| self.tasks.get_mut(task)) {
            Some(card) => work(card),
            None => work(&mut Card::default()),
        }
    }

    fn ended(&mut self, task: &Arc<str>, state: TaskState) -> Option<Message> {
        let is_another = |facts: &Arc<TaskFacts>| !Arc::ptr_eq(&facts.name, task);
        let card = self.tasks.get(task);
        if card.and_then(|card| card.facts.as_ref()).is_some_and(is_another) {
            return (!self.is_stopping).then(|| control::ended_after_removal(task));
        }
        let mut card = self.tasks.remove(task).unwrap_or_default();
        // They all end when the scheduler stops, which the last words say.
        if self.is_stopping {
            return None;
        }
        let kind = card.facts.as_ref().map(|facts| facts.kind);
        let words = control::ended(task, state, kind)?;
        Some(words.note(card.repeats.untold()))
    }

    /// Keeps to the bound of all tasks together; what was beyond it is said first.
    fn within_budget(&mut self, event: &Event, said: Option<Message>) -> [Option<Message>; 2] {
        if matches!(event, Event::SchedulerStopping { .. } | Event::SchedulerStopped { .. }) {
            return [self.budget.take_hidden(), said];
        }
        let (Some(message), Some(at)) = (said, event.at()) else { return [None, None] };
        let hidden = self.budget.begin(at);
        let zone = self.with_card(event, |card| failures::zone(card.facts.as_ref()));
        let has_room = self.budget.has_room((at, zone), message.level(), event.task());
        [hidden, has_room.then_some(message)]
    }
}

impl Card {
    fn words(&mut self, event: &Event) -> Option<Message> {
        let facts = self.facts.as_ref();
        match event {
            Event::RunFinished { run, outcome, took, next, streak, at } => {
                let Some(failure) = outcome.failure() else {
                    return self.trouble.report(event, facts);
                };
                let (task, attempts) = (run.task_name(), run.attempt());
                let what = What::Run { took: *took, attempts, streak: *streak, next: *next };
                let said = self.repeats.report(&Failed { task, facts, failure, at: *at, what });
                self.streak = *streak;
                self.is_streak_said |= said.is_some();
                said
            }
            Event::AttemptFailed { run, failure, attempt, next_attempt_in, at } => {
                let what = What::Attempt { number: *attempt, next_in: *next_attempt_in };
                let task = run.task_name();
                self.repeats.report(&Failed { task, facts, failure, at: *at, what })
            }
            _ => {
                if let Event::Rescheduled { facts, .. } = event {
                    self.facts = Some(Arc::clone(facts));
                }
                self.trouble.report(event, self.facts.as_ref())
            }
        }
    }

    fn succeeded(&mut self, event: &Event, is_debug_wanted: bool) -> Option<Message> {
        let Event::RunFinished { run, took, at, .. } = event else { return None };
        let (task, number, took) = (run.task_name(), run.number(), *took);
        let streak = mem::take(&mut self.streak);
        let is_streak_said = mem::take(&mut self.is_streak_said);
        if !mem::replace(&mut self.has_succeeded, true) {
            let kind = self.facts.as_ref().map(|facts| facts.kind);
            let first = FirstSuccess { task, number, took, kind };
            return Some(control::first_success(&first).note(self.repeats.untold()));
        }
        if streak > 0 && (is_streak_said || self.repeats.is_owing(*at)) {
            return Some(failures::recovered(task, took, streak).note(self.repeats.untold()));
        }
        is_debug_wanted.then(|| {
            let took = duration(took);
            Message::debug(format!("task `{task}` finished run {number} in {took}"))
        })
    }
}

impl Listener for Reporter {
    fn on_event(&self, event: &Event) {
        // Of these nothing is said, and the first comes with every run that listeners hear of.
        if matches!(event, Event::RunStarted { .. } | Event::Lost { .. }) {
            return;
        }
        self.hear(event).into_iter().flatten().for_each(|message| self.messages.say(message));
    }
}
