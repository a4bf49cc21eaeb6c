//! The bridge to `tracing`: a span for each run, and the scheduler's own words as events.
//!
//! The only file that knows that crate; `tracing_off` stands in its place without the feature.

use tracing::dispatcher;
use tracing::field::Empty;
use tracing::subscriber::NoSubscriber;

use super::Failure;
use super::Level;
use super::TaskFacts;
use crate::run::Run;

/// The span of one run, or of one attempt of it: a trace of its own, with OpenTelemetry's names.
#[derive(Clone, Debug)]
pub(crate) struct Span(tracing::Span);

impl Span {
    pub(crate) fn of_run(run: &Run, facts: &TaskFacts) -> Self {
        let name = run.task_name();
        Self(tracing::info_span!(
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
        ))
    }

    /// Calls with the span entered: the body of a sync run, or one poll of an async one.
    pub(crate) fn in_scope<R>(&self, call: impl FnOnce() -> R) -> R {
        self.0.in_scope(call)
    }

    /// Marks the run as failed.
    pub(crate) fn fail(&self, failure: &Failure) {
        self.0.record("otel.status_code", "ERROR");
        self.0.record("error.type", failure.kind());
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
