//! A sentence that mentions attributes, whose spelling depends on the place.

use std::fmt::Display;
use std::ops::Range;

use super::Attribute;

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

    /// What sets an attribute to a value, to be pasted.
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

/// What sets a key to a value, as annotations and TOML have it.
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
