//! Gates around runs: they admit, refuse, fail, panic or take too long; and what becomes of the run and of the permits.

use std::future::{pending, ready};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::stage::*;
use crate::base::sync::Mutex;
use crate::observe::{Outcome, TaskState};
use crate::run::inject::Call;
use crate::task::{
    Admission, AsyncGate, Control, GateContext, GateError, GateFuture, Gates, Permit, Policy,
    Retry, Rule,
};
use scheduler_expr::{OnError, Overlap};

/// The answer of a gate to one run. The last of several answers holds for all further runs.
#[derive(Clone, Copy, Debug)]
enum Does {
    Admit,
    Refuse,
    Fail,
    Panic,
    /// Only an async gate does that.
    Hang,
}

/// The calls of gates and bodies, in order.
type Notes = Arc<Mutex<Vec<String>>>;

/// A gate that does what is written, and a note of each release.
struct Door {
    name: &'static str,
    does: Vec<Does>,
    calls: AtomicU64,
    notes: Notes,
}

impl Door {
    fn answer(&self, context: &GateContext) -> Option<Result<Admission, GateError>> {
        let call = usize::try_from(self.calls.fetch_add(1, Relaxed)).unwrap();
        let does = self.does.get(call).or(self.does.last()).copied().expect("something to do");
        note(&self.notes, format!("{} {does:?} #{}", self.name, context.run.number));
        Some(match does {
            Does::Admit => Ok(Admission::with(Held(self.name, Arc::clone(&self.notes)))),
            Does::Refuse => Ok(Admission::refuse("not now")),
            Does::Fail => Err("no answer".into()),
            Does::Panic => panic!("out of order"),
            Does::Hang => return None,
        })
    }
}

impl AsyncGate for Door {
    fn admit(&self, context: GateContext) -> GateFuture {
        match self.answer(&context) {
            Some(answer) => Box::pin(ready(answer)),
            None => Box::pin(pending()),
        }
    }
}

struct Held(&'static str, Notes);

impl Permit for Held {
    fn release(self: Box<Self>, outcome: &Outcome) {
        note(&self.1, format!("{} released: {}", self.0, outcome.name()));
    }
}

fn note(notes: &Notes, note: String) {
    notes.lock().push(note);
}

fn noted(notes: &Notes) -> String {
    std::mem::take(&mut *notes.lock()).join(" | ")
}

/// Gates `a`, `b` and so on.
fn gates(are_async: bool, doors: &[&[Does]]) -> (Gates, Notes) {
    let (mut gates, notes) = (Gates::default(), Notes::default());
    for (does, name) in doors.iter().zip(["a", "b", "c"]) {
        let (does, notes) = (does.to_vec(), Arc::clone(&notes));
        let door = Door { name, does, calls: AtomicU64::new(0), notes };
        if are_async {
            gates.push_async(door);
        } else {
            gates.push(move |context: &GateContext| {
                door.answer(context).expect("an answer at once")
            });
        }
    }
    (gates, notes)
}

fn start_with(stage: &Stage, (rule, policy): (Rule, Policy), call: Call, gates: Gates) -> Control {
    let parts = stage.parts(rule, policy, call);
    Parts { gates: Arc::new(gates), ..parts }.begin().unwrap()
}

/// A task whose runs take so long, with gates that are sync or async.
fn task(
    stage: &Stage,
    (rule, policy): (Rule, Policy),
    are_async: bool,
    doors: &[&[Does]],
    goes: Goes,
) -> (Control, Notes) {
    let (gates, notes) = gates(are_async, doors);
    let call = stage.call(move |_| goes);
    (start_with(stage, (rule, policy), call, gates), notes)
}

fn retrying(max: u32) -> Policy {
    Policy { retry: Retry::new(max).base(ms(100)).cap(ms(100)), ..Policy::default() }
}

#[test]
fn a_run_that_all_gates_admit_starts_and_permits_are_released_in_reverse() {
    for are_async in [false, true] {
        for (goes, outcome) in [(ok(300), "success"), (fails(300), "error")] {
            let mut stage = Stage::new();
            let doors: [&[Does]; 3] = [&[Does::Admit]; 3];
            let plan = (once(1_000), Policy::default());
            let (control, notes) = task(&stage, plan, are_async, &doors, goes);
            stage.until(1_200);
            assert_eq!(noted(&notes), "a Admit #1 | b Admit #1 | c Admit #1");
            assert_eq!(stage.heard(), "start 1");
            stage.until(2_000);
            let released = ["c", "b", "a"].map(|name| format!("{name} released: {outcome}"));
            assert_eq!(noted(&notes), released.join(" | "), "async: {are_async}");
            let run = &control.snapshot().last_runs[0];
            assert_eq!((run.outcome.name(), run.attempts, run.number), (outcome, 1, 1));
        }
    }
}

#[test]
fn an_async_task_with_gates_runs() {
    for are_async in [false, true] {
        let mut stage = Stage::new();
        let (gates, notes) = gates(are_async, &[&[Does::Admit]]);
        let call =
            Call::of_async(|run: crate::run::Run| async move { run.sleep_async(ms(300)).await });
        let control = start_with(&stage, (rate(1_000), Policy::default()), call, gates);
        stage.until(1_500);
        assert_eq!(stage.heard(), "start 0 | start 1");
        let once = |number| format!("a Admit #{number} | a released: success");
        assert_eq!(noted(&notes), format!("{} | {}", once(1), once(2)), "async: {are_async}");
        assert_eq!(control.snapshot().last_runs[0].took, ms(300));
    }
}

#[test]
fn a_run_that_a_gate_refuses_is_a_skip_without_number_history_and_streak() {
    for are_async in [false, true] {
        let mut stage = Stage::new();
        let policy = Policy { on_error: OnError::Stop, ..retrying(3) };
        let doors: [&[Does]; 2] = [&[Does::Admit], &[Does::Refuse, Does::Refuse, Does::Admit]];
        let (control, notes) = task(&stage, (rate(1_000), policy), are_async, &doors, ok(0));
        stage.until(2_500);
        assert_eq!(stage.heard(), "refused 0 | refused 1 | start 2", "async: {are_async}");
        let refused = "a Admit #1 | b Refuse #1 | a released: refused";
        let admitted = "a Admit #1 | b Admit #1 | b released: success | a released: success";
        assert_eq!(noted(&notes), format!("{refused} | {refused} | {admitted}"));
        let snapshot = control.snapshot();
        let counters = snapshot.counters;
        assert_eq!((counters.runs, counters.skipped_refused, counters.skipped()), (1, 2, 2));
        assert_eq!((snapshot.last_runs.len(), snapshot.last_runs[0].number), (1, 1));
        assert_eq!((snapshot.streak, snapshot.state), (0, TaskState::Waiting));
    }
}

#[test]
fn a_refused_run_restarts_a_delay_and_completes_a_task_that_runs_once() {
    for are_async in [false, true] {
        let doors: [&[Does]; 1] = [&[Does::Refuse]];
        let mut stage = Stage::new();
        let (_control, _) =
            task(&stage, (delay(1_000), Policy::default()), are_async, &doors, ok(0));
        stage.until(2_500);
        assert_eq!(stage.heard(), "refused 0 | refused 1 | refused 2", "async: {are_async}");
        let mut stage = Stage::new();
        let (control, _) = task(&stage, (once(1_000), Policy::default()), are_async, &doors, ok(0));
        stage.until(2_500);
        assert_eq!(stage.heard(), "refused 1 | completed 1", "async: {are_async}");
        assert_eq!(control.snapshot().last_success, None);
    }
}

#[test]
fn a_refused_run_does_not_count_for_max_runs() {
    for are_async in [false, true] {
        let mut stage = Stage::new();
        let policy = Policy { max_runs: NonZeroU64::new(2), ..Policy::default() };
        let doors: [&[Does]; 1] = [&[Does::Refuse, Does::Admit, Does::Refuse, Does::Admit]];
        let (_control, _) = task(&stage, (rate(1_000), policy), are_async, &doors, ok(0));
        stage.until(9_000);
        let expected = "refused 0 | start 1 | refused 2 | start 3 | completed 3";
        assert_eq!(stage.heard(), expected, "async: {are_async}");
    }
}

#[test]
fn a_gate_that_fails_or_panics_is_a_failed_attempt_and_is_asked_again() {
    for (are_async, does) in [false, true]
        .into_iter()
        .flat_map(|is_async| [(is_async, Does::Fail), (is_async, Does::Panic)])
    {
        let mut stage = Stage::new();
        let doors: [&[Does]; 2] = [&[Does::Admit], &[does, Does::Admit]];
        let (control, notes) = task(&stage, (once(1_000), retrying(1)), are_async, &doors, ok(300));
        stage.until(2_000);
        let failed = format!("a Admit #1 | b {does:?} #1 | a released: cancelled");
        let admitted = "a Admit #1 | b Admit #1 | b released: success | a released: success";
        assert_eq!(noted(&notes), format!("{failed} | {admitted}"), "async: {are_async}");
        let run = control.snapshot().last_runs[0].clone();
        assert_eq!((run.outcome.name(), run.attempts, run.number), ("success", 2, 1), "{does:?}");
    }
}

#[test]
fn a_run_whose_gate_always_fails_has_failed() {
    for (are_async, does, outcome, text) in [
        (false, Does::Fail, "error", "no answer"),
        (true, Does::Fail, "error", "no answer"),
        (false, Does::Panic, "panic", "out of order"),
        (true, Does::Panic, "panic", "out of order"),
    ] {
        let mut stage = Stage::new();
        let doors: [&[Does]; 1] = [&[does]];
        let (control, notes) =
            task(&stage, (rate(60_000), retrying(2)), are_async, &doors, ok(300));
        stage.until(2_000);
        assert_eq!(noted(&notes).matches("#1").count(), 3);
        let snapshot = control.snapshot();
        let run = &snapshot.last_runs[0];
        assert_eq!((run.outcome.name(), run.attempts), (outcome, 3), "async: {are_async}");
        assert_eq!(run.outcome.failure().unwrap().message(), text);
        assert_eq!(snapshot.streak, 1);
    }
}

#[test]
fn an_async_gate_has_five_seconds_beside_the_timeout_of_the_run() {
    let mut stage = Stage::new();
    let policy = Policy { timeout: Some(ms(500)), ..retrying(1) };
    let doors: [&[Does]; 2] = [&[Does::Admit], &[Does::Hang, Does::Admit]];
    let (control, notes) = task(&stage, (rate(60_000), policy), true, &doors, ok(800));
    stage.until(4_999);
    assert_eq!(control.snapshot().state, TaskState::Running);
    assert_eq!(stage.heard(), "");
    stage.until(5_000);
    assert_eq!(stage.heard(), "stop 5");
    stage.until(9_000);
    // The second attempt is admitted, and has its own time.
    let heard = stage.heard();
    assert!(heard.starts_with("again 5.") && heard.contains(" | stop 5."), "{heard}");
    assert!(heard.contains(" | timeout 5.") || heard.contains(" | timeout 6."), "{heard}");
    assert!(noted(&notes).ends_with("b released: timeout | a released: timeout"));
    let run = control.snapshot().last_runs[0].clone();
    assert_eq!((run.outcome.name(), run.attempts), ("timeout", 2));
}

#[test]
fn an_async_gate_that_hangs_holds_no_thread() {
    let mut stage = Stage::with_workers(1);
    let doors: [&[Does]; 1] = [&[Does::Hang]];
    let (control, _) = task(&stage, (rate(1_000), Policy::default()), true, &doors, ok(0));
    let other = stage.task(rate(1_000), Policy::default(), |_| ok(100));
    stage.until(3_500);
    assert_eq!(other.snapshot().counters.runs, 4);
    assert_eq!(control.snapshot().counters.skipped_overlap, 3, "a run at its gate is in progress");
    stage.until(5_200);
    let run = control.snapshot().last_runs[0].clone();
    assert_eq!(run.outcome.failure().unwrap().message(), "it did not end within 5s");
}

#[test]
fn a_run_that_is_cancelled_at_its_gate_is_cancelled_and_its_permits_are_released() {
    for overlap in [Overlap::Skip, Overlap::Allow] {
        let mut stage = Stage::new();
        let doors: [&[Does]; 2] = [&[Does::Admit], &[Does::Hang]];
        let policy = Policy { overlap, ..retrying(3) };
        let (control, notes) = task(&stage, (rate(60_000), policy), true, &doors, ok(0));
        stage.until(1_000);
        control.cancel_run().unwrap();
        stage.until(2_000);
        assert_eq!(stage.heard(), "stop 1 | cancelled 1", "{overlap:?}");
        assert_eq!(control.snapshot().counters.cancelled, 1);
        let expected = "a Admit #1 | b Hang #1 | a released: cancelled";
        assert_eq!(noted(&notes), expected, "{overlap:?}");
    }
}

#[test]
fn a_task_that_is_cancelled_at_a_gate_ends() {
    for are_stopping in [false, true] {
        let mut stage = Stage::new();
        let doors: [&[Does]; 1] = [&[Does::Hang]];
        let (control, _) = task(&stage, (rate(60_000), retrying(3)), true, &doors, ok(0));
        stage.until(1_000);
        if are_stopping {
            control.shut_down();
        } else {
            control.cancel().unwrap();
        }
        stage.until(7_000);
        assert_eq!(control.snapshot().running, 0);
        assert_eq!(control.snapshot().state, TaskState::Cancelled);
    }
}

#[test]
fn a_permit_that_panics_is_reported_and_the_others_are_released() {
    struct Bad;
    impl Permit for Bad {
        fn release(self: Box<Self>, _: &Outcome) {
            panic!("stuck")
        }
    }
    let mut stage = Stage::new();
    let (mut gates, notes) = gates(false, &[&[Does::Admit]]);
    gates.push(|_: &GateContext| Ok(Admission::with(Bad)));
    let call = stage.call(|_| ok(0));
    let control = start_with(&stage, (once(0), Policy::default()), call, gates);
    stage.until(1_000);
    assert_eq!(noted(&notes), "a Admit #1 | a released: success");
    let heard = stage.heard();
    assert!(heard.contains("HookFailed") && heard.contains("stuck"), "{heard}");
    assert!(control.snapshot().last_runs[0].outcome.is_success());
}

#[test]
fn a_gate_is_asked_once_a_run_and_permits_are_kept_over_its_attempts() {
    for are_async in [false, true] {
        let mut stage = Stage::new();
        let doors: [&[Does]; 1] = [&[Does::Admit]];
        let (control, notes) = task(&stage, (once(0), retrying(2)), are_async, &doors, fails(0));
        stage.until(2_000);
        assert_eq!(noted(&notes), "a Admit #1 | a released: error", "async: {are_async}");
        assert_eq!(control.snapshot().last_runs[0].attempts, 3);
    }
}

#[test]
fn a_gate_sees_the_task_and_the_run() {
    let mut stage = Stage::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (mut gates, log) = (Gates::default(), Arc::clone(&seen));
    gates.push(move |context: &GateContext| {
        let GateContext { task, run, .. } = context;
        let times = (seconds(run.fire_time), run.number, run.attempt);
        log.lock().push((task.name.to_string(), times));
        Ok(Admission::run())
    });
    let call = stage.call(|_| ok(0));
    let _control = start_with(&stage, (rate(1_000), Policy::default()), call, gates);
    stage.until(1_500);
    let name = || "task".to_owned();
    assert_eq!(*seen.lock(), [(name(), (0.0, 1, 1)), (name(), (1.0, 2, 1))]);
}
