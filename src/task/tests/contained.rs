//! Panics of destructors, wakers and the texts of triggers are contained.
//!
//! They harm neither the task nor others that wait.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Waker};
use std::thread;

use chrono::TimeDelta;
use scheduler_core::{NextFireTime, Trigger, TriggerContext};

use super::stage::*;
use crate::base::set_once::tests::CountingWaker;
use crate::observe::TaskState;
#[cfg(feature = "tracing")]
use crate::run::inject::Call;
use crate::task::{Policy, Rule, Until};

/// A trigger of every second that panics when it is dropped.
#[derive(Debug)]
struct Bomb;

impl Trigger for Bomb {
    fn next_fire_time(&self, context: &TriggerContext) -> NextFireTime {
        Ok(Some(context.now() + TimeDelta::seconds(1)))
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        // Two panics at a time would end the process of the tests.
        assert!(thread::panicking(), "the bomb");
    }
}

fn bomb() -> Rule {
    Rule::Custom(Arc::new(Bomb))
}

#[test]
fn a_trigger_that_panics_when_it_is_dropped_does_not_end_its_task() {
    let mut stage = Stage::new();
    let control = stage.task(bomb(), Policy::default(), |_| ok(0));
    stage.until(1_500);
    control.reschedule(rate(1_000)).unwrap();
    stage.until(3_000);
    let heard = stage.heard();
    let (before, after) = heard.split_once("DropPanicked").expect(&heard);
    assert_eq!(before, "start 1 | rule 1.5 | ");
    assert!(after.contains("the bomb"), "{after}");
    assert!(after.ends_with(" | start 2.5"), "{after}");
    assert_eq!(control.snapshot().state, TaskState::Waiting);
}

#[test]
fn a_trigger_that_is_replaced_during_a_run_may_panic_when_it_is_dropped() {
    let mut stage = Stage::new();
    let control = stage.task(bomb(), Policy::default(), |_| ok(1_000));
    stage.until(1_500);
    control.reschedule(rate(1_000)).unwrap();
    stage.until(3_000);
    let heard = stage.heard();
    assert!(heard.contains("the bomb"), "{heard}");
    assert!(heard.ends_with(" | start 2.5"), "{heard}");
}

#[test]
fn a_trigger_that_is_replaced_before_it_fires_may_panic_when_it_is_dropped() {
    let mut stage = Stage::new();
    let control = stage.task(rate(1_000), Policy::default(), |_| ok(500));
    stage.until(0);
    control.reschedule(bomb()).unwrap();
    control.reschedule(rate(2_000)).unwrap();
    stage.until(2_000);
    let heard = stage.heard();
    assert!(heard.contains("the bomb"), "{heard}");
    assert!(heard.starts_with("start 0 | rule 0 | rule 0 | DropPanicked"), "{heard}");
    assert!(heard.ends_with(" | start 2"), "{heard}");
    control.cancel().unwrap();
    stage.heard();
    assert!(control.reschedule(bomb()).unwrap_err().is_ended());
    assert!(stage.heard().contains("the bomb"), "that of a refused rule is reported, too");
}

/// A trigger that cannot be described.
struct Shy;

impl Trigger for Shy {
    fn next_fire_time(&self, context: &TriggerContext) -> NextFireTime {
        Ok(Some(context.now() + TimeDelta::seconds(1)))
    }

    fn describe(&self) -> String {
        panic!("no text")
    }
}

#[test]
fn a_trigger_that_panics_when_it_describes_itself_does_not_end_its_task() {
    let mut stage = Stage::new();
    let control = stage.task(rate(1_000), Policy::default(), |_| ok(0));
    stage.until(500);
    control.reschedule(Rule::Custom(Arc::new(Shy))).unwrap();
    stage.until(2_000);
    assert_eq!(stage.heard(), "start 0 | rule 0.5 | start 1.5");
    assert_eq!(&*control.snapshot().facts.rule, "custom trigger, which cannot be described");
}

#[test]
fn a_waker_that_panics_does_not_keep_others_waiting_and_does_not_end_the_task() {
    let mut stage = Stage::new();
    let control = stage.task(rate(1_000), Policy::default(), |_| ok(500));
    let counters = [true, false, true, false].map(|panics| {
        let counter = Arc::new(CountingWaker { wakes: AtomicU64::new(0), panics });
        let waker = Waker::from(Arc::clone(&counter));
        let mut future = Box::pin(control.wait_for_async(Until::runs(1)));
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        (counter, future)
    });
    stage.until(1_000);
    for (counter, mut future) in counters {
        assert_eq!(counter.wakes.load(Relaxed), 1, "panics: {}", counter.panics);
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(pin!(&mut future).poll(&mut context), Poll::Ready(Ok(())));
    }
    assert_eq!(stage.heard(), "start 0 | start 1");
}

/// A subscriber that panics whenever a run is entered or left.
#[cfg(feature = "tracing")]
struct Grumpy;

#[cfg(feature = "tracing")]
impl tracing::Subscriber for Grumpy {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, _: &tracing::Event<'_>) {}

    fn enter(&self, _: &tracing::span::Id) {
        panic!("not now")
    }

    fn exit(&self, _: &tracing::span::Id) {
        panic!("not yet")
    }
}

#[test]
#[cfg(feature = "tracing")]
fn a_subscriber_that_panics_prevents_no_run() {
    for is_async in [false, true] {
        let (mut stage, called) = (Stage::new(), Arc::new(AtomicU64::new(0)));
        let note = Arc::clone(&called);
        let call = if is_async {
            Call::of_async(move |_| {
                note.fetch_add(1, Relaxed);
                std::future::ready(())
            })
        } else {
            Call::of(move |_| {
                note.fetch_add(1, Relaxed);
            })
        };
        let control = stage.start(rate(1_000), Policy::default(), call);
        stage.until(500);
        tracing::subscriber::with_default(Grumpy, || {
            tracing::callsite::rebuild_interest_cache();
            stage.until(1_500);
        });
        stage.until(2_500);
        assert_eq!(stage.heard(), "start 0 | start 1 | start 2");
        assert_eq!((control.snapshot().counters.successes, called.load(Relaxed)), (3, 3));
    }
}

/// A value of a function that panics when it is dropped.
struct Heavy;

impl Drop for Heavy {
    fn drop(&mut self) {
        assert!(thread::panicking(), "too heavy");
    }
}

#[test]
fn a_function_that_panics_when_it_is_dropped_is_reported_when_its_task_ends() {
    let mut stage = Stage::new();
    let heavy = Heavy;
    let control = stage.task(rate(1_000), Policy::default(), move |_| {
        let _ = &heavy;
        ok(0)
    });
    stage.until(500);
    stage.heard();
    control.cancel().unwrap();
    let heard = stage.heard();
    let (before, after) = heard.split_once("DropPanicked").expect(&heard);
    assert_eq!(before, "cancelled 0.5 | ");
    assert!(after.contains("too heavy"), "{after}");
    assert_eq!(control.snapshot().state, TaskState::Cancelled);
    drop(control);
    assert_eq!(stage.heard(), "");
}

#[test]
fn a_function_that_panics_when_it_is_dropped_after_its_last_run_is_reported_once() {
    let mut stage = Stage::new();
    let heavy = Heavy;
    let control = stage.task(once(0), Policy::default(), move |_| {
        let _ = &heavy;
        ok(500)
    });
    stage.until(1_000);
    let heard = stage.heard();
    assert!(heard.starts_with("start 0 | completed 0.5 | DropPanicked"), "{heard}");
    assert_eq!(heard.matches("DropPanicked").count(), 1, "{heard}");
    let run = control.snapshot().last_runs[0].clone();
    assert!(run.outcome.is_success());
}
