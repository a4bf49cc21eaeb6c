//! The W3C trace context of spans, by `tracing-opentelemetry`.

use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use tracing_opentelemetry::OpenTelemetrySpanExt;

use super::{TraceContext, catch};

/// The trace context of the current span; none outside of a trace.
#[cfg(feature = "durable")]
pub(crate) fn traceparent() -> Option<String> {
    // The subscriber is the program's code: it may panic.
    let context = catch(|| tracing::Span::current().context()).ok()?;
    let span = context.span().span_context().clone();
    let (trace, id, flags) = (span.trace_id(), span.span_id(), span.trace_flags());
    span.is_valid().then(|| format!("00-{trace}-{id}-{flags:02x}"))
}

/// Makes a span that was not entered the child of the span of another process.
pub(super) fn set_parent(span: &tracing::Span, traceparent: &str) {
    let Some(parent) = parsed(traceparent) else { return };
    let context = opentelemetry::Context::new().with_remote_span_context(parent);
    // Without the layer of OpenTelemetry there is nothing to link.
    drop(catch(|| span.set_parent(context)));
}

fn parsed(text: &str) -> Option<SpanContext> {
    let TraceContext { trace, span, flags } = TraceContext::read(text)?;
    Some(SpanContext::new(
        TraceId::from_hex(trace).ok()?,
        SpanId::from_hex(span).ok()?,
        TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED,
        true,
        TraceState::default(),
    ))
}
