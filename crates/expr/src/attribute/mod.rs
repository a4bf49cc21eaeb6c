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

mod parse;
mod table;
mod together;
mod words;

use std::error::Error;
use std::fmt::{self, Display};
use std::ops::Range;

pub use parse::default_burst;
pub use table::{Attribute, Kind, Role, Row};
pub use words::{DstGap, DstOverlap, Misfire, OnError, OnLost, OnPark, Overlap, Priority, Word};

/// The words of a flag.
const FLAG: &[&str] = &["true", "false"];

impl Attribute {
    /// The attribute as it is written in an annotation; a part of `retry(…)`, `limit(…)` or `each(…)` has a dot.
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
        self.is_limit()
            || matches!(
                self,
                Self::OnLost | Self::MisfireWindow | Self::Expires | Self::Queue | Self::Priority
            )
    }

    /// Returns true if it is a part of `limit(…)` or `each(…)`.
    #[must_use]
    pub fn is_limit(self) -> bool {
        matches!(self.group(), Some("limit" | "each"))
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

/// The kinds of rules by which a task fires.
///
/// ```
/// use scheduler_expr::RuleKind;
///
/// assert_eq!(RuleKind::FixedRate.name(), "fixed_rate");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RuleKind {
    /// By a cron expression.
    Cron,
    /// At a fixed rate.
    FixedRate,
    /// After a fixed delay.
    FixedDelay,
    /// Once, after a delay: `initial_delay` alone.
    Once,
    /// Once, at an instant.
    At,
    /// By a trigger of the program's own.
    Custom,
    /// By none: it runs durable jobs that code enqueues.
    Job,
    /// By none: the task is disabled, by the cron expression `-`, or without a rule.
    None,
}

impl RuleKind {
    /// All kinds but [`None`](Self::None).
    pub const ALL: &'static [Self] = &[
        Self::Cron,
        Self::FixedRate,
        Self::FixedDelay,
        Self::Once,
        Self::At,
        Self::Custom,
        Self::Job,
    ];

    /// The kind in one word: `cron`, `fixed_rate`, `fixed_delay`, `once`, `at`, `custom`, `job` or
    /// `none`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cron => "cron",
            Self::FixedRate => "fixed_rate",
            Self::FixedDelay => "fixed_delay",
            Self::Once => "once",
            Self::At => "at",
            Self::Custom => "custom",
            Self::Job => "job",
            Self::None => "none",
        }
    }

    /// The attribute that sets a rule of this kind, where it sets nothing else.
    #[must_use]
    pub const fn attribute(self) -> Option<Attribute> {
        match self {
            Self::Cron => Some(Attribute::Cron),
            Self::FixedRate => Some(Attribute::FixedRate),
            Self::FixedDelay => Some(Attribute::FixedDelay),
            Self::At => Some(Attribute::At),
            Self::Once | Self::Custom | Self::Job | Self::None => None,
        }
    }

    /// The kind of rule that an attribute sets.
    #[must_use]
    pub fn of(attribute: Attribute) -> Option<Self> {
        Self::ALL.iter().copied().find(|rule| rule.attribute() == Some(attribute))
    }
}

/// Why the text of an attribute is not one that it can take.
///
/// ```
/// use scheduler_expr::Attribute;
///
/// let error = Attribute::Overlap.check("skpi", None).unwrap_err();
/// assert_eq!(error.to_string(), "invalid `overlap`: unknown word `skpi`");
/// assert_eq!(error.help(), Some("did you mean `skip`?"));
///
/// let error = Attribute::Cron.check("0 0 25 * * *", None).unwrap_err();
/// assert_eq!(error.caret().as_deref(), Some("0 0 25 * * *\n    ^^ hour"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct AttributeError(Box<AttributeDetails>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct AttributeDetails {
    attribute: Attribute,
    reason: Wording,
    caret: Option<String>,
    help: Option<Wording>,
    is_about_text: bool,
}

impl AttributeError {
    fn new(attribute: Attribute, reason: Wording) -> Self {
        Self(Box::new(AttributeDetails {
            attribute,
            reason,
            caret: None,
            help: None,
            is_about_text: true,
        }))
    }

    /// The text is at fault.
    fn invalid(attribute: Attribute, reason: impl fmt::Display) -> Self {
        Self::new(attribute, Wording::new("invalid ").name(attribute).text(": ").text(reason))
    }

    fn with_caret(mut self, caret: impl Into<Option<String>>) -> Self {
        self.0.caret = caret.into();
        self
    }

    fn with_help(mut self, help: impl Into<Option<Wording>>) -> Self {
        self.0.help = help.into();
        self
    }

    /// The fault is that the attribute is there at all.
    fn about_presence(mut self) -> Self {
        self.0.is_about_text = false;
        self
    }

    /// Returns true if the attribute could stay with another text.
    #[must_use]
    pub fn is_about_text(&self) -> bool {
        self.0.is_about_text
    }

    /// The attribute whose text is at fault.
    #[must_use]
    pub fn attribute(&self) -> Attribute {
        self.0.attribute
    }

    /// The text to write instead.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_ref().map(Wording::as_str)
    }

    /// The message and the [help](Self::help) for a place that does not spell attributes as annotations do:
    /// `spell` is called with each attribute they mention, and with the value of an assignment.
    ///
    /// ```
    /// use scheduler_expr::Attribute;
    ///
    /// let error = Attribute::FixedRate.check("5", None).unwrap_err();
    /// assert_eq!(error.to_string(), "invalid `fixed_rate`: `5` has no unit");
    /// let (message, help) = error.spelled(&|attribute, value| match value {
    ///     None => attribute.name().replace('_', "-"),
    ///     Some(value) => format!("EVERY={value}"),
    /// });
    /// assert_eq!(message, "invalid `fixed-rate`: `5` has no unit");
    /// assert!(help.unwrap().starts_with("write `EVERY=5s` or `EVERY=5ms`"));
    /// ```
    #[must_use]
    pub fn spelled(
        &self,
        spell: &dyn Fn(Attribute, Option<&str>) -> String,
    ) -> (String, Option<String>) {
        let help = self.0.help.as_ref().map(|help| help.spelled(spell));
        (self.0.reason.spelled(spell), help)
    }

    /// Two lines: the text, and carets below the fault; none when the whole text is at fault.
    #[must_use]
    pub fn caret(&self) -> Option<String> {
        self.0.caret.clone()
    }
}

impl fmt::Display for AttributeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0.reason.as_str())
    }
}

impl fmt::Debug for AttributeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for AttributeError {}

/// A sentence in the spelling of annotations, and where it mentions attributes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Wording {
    text: String,
    mentions: Vec<Mention>,
}

/// An attribute in a sentence, between backticks.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mention {
    span: Range<usize>,
    attribute: Attribute,
    /// The value, if the sentence is about an assignment.
    value: Option<String>,
}

impl Wording {
    fn new(text: impl Display) -> Self {
        Self::default().text(text)
    }

    fn text(mut self, text: impl Display) -> Self {
        self.text.push_str(&text.to_string());
        self
    }

    /// The name of an attribute.
    fn name(self, attribute: Attribute) -> Self {
        self.mention(attribute, None, attribute.name())
    }

    /// The assignment of a value to an attribute, to be pasted.
    fn set(self, attribute: Attribute, value: &str) -> Self {
        let written = assignment(attribute.key(), value);
        self.mention(attribute, Some(value.to_owned()), &written)
    }

    fn mention(mut self, attribute: Attribute, value: Option<String>, written: &str) -> Self {
        let start = self.text.len() + 1;
        let span = start..start + written.len();
        self.mentions.push(Mention { span, attribute, value });
        self.text(format!("`{written}`"))
    }

    /// The sentence as annotations spell it.
    fn as_str(&self) -> &str {
        &self.text
    }

    /// The sentence with each mention as `spell` has it.
    fn spelled(&self, spell: &dyn Fn(Attribute, Option<&str>) -> String) -> String {
        let mut out = String::new();
        let mut at = 0;
        for Mention { span, attribute, value } in &self.mentions {
            out.push_str(&self.text[at..span.start]);
            out.push_str(&spell(*attribute, value.as_deref()));
            at = span.end;
        }
        out + &self.text[at..]
    }
}

/// Returns the assignment of a value to a key, as in annotations and TOML.
///
/// ```
/// use scheduler_expr::assignment;
///
/// assert_eq!(assignment("fixed_rate", "5s"), "fixed_rate = \"5s\"");
/// assert_eq!(assignment("max", "3"), "max = 3");
/// assert_eq!(assignment("enabled", "false"), "enabled = false");
/// ```
#[must_use]
pub fn assignment(key: &str, value: &str) -> String {
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    match value {
        "true" | "false" => format!("{key} = {value}"),
        _ if is_number => format!("{key} = {value}"),
        _ => format!("{key} = \"{value}\""),
    }
}

#[cfg(test)]
mod tests;
