//! What is to be told and dropped once the lock is open again.

use std::task::Waker;
use std::time::Duration;

use scheduler_core::Now;
use scheduler_core::TaskHandle;
use scheduler_core::WallTime;

use super::conductor::Conductor;
use super::judge::Judge;
use super::judge::Skip;
use super::outlook::Outlook;
use super::rule::Rule;
use super::state::Beside;
use super::state::State;
use crate::observe::Event;
use crate::observe::EventKind;
use crate::observe::Outcome;
use crate::observe::TaskState;
use crate::run::Run;
use crate::unwind::wake_all;
use scheduler_core::Alarm;

/// What a step under the lock leaves to be done after it; nothing, as a rule.
#[derive(Default)]
pub(super) struct Tale(Option<Box<Left>>);

/// Events in their order, and what is to be dropped.
#[derive(Default)]
struct Left {
    told: Vec<Told>,
    /// Told before the end of the task, which it may lead to, with the next start.
    finished: Option<Finished>,
    ended: Option<TaskState>,
    /// Who waits for the end of a run.
    woken: Vec<Waker>,
    dropped: (Option<Alarm>, Option<Run>),
    /// The rule that was replaced, which may be the user's trigger.
    dropped_rules: Vec<(Option<Box<Judge>>, Rule)>,
    /// Runs beside that do not begin any more; their engine's tasks may wait still.
    dropped_beside: Vec<Beside>,
}

enum Told {
    Event(Event),
    /// That the task goes on, with its next start: to look ahead may take long.
    Resumed(Box<Outlook>),
}

struct Finished {
    run: Run,
    outcome: Outcome,
    took: Duration,
    streak: u64,
}

impl Tale {
    fn left(&mut self) -> &mut Left {
        self.0.get_or_insert_default()
    }

    pub(super) fn tell(&mut self, event: Event) {
        self.left().told.push(Told::Event(event));
    }

    /// Tells that the task goes on.
    pub(super) fn resume(&mut self, outlook: Outlook) {
        self.left().told.push(Told::Resumed(Box::new(outlook)));
    }

    pub(super) fn finish(&mut self, run: Run, outcome: Outcome, took: Duration, streak: u64) {
        self.left().finished = Some(Finished { run, outcome, took, streak });
    }

    /// Has those told who wait for the end of a run.
    pub(super) fn wake(&mut self, state: &mut State) {
        if !state.watchers.is_empty() {
            self.left().woken.extend(state.watchers.take());
        }
    }

    pub(super) fn drop_alarm_later(&mut self, alarm: Option<Alarm>) {
        if alarm.is_some() {
            self.left().dropped.0 = alarm;
        }
    }

    pub(super) fn drop_run_later(&mut self, run: Run) {
        self.left().dropped.1 = Some(run);
    }

    pub(super) fn drop_rule_later(&mut self, judge: Option<Box<Judge>>, rule: Rule) {
        self.left().dropped_rules.push((judge, rule));
    }

    pub(super) fn drop_beside_later(&mut self, beside: Option<Beside>) {
        self.left().dropped_beside.extend(beside);
    }

    /// Counts and tells fire times that are passed over.
    pub(super) fn skip(&mut self, state: &mut State, skips: Vec<Skip>, now: Now) {
        for Skip { reason, at, count } in skips {
            state.history.skip(reason, count);
            let last = at.as_wall(now).to_utc();
            let kind = EventKind::Skipped { reason, first: last, last, count, at_least: false };
            self.tell(Event::of(now.wall.to_utc(), &state.facts, kind));
        }
    }

    /// Tells the end of the task, once.
    pub(super) fn end(&mut self, state: &mut State, end: TaskState) {
        if !state.is_end_told {
            state.is_end_told = true;
            self.wake(state);
            self.left().ended = Some(end);
        }
    }

    /// What the end of a run is told with, when that is to be told.
    pub(super) fn outlook(
        &self,
        conductor: &Conductor,
        state: &State,
        now: Now,
    ) -> Option<Outlook> {
        let left = self.0.as_ref()?;
        left.finished.as_ref().map(|_| Outlook::of(conductor, state, now))
    }

    /// Tells everything, and drops what is left. Not to be called under the lock.
    pub(super) fn out(self, conductor: &Conductor, next: Option<Outlook>, now: Now) {
        if let Some(left) = self.0 {
            left.out(conductor, next, now);
        }
    }
}

impl Left {
    fn out(self, conductor: &Conductor, next: Option<Outlook>, now: Now) {
        let (bus, at, facts) = (&conductor.bus, now.wall.to_utc(), conductor.facts());
        if let Some(Finished { run, outcome, took, streak }) = self.finished {
            let next = next.and_then(|outlook| outlook.next(now)).map(WallTime::to_utc);
            let run = run.info();
            let kind = EventKind::RunFinished { run, outcome, took, next, streak };
            bus.emit(Event::of(at, &facts, kind));
        }
        for told in self.told {
            bus.emit(match told {
                Told::Event(event) => event,
                Told::Resumed(outlook) => {
                    let next = outlook.next(now).map(WallTime::to_utc);
                    Event::of(at, &facts, EventKind::Resumed { next })
                }
            });
        }
        if let Some(state) = self.ended {
            bus.emit(Event::of(at, &facts, EventKind::TaskEnded { state }));
            conductor.on_end.iter().for_each(|on_end| on_end(&conductor.name));
        }
        for rule in self.dropped_rules {
            conductor.let_go(rule, now);
        }
        wake_all(self.woken);
        let waiting = self.dropped_beside.iter().filter_map(|beside| beside.handle.as_ref());
        waiting.for_each(TaskHandle::renew);
    }
}
