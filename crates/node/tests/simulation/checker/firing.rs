//! Each tick fires or is counted as skipped, once.

use std::time::Duration;

use scheduler_store::{Fire, Fired, Next, Overlap, StoreTime, StoredSchedule, Timing, micros};

use super::facts::Checker;
use crate::rules::next_after;

impl Checker {
    /// A statement of one schedule was executed; its row before and after.
    pub(crate) fn fired(
        &mut self,
        fire: &Fire,
        fired: &Fired,
        (before, after): (Option<&StoredSchedule>, Option<&StoredSchedule>),
        store_now: StoreTime,
    ) {
        let is_moved =
            matches!(fired, Fired::Moved(_) | Fired::Skipped | Fired::Queued | Fired::Limited(_));
        let (Some(before), Some(after), true) = (before, after, is_moved) else { return };
        let name = &before.definition.name;
        let tick = fire.job.as_ref().map(|job| job.tick);
        self.ticks_are_decided(fire, before, after, store_now);
        if let Some(tick) = tick {
            self.must(tick <= store_now, || format!("a tick of {name} fires early"));
            let is_single = matches!(before.rule().timing, Timing::Once(_) | Timing::OnceAfter(_));
            let is_paused =
                !is_single && before.pause.as_ref().is_some_and(|pause| pause.contains(tick));
            self.must(!is_paused, || format!("a tick of {name} fires in a pause"));
        }
        let waits = before.definition.overlap == Overlap::QueueOne;
        let is_first = *fired == Fired::Skipped && waits && before.waiting.is_none();
        self.must(!is_first, || format!("a tick of {name} does not wait for the job"));
        if let (Fired::Moved(_) | Fired::Queued, Some(job)) = (fired, fire.job.as_ref()) {
            let former = self.ticks.insert((name.clone(), job.tick), job.id);
            let is_once = former.is_none() || self.was_set;
            self.must(is_once, || format!("a tick of {name} fires twice"));
            self.job(job.id).schedule = Some(name.clone());
            self.is_not_too_soon(before, job.tick);
        }
    }

    /// All ticks between the cursors are decided: as many as the rule has there.
    fn ticks_are_decided(
        &mut self,
        fire: &Fire,
        before: &StoredSchedule,
        after: &StoredSchedule,
        store_now: StoreTime,
    ) {
        let name = &before.definition.name;
        let ticks = ticks(before, before.cursor, after.cursor);
        let Some(ticks) = ticks else { return };
        let decided = fire.skips.total() + u64::from(fire.job.is_some());
        self.must(decided == ticks.len() as u64, || {
            format!(
                "{} ticks of {name} came, and {decided} were decided: {fire:?} on {before:?}",
                ticks.len()
            )
        });
        let is_tick = fire.job.as_ref().is_none_or(|job| ticks.contains(&job.tick));
        self.must(is_tick, || format!("what fires is no tick of {name}"));
        let pause = before.pause.as_ref();
        let paused = ticks.iter().filter(|tick| pause.is_some_and(|pause| pause.contains(**tick)));
        let paused = paused.count() as u64;
        // A pause that was made or changed since the process asked is not known to it.
        let is_recent = pause.is_some_and(|pause| {
            let end = pause.until.unwrap_or_default().max(pause.since);
            store_now < end.after(Duration::from_secs(8))
        });
        self.must(paused == fire.skips.paused || is_recent, || {
            format!("{paused} ticks of {name} were in the pause: {fire:?} on {before:?}")
        });
    }

    fn is_not_too_soon(&mut self, row: &StoredSchedule, tick: StoreTime) {
        let Timing::Delay { delay, .. } = row.rule().timing else { return };
        let facts = self.schedules.entry(row.definition.name.clone()).or_default();
        let Some((end, rule)) = facts.last_end.clone() else { return };
        // A rule that has changed, and perhaps back, counts from the change.
        let was_other = self.has_builds || self.has_rescheduled || rule != row.rule().text;
        if !was_other && !self.was_set {
            self.must(tick >= end.after(delay), || {
                format!("{} fires {tick}, before its delay after {end}", row.definition.name)
            });
        }
    }
}

/// The ticks of a rule in `(from, until]`; none for a rule with a single one.
fn ticks(row: &StoredSchedule, from: StoreTime, until: StoreTime) -> Option<Vec<StoreTime>> {
    let mut ticks = Vec::new();
    match row.rule().timing {
        Timing::Computed => {
            let mut at = from;
            while let Next::At(tick) = next_after(&row.rule().text, at)
                && tick <= until
            {
                ticks.push(tick);
                at = tick;
            }
        }
        Timing::Rate { period, .. } => {
            let mut tick = row.anchor?;
            while tick <= until {
                if from < tick {
                    ticks.push(tick);
                }
                tick = StoreTime::from_micros(tick.as_micros() + micros(period));
            }
        }
        _ => return None,
    }
    Some(ticks)
}
