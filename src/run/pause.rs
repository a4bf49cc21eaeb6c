//! A pause, as people ask for it.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::truncated;

/// A pause of a task or of a durable schedule: by whom, why, and until when.
///
/// ```
/// use scheduler::Pause;
///
/// let pause = Pause::new().by("ops").reason("migration").until("2026-03-30T14:00:00Z".parse()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "a pause does nothing until a task gets it"]
pub struct Pause {
    /// The person or program that pauses.
    pub by: Option<Arc<str>>,
    /// The reason, for people.
    pub reason: Option<Arc<str>>,
    /// The end of the pause; `None` until it is resumed.
    pub until: Option<DateTime<Utc>>,
}

impl Pause {
    /// A pause without an end.
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the person or program that pauses. At most 1,024 bytes are kept.
    pub fn by(self, who: impl AsRef<str>) -> Self {
        Self { by: Some(truncated(who.as_ref()).into()), ..self }
    }

    /// The reason, for people. At most 1,024 bytes are kept.
    pub fn reason(self, reason: impl AsRef<str>) -> Self {
        Self { reason: Some(truncated(reason.as_ref()).into()), ..self }
    }

    /// The end of the pause, after which the task continues.
    pub fn until(self, instant: DateTime<Utc>) -> Self {
        Self { until: Some(instant), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_cut_at_a_whole_character() {
        let kept = |text: String| Pause::new().reason(text).reason.map(|reason| reason.to_string());
        assert_eq!(kept("ü".repeat(600)), Some("ü".repeat(512)));
        assert_eq!(kept("ü".repeat(600) + "!"), Some("ü".repeat(512)));
        assert_eq!(
            kept("!".to_owned() + &"ü".repeat(600)),
            Some("!".to_owned() + &"ü".repeat(511))
        );
        assert_eq!(kept("brief".to_owned()), Some("brief".to_owned()));
    }
}
