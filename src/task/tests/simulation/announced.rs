//! The next start that was shown is the one that comes.

use chrono::{DateTime, Utc};

use super::times::Answer;
use crate::observe::SkipReason;

#[derive(Debug, Default)]
pub(super) struct Announced {
    at: Option<DateTime<Utc>>,
    /// True if an earlier fire time starts then: it waits for a worker, or for the end of a pause.
    is_late_one: bool,
    /// True if it is the next attempt of a run in progress.
    is_attempt: bool,
    /// True if the clock was set, and not everybody has seen it.
    is_unsure: bool,
    /// True if it was ever set: then it is not certain when a pause has ended.
    has_been_set: bool,
    /// The number of starts that came as shown.
    pub(super) kept: u64,
}

impl Announced {
    pub(super) fn show(
        &mut self,
        next: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
        paused_until: Option<DateTime<Utc>>,
    ) {
        self.at = next.filter(|_| !self.is_unsure);
        self.is_late_one = next == Some(now) || next == paused_until;
        self.is_attempt = false;
    }

    pub(super) fn is_of_attempt(&mut self, is_attempt: bool) {
        self.is_attempt = is_attempt;
    }

    pub(super) fn forget(&mut self) {
        self.at = None;
    }

    pub(super) fn clock_is_set(&mut self) {
        (self.at, self.is_unsure, self.has_been_set) = (None, true, true);
    }

    /// Everybody has seen what the clock shows.
    pub(super) fn is_seen(&mut self) {
        self.is_unsure = false;
    }

    /// A run of the schedule starts that was due then.
    pub(super) fn starts(
        &mut self,
        due: DateTime<Utc>,
        kept_until: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Answer {
        let Some(at) = self.at.take() else { return Ok(()) };
        // One with a longer jitter may be missed when it comes, and a later one start in its place.
        let is_shown = due == at || self.is_late_one && due <= kept_until.max(at) || now == at;
        if !is_shown || now < at || self.is_attempt {
            return Err(format!("{at} was shown as next"));
        }
        self.kept += 1;
        Ok(())
    }

    /// Another attempt begins that was due then; what follows its run is as it was.
    pub(super) fn attempt_begins(&mut self, due: DateTime<Utc>, now: DateTime<Utc>) -> Answer {
        let Some(at) = self.at.take_if(|_| self.is_attempt) else { return Ok(()) };
        if now < at || due != at && !(self.is_late_one && due <= at) {
            return Err(format!("{at} was shown as that of the attempt"));
        }
        self.kept += 1;
        Ok(())
    }

    /// Fire times are skipped; `begins_anew` when the rule counts from then.
    pub(super) fn skipped(&mut self, why: SkipReason, begins_anew: bool, now: DateTime<Utc>) {
        let has_come = self.at.is_some_and(|at| at < now);
        // A pause skips fire times before its end, and the start that is shown comes after it.
        let is_behind = why == SkipReason::Paused && !self.has_been_set;
        if !is_behind && (has_come || begins_anew) {
            self.at = None;
        }
    }

    /// Nothing is left to do at this instant, and no run in progress.
    pub(super) fn rests(&self, now: DateTime<Utc>) -> Answer {
        match self.at.filter(|at| *at < now) {
            Some(at) => Err(format!("{at} was shown as next, and nothing has started")),
            None => Ok(()),
        }
    }
}
