//! The bridge to `tracing`: a span for each run, and the scheduler's own words as events.
//!
//! The only file that knows that crate; `tracing_off` stands in its place without the feature.

use std::mem;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::panic::resume_unwind;

use tracing::dispatcher;
use tracing::dispatcher::WeakDispatch;
use tracing::field::Empty;
use tracing::subscriber::NoSubscriber;

use super::Failure;
use super::Level;
use super::TaskFacts;
use super::catch;
use crate::run::Run;

/// The span of one run, or of one attempt of it: a trace of its own, with OpenTelemetry's names.
#[derive(Clone, Debug)]
pub(crate) struct Span(tracing::Span);

impl Span {
    /// None of its calls panics, whatever the subscriber does: that is code of the user's.
    pub(crate) fn of_run(run: &Run, facts: &TaskFacts) -> Self {
        Self(catch(|| open(run, facts)).unwrap_or_else(|_| tracing::Span::none()))
    }

    /// Calls with the span entered: the body of a sync run, or one poll of an async one.
    pub(crate) fn in_scope<R>(&self, call: impl FnOnce() -> R) -> R {
        let (mut call, mut result) = (Some(call), None);
        let enter = || self.0.in_scope(|| result = call.take().map(|call| call()));
        let entered = catch_unwind(AssertUnwindSafe(enter));
        match (result, call, entered) {
            (Some(result), ..) => result,
            // The subscriber has panicked before.
            (None, Some(call), _) => call(),
            (None, None, entered) => match entered {
                Err(payload) => resume_unwind(payload),
                Ok(()) => unreachable!("it was called, and has neither returned nor panicked"),
            },
        }
    }

    /// Marks the run as failed.
    pub(crate) fn fail(&self, failure: &Failure) {
        let mark = || {
            self.0.record("otel.status_code", "ERROR");
            self.0.record("error.type", failure.kind());
        };
        let _ = catch(mark);
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        let span = mem::replace(&mut self.0, tracing::Span::none());
        let _ = catch(|| drop(span));
    }
}

fn open(run: &Run, facts: &TaskFacts) -> tracing::Span {
    let name = run.task_name();
    tracing::info_span!(
        target: "scheduler",
        parent: None,
        "task",
        otel.name = format_args!("task {name}"),
        otel.kind = "internal",
        otel.status_code = Empty,
        code.function.name = facts.function.as_deref(),
        scheduler.task.name = name,
        scheduler.trigger = facts.kind.name(),
        scheduler.schedule = &*facts.rule,
        scheduler.scheduled_time = format_args!("{:?}", run.fire_time()),
        scheduler.run_id = run.number(),
        scheduler.attempt = run.attempt(),
        "error.type" = Empty,
    )
}

/// The subscriber of the thread that starts a scheduler, which may be that thread's alone.
#[derive(Clone, Debug)]
pub(crate) struct Subscriber(Option<WeakDispatch>);

impl Subscriber {
    pub(crate) fn current() -> Self {
        let current = || {
            dispatcher::get_default(|dispatch| {
                (!dispatch.is::<NoSubscriber>()).then(|| dispatch.downgrade())
            })
        };
        Self(catch(current).unwrap_or(None))
    }

    /// Calls with it as the subscriber of the calling thread, as long as there is one.
    pub(crate) fn within<R>(&self, call: impl FnOnce() -> R) -> R {
        match self.0.as_ref().and_then(WeakDispatch::upgrade) {
            Some(dispatch) => dispatcher::with_default(&dispatch, call),
            None => call(),
        }
    }
}

/// Whether a subscriber is installed, whatever it lets through.
pub(crate) fn is_installed() -> bool {
    dispatcher::get_default(|dispatch| !dispatch.is::<NoSubscriber>())
}

/// Whether the subscriber takes words of this level.
pub(crate) fn is_enabled(level: Level) -> bool {
    match level {
        Level::Error => tracing::enabled!(target: "scheduler", tracing::Level::ERROR),
        Level::Warn => tracing::enabled!(target: "scheduler", tracing::Level::WARN),
        Level::Info => tracing::enabled!(target: "scheduler", tracing::Level::INFO),
        Level::Debug => tracing::enabled!(target: "scheduler", tracing::Level::DEBUG),
    }
}

/// Says it as an event.
pub(crate) fn say(level: Level, text: &str) {
    match level {
        Level::Error => tracing::error!(target: "scheduler", "{text}"),
        Level::Warn => tracing::warn!(target: "scheduler", "{text}"),
        Level::Info => tracing::info!(target: "scheduler", "{text}"),
        Level::Debug => tracing::debug!(target: "scheduler", "{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::sample;
    use std::fmt;
    use std::fmt::Write;
    use std::sync::Arc;
    use tracing::Event;
    use tracing::Metadata;
    use tracing::Subscriber;
    use tracing::field::Field;
    use tracing::field::Visit;
    use tracing::span::Attributes;
    use tracing::span::Id;
    use tracing::span::Record;

    use crate::sync::Mutex;

    /// Writes down what it is told, a line each.
    #[derive(Clone, Default)]
    struct Notes(Arc<Mutex<String>>);

    impl Notes {
        fn add(&self, what: &str, fields: impl FnOnce(&mut Fields)) {
            let mut line = Fields(what.to_owned());
            fields(&mut line);
            *self.0.lock().unwrap() += &format!("{}\n", line.0);
        }
    }

    struct Fields(String);

    impl Visit for Fields {
        fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
            write!(self.0, " {}={value:?}", field.name()).unwrap();
        }
    }

    impl Subscriber for Notes {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target() == "scheduler" && *metadata.level() <= tracing::Level::INFO
        }

        fn new_span(&self, span: &Attributes<'_>) -> Id {
            let name = format!("new {} root={}", span.metadata().name(), span.is_root());
            self.add(&name, |fields| span.record(fields));
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, values: &Record<'_>) {
            self.add("record", |fields| values.record(fields));
        }

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            self.add(&format!("event {}", event.metadata().level()), |fields| event.record(fields));
        }

        fn enter(&self, _: &Id) {
            self.add("enter", |_| {});
        }

        fn exit(&self, _: &Id) {
            self.add("exit", |_| {});
        }
    }

    #[test]
    fn a_run_has_a_span_with_the_names_of_opentelemetry() {
        let notes = Notes::default();
        let run = || {
            let span = Span::of_run(&sample::run("tick", 3, 2), &sample::facts("tick"));
            span.in_scope(|| say(Level::Warn, "inside"));
            span.fail(&sample::error("no"));
        };
        tracing::subscriber::with_default(notes.clone(), || {
            // Another test may have come here first, on a thread that nobody listens to, and `tracing`
            // remembers that nobody is interested.
            run();
            tracing::callsite::rebuild_interest_cache();
            notes.0.lock().unwrap().clear();
            run();
        });
        let expected = "\
new task root=true otel.name=task tick otel.kind=\"internal\" code.function.name=\"shop::jobs::work\" \
scheduler.task.name=\"tick\" scheduler.trigger=\"fixed_rate\" scheduler.schedule=\"every 1s\" \
scheduler.scheduled_time=2026-03-27T08:00:00Z scheduler.run_id=3 scheduler.attempt=2
enter
event WARN message=inside
exit
record otel.status_code=\"ERROR\"
record error.type=\"error\"
";
        assert_eq!(*notes.0.lock().unwrap(), expected);
    }

    #[test]
    fn a_subscriber_is_noticed_and_asked_for_its_levels() {
        assert!(!is_enabled(Level::Error), "nobody listens");
        tracing::subscriber::with_default(Notes::default(), || {
            assert!(is_installed());
            assert!(is_enabled(Level::Info));
            assert!(!is_enabled(Level::Debug));
        });
        assert!(!is_installed());
    }
}
