//! When a task starts next: what is to be known for that is taken from its state under the lock, and the
//! rest is done without it.

use scheduler_core::Due;
use scheduler_core::Now;
use scheduler_core::WallTime;

use super::belated;
use super::belated::Waiting;
use super::conductor::Conductor;
use super::lookahead::Ahead;
use super::lookahead::Circumstances;
use super::rule::Rule;
use super::state::Beside;
use super::state::Pause;
use super::state::Present;
use super::state::State;
use super::timetable::Timetable;
use crate::run::Cause;

/// What is needed to say when a task starts next, outside its lock.
pub(super) struct Outlook {
    ahead: Option<Ahead>,
    /// Whether no run starts any more.
    is_over: bool,
    lead: Option<Lead>,
    resumed: Vec<Now>,
    pause: Option<Until>,
    wants_manual_run: bool,
    /// Why a run beside others is to start as soon as a worker is free.
    beside: Option<Cause>,
}

/// The run in progress in the engine's task.
struct Lead {
    /// Since when fire times come during it.
    since: Now,
    again_at: Option<Due>,
}

/// A pause that is not over.
#[derive(Clone, Copy)]
enum Until {
    Resumed,
    Then(Now),
}

impl Outlook {
    pub(super) fn of(conductor: &Conductor, state: &State, now: Now) -> Self {
        let is_over = state.end.is_some();
        let mut resumed = state.wishes.resumed.clone();
        let pause = state.wishes.pause.as_ref().and_then(|pause| until(pause, &mut resumed, now));
        let new = state.wishes.rule.as_ref();
        let (judge, misfire) = (state.judge.as_deref(), conductor.policy.misfire);
        let is_passed = |it: &Beside| {
            it.cause == Cause::Schedule
                && (resumed.iter().any(|at| it.since < at.tick)
                    || belated::would_be_skipped(judge, misfire, Waiting::of(it), now))
        };
        let waits = |cause| {
            let waits = |it: &Beside| it.course.is_none() && it.cause == cause && !is_passed(it);
            state.beside.iter().any(waits)
        };
        let beside = [Cause::Manual, Cause::Schedule].into_iter().find(|cause| waits(*cause));
        Self {
            ahead: if is_over { None } else { ahead(conductor, state) },
            is_over,
            lead: state.lead().map(|course| Lead {
                since: new.map_or(course.began, |new| new.from),
                again_at: course.again_at.map(Due::Tick),
            }),
            resumed,
            pause,
            wants_manual_run: state.wishes.manual_run,
            beside,
        }
    }

    /// When the next run starts, as far as that is known.
    pub(super) fn next(&self, now: Now) -> Option<WallTime> {
        self.starts((&self.resumed, false), self.pause, now)
    }

    /// When it would start if the task were resumed now.
    pub(super) fn next_if_resumed(mut self, now: Now) -> Option<WallTime> {
        let is_resumed = self.pause.is_some();
        if is_resumed {
            self.resumed.push(now);
        }
        self.starts((&self.resumed, is_resumed), None, now)
    }

    fn starts(
        &self,
        (resumed, is_renewed): (&[Now], bool),
        pause: Option<Until>,
        now: Now,
    ) -> Option<WallTime> {
        if self.is_over {
            return None;
        }
        let is_manual_next = self.wants_manual_run && self.lead.is_none();
        if is_manual_next || self.beside == Some(Cause::Manual) {
            return Some(now.wall);
        }
        let paused_until = match pause {
            Some(Until::Resumed) => return None,
            Some(Until::Then(until)) => Some(until),
            None => None,
        };
        // The end of a pause passes over what waits for a worker.
        if self.beside.is_some() && paused_until.is_none() && !is_renewed {
            return Some(now.wall);
        }
        let earliest = paused_until.map_or(now.wall, |until| until.wall);
        match &self.lead {
            Some(Lead { again_at: Some(at), .. }) => return Some(at.as_wall(now).max(earliest)),
            // It follows the run in progress, whenever that ends.
            Some(_) if self.wants_manual_run => return None,
            _ => {}
        }
        let busy_since = self.lead.as_ref().map(|lead| lead.since);
        let how = Circumstances { busy_since, is_renewed, resumed, paused_until };
        self.ahead.as_ref()?.starts(&how, now)
    }
}

/// What is known of a rule that is to be gone by; nothing of a trigger of the user's.
fn of_rule(conductor: &Conductor, rule: &Rule, from: Now) -> Option<Ahead> {
    if matches!(rule, Rule::Custom(_)) {
        return None;
    }
    let policy = &conductor.policy;
    let timetable = Timetable::new(rule, policy.jitter, conductor.chance);
    Some(Ahead::since(from, &timetable, (policy.overlap, policy.misfire)))
}

/// What is known of the rule that is gone by when the run in progress is over.
fn ahead(conductor: &Conductor, state: &State) -> Option<Ahead> {
    if let Some(new) = &state.wishes.rule {
        return of_rule(conductor, &new.rule, new.from);
    }
    let ahead = state.judge.as_ref()?.ahead();
    let has_begun = match state.present {
        Present::Nothing => false,
        Present::Started(_) => true,
        Present::Run => state.lead()?.run.cause() == Cause::Schedule,
    };
    Some(if has_begun { ahead.after_begun() } else { ahead })
}

/// Until when a pause goes on; none when it is over, and nobody has looked since.
fn until(pause: &Pause, resumed: &mut Vec<Now>, now: Now) -> Option<Until> {
    match pause.until {
        _ if pause.end().is_reached(now) => {
            resumed.push(pause.ended(now));
            None
        }
        None => Some(Until::Resumed),
        Some(until) => {
            let wall = WallTime::from(until);
            Some(Until::Then(Now { tick: Due::Wall(wall).as_tick(now), wall }))
        }
    }
}
