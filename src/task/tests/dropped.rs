//! An ended task drops its function, although runs are kept.
//!
//! Its own function may keep them, or a listener, in events.

use std::sync::Arc;

use super::stage::{Goes, Stage, cron, delay, fails, ms, ok, once, rate};
use crate::base::sync::Mutex;
use crate::run::Run;
use crate::run::inject::Call;
use crate::task::{Control, Policy, Retry, Rule};
use scheduler_expr::Overlap;

/// The captures of a function: a token whose drop is seen from outside, and the runs of its calls.
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
        self.runs.lock().push(run.clone());
    }
}

fn start(stage: &Stage, token: &Arc<()>, rule: Rule, policy: Policy, goes: Goes) -> Control {
    let held = Held::new(token);
    stage.task(rule, policy, move |run| {
        held.keep(run);
        goes
    })
}

fn check_dropped(token: &Arc<()>, case: &str) {
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
fn a_task_that_keeps_its_runs_is_dropped_when_it_is_cancelled() {
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
                    check_dropped(&token, &case);
                }
            }
        }
    }
}

#[test]
fn a_task_that_is_cancelled_during_its_run_is_dropped_when_that_ends() {
    for (name, policy) in policies() {
        let (mut stage, token) = (Stage::new(), Arc::new(()));
        let control = start(&stage, &token, rate(1000), policy, ok(5000));
        stage.until(2500);
        control.cancel().unwrap();
        drop(control);
        assert!(Arc::strong_count(&token) > 1, "{name}");
        stage.until(9000);
        check_dropped(&token, name);
    }
}

#[test]
fn a_task_that_ends_by_itself_is_dropped() {
    for goes in [ok(0), ok(300), fails(0)] {
        let (mut stage, token) = (Stage::new(), Arc::new(()));
        drop(start(&stage, &token, once(1000), Policy::default(), goes));
        stage.until(2500);
        check_dropped(&token, &format!("{goes:?}"));
    }
}

#[test]
fn a_pool_that_is_dropped_drops_its_tasks() {
    for (name, policy) in policies() {
        for goes in [ok(0), ok(5000), fails(0)] {
            let (mut stage, token) = (Stage::new(), Arc::new(()));
            let log = Arc::clone(&stage.log);
            let control = start(&stage, &token, rate(1000), policy.clone(), goes);
            stage.until(2500);
            drop(control);
            drop(stage);
            check_dropped(&token, &format!("{name}, {goes:?}"));
            assert!(!log.events.lock().is_empty());
        }
    }
}

#[test]
fn an_async_task_that_keeps_its_runs_is_dropped() {
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
            check_dropped(&token, &format!("{name}, {takes:?}"));
        }
    }
}
