//! The attributes of a scheduled task, with the same names in annotations, settings and environment.
//!
//! One table ([`table`]) has everything about each attribute. Beside it are the parsers of texts ([`parse`]), the
//! enums of words ([`words`]), and the checks of attributes against each other ([`together`]). The macro calls this
//! code when a program is compiled, and the facade when it starts, with the values of settings.
//!
//! Placeholders are resolved before, and the origin of a text does not matter here.
//!
//! # To add an attribute
//!
//! Write its row. The macro offers it, settings take it, and the dry run shows it, without another line.

mod error;
mod parse;
mod rule;
mod table;
#[cfg(test)]
mod tests;
mod together;
mod words;

use std::fmt;

use error::Wording;
pub use error::{AttributeError, assignment};
pub use rule::RuleKind;
pub use table::{Attribute, Kind, Role, Row};
pub use words::{DstGap, DstOverlap, Misfire, OnError, OnLost, Overlap, Priority, Word};

/// The words of a flag.
const FLAG: &[&str] = &["true", "false"];

impl Attribute {
    /// The attribute as it is written in an annotation; a part of `retry(…)` has a dot.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The last part of the name, which stands before `=`: `max` of `retry.max`.
    #[must_use]
    pub fn key(self) -> &'static str {
        let name = self.name();
        name.rsplit('.').next().unwrap_or(name)
    }

    /// The option around it in an annotation: `retry` of `retry.max`.
    #[must_use]
    pub fn group(self) -> Option<&'static str> {
        self.name().split_once('.').map(|(group, _)| group)
    }

    /// Returns true if its text is a duration, so that `time_unit` matters to it.
    #[must_use]
    pub fn is_duration(self) -> bool {
        matches!(self.row().kind, Kind::Period | Kind::Delay)
    }

    /// Returns true if it is about jobs in a store, so that only what is durable has it.
    ///
    /// ```
    /// use scheduler_expr::Attribute;
    ///
    /// assert!(Attribute::Queue.is_about_jobs());
    /// assert!(!Attribute::Durable.is_about_jobs());
    /// ```
    #[must_use]
    pub fn is_about_jobs(self) -> bool {
        matches!(self, Self::OnLost | Self::MisfireWindow | Self::Queue | Self::Priority)
    }

    /// The words that its text can be, the default first; empty for other attributes.
    #[must_use]
    pub fn words(self) -> &'static [&'static str] {
        match self.row().kind {
            Kind::Flag => FLAG,
            Kind::Words(words) => words,
            _ => &[],
        }
    }

    /// The attribute of this name; `-` and `_` are the same, as in settings files.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.replace('-', "_");
        Self::ALL.iter().copied().find(|attribute| attribute.name() == name)
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
