//! What is to be told and dropped once the lock is open again.

use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use scheduler_core::Due;
use scheduler_core::Now;

use super::conductor::Conductor;
use super::judge::Judge;
use super::judge::Skip;
use super::rule::Rule;
use super::state::State;
use crate::observe::Event;
use crate::observe::Outcome;
use crate::observe::TaskState;
use crate::run::Run;
use scheduler_core::Alarm;

/// What a step under the lock leaves to be done after it: events in their order, and what is to be
/// dropped.
#[derive(Default)]
pub(super) struct Tale {
    events: Vec<Event>,
    /// Told before the end of the task, which it may lead to, with the next due time.
    finished: Option<Box<Finished>>,
    ended: Option<TaskState>,
    /// Who waits for the end of a run.
    woken: Vec<Waker>,
    dropped: (Option<Alarm>, Option<Run>),
    /// The rule that was replaced, which may be the user's trigger.
    dropped_rules: Vec<(Option<Box<Judge>>, Rule)>,
}

struct Finished {
    run: Run,
    outcome: Outcome,
    took: Duration,
    streak: u64,
}

impl Tale {
    pub(super) fn tell(&mut self, event: Event) {
        self.events.push(event);
    }

    pub(super) fn finish(&mut self, run: Run, outcome: Outcome, took: Duration, streak: u64) {
        self.finished = Some(Box::new(Finished { run, outcome, took, streak }));
    }

    /// Has those told who wait for the end of a run.
    pub(super) fn wake(&mut self, state: &mut State) {
        self.woken.append(&mut state.watchers);
    }

    pub(super) fn drop_later(&mut self, alarm: Option<Alarm>, run: Option<Run>) {
        self.dropped.0 = alarm.or(self.dropped.0.take());
        self.dropped.1 = run.or(self.dropped.1.take());
    }

    pub(super) fn drop_rule_later(&mut self, judge: Option<Box<Judge>>, rule: Rule) {
        self.dropped_rules.push((judge, rule));
    }

    /// Counts and tells fire times that are passed over.
    pub(super) fn skip(&mut self, state: &mut State, skips: Vec<Skip>, now: Now) {
        for Skip { reason, at, count } in skips {
            state.history.skip(reason, count);
            self.tell(Event::Skipped {
                task: Arc::clone(&state.facts.name),
                reason,
                fire_time: at.as_wall(now),
                count,
                at: now.wall,
            });
        }
    }

    /// Tells the end of the task, once.
    pub(super) fn end(&mut self, state: &mut State, end: TaskState) {
        if !state.is_end_told {
            state.is_end_told = true;
            self.wake(state);
            self.ended = Some(end);
        }
    }

    /// Tells everything, and drops what is left. Not to be called under the lock.
    pub(super) fn out(&mut self, conductor: &Conductor, next: Option<Due>, now: Now) {
        let (bus, at) = (&conductor.bus, now.wall);
        if let Some(finished) = self.finished.take() {
            let Finished { run, outcome, took, streak } = *finished;
            let next = next.filter(|due| *due != Due::NEVER).map(|due| due.as_wall(now));
            bus.emit(Event::RunFinished { run, outcome, took, next, streak, at });
        }
        for event in self.events.drain(..) {
            bus.emit(event);
        }
        if let Some(state) = self.ended.take() {
            bus.emit(Event::TaskEnded { task: Arc::clone(&conductor.name), state, at });
        }
        self.woken.drain(..).for_each(Waker::wake);
    }
}
