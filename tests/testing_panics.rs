//! A panic that a scheduler contains fails the test that plays it, unless the test is about panics.

mod panics;

use std::sync::Arc;
use std::sync::Mutex;

use panics::panics;
use scheduler::Event;
use scheduler::Run;
use scheduler::Schedule;
use scheduler::TaskState;
use scheduler::engine::NextFireTime;
use scheduler::engine::TriggerContext;
use scheduler::scheduled;
use scheduler::testing::*;

#[scheduled(fixed_rate = "1h")]
fn wrong() {
    assert_eq!(1, 2, "as everybody knows");
}

fn at_second(number: u64) -> impl Fn(&Run) + Send + Sync + 'static {
    move |run: &Run| assert_ne!(run.number(), number, "not this one")
}

fn sim() -> Sim {
    Sim::at("2026-01-01T00:00:00Z").define("work", Schedule::fixed_rate("1s"), at_second(3))
}

#[test]
fn an_assertion_that_fails_in_a_task_fails_the_test_and_stops_time() {
    let mut sim = sim();
    sim.advance(secs(1));
    let expected = "task `work`, in its run 3, panicked: assertion `left != right` failed: not this one\n  \
                    left: 3\n right: 3\nhelp: where the test is about panics: Sim::at(…).allow_panics()";
    panics(expected, || sim.advance(secs(8)));
    assert_eq!(sim.elapsed(), secs(2));
    sim.advance(secs(1));
    assert_eq!(sim.starts("work").len(), 4, "it was told once");
    panics("task `testing_panics::wrong`, in its run 1, panicked", || {
        Sim::at("2026-01-01T00:00:00Z").task(wrong).advance(secs(1));
    });
}

#[test]
fn every_way_to_let_time_pass_tells_of_it() {
    panics("not this one", || sim().advance_to("2026-01-01T01:00:00Z"));
    panics("not this one", || sim().run_until_idle());
    panics("not this one", || sim().run_until_idle_or(hours(1)));
    panics("not this one", || {
        let mut sim = sim();
        while sim.run_next().is_some() {}
    });
    panics("run 1, panicked", || {
        let schedule = Schedule::fixed_rate("1h").initial_delay("1h");
        Sim::at("2026-01-01T00:00:00Z").define("work", schedule, at_second(1)).run_now("work");
    });
    panics("too late", || {
        let mut sim = Sim::at("2026-01-01T00:00:00Z").define_async(
            "work",
            Schedule::once("0s"),
            |run| async move {
                run.sleep_async(secs(9)).await;
                assert!(run.is_cancelled(), "too late");
            },
        );
        sim.advance(secs(1));
        sim.shutdown().unwrap();
    });
}

#[test]
fn a_simulation_that_is_dropped_tells_of_what_nobody_was_told() {
    panics("not this one", || {
        let sim = sim();
        let waited = sim.running_tasks().wait_for("work", scheduler::runs(4), days(1));
        waited.unwrap();
    });
    panics("the test's own", || {
        let mut sim = sim();
        sim.advance(secs(1));
        panic!("the test's own");
    });
}

#[test]
fn an_assertion_that_fails_in_an_async_task_fails_the_test() {
    panics("task `fetch`, in its run 2, panicked: not found", || {
        let mut sim = Sim::at("2026-01-01T00:00:00Z").define_async(
            "fetch",
            Schedule::fixed_rate("1m"),
            |run| async move {
                run.sleep_async(secs(1)).await;
                assert!(run.number() < 2, "not found");
            },
        );
        sim.advance(minutes(5));
    });
}

#[test]
fn an_attempt_that_a_retry_makes_good_and_one_after_its_timeout_are_told_of() {
    panics("task `work`, in its run 1, panicked: the first one", || {
        let schedule = Schedule::fixed_rate("1h").retry(3, "1s", "1s");
        let mut sim = Sim::at("2026-01-01T00:00:00Z")
            .define("work", schedule, |run| assert!(run.attempt() > 1, "the first one"));
        sim.advance(minutes(1));
    });
    panics("task `work`, in its run 1, panicked: it should not", || {
        let mut sim = Sim::at("2026-01-01T00:00:00Z").define(
            "work",
            Schedule::fixed_rate("1h").timeout("1s"),
            |run| assert!(run.sleep(secs(5)).is_ok(), "it should not"),
        );
        sim.advance(minutes(1));
    });
}

#[test]
fn an_assertion_that_fails_in_a_listener_fails_the_test() {
    let listen = |event: &Event| {
        if let Event::RunFinished { run, .. } = event {
            assert!(run.number() < 2, "heard too much");
        }
    };
    let mut sim = Sim::at("2026-01-01T00:00:00Z")
        .define("work", Schedule::fixed_rate("1s"), |_| {})
        .builder(|builder| builder.listener(listen));
    panics("a listener panicked: heard too much", || sim.advance(secs(5)));
    assert_eq!(sim.starts("work").len(), 2);
}

#[derive(Debug)]
struct Undecided;

impl scheduler::engine::Trigger for Undecided {
    fn next_fire_time(&self, context: &TriggerContext) -> NextFireTime {
        assert!(context.last_scheduled().is_none(), "asked twice");
        Ok(Some(context.now()))
    }
}

#[test]
fn an_assertion_that_fails_in_a_trigger_fails_the_test() {
    let mut sim =
        Sim::at("2026-01-01T00:00:00Z").define("work", Schedule::on_trigger(Undecided), |_| {});
    panics("the trigger of task `work` panicked: asked twice", || sim.advance(secs(5)));
}

#[test]
fn a_test_about_panics_says_so() {
    let heard: Arc<Mutex<u32>> = Arc::default();
    let counted = Arc::clone(&heard);
    let mut allowed = sim().allow_panics().builder(|builder| {
        builder.listener(move |_: &Event| {
            *counted.lock().unwrap() += 1;
            std::panic::resume_unwind(Box::new("not to be listened to"));
        })
    });
    allowed.advance(secs(3));
    assert_eq!(allowed.snapshot("work").counters.panics, 1);
    assert_eq!(*allowed.snapshot("work").last_runs[1].outcome.name(), *"panic");
    drop(allowed);
    let mut feigned = sim();
    feigned.panic_next("work", "no luck");
    feigned.advance(secs(1));
    assert_outcomes!(feigned, "work", [Panic("no luck"), Success]);
    assert!(!matches!(feigned.snapshot("work").state, TaskState::Failed));
}
