//! Properties of every cron expression, zone and instant.
//!
//! Expressions are drawn together with their meaning (`model.rs`), which is written down without
//! the parser; fire times are compared with a walk over every single second (`stepper.rs`);
//! descriptions are read back into a meaning (`words.rs`).

mod model;
mod stepper;
mod words;

use crate::kit::is_thorough;
use chrono::{DateTime, Datelike, Timelike, Utc};
use model::{Model, any_model, busy_model};
use proptest::prelude::*;
use scheduler_core::trigger::{CronTrigger, DstGap, DstOverlap, Zone};
use scheduler_expr::{
    CronExpression, DurationUnit, SignedDuration, parse_delay, parse_duration, parse_period,
};
use stepper::{STRETCHES, Stretch};

/// The number of cases: `PROPTEST_CASES`, as `ci/simulation.sh` sets it, or few enough for every day.
fn cases(everyday: u32) -> u32 {
    let wanted = std::env::var("PROPTEST_CASES").ok();
    wanted.and_then(|cases| cases.parse().ok()).unwrap_or(everyday)
}

fn trigger(model: &Model, zone: Zone) -> CronTrigger {
    CronTrigger::new(model.text.parse().expect("a model is a valid expression"), zone)
}

fn any_zone() -> impl Strategy<Value = Zone> {
    let names: Vec<_> = scheduler_expr::zone_names().collect();
    prop::sample::select(names).prop_map(|name| name.parse().unwrap())
}

/// Any instant that chrono can express, mostly near the present.
fn any_instant() -> impl Strategy<Value = DateTime<Utc>> {
    let seconds = prop_oneof![
        4 => -3_000_000_000_i64..6_000_000_000,
        1 => DateTime::<Utc>::MIN_UTC.timestamp()..=DateTime::<Utc>::MAX_UTC.timestamp(),
    ];
    (seconds, 0_u32..1_000_000_000).prop_map(|(seconds, nanos)| {
        DateTime::from_timestamp(seconds, nanos).expect("the second is in range")
    })
}

fn any_policy() -> impl Strategy<Value = (DstGap, DstOverlap)> {
    let gaps = prop::sample::select(vec![DstGap::Skip, DstGap::RunAfter]);
    let overlaps = vec![DstOverlap::Both, DstOverlap::First, DstOverlap::Last];
    (gaps, prop::sample::select(overlaps))
}

/// The number of days before a fire time that are searched for a missed one.
const MOST_DAYS: usize = 4_000;

/// The length of a text drawn for a parser.
const TEXT: &str = "(?s).{0,40}";

/// A text of the characters that expressions and durations are made of.
const LIKELY_TEXT: &str = "[0-9*/,?LW# \\-MONFRIJAEBadhmsnuPT().@+]{0,24}";

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(128), failure_persistence: None, ..Default::default() })]

    #[test]
    fn fire_times_increase_and_match_the_local_clock(
        model in any_model(),
        zone in any_zone(),
        policy in any_policy(),
        from in any_instant(),
    ) {
        let trigger = trigger(&model, zone).dst_gap(policy.0).dst_overlap(policy.1);
        let mut previous = from;
        for at in trigger.upcoming(from).take(8) {
            prop_assert!(at > previous, "{at} is not after {previous}");
            prop_assert_eq!(at.nanosecond(), 0);
            let local = zone.local(at).naive_local();
            let is_after_gap = policy.0 == DstGap::RunAfter
                && zone.offset_at(at) != zone.offset_at(at - chrono::TimeDelta::seconds(1));
            prop_assert!(model.matches(local) || is_after_gap, "{} at {local}", model.text);
            previous = at;
        }
    }

    #[test]
    fn every_fire_time_is_found_from_every_instant_before_it(
        model in any_model(),
        zone in any_zone(),
        from in any_instant(),
        nanos in 1_i64..100_000_000_000_000,
    ) {
        let trigger = trigger(&model, zone);
        if let Some(at) = trigger.next_after(from) {
            let between = (from + chrono::TimeDelta::nanoseconds(nanos)).min(at - chrono::TimeDelta::nanoseconds(1));
            prop_assert_eq!(trigger.next_after(between.max(from)), Some(at));
        }
    }

    #[test]
    fn no_matching_time_is_left_out(model in any_model(), from in any_instant()) {
        let trigger = trigger(&model, Zone::UTC);
        if let Some(at) = trigger.next_after(from) {
            let second = |time: chrono::NaiveDateTime| time.num_seconds_from_midnight();
            let (first, last) = (from.naive_utc(), at.naive_utc());
            let days = std::iter::successors(Some(last.date()), chrono::NaiveDate::pred_opt);
            let days = days.take_while(|day| *day >= first.date()).take(MOST_DAYS);
            for day in days.filter(|day| model.matches_day(*day)) {
                let begin = if day == first.date() { second(first) + 1 } else { 0 };
                let end = if day == last.date() { second(last) } else { 86_400 };
                let missed = (begin..end).find(|second| model.matches_second(*second));
                prop_assert_eq!(missed, None, "{} on {} before {}", model.text, day, at);
            }
        }
    }

    #[test]
    fn a_verdict_of_never_is_right(model in any_model(), from in any_instant()) {
        let expression = CronExpression::parse(&model.text).unwrap();
        let may_fire = expression.may_fire();
        prop_assert_eq!(may_fire, expression.never_fires().is_none());
        prop_assert_eq!(may_fire, model.may_fire());
        let next = CronTrigger::new(expression, Zone::UTC).next_after(from);
        prop_assert!(next.is_some() || !may_fire || from.year() > 262_000);
        prop_assert!(may_fire || next.is_none());
    }

    #[test]
    fn the_days_are_those_of_the_model(model in any_model(), days in prop::collection::vec(-800_000_i64..3_000_000, 40)) {
        let expression = CronExpression::parse(&model.text).unwrap();
        for day in days {
            let date = chrono::NaiveDate::from_epoch_days(day as i32).unwrap();
            prop_assert_eq!(expression.days().contains(day), model.matches_day(date), "{}", date);
        }
    }

    #[test]
    fn the_canonical_text_means_the_same(model in any_model()) {
        let expression = CronExpression::parse(&model.text).unwrap();
        let canonical = expression.to_string();
        let again = CronExpression::parse(&canonical).unwrap();
        prop_assert_eq!(again.to_string(), canonical);
        prop_assert_eq!(again, expression);
    }

    #[test]
    fn descriptions_are_true(model in any_model()) {
        words::check(&CronExpression::parse(&model.text).unwrap());
    }

    #[test]
    fn any_text_has_a_brief_answer(text in prop_oneof![TEXT, LIKELY_TEXT]) {
        if let Err(error) = CronExpression::parse(&text) {
            prop_assert!(text.get(error.span()).is_some());
            prop_assert!(error.caret().lines().count() == 2);
            prop_assert!(!error.to_string().chars().any(char::is_control));
        }
        let unit = Some(DurationUnit::Seconds);
        match parse_duration(&text, unit) {
            Ok(duration) => {
                prop_assert_eq!(duration.to_string().parse(), Ok(duration));
                prop_assert_eq!(parse_delay(&text, unit).is_ok(), !duration.is_negative());
                prop_assert_eq!(parse_period(&text, unit).is_ok(), duration > SignedDuration::default());
            }
            Err(error) => {
                prop_assert!(text.get(error.span()).is_some());
                prop_assert_eq!(error.caret().lines().count(), 2);
            }
        }
    }

    #[test]
    fn lengths_survive_their_text(seconds in any::<i64>(), nanos in 0_i128..1_000_000_000) {
        let length = SignedDuration::from_nanos(i128::from(seconds) * 1_000_000_000 + nanos);
        let length = length.expect("the seconds are in range");
        prop_assert_eq!(length.to_string().parse(), Ok(length));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(2), failure_persistence: None, ..Default::default() })]

    /// Around changes of the clock, every policy gives what a walk over every second gives.
    #[test]
    fn agrees_with_a_walk_over_every_second(
        models in prop::collection::vec(busy_model(), STRETCHES.len()),
        start in 0_i64..180_000,
        policy in any_policy(),
    ) {
        for (stretch, model) in STRETCHES.iter().zip(&models) {
            check_stretch(Stretch::of(stretch), model, policy, start);
        }
    }
}

/// The most fire times that are compared of one stretch.
const MOST: usize = 2_000;

/// Compares the fire times of a stretch of time from a second of it on.
fn check_stretch(stretch: &Stretch, model: &Model, policy: (DstGap, DstOverlap), start: i64) {
    let from = stretch.start + start % stretch.length();
    let expected: Vec<i64> = stretch.fire_times(model, policy, from).take(MOST).collect();
    let trigger = trigger(model, stretch.zone).dst_gap(policy.0).dst_overlap(policy.1);
    let fire_times = trigger.upcoming(DateTime::from_timestamp(from, 999_999_999).unwrap());
    let found: Vec<i64> = fire_times
        .map(|at| at.timestamp())
        .take_while(|at| *at < stretch.end())
        .take(MOST)
        .collect();
    let differs = found.iter().zip(&expected).position(|(a, b)| a != b);
    let place = differs.unwrap_or(found.len().min(expected.len()));
    assert!(
        found == expected,
        "{} in {} after {from} {policy:?}: fire time {place}: found {:?}, expected {:?}",
        model.text,
        stretch.zone,
        found.get(place),
        expected.get(place),
    );
}

/// Expressions that are known to be hard, on every stretch, under every policy.
#[test]
fn hard_expressions_agree_with_a_walk_over_every_second() {
    let texts = [
        "0 30 2 * * *",
        "0 */15 * * * *",
        "0 0 0 * * *",
        "0 15,45 0-3 * * *",
        "59 59 23 * * *",
        "0 0 0 L * *",
        "30 30 1 * * *",
        "0 0 * * * *",
    ];
    for stretch in &STRETCHES {
        let stretch = Stretch::of(stretch);
        for (number, text) in texts.iter().enumerate() {
            let model = Model::of_plain(text);
            for gap in [DstGap::Skip, DstGap::RunAfter] {
                let overlaps = [DstOverlap::Both, DstOverlap::First, DstOverlap::Last];
                for (turn, overlap) in overlaps.into_iter().enumerate() {
                    if is_thorough() || turn == number % overlaps.len() {
                        check_stretch(stretch, &model, (gap, overlap), 0);
                    }
                }
            }
        }
    }
}
