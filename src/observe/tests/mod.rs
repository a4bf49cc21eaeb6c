//! The bus with listeners that are slow, panic, or emit events.

pub(crate) mod sample;

use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use scheduler_core::ManualClock;

use super::queue::{CAPACITY, Priority};
use super::{Bus, BusBuilder, Event, EventKind, Outcome};
use crate::base::sync::Mutex;

/// Longer than anything here takes; a test that waits so long has failed.
const LONG: Duration = Duration::from_secs(60);

fn resumed(task: &str) -> Event {
    sample::event(task, 0, EventKind::Resumed { next: None })
}

fn name(event: &Event) -> String {
    let task = event.task_name().unwrap_or_default();
    match &event.kind {
        EventKind::Resumed { .. } => task.to_owned(),
        EventKind::Lost { count } => format!("{count} lost"),
        EventKind::RunStarted { .. } => format!("started {task}"),
        EventKind::SchedulerStopping {} => "stopping".to_owned(),
        EventKind::HookFailed { hook, failure } => format!("{hook}: {}", failure.message()),
        other => format!("{other:?}"),
    }
}

/// The events that a listener got.
#[derive(Clone, Default)]
struct Received(Arc<Mutex<Vec<String>>>);

impl Received {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock())
    }

    fn listener(&self) -> Arc<dyn super::Listener> {
        let received = self.clone();
        Arc::new(move |event: &Event| received.0.lock().push(name(event)))
    }
}

fn build(builder: BusBuilder) -> Bus {
    builder.build(Arc::new(ManualClock::new())).unwrap()
}

#[test]
fn with_only_a_reporter_events_of_ordinary_runs_are_not_wanted() {
    let reported = Received::default();
    let bus = build(BusBuilder::new().reporter(reported.listener()));
    assert!(!bus.is_heard());
    bus.emit(resumed("a"));
    assert_eq!(reported.take(), ["a"], "in place, without a thread");
    assert!(bus.flush(Duration::ZERO));
    assert!(build(BusBuilder::new().in_place(reported.listener())).is_heard());
    assert!(build(BusBuilder::new().listener(reported.listener())).is_heard());
}

#[test]
fn listeners_get_everything_in_order_on_a_thread_of_their_own() {
    let (first, second, threads) = (Received::default(), Received::default(), Received::default());
    let seen = threads.clone();
    let on_thread = Arc::new(move |_: &Event| {
        let thread = std::thread::current().name().unwrap_or_default().to_owned();
        seen.0.lock().push(thread);
    });
    let builder = BusBuilder::new().listener(first.listener()).listener(second.listener());
    let bus = build(builder.listener(on_thread));
    let names: Vec<String> = (0..500).map(|number| number.to_string()).collect();
    for name in &names {
        bus.emit(resumed(name));
    }
    assert!(bus.flush(LONG));
    assert_eq!(first.take(), names);
    assert_eq!(second.take(), names);
    let mut threads = threads.take();
    threads.dedup();
    assert_eq!(threads, ["scheduler-events"]);
}

#[test]
fn a_full_queue_drops_events_and_counts_them_where_they_are_missing() {
    let received = Received::default();
    let (inside, entered) = mpsc::channel();
    let (release, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let stuck = Arc::new(move |event: &Event| {
        if name(event) == "stuck" {
            inside.send(()).unwrap();
            gate.lock().recv().unwrap();
        }
    });
    let bus = build(BusBuilder::new().listener(stuck).listener(received.listener()));
    bus.emit(resumed("stuck"));
    entered.recv().unwrap();
    let started = |number: usize| {
        let kind = EventKind::RunStarted { run: sample::info(1, 1), late: Duration::ZERO };
        sample::event(&number.to_string(), 0, kind)
    };
    // Events of ordinary runs leave a quarter to others, and these leave some to the stop.
    let (runs, others) = (CAPACITY / 4 * 3, CAPACITY / 16 * 3);
    for number in 0..runs + 7 {
        bus.emit(started(number));
    }
    for number in 0..others {
        bus.emit(resumed(&format!("other {number}")));
    }
    bus.emit(Event::global(sample::at(0), EventKind::SchedulerStopping {}));
    assert!(!bus.flush(Duration::ZERO), "a listener that is stuck is not waited for");
    release.send(()).unwrap();
    assert!(bus.flush(LONG));
    bus.emit(resumed("later"));
    assert!(bus.flush(LONG));
    let received = received.take();
    assert_eq!(received[..2], ["stuck", "started 0"]);
    assert_eq!(received[runs..=runs + 2], [&format!("started {}", runs - 1), "7 lost", "other 0"]);
    // The count of the lost ones takes the place of one.
    assert_eq!(
        received[runs + others..],
        [&format!("other {}", others - 2), "1 lost", "stopping", "later"]
    );
}

#[test]
fn failures_and_rare_kinds_are_dropped_after_ordinary_runs() {
    let priority = |outcome| sample::finished("tick", (1, 1), outcome, 0, 0).kind.priority();
    assert_eq!(priority(Outcome::Success), Priority::Low);
    assert_eq!(priority(Outcome::Refused("locked".into())), Priority::Low);
    assert_eq!(priority(sample::error("no").into()), Priority::Normal);
    assert_eq!(resumed("a").kind.priority(), Priority::Normal);
    assert_eq!(EventKind::SchedulerStopping {}.priority(), Priority::High);
}

#[test]
fn a_panic_of_a_listener_is_reported_once_and_hurts_no_other() {
    let (reported, received) = (Received::default(), Received::default());
    let panics = Arc::new(|event: &Event| panic!("not {}", name(event)));
    for is_synchronous in [true, false] {
        let builder = BusBuilder::new()
            .reporter(reported.listener())
            .listener(panics.clone())
            .listener(received.listener());
        let bus = build(if is_synchronous { builder.synchronous() } else { builder });
        bus.emit(resumed("a"));
        assert!(bus.flush(LONG));
        bus.emit(resumed("b"));
        assert!(bus.flush(LONG));
        assert_eq!(received.take(), ["a", "b"]);
        assert_eq!(reported.take(), ["a", "listener: not a", "b"]);
    }
}

#[test]
fn a_panic_of_the_reporter_or_of_a_bridge_does_not_reach_the_emitter() {
    let received = Received::default();
    let panics = Arc::new(|_: &Event| panic!("cannot report"));
    let builder = BusBuilder::new().reporter(panics.clone()).in_place(panics);
    let bus = build(builder.listener(received.listener()).synchronous());
    bus.emit(resumed("a"));
    assert_eq!(received.take(), ["a"]);
}

#[test]
fn in_a_simulation_listeners_are_called_in_place_and_in_order() {
    let received = Received::default();
    let bus = Arc::new(OnceLock::<Bus>::new());
    let inner = Arc::downgrade(&bus);
    let echo = Arc::new(move |event: &Event| {
        if name(event) == "a" {
            inner.upgrade().unwrap().get().unwrap().emit(resumed("echo of a"));
        }
    });
    let builder = BusBuilder::new().listener(echo).listener(received.listener()).synchronous();
    bus.set(build(builder)).unwrap();
    bus.get().unwrap().emit(resumed("a"));
    assert_eq!(received.take(), ["a", "echo of a"], "not the echo before its cause");
    bus.get().unwrap().emit(resumed("b"));
    assert_eq!(received.take(), ["b"]);
}

#[test]
fn a_listener_that_flushes_does_not_wait_for_itself() {
    let bus = Arc::new(OnceLock::<Bus>::new());
    let (inner, (done, flushed)) = (Arc::downgrade(&bus), mpsc::channel());
    let flushes = Arc::new(move |_: &Event| {
        done.send(inner.upgrade().unwrap().get().unwrap().flush(Duration::MAX)).unwrap();
    });
    bus.set(build(BusBuilder::new().listener(flushes))).unwrap();
    bus.get().unwrap().emit(resumed("a"));
    assert_eq!(flushed.recv_timeout(LONG), Ok(true));
}

#[test]
fn a_bus_that_is_dropped_still_delivers_what_waits_and_ends_its_thread() {
    let (sent, received) = mpsc::channel();
    let listener = Arc::new(move |event: &Event| sent.send(name(event)).unwrap());
    let bus = build(BusBuilder::new().listener(listener));
    for number in 0..10 {
        bus.emit(resumed(&number.to_string()));
    }
    drop(bus);
    // The channel ends when the listener is dropped, which its thread does when it ends.
    let names: Vec<String> = received.iter().collect();
    assert_eq!(names.join(" "), "0 1 2 3 4 5 6 7 8 9");
}
