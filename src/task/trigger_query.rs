//! Queries to a custom trigger, and the waits after failed answers.

use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_core::{Now, Tick, TriggerContext, WallTime};

use super::fire_times::FireTime;
use super::lazy_box::Empty;

/// The wait after the first failed answer of a trigger. It doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// The longest wait.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A query for the fire time after a run, or for the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TriggerQuery {
    /// When the last run was to start, started and ended.
    last: Option<[WallTime; 3]>,
    /// The answer has to be later than this.
    pub(super) floor: Option<WallTime>,
}

impl TriggerQuery {
    pub(super) fn first() -> Self {
        Self { last: None, floor: None }
    }

    pub(super) fn after_run(fire: FireTime, began: Now, ended: Now) -> Self {
        let scheduled = fire.at.as_wall(began);
        Self { last: Some([scheduled, began.wall, ended.wall]), floor: Some(scheduled) }
    }

    /// After fire times up to an instant that count as fired.
    pub(super) fn following(instant: WallTime) -> Self {
        Self { last: Some([instant; 3]), floor: Some(instant) }
    }

    /// After the fire time that was skipped last; see [`TriggerQueries::note_skipped`].
    pub(super) fn after_skip(now: Now) -> Self {
        Self { last: Some([now.wall; 3]), floor: None }
    }

    pub(super) fn context(&self, now: DateTime<Utc>) -> TriggerContext {
        match self.last.map(|last| last.map(WallTime::to_utc)) {
            None => TriggerContext::first(now),
            Some([scheduled, started, completed]) => {
                TriggerContext::after_run(now, scheduled, started, completed)
            }
        }
    }
}

/// The query of one task, if there is one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TriggerQueries {
    state: QueryState,
    /// The number of failed answers in a row.
    failures: u32,
    /// The last fire time that was skipped.
    skipped: Option<WallTime>,
}

#[derive(Clone, Copy, Debug, Default)]
enum QueryState {
    #[default]
    None,
    ToAsk(TriggerQuery),
    /// It is being asked, outside the lock.
    Asking,
    /// It could not answer.
    Failed {
        query: TriggerQuery,
        again_at: Tick,
    },
}

impl Empty for TriggerQueries {
    const EMPTY: &'static Self = &Self { state: QueryState::None, failures: 0, skipped: None };
}

impl TriggerQueries {
    pub(super) fn put(&mut self, mut query: TriggerQuery) {
        if query.floor.is_none()
            && let (Some(skipped), Some(last)) = (self.skipped.take(), &mut query.last)
        {
            (last[0], query.floor) = (skipped, Some(skipped));
        }
        self.state = QueryState::ToAsk(query);
    }

    pub(super) fn note_skipped(&mut self, fire_time: WallTime) {
        self.skipped = Some(fire_time);
    }

    /// Returns the last fire time that was skipped since the last answer.
    pub(super) fn skipped(&self) -> Option<WallTime> {
        self.skipped
    }

    pub(super) fn has_one(&self) -> bool {
        matches!(self.state, QueryState::ToAsk(_))
    }

    /// Returns true if an answer is awaited, or is to be asked for.
    pub(super) fn is_open(&self) -> bool {
        !matches!(self.state, QueryState::None)
    }

    /// Takes the query out, to ask it.
    pub(super) fn begin_asking(&mut self) -> Option<TriggerQuery> {
        let QueryState::ToAsk(query) = self.state else { return None };
        self.state = QueryState::Asking;
        Some(query)
    }

    /// Returns after how long the query is asked again.
    pub(super) fn failed(&mut self, query: TriggerQuery, now: Tick) -> Duration {
        self.failures = self.failures.saturating_add(1);
        let wait = wait_after(self.failures);
        self.state = QueryState::Failed { query, again_at: now + wait };
        wait
    }

    pub(super) fn again_at(&self) -> Option<Tick> {
        match self.state {
            QueryState::Failed { again_at, .. } => Some(again_at),
            _ => None,
        }
    }

    pub(super) fn ask_again(&mut self) {
        if let QueryState::Failed { query, .. } = self.state {
            self.state = QueryState::ToAsk(query);
        }
    }
}

fn wait_after(failures: u32) -> Duration {
    let doubled = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
    FIRST_WAIT.saturating_mul(doubled).min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::wait_after;

    #[test]
    fn the_wait_doubles_up_to_a_minute() {
        let waits = [1, 2, 3, 6, 7, 8, 40, u32::MAX].map(|count| wait_after(count).as_secs());
        assert_eq!(waits, [1, 2, 4, 32, 60, 60, 60, 60]);
    }
}
