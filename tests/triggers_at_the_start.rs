//! Triggers of the program when the scheduler starts: each is asked once, before anything runs.

#[path = "fixtures/said.rs"]
mod said;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering;

use chrono::DateTime;
use chrono::TimeDelta;
use chrono::Utc;
use said::Said;
use scheduler::Builder;
use scheduler::ManualClock;
use scheduler::Schedule;
use scheduler::TaskState;
use scheduler::engine::Trigger;
use scheduler::engine::TriggerContext;

fn start() -> DateTime<Utc> {
    "2026-03-27T07:59:00Z".parse().unwrap()
}

fn builder() -> (Builder, Said) {
    let (builder, said) = said::builder();
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
    fn next_fire_time(&self, _: &TriggerContext) -> Option<DateTime<Utc>> {
        assert!(!self.panics, "no idea");
        self.left.lock().unwrap().pop_front()
    }
}

#[test]
fn f_rg1_where_a_trigger_fails_at_the_start_nothing_has_run() {
    let runs = Arc::<AtomicU32>::default();
    let (mut builder, _said) = builder();
    for number in 0..50 {
        let runs = Arc::clone(&runs);
        builder = builder.task(&format!("good-{number}"), Schedule::fixed_rate("1h"), move |_| {
            runs.fetch_add(1, Ordering::SeqCst);
        });
    }
    for name in ["bad", "worse"] {
        let failing = Schedule::on_trigger(Listed::new(&[], true));
        builder = builder.task(name, failing, |_| {});
    }
    let error = builder.spawn().unwrap_err();
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    assert_eq!(error.faults().len(), 2, "{error}");
    assert!(error.faults()[1].ends_with("failed: panicked: no idea"), "{error}");
    assert!(error.to_string().contains("2 faults were found, and nothing has run"), "{error}");
}

#[test]
fn a_start_that_fails_is_not_said_to_be_a_scheduler_that_was_dropped() {
    let (builder, said) = builder();
    let failing = Schedule::on_trigger(Listed::new(&[], true));
    builder.task("bad", failing, |_| {}).spawn().unwrap_err();
    let said = said.lock().unwrap().join("\n");
    assert!(!said.contains("dropped"), "{said}");
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
