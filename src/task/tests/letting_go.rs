//! What a task holds is dropped when it has ended, also where somebody keeps its runs: the task itself, in
//! what its function has, or a listener, in the events it was told.

use std::sync::Arc;

use super::stage::Goes;
use super::stage::Stage;
use super::stage::cron;
use super::stage::delay;
use super::stage::fails;
use super::stage::ms;
use super::stage::ok;
use super::stage::once;
use super::stage::rate;
use crate::inject::Call;
use crate::run::Run;
use crate::sync::Mutex;
use crate::task::Control;
use crate::task::Policy;
use crate::task::Retry;
use crate::task::Rule;
use scheduler_expr::Overlap;

/// What a function has: a value of which it is seen when it is dropped, and the runs it has seen.
struct Held {
    token: Arc<()>,
    runs: Mutex<Vec<Run>>,
}

impl Held {
    fn new(token: &Arc<()>) -> Self {
        Self { token: Arc::clone(token), runs: Mutex::default() }
    }

    fn keep(&self, run: &Run) {
        assert!(Arc::strong_count(&self.token) > 1);
        self.runs.lock().unwrap().push(run.clone());
    }
}

fn start(stage: &Stage, token: &Arc<()>, rule: Rule, policy: Policy, goes: Goes) -> Control {
    let held = Held::new(token);
    stage.task(rule, policy, move |run| {
        held.keep(run);
        goes
    })
}

fn check_let_go(token: &Arc<()>, case: &str) {
    assert_eq!(Arc::strong_count(token), 1, "{case}");
}

fn policies() -> [(&'static str, Policy); 3] {
    let retry = Retry::new(2);
    [
        ("ordinary", Policy::default()),
        ("allow", Policy { overlap: Overlap::Allow, ..Policy::default() }),
        ("retry", Policy { retry, ..Policy::default() }),
    ]
}

#[test]
fn a_task_that_keeps_its_runs_is_let_go_of_when_it_is_cancelled() {
    for rule in [rate(1000), delay(1000), cron("* * * * * *")] {
        for (name, policy) in policies() {
            for goes in [ok(0), ok(300), fails(0)] {
                for is_heard in [false, true] {
                    let (mut stage, token) = (Stage::new(), Arc::new(()));
                    stage.is_heard = is_heard;
                    let control = start(&stage, &token, rule.clone(), policy.clone(), goes);
                    stage.until(2500);
                    assert!(control.snapshot().counters.runs > 0);
                    control.cancel().unwrap();
                    stage.settle();
                    drop(control);
                    let case = format!("{rule}, {name}, {goes:?}, heard: {is_heard}");
                    check_let_go(&token, &case);
                }
            }
        }
    }
}

#[test]
fn one_that_is_cancelled_during_its_run_is_let_go_of_when_that_ends() {
    for (name, policy) in policies() {
        let (mut stage, token) = (Stage::new(), Arc::new(()));
        let control = start(&stage, &token, rate(1000), policy, ok(5000));
        stage.until(2500);
        control.cancel().unwrap();
        drop(control);
        assert!(Arc::strong_count(&token) > 1, "{name}");
        stage.until(9000);
        check_let_go(&token, name);
    }
}

#[test]
fn a_task_that_ends_by_itself_is_let_go_of() {
    for goes in [ok(0), ok(300), fails(0)] {
        let (mut stage, token) = (Stage::new(), Arc::new(()));
        drop(start(&stage, &token, once(1000), Policy::default(), goes));
        stage.until(2500);
        check_let_go(&token, &format!("{goes:?}"));
    }
}

#[test]
fn a_pool_that_is_dropped_lets_go_of_its_tasks() {
    for (name, policy) in policies() {
        for goes in [ok(0), ok(5000), fails(0)] {
            let (mut stage, token) = (Stage::new(), Arc::new(()));
            let log = Arc::clone(&stage.log);
            let control = start(&stage, &token, rate(1000), policy.clone(), goes);
            stage.until(2500);
            drop(control);
            drop(stage);
            check_let_go(&token, &format!("{name}, {goes:?}"));
            assert!(!log.events.lock().unwrap().is_empty());
        }
    }
}

#[test]
fn an_async_task_that_keeps_its_runs_is_let_go_of() {
    for (name, policy) in policies() {
        for takes in [ms(0), ms(300)] {
            let (mut stage, token) = (Stage::new(), Arc::new(()));
            let held = Held::new(&token);
            let call = Call::of_async(move |run: Run| {
                held.keep(&run);
                async move {
                    run.sleep_async(takes).await;
                }
            });
            let control = stage.start(rate(1000), policy.clone(), call);
            stage.until(2100);
            control.cancel().unwrap();
            stage.settle();
            drop(control);
            check_let_go(&token, &format!("{name}, {takes:?}"));
        }
    }
}
