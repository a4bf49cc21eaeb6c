//! A length of time with a sign.

use std::fmt;
use std::time::Duration;

use super::{DurationUnit, NANOS_PER_SECOND};

/// An exact length of time that may be negative: whole nanoseconds, up to 2⁶³ seconds either way,
/// as `java.time.Duration`.
///
/// ```
/// use scheduler_expr::parse_duration;
/// use std::time::Duration;
///
/// let length = parse_duration("-1h30m", None)?;
/// assert!(length.is_negative());
/// assert_eq!(length.to_std(), None);
/// assert_eq!(parse_duration("PT1M30S", None)?.to_std(), Some(Duration::from_secs(90)));
/// # Ok::<(), scheduler_expr::ParseError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SignedDuration {
    nanos: i128,
}

impl SignedDuration {
    /// The duration of that many nanoseconds, unless it is more than 2⁶³ seconds.
    #[must_use]
    pub fn from_nanos(nanos: i128) -> Option<Self> {
        i64::try_from(nanos.div_euclid(NANOS_PER_SECOND)).ok()?;
        Some(Self { nanos })
    }

    /// The whole duration in nanoseconds.
    #[must_use]
    pub fn as_nanos(self) -> i128 {
        self.nanos
    }

    /// Returns true if it is shorter than zero.
    #[must_use]
    pub fn is_negative(self) -> bool {
        self.nanos < 0
    }

    /// Returns true if it is exactly zero.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// The same as a [`Duration`], unless it is negative.
    #[must_use]
    pub fn to_std(self) -> Option<Duration> {
        let seconds = u64::try_from(self.nanos.div_euclid(NANOS_PER_SECOND)).ok()?;
        let nanos = self.nanos.rem_euclid(NANOS_PER_SECOND) as u32;
        Some(Duration::new(seconds, nanos))
    }
}

/// Writes the composite form, `1h30m`, which reads back as the same duration.
impl fmt::Display for SignedDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.pad("0s");
        }
        let mut text = String::from(if self.is_negative() { "-" } else { "" });
        let mut rest = self.nanos.unsigned_abs();
        for unit in DurationUnit::ALL {
            let length = unit.nanos().unsigned_abs();
            if rest >= length {
                text.push_str(&format!("{}{}", rest / length, unit.suffix()));
                rest %= length;
            }
        }
        f.pad(&text)
    }
}
