//! The bridge to `tracing`: a span for each attempt.

use std::cell::Cell;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tracing::dispatcher::{self, WeakDispatch};
use tracing::field::Empty;
use tracing::subscriber::NoSubscriber;

use super::{Event, EventKind, Failure, TaskFacts, TraceContext, catch, duration};
use crate::run::{Run, RunInfo};

/// The span of one attempt: a trace of its own, with the names of OpenTelemetry.
///
/// No method panics, whatever the subscriber does.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    span: tracing::Span,
    run: RunInfo,
    facts: Arc<TaskFacts>,
}

impl Span {
    pub(crate) fn of_run(run: &Run, facts: &Arc<TaskFacts>) -> Self {
        let traceparent = run.traceparent();
        let (run, facts) = (run.info(), Arc::clone(facts));
        let trace = traceparent.and_then(TraceContext::read).map(|context| context.trace);
        let span = catch(|| open(&run, &facts, trace)).unwrap_or_else(|_| tracing::Span::none());
        #[cfg(feature = "opentelemetry")]
        traceparent.iter().for_each(|parent| super::opentelemetry::set_parent(&span, parent));
        Self { span, run, facts }
    }

    /// Calls with the span entered: the body of a sync run, or one poll of an async one.
    pub(crate) fn in_scope<R>(&self, call: impl FnOnce() -> R) -> R {
        let (mut call, mut result) = (Some(call), None);
        let enter = || self.span.in_scope(|| result = call.take().map(|call| call()));
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

    /// Marks the attempt as failed, and logs that inside the span, with the wait before the next attempt.
    pub(crate) fn fail(&self, failure: &Failure, next_attempt_in: Option<Duration>) {
        let Self { span, run, facts } = self;
        if !span.is_disabled() {
            IN_SPAN.set(Some(Logged::of(facts, run)));
        }
        let wait = next_attempt_in.map(duration);
        let next = wait.map_or_else(String::new, |wait| format!("; next in {wait}"));
        let job = run.job.as_deref();
        let log = || {
            span.record("otel.status_code", "ERROR");
            span.record("error.type", failure.kind());
            tracing::warn!(
                target: "scheduler",
                parent: span,
                task = &*facts.name,
                run = run.number,
                attempt = run.attempt,
                error = failure.message(),
                error.type = failure.kind(),
                exception.type = failure.kind(),
                exception.message = failure.message(),
                code.function.name = facts.function.as_deref(),
                thread.name = std::thread::current().name(),
                scheduler.job.id = job.map(|job| &*job.id),
                scheduler.job.key = job.and_then(|job| job.key.as_deref()),
                scheduler.job.queue = job.map(|job| &*job.queue),
                scheduler.job.attempt = job.map(|_| run.attempt),
                scheduler.job.max_attempts = job.map(|_| run.max_attempts),
                "{} failed: {failure}{next}",
                failure.part_of(run),
            );
        };
        drop(catch(log));
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        let span = mem::replace(&mut self.span, tracing::Span::none());
        drop(catch(|| drop(span)));
    }
}

fn open(run: &RunInfo, facts: &TaskFacts, trace: Option<&str>) -> tracing::Span {
    let (name, job) = (&*facts.name, run.job.as_deref());
    tracing::info_span!(
        target: "scheduler",
        parent: None,
        "task",
        otel.name = format_args!("task {name}"),
        otel.kind = "internal",
        otel.status_code = Empty,
        code.function.name = facts.function.as_deref(),
        thread.name = std::thread::current().name(),
        scheduler.task.name = name,
        scheduler.task.kind = facts.kind.name(),
        scheduler.task.schedule = &*facts.rule,
        scheduler.run.number = run.number,
        scheduler.run.attempt = run.attempt,
        scheduler.run.cause = run.cause.name(),
        scheduler.run.fire_time = format_args!("{:?}", run.fire_time),
        scheduler.run.lateness = run.lateness().as_secs_f64(),
        scheduler.job.id = job.map(|job| &*job.id),
        scheduler.job.key = job.and_then(|job| job.key.as_deref()),
        scheduler.job.queue = job.map(|job| &*job.queue),
        scheduler.job.attempt = job.map(|_| run.attempt),
        scheduler.job.max_attempts = job.map(|_| run.max_attempts),
        trace_id = trace,
        error.type = Empty,
    )
}

thread_local! {
    /// The latest failed attempt of this thread that was logged inside its span.
    static IN_SPAN: Cell<Option<Logged>> = const { Cell::new(None) };
}

/// The attempt that was logged inside its span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Logged {
    task: *const (),
    number: u64,
    attempt: u32,
    started_at: DateTime<Utc>,
}

impl Logged {
    fn of(task: &Arc<TaskFacts>, run: &RunInfo) -> Self {
        let (task, started_at) = (Arc::as_ptr(task).cast(), run.started_at);
        Self { task, number: run.number, attempt: run.attempt, started_at }
    }
}

/// Returns true if the failed attempt that this event reports was logged inside its span, on this thread.
pub(crate) fn was_logged_in_span(event: &Event) -> bool {
    let run = match &event.kind {
        EventKind::AttemptFailed { run, .. } => run,
        // The message about the job follows when it is parked.
        EventKind::RunFinished { run, outcome, .. }
            if run.job.is_some() && outcome.is_failure() =>
        {
            run
        }
        _ => return false,
    };
    event.task.as_ref().is_some_and(|task| IN_SPAN.get() == Some(Logged::of(task, run)))
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

/// Returns true if a subscriber is installed, whatever it lets through.
pub(crate) fn is_installed() -> bool {
    dispatcher::get_default(|dispatch| !dispatch.is::<NoSubscriber>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::{self, Level, Log, sample};
    use std::fmt::{self, Write};
    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Metadata, Subscriber};

    use crate::base::sync::Mutex;

    /// Writes a line for each call.
    #[derive(Clone, Default)]
    struct Notes(Arc<Mutex<String>>);

    impl Notes {
        fn add(&self, what: &str, fields: impl FnOnce(&mut Fields)) {
            let mut line = Fields(what.to_owned());
            fields(&mut line);
            *self.0.lock() += &format!("{}\n", line.0);
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

        fn event(&self, event: &tracing::Event<'_>) {
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
            span.in_scope(|| {
                Log::Tracing.write(Level::Warn, "inside", &observe::Fields::default());
            });
            span.fail(&sample::error("no"), Some(Duration::from_secs(10)));
        };
        tracing::subscriber::with_default(notes.clone(), || {
            // Another test may have run first, on a thread without a subscriber, and `tracing` caches that.
            run();
            tracing::callsite::rebuild_interest_cache();
            notes.0.lock().clear();
            run();
        });
        let thread = std::thread::current();
        let thread = thread.name().unwrap_or_default();
        let expected = format!(
            "\
new task root=true otel.name=task tick otel.kind=\"internal\" code.function.name=\"shop::jobs::work\" \
thread.name={thread:?} scheduler.task.name=\"tick\" scheduler.task.kind=\"fixed_rate\" \
scheduler.task.schedule=\"every 1s\" scheduler.run.number=3 scheduler.run.attempt=2 \
scheduler.run.cause=\"schedule\" scheduler.run.fire_time=2026-03-27T08:00:00Z scheduler.run.lateness=0.0
enter
event WARN message=inside
exit
record otel.status_code=\"ERROR\"
record error.type=\"error\"
event WARN message=attempt 2 of 5 failed: no; next in 10s task=\"tick\" run=3 attempt=2 error=\"no\" error.type=\"error\" \
exception.type=\"error\" exception.message=\"no\" code.function.name=\"shop::jobs::work\" thread.name={thread:?}
"
        );
        assert_eq!(*notes.0.lock(), expected);
    }

    #[test]
    fn a_subscriber_is_noticed_and_asked_for_its_levels() {
        assert!(!tracing::enabled!(target: "scheduler", tracing::Level::ERROR), "no subscriber");
        tracing::subscriber::with_default(Notes::default(), || {
            assert!(is_installed());
            assert!(tracing::enabled!(target: "scheduler", tracing::Level::INFO));
            assert!(!Log::Tracing.wants_debug());
        });
        assert!(!is_installed());
    }
}
