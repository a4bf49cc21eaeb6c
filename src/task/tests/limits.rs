//! An attempt that ends just before its time is over.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use scheduler_core::time::{Epoch, EventCount};
use scheduler_core::{Clock, ManualClock, Tick};

use super::stage::*;
use crate::observe::TaskState;
use crate::task::{Policy, Retry};
use scheduler_expr::OnError;

/// The stage's clock, which goes on by a millisecond whenever it is read.
#[derive(Debug)]
struct Creeping(ManualClock);

impl Clock for Creeping {
    fn now(&self) -> Tick {
        self.0.advance(ms(1));
        self.0.now()
    }

    fn wall(&self) -> DateTime<Utc> {
        self.0.wall()
    }

    fn wait(&self, gate: &Arc<EventCount>, seen: Epoch, until: Option<Tick>) {
        self.0.wait(gate, seen, until);
    }
}

#[test]
fn a_failure_that_came_in_time_is_one_though_the_time_is_over_when_it_is_looked_at() {
    let mut stage = Stage::new();
    let retry = Retry::new(1);
    let policy =
        Policy { timeout: Some(ms(100)), retry, on_error: OnError::Stop, ..Policy::default() };
    let call = stage.call(|_| fails(99));
    let mut parts = stage.parts(rate(60_000), policy, call);
    parts.clock = Arc::new(Creeping(stage.clock.clone()));
    let control = parts.begin().unwrap();
    stage.until(50_000);
    let snapshot = control.snapshot();
    let run = snapshot.last_runs.last().expect("one run");
    assert_eq!((run.outcome.name(), run.attempts), ("error", 2));
    assert_eq!((snapshot.streak, snapshot.state), (1, TaskState::Failed));
}
