//! What the timer of a task does: it re-arms itself before it starts a run.
//!
//! The timer fires; the planner decides; the timer is armed for the next look; then the run is called in place, on the same
//! worker. So a run that hangs does not hold back its schedule.

use std::sync::Arc;

use scheduler_core::{Fire, Fired, Now, Timer};

use super::attempt;
use super::ticker::Ticker;
use super::transition::Transition;
use crate::observe::TaskState;

impl Fire for Ticker {
    fn fire(ticker: &Arc<Timer<Self>>, engine: &scheduler_core::Run) -> Fired {
        let mut transition = Transition::begin(ticker, engine.started());
        transition.state.armed = None;
        let (transition, run) = transition.next_attempt(engine);
        transition.commit();
        match run {
            Some(run) => attempt::execute(ticker, run, engine),
            None => Fired::Done,
        }
    }

    fn finish(ticker: &Arc<Timer<Self>>, engine: &scheduler_core::Run, now: Now) {
        Transition::begin(ticker, now).attempt_over(engine.number()).commit();
    }

    fn clock_set_back(ticker: &Arc<Timer<Self>>, now: Now) {
        let mut transition = Transition::begin(ticker, now);
        transition.state.armed = None;
        transition.state.planner.look(now);
        transition.commit();
    }

    fn dropped(ticker: &Arc<Timer<Self>>) {
        let mut transition = Transition::begin(ticker, ticker.now());
        transition.state.armed = None;
        transition.end(TaskState::Cancelled);
        transition.commit();
    }
}
