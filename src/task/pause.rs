//! The pause of a task that is paused.

use chrono::{DateTime, Utc};
use scheduler_core::{Due, Now, Tick, WallTime};

use crate::run::Pause;

/// The pause of a task that is paused.
#[derive(Clone, Debug)]
pub(super) struct ActivePause {
    pub(super) pause: Pause,
    pub(super) since: DateTime<Utc>,
    /// When its end was set.
    pub(super) set_at: Now,
}

impl ActivePause {
    pub(super) fn until(&self) -> Option<DateTime<Utc>> {
        self.pause.until
    }

    pub(super) fn end(&self) -> Due {
        self.until().map_or(Due::NEVER, |until| Due::Wall(until.into()))
    }

    /// Returns the reading of both clocks at the end of the pause; `None` while it goes on, as it did at the last look.
    ///
    /// The wall clock may have been set meanwhile, or the machine suspended: then this is the later of the two instants
    /// that the monotonic clock allows. Fire times in a pause are never replayed.
    pub(super) fn over_at(&self, last: Now, now: Now) -> Option<Now> {
        let until = self.until().filter(|_| self.end().is_reached(now))?;
        // One that is over when it begins is a pause nevertheless.
        let wall = WallTime::from(until).max(self.set_at.wall);
        let from_set = self.set_at.tick + wall.since(self.set_at.wall);
        let since = u64::try_from(now.wall.since(wall).as_nanos()).unwrap_or(u64::MAX);
        let until_now = Tick::from_nanos(now.tick.as_nanos().saturating_sub(since));
        Some(Now {
            tick: from_set.max(until_now).max(last.tick).min(now.tick),
            wall: wall.min(now.wall),
        })
    }
}
