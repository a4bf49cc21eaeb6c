//! The ticks that a node fires.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use scheduler_expr::Tick;
use scheduler_store::{
    DueSchedule, Fire, Fired, Next, Pause, ScheduleSpec, SessionId, Skips, StoreTime,
    StoredSchedule, TickJob, Timing,
};

use super::Node;
use super::jobs::LOCKED;
use crate::effect::{Effect, NodeEvent, Request};
use crate::firing::{FirePlan, plan};

/// The most ticks of one request; the others wait for the next one.
const FIRES_MAX: usize = 100;

/// The wait before another look at a schedule: another process was first, or the store's clock says that it is too early.
const RECHECK_DELAY: Duration = Duration::from_millis(10);

impl Node {
    /// Returns true if this process fires the schedule: it can read the rule, and has the same one if the schedule is of the code.
    /// Otherwise it says so once.
    pub(super) fn may_fire(
        &mut self,
        schedule: &StoredSchedule,
        effects: &mut Vec<Effect>,
    ) -> bool {
        let (name, rule) = (schedule.definition.name.clone(), schedule.rule().text.clone());
        let event = if self.is_of_other_build(schedule) {
            let rule = schedule.definition.rule.text.clone();
            NodeEvent::Silent { schedule: name.clone(), rule }
        } else if let Err(reason) = self.rules.check(schedule) {
            NodeEvent::Unreadable { schedule: name.clone(), rule: rule.clone(), reason }
        } else {
            self.muted_schedules.remove(&name);
            return true;
        };
        if self.muted_schedules.get(&name) != Some(&rule) {
            self.muted_schedules.insert(name, rule);
            effects.push(Effect::Event(event));
        }
        false
    }

    fn is_of_other_build(&self, schedule: &StoredSchedule) -> bool {
        let stored = &schedule.definition;
        if stored.is_dynamic {
            return false;
        }
        !self.definition(&stored.name).is_some_and(|definition| {
            let is_computed = schedule.rule().timing == Timing::Computed;
            definition.rule.text == stored.rule.text
                && (!is_computed || definition.calculator == stored.calculator)
        })
    }

    pub(super) fn definition(&self, schedule: &str) -> Option<&ScheduleSpec> {
        self.config.definitions.iter().find(|definition| definition.name == schedule)
    }

    /// The statements for all schedules that have something to decide.
    pub(super) fn fire_request(
        &mut self,
        session: SessionId,
        not_after: StoreTime,
        now: Tick,
    ) -> Option<Request> {
        let store_now = self.clock.earliest(now)?;
        let mut free = self.claims.free(&self.config);
        let mut fires = Vec::new();
        let mut taken = BTreeMap::new();
        let mut due = std::mem::take(&mut self.due).into_iter();
        while fires.len() < FIRES_MAX
            && let Some(mut due) = due.next()
        {
            let is_outlived = self.is_outlived(&mut due);
            let rule = due.schedule.rule().text.clone();
            let limit = self.config.catch_up_limit;
            let plans = plan(&due, store_now, &*self.rules, limit);
            let is_behind = plans.last().is_some_and(
                |plan| matches!(plan.next, Next::At(at) if plan.tick.is_some() && at <= store_now),
            );
            if plans.is_empty() || is_behind {
                // The next tick waits for the end of a job.
                self.has_follow_up.insert(due.schedule.definition.name.clone(), true);
            }
            for plan in plans {
                let definition = &due.schedule.definition;
                let is_tick = free > 0 && plan.tick.is_some() && !is_outlived;
                let claim = is_tick.then(|| self.reserve_slot(definition, &mut taken)).flatten();
                free -= u32::from(claim.is_some());
                fires.push(self.fire(session, &due, rule.clone(), plan, claim, not_after));
            }
        }
        self.due = due.collect();
        self.was_fire = true;
        (!fires.is_empty()).then(|| Request::Fire(fires.into()))
    }

    /// Returns true if a run of this schedule goes on here that has outlived its claim, and keeps others out. The schedule is busy
    /// then, whatever the store says (R11).
    fn is_outlived(&self, due: &mut DueSchedule) -> bool {
        let since = self.claims.outlived_since(&due.schedule.definition.name);
        let since = since.filter(|_| due.schedule.is_exclusive());
        due.busy_since = due.busy_since.or(since);
        since.is_some()
    }

    /// The greatest version of payloads with which a tick of this schedule can be claimed; takes a thread of its pool for it. None if
    /// it cannot be claimed.
    fn reserve_slot(
        &self,
        definition: &ScheduleSpec,
        taken: &mut BTreeMap<usize, u32>,
    ) -> Option<u32> {
        let task = self.config.task(&definition.task)?;
        let serves =
            |queues: &Arc<[Arc<str>]>| queues.iter().any(|each| **each == definition.queue);
        let mut none = 0;
        let taken = task.pool.map_or(&mut none, |pool| taken.entry(pool).or_default());
        let is_free = self.claims.room_of(task, &self.config, 0) > *taken
            && definition.payload.version <= task.version
            && self.config.queues.as_ref().is_none_or(serves);
        *taken += u32::from(is_free);
        is_free.then_some(task.version)
    }

    fn fire(
        &mut self,
        session: SessionId,
        due: &DueSchedule,
        rule: String,
        plan: FirePlan,
        claim: Option<u32>,
        not_after: StoreTime,
    ) -> Fire {
        let job = plan.tick.map(|tick| TickJob {
            id: scheduler_store::JobId::from_uuid(self.rng.id(tick.run_at)),
            tick: tick.tick,
            missed: tick.missed,
            run_at: tick.run_at,
        });
        Fire {
            session,
            schedule: due.schedule.definition.name.clone(),
            rule,
            seen: plan.seen,
            pause: due.schedule.pause.as_ref().map(Pause::span),
            cursor: plan.cursor,
            next: plan.next,
            job,
            on_busy: plan.on_busy,
            skips: plan.skips,
            claim,
            not_after,
        }
    }

    pub(super) fn fired(
        &mut self,
        fires: &[Fire],
        fired: Vec<Fired>,
        now: Tick,
        effects: &mut Vec<Effect>,
    ) {
        for (fire, fired) in fires.iter().zip(fired) {
            match fired {
                Fired::Moved(job) => {
                    match (job, &fire.job) {
                        (Some(job), _) => self.claimed(fire.session, *job, now, effects),
                        // It was not claimed: there is no free worker, or jitter puts it off.
                        (None, Some(made)) => {
                            self.may_have_more |= made.run_at <= fire.cursor;
                            self.poll_no_later_than(Some(made.run_at));
                        }
                        (None, None) => {}
                    }
                    self.skipped(fire, fire.skips, effects);
                    self.poll_at_next(fire.next, now);
                }
                Fired::Skipped => {
                    let overlap = Skips { overlap: 1, ..Skips::default() };
                    self.skipped(fire, fire.skips.plus(overlap), effects);
                    self.poll_at_next(fire.next, now);
                }
                Fired::Limited(limit) => {
                    self.skipped(fire, Skips { overlap: 0, limit, ..fire.skips }, effects);
                    self.poll_at_next(fire.next, now);
                }
                Fired::Queued => {
                    self.skipped(fire, fire.skips, effects);
                    self.poll_at_next(fire.next, now);
                }
                Fired::Busy => drop(self.has_follow_up.insert(fire.schedule.clone(), true)),
                Fired::TooEarly => {
                    self.deadlines.poll = self.deadlines.poll.min(now + RECHECK_DELAY);
                }
                Fired::Refused(row) => {
                    let is_beaten = row.as_ref().is_some_and(|row| row.cursor != fire.seen);
                    if let Some(row) = row.filter(|_| is_beaten) {
                        self.poll_at_next(row.next, now);
                        self.deadlines.poll = self.deadlines.poll.max(now + RECHECK_DELAY);
                    } else {
                        // The rule or the pause is another one: what there is to decide has to be computed again.
                        self.deadlines.poll = self.deadlines.poll.min(now + RECHECK_DELAY);
                    }
                }
                Fired::Locked => self.deadlines.poll = self.deadlines.poll.min(now + LOCKED),
                Fired::Ended => self.session_ended(fire.session, now, effects),
            }
        }
    }

    fn poll_at_next(&mut self, next: Next, now: Tick) {
        match next {
            Next::At(tick) => self.poll_at_tick(Some(tick)),
            Next::Unknown => {
                self.deadlines.poll = self.deadlines.poll.min(now + RECHECK_DELAY);
            }
            Next::AfterJob | Next::Never => {}
        }
    }

    fn skipped(&self, fire: &Fire, skips: Skips, effects: &mut Vec<Effect>) {
        if skips.total() > 0 {
            let (schedule, until) = (fire.schedule.clone(), fire.cursor);
            effects.push(Effect::Event(NodeEvent::Skipped { schedule, skips, until }));
        }
    }
}
