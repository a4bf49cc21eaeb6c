//! The error of an attribute.

use std::error::Error;
use std::fmt::{self, Display};
use std::ops::Range;

use super::Attribute;

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
pub struct AttributeError(Box<Details>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    attribute: Attribute,
    reason: Wording,
    caret: Option<String>,
    help: Option<Wording>,
    is_about_text: bool,
}

impl AttributeError {
    pub(super) fn new(attribute: Attribute, reason: Wording) -> Self {
        Self(Box::new(Details { attribute, reason, caret: None, help: None, is_about_text: true }))
    }

    /// The text is at fault.
    pub(super) fn invalid(attribute: Attribute, reason: impl fmt::Display) -> Self {
        Self::new(attribute, Wording::new("invalid ").name(attribute).text(": ").text(reason))
    }

    pub(super) fn with_caret(mut self, caret: impl Into<Option<String>>) -> Self {
        self.0.caret = caret.into();
        self
    }

    pub(super) fn with_help(mut self, help: impl Into<Option<Wording>>) -> Self {
        self.0.help = help.into();
        self
    }

    /// The fault is that the attribute is there at all.
    pub(super) fn about_presence(mut self) -> Self {
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
pub(super) struct Wording {
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
    pub(super) fn new(text: impl Display) -> Self {
        Self::default().text(text)
    }

    pub(super) fn text(mut self, text: impl Display) -> Self {
        self.text.push_str(&text.to_string());
        self
    }

    /// The name of an attribute.
    pub(super) fn name(self, attribute: Attribute) -> Self {
        self.mention(attribute, None, attribute.name())
    }

    /// The assignment of a value to an attribute, to be pasted.
    pub(super) fn set(self, attribute: Attribute, value: &str) -> Self {
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
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// The sentence with each mention as `spell` has it.
    pub(super) fn spelled(&self, spell: &dyn Fn(Attribute, Option<&str>) -> String) -> String {
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
