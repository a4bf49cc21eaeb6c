//! The simulation itself: time, workers, failures, controls, and what it refuses.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::panics::panics;
use scheduler::testing::*;
use scheduler::{
    Attribute, Event, EventKind, Pause, Run, Schedule, Scheduler, SkipReason, StopReason, Until,
    scheduled,
};

#[scheduled(fixed_rate = "10s")]
#[scheduled(cron = "0 0 3 * * *", zone = "Europe/Berlin")]
fn twice() {}

#[scheduled(cron = "${report.cron:0 0 9 * * *}", zone = "Europe/Berlin")]
fn configured() {}

#[scheduled(fixed_rate = "1h", enabled = "${sweep.enabled:false}")]
fn switched_off() {}

#[scheduled(fixed_rate = "1h")]
async fn polite(run: Run) {
    run.sleep_async(secs(90)).await;
}

fn not_annotated() {}

fn closure(schedule: Schedule) -> Sim {
    Sim::at("2026-01-01T00:00:00Z").define("work", schedule, |_| {})
}

#[test]
fn a_function_with_two_annotations_has_two_schedules() {
    let from = "2026-03-28T00:00[Europe/Berlin]";
    let nightly = schedule_of(twice).annotation(2).from(from).take(2);
    assert_eq!(nightly.local(), ["Sat 2026-03-28 03:00+01:00", "Sun 2026-03-29 03:00+02:00"]);
    let rate = schedule_of(twice).annotation(1).from("2026-01-01T00:00:00Z");
    assert_eq!(rate.next_after("2026-01-01T00:00:05Z").local(), "Thu 2026-01-01 00:00:10+00:00");
    assert_eq!(rate.next_after("2026-01-01T00:00:10Z").local(), "Thu 2026-01-01 00:00:20+00:00");
    panics("`annotations::testing::twice` (tests/annotations/testing.rs:", || {
        drop(schedule_of(twice).from(from).take(1));
    });
    panics("there are 2 annotations", || drop(schedule_of(twice).annotation(3)));
}

#[test]
fn placeholders_have_their_defaults_or_what_is_set() {
    let day = ("2026-01-01T00:00Z", "2026-01-02T00:00Z");
    let plain = schedule_of(configured);
    assert_eq!(plain.between(day.0, day.1).local(), ["Thu 2026-01-01 09:00+01:00"]);
    let set = schedule_of(configured).set("report.cron", "0 30 7 * * *");
    assert_eq!(set.between(day.0, day.1).local(), ["Thu 2026-01-01 07:30+01:00"]);
    let other = schedule_of(configured).set("scheduler.tasks.configured.cron", "0 0 8 * * *");
    assert_eq!(other.between(day.0, day.1).local(), ["Thu 2026-01-01 08:00+01:00"]);
    assert!(schedule_of(switched_off).between(day.0, day.1).is_empty());
    let on = schedule_of(switched_off).set("sweep.enabled", "true");
    assert_eq!(on.between(day.0, day.1).len(), 24);
    panics("0 0 25", || {
        let _ = schedule("0 0 25 * * *").next_after("2026-01-01T00:00Z");
    });
}

#[test]
fn schedules_in_code_have_fire_times_of_every_kind() {
    let times = |schedule: Schedule| {
        let asked = schedule_of(schedule).from("2026-01-01T00:00Z");
        asked.between("2026-01-01T00:00:25Z", "2026-01-01T00:00:45Z").local().join(", ")
    };
    assert_eq!(
        times(Schedule::fixed_rate("10s").initial_delay("1s")),
        "Thu 2026-01-01 00:00:31+00:00, Thu 2026-01-01 00:00:41+00:00"
    );
    assert_eq!(times(Schedule::fixed_delay("30s")), "Thu 2026-01-01 00:00:30+00:00");
    assert_eq!(times(Schedule::once("25s")), "Thu 2026-01-01 00:00:25+00:00");
    assert_eq!(times(Schedule::once("24s")), "");
    let trigger = |context: &scheduler::engine::TriggerContext| {
        Some(context.last_scheduled().map_or(context.now(), |last| last + secs(20)))
    };
    assert_eq!(times(Schedule::on_trigger(Answer(trigger))), "Thu 2026-01-01 00:00:40+00:00");
}

struct Answer<F>(F);

impl<F> std::fmt::Debug for Answer<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Answer")
    }
}

type Instant = chrono::DateTime<chrono::Utc>;

impl<F> scheduler::engine::Trigger for Answer<F>
where
    F: Fn(&scheduler::engine::TriggerContext) -> Option<Instant> + Send + Sync,
{
    fn next_fire_time(
        &self,
        context: &scheduler::engine::TriggerContext,
    ) -> scheduler::engine::NextFireTime {
        Ok((self.0)(context))
    }
}

#[test]
fn a_task_without_a_schedule_is_refused() {
    panics("`annotations::testing::not_annotated` has no `#[scheduled(…)]`", || {
        drop(schedule_of(not_annotated));
    });
    panics("has no `#[scheduled(…)]`", || {
        Sim::at("2026-01-01T00:00Z").task(not_annotated).advance(secs(1));
    });
    panics("no task named `wrok`; did you mean `work`?", || {
        closure(Schedule::fixed_rate("1s")).takes("wrok", secs(1));
    });
    panics("does not say in which zone", || drop(Sim::at("2026-01-01T00:00")));
}

#[test]
fn overlap_skip_queue_one_and_allow_are_as_documented() {
    let starts = |overlap: &str| {
        let schedule = Schedule::fixed_rate("1s").set(Attribute::Overlap, overlap);
        let mut sim = closure(schedule);
        sim.takes("work", millis(1_500));
        sim.advance(millis(4_400));
        sim.starts("work")
    };
    assert_eq!(starts("skip"), [0, 2_000, 4_000].map(millis));
    assert_eq!(starts("queue_one"), [0, 1_500, 3_000].map(millis));
    assert_eq!(starts("allow"), [0, 1_000, 2_000, 3_000, 4_000].map(millis));
}

#[test]
fn a_pool_that_is_too_small_lets_tasks_wait_and_miss_fire_times() {
    let mut sim = Sim::at("2026-01-01T00:00:00Z")
        .pool_size(1)
        .define("slow", Schedule::once("1s"), |_| {})
        .define("quick", Schedule::fixed_rate("1m").initial_delay("2s"), |_| {});
    sim.takes("slow", minutes(3));
    sim.advance(minutes(5));
    // One run for the latest of the fire times that were missed: 00:02:02.
    assert_eq!(sim.starts("quick"), [181, 182, 242].map(secs));
    assert_eq!(sim.snapshot("quick").counters.skipped_misfire, 2);
    assert_eq!(
        sim.snapshot("quick").last_runs[2].fire_time,
        moment("2026-01-01T00:02:02Z").instant()
    );
}

#[test]
fn a_run_that_takes_too_long_is_told_to_stop_and_has_timed_out() {
    let mut sim = closure(Schedule::fixed_delay("1h").timeout("10s"));
    sim.takes_each("work", [secs(30), secs(10)]);
    sim.advance(secs(20));
    let asked = |event: &Event| {
        matches!(event.kind, EventKind::StopRequested { reason: StopReason::Timeout, .. })
    };
    assert!(sim.events().iter().any(asked), "{}", sim.event_log());
    assert_outcomes!(sim, "work", []);
    sim.advance(secs(10));
    assert_outcomes!(sim, "work", [Timeout]);
    assert_eq!(sim.next("work").to_string(), "2026-01-01T01:00:30Z");
}

#[test]
fn an_async_run_waits_by_virtual_time_and_holds_no_worker() {
    let mut sim = Sim::at("2026-01-01T00:00:00Z")
        .pool_size(1)
        .task(polite)
        .define("other", Schedule::fixed_rate("30s"), |_| {})
        .define_async("endless", Schedule::once("0s").timeout("45s"), |run| async move {
            run.sleep_async(hours(9)).await;
        });
    sim.takes("polite", secs(10));
    sim.advance(minutes(2));
    assert_eq!(sim.starts("other"), [0, 30, 60, 90, 120].map(secs));
    assert_eq!(sim.snapshot("polite").last_runs[0].took, secs(90));
    assert_outcomes!(sim, "endless", [Timeout]);
    assert_eq!(sim.snapshot("endless").last_runs[0].took, secs(45));
}

#[test]
fn an_async_run_takes_as_long_as_is_said() {
    let mut sim = Sim::at("2026-01-01T00:00:00Z").define_async(
        "fetch",
        Schedule::fixed_delay("1m").timeout("30s"),
        |_| async {},
    );
    sim.takes_each("fetch", [secs(20), secs(40)]);
    sim.fail_next("fetch", "no route");
    sim.run_next();
    sim.advance(minutes(4));
    assert_outcomes!(sim, "fetch", [Error("no route"), Timeout, Success, Success]);
    assert_eq!(sim.starts("fetch"), [0, 80, 170, 230].map(secs));
}

#[test]
fn a_plain_run_that_sleeps_lasts_longer_by_that_and_by_no_more_than_its_timeout() {
    let sleeper = |run: &Run| {
        run.sleep(secs(20))?;
        run.sleep(secs(20))
    };
    let mut sim = Sim::at("2026-01-01T00:00:00Z")
        .define("free", Schedule::once("0s"), sleeper)
        .define("limited", Schedule::once("0s").timeout("30s"), sleeper)
        .define("other", Schedule::fixed_rate("10s"), |_| {});
    sim.advance(minutes(1));
    assert_eq!(sim.snapshot("free").last_runs[0].took, secs(40));
    assert_eq!(sim.snapshot("limited").last_runs[0].took, secs(30));
    assert_outcomes!(sim, "free", [Success]);
    assert_outcomes!(sim, "limited", [Timeout]);
    assert_eq!(sim.starts("other").len(), 7, "time stood still for no other task");
}

#[test]
fn a_plain_run_that_polls_for_ever_is_ended_with_a_hint() {
    let mut sim = Sim::at("2026-01-01T00:00:00Z")
        .define("poll", Schedule::once("0s"), |run| while run.sleep(secs(1)).is_ok() {});
    panics("let it be async", || sim.advance(secs(1)));
    sim.run_until_idle();
    let log = sim.event_log();
    assert!(log.contains("let it be async"), "{log}");
}

#[test]
fn failures_are_feigned_attempt_by_attempt_and_the_body_is_not_called() {
    let calls = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&calls);
    let mut sim = Sim::at("2026-01-01T00:00:00Z").define(
        "work",
        Schedule::fixed_rate("1h").retry(2, "1s", "10s"),
        move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
        },
    );
    sim.fail_next("work", "once");
    sim.panic_next("work", "twice");
    sim.advance(minutes(1));
    assert_outcomes!(sim, "work", [Success]);
    assert_eq!((calls.load(Ordering::Relaxed), sim.snapshot("work").counters.attempts), (1, 3));
    for _ in 0..3 {
        sim.panic_next("work", "again");
    }
    sim.advance(hours(1));
    assert_outcomes!(sim, "work", [Success, Panic("again")]);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    let said = sim.messages().join("\n");
    assert!(said.contains("again"), "{said}");
}

#[test]
fn a_wrong_outcome_is_shown_beside_what_was_expected() {
    let mut sim = closure(Schedule::fixed_rate("1s"));
    sim.fail_next("work", "disk full");
    sim.advance(secs(1));
    panics(
        "\n    1  Error(\"disk full\") / Error(\"disk full\")\n!   2  Error(\"x\") / Success",
        move || {
            assert_outcomes!(sim, "work", [Error("disk full"), Error("x")]);
        },
    );
}

#[test]
fn controls_are_the_real_ones() {
    let mut sim = closure(Schedule::fixed_rate("10s"));
    sim.run_next();
    sim.pause("work");
    sim.advance(secs(35));
    assert_eq!(sim.starts("work"), [0].map(secs));
    sim.run_now("work");
    sim.resume("work");
    sim.advance(secs(5));
    assert_eq!(sim.starts("work"), [0, 35, 40].map(secs));
    assert_eq!(sim.snapshot("work").counters.skipped_paused, 3);
    sim.control("work").reschedule(Schedule::fixed_rate("1m")).expect("it is a good schedule");
    assert_eq!(sim.next("work").to_string(), "2026-01-01T00:01:40Z");
    sim.control("work").cancel().expect("it had not ended");
    sim.run_until_idle();
    assert_eq!(sim.elapsed(), secs(40));
    panics("`work` has no next run: it is cancelled", move || {
        let _ = sim.next("work");
    });
}

#[test]
fn a_start_behind_a_pause_is_shown_before() {
    for (schedule, expected) in [
        (Schedule::once("10s"), "2026-01-01T00:01:00Z"),
        (Schedule::fixed_delay("45s"), "2026-01-01T00:01:45Z"),
        (Schedule::fixed_rate("45s"), "2026-01-01T00:01:30Z"),
    ] {
        let mut sim = closure(schedule);
        sim.advance(secs(5));
        let minute = "2026-01-01T00:01:00Z".parse().expect("an instant");
        sim.control("work").pause_with(&Pause::new().until(minute)).expect("it has not ended");
        for _ in 0..2 {
            assert_eq!(sim.next("work").to_string(), expected);
            sim.advance(secs(50));
        }
    }
}

#[test]
fn the_wall_clock_can_jump_and_the_machine_sleep() {
    let mut sim = closure(Schedule::cron("0 0 * * * *"));
    sim.advance(minutes(30));
    sim.jump_wall_forward(minutes(20));
    sim.advance(minutes(10));
    assert_eq!(sim.starts("work"), [minutes(40)]);
    sim.jump_wall_back(minutes(30));
    sim.advance(minutes(45));
    assert_eq!(sim.starts("work"), [minutes(40)], "no fire time twice");
    sim.suspend(hours(5));
    sim.advance(secs(1));
    let skipped = |event: &Event| match &event.kind {
        EventKind::Skipped { reason: SkipReason::Misfire, count, .. } => *count,
        _ => 0,
    };
    assert_eq!(sim.events().iter().map(skipped).sum::<u64>(), 4, "{}", sim.event_log());
    assert_eq!(sim.starts("work").len(), 2);
    assert_eq!(sim.now().to_string(), "2026-01-01T06:15:01Z");
    assert_eq!(sim.elapsed(), minutes(85) + secs(1));
}

#[test]
fn an_idle_simulation_stops_and_a_recurring_task_needs_a_limit() {
    let mut sim = closure(Schedule::once("1h"));
    sim.takes("work", secs(5));
    sim.run_until_idle_or(days(1));
    assert_eq!(sim.elapsed(), hours(1) + secs(5));
    assert_eq!(sim.run_next(), None);
    let mut sim = closure(Schedule::fixed_rate("1s"));
    assert_eq!(sim.run_next().as_deref(), Some("work"));
    assert_eq!(sim.run_next().as_deref(), Some("work"));
    assert_eq!(sim.elapsed(), secs(1));
    panics("help: sim.run_until_idle_or", move || sim.run_until_idle());
    let mut sim = closure(Schedule::fixed_rate("1s"));
    sim.advance(secs(1));
    panics("2025-12-31T00:00:00Z is past", move || sim.advance_to("2025-12-31T00:00Z"));
}

#[test]
fn a_shutdown_waits_for_runs_by_virtual_time() {
    let mut sim = closure(Schedule::fixed_rate("1h"));
    sim.takes("work", secs(20));
    sim.advance(secs(5));
    sim.shutdown().expect("it has 30 seconds");
    assert_eq!(sim.elapsed(), secs(20));
    assert_outcomes!(sim, "work", [Success]);
    let mut sim = closure(Schedule::fixed_rate("1h"));
    sim.takes("work", minutes(5));
    sim.advance(secs(5));
    let error = sim.shutdown().expect_err("it takes too long");
    assert_eq!(error.running(), ["work"]);
    assert!(error.to_string().ends_with("1 task had not ended: `work`"), "{error}");
    let asked = |event: &Event| {
        matches!(event.kind, EventKind::StopRequested { reason: StopReason::Shutdown, .. })
    };
    assert!(sim.events().iter().any(asked), "{}", sim.event_log());
}

#[test]
fn a_shutdown_waits_for_the_run_of_a_removed_task_and_names_it() {
    let mut sim = closure(Schedule::fixed_rate("1h"));
    sim.takes("work", minutes(5));
    sim.advance(secs(5));
    sim.running_tasks().remove("work").unwrap();
    assert!(sim.running_tasks().list().is_empty());
    let error = sim.shutdown().expect_err("it takes too long");
    assert_eq!(error.running(), ["work"]);
}

#[test]
fn the_same_seed_gives_the_same_course_and_another_one_another() {
    let play = |seed: u64| {
        let mut sim = Sim::at("2026-01-01T00:00:00Z")
            .seed(seed)
            .define("a", Schedule::fixed_rate("1m").jitter("20s").retry(3, "5s", "30s"), |_| {})
            .define("b", Schedule::cron("0 */5 * * * *").jitter("1m"), |_| {});
        sim.takes_each("a", [3, 70, 1, 0, 200].map(secs));
        for _ in 0..6 {
            sim.fail_next("a", "flaky");
        }
        sim.advance(hours(1));
        sim.event_log()
    };
    assert_eq!(play(1), play(1));
    assert_ne!(play(1), play(2));
}

#[test]
fn nothing_is_read_that_a_test_does_not_give() {
    // With the setting it has a next run a minute later: the file is as good as the annotation.
    let mut sim = Sim::at("2026-01-01T00:00Z")
        .task(configured)
        .builder(|builder| builder.settings("prod.toml", "[report]\ncron = \"0 1 * * * *\""));
    assert_eq!(sim.next("configured").local(), "Thu 2026-01-01 01:01+01:00");
    sim.advance(minutes(1));
    assert_eq!(sim.starts("configured"), [minutes(1)]);
}

#[test]
fn managed_values_come_back_to_the_test() {
    let shared: Arc<str> = "text".into();
    let sim =
        Sim::at("2026-01-01T00:00Z").manage(7_u32).manage_named("b", 8_u32).manage_shared(shared);
    assert_eq!((*sim.get::<u32>(), *sim.get_named::<u32>("b"), &*sim.get::<str>()), (7, 8, "text"));
    panics("no `u64` is managed, but: ", move || drop(sim.get::<u64>()));
}

#[test]
fn the_wiring_is_checked_without_a_start() {
    let started = Arc::new(AtomicU64::new(0));
    let runs = Arc::clone(&started);
    let builder = Scheduler::builder().tasks(scheduler::tasks![]);
    let builder = builder.task("work", Schedule::fixed_rate("1ms"), move |_| {
        runs.fetch_add(1, Ordering::Relaxed);
    });
    check_wiring(builder).expect("nothing is missing");
    let bad = Scheduler::builder()
        .tasks(scheduler::tasks![])
        .task("work", Schedule::fixed_rate("1s"), |_| {})
        .task("work", Schedule::fixed_rate("1s"), |_| {})
        .set("scheduler.tasks.wrok.jitter", "1s");
    let error = check_wiring(bad).expect_err("two things are wrong").to_string();
    assert!(error.contains("2 tasks are named `work`") && error.contains("wrok"), "{error}");
    assert_eq!(started.load(Ordering::Relaxed), 0);
}

#[test]
fn runs_are_waited_for_in_real_time_and_in_a_simulation() {
    let scheduler = Scheduler::builder()
        .tasks(scheduler::tasks![])
        .messages(|_| {})
        .task("quick", Schedule::fixed_rate("1ms"), |_| {})
        .task("once", Schedule::once("0s"), |_| Err("bad"))
        .spawn()
        .expect("it starts");
    let limit = Duration::from_secs(60);
    scheduler.wait_for("quick", Until::runs(3), limit).expect("it runs");
    scheduler.wait_for("once", Until::failures(1), limit).expect("it fails");
    let error = scheduler.wait_for("once", Until::runs(2), limit).expect_err("it has ended");
    assert!(error.is_ended(), "{error}");
    let error =
        scheduler.wait_for("quick", Until::runs(u64::MAX), Duration::ZERO).expect_err("too many");
    assert!(error.is_too_late(), "{error}");
    assert!(error.to_string().starts_with("task `quick`: within 0s, 18446744073709551615 runs"));
    scheduler.shutdown().expect("nothing hangs");

    let sim = closure(Schedule::fixed_rate("1h"));
    sim.running_tasks().wait_for("work", Until::runs(3), days(1)).expect("two hours later");
    assert_eq!(sim.elapsed(), hours(2));
}
