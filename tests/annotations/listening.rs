//! Listeners hear all events in order, and hurt no run.

use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use scheduler::{Event, EventKind, ManualClock, Run, Schedule, Scheduler, scheduled, tasks};

#[scheduled(fixed_rate = "10s", initial_delay = "10s", name = "poll")]
fn poll() -> Result<(), String> {
    static RUNS: Mutex<u32> = Mutex::new(0);
    let mut runs = RUNS.lock().unwrap();
    *runs += 1;
    if *runs == 2 { Err("no luck".to_owned()) } else { Ok(()) }
}

fn words(event: &Event) -> String {
    let task = event.task.as_ref().map_or("", |task| &task.name);
    match &event.kind {
        EventKind::TaskAdded { .. } => {
            format!("{task} added: {}", event.task.as_ref().unwrap().rule)
        }
        EventKind::SchedulerStarted { tasks, .. } => format!("started with {tasks} task"),
        EventKind::RunStarted { run, .. } => format!("run {} begins", run.number),
        EventKind::RunFinished { run, outcome, streak, .. } => {
            let at = event.at.time();
            format!("run {}: {}, streak {streak}, {at}", run.number, outcome.name())
        }
        EventKind::TaskEnded { state, .. } => format!("{task} ended: {}", state.name()),
        EventKind::SchedulerStopping { .. } => "stopping".to_owned(),
        EventKind::SchedulerStopped { .. } => "stopped".to_owned(),
        other => format!("{other:?}"),
    }
}

#[test]
fn a_listener_hears_everything_in_order_though_another_one_panics() {
    let clock = ManualClock::at("2026-03-27T08:00:00Z".parse().unwrap());
    let (heard, said) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
    let (notes, lines) = (Arc::clone(&heard), Arc::clone(&said));
    let builder = Scheduler::builder().pool_size(1).zone("UTC").clock(Arc::new(clock.clone()));
    let scheduler = builder
        .tasks(tasks![poll])
        .messages(move |text| lines.lock().unwrap().push(text.to_owned()))
        .listener(|_: &Event| panic!("cannot listen"))
        .listener(move |event: &Event| notes.lock().unwrap().push(words(event)))
        .spawn()
        .unwrap();
    clock.await_parked(1);
    for _ in 0..3 {
        clock.advance(Duration::from_secs(10));
        clock.await_parked(1);
    }
    scheduler.shutdown().unwrap();
    let expected = [
        "poll added: every 10s, first after 10s",
        "started with 1 task",
        "run 1 begins",
        "run 1: success, streak 0, 08:00:10",
        "run 2 begins",
        "run 2: error, streak 1, 08:00:20",
        "run 3 begins",
        "run 3: success, streak 0, 08:00:30",
        "stopping",
        "poll ended: cancelled",
        "stopped",
    ];
    assert_eq!(*heard.lock().unwrap(), expected);
    let said = said.lock().unwrap();
    let of_listener: Vec<_> = said.iter().filter(|text| text.contains("listener")).collect();
    assert_eq!(of_listener.len(), 1, "{said:?}");
    let expected = "ERROR scheduler: a listener panicked: cannot listen\n      at tests/annotations/listening.rs:";
    assert!(of_listener[0].starts_with(expected), "{of_listener:?}");
}

/// Nothing keeps a dropped value; the thread for listeners drops them last.
fn check_dropped(dropped: &mpsc::Receiver<()>) {
    let ended = dropped.recv_timeout(Duration::from_secs(60));
    assert_eq!(ended, Err(RecvTimeoutError::Disconnected));
}

#[test]
fn runs_that_are_kept_keep_neither_a_removed_task_nor_a_listener() {
    let clock = ManualClock::at("2026-03-27T08:00:00Z".parse().unwrap());
    let (of_listener, listener_dropped) = mpsc::channel::<()>();
    let (of_task, task_dropped) = mpsc::channel::<()>();
    let (events, runs) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let builder = Scheduler::builder().pool_size(1).zone("UTC").clock(Arc::new(clock.clone()));
    let scheduler = builder
        .tasks(tasks![])
        .messages(|_| {})
        .listener(move |event: &Event| {
            let _held = &of_listener;
            events.lock().unwrap().push(event.clone());
        })
        .task("keeper", Schedule::fixed_rate("10s"), move |run: &Run| {
            let _held = &of_task;
            runs.lock().unwrap().push(run.clone());
        })
        .spawn()
        .unwrap();
    clock.await_parked(1);
    assert_eq!(scheduler.tasks().get("keeper").unwrap().snapshot().counters.runs, 1);
    scheduler.tasks().remove("keeper").unwrap();
    check_dropped(&task_dropped);
    scheduler.shutdown().unwrap();
    check_dropped(&listener_dropped);
}
