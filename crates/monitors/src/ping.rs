//! News of runs for monitors, and their requests.

use std::sync::Arc;
use std::time::Duration;

use scheduler::TaskFacts;
use scheduler::chrono::{DateTime, Utc};
use uuid::Uuid;

/// The longest message of a failure.
pub(crate) const MESSAGE_BYTES_MAX: usize = 10_000;

/// A service that gets the news of runs.
///
/// It only says what is to be sent: the worker of its route sends it, paces it, and tries it again.
pub trait Monitor: Send + Sync {
    /// Its name in messages.
    fn name(&self) -> &str;

    /// The request for a ping; none if the service is not told about it.
    fn request(&self, ping: &Ping) -> Option<Request>;
}

impl<M: Monitor + ?Sized> Monitor for Arc<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn request(&self, ping: &Ping) -> Option<Request> {
        (**self).request(ping)
    }
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Its first attempt has started.
    Started,
    /// It has succeeded.
    Succeeded,
    /// Its last attempt has failed.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl Phase {
    /// The name in lower case.
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

/// News of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ping {
    /// The task.
    pub task: Arc<TaskFacts>,
    /// The identity of the run: the same for its start and its end.
    pub run: Uuid,
    /// Its progress.
    pub phase: Phase,
    /// The error and its causes, if it has failed.
    pub message: Option<Arc<str>>,
    /// Its length, at its end.
    pub took: Option<Duration>,
    /// When this happened.
    pub at: DateTime<Utc>,
}

impl Ping {
    /// The text for people.
    pub(crate) fn text(&self) -> Option<&str> {
        let cancelled = (self.phase == Phase::Cancelled).then(|| self.phase.name());
        self.message.as_deref().or(cancelled)
    }
}

/// A request over HTTP.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// The address, which may be a secret.
    pub url: String,
    /// With `POST`: the type of the body, and the body. `GET` without.
    pub body: Option<(&'static str, String)>,
}

impl Request {
    /// A `GET`.
    #[must_use]
    pub fn get(url: impl Into<String>) -> Self {
        Self { url: url.into(), body: None }
    }

    /// A `POST`.
    #[must_use]
    pub fn post(url: impl Into<String>, kind: &'static str, body: impl Into<String>) -> Self {
        Self { url: url.into(), body: Some((kind, body.into())) }
    }
}

/// Shows no address and no key: they are secrets.
macro_rules! opaque {
    ($($name:ident($($field:ident),*))*) => {$(
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))$(.field(stringify!($field), &self.$field))*.finish_non_exhaustive()
            }
        }
    )*};
}
pub(crate) use opaque;

opaque! { Request(body) }

/// Shortens a text to so many bytes at most, between two characters.
pub(crate) fn cut(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
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
        assert_eq!((cut("aää", 4), cut("aää", 9)), ("aä", "aää"));
    }
}
