//! A pool that is too small says so, and names the task that holds it.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::mpsc;
use std::time::Duration;

use scheduler::ManualClock;
use scheduler::Schedule;
use scheduler::Scheduler;

#[test]
fn a_late_start_names_the_task_that_held_the_only_thread() {
    let clock = ManualClock::at("2026-03-27T08:00:00Z".parse().unwrap());
    let said = Arc::new(Mutex::new(Vec::new()));
    let lines = Arc::clone(&said);
    let (begun, started) = mpsc::channel();
    let (release, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let builder = Scheduler::builder().pool_size(1).zone("UTC").clock(Arc::new(clock.clone()));
    let scheduler = builder
        .messages(move |text| lines.lock().unwrap().push(text.to_owned()))
        .task("import", Schedule::once(Duration::ZERO), move |_| {
            begun.send(()).unwrap();
            gate.lock().unwrap().recv().unwrap();
        })
        .task("tick", Schedule::once(Duration::from_secs(2)), |_| ())
        .spawn()
        .unwrap();
    started.recv().unwrap();
    clock.advance(Duration::from_secs(12));
    release.send(()).unwrap();
    clock.await_parked(1);
    scheduler.shutdown().unwrap();
    let said = said.lock().unwrap();
    let warnings: Vec<_> = said.iter().filter(|text| text.starts_with("WARN")).collect();
    let expected = "WARN  task `tick` started 10s late: the only thread of pool `default` is busy, \
                    longest: `import` for 12s; raise `scheduler.pool.size` (now 1)";
    assert_eq!(warnings, [expected], "{said:#?}");
}
