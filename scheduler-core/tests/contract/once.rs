//! One-shots with options: recurring tasks from within, but not from outside.

use crate::kit::{Journal, VirtualPool, ms};
use scheduler_core::{OnError, Task, TaskState, fallible};

#[test]
fn a_one_shot_that_returns_an_error_has_failed_though_a_recurring_task_would_go_on() {
    for name in [None, Some("import")] {
        let stage = VirtualPool::new(1);
        let task = Task::once(fallible(|| Err::<(), _>("no file")));
        let task = task.on_error(OnError::Continue);
        let task = if let Some(name) = name { task.name(name) } else { task };
        let handle = stage.pool.submit_task(task).unwrap();
        stage.run_due();
        assert_eq!(handle.state(), TaskState::Failed);
        assert_eq!(handle.failure_now().unwrap().message(), "no file");
        assert_eq!(stage.pool.stats().queued, 0);
    }
}

#[test]
fn a_one_shot_that_panics_has_failed_with_its_panic_though_a_recurring_task_would_go_on() {
    let stage = VirtualPool::new(1);
    let task = Task::once(|| panic!("out of paper")).on_error(OnError::Continue).name("print");
    let handle = stage.pool.submit_task(task).unwrap();
    stage.run_due();
    assert_eq!(handle.state(), TaskState::Failed);
    assert!(handle.failure_now().unwrap().message().contains("out of paper"));
}

/// The default policy lets one-shots run and drops what recurs.
#[test]
fn a_one_shot_with_a_name_still_runs_in_a_pool_that_shuts_down() {
    let (stage, ran) = (VirtualPool::new(1), Journal::new());
    let task = Task::once(ran.noting(())).name("last words").initial_delay(ms(10));
    let handle = stage.pool.submit_task(task).unwrap();
    stage.pool.shutdown();
    stage.run_for(ms(10));
    assert_eq!((ran.len(), handle.state()), (1, TaskState::Completed));
    assert!(stage.pool.is_terminated());
}
