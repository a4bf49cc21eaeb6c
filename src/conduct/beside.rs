//! Runs beside the engine's task of their task: `overlap = "allow"`.
//!
//! Each is an engine's task of its own, paced for one run and its further attempts.

use std::sync::Arc;
use std::sync::Weak;

use scheduler_core::Asked;
use scheduler_core::Due;
use scheduler_core::Error;
use scheduler_core::Now;
use scheduler_core::Occasion;
use scheduler_core::Pace;
use scheduler_core::Task;
use scheduler_core::TaskHandle;

use super::belated;
use super::belated::Waiting;
use super::conductor::Conductor;
use super::conductor::Guard;
use super::judge::Skip;
use super::passing::Limit;
use super::state::Beside;
use super::state::Present;
use super::state::Seat;
use super::state::State;
use super::tale::Tale;
use super::timetable::FireTime;
use crate::observe::SkipReason;
use crate::run::Cause;

/// Why a fire time whose run beside has not begun is passed over.
#[derive(Clone, Copy, Debug)]
pub(super) enum Passing {
    /// The task was resumed then.
    Resumed(Now),
    /// Another rule has taken the place of its own.
    Replaced,
}

impl State {
    /// Has a fire time start a run beside whatever is in progress, as soon as a worker is there.
    pub(super) fn hand_over(&mut self, fire: FireTime, cause: Cause, now: Now) -> u64 {
        self.seats += 1;
        let (number, since) = (self.seats, now.tick);
        if cause == Cause::Schedule {
            self.overtake_beside(fire);
        }
        let (is_overtaken, handle, course) = (false, None, None);
        self.beside.push(Beside { number, since, fire, cause, is_overtaken, handle, course });
        number
    }

    /// Has what waits for a worker know that a later fire time starts, or waits too.
    fn overtake_beside(&mut self, by: FireTime) {
        for beside in &mut self.beside {
            beside.is_overtaken |= beside.cause == Cause::Schedule && by.is_after(beside.fire);
        }
    }

    /// Passes over fire times of the schedule that were handed over, and whose runs have not begun.
    pub(super) fn pass_over_beside(&mut self, why: Passing, tale: &mut Tale, now: Now) {
        let reason = match why {
            Passing::Replaced if self.wishes.pause.is_none() => SkipReason::Rescheduled,
            _ => SkipReason::Paused,
        };
        let is_passed = |beside: &mut Beside| match why {
            _ if beside.course.is_some() || beside.cause == Cause::Manual => false,
            // Whatever the wall clock shows now, what waits for a worker has come.
            Passing::Resumed(at) => {
                beside.since < at.tick || Limit::Before(at).is_after(beside.fire.due)
            }
            Passing::Replaced => true,
        };
        let passed: Vec<Beside> = self.beside.extract_if(.., is_passed).collect();
        for beside in passed {
            tale.skip(self, vec![Skip { reason, at: beside.fire.at, count: 1 }], now);
            tale.drop_beside_later(Some(beside));
        }
    }
}

impl Conductor {
    /// Brings what was [handed over](State::hand_over) to the pool.
    ///
    /// # Errors
    ///
    /// The pool is shut down, or gone (none).
    pub(super) fn start_beside(self: &Arc<Self>, number: u64) -> Result<(), Option<Error>> {
        let seat = Seat::Beside(number);
        let submitted = self.pool.upgrade().ok_or(None).and_then(|pool| {
            let pace = PaceBeside { conductor: Arc::downgrade(self), number };
            let task = Task::paced(pace, self.body(seat)).name(Arc::clone(&self.name));
            pool.submit_task(task).map_err(Some)
        });
        match submitted {
            Ok(handle) => {
                self.attach_beside(number, &handle);
                Ok(())
            }
            Err(error) => {
                let left = self.lock().take_beside(number);
                drop(left);
                Err(error)
            }
        }
    }

    /// Decides, now that a worker is there, about the fire time that was handed over to a run beside: which
    /// one's run begins in this seat, if any.
    pub(super) fn choose_waiting<'a>(
        &'a self,
        mut state: Guard<'a>,
        (number, waiting): (u64, Waiting),
        tale: &mut Tale,
        now: Now,
    ) -> (Guard<'a>, Option<FireTime>) {
        // RACE: the thread that runs or renews the task has the judge, or the pending fire time in its hands.
        let is_free = state.present == Present::Nothing && !state.has_urgent_wish();
        let mut start = None;
        if state.judge.as_ref().is_none_or(|judge| judge.asks()) {
            let verdict = belated::begin_unasked(self.policy.misfire, waiting.fire, now);
            start = verdict.start;
            tale.skip(&mut state, verdict.skips, now);
        } else {
            state = self.judged(state, tale, now, |judge| {
                let verdict = judge.begin_beside(waiting, is_free, now)?;
                start = verdict.start;
                Ok(verdict.skips)
            });
        }
        if let Some(start) = start.filter(|start| *start != waiting.fire) {
            state.overtake_beside(start);
        }
        match (start, state.beside_mut(number)) {
            (Some(start), Some(beside)) => beside.fire = start,
            _ => tale.drop_beside_later(state.take_beside(number)),
        }
        (state, start)
    }

    fn attach_beside(self: &Arc<Self>, number: u64, handle: &TaskHandle<()>) {
        if let Some(beside) = self.lock().beside_mut(number) {
            beside.handle = Some(handle.clone());
        }
        // RACE: a wish that came before the handle was there has renewed nothing.
        handle.renew();
        let conductor = Arc::clone(self);
        handle.on_done(move |_| conductor.beside_has_ended(number));
    }

    /// The engine's task of a run beside has ended: by itself, or because its pool has dropped it.
    fn beside_has_ended(&self, number: u64) {
        let (now, mut tale) = (Now::read(&*self.clock), Tale::default());
        let (mut state, seat) = (self.lock(), Seat::Beside(number));
        let waits = state.course(seat).is_some_and(|course| course.again_at.is_some());
        if waits {
            state = self.give_up(state, seat, &mut tale, now);
        }
        // A run that is in progress still is forgotten when it ends.
        let left = match state.course(seat) {
            Some(_) => None,
            None => state.take_beside(number),
        };
        let lead = state.lead_to_end();
        drop(state);
        tale.out(self, None, now);
        drop(left);
        lead.iter().for_each(TaskHandle::renew);
    }

    fn answer_beside(&self, number: u64, asked: &Asked<'_>) -> Option<Due> {
        let (now, mut tale) = (asked.now, Tale::default());
        let (mut state, seat) = (self.lock(), Seat::Beside(number));
        self.lift_pause(&mut state, &mut tale, now);
        if matches!(asked.occasion, Occasion::RunEnded { .. })
            && let Some(course) = state.course(seat)
        {
            let waits = course.again_at.is_some();
            if !waits && self.attempt_over(&mut state, seat, &mut tale, now) {
                let left = state.take_beside(number);
                let (lead, next) = (state.lead_to_end(), tale.outlook(self, &state, now));
                drop(state);
                tale.out(self, next, now);
                drop(left);
                lead.iter().for_each(TaskHandle::renew);
                return None;
            }
        }
        let is_called_off =
            state.end.is_some() || state.course(seat).is_some_and(|course| course.is_called_off);
        let mut left = None;
        if is_called_off {
            state = self.give_up(state, seat, &mut tale, now);
            left = state.take_beside(number);
        }
        let paused = state.wishes.paused_until();
        let due = match state.beside_mut(number) {
            None => None,
            Some(beside) => match &beside.course {
                None if beside.cause == Cause::Manual => Some(Due::Tick(beside.since)),
                None => paused.or(Some(Due::Tick(beside.since))),
                Some(course) => paused.or(course.again_at.map(Due::Tick)),
            },
        };
        let next = tale.outlook(self, &state, now);
        drop(state);
        tale.out(self, next, now);
        drop(left);
        due
    }
}

/// Paces a run beside. Weak, as the pace of the task itself.
struct PaceBeside {
    conductor: Weak<Conductor>,
    number: u64,
}

impl Pace for PaceBeside {
    fn next(&self, asked: &Asked<'_>) -> Option<Due> {
        self.conductor.upgrade()?.answer_beside(self.number, asked)
    }
}
