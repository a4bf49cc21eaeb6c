//! What is done to the task: it is asked to run, to pause, to go by another rule.

use super::*;

impl Reference {
    pub(in super::super) fn run_now(&mut self) -> bool {
        let is_busy = self.is_alone() && !self.runs.is_empty();
        let is_refused = match self.policy.overlap {
            Overlap::Skip => is_busy,
            _ => self.wants_manual,
        };
        self.wants_manual |= !is_refused;
        !is_refused
    }

    /// Goes by another rule, which first fires then.
    pub(in super::super) fn reschedule(&mut self, (kind, next): (Kind, u64)) {
        if self.is_taken_up {
            self.end_rule();
        } else {
            self.forgotten.append(&mut self.untold);
            self.waiting.clear();
        }
        self.rule += 1;
        self.held_up.push(!self.has_schedule());
        self.is_taken_up = !self.is_held_up();
        self.runs.iter_mut().for_each(|run| run.is_awaited = false);
        (self.kind, self.next) = (kind, next);
    }

    /// Whatever has come and waits will not start, nor what comes just now during a run.
    fn end_rule(&mut self) {
        let is_paused = self.is_paused() && !matches!(self.kind, Kind::Once);
        let reason = if is_paused { SkipReason::Paused } else { SkipReason::Rescheduled };
        self.skip(reason, |_| true);
        if let Some(fate) = self.story.fates.get_mut(&self.now)
            && *fate == Fate::Skipped(SkipReason::Overlap)
        {
            *fate = Fate::Skipped(reason);
        }
        self.untold.clear();
    }

    pub(in super::super) fn pause(&mut self, until: u64) {
        self.paused = Some(until.max(self.now));
    }

    /// Forgets when a pause is to end, for bugs that are planted.
    pub(in super::super) fn prolong_pause(&mut self) {
        self.paused = self.paused.map(|_| NEVER);
    }

    /// Holds what comes by a later rule for nothing, for bugs that are planted.
    pub(in super::super) fn forget_rule(&mut self) {
        if self.rule > 0 {
            self.next = NEVER;
        }
    }

    pub(in super::super) fn resume(&mut self) {
        self.resume_at(self.now);
    }

    pub(super) fn resume_at(&mut self, at: u64) {
        self.paused = None;
        match self.kind {
            Kind::Delay(delay) if self.waiting.iter().any(|waiting| waiting.fire < at) => {
                self.skip(SkipReason::Paused, |_| true);
                self.next = at + delay;
            }
            Kind::Delay(_) | Kind::Once => {}
            Kind::Rate(_) | Kind::Cron(_) => {
                self.skip(SkipReason::Paused, |waiting| waiting.fire < at);
            }
        }
    }
}
