//! A subscriber of the starting thread gets messages about all threads.

use std::sync::{Arc, Mutex};

use scheduler::{ManualClock, Schedule, Scheduler, tasks};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// The levels of its messages, and their threads.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Subscriber for Notes {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "scheduler" && metadata.is_event()
    }

    fn event(&self, event: &Event<'_>) {
        let thread = std::thread::current().name().unwrap_or_default().to_owned();
        self.0.lock().unwrap().push(format!("{} on {thread}", event.metadata().level()));
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[test]
fn it_hears_the_banner_the_failure_and_the_stop() {
    let notes = Notes::default();
    let clock = ManualClock::at("2026-03-27T08:00:00Z".parse().unwrap());
    tracing::subscriber::with_default(notes.clone(), || {
        let builder = Scheduler::builder().tasks(tasks![]).pool_size(1).zone("UTC");
        let builder = builder.clock(Arc::new(clock.clone()));
        let tick = Schedule::fixed_rate("10s");
        let scheduler = builder.task("tick", tick, |_| Err::<(), _>("no luck")).spawn().unwrap();
        clock.await_parked(1);
        scheduler.shutdown().unwrap();
    });
    let expected = ["INFO", "INFO", "ERROR", "INFO", "INFO"];
    let expected = expected.map(|level| format!("{level} on scheduler-messages"));
    assert_eq!(*notes.0.lock().unwrap(), expected);
}
