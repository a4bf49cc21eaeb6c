//! The handle of a manual run resolves in each way to end.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::stage::*;
use crate::base::set_once::tests::CountingWaker;
use crate::observe::RunRecord;
use crate::run::inject::Call;
use crate::run::{Cause, Run};
use crate::task::{Admission, Control, ControlError, GateContext, Gates, ManualRun, Policy, Retry};
use scheduler_expr::Overlap;

fn ended(run: ManualRun) -> Result<RunRecord, ControlError> {
    run.wait(Duration::ZERO)
}

/// A task that does not run by itself for a day.
fn idle(stage: &Stage, policy: Policy, goes: Goes) -> Control {
    stage.task(once(86_400_000), policy, move |_| goes)
}

#[test]
fn a_manual_run_resolves_to_its_record() {
    for (goes, outcome) in [(ok(500), "success"), (fails(500), "error")] {
        let mut stage = Stage::new();
        let control = idle(&stage, Policy::default(), goes);
        let mut run = control.run_now().unwrap();
        let counter = Arc::new(CountingWaker { wakes: AtomicU64::new(0), panics: false });
        let waker = Waker::from(Arc::clone(&counter));
        stage.until(400);
        let mut context = Context::from_waker(&waker);
        assert!(Pin::new(&mut run).poll(&mut context).is_pending());
        stage.until(500);
        assert_eq!(counter.wakes.load(Relaxed), 1);
        let Poll::Ready(record) = Pin::new(&mut run).poll(&mut context) else { panic!("pending") };
        let record = record.unwrap();
        assert_eq!((record.outcome.name(), record.number), (outcome, 1));
        assert_eq!((record.cause, record.took), (Cause::Manual, ms(500)));
    }
}

#[test]
fn a_manual_run_that_is_waited_for_too_short_is_too_late_and_goes_on() {
    let mut stage = Stage::new();
    let control = idle(&stage, Policy::default(), ok(500));
    let run = control.run_now().unwrap();
    stage.until(400);
    let error = ended(run).unwrap_err();
    assert!(error.is_too_late(), "{error}");
    stage.until(500);
    assert_eq!(control.snapshot().counters.successes, 1);
}

#[test]
fn a_manual_run_that_panics_times_out_or_is_cancelled_resolves() {
    let mut stage = Stage::new();
    let call = Call::of(|_: &Run| -> () { panic!("out of paper") });
    let control = stage.start(once(86_400_000), Policy::default(), call);
    let run = control.run_now().unwrap();
    stage.until(1);
    assert_eq!(ended(run).unwrap().outcome.name(), "panic");

    let mut stage = Stage::new();
    let policy = Policy { timeout: Some(ms(300)), ..Policy::default() };
    let control = idle(&stage, policy, ok(500));
    let run = control.run_now().unwrap();
    stage.until(500);
    assert_eq!(ended(run).unwrap().outcome.name(), "timeout");

    for is_task in [false, true] {
        let mut stage = Stage::new();
        let control = idle(&stage, Policy::default(), ok(500));
        let run = control.run_now().unwrap();
        stage.until(300);
        if is_task {
            control.cancel().unwrap();
        } else {
            control.cancel_run().unwrap();
        }
        stage.until(500);
        assert_eq!(ended(run).unwrap().outcome.name(), "cancelled", "{is_task}");
    }
}

#[test]
fn a_manual_run_resolves_after_its_last_attempt() {
    let mut stage = Stage::new();
    let policy = Policy { retry: Retry::new(2).base(ms(100)), ..Policy::default() };
    let control = stage
        .task(once(86_400_000), policy, |run| if run.attempt() < 3 { fails(100) } else { ok(100) });
    let run = control.run_now().unwrap();
    stage.until(2_000);
    let record = ended(run).unwrap();
    assert_eq!((record.outcome.name(), record.attempts), ("success", 3));
}

#[test]
fn a_manual_run_whose_scheduler_shuts_down_between_two_attempts_resolves_as_its_last_one() {
    let mut stage = Stage::new();
    let policy = Policy { retry: Retry::new(1).base(s(60)), ..Policy::default() };
    let control = idle(&stage, policy, fails(0));
    let run = control.run_now().unwrap();
    stage.until(0);
    control.shut_down();
    assert_eq!(ended(run).unwrap().outcome.name(), "error");
}

#[test]
fn a_manual_run_that_a_gate_refuses_resolves_to_an_error() {
    let mut stage = Stage::new();
    let mut gates = Gates::default();
    gates.push(|_: &GateContext| Ok(Admission::refuse("another host leads")));
    let parts = stage.parts(once(86_400_000), Policy::default(), stage.call(|_| ok(0)));
    let control = Parts { gates: Arc::new(gates), ..parts }.begin().unwrap();
    let run = control.run_now().unwrap();
    stage.until(0);
    let error = ended(run).unwrap_err();
    assert_eq!(error.to_string(), "task `task`: its run was refused: another host leads");
    assert_eq!(control.snapshot().counters.runs, 0);
}

#[test]
fn a_manual_run_resolves_to_an_error_when_its_task_ends_before_it_starts() {
    let ends: [fn(&Control); 2] = [|control| control.cancel().unwrap(), Control::shut_down];
    for (overlap, end) in [Overlap::QueueOne, Overlap::Allow].into_iter().zip(ends) {
        let mut stage = Stage::with_workers(1);
        let policy = Policy { overlap, ..Policy::default() };
        let control = stage.task(once(0), policy, |_| ok(1_000));
        stage.until(500);
        let run = control.run_now().unwrap();
        end(&control);
        let error = ended(run).unwrap_err();
        assert!(error.is_ended(), "{overlap:?}: {error}");
        stage.until(2_000);
        assert_eq!(control.snapshot().counters.runs, 1, "{overlap:?}");
    }
}

#[test]
fn a_manual_run_resolves_to_an_error_when_its_pool_is_dropped_before_it_starts() {
    let mut stage = Stage::with_workers(1);
    let _other = stage.task(once(0), Policy::default(), |_| ok(1_000));
    stage.until(500);
    let control = idle(&stage, Policy::default(), ok(0));
    let run = control.run_now().unwrap();
    drop(stage.pool.shutdown_now());
    stage.until(2_000);
    assert!(ended(run).unwrap_err().is_ended());
}

#[test]
fn a_manual_run_of_an_async_task_that_the_pool_drops_resolves_as_cancelled() {
    let mut stage = Stage::new();
    let call = Call::of_async(|_: Run| std::future::pending::<()>());
    let control = stage.start(once(86_400_000), Policy::default(), call);
    let run = control.run_now().unwrap();
    stage.until(500);
    drop(stage.pool.shutdown_now());
    stage.settle();
    assert_eq!(ended(run).unwrap().outcome.name(), "cancelled");
}

#[test]
fn each_of_several_manual_runs_resolves_to_its_own_record() {
    let mut stage = Stage::new();
    let policy = Policy { overlap: Overlap::Allow, ..Policy::default() };
    let takes = |run: &Run| ok(1_000 - run.number() * 200);
    let control = stage.task(once(86_400_000), policy, takes);
    let runs = [0, 1, 2].map(|_| control.run_now().unwrap());
    stage.until(1_000);
    let took = runs.map(|run| ended(run).map(|record| (record.number, record.took)).unwrap());
    assert_eq!(took, [(1, ms(800)), (2, ms(600)), (3, ms(400))]);
}
