//! Bad listeners, and runs that do not end (F-PA3, F-SD2).

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::Duration;

use scheduler::{Builder, Event, EventKind, ManualClock, Schedule, Scheduler, Until};

/// The longest wait for another thread.
const CAP: Duration = Duration::from_secs(60);

/// Rests in each event until it is released, and says that it does.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<(bool, bool)>, Condvar)>);

impl Gate {
    fn open(&self) {
        self.0.0.lock().unwrap().1 = true;
        self.0.1.notify_all();
    }

    fn pass(&self) {
        let mut state = self.0.0.lock().unwrap();
        state.0 = true;
        self.0.1.notify_all();
        drop(self.0.1.wait_while(state, |(_, is_open)| !*is_open).unwrap());
    }

    fn await_entered(&self) {
        let state = self.0.0.lock().unwrap();
        let waited = self.0.1.wait_timeout_while(state, CAP, |(is_entered, _)| !*is_entered);
        assert!(!waited.unwrap().1.timed_out(), "no event has come");
    }
}

/// The most events that wait for listeners.
const QUEUED: u64 = 1_024;

/// Runs so many tasks once, with a listener that rests at the gate, and one that notes what it gets. The clock stands still:
/// each task is added, started, finished and ended; the scheduler has started, is stopping, and has stopped.
struct Listened {
    scheduler: Scheduler,
    /// Numbers of events, and true for lost ones. Ends with the listeners.
    got: mpsc::Receiver<(u64, bool)>,
    said: Arc<Mutex<Vec<String>>>,
    all: u64,
}

impl Listened {
    fn start(tasks: u64, gate: &Gate, configure: impl FnOnce(Builder) -> Builder) -> Self {
        let clock = ManualClock::at("2026-03-27T08:00:00Z".parse().unwrap());
        let (said, passing, (gets, got)) = (Arc::default(), gate.clone(), mpsc::channel());
        let lines: Arc<Mutex<Vec<String>>> = Arc::clone(&said);
        let builder = Scheduler::builder().pool_size(2).keep_ended_tasks(1_000).zone("UTC");
        let builder = builder
            .clock(Arc::new(clock))
            .messages(move |text| lines.lock().unwrap().push(text.to_owned()));
        let mut builder = configure(builder).listener(move |_: &Event| passing.pass()).listener(
            move |event: &Event| {
                let got = match &event.kind {
                    EventKind::Lost { count, .. } => (*count, true),
                    _ => (1, false),
                };
                gets.send(got).unwrap();
            },
        );
        for number in 0..tasks {
            builder = builder.task(&format!("task-{number}"), Schedule::once("0s"), |_| {});
        }
        Self { scheduler: builder.spawn().unwrap(), got, said, all: 4 * tasks + 3 }
    }

    /// Waits for all runs, though the listeners have not ended their first event.
    fn await_runs(&self, tasks: u64) {
        for number in 0..tasks {
            self.scheduler.wait_for(&format!("task-{number}"), Until::runs(1), CAP).unwrap();
        }
    }
}

/// The numbers of heard and of lost events, up to the end of the listeners.
fn heard_and_lost(got: &mpsc::Receiver<(u64, bool)>) -> (u64, u64) {
    let (mut heard, mut lost) = (0, 0);
    loop {
        match got.recv_timeout(CAP) {
            Ok((count, true)) => lost += count,
            Ok((count, false)) => heard += count,
            Err(end) => {
                assert_eq!(end, RecvTimeoutError::Disconnected, "{heard} heard, {lost} lost");
                return (heard, lost);
            }
        }
    }
}

#[test]
fn f_pa3_bad_listeners_hold_up_no_task_and_what_is_dropped_is_counted() {
    const TASKS: u64 = 1_000;
    let gate = Gate::default();
    let panics = |builder: Builder| builder.listener(|_: &Event| panic!("cannot listen"));
    let listened = Listened::start(TASKS, &gate, panics);
    listened.await_runs(TASKS);
    gate.open();
    let Listened { scheduler, got, said, all } = listened;
    scheduler.shutdown().unwrap();
    let (heard, lost) = heard_and_lost(&got);
    assert_eq!(heard + lost, all, "{heard} heard, {lost} lost");
    // One event was with the listeners, the queue was full, and the last few came as it emptied.
    assert!(heard <= QUEUED + 10, "the queue is bounded: {heard} were kept");
    let said = said.lock().unwrap();
    assert_eq!(said.iter().filter(|text| text.contains("a listener panicked")).count(), 1);
}

#[test]
fn f_pa3_events_that_a_stop_no_longer_waits_for_are_counted_as_lost() {
    const TASKS: u64 = 10;
    let gate = Gate::default();
    let listened = Listened::start(TASKS, &gate, |builder| builder);
    listened.await_runs(TASKS);
    gate.await_entered();
    let Listened { scheduler, got, said, all } = listened;
    scheduler.shutdown().unwrap();
    let lost = all - 1;
    let words = format!("listeners are still busy 1s after the last run: {lost} events lost");
    assert!(said.lock().unwrap().iter().any(|text| text.contains(&words)), "{said:?}");
    gate.open();
    assert_eq!(heard_and_lost(&got), (1, lost));
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
