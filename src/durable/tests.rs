//! Payloads, rules and ticks, without a scheduler.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, NaiveDate, Utc};
use scheduler_core::trigger::Zone;
use scheduler_expr::{Attribute, Misfire, RuleKind};
use scheduler_node::{Policy, Rules};
use scheduler_store::{
    Fence, JobId, JobState, NewJob, Payload as Stored, StoreTime, StoredJob, StoredSchedule,
    Timing, Uuid,
};
use serde::{Deserialize, Serialize};

#[cfg(feature = "testing")]
use super::job::{identities_from, new_id};
use super::payload::{decoded, encoded};
use super::rule::TextRules;
use super::rule::{DAY, TextRule};
use super::rule::{definition_of, rule_of};
use crate::base::metadata::{Location, TaskFacts};
use crate::define::calendar::Calendar;
use crate::define::entry::Definition;
use crate::define::schedule::Schedule;
use crate::define::settings::ResolvedAttributes;
use crate::run::inject::Call;
use crate::run::{ClaimedJob, JobErrorKind, Run, TaskError};
use crate::start::registrar::{Crons, ResolveContext, resolve};
use crate::task::TaskSpec;

fn utc(text: &str) -> DateTime<Utc> {
    text.parse().expect("an instant")
}

fn time(text: &str) -> StoreTime {
    StoreTime::from_micros(utc(text).timestamp_micros())
}

fn calendars() -> BTreeMap<String, Arc<Calendar>> {
    let day = NaiveDate::from_ymd_opt(2027, 1, 1).expect("a date");
    BTreeMap::from([("holidays".to_owned(), Arc::new(Calendar::new().dates([day])))])
}

fn spec(schedule: Schedule) -> TaskSpec {
    let context = ResolveContext {
        zone: "Europe/Berlin".parse().expect("a zone"),
        pools: vec![Arc::from("default")],
        calendars: calendars(),
        crons: Crons::default(),
        seed: 7,
        has_store: true,
    };
    let location = Location { file: "src/main.rs", line: 7 };
    let task = Definition::in_code("task", schedule.durable(), Call::noop(), location);
    let attributes = ResolvedAttributes::of_definition(&task);
    resolve(&task, &attributes, &context).expect("a right schedule")
}

fn text(schedule: Schedule) -> String {
    definition_of(&spec(schedule)).expect("a rule").rule.text
}

#[test]
fn equal_rules_have_equal_texts_and_others_have_not() {
    assert_eq!(
        text(Schedule::cron("@daily")),
        r#"{"cron":"0 0 0 * * *","dst_gap":"skip","dst_overlap":"both","zone":"Europe/Berlin"}"#
    );
    let berlin = Schedule::cron("@daily").zone("Europe/Berlin").jitter("5s").timeout("1m");
    assert_eq!(text(berlin), text(Schedule::cron("@daily")));
    assert_ne!(text(Schedule::cron("@daily").zone("UTC")), text(Schedule::cron("@daily")));
    assert_eq!(text(Schedule::fixed_rate("90s")), r#"{"fixed_rate":"1m30s"}"#);
    assert_eq!(text(Schedule::fixed_rate("1m30s")), text(Schedule::fixed_rate("90s")));
    let until = Schedule::fixed_delay("1h").initial_delay("0s").until("2027-01-01T01:00:00+01:00");
    assert_eq!(
        text(until),
        r#"{"fixed_delay":"1h","initial_delay":"0s","until":"2027-01-01T00:00:00Z"}"#
    );
    assert_eq!(text(Schedule::once("5s")), r#"{"initial_delay":"5s"}"#);
    let at = Schedule::at("2027-01-01T01:00:00+01:00");
    assert_eq!(text(at), r#"{"at":"2027-01-01T00:00:00Z"}"#);
}

#[test]
fn a_store_is_told_how_the_next_tick_follows() {
    let timing = |schedule: Schedule| definition_of(&spec(schedule)).expect("a rule").rule.timing;
    let (zero, second) = (Duration::ZERO, Duration::from_secs(1));
    assert_eq!(timing(Schedule::cron("@daily")), Timing::Computed);
    assert_eq!(timing(Schedule::fixed_rate("1s")), Timing::Rate { first: zero, period: second });
    let delay = Schedule::fixed_delay("1s").initial_delay("1s");
    assert_eq!(timing(delay), Timing::Delay { first: second, delay: second });
    assert_eq!(timing(Schedule::once("1s")), Timing::OnceAfter(second));
    let at = Schedule::at("2027-01-01T00:00:00Z");
    assert_eq!(timing(at), Timing::Once(time("2027-01-01T00:00:00Z")));
}

#[test]
fn the_calculator_changes_with_the_days_that_are_left_out() {
    let calculator = |schedule| definition_of(&spec(schedule)).expect("a rule").calculator;
    let plain = calculator(Schedule::cron("@daily"));
    assert!(plain.contains(Zone::data_version()), "{plain}");
    let days = calculator(Schedule::cron("@daily").skip_days("holidays"));
    assert!(days.starts_with(&plain) && days.contains(", days "), "{days}");
    let calendar = Calendar::new();
    let sundays = Calendar::new().weekdays([chrono::Weekday::Sun]);
    assert_eq!(calendar.fingerprint(), Calendar::new().fingerprint());
    assert_ne!(calendar.fingerprint(), sundays.fingerprint());
}

#[test]
fn ticks_are_those_of_the_rule_in_its_zone_without_the_days_left_out() {
    let schedule = Schedule::cron("0 30 0 * * *").skip_days("holidays");
    let text = text(schedule.until("2027-01-02T23:30:00Z"));
    let rule = TextRule::parse(&text, &calendars()).expect("a rule");
    let mut at = time("2026-12-30T12:00:00Z");
    let mut ticks = Vec::new();
    while let Some(next) = rule.next_after(at) {
        ticks.push(next.utc().to_rfc3339());
        at = next;
    }
    let expected =
        ["2026-12-30T23:30:00+00:00", "2027-01-01T23:30:00+00:00", "2027-01-02T23:30:00+00:00"];
    assert_eq!(ticks, expected);
    assert_eq!(rule.policy().until, Some(time("2027-01-02T23:30:00Z")));
}

#[test]
fn a_local_time_that_comes_twice_is_as_the_rule_says() {
    for (overlap, expected) in [("both", 2), ("first", 1), ("last", 1)] {
        let schedule = Schedule::cron("0 30 2 * * *").set(Attribute::DstOverlap, overlap);
        let rule = TextRule::parse(&text(schedule), &calendars()).expect("a rule");
        let (from, until) = (time("2026-10-25T00:00:00Z"), time("2026-10-25T12:00:00Z"));
        let ticks = std::iter::successors(rule.next_after(from), |at| rule.next_after(*at));
        assert_eq!(ticks.take_while(|tick| *tick < until).count(), expected, "{overlap}");
    }
}

#[test]
fn a_rule_that_the_store_computes_has_no_ticks_here() {
    let text = text(Schedule::fixed_rate("1s").until("2027-01-01T00:00:00Z"));
    let rule = TextRule::parse(&text, &calendars()).expect("a rule");
    assert_eq!(rule.next_after(StoreTime::MIN), None);
    assert_eq!(rule.policy().until, Some(time("2027-01-01T00:00:00Z")));
}

#[test]
fn a_text_that_is_not_understood_is_refused_with_the_reason() {
    let refused = |text: &str| TextRule::parse(text, &BTreeMap::new()).expect_err("a fault");
    assert!(refused("0 0 * * * *").contains("is no map"));
    assert!(refused(r#"{"lunar":"full"}"#).contains("`lunar` that is not known"));
    assert!(refused(r#"{"cron":"0 0 25 * * *"}"#).contains("hour"));
    let days = r#"{"cron":"@daily","skip_days":"holidays"}"#;
    assert!(refused(days).contains("no calendar `holidays`"));
    assert!(refused(r#"{"cron":"@daily","zone":"Nowhere/Land"}"#).contains("Nowhere/Land"));
}

#[test]
fn a_dynamic_schedule_has_a_misfire_policy() {
    let schedule = Schedule::fixed_rate("1h").misfire(Misfire::CatchUp).jitter("5m");
    let task = spec(schedule.misfire_window("2h"));
    let durable = task.durable.as_ref().expect("it is durable");
    let in_code = rule_of(&task, durable, false).expect("a rule");
    assert_eq!(in_code.text, r#"{"fixed_rate":"1h"}"#);
    let dynamic = rule_of(&task, durable, true).expect("a rule");
    let rule = TextRule::parse(&dynamic.text, &calendars()).expect("a rule");
    let (window, jitter) = (Some(Duration::from_secs(7_200)), Duration::from_secs(300));
    let expected = Policy { misfire: Misfire::CatchUp, window, jitter, until: None };
    assert_eq!(rule.policy(), expected);
    let plain = TextRule::parse(&in_code.text, &calendars()).expect("a rule");
    assert_eq!(plain.policy(), Policy { window: Some(DAY), ..Policy::default() });
}

#[test]
fn a_rule_that_one_process_cannot_read_is_no_rule_that_is_over() {
    let task = spec(Schedule::cron("@daily").skip_days("holidays"));
    let mut definition = definition_of(&task).expect("a rule");
    definition.is_dynamic = true;
    let row = StoredSchedule::new(definition, StoreTime::default(), StoreTime::default());
    assert_eq!(TextRules::new(&[], calendars()).check(&row), Ok(()));
    let without = TextRules::new(&[], BTreeMap::new());
    assert_eq!(without.check(&row), Err("there is no calendar `holidays`".to_owned()));
    let hourly = definition_of(&spec(Schedule::cron("@hourly"))).expect("a rule");
    let mut row = row;
    row.override_rule = Some(hourly.rule);
    assert!(without.check(&row).is_err(), "what becomes of missed ticks is not known");
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Mail {
    to: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Bomb;

impl<'de> Deserialize<'de> for Bomb {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        panic!("tick tock")
    }
}

fn run(version: u32, text: &str) -> Run {
    let mut new = NewJob::new(JobId::from_uuid(Uuid::nil()), "mail");
    new.payload = Stored { version, bytes: text.as_bytes().to_vec() };
    let mut job = StoredJob::new(&new, StoreTime::default(), StoreTime::default());
    (job.state, job.attempt, job.fence) = (JobState::Running, 1, Fence(1));
    Run::detached_job(
        TaskFacts::unknown("mail".into(), &Arc::from("none")),
        &ClaimedJob::new(job, Duration::ZERO, Box::new(|| true), Box::new(|_, _| {})),
    )
}

#[expect(clippy::needless_pass_by_value, reason = "an upgrade owns what it reads")]
fn from_v1(old: serde_json::Value) -> Result<Mail, String> {
    let to = old["to"].as_str().ok_or("no receiver")?;
    Ok(Mail { to: vec![to.to_owned()] })
}

fn mail(to: &str) -> Mail {
    Mail { to: vec![to.to_owned()] }
}

fn undecodable<T: std::fmt::Debug>(decoded: Result<T, TaskError>) -> String {
    let error = decoded.expect_err("it cannot be decoded");
    assert_eq!(error.job_error_kind(), Some(JobErrorKind::Undecodable));
    error.to_string()
}

#[test]
fn a_payload_comes_back_and_unknown_fields_are_passed_over() {
    let bytes = encoded(&mail("ada")).expect("it can be encoded");
    let text = String::from_utf8(bytes).expect("JSON");
    assert_eq!(text, r#"{"to":["ada"]}"#);
    assert_eq!(decoded::<Mail>(&run(1, &text), 1, None), Ok(mail("ada")));
    let newer = r#"{"to":["ada"],"cc":[]}"#;
    assert_eq!(decoded::<Mail>(&run(1, newer), 1, None), Ok(mail("ada")));
}

#[test]
fn a_payload_of_a_newer_version_is_left_to_a_newer_build() {
    let text = r#"{"to":["ada"]}"#;
    let why = undecodable(decoded::<Mail>(&run(2, text), 1, None));
    let told = "its payload cannot be decoded of version 2 as version 1: a newer build has written it; this is time 1 of 5, \
         a minute apart, and then it is parked; help: deploy the build with version 2 of the payload everywhere";
    assert_eq!(why, told);
    assert_eq!(undecodable(decoded::<Mail>(&run(2, text), 1, Some(from_v1))), told);
}

#[test]
fn a_payload_of_an_older_version_is_upgraded() {
    let (old, new) = (r#"{"to":"ada"}"#, r#"{"to":["ada"]}"#);
    assert_eq!(decoded::<Mail>(&run(1, old), 2, Some(from_v1)), Ok(mail("ada")));
    assert_eq!(decoded::<Mail>(&run(2, new), 2, Some(from_v1)), Ok(mail("ada")));
    let why = undecodable(decoded::<Mail>(&run(1, "{}"), 2, Some(from_v1)));
    assert!(why.starts_with(
        "its payload cannot be decoded of version 1 as version 2: no receiver; this is time 1 of 5"
    ));
    assert!(why.ends_with("help: mend the function of `upgrade = …` in `#[job]`"), "{why}");
    let why = undecodable(decoded::<Mail>(&run(1, "{}"), 2, None));
    assert!(why.ends_with("help: `upgrade = …` in `#[job]` makes version 2 of version 1"), "{why}");
    let why = undecodable(decoded::<Mail>(&run(2, old), 2, Some(from_v1)));
    assert!(why.contains("cannot be decoded: it does not fit"), "{why}");
}

#[test]
fn a_payload_that_cannot_be_decoded_says_why_also_if_that_panics() {
    let why = undecodable(decoded::<Mail>(&run(1, "{"), 1, None));
    assert!(
        why.starts_with(
            "its payload cannot be decoded: its JSON ends too soon at line 1 column 1;"
        ),
        "{why}"
    );
    let why = undecodable(decoded::<Mail>(&run(1, "{to}"), 1, None));
    assert!(
        why.starts_with("its payload cannot be decoded: it is no JSON at line 1 column 2;"),
        "{why}"
    );
    let why = undecodable(decoded::<Bomb>(&run(1, "{}"), 1, None));
    assert!(
        why.starts_with("its payload cannot be decoded: it panicked: tick tock; this is"),
        "{why}"
    );
    let help = "help: a type that has changed needs `version = 2` and `upgrade = …` in `#[job]`";
    assert!(why.ends_with(help), "{why}");
    let alone = decoded::<Mail>(&Run::detached("mail"), 1, None).expect_err("no job");
    assert_eq!(alone.job_error_kind(), None);
}

#[test]
fn a_job_is_no_rule_of_a_schedule() {
    assert_eq!(definition_of(&spec(Schedule::cron("-"))), None);
    assert!(RuleKind::ALL.contains(&RuleKind::Job));
}

#[cfg(feature = "testing")]
#[test]
fn a_simulation_may_begin_in_the_draw_of_another() {
    identities_from(|| {
        identities_from(|| Some(Uuid::max()));
        Some(Uuid::nil())
    });
    assert_eq!([new_id(), new_id()], [Uuid::nil(), Uuid::max()].map(JobId::from_uuid));
    identities_from(|| None);
}
