//! The W3C trace context, which the header `traceparent` carries.

/// The parts of a trace context, as hexadecimal digits.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(any(test, feature = "opentelemetry")),
    expect(dead_code, reason = "OpenTelemetry reads span and flags")
)]
pub(crate) struct TraceContext<'a> {
    pub(crate) trace: &'a str,
    pub(crate) span: &'a str,
    pub(crate) flags: &'a str,
}

impl<'a> TraceContext<'a> {
    /// Reads a trace context; none from another text, which the specification wants to be ignored.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        // Later versions may add parts, but stores keep no longer text.
        const LENGTH_MAX: usize = 250;
        let mut parts = text.split('-');
        let version = digits(parts.next()?, 2)?;
        let [trace, span] = [digits(parts.next()?, 32)?, digits(parts.next()?, 16)?];
        let flags = digits(parts.next()?, 2)?;
        let is_known = version != "ff" && (version != "00" || parts.next().is_none());
        let is_valid = [trace, span].iter().all(|id| id.bytes().any(|digit| digit != b'0'));
        (is_known && is_valid && text.len() <= LENGTH_MAX).then_some(Self { trace, span, flags })
    }
}

fn digits(text: &str, count: usize) -> Option<&str> {
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (text.len() == count && text.bytes().all(is_digit)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_context_is_read_and_what_is_none_is_passed_over() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let context = TraceContext::read(good).expect("a context");
        assert_eq!(context.trace, "0af7651916cd43dd8448eb211c80319c");
        assert_eq!((context.span, context.flags), ("b7ad6b7169203331", "01"));
        let later = "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-comes";
        assert!(TraceContext::read(later).is_some(), "later versions add parts");
        let long = format!("{later}{}", "-".repeat(1_000));
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
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333x-01",
            &long,
        ] {
            assert!(TraceContext::read(bad).is_none(), "{bad}");
        }
    }
}
