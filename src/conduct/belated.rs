//! Fire times that were handed over to runs beside (`overlap = "allow"`), and found no worker at once: they
//! may have been missed when one is there.

use scheduler_core::Due;
use scheduler_core::Failure;
use scheduler_core::Now;

use super::judge::Ended;
use super::judge::Judge;
use super::judge::Skip;
use super::judge::Verdict;
use super::policy::Misfire;
use super::timetable::FireTime;
use super::timetable::MISSED_AFTER;
use super::timetable::Timetable;
use super::timetable::late;
use crate::observe::SkipReason;

/// Decides about one of a rule that is not to be asked: it is the latest, as far as is known.
pub(super) fn begin_unasked(misfire: Misfire, fire: FireTime, now: Now) -> Verdict {
    let is_missed = late(fire.due, now) > MISSED_AFTER;
    if is_missed && misfire == Misfire::Skip { missed(fire) } else { start(fire) }
}

impl Judge {
    /// Decides about one that came before the pending one, or is that. Unless somebody has the pending one
    /// in his hands, its run may begin instead: so one begins, however late all are.
    pub(super) fn begin_beside(
        &mut self,
        fire: FireTime,
        is_free: bool,
        now: Now,
    ) -> Result<Verdict, Failure> {
        let (timetable, misfire) = self.rule();
        if misfire == Misfire::CatchUp || !has_come_after(timetable, fire, now) {
            return Ok(begin_unasked(misfire, fire, now));
        }
        if misfire == Misfire::RunOnce && self.pending() == Some(fire) {
            return Ok(start(fire));
        }
        let mut verdict = missed(fire);
        if misfire == Misfire::RunOnce && is_free {
            let Verdict { start, mut skips } = self.begin(now)?;
            verdict.start = start;
            verdict.skips.append(&mut skips);
            if start.is_some() {
                let handed_over = Ended { began: now, at: now, resumed: Vec::new() };
                verdict.skips.append(&mut self.ended(&handed_over)?);
            }
        }
        Ok(verdict)
    }
}

/// Whether the fire time after one has come, though it may be decided.
fn has_come_after(timetable: &Timetable, fire: FireTime, now: Now) -> bool {
    if timetable.is_in_time(&fire, &now) {
        return false;
    }
    let next = timetable.following_sketch(fire).filter(|next| next.due != Due::NEVER);
    next.is_some_and(|next| next.due.is_reached(now))
}

fn start(fire: FireTime) -> Verdict {
    Verdict { start: Some(fire), skips: Vec::new() }
}

fn missed(fire: FireTime) -> Verdict {
    let skip = Skip { reason: SkipReason::Misfire, at: fire.at, count: 1 };
    Verdict { start: None, skips: vec![skip] }
}
