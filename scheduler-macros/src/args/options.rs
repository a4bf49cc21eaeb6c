//! The options of the attribute: one table that says everything there is to know about each.

use scheduler_expr::Attribute;

/// An option of the attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// One that settings can override.
    Attribute(Attribute),
    Name,
    Crate,
    /// `retry(…)`, around options of its own.
    Retry,
    /// Written by the macro itself: which annotation of its function this is, from 2.
    Nth,
}

/// What an option takes after its `=`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Takes {
    Text,
    TextOrNumber,
    TextOrFlag,
    Path,
    Number,
    /// Options in parentheses, and no `=`.
    Options(&'static [Spec]),
}

/// Everything there is to know about an option.
#[derive(Debug)]
pub(super) struct Spec {
    pub(super) key: Key,
    pub(super) name: &'static str,
    pub(super) takes: Takes,
    /// A correct use, to be shown as the remedy.
    pub(super) example: &'static str,
    /// What others call it.
    pub(super) aliases: &'static [&'static str],
}

const fn of(
    attribute: Attribute,
    takes: Takes,
    example: &'static str,
    aliases: &'static [&'static str],
) -> Spec {
    Spec { key: Key::Attribute(attribute), name: attribute.name(), takes, example, aliases }
}

const fn option(key: Key, name: &'static str, takes: Takes, example: &'static str) -> Spec {
    Spec { key, name, takes, example, aliases: &[] }
}

/// The line to add for a new option.
#[rustfmt::skip]
pub(super) static OPTIONS: &[Spec] = &[
    of(Attribute::Cron, Takes::Text, r#"cron = "0 0 9 * * MON-FRI""#, &["expression"]),
    of(Attribute::FixedRate, Takes::TextOrNumber, r#"fixed_rate = "5s""#, &["fixed_rate_string", "every", "interval", "period", "rate"]),
    of(Attribute::FixedDelay, Takes::TextOrNumber, r#"fixed_delay = "5s""#, &["fixed_delay_string"]),
    of(Attribute::InitialDelay, Takes::TextOrNumber, r#"initial_delay = "5s""#, &["initial_delay_string", "delay", "after"]),
    of(Attribute::Zone, Takes::Text, r#"zone = "Europe/Berlin""#, &["timezone", "tz"]),
    Spec { aliases: &["id"], ..option(Key::Name, "name", Takes::Text, r#"name = "nightly-report""#) },
    of(Attribute::TimeUnit, Takes::Text, r#"time_unit = "seconds""#, &["unit"]),
    of(Attribute::Scheduler, Takes::Text, r#"scheduler = "io""#, &["pool", "executor"]),
    of(Attribute::Enabled, Takes::TextOrFlag, "enabled = false", &["disabled", "active"]),
    of(Attribute::Jitter, Takes::TextOrNumber, r#"jitter = "500ms""#, &["random_delay", "splay"]),
    of(Attribute::Timeout, Takes::TextOrNumber, r#"timeout = "30s""#, &["time_limit", "max_duration", "lock_at_most_for"]),
    of(Attribute::Overlap, Takes::Text, r#"overlap = "skip""#, &["concurrency", "concurrent", "disallow_concurrent_execution"]),
    of(Attribute::Misfire, Takes::Text, r#"misfire = "run_once""#, &["misfire_policy", "missed"]),
    of(Attribute::OnError, Takes::Text, r#"on_error = "stop""#, &["error", "error_handler", "on_failure"]),
    Spec { aliases: &["retries", "retryable"], ..option(Key::Retry, "retry", Takes::Options(RETRY), "retry(max = 3)") },
    of(Attribute::DstGap, Takes::Text, r#"dst_gap = "run_after""#, &["gap"]),
    of(Attribute::DstOverlap, Takes::Text, r#"dst_overlap = "first""#, &[]),
    option(Key::Crate, "crate", Takes::Path, "crate = my::scheduler"),
    option(Key::Nth, NTH, Takes::Number, ""),
];

/// The options between the parentheses of `retry(…)`.
#[rustfmt::skip]
static RETRY: &[Spec] = &[
    part(Attribute::RetryMax, "max", "max = 3", &["max_retries", "max_attempts", "attempts", "times", "count"]),
    part(Attribute::RetryBase, "base", r#"base = "1s""#, &["delay", "backoff", "wait"]),
    part(Attribute::RetryCap, "cap", r#"cap = "1m""#, &["max_delay"]),
];

const fn part(
    attribute: Attribute,
    name: &'static str,
    example: &'static str,
    aliases: &'static [&'static str],
) -> Spec {
    Spec { name, ..of(attribute, Takes::TextOrNumber, example, aliases) }
}

/// The name of [`Key::Nth`]; never offered to the user.
pub(crate) const NTH: &str = "__nth";

impl Key {
    fn spec(self) -> &'static Spec {
        let found = OPTIONS.iter().chain(RETRY).find(|spec| spec.key == self);
        found.unwrap_or(&OPTIONS[0])
    }

    /// The option as it is written.
    pub(crate) fn name(self) -> &'static str {
        self.spec().name
    }

    /// A correct use of the option.
    pub(crate) fn example(self) -> &'static str {
        self.spec().example
    }
}

/// The options among `specs` that a user may write.
pub(super) fn offered(specs: &'static [Spec]) -> impl Iterator<Item = &'static Spec> {
    specs.iter().filter(|spec| spec.key != Key::Nth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attribute_is_an_option() {
        for attribute in Attribute::ALL.iter().copied() {
            let spec = Key::Attribute(attribute).spec();
            assert_eq!(spec.key, Key::Attribute(attribute));
            assert_eq!(spec.name, attribute.key());
            assert!(spec.example.starts_with(spec.name), "{}", spec.example);
        }
        for key in [Key::Name, Key::Crate, Key::Retry, Key::Nth] {
            assert_eq!(key.spec().key, key);
        }
    }
}
