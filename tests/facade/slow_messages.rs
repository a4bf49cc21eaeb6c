//! No task, stop or drop waits for a slow function for messages.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::Duration;

use scheduler::{Builder, Clock, ManualClock, Schedule, Scheduler, tasks};

/// Longer than anything here takes; a test that waits so long has failed.
const CAP: Duration = Duration::from_secs(60);

/// Lets all calls wait from the one whose text contains some words on.
#[derive(Default)]
struct Gate {
    is_open: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    fn pass(&self) {
        let is_open = self.is_open.lock().unwrap();
        drop(self.changed.wait_while(is_open, |is_open| !*is_open).unwrap());
    }

    fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.changed.notify_all();
    }
}

struct Stuck {
    builder: Builder,
    gate: Arc<Gate>,
    said: mpsc::Receiver<String>,
    runs: Arc<AtomicU32>,
}

/// A scheduler with a task that fails, and a function that waits at the gate with what contains `word`.
fn stuck_at(word: &'static str, clock: &ManualClock) -> Stuck {
    let (gate, runs, (words, said)) =
        (Arc::<Gate>::default(), Arc::<AtomicU32>::default(), mpsc::channel());
    let (at, counted) = (Arc::clone(&gate), Arc::clone(&runs));
    let builder = Scheduler::builder()
        .tasks(tasks![])
        .pool_size(1)
        .zone("UTC")
        .environment([("PATH", "")])
        .settings("none.toml", "")
        .clock(Arc::new(clock.clone()))
        .task("fails", Schedule::fixed_rate("10s"), move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            Err::<(), _>("no luck")
        })
        .messages(move |text| {
            if text.contains(word) {
                at.pass();
            }
            // The test may be over.
            drop(words.send(text.to_owned()));
        });
    Stuck { builder, gate, said, runs }
}

/// All messages, once the function is let go on.
fn rest(gate: &Gate, said: &mpsc::Receiver<String>) -> Vec<String> {
    gate.open();
    let rest = std::iter::from_fn(|| match said.recv_timeout(CAP) {
        Ok(text) => Some(text.lines().next().unwrap_or_default().to_owned()),
        Err(mpsc::RecvTimeoutError::Disconnected) => None,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("the function is not dropped"),
    });
    rest.collect()
}

/// Has it done by another thread, and fails if that is not done in time.
fn in_time(what: &str, work: impl FnOnce() + Send + 'static) {
    let (done, is_done) = mpsc::channel();
    let worker = std::thread::Builder::new().spawn(move || {
        work();
        done.send(()).unwrap();
    });
    worker.expect("a thread starts");
    assert_eq!(is_done.recv_timeout(CAP), Ok(()), "{what} waits for the function");
}

#[test]
fn tasks_run_on_and_the_stop_ends_while_a_message_is_not_taken() {
    let clock = ManualClock::at("2026-03-27T08:00:00Z".parse().unwrap());
    let Stuck { builder, gate, said, runs } = stuck_at("failed after", &clock);
    let scheduler = builder.spawn().unwrap();
    let hands = clock.clone();
    in_time("a run", move || {
        hands.await_parked(1);
        for _ in 0..20 {
            hands.advance(Duration::from_secs(10));
            hands.await_parked(1);
        }
    });
    assert_eq!(runs.load(Ordering::Relaxed), 21);
    in_time("the stop", move || scheduler.shutdown().expect("no run is in progress"));
    let rest = rest(&gate, &said);
    assert!(rest[0].starts_with("scheduler "), "{rest:#?}");
    let failures = rest.iter().filter(|text| text.contains("failed after")).count();
    assert_eq!(failures, 11, "ten, and one more after a minute, are told in full: {rest:#?}");
    let last = &rest[rest.len() - 2..];
    assert_eq!(
        last,
        ["INFO  stopping: no new runs", "INFO  stopped after 0s: 21 runs, 21 failures"]
    );
}

#[test]
fn a_banner_that_is_not_taken_delays_the_start_and_no_more() {
    let clock = ManualClock::at("2026-03-27T08:00:00Z".parse().unwrap());
    let Stuck { builder, gate, said, runs } = stuck_at("scheduler ", &clock);
    let hands = clock.clone();
    in_time("the start, a run, or the stop", move || {
        let scheduler = builder.spawn().unwrap();
        hands.await_parked(1);
        scheduler.shutdown().unwrap();
    });
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    let rest = rest(&gate, &said);
    assert!(rest[0].starts_with("scheduler "), "{rest:#?}");
    assert!(rest[1].contains("`fails` failed after"), "{rest:#?}");
    assert_eq!(rest.len(), 4, "{rest:#?}");
}

#[test]
fn a_scheduler_is_dropped_while_a_message_is_not_taken() {
    let clock = ManualClock::at("2026-03-27T08:00:00Z".parse().unwrap());
    let Stuck { builder, gate, said, .. } = stuck_at("failed after", &clock);
    let scheduler = builder.spawn().unwrap();
    let hands = clock.clone();
    in_time("a run", move || {
        hands.await_parked(1);
    });
    in_time("the drop", move || drop(scheduler));
    assert_eq!(rest(&gate, &said).len(), 2, "the banner, and the failure");
}

/// The limit of a stop counts from when it begins, not from when that has been said.
#[test]
fn the_limit_of_a_stop_counts_while_a_message_is_not_taken() {
    let clock = ManualClock::at("2026-03-27T08:00:00Z".parse().unwrap());
    let Stuck { builder, gate, said, .. } = stuck_at("stopping", &clock);
    let (began, has_begun) = mpsc::channel();
    let (end, ends) = mpsc::channel::<()>();
    let ends = Mutex::new(ends);
    let builder = builder.await_termination(Duration::from_secs(30)).task(
        "waits",
        Schedule::once("1s"),
        move |_| {
            began.send(()).unwrap();
            let _ = ends.lock().unwrap().recv();
        },
    );
    let scheduler = builder.spawn().unwrap();
    let hands = clock.clone();
    in_time("a run", move || {
        hands.await_parked(1);
        hands.advance(Duration::from_secs(1));
        has_begun.recv().unwrap();
    });
    in_time("the limit", move || {
        let stop = std::thread::Builder::new().spawn(move || scheduler.shutdown());
        // The stop waits by the clock of the scheduler: without it no thread is parked.
        let limit = clock.now() + Duration::from_secs(31);
        while clock.now() < limit {
            clock.await_parked(1);
            clock.advance(Duration::from_secs(1));
        }
        let stopped = stop.unwrap().join().unwrap();
        assert!(stopped.is_err(), "a run is in progress still");
        end.send(()).unwrap();
    });
    let rest = rest(&gate, &said);
    let stopping = rest.iter().position(|text| text.contains("stopping")).expect("it is said");
    assert!(rest[stopping].contains("waiting up to 30s for 1 running task"), "{rest:#?}");
    assert!(rest[stopping + 1].contains("still waiting"), "{rest:#?}");
}
