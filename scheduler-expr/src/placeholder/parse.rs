//! Reads a text into the parts of a template.

use std::ops::Range;

use super::{
    BYTES_MAX, Fault, LEVELS_MAX, ParseTemplateError, ParseTemplateErrorKind, Part, Template, plain,
};

const OPEN: &str = "${";
const ESCAPED_OPEN: &str = "\\${";

/// What begins an expression of Spring's language.
const SPRING_OPEN: &str = "#{";
const ESCAPED_SPRING_OPEN: &str = "\\#{";

impl Template {
    /// Reads a text that may have placeholders in it.
    ///
    /// # Errors
    ///
    /// When a placeholder is not closed or has no key, when placeholders are nested more than 32
    /// levels deep, when the text is longer than 1 MiB, or has an expression of Spring's language, `#{…}`.
    pub fn parse(text: &str) -> Result<Self, ParseTemplateError> {
        let parts = match text.len() {
            ..=BYTES_MAX => Reader { text, at: 0, level: 0 }.parts(&[]),
            length => fault(ParseTemplateErrorKind::TooLong, 0..length),
        };
        Ok(Self { parts: parts.map_err(|fault| ParseTemplateError::new(text, fault))? })
    }
}

/// Where the reader is in the text. It only moves forward, from one character to another.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    level: usize,
}

impl Reader<'_> {
    /// Reads up to the end of the text or one of `ends`, which stays unread.
    fn parts(&mut self, ends: &[char]) -> Result<Vec<Part>, Fault> {
        let mut parts = Vec::new();
        while let Some(next) = self.text[self.at..].chars().next() {
            if ends.contains(&next) {
                break;
            }
            if self.skip(ESCAPED_OPEN) {
                push_text(&mut parts, OPEN);
            } else if self.skip(ESCAPED_SPRING_OPEN) {
                push_text(&mut parts, SPRING_OPEN);
            } else if self.skip(OPEN) {
                parts.push(self.placeholder()?);
            } else if self.text[self.at..].starts_with(SPRING_OPEN) {
                let length = self.text[self.at..].find('}').map(|end| end + 1);
                let end = length.map_or(self.text.len(), |length| self.at + length);
                return fault(ParseTemplateErrorKind::SpringExpression, self.at..end);
            } else {
                let start = self.at;
                self.at += next.len_utf8();
                push_text(&mut parts, &self.text[start..self.at]);
            }
        }
        Ok(parts)
    }

    /// Reads a placeholder behind its `${`.
    fn placeholder(&mut self) -> Result<Part, Fault> {
        let start = self.at - OPEN.len();
        self.level += 1;
        if self.level > LEVELS_MAX {
            return fault(ParseTemplateErrorKind::TooDeep, start..self.at);
        }
        let key = self.parts(&[':', '}'])?;
        let end = (self.at + 1).min(self.text.len());
        let default = if self.skip(":") { Some(self.parts(&['}'])?) } else { None };
        if !self.skip("}") {
            return fault(ParseTemplateErrorKind::Unclosed, start..self.text.len());
        }
        if plain(&key).is_some_and(|key| key.trim().is_empty()) {
            return fault(ParseTemplateErrorKind::NoKey, start..end);
        }
        self.level -= 1;
        Ok(Part::Placeholder { key, default })
    }

    /// Moves behind `expected` if it comes next.
    fn skip(&mut self, expected: &str) -> bool {
        let found = self.text[self.at..].starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }
}

fn fault<T>(kind: ParseTemplateErrorKind, span: Range<usize>) -> Result<T, Fault> {
    Err(Fault { kind, span })
}

fn push_text(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        Some(Part::Text(last)) => last.push_str(text),
        _ => parts.push(Part::Text(text.to_owned())),
    }
}
