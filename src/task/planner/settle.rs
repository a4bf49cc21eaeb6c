//! Decides about fire times that have come, and those missed.

use std::time::Duration;

use scheduler_core::{Due, Now, Tick};
use scheduler_expr::{Misfire, Overlap};

use crate::observe::SkipReason;
use crate::task::fire_times::{FireTime, Limit, Range};
use crate::task::planner::{MISSED_AFTER, Overrun, Planner, Skip, Waiting};
use crate::task::rule::{Rule, TriggerQuery};

/// The most ranges of missed fire times that wait; further ones are skipped.
const RANGES_MAX: usize = 1_000;

/// The shortest distance between two reports of skips during one run.
const REPORT_GAP_MIN: Duration = Duration::from_millis(10);

/// The distance that reports of skips grow to, for periods that are shorter.
const REPORT_GAP_MAX: Duration = Duration::from_secs(1);

impl Planner {
    /// Settles the fire times within a limit, by the state since the last transition. The end of a pause by
    /// its time is one.
    pub(super) fn settle(&mut self, limit: Limit, now: Now) {
        let last = std::mem::replace(&mut self.last_look, now);
        if self.times.is_by_wall() && now.wall < last.wall {
            self.clock_was_set_back(last, now);
        }
        if let Some(end) = self.pause.as_ref().and_then(|pause| pause.over_at(last, now)) {
            self.come(Limit::Before(end));
            self.end_pause(end);
            self.has_resumed = true;
        }
        self.come(limit);
        if self.times.is_cron() && now.wall >= last.wall {
            self.fired.advance(last, now);
        }
    }

    /// Looks for the next fire time anew.
    #[cold]
    fn clock_was_set_back(&mut self, last: Now, now: Now) {
        if self.times.is_cron() {
            self.fired.advance(last, now);
        }
        // One that had come, and whose jitter is not over, stays.
        let has_come = |next: FireTime| matches!(next.at, Due::Wall(at) if at <= last.wall);
        if self.next.is_none_or(has_come) {
            return;
        }
        self.next = None;
        if self.times.is_custom() {
            self.queries.put(TriggerQuery::first());
        } else {
            let next = self.times.first_unfired_after(now.wall, &self.fired);
            self.next = self.admitted(next);
        }
    }

    fn come(&mut self, limit: Limit) {
        // Nothing is asked for while all runs that may be have started; the last one may yet be refused.
        let is_spent = self.is_spent();
        if is_spent && !self.times.goes_on_by_itself() {
            return;
        }
        while let Some(first) = self.next.filter(|next| limit.includes(next.due)) {
            let (range, next) = self.take(first, limit);
            self.next = self.admitted(next);
            let Some(range) = range.filter(|_| !is_spent) else { continue };
            let range =
                if self.policy().until.is_some() { self.cut_at_until(range) } else { range };
            self.take_in(range);
        }
    }

    fn take(&self, first: FireTime, limit: Limit) -> (Option<Range>, Option<FireTime>) {
        let wall = |fire: FireTime| fire.at.as_wall(self.last_look);
        let queued = self.queued.as_deref().copied().map(Range::one);
        let mut held = self.waiting.iter().map(|waiting| waiting.range).chain(queued);
        let at = wall(first);
        if !self.times.is_cron() || held.clone().all(|range| wall(range.last) < at) {
            let (range, next) = self.times.take(first, limit, &self.fired);
            return (Some(range), next);
        }
        // The clock was set back behind fire times that wait: they do not come again while they do.
        let is_held = held.any(|range| wall(range.first) <= at && at <= wall(range.last));
        let range = (!is_held).then(|| Range::one(first));
        (range, self.times.first_unfired_after(at, &self.fired))
    }

    /// Cuts off the fire times after `until`: of a range that was taken at once.
    fn cut_at_until(&self, range: Range) -> Range {
        if self.admitted(Some(range.last)).is_some() {
            return range;
        }
        let mut cut = Range::one(range.first);
        while cut.last != range.last
            && let Some(next) = self.admitted(self.times.following(cut.last))
        {
            cut.push(next);
        }
        cut
    }

    /// Decides about fire times by the present state.
    fn take_in(&mut self, range: Range) {
        if self.times.is_once() {
            return self.wait(Waiting { range, ready: None });
        }
        let is_full = self.is_full();
        if is_full {
            self.overrun.first.get_or_insert(range.first.at);
        }
        let reason = match self.policy().overlap {
            Overlap::QueueOne if is_full => return self.queue(range),
            _ if is_full => SkipReason::Overlap,
            _ if self.pause.is_some() => SkipReason::Paused,
            _ => return self.wait(Waiting { range, ready: None }),
        };
        self.skip(reason, range);
        self.restart_after(reason);
    }

    /// Lets the last fire time of a range follow the run in progress, in place of the one before.
    ///
    /// A fire time that was to follow the run before, and has found no worker since, gives way too, unless each is caught up.
    fn queue(&mut self, range: Range) {
        let is_each = self.policy().misfire == Misfire::CatchUp;
        if let Some(index) =
            self.waiting.iter().position(|waiting| waiting.ready.is_some() && !is_each)
            && let Some(former) = self.waiting.remove(index)
        {
            self.skip(SkipReason::Overlap, former.range);
        }
        if let Some(former) = self.queued.replace(Box::new(range.last)) {
            self.skip(SkipReason::Overlap, Range::one(*former));
        }
        if let Some(earlier) = range.without_last() {
            self.skip(SkipReason::Overlap, earlier);
        }
    }

    /// The run has ended that a fire time was to follow.
    pub(super) fn promote_queued(&mut self, fire: FireTime, now: Now) {
        let range = Range::one(fire);
        if self.pause.is_none() || self.times.is_once() {
            self.wait(Waiting { range, ready: Some(now) });
        } else {
            self.skip(SkipReason::Paused, range);
            self.restart_after(SkipReason::Paused);
        }
    }

    fn wait(&mut self, waiting: Waiting) {
        if self.waiting.len() < RANGES_MAX {
            self.waiting.push_back(waiting);
            return;
        }
        self.skip(SkipReason::Misfire, waiting.range);
    }

    /// Skips the fire times that wait, except for a one-time task, which a pause only delays.
    pub(super) fn skip_waiting(&mut self, reason: SkipReason) {
        if reason == SkipReason::Paused && self.times.is_once() || self.waiting.is_empty() {
            return;
        }
        for waiting in self.waiting.take() {
            self.skip(reason, waiting.range);
        }
        if reason == SkipReason::Paused {
            self.restart_after(reason);
        }
    }

    pub(super) fn end_pause(&mut self, at: Now) {
        self.pause = None;
        self.skip_waiting(SkipReason::Paused);
        if !self.times.is_once()
            && let Some(fire) = self.queued.take()
        {
            self.skip(SkipReason::Paused, Range::one(*fire));
            self.restart_after(SkipReason::Paused);
        }
        let is_held_up = self.restarts == Some(SkipReason::Paused);
        if is_held_up && let Some(skipped) = self.queries.skipped() {
            // A fire time in the pause that a trigger gives now is not replayed.
            self.fired.mark_until(skipped, at.wall);
        }
        if is_held_up {
            self.restart(None, at);
        }
    }

    /// A fire time is skipped that no other follows by itself.
    fn restart_after(&mut self, reason: SkipReason) {
        if !self.times.goes_on_by_itself() {
            self.restarts = Some(reason);
        }
    }

    /// A delay begins anew, or the trigger is asked: after a run of the schedule, or after skipped fire times.
    pub(super) fn restart(&mut self, last: Option<(FireTime, Now)>, now: Now) {
        self.restarts = None;
        match self.rule() {
            Rule::FixedDelay { .. } => {
                let next = self.times.after_delay(now);
                self.next = self.admitted(next);
            }
            Rule::Custom(_) if self.next.is_none() => {
                self.queries.put(match last {
                    Some((fire, began)) => TriggerQuery::after_run(fire, began, now),
                    None => TriggerQuery::after_skip(now),
                });
            }
            _ => {}
        }
    }

    pub(super) fn skip(&mut self, reason: SkipReason, range: Range) {
        let Range { first, last, count, at_least, .. } = range;
        if self.times.is_custom()
            && let Due::Wall(at) = last.at
        {
            self.queries.note_skipped(at);
            self.fired.mark_trigger_time(at, self.last_look.tick);
            self.fired.mark_one(at);
        }
        if self.is_full() {
            self.overrun.note_report(self.last_look.tick, self.times.period());
        }
        match self.skips.last_mut() {
            Some(before) if before.reason == reason => {
                before.last = last.at;
                before.count = before.count.saturating_add(count);
                before.at_least |= at_least;
            }
            _ => self.skips.push(Skip { reason, first: first.at, last: last.at, count, at_least }),
        }
    }
}

impl Overrun {
    /// Skips are reported now: the next ones after twice the time.
    fn note_report(&mut self, now: Tick, period: Duration) {
        if self.next_report > now {
            return;
        }
        let (min, max) = (period.max(REPORT_GAP_MIN), period.max(REPORT_GAP_MAX));
        self.report_gap = (self.report_gap * 2).clamp(min, max);
        self.next_report = now + self.report_gap;
    }
}

impl Planner {
    /// Chooses by `misfire` among the fire times that wait.
    pub(super) fn choose(&mut self, now: Now) -> Option<FireTime> {
        let first = *self.waiting.front()?;
        let last = *self.waiting.back()?;
        let is_followed = self.waiting.len() > 1 || first.range.count > 1;
        let is_missed = self.can_be_missed() && (is_followed || first.lateness(now) > MISSED_AFTER);
        if !is_missed || self.policy().misfire == Misfire::CatchUp {
            return self.take_first();
        }
        let is_in_time = last.range.last.due.left(now).is_zero()
            && late(last.range.last.due, now).is_zero()
            || last.ready.is_some_and(|ready| now.tick.since(ready.tick) <= MISSED_AFTER);
        if self.policy().misfire == Misfire::RunOnce || is_in_time {
            self.waiting.pop_back();
            let earlier = last.range.without_last();
            self.skip_waiting(SkipReason::Misfire);
            earlier.into_iter().for_each(|earlier| self.skip(SkipReason::Misfire, earlier));
            return Some(last.range.last);
        }
        self.skip_waiting(SkipReason::Misfire);
        if self.times.is_custom() {
            self.restart(Some((last.range.last, now)), now);
        }
        None
    }

    fn can_be_missed(&self) -> bool {
        self.times.goes_on_by_itself() || self.times.is_custom()
    }

    fn take_first(&mut self) -> Option<FireTime> {
        let waiting = self.waiting.front_mut()?;
        let first = waiting.range.first;
        let following =
            if first == waiting.range.last { None } else { self.times.following(first) };
        match following {
            Some(next) => {
                waiting.range.first = next;
                waiting.range.count = waiting.range.count.saturating_sub(1).max(1);
            }
            None => _ = self.waiting.pop_front(),
        }
        Some(first)
    }
}

impl Waiting {
    /// The lateness of the first one, counted from the end of the run that it follows.
    fn lateness(&self, now: Now) -> Duration {
        match self.ready {
            Some(ready) => now.tick.since(ready.tick),
            None => late(self.range.first.due, now),
        }
    }
}

fn late(due: Due, now: Now) -> Duration {
    match due {
        Due::Tick(tick) => now.tick.since(tick),
        Due::Wall(wall) => now.wall.since(wall),
    }
}
