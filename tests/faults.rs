//! Faults of a program (F-PA3, F-SD2): listeners that are no good, and runs that do not end.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::Duration;

use scheduler::{Event, EventKind, ManualClock, Schedule, Scheduler};

/// How long a test waits for what happens on another thread.
const CAP: Duration = Duration::from_secs(10);

/// Rests in each event until it is released.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    fn pass(&self) {
        drop(self.0.1.wait_while(self.0.0.lock().unwrap(), |is_open| !*is_open).unwrap());
    }
}

/// How many events wait for listeners at most.
const QUEUED: u64 = 1_024;

fn add(sum: &AtomicU64, count: u64) {
    sum.fetch_add(count, SeqCst);
}

#[test]
fn f_pa3_bad_listeners_hold_up_no_task_and_what_is_dropped_is_counted() {
    const TASKS: u64 = 1_000;
    // The clock stands still: all that happens is what is counted here.
    let clock = ManualClock::at("2026-03-27T08:00:00Z".parse().unwrap());
    let (gate, said) = (Gate::default(), Arc::new(Mutex::new(Vec::new())));
    let (heard, lost, ran) = <(Arc<AtomicU64>, Arc<AtomicU64>, Arc<AtomicU64>)>::default();
    let (passing, lines) = (gate.clone(), Arc::clone(&said));
    let (hears, loses) = (Arc::clone(&heard), Arc::clone(&lost));
    let mut builder = Scheduler::builder()
        .pool_size(2)
        .keep_ended_tasks(1_000)
        .zone("UTC")
        .clock(Arc::new(clock))
        .messages(move |text| lines.lock().unwrap().push(text.to_owned()))
        .listener(|_: &Event| panic!("cannot listen"))
        .listener(move |_: &Event| passing.pass())
        .listener(move |event: &Event| match &event.kind {
            EventKind::Lost { count, .. } => add(&loses, *count),
            _ => add(&hears, 1),
        });
    for number in 0..TASKS {
        let ran = Arc::clone(&ran);
        let body = move |_: &scheduler::Run| {
            ran.fetch_add(1, SeqCst);
        };
        builder = builder.task(&format!("task-{number}"), Schedule::once("0s"), body);
    }
    let scheduler = builder.spawn().unwrap();
    // Nobody waits for the listener, which has not ended its first event.
    for number in 0..TASKS {
        let until = scheduler::runs(1);
        scheduler.wait_for(&format!("task-{number}"), until, Duration::from_secs(10)).unwrap();
    }
    assert_eq!(ran.load(SeqCst), TASKS);
    gate.open();
    scheduler.shutdown().unwrap();
    let (heard, lost) = (heard.load(SeqCst), lost.load(SeqCst));
    // Each is added, started, finished and ended; and the scheduler has started, is stopping, and has
    // stopped.
    let all = 4 * TASKS + 3;
    assert_eq!(heard + lost, all, "{heard} heard, {lost} lost");
    // One event was with the listeners, the queue was full, and the last few came as it emptied.
    assert!(heard <= QUEUED + 10, "the queue is bounded: {heard} were kept");
    let said = said.lock().unwrap();
    assert_eq!(said.iter().filter(|text| text.contains("a listener panicked")).count(), 1);
}

#[test]
fn f_sd2_a_stop_without_end_waits_for_the_last_run() {
    let (begun, release) = (mpsc::channel(), mpsc::channel::<()>());
    let (tell, wait) = (Mutex::new(begun.0), Mutex::new(release.1));
    let (clock, ended) = (ManualClock::new(), Arc::new(AtomicU64::new(0)));
    let (ends, said) = (Arc::clone(&ended), mpsc::channel());
    let scheduler = Scheduler::builder()
        .pool_size(1)
        .clock(Arc::new(clock.clone()))
        .await_termination(Duration::MAX)
        .messages(move |text| said.0.send(text.to_owned()).unwrap())
        .task("stubborn", Schedule::once("0s"), move |_| {
            tell.lock().unwrap().send(()).unwrap();
            wait.lock().unwrap().recv().unwrap();
            ends.fetch_add(1, SeqCst);
        })
        .spawn()
        .unwrap();
    begun.1.recv().unwrap();
    let stopping = std::thread::Builder::new().spawn(move || scheduler.shutdown());
    // The only one that waits on the clock is the stop: it says so, hour after hour.
    for _ in 0..24 {
        clock.await_parked(1);
        assert!(!stopping.as_ref().unwrap().is_finished(), "it waits for the run");
        clock.advance(Duration::from_secs(3_600));
        while !said.1.recv_timeout(CAP).unwrap().contains("still waiting for") {}
    }
    assert_eq!(ended.load(SeqCst), 0);
    release.0.send(()).unwrap();
    stopping.unwrap().join().unwrap().unwrap();
    assert_eq!(ended.load(SeqCst), 1);
    assert!(said.1.iter().all(|text| !text.contains("not stopped")));
}
