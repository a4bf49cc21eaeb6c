//! Schedules with an end, gates, and tasks that hang.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use scheduler::testing::{Sim, schedule_of, secs};
use scheduler::{
    Admission, Calendar, EventKind, GateContext, Overlap, Schedule, SkipReason, TaskState,
};

const START: &str = "2026-03-27T08:00:00Z";

/// B13: a task that hangs reports its skips while it hangs.
#[test]
fn a_task_that_hangs_reports_and_counts_its_skips_meanwhile() {
    let mut sim = Sim::at(START).define("hang", Schedule::fixed_rate("1s"), |_| {});
    sim.takes("hang", secs(10));
    sim.advance(secs(5));
    assert_eq!(sim.snapshot("hang").counters.skipped_overlap, 5);
    assert_eq!(sim.snapshot("hang").running, 1);
    let skips = |sim: &Sim| {
        let is_skip = |event: &&_| matches!(kind(event), EventKind::Skipped { .. });
        sim.events().iter().filter(is_skip).count()
    };
    assert_eq!(skips(&sim), 5, "one event for each, at its time");
}

fn kind(event: &scheduler::Event) -> &EventKind {
    &event.kind
}

#[test]
fn max_runs_and_until_end_a_task() {
    let until = "2026-03-27T08:00:02.500Z";
    let mut sim = Sim::at(START)
        .define("three", Schedule::fixed_rate("1s").max_runs(3), |_| {})
        .define("until", Schedule::cron("* * * * * *").until(until), |_| {});
    sim.advance(secs(10));
    assert_eq!(sim.starts("three"), [0, 1, 2].map(secs));
    assert_eq!(sim.starts("until"), [1, 2].map(secs));
    for task in ["three", "until"] {
        assert_eq!(sim.snapshot(task).state, TaskState::Completed, "{task}");
    }
    let rate = || Schedule::fixed_rate("1h").max_runs(3);
    let shown = schedule_of(rate()).from(START).take(9);
    assert_eq!(shown.len(), 3);
    let shown =
        schedule_of(rate()).from(START).between("2026-03-27T10:00:00Z", "2026-03-28T00:00:00Z");
    assert_eq!(shown.len(), 1, "the first two count, too");
}

#[test]
fn at_most_as_many_runs_as_allowed_are_in_progress() {
    let schedule = Schedule::fixed_rate("1s").overlap(Overlap::Allow).max_concurrent(2);
    let mut sim = Sim::at(START).pool_size(8).define("two", schedule, |_| {});
    sim.takes("two", secs(10));
    sim.advance(secs(5));
    assert_eq!(sim.starts("two"), [0, 1].map(secs));
    assert_eq!(sim.snapshot("two").running, 2);
    assert!(sim.control("two").run_now().unwrap_err().is_running());
}

#[test]
fn a_calendar_leaves_out_its_days() {
    let weekend = Calendar::new().weekdays([chrono::Weekday::Sat, chrono::Weekday::Sun]);
    let schedule = Schedule::cron("0 0 9 * * *").zone("UTC").skip_days("weekend");
    let sim = Sim::at(START).builder(|builder| builder.calendar("weekend", weekend));
    let mut sim = sim.define("report", schedule, |_| {});
    sim.advance(secs(86_400 * 4));
    let days: Vec<String> = sim
        .snapshot("report")
        .last_runs
        .iter()
        .map(|run| run.fire_time.format("%a").to_string())
        .collect();
    assert_eq!(days, ["Mon", "Fri"], "the latest first; it was Friday");
}

#[test]
fn a_gate_refuses_runs_which_are_no_successes() {
    let is_leader = Arc::new(AtomicBool::new(false));
    let gate = Arc::clone(&is_leader);
    let leads = move |context: &GateContext| {
        assert_eq!(&*context.task.name, "report");
        let leads = gate.load(Ordering::Relaxed);
        Ok(if leads { Admission::run() } else { Admission::refuse("another host leads") })
    };
    let sim = Sim::at(START).builder(|builder| builder.gate(leads));
    let mut sim = sim.define("report", Schedule::fixed_rate("1s"), |_| {});
    sim.advance(secs(2));
    let report = sim.snapshot("report");
    assert_eq!((report.counters.runs, report.counters.skipped_refused), (0, 3));
    assert_eq!(report.last_success, None);
    let events = sim.events();
    let refused = events.iter().filter(|event| {
        matches!(event.kind, EventKind::Skipped { reason: SkipReason::Refused, .. })
    });
    assert_eq!(refused.count(), 3);
    is_leader.store(true, Ordering::Relaxed);
    sim.advance(secs(1));
    assert_eq!(sim.snapshot("report").last_runs[0].number, 1, "refused runs have no number");
}

#[test]
fn a_manual_run_is_waited_for() {
    let sim = Sim::at(START).define("import", Schedule::cron("@daily"), |run| run.note("17 rows"));
    let run = sim.control("import").run_now().unwrap();
    let record = run.wait(secs(10)).unwrap();
    assert!(record.outcome.is_success());
    assert_eq!(&*record.notes[0], "17 rows");
    let run = sim.control("import").run_now().unwrap();
    sim.control("import").cancel().unwrap();
    assert!(run.wait(secs(10)).unwrap_err().is_ended());
}
