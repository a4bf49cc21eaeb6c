//! A task at one moment, as others see it. Times never lie: what is shown as next is what will start.

use std::sync::Arc;

use chrono::DateTime;
use chrono::Utc;
use scheduler_core::WallTime;

use super::control::Control;
use super::outlook::Outlook;
use super::rule::Rule;
use super::rule::text_of;
use super::state::Course;
use super::state::State;
use crate::observe::TaskFacts;
use crate::observe::TaskSnapshot;
use crate::observe::TaskState;
use crate::observe::Totals;

impl Control {
    /// The task at this moment. A trigger of the user's is asked to describe itself.
    pub(crate) fn snapshot(&self) -> TaskSnapshot {
        let mut snapshot = self.snapshot_without_asking();
        let rule = self.conductor.lock().rule.clone();
        if let Rule::Custom(trigger) = &rule {
            let text = text_of(&**trigger);
            if text != *snapshot.facts.rule {
                let facts = TaskFacts::clone(&snapshot.facts);
                snapshot.facts = Arc::new(TaskFacts { rule: text.into(), ..facts });
            }
        }
        self.conductor.let_go(rule, self.now());
        snapshot
    }

    /// The task at this moment, with its rule as it was described when the task was given it.
    pub(crate) fn snapshot_without_asking(&self) -> TaskSnapshot {
        let now = self.now();
        let state = self.conductor.lock();
        let outlook = Outlook::of(&self.conductor, &state, now);
        let pause = state.wishes.pause.clone();
        let mut snapshot = TaskSnapshot {
            facts: Arc::clone(&state.facts),
            state: shown(&state),
            is_paused: pause.is_some() && state.end.is_none(),
            pause_note: pause.as_ref().and_then(|pause| pause.note.clone()),
            paused_since: pause.as_ref().map(|pause| pause.since),
            paused_until: pause.as_ref().and_then(|pause| pause.until),
            next: None,
            trigger_failure: state.trigger_failure.as_deref().cloned(),
            would_run_at: None,
            running: state.courses().count(),
            running_since: running_since(&state),
            last_runs: state.history.runs().collect(),
            streak: state.history.streak(),
            last_success: state.history.last_success(),
            counters: state.history.counters(),
        };
        drop(state);
        snapshot.next = outlook.next(now).map(WallTime::to_utc);
        if snapshot.is_paused {
            snapshot.would_run_at = outlook.next_if_resumed(now).map(WallTime::to_utc);
        }
        snapshot
    }
}

impl Control {
    /// When the run in progress began, the oldest of them.
    pub(crate) fn running_since(&self) -> Option<DateTime<Utc>> {
        running_since(&self.conductor.lock())
    }

    /// Whether a run was in progress at an instant, or has been since.
    pub(crate) fn was_busy_since(&self, instant: DateTime<Utc>) -> bool {
        let state = self.conductor.lock();
        let was_busy = state.history.last_end().is_some_and(|end| end >= instant.into());
        was_busy || state.courses().next().is_some()
    }

    /// What the runs came to.
    pub(crate) fn totals(&self) -> Totals {
        Totals::from(&self.conductor.lock().history.counters())
    }
}

fn running_since(state: &State) -> Option<DateTime<Utc>> {
    state.courses().map(|course| course.began.wall).min().map(WallTime::to_utc)
}

fn shown(state: &State) -> TaskState {
    let is_waiting = |course: &Course| course.again_at.is_some();
    let mut courses = state.courses().peekable();
    if courses.peek().is_some() {
        return if courses.all(is_waiting) { TaskState::Retrying } else { TaskState::Running };
    }
    match state.end {
        Some(end) => end,
        None if state.wishes.pause.is_some() => TaskState::Paused,
        None => TaskState::Waiting,
    }
}
