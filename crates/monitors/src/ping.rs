//! A ping about a run, and the request that carries it.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use scheduler::chrono::{DateTime, Utc};
use scheduler::{Failure, TaskFacts};
use uuid::Uuid;

/// The number of bytes of a failure's text that are kept; every monitor takes less than it would like.
pub(crate) const MESSAGE_BYTES_MAX: usize = 10_000;

/// A step in the life of a run.
///
/// ```
/// use scheduler_monitors::Phase;
///
/// assert_eq!(Phase::Failed.name(), "failed");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Its first attempt has started.
    Started,
    /// It ended well.
    Succeeded,
    /// It ended with an error, a panic or a timeout, after its last attempt.
    Failed,
    /// It was cancelled, or the scheduler stopped, after its start was sent.
    Cancelled,
}

impl Phase {
    /// The phase in one word, such as `started`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A report to a [`Monitor`](crate::Monitor): task, run, phase and message.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ping {
    /// The task, as it was at that time.
    pub task: Arc<TaskFacts>,
    /// The run: the same for its start and its end, and for no other run of any process.
    pub run: Uuid,
    /// The step that is reported.
    pub phase: Phase,
    /// Why it failed; at most 10,000 bytes.
    pub message: Option<Arc<str>>,
    /// The time that the run took, once it has ended.
    pub took: Option<Duration>,
    /// When it happened, by the scheduler's clock.
    pub at: DateTime<Utc>,
}

impl Ping {
    /// The failure, or the word that tells a service that the run was cancelled.
    pub(crate) fn text(&self) -> Option<&str> {
        let cancelled = (self.phase == Phase::Cancelled).then(|| self.phase.name());
        self.message.as_deref().or(cancelled)
    }
}

/// The method of a [`Request`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Without a body.
    Get,
    /// With one.
    Post,
}

/// A request to a monitor.
///
/// [`Debug`] does not show the address, which is the secret of most monitors.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// The HTTP method.
    pub method: Method,
    /// The address.
    pub url: String,
    /// The type of the body, such as `text/plain`.
    pub content_type: &'static str,
    /// The body; empty for a `GET`.
    pub body: String,
}

impl Request {
    /// A request without a body.
    #[must_use]
    pub fn get(url: impl Into<String>) -> Self {
        Self { method: Method::Get, url: url.into(), content_type: "", body: String::new() }
    }

    /// A request with a body of this type.
    #[must_use]
    pub fn post(
        url: impl Into<String>,
        content_type: &'static str,
        body: impl Into<String>,
    ) -> Self {
        Self { method: Method::Post, url: url.into(), content_type, body: body.into() }
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}

/// Makes the identities of runs: equal for the same run of this process, and different from those of others.
#[derive(Debug, Default)]
pub(crate) struct RunIds(RandomState, RandomState);

impl RunIds {
    pub(crate) fn of(&self, task: &str, number: u64) -> Uuid {
        let bits = |state: &RandomState| state.hash_one((task, number));
        let bits = u128::from(bits(&self.0)) << 64 | u128::from(bits(&self.1));
        uuid::Builder::from_custom_bytes(bits.to_be_bytes()).into_uuid()
    }
}

/// The text of a failure with its causes and its place, one a line.
pub(crate) fn message(failure: &Failure) -> String {
    let mut text = failure.message().to_owned();
    for cause in failure.causes() {
        text.push_str("\ncaused by: ");
        text.push_str(cause);
    }
    if let Some(place) = failure.place() {
        text.push_str(&format!("\nat {place}"));
    }
    cut(&mut text, MESSAGE_BYTES_MAX);
    text
}

/// Shortens a text to so many bytes at most, between two characters.
pub(crate) fn cut(text: &mut String, bytes: usize) {
    if text.len() > bytes {
        let end = (0..=bytes).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
    }
}

/// A text as part of a query: everything but letters, digits and `-._~` is escaped.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                escaped.push(byte.into());
            }
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

/// The name of a task as the services write names: `shop::jobs::report` is `shop-jobs-report`.
pub(crate) fn slug(name: &str) -> String {
    let mut slug = String::new();
    for letter in name.chars() {
        match letter.to_ascii_lowercase() {
            letter @ ('a'..='z' | '0'..='9' | '_') => slug.push(letter),
            _ if !slug.ends_with('-') && !slug.is_empty() => slug.push('-'),
            _ => {}
        }
    }
    slug.truncate(SLUG_MAX);
    slug.trim_end_matches('-').to_owned()
}

/// The greatest length of the name of a monitor, for the strictest of the services.
const SLUG_MAX: usize = 50;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_those_of_the_services() {
        assert_eq!(slug("shop::jobs::daily_report"), "shop-jobs-daily_report");
        assert_eq!(slug("Über::Größe!"), "ber-gr-e");
        assert_eq!(slug(&"x".repeat(80)).len(), SLUG_MAX);
    }

    #[test]
    fn queries_have_no_special_characters() {
        assert_eq!(escaped("a b&c=ä/100%"), "a%20b%26c%3D%C3%A4%2F100%25");
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        let mut text = "aää".to_owned();
        cut(&mut text, 4);
        assert_eq!(text, "aä");
    }

    #[test]
    fn a_run_has_one_identity_and_no_other_has_it() {
        let (ids, others) = (RunIds::default(), RunIds::default());
        assert_eq!(ids.of("report", 1), ids.of("report", 1));
        assert_ne!(ids.of("report", 1), ids.of("report", 2));
        assert_ne!(ids.of("report", 1), others.of("report", 1));
        assert_eq!(ids.of("report", 1).get_version_num(), 8);
    }
}
