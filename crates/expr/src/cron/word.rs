//! The words of an expression, each with its place in the text.

/// A part of the text, and the byte at which it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl<'a> Word<'a> {
    pub(super) fn span(self) -> std::ops::Range<usize> {
        self.at..self.at + self.text.len()
    }

    /// The parts before and after the first `separator`.
    pub(super) fn split_once(self, separator: char) -> Option<(Self, Self)> {
        let (before, after) = self.text.split_once(separator)?;
        let at = self.at + before.len() + separator.len_utf8();
        Some((Self { text: before, at: self.at }, Self { text: after, at }))
    }

    /// The parts between the `separator`s.
    pub(super) fn split(self, separator: char) -> impl Iterator<Item = Self> + use<'a> {
        let mut at = self.at;
        self.text.split(separator).map(move |text| {
            let word = Self { text, at };
            at += text.len() + separator.len_utf8();
            word
        })
    }

    /// Without the last `count` bytes.
    pub(super) fn without_last(self, count: usize) -> Self {
        Self { text: &self.text[..self.text.len() - count], at: self.at }
    }
}

/// The fields of an expression that begins and ends with one.
pub(super) fn words(whole: Word<'_>) -> impl Iterator<Item = Word<'_>> {
    whole.split(' ').filter(|word| !word.text.is_empty())
}

/// Returns true if a character may surround an expression.
pub(super) fn is_outer_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

/// Returns true if a text begins with the zone of a crontab line.
pub(super) fn has_zone_prefix(text: &str) -> bool {
    text.starts_with("TZ=") || text.starts_with("CRON_TZ=")
}
