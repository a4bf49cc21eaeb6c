//! A contained panic fails a simulation, unless the test expects it.

use std::cell::RefCell;
use std::sync::{Arc, Mutex};

use crate::own_process::is_in_own_process;
use crate::panics::panics;
use scheduler::engine::{NextFireTime, TriggerContext};
use scheduler::testing::*;
use scheduler::{Event, EventKind, Run, Schedule, TaskState, Until, scheduled};

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
    panics("task `annotations::testing_panics::wrong`, in its run 1, panicked", || {
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
                assert!(run.stop_requested(), "too late");
            },
        );
        sim.advance(secs(1));
        sim.shutdown().unwrap();
    });
}

#[test]
fn a_simulation_that_is_dropped_tells_of_what_no_test_was_told() {
    panics("not this one", || {
        let sim = sim();
        let waited = sim.running_tasks().wait_for("work", Until::runs(4), days(1));
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
        if let EventKind::RunFinished { run, .. } = &event.kind {
            assert!(run.number < 2, "heard too much");
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

thread_local! {
    /// The file in which the latest panic of this thread began.
    static FILE: RefCell<String> = const { RefCell::new(String::new()) };
}

struct Shop;

#[scheduled(fixed_rate = "1h", name = "report")]
fn report(_shop: &Shop) {}

#[scheduled(fixed_rate = "1h", name = "one")]
#[scheduled(cron = "@daily", name = "two")]
fn twice() {}

/// Each way to ask for what cannot be.
fn refusals() -> [(&'static str, fn()); 25] {
    fn at() -> Sim {
        Sim::at("2026-01-01T00:00:00Z").define("work", Schedule::once("1h"), |_| {})
    }
    fn ended() -> Sim {
        let mut sim = at();
        sim.advance(days(1));
        sim
    }
    [
        ("no instant", || _ = Sim::at("tomorrow")),
        ("no instant", || _ = moment("tomorrow")),
        ("is past", || at().advance_to("2025-01-01T00:00:00Z")),
        ("no task named `wrok`", || _ = at().starts("wrok")),
        ("no task named `wrok`", || _ = at().outcomes("wrok")),
        ("no task named `wrok`", || _ = at().snapshot("wrok")),
        ("no task named `wrok`", || _ = at().control("wrok")),
        ("no task named `wrok`", || at().takes("wrok", secs(1))),
        ("no task named `wrok`", || at().takes_each("wrok", [secs(1)])),
        ("no task named `wrok`", || at().fail_next("wrok", "no luck")),
        ("no task named `wrok`", || at().panic_next("wrok", "no luck")),
        ("no task named `wrok`", || at().run_now("wrok")),
        ("`work` has no next run", || _ = ended().next("work")),
        ("has ended", || ended().pause("work")),
        ("not paused", || at().resume("work")),
        ("has ended", || ended().run_now("work")),
        ("no `u8` is managed", || _ = at().get::<u8>()),
        ("no `u8` is managed", || _ = at().get_named::<u8>("eu")),
        ("before its first step", || _ = ended().seed(7)),
        ("there still are more", || Sim::at("2026-01-01T00:00:00Z").task(twice).run_until_idle()),
        ("out of range", || _ = schedule("0 0 25 * * *").next_after("2026-01-01T00:00:00Z")),
        ("no fire time after", || _ = schedule("-").next_after("2026-01-01T00:00:00Z")),
        ("no index 2 in 2 fire times", || {
            let times = schedule("@daily").from("2026-01-01T00:00:00Z").take(2);
            let _ = times[2];
        }),
        ("2 annotations", || _ = schedule_of(twice).next_after("2026-01-01T00:00:00Z")),
        ("had other outcomes", || assert_outcomes!(at(), "work", [Success])),
    ]
}

#[test]
fn a_refusal_names_the_place_in_the_test() {
    if !is_in_own_process(a_refusal_names_the_place_in_the_test) {
        return;
    }
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let file = panic.location().map_or("", |place| place.file());
        FILE.with_borrow_mut(|kept| file.clone_into(kept));
        before(panic);
    }));
    for (expected, refusal) in refusals() {
        panics(expected, refusal);
        assert_eq!(FILE.take(), file!(), "{expected}");
    }
}

#[test]
fn missing_values_are_named_in_the_words_of_a_simulation() {
    let start = || Sim::at("2026-01-01T00:00:00Z");
    panics("help: before the start, .manage::<annotations::testing_panics::Shop>(…)", || {
        start().task(report).advance(secs(1));
    });
    panics("help: annotate it, or define it in code: Sim::at(…).define(…)", || {
        start().task(refusals).advance(secs(1));
    });
}
