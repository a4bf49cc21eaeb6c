//! Tasks of the wall clock: timers that ask for their next time.

use std::sync::{Arc, PoisonError};

use chrono::{DateTime, Utc};
use scheduler_core::{Clock, Due, Fire, Fired, Now, Run, ScheduledThreadPool, Timer};

use super::Mutex;

/// Names the next time, from what the wall clock shows and the time before; that is none at first, and after the
/// clock was set back.
type Rule =
    Box<dyn Fn(DateTime<Utc>, Option<DateTime<Utc>>) -> Option<DateTime<Utc>> + Send + Sync>;

/// The content of a timer that fires by the wall clock.
pub(crate) struct WallTask {
    rule: Rule,
    body: Mutex<Box<dyn FnMut() + Send>>,
}

impl WallTask {
    fn arm(timer: &Arc<Timer<Self>>, last: Option<DateTime<Utc>>, now: Now) {
        if let Some(next) = (timer.rule)(now.wall.to_utc(), last) {
            timer.arm(Due::Wall(next.into()), now).perform();
        }
    }
}

impl Fire for WallTask {
    fn fire(timer: &Arc<Timer<Self>>, _: &Run) -> Fired {
        (timer.body.lock().unwrap_or_else(PoisonError::into_inner))();
        Fired::Returned
    }

    fn finish(timer: &Arc<Timer<Self>>, run: &Run, now: Now) {
        Self::arm(timer, Some(run.fire_time()), now);
    }

    fn clock_set_back(timer: &Arc<Timer<Self>>, now: Now) {
        Self::arm(timer, None, now);
    }
}

/// Calls a body at the times that a rule names, one after the other.
pub(crate) fn on_wall(
    pool: &ScheduledThreadPool,
    clock: &dyn Clock,
    rule: impl Fn(DateTime<Utc>, Option<DateTime<Utc>>) -> Option<DateTime<Utc>> + Send + Sync + 'static,
    body: impl FnMut() + Send + 'static,
) -> Arc<Timer<WallTask>> {
    let content = WallTask { rule: Box::new(rule), body: Mutex::new(Box::new(body)) };
    let timer = pool.timer("wall", content);
    WallTask::arm(&timer, None, Now::read(clock));
    timer
}

/// Calls a body once, at this time.
pub(crate) fn at_wall(
    pool: &ScheduledThreadPool,
    clock: &dyn Clock,
    at: DateTime<Utc>,
    body: impl FnMut() + Send + 'static,
) -> Arc<Timer<WallTask>> {
    on_wall(pool, clock, move |_, last| last.is_none().then_some(at), body)
}
