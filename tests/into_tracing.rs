//! Where the program has a `tracing` subscriber, the scheduler's own words are its events.

use std::fmt;
use std::sync::Arc;
use std::sync::Mutex;

use scheduler::ManualClock;
use scheduler::Scheduler;
use scheduler::scheduled;
use tracing::Event;
use tracing::Level;
use tracing::Metadata;
use tracing::Subscriber;
use tracing::field::Field;
use tracing::field::Visit;
use tracing::span::Attributes;
use tracing::span::Id;
use tracing::span::Record;

#[scheduled(fixed_rate = "10s", name = "tick")]
fn tick() {}

#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

impl Subscriber for Notes {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "scheduler" && *metadata.level() <= Level::INFO
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().unwrap().push(format!("{} {}", event.metadata().level(), text.0));
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[test]
fn what_the_scheduler_says_comes_as_events() {
    let notes = Notes::default();
    tracing::subscriber::set_global_default(notes.clone()).unwrap();
    let clock = ManualClock::at("2026-03-27T08:00:00Z".parse().unwrap());
    let builder = Scheduler::builder().pool_size(1).zone("UTC").clock(Arc::new(clock.clone()));
    let scheduler = builder.spawn().unwrap();
    clock.await_parked(1);
    scheduler.shutdown().unwrap();
    let expected = [
        "INFO scheduler 0.1.0  1 task · 1 thread (scheduling-1) · zone UTC (UTC+00:00)\n  tick  every 10s  next: now",
        "INFO task `tick` finished its first run in 0s; further successes are not reported",
        "INFO stopping: no new runs",
        "INFO stopped after 0s: 1 run, 0 failures",
    ];
    assert_eq!(*notes.0.lock().unwrap(), expected);
}
