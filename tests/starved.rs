//! A pool that is too small says so, and names the task that holds it.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use scheduler::{Builder, ManualClock, Schedule, Scheduler};

/// What is warned of where a task keeps the only thread for 12 seconds, and `tick` is due after 2.
fn warnings(keep: impl FnOnce(Builder, Box<dyn Fn() + Send + Sync>) -> Builder) -> Vec<String> {
    let clock = ManualClock::at("2026-03-27T08:00:00Z".parse().unwrap());
    let said = Arc::new(Mutex::new(Vec::new()));
    let lines = Arc::clone(&said);
    let (begun, started) = mpsc::channel();
    let (release, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let builder = Scheduler::builder().pool_size(1).zone("UTC").clock(Arc::new(clock.clone()));
    let builder = builder.messages(move |text| lines.lock().unwrap().push(text.to_owned()));
    let block = move || {
        begun.send(()).unwrap();
        gate.lock().unwrap().recv().unwrap();
    };
    let builder = keep(builder, Box::new(block));
    let tick = Schedule::once(Duration::from_secs(2));
    let scheduler = builder.task("tick", tick, |_| ()).spawn().unwrap();
    started.recv().unwrap();
    clock.advance(Duration::from_secs(12));
    release.send(()).unwrap();
    clock.await_parked(1);
    scheduler.shutdown().unwrap();
    let said = said.lock().unwrap();
    said.iter().filter(|text| text.starts_with("WARN")).cloned().collect()
}

#[test]
fn a_late_start_names_the_task_that_held_the_only_thread() {
    let warnings = warnings(|builder, block| {
        builder.task("import", Schedule::once(Duration::ZERO), move |_| block())
    });
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let expected = "WARN  task `tick` started 10s late: the only thread of pool `default` is busy, \
                    longest: `import` (tests/starved.rs:";
    assert!(warnings[0].starts_with(expected), "{warnings:?}");
    assert!(
        warnings[0].ends_with(") for 12s; raise `scheduler.pool.size` (now 1)"),
        "{warnings:?}"
    );
}

#[test]
fn a_late_start_names_the_future_that_blocked_its_thread() {
    let warnings = warnings(|builder, block| {
        let block = Arc::new(block);
        builder.task_async("fetch", Schedule::once(Duration::ZERO), move |_| {
            let block = Arc::clone(&block);
            async move { block() }
        })
    });
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let expected = "WARN  task `tick` started 10s late: the only thread of pool `default` is busy, \
                    longest: `fetch` (tests/starved.rs:";
    assert!(warnings[0].starts_with(expected), "{warnings:?}");
    let note =
        "`fetch` is async and blocks its thread: let it call what blocks on a thread of its own";
    assert!(warnings[0].ends_with(note), "{warnings:?}");
}
