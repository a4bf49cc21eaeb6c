//! Fire times that were handed over to runs beside (`overlap = "allow"`), and found no worker at once: they
//! may have been missed when one is there.

use scheduler_core::Failure;
use scheduler_core::Now;

use super::judge::Ended;
use super::judge::Judge;
use super::judge::Skip;
use super::judge::Verdict;
use super::state::Beside;
use super::timetable::FireTime;
use super::timetable::MISSED_AFTER;
use super::timetable::Timetable;
use super::timetable::late;
use crate::observe::SkipReason;
use scheduler_expr::Misfire;

/// One that waits for a worker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) fire: FireTime,
    is_overtaken: bool,
}

impl Waiting {
    pub(super) fn of(beside: &Beside) -> Self {
        Self { fire: beside.fire, is_overtaken: beside.is_overtaken }
    }

    /// Whether a later one has come. One that was served before the wall clock was set back does not count:
    /// it does not start in its place.
    fn is_followed(self, timetable: &Timetable, now: Now) -> Result<bool, Failure> {
        if self.is_overtaken {
            return Ok(true);
        }
        timetable.next_has_come(self.fire, late(self.fire.due, now), now)
    }
}

/// Decides about one of a rule that is not to be asked: it is the latest, as far as is known.
pub(super) fn begin_unasked(misfire: Misfire, fire: FireTime, now: Now) -> Verdict {
    let is_missed = late(fire.due, now) > MISSED_AFTER;
    if is_missed && misfire == Misfire::Skip { missed(fire) } else { start(fire) }
}

/// Whether one would be skipped if a worker were there now.
pub(super) fn would_be_skipped(
    judge: Option<&Judge>,
    misfire: Misfire,
    waiting: Waiting,
    now: Now,
) -> bool {
    let is_followed = |judge: &Judge| waiting.is_followed(judge.rule().0, now).unwrap_or(false);
    misfire == Misfire::Skip
        && (late(waiting.fire.due, now) > MISSED_AFTER
            || judge.filter(|judge| !judge.asks()).is_some_and(is_followed))
}

impl Judge {
    /// Decides about one that came before the pending one, or is that. Unless somebody has the pending one
    /// in his hands, its run may begin instead: so one begins, however late all are.
    pub(super) fn begin_beside(
        &mut self,
        waiting: Waiting,
        is_free: bool,
        now: Now,
    ) -> Result<Verdict, Failure> {
        let (fire, (timetable, misfire)) = (waiting.fire, self.rule());
        if misfire == Misfire::CatchUp || !waiting.is_followed(timetable, now)? {
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

fn start(fire: FireTime) -> Verdict {
    Verdict { start: Some(fire), skips: Vec::new() }
}

fn missed(fire: FireTime) -> Verdict {
    let skip = Skip { reason: SkipReason::Misfire, at: fire.at, count: 1 };
    Verdict { start: None, skips: vec![skip] }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use scheduler_core::Tick;
    use scheduler_core::WallTime;

    use super::*;
    use crate::conduct::Policy;
    use crate::conduct::Rule;
    use crate::conduct::chance::Chance;
    use scheduler_expr::Overlap;

    fn at(second: u64) -> Now {
        let nanos = second * 1_000_000_000;
        Now { tick: Tick::from_nanos(nanos), wall: WallTime::from_nanos(nanos.cast_signed()) }
    }

    /// A judge of every second, whose pending fire time is that of the start, and that fire time.
    fn judge(misfire: Misfire) -> (Judge, FireTime) {
        let policy = Policy { overlap: Overlap::Allow, misfire, ..Policy::default() };
        let rule = Rule::FixedRate { period: Duration::from_secs(1), initial_delay: None };
        let timetable = Timetable::new(&rule, Duration::ZERO, Chance::new(0, "task"));
        let mut judge = Judge::new(timetable, &policy, at(0));
        judge.first(at(0)).unwrap();
        let fire = judge.pending().unwrap();
        (judge, fire)
    }

    fn waits(fire: FireTime) -> Waiting {
        Waiting { fire, is_overtaken: false }
    }

    /// As others begin a run at that time.
    fn hand_over(judge: &mut Judge, now: Now) {
        assert!(judge.begin(now).unwrap().start.is_some());
        judge.ended(&Ended { began: now, at: now, resumed: Vec::new() }).unwrap();
    }

    #[test]
    fn one_that_is_in_the_hands_of_another_thread_still_starts_as_the_latest() {
        let (mut judge, fire) = judge(Misfire::RunOnce);
        assert_eq!(judge.begin_beside(waits(fire), false, at(5)).unwrap(), start(fire));
        let (mut judge, fire) = self::judge(Misfire::Skip);
        assert_eq!(judge.begin_beside(waits(fire), false, at(5)).unwrap(), missed(fire));
    }

    #[test]
    fn one_behind_which_another_is_in_the_hands_of_another_thread_is_missed() {
        let (mut judge, fire) = judge(Misfire::RunOnce);
        hand_over(&mut judge, at(0));
        let pending = judge.pending();
        assert_eq!(judge.begin_beside(waits(fire), false, at(5)).unwrap(), missed(fire));
        assert_eq!(judge.pending(), pending);
    }

    #[test]
    fn the_latest_that_has_come_begins_in_its_place() {
        let (mut judge, fire) = judge(Misfire::RunOnce);
        hand_over(&mut judge, at(0));
        let verdict = judge.begin_beside(waits(fire), true, at(5)).unwrap();
        let on_tick = |now: Now| scheduler_core::Due::Tick(now.tick);
        assert_eq!(verdict.start.map(|fire| fire.at), Some(on_tick(at(5))));
        let skips: Vec<_> = verdict.skips.iter().map(|skip| (skip.at, skip.count)).collect();
        assert_eq!(skips, [(on_tick(at(0)), 1), (on_tick(at(4)), 4)]);
        assert_eq!(judge.pending().map(|fire| fire.at), Some(on_tick(at(6))));
        // Where the next is decided, nothing is left to begin.
        let verdict = judge.begin_beside(waits(fire), true, at(5)).unwrap();
        assert_eq!(verdict, missed(fire));
    }
}
