//! Tasks that are disabled: listed, refused, and enabled while the scheduler runs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use scheduler::engine::{NextFireTime, Trigger, TriggerContext};
use scheduler::testing::*;
use scheduler::{
    Attribute, ControlError, Event, EventKind, RuleKind, Schedule, Scheduler, TaskState, Until,
    scheduled,
};

#[scheduled(fixed_rate = "10s", enabled = "${purge.enabled:false}", name = "purge")]
fn purge() {}

#[scheduled(cron = "${report.cron:-}", name = "report")]
fn report() {}

#[scheduled(fixed_rate = "10s", name = "tick")]
fn tick() {}

fn sim() -> Sim {
    Sim::at("2026-01-01T00:00:00Z").tasks(scheduler::tasks![purge, report, tick])
}

/// Drops the scheduler when it is asked.
struct Drops(Arc<Mutex<Option<Scheduler>>>);

impl Trigger for Drops {
    fn next_fire_time(&self, context: &TriggerContext) -> NextFireTime {
        drop(self.0.lock().unwrap().take());
        Ok(Some(context.now() + secs(3_600)))
    }
}

#[test]
fn one_that_is_refused_because_its_scheduler_stops_has_ended() {
    let place = Arc::new(Mutex::new(None));
    let scheduler = Scheduler::builder()
        .tasks(scheduler::tasks![])
        .environment([("PATH", "")])
        .settings("none.toml", "")
        .messages(|_| {})
        .task("late", off(Schedule::on_trigger(Drops(Arc::clone(&place)))), |_| {})
        .spawn()
        .unwrap();
    let late = scheduler.tasks().get("late").unwrap();
    *place.lock().unwrap() = Some(scheduler);
    late.enable().unwrap_err();
    assert!(late.snapshot().state.is_ended(), "{:?}", late.snapshot().state);
    late.cancel().unwrap_err();
}

fn off(schedule: Schedule) -> Schedule {
    schedule.set(Attribute::Enabled, "false")
}

#[test]
fn they_are_listed_as_disabled_in_their_place() {
    let mut sim = sim();
    sim.advance(secs(60));
    let list = sim.running_tasks().list();
    let shown: Vec<_> =
        list.iter().map(|task| (task.name(), task.state, &*task.facts.rule, task.next)).collect();
    assert_eq!(shown[0], ("purge", TaskState::Disabled, "every 10s", None));
    assert_eq!(shown[1], ("report", TaskState::Disabled, "no rule", None));
    assert_eq!((shown[2].0, shown[2].1), ("tick", TaskState::Waiting));
    assert_eq!(list[1].facts.kind, RuleKind::None);
    assert!(!TaskState::Disabled.is_ended());
    assert!(sim.starts("purge").is_empty() && sim.starts("report").is_empty());
    let banner = &sim.messages()[0];
    assert!(
        banner.contains("  1 task · ") && banner.contains("disabled: purge, report"),
        "{banner}"
    );
    assert!(sim.event_log().contains("added: every 10s; pool default; disabled"));
}

#[test]
fn a_disabled_task_refuses_control_with_the_reason() {
    let sim = sim();
    let purge = sim.control("purge");
    let refusals: [Result<(), ControlError>; 4] = [
        purge.run_now().map(drop),
        purge.pause(),
        purge.resume(),
        purge.wait_for(Until::runs(1), Duration::from_secs(1)),
    ];
    for refused in refusals {
        let error = refused.unwrap_err();
        assert!(error.is_disabled() && !error.is_ended(), "{error}");
        assert_eq!(error.to_string(), "task `purge` is disabled; enable it first: `.enable()`");
    }
    assert!(purge.cancel_run().unwrap_err().is_not_running());
    sim.running_tasks().resume_all().unwrap();
    assert_eq!(sim.snapshot("purge").state, TaskState::Disabled);
}

#[test]
fn one_that_is_enabled_begins_as_at_the_start() {
    let mut sim = sim();
    sim.advance(secs(25));
    sim.control("purge").enable().unwrap();
    sim.control("purge").enable().unwrap();
    sim.advance(secs(20));
    assert_eq!(sim.starts("purge"), [25, 35, 45].map(secs));
    let is_enabled = |event: &Event| matches!(event.kind, EventKind::Enabled { next: Some(_), .. });
    assert_eq!(sim.events().iter().filter(|event| is_enabled(event)).count(), 1);
    let said = sim.messages().join("\n");
    assert!(said.contains("task `purge`: enabled; next Thu 2026-01-01 00:00:25"), "{said}");
    sim.run_now("purge");
    assert_eq!(sim.starts("purge").len(), 4);
}

#[test]
fn one_without_a_rule_needs_one_first() {
    let mut sim = sim();
    let report = sim.control("report");
    let error = report.enable().unwrap_err().to_string();
    assert!(
        error.contains("it has no rule to run by, so it cannot be enabled; give it"),
        "{error}"
    );
    report.reschedule(Schedule::cron("0 * * * * *")).unwrap();
    let snapshot = sim.snapshot("report");
    assert_eq!((snapshot.state, snapshot.next), (TaskState::Disabled, None));
    assert!(snapshot.facts.rule.starts_with("0 * * * * *"), "{}", snapshot.facts.rule);
    sim.advance(secs(90));
    assert!(sim.starts("report").is_empty(), "it is still disabled");
    report.enable().unwrap();
    sim.advance(secs(60));
    assert_eq!(sim.starts("report"), [secs(120)]);
}

#[test]
fn one_whose_attributes_are_faulty_starts_nowhere_and_says_why_when_it_is_enabled() {
    let faulty = || off(Schedule::fixed_rate("5 parsecs").pool("none"));
    let sim = sim().define("faulty", faulty(), |_| {});
    let state = sim.snapshot("faulty").state;
    assert_eq!(state, TaskState::Disabled);
    let error = sim.control("faulty").enable().unwrap_err().to_string();
    assert!(
        error.contains("`parsecs` is not a unit") && error.contains("no pool `none`"),
        "{error}"
    );
    let on = Sim::at("2026-01-01T00:00:00Z").define("faulty", faulty(), |_| {});
    let on = on.set("scheduler.tasks.faulty.enabled", "true");
    let start =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(on.snapshot("faulty"))));
    assert!(start.is_err(), "it is judged when it is not disabled");
}

#[test]
fn one_that_is_added_is_disabled_too() {
    let mut sim = sim();
    sim.advance(Duration::ZERO);
    let tasks = sim.running_tasks();
    let added = tasks.add("late", off(Schedule::once("1s")), |_| {}).unwrap();
    assert_eq!(added.snapshot().state, TaskState::Disabled);
    assert!(
        sim.messages()
            .last()
            .unwrap()
            .ends_with("task `late`: added: once, after 1s; pool default; disabled")
    );
    assert!(tasks.add("late", Schedule::once("1s"), |_| {}).is_err(), "its name is taken");
    added.enable().unwrap();
    sim.advance(secs(2));
    assert_eq!(sim.starts("late"), [secs(1)]);
    assert!(added.enable().unwrap_err().is_ended());
}

#[test]
fn one_that_is_cancelled_or_removed_has_ended() {
    let mut sim = sim();
    sim.control("purge").cancel().unwrap();
    assert_eq!(sim.snapshot("purge").state, TaskState::Cancelled);
    assert!(sim.control("purge").enable().unwrap_err().is_ended());
    assert!(sim.control("purge").cancel().unwrap_err().is_ended());
    sim.running_tasks().remove("report").unwrap();
    assert!(sim.running_tasks().get("report").unwrap_err().is_unknown());
    let ended = |event: &Event| matches!(event.kind, EventKind::TaskEnded { .. });
    assert_eq!(sim.events().iter().filter(|event| ended(event)).count(), 2);
    sim.shutdown().unwrap();
}

#[test]
fn a_custom_trigger_is_first_asked_when_its_task_is_enabled() {
    use scheduler::engine::{NextFireTime, Trigger, TriggerContext};
    struct OnceLater;
    impl Trigger for OnceLater {
        fn next_fire_time(&self, context: &TriggerContext) -> NextFireTime {
            let is_first = context.last_scheduled().is_none();
            Ok(is_first.then(|| context.now() + secs(5)))
        }
    }
    let mut sim = sim().define("own", off(Schedule::on_trigger(OnceLater)), |_| {});
    sim.advance(secs(100));
    sim.control("own").enable().unwrap();
    sim.advance(secs(100));
    assert_eq!(sim.starts("own"), [secs(105)]);
    assert_eq!(sim.snapshot("own").state, TaskState::Completed);
}

#[test]
fn an_async_one_is_enabled_as_any_other() {
    let schedule = off(Schedule::fixed_rate("10s"));
    let mut sim = sim().define_async("async", schedule, |_| std::future::ready(()));
    sim.control("async").enable().unwrap();
    sim.advance(secs(15));
    assert_eq!(sim.starts("async"), [0, 10].map(secs));
    sim.shutdown().unwrap();
    assert!(sim.control("tick").enable().is_err());
}
