//! The W3C trace context of spans, by `tracing-opentelemetry`.

use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use tracing_opentelemetry::OpenTelemetrySpanExt;

use super::catch;

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

/// Reads a trace context. Another text is passed over, as the specification wants it.
fn parsed(text: &str) -> Option<SpanContext> {
    let mut parts = text.split('-');
    let (version, trace, id, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_lower = |text: &str| !text.bytes().any(|byte| byte.is_ascii_uppercase());
    let is_known =
        version.len() == 2 && version != "ff" && (version != "00" || parts.next().is_none());
    if !is_known || (trace.len(), id.len(), flags.len()) != (32, 16, 2) || !is_lower(text) {
        return None;
    }
    let context = SpanContext::new(
        TraceId::from_hex(trace).ok()?,
        SpanId::from_hex(id).ok()?,
        TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED,
        true,
        TraceState::default(),
    );
    context.is_valid().then_some(context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_context_is_read_and_what_is_none_is_passed_over() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let context = parsed(good).expect("a context");
        assert!(context.is_remote() && context.is_sampled());
        assert_eq!(context.trace_id().to_string(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(context.span_id().to_string(), "b7ad6b7169203331");
        let later = "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-comes";
        assert!(parsed(later).is_some(), "later versions add parts");
        for bad in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333-01",
        ] {
            assert!(parsed(bad).is_none(), "{bad}");
        }
    }
}
