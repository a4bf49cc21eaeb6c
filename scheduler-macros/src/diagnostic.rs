//! What the user reads: all faults of one annotation together, each at its own token.
//!
//! A message is lower case, without a final stop, with the user's words in backticks; the remedy
//! follows a semicolon or stands on a line of its own, ready to be pasted. No fault is ever placed
//! at `Span::call_site()`: rustc would then add a remark about the macro itself.

use std::fmt::Display;

use quote::ToTokens;

/// The faults found so far.
#[derive(Default)]
pub(crate) struct Faults {
    all: Option<syn::Error>,
}

impl Faults {
    /// Adds a fault that is seen at `tokens`.
    pub(crate) fn push(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.append(Self { all: Some(syn::Error::new_spanned(tokens, message)) });
    }

    /// Adds the faults of another collection.
    pub(crate) fn append(&mut self, other: Self) {
        match (&mut self.all, other.all) {
            (Some(all), Some(more)) => all.combine(more),
            (none @ None, more) => *none = more,
            (Some(_), None) => {}
        }
    }

    /// Whether nothing was found.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_none()
    }

    /// The code that makes rustc report them.
    pub(crate) fn to_tokens(&self) -> proc_macro2::TokenStream {
        self.all.as_ref().map(syn::Error::to_compile_error).unwrap_or_default()
    }
}

/// A message of several lines: what is wrong, the place inside of the text, and the remedy.
///
/// Stable rustc cannot underline a part of a string literal, so `caret` repeats the text and marks
/// the part below it. Rustc indents the lines of a message evenly, which keeps the two in line.
pub(crate) fn remedy(fault: &impl Display, caret: Option<&str>, help: Option<&str>) -> String {
    let mut message = fault.to_string();
    for line in caret.into_iter().flat_map(str::lines) {
        message.push_str("\n    ");
        message.push_str(line);
    }
    if let Some(help) = help {
        message.push('\n');
        message.push_str(help);
    }
    message
}

/// How many characters of a word are repeated in a message.
const WORD: usize = 40;

/// The word itself, or the beginning of a long one.
pub(crate) fn shorten(word: &str) -> String {
    let mut shown: String = word.chars().take(WORD).flat_map(char::escape_debug).collect();
    if word.chars().nth(WORD).is_some() {
        shown.push('…');
    }
    shown
}

/// The candidate that `word` was probably meant to be.
///
/// Case, underscores and hyphens do not count, so Spring's `fixedRate` finds `fixed_rate`; after
/// that, up to one wrong, missing, additional or exchanged letter in three is forgiven.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word = letters(word);
    if word.len() > 64 {
        return None;
    }
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, &letters(candidate)), candidate))
        .filter(|(distance, _)| *distance <= word.len() / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn letters(word: &str) -> Vec<char> {
    word.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

/// The number of edits from `a` to `b`; an exchange of neighbours counts as one.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, cb) in b.iter().enumerate() {
            let mut cost = (last[j] + usize::from(ca != cb)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *ca == b[j - 1] && a[i - 1] == *cb {
                cost = cost.min(before_last[j - 1] + 1);
            }
            row.push(cost);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn puts_place_and_remedy_below_the_fault() {
        assert_eq!(remedy(&"wrong", None, None), "wrong");
        let message = remedy(&"wrong", Some("0 25\n  ^^ hour"), Some("write `0`"));
        assert_eq!(message, "wrong\n    0 25\n      ^^ hour\nwrite `0`");
    }

    #[test]
    fn shortens_a_long_word() {
        assert_eq!(shorten("report"), "report");
        assert_eq!(shorten(&"x".repeat(40)), "x".repeat(40));
        assert_eq!(shorten(&"ä".repeat(10_000)), format!("{}…", "ä".repeat(40)));
        assert_eq!(shorten("a\tb"), "a\\tb");
    }

    #[track_caller]
    fn check_nearest(word: &str, expected: Option<&str>) {
        let candidates = ["cron", "zone", "fixed_rate", "fixed_delay", "initial_delay", "name"];
        assert_eq!(nearest(word, candidates), expected);
    }

    #[test]
    fn finds_what_was_meant() {
        check_nearest("fixedRate", Some("fixed_rate"));
        check_nearest("FIXED-DELAY", Some("fixed_delay"));
        check_nearest("fixed_rte", Some("fixed_rate"));
        check_nearest("corn", Some("cron"));
        check_nearest("nmae", Some("name"));
        check_nearest("zon", Some("zone"));
        check_nearest("fxd_dly", None);
        check_nearest("colour", None);
        check_nearest("c", None);
        check_nearest("", None);
        check_nearest(&"x".repeat(10_000), None);
    }
}
