//! The tables of `docs/policies.md`, and the ticks of rules.

use std::time::Duration;

use scheduler_store::{
    DueSchedule, Next, OnBusy, OnLost, Overlap, Pause, Payload, Priority, Rule, ScheduleSpec,
    Skips, StoreTime, StoredSchedule, Timing,
};

use super::{COUNTED_MAX, FirePlan, Sequence, plan};
use crate::config::{Misfire, Policy, Rules};

const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct With(Misfire, Option<Duration>);

impl Rules for With {
    fn check(&self, _: &StoredSchedule) -> Result<(), String> {
        Ok(())
    }

    fn next_after(&self, _: &str, after: StoreTime) -> Next {
        Next::At(at(after.as_micros().div_euclid(1_000_000) as f64 + 1.0))
    }

    fn policy(&self, _: &StoredSchedule) -> Policy {
        Policy { misfire: self.0, window: self.1, ..Policy::default() }
    }
}

fn at(seconds: f64) -> StoreTime {
    StoreTime::from_micros((seconds * 1e6) as i64)
}

fn row(overlap: Overlap) -> StoredSchedule {
    let definition = ScheduleSpec {
        name: "s".into(),
        task: "work".into(),
        payload: Payload::default(),
        queue: "default".into(),
        priority: Priority::Normal,
        partition: None,
        rule: Rule { text: "each second".into(), timing: Timing::Computed },
        calculator: "1".into(),
        overlap,
        max_attempts: 1,
        on_lost: OnLost::Rerun,
        is_dynamic: false,
    };
    let mut row = StoredSchedule::new(definition, at(0.0), at(0.0));
    row.next = Next::At(at(1.0));
    row
}

fn plans(
    row: StoredSchedule,
    busy_since: Option<f64>,
    misfire: Misfire,
    now: f64,
) -> Vec<FirePlan> {
    let due = DueSchedule { schedule: row, busy_since: busy_since.map(at) };
    plan(&due, at(now), &With(misfire, None), 100)
}

/// The ticks that become jobs, and what is skipped.
fn decided(plans: &[FirePlan]) -> (Vec<f64>, Skips) {
    let ticks = plans.iter().filter_map(|plan| plan.tick.as_ref());
    let ticks = ticks.map(|tick| tick.tick.as_micros() as f64 / 1e6).collect();
    let none = Skips::default();
    (ticks, plans.iter().fold(none, |sum, plan| sum.plus(plan.skips)))
}

fn skips(overlap: u64, missed: u64, paused: u64) -> Skips {
    Skips { overlap, missed, paused, ..Skips::default() }
}

const ALL: Misfire = Misfire::CatchUp;

#[test]
fn a_tick_in_time_fires_whatever_the_policy() {
    for misfire in [Misfire::RunOnce, Misfire::Skip, ALL] {
        let plans = plans(row(Overlap::Skip), None, misfire, 1.01);
        assert_eq!(decided(&plans), (vec![1.0], skips(0, 0, 0)));
        assert_eq!((plans[0].cursor, plans[0].next), (at(1.0), Next::At(at(2.0))));
        assert_eq!(plans[0].on_busy, OnBusy::Skip);
    }
}

#[test]
fn missed_ticks() {
    let at_4_5 = |overlap, misfire| decided(&plans(row(overlap), None, misfire, 4.5));
    assert_eq!(at_4_5(Overlap::Skip, Misfire::RunOnce), (vec![4.0], skips(0, 3, 0)));
    assert_eq!(at_4_5(Overlap::Skip, Misfire::Skip), (vec![4.0], skips(0, 3, 0)));
    assert_eq!(at_4_5(Overlap::Skip, ALL), (vec![1.0], skips(0, 0, 0)), "one after the other");
    assert_eq!(at_4_5(Overlap::Allow, ALL), (vec![1.0, 2.0, 3.0, 4.0], skips(0, 0, 0)));
    let due = DueSchedule { schedule: row(Overlap::Allow), busy_since: None };
    let young = plan(&due, at(4.5), &With(ALL, Some(SECOND * 2)), 100);
    assert_eq!(decided(&young), (vec![3.0, 4.0], skips(0, 2, 0)));
    let run_once = plans(row(Overlap::Skip), None, Misfire::RunOnce, 4.5);
    assert_eq!(run_once[0].tick.as_ref().map(|tick| tick.missed), Some(3));
    assert_eq!(run_once[0].on_busy, OnBusy::Wait);
}

#[test]
fn ticks_during_a_job() {
    let busy = |overlap, misfire| decided(&plans(row(overlap), Some(0.5), misfire, 3.5));
    for misfire in [Misfire::RunOnce, Misfire::Skip, ALL] {
        assert_eq!(busy(Overlap::Skip, misfire), (vec![], skips(3, 0, 0)));
        assert_eq!(
            busy(Overlap::QueueOne, misfire),
            (vec![3.0], skips(2, 0, 0)),
            "the latest waits"
        );
    }
}

#[test]
fn ticks_from_before_a_job_were_missed() {
    let busy = |overlap, misfire| decided(&plans(row(overlap), Some(2.5), misfire, 3.5));
    assert_eq!(busy(Overlap::Skip, Misfire::Skip), (vec![], skips(1, 2, 0)));
    assert_eq!(busy(Overlap::Skip, Misfire::RunOnce), (vec![], skips(1, 2, 0)));
    assert_eq!(busy(Overlap::Skip, ALL), (vec![], skips(0, 0, 0)), "they wait");
    assert_eq!(busy(Overlap::QueueOne, Misfire::RunOnce), (vec![3.0], skips(0, 2, 0)));
    let before = plans(row(Overlap::Skip), Some(2.5), Misfire::RunOnce, 2.7);
    assert_eq!(before, [], "the latest waits until the job has ended, or another comes");
}

#[test]
fn ticks_in_a_pause() {
    let paused = |since, until, misfire| {
        let mut row = row(Overlap::Allow);
        row.pause = Some(Pause::new(at(since), Some(at(until)), "me", "so"));
        decided(&plans(row, None, misfire, 4.5))
    };
    assert_eq!(paused(1.5, 3.5, Misfire::RunOnce), (vec![4.0], skips(0, 1, 2)));
    assert_eq!(paused(1.5, 3.0, ALL), (vec![1.0, 3.0, 4.0], skips(0, 0, 1)), "3 is its end");
    assert_eq!(paused(0.5, 4.3, Misfire::RunOnce), (vec![], skips(0, 0, 4)));
    assert_eq!(paused(0.5, 4.3, ALL), (vec![], skips(0, 0, 4)));
    assert_eq!(paused(3.5, 4.3, Misfire::RunOnce), (vec![3.0], skips(0, 2, 1)));
    assert_eq!(paused(3.0, 2.0, Misfire::RunOnce), (vec![4.0], skips(0, 3, 0)), "an empty one");
}

#[test]
fn a_tick_that_is_a_minute_late_is_missed() {
    let hourly = |misfire, now| {
        let mut row = row(Overlap::Skip);
        row.definition.rule.timing = Timing::Rate { first: SECOND, period: SECOND * 3_600 };
        row.restart(at(0.0), false);
        decided(&plans(row, None, misfire, now))
    };
    assert_eq!(hourly(Misfire::Skip, 61.0), (vec![1.0], skips(0, 0, 0)));
    assert_eq!(hourly(Misfire::Skip, 61.1), (vec![], skips(0, 1, 0)));
    assert_eq!(hourly(Misfire::RunOnce, 61.1), (vec![1.0], skips(0, 0, 0)));
}

#[test]
fn delays_and_single_ticks_are_late_and_never_missed() {
    let single = |timing, busy_since, overlap| {
        let mut row = row(overlap);
        row.definition.rule.timing = timing;
        row.restart(at(0.0), false);
        plans(row, busy_since, Misfire::Skip, 500.0)
    };
    let delay = Timing::Delay { first: SECOND, delay: SECOND };
    let plans = single(delay, None, Overlap::Skip);
    assert_eq!(decided(&plans), (vec![1.0], skips(0, 0, 0)));
    assert_eq!(plans[0].next, Next::AfterJob);
    let plans = single(delay, Some(0.5), Overlap::Skip);
    assert_eq!(decided(&plans), (vec![], skips(1, 0, 0)));
    assert_eq!(plans[0].next, Next::AfterJob, "it begins anew after the run by hand");
    let plans = single(delay, Some(0.5), Overlap::QueueOne);
    assert_eq!((decided(&plans).0, plans[0].on_busy), (vec![1.0], OnBusy::Queue));
    let plans = single(Timing::OnceAfter(SECOND), None, Overlap::Skip);
    assert_eq!((decided(&plans).0, plans[0].next), (vec![1.0], Next::Never));
    assert_eq!(single(Timing::OnceAfter(SECOND), Some(0.5), Overlap::Skip), []);
}

#[test]
fn an_unknown_next_tick_is_computed() {
    let mut row = row(Overlap::Skip);
    row.next = Next::Unknown;
    let plans = plans(row, None, Misfire::RunOnce, 0.5);
    assert_eq!((plans[0].cursor, plans[0].next), (at(0.0), Next::At(at(1.0))));
    assert_eq!(plans[0].tick, None);
}

#[derive(Debug)]
struct Bursts;

/// Each microsecond from 0 to 9 of each thousand.
impl Rules for Bursts {
    fn check(&self, _: &StoredSchedule) -> Result<(), String> {
        Ok(())
    }

    fn next_after(&self, _: &str, after: StoreTime) -> Next {
        let next = after.as_micros() + 1;
        let within = next.rem_euclid(1_000);
        Next::At(StoreTime::from_micros(match within {
            0..10 => next,
            _ => next - within + 1_000,
        }))
    }

    fn policy(&self, _: &StoredSchedule) -> Policy {
        Policy::default()
    }
}

#[test]
fn last_and_count_agree_with_a_walk() {
    let at = StoreTime::from_micros;
    let bursts = Sequence::Computed { text: "", rules: &Bursts };
    let rate = |until| Sequence::Rate { anchor: 40, period: 7, until };
    for sequence in [bursts, rate(StoreTime::MAX), rate(at(1_001)), rate(at(0))] {
        for (from, until) in
            (0..60).flat_map(|from| (0..4_000).step_by(37).map(move |until| (from * 31, until)))
        {
            let mut walk = Vec::new();
            let mut tick = at(from);
            while let Some(next) = sequence.first_after(tick).filter(|next| *next <= at(until)) {
                walk.push(next);
                tick = next;
            }
            let found = sequence.last_in(at(from), at(until));
            assert_eq!(found, walk.last().copied(), "({from}, {until}]");
            assert_eq!(sequence.count_in(at(from), at(until)), walk.len() as u64);
        }
    }
}

#[test]
fn a_year_of_ticks_takes_no_walk() {
    let year = StoreTime::from_micros(365 * 86_400 * 1_000_000);
    let rate = Sequence::Rate { anchor: 0, period: 1_000, until: StoreTime::MAX };
    assert_eq!(rate.count_in(StoreTime::from_micros(0), year), 365 * 86_400 * 1_000);
    let bursts = Sequence::Computed { text: "", rules: &Bursts };
    assert_eq!(bursts.count_in(StoreTime::from_micros(0), year), COUNTED_MAX + 1);
    assert_eq!(bursts.last_in(StoreTime::from_micros(0), year), Some(year));
}
