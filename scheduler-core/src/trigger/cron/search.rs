//! Places matching wall-clock times on the time line.

use scheduler_expr::{DstGap, DstOverlap};

use super::CronTrigger;
use crate::trigger::zone::{CALM, MAX_OFFSET, Zone, ZoneChange};

/// The distance within which a change can make local times come twice: no change has ever been
/// wider than a day.
const NEAR: i64 = 26 * 3_600;

/// After how many gaps without a fire time between them it is asked whether anything fires at all.
const PATIENCE: u32 = 3;

/// The second from which on zones follow yearly rules only: 2100-01-01.
const RULES_BEGIN: i64 = 4_102_444_800;

/// After so many seconds the Gregorian calendar, and with it every rule, repeats itself: 400 years.
const CYCLE: i64 = 146_097 * 86_400;

// The windows below must not hold more than one change of the clock.
const _: () = assert!(NEAR <= CALM && 2 * MAX_OFFSET <= CALM);

/// Where a local time lies, seen from an earlier instant.
enum Place {
    /// At this instant.
    At(i64),
    /// Beyond a change of the clock that must be looked at first.
    Beyond(ZoneChange),
}

impl CronTrigger {
    /// The first fire time after a second.
    pub(super) fn search(&self, after: i64) -> Option<i64> {
        if self.silence.get().is_some_and(|silence| after >= *silence) {
            return None;
        }
        let mut gaps = 0;
        self.search_while(after, |at| {
            gaps += 1;
            let goes_on = gaps != PATIENCE || self.fires_again(at);
            if !goes_on {
                // Another thread may have been first; its value is the same.
                let _ = self.silence.set(after);
            }
            goes_on
        })
    }

    /// The first fire time after a second. Asks at each gap that swallows a match whether to go on.
    fn search_while(&self, after: i64, mut goes_on: impl FnMut(i64) -> bool) -> Option<i64> {
        let mut from = after;
        let mut offset = self.zone.offset(from);
        let mut local = from + offset;
        loop {
            local = self.calendar.next_after(local)?;
            let at = match place(self.zone, local, from, offset) {
                Place::At(at) => at,
                Place::Beyond(change) => {
                    let is_swallowed = local < change.at + change.after;
                    if is_swallowed && self.gap == DstGap::RunAfter {
                        return Some(change.at);
                    }
                    if is_swallowed && !goes_on(change.at) {
                        return None;
                    }
                    (from, offset) = (change.at, change.after);
                    local = from + offset - 1;
                    continue;
                }
            };
            let Some(end) = self.end_of_unwanted_pass(at) else { return Some(at) };
            (from, offset) = (end, self.zone.offset(end));
            local = from + offset - 1;
        }
    }

    /// If `at` lies in a pass of an overlap that shall not fire: the first second after that pass.
    fn end_of_unwanted_pass(&self, at: i64) -> Option<i64> {
        let is_back = |change: &ZoneChange| !change.is_gap();
        match self.overlap {
            DstOverlap::Both => None,
            DstOverlap::First => {
                let change = self.zone.change_within(at - NEAR, at).filter(is_back)?;
                Some(change.at + change.width()).filter(|end| at < *end)
            }
            DstOverlap::Last => {
                let change = self.zone.change_within(at, at + NEAR).filter(is_back)?;
                Some(change.at).filter(|end| at >= end - change.width())
            }
        }
    }

    /// Returns true if anything fires after a second, however far away.
    ///
    /// An expression may match only inside gaps, year after year: `0 30 2 ? 3 SUNL` in Berlin. If
    /// nothing fires in a whole cycle of the calendar under the final rules, nothing ever will.
    fn fires_again(&self, after: i64) -> bool {
        let end = after.max(RULES_BEGIN) + CYCLE;
        self.search_while(after, |at| at < end).is_some()
    }

    /// Returns true if local times that match are missing or come twice at a change.
    pub(super) fn is_touched_by(&self, change: ZoneChange) -> bool {
        let (first, end) = (change.at + change.before, change.at + change.after);
        let (first, end) = (first.min(end), first.max(end));
        self.calendar.next_after(first - 1).is_some_and(|local| local < end)
    }
}

/// Places a local time that is the first match as seen from an instant at which `offset` holds.
fn place(zone: Zone, local: i64, from: i64, offset: i64) -> Place {
    let at = local - offset;
    let horizon = at.min(from + NEAR);
    // A change before the match moves it; one that lies near may repeat times that are earlier
    // still.
    if let Some(change) = zone.change_from(from, offset, horizon) {
        return Place::Beyond(change);
    }
    if horizon == at {
        return Place::At(at);
    }
    // No offset is far from UTC, so the local time comes within these bounds or not at all.
    let Some(change) = zone.change_within(local - MAX_OFFSET, local + MAX_OFFSET) else {
        return Place::At(local - zone.offset(local));
    };
    if local - change.before < change.at {
        Place::At(local - change.before)
    } else if local - change.after >= change.at {
        Place::At(local - change.after)
    } else {
        Place::Beyond(change)
    }
}
