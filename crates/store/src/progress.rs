//! The progress that the run of a job reports.

use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::check::storable;

/// The greatest length of the text of a progress, in bytes.
pub const PROGRESS_TEXT_MAX: usize = 200;

/// A fraction is kept in so many parts.
const PARTS: f64 = 10_000.0;

/// The progress that the last run of a job has reported. A store shows it, and decides nothing by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobProgress {
    parts: u16,
    text: String,
}

impl JobProgress {
    /// A fraction from 0 to 1, and a text. A fraction outside of that becomes the nearest inside, and a text is cut after the last whole
    /// letter of its first [`PROGRESS_TEXT_MAX`] bytes. None if the fraction is no number.
    #[must_use]
    pub fn new(fraction: f64, text: &str) -> Option<Self> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 10,000")]
        let parts = (fraction.clamp(0.0, 1.0) * PARTS).round() as u16;
        let mut text = storable(text);
        let is_end = |end: &usize| text.is_char_boundary(*end);
        text.truncate((0..=PROGRESS_TEXT_MAX).rev().find(is_end).unwrap_or(0));
        (!fraction.is_nan()).then_some(Self { parts, text })
    }

    /// The part of the work that is done, from 0 to 1.
    #[must_use]
    pub fn fraction(&self) -> f64 {
        f64::from(self.parts) / PARTS
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// As a column has it: the fraction, a space, and the text.
    #[must_use]
    pub fn to_column(&self) -> String {
        format!("{} {}", self.fraction(), self.text)
    }

    /// Reads what [`to_column`](Self::to_column) has written; none if another program has damaged it.
    #[must_use]
    pub fn of_column(column: &str) -> Option<Self> {
        let (fraction, text) = column.split_once(' ')?;
        Self::new(fraction.parse().ok()?, text)
    }
}

impl Serialize for JobProgress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut progress = serializer.serialize_struct("JobProgress", 2)?;
        progress.serialize_field("fraction", &self.fraction())?;
        progress.serialize_field("text", &self.text)?;
        progress.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(fraction: f64, text: &str) -> Option<String> {
        JobProgress::new(fraction, text).map(|progress| progress.to_column())
    }

    #[test]
    fn a_progress_is_kept_within_its_bounds() {
        assert_eq!(kept(0.4, "page 3 of 7").as_deref(), Some("0.4 page 3 of 7"));
        assert_eq!(kept(1.0 / 3.0, "").as_deref(), Some("0.3333 "));
        assert_eq!(kept(-1.0, "a\0b"), Some(format!("0 {}", storable("a\0b"))));
        assert_eq!(kept(f64::INFINITY, "all").as_deref(), Some("1 all"));
        assert_eq!(kept(f64::NAN, "0 of 0"), None);
        let long = format!("!{}", "ü".repeat(PROGRESS_TEXT_MAX));
        let cut = JobProgress::new(0.0, &long).map(|progress| progress.text.len());
        assert_eq!(cut, Some(PROGRESS_TEXT_MAX - 1));
    }

    #[test]
    fn a_progress_is_read_as_it_was_written() {
        for parts in 0..=10_000 {
            let progress = JobProgress { parts, text: "a b\n".to_owned() };
            assert_eq!(JobProgress::of_column(&progress.to_column()), Some(progress));
        }
        for damaged in ["", "0.4", "x y", "NaN y"] {
            assert_eq!(JobProgress::of_column(damaged), None);
        }
    }
}
