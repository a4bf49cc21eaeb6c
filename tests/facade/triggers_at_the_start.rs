//! The start asks each custom trigger once, before anything runs.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use crate::said::Said;
use chrono::{DateTime, TimeDelta, Utc};
use scheduler::engine::{NextFireTime, Trigger, TriggerContext};
use scheduler::{Builder, ManualClock, Schedule, TaskState};

fn start() -> DateTime<Utc> {
    "2026-03-27T07:59:00Z".parse().unwrap()
}

fn builder() -> (Builder, Said) {
    let (builder, said) = crate::said::builder();
    (builder.clock(Arc::new(ManualClock::at(start()))), said)
}

/// Gives what is left of a list, and then nothing, or panics.
#[derive(Debug)]
struct Listed {
    left: Mutex<VecDeque<DateTime<Utc>>>,
    panics: bool,
}

impl Listed {
    fn new(seconds: &[i64], panics: bool) -> Self {
        let left = seconds.iter().map(|second| start() + TimeDelta::seconds(*second)).collect();
        Self { left: Mutex::new(left), panics }
    }
}

impl Trigger for Listed {
    fn next_fire_time(&self, _: &TriggerContext) -> NextFireTime {
        assert!(!self.panics, "no idea");
        Ok(self.left.lock().unwrap().pop_front())
    }
}

#[test]
fn a_trigger_that_fails_at_the_start_does_not_keep_the_others_from_running() {
    let (ran, runs) = std::sync::mpsc::channel();
    let (builder, said) = builder();
    let builder = builder.task("good", Schedule::fixed_rate("1h"), move |_| ran.send(()).unwrap());
    let builder = builder.task("bad", Schedule::on_trigger(Listed::new(&[], true)), |_| {});
    let scheduler = builder.spawn().unwrap();
    runs.recv().unwrap();
    let bad = scheduler.tasks().get("bad").unwrap().snapshot();
    assert_eq!((bad.state, bad.next), (TaskState::Waiting, None));
    assert!(bad.trigger_failure.unwrap().is_panic());
    scheduler.shutdown().unwrap();
    let said = said.lock().unwrap().join("\n");
    assert!(said.contains("task `bad`: the trigger panicked: no idea"), "{said}");
    assert!(
        said.contains("bad   custom trigger  next: unknown until its trigger answers"),
        "{said}"
    );
}

#[test]
fn a_trigger_that_never_fires_is_a_task_that_is_over() {
    let (builder, _said) = builder();
    let builder = builder.task("never", Schedule::on_trigger(Listed::new(&[], false)), |_| {});
    let scheduler = builder.task("hourly", Schedule::fixed_rate("1h"), |_| {}).spawn().unwrap();
    let states: Vec<_> = scheduler.tasks().list().iter().map(|task| task.state).collect();
    assert_eq!(states[0], TaskState::Completed);
    assert!(!states[1].is_ended());
    let added =
        scheduler.tasks().add("late", Schedule::on_trigger(Listed::new(&[], false)), |_| {});
    assert_eq!(added.unwrap().snapshot().state, TaskState::Completed);
    scheduler.shutdown().unwrap();
}

#[test]
fn the_banner_takes_no_fire_time_away() {
    let (builder, said) = builder();
    let listed = Schedule::on_trigger(Listed::new(&[60, 120], false));
    let scheduler = builder.task("listed", listed, |_| {}).spawn().unwrap();
    let next = scheduler.tasks().get("listed").unwrap().snapshot().next;
    assert_eq!(next, Some(start() + TimeDelta::seconds(60)));
    let said = said.lock().unwrap().join("\n");
    assert!(said.contains("next: Fri 2026-03-27 08:00:00"), "{said}");
    scheduler.shutdown().unwrap();
}

#[test]
fn the_banner_says_when_a_task_starts_and_not_when_its_jitter_begins() {
    let (builder, said) = builder();
    let nine = Schedule::cron("0 0 9 * * *").jitter("50m");
    let scheduler = builder.task("report", nine, |_| {}).spawn().unwrap();
    let next = scheduler.tasks().get("report").unwrap().snapshot().next.unwrap();
    let text = next.format("%H:%M:%S").to_string();
    assert_ne!(text, "09:00:00");
    let said = said.lock().unwrap().join("\n");
    assert!(said.contains(&text), "{text}: {said}");
    scheduler.shutdown().unwrap();
}
