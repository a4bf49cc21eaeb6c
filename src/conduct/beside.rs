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

use super::conductor::Conductor;
use super::state::Beside;
use super::state::Seat;
use super::tale::Tale;
use super::timetable::FireTime;
use crate::run::Cause;

impl Conductor {
    /// Starts a run beside whatever is in progress.
    ///
    /// # Errors
    ///
    /// The pool is shut down, or gone (none).
    pub(super) fn start_beside(
        self: &Arc<Self>,
        fire: FireTime,
        cause: Cause,
    ) -> Result<(), Option<Error>> {
        let pool = self.pool.upgrade().ok_or(None)?;
        let number = {
            let mut state = self.lock();
            let number = state.draw_number();
            state.beside.push(Beside { number, fire, cause, handle: None, course: None });
            number
        };
        let seat = Seat::Beside(number);
        let pace = PaceBeside { conductor: Arc::downgrade(self), number };
        let task = Task::paced(pace, self.body(seat)).name(Arc::clone(&self.name));
        match pool.submit_task(task) {
            Ok(handle) => {
                self.attach_beside(number, &handle);
                Ok(())
            }
            Err(error) => {
                let left = self.lock().take_beside(number);
                drop(left);
                Err(Some(error))
            }
        }
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
                None if beside.cause == Cause::Manual => Some(Due::Tick(now.tick)),
                None => paused.or(Some(Due::Tick(now.tick))),
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
