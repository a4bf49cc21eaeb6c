//! What the user reads: all faults of one annotation together, each at its own token.
//!
//! A message is lower case, without a final stop, with the user's words in backticks; the remedy
//! follows a semicolon or stands on a line of its own, ready to be pasted. No fault is ever placed
//! at `Span::call_site()`: rustc would then add a remark about the macro itself.

use std::ops::Range;

use quote::ToTokens;

/// The faults found so far.
#[derive(Default)]
pub(crate) struct Faults {
    all: Option<syn::Error>,
}

impl Faults {
    /// Adds a fault that is seen at `tokens`.
    pub(crate) fn push(&mut self, tokens: impl ToTokens, message: impl std::fmt::Display) {
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

/// How many characters are shown on either side of the marked part of a long text.
const CONTEXT: usize = 32;

/// Repeats `text` on a line of its own and marks the bytes of `fault` on the next one.
///
/// Stable rustc cannot underline a part of a string literal. A long text is cut to the surroundings
/// of the fault, and control characters are shown as in source code. An empty range marks the place
/// where something is missing, and a range outside of the text is moved to its end.
pub(crate) fn caret_lines(text: &str, fault: Range<usize>) -> String {
    let start = floor_boundary(text, fault.start);
    let end = floor_boundary(text, fault.end.max(start));
    let (before, rest) = text.split_at(start);
    let (marked, after) = rest.split_at(end - start);

    let before = printable(before);
    let marked = printable(marked);
    let after = printable(after);

    let mut line = String::new();
    let skipped = before.chars().count().saturating_sub(CONTEXT);
    if skipped > 0 {
        line.push('…');
    }
    line.extend(before.chars().skip(skipped));
    let indent = line.chars().count();
    line.extend(marked.chars().take(2 * CONTEXT));
    let width = line.chars().count() - indent;
    if marked.chars().count() > width {
        line.push('…');
    } else {
        line.extend(after.chars().take(CONTEXT));
        if after.chars().count() > CONTEXT {
            line.push('…');
        }
    }
    format!("    {line}\n    {}{}", " ".repeat(indent), "^".repeat(width.max(1)))
}

fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
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
            let mut cost =
                (last[j] + usize::from(ca != cb)).min(last[j + 1] + 1).min(row[j] + 1);
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

    #[track_caller]
    fn check_caret(text: &str, fault: Range<usize>, expected: [&str; 2]) {
        let [text_line, caret_line] = expected;
        assert_eq!(caret_lines(text, fault), format!("    {text_line}\n    {caret_line}"));
    }

    #[test]
    fn marks_the_fault_below_the_text() {
        check_caret("0 0 25 * * *", 4..6, ["0 0 25 * * *", "    ^^"]);
        check_caret("5x", 1..2, ["5x", " ^"]);
        check_caret("", 0..0, ["", "^"]);
        check_caret("5", 1..1, ["5", " ^"]);
        check_caret("ä25", 2..4, ["ä25", " ^^"]);
        check_caret("a\tb\n", 2..3, ["a\\tb\\n", "   ^"]);
    }

    #[test]
    fn survives_ranges_that_do_not_fit_the_text() {
        check_caret("5", 7..9, ["5", " ^"]);
        check_caret("ä", 1..1, ["ä", "^"]);
        check_caret("abc", 2..usize::MAX, ["abc", "  ^"]);
    }

    #[test]
    fn cuts_a_long_text() {
        let long = format!("{}X{}", "a".repeat(5000), "b".repeat(5000));
        let a = "a".repeat(CONTEXT);
        let b = "b".repeat(CONTEXT);
        let indent = " ".repeat(CONTEXT + 1);
        check_caret(&long, 5000..5001, [&format!("…{a}X{b}…"), &format!("{indent}^")]);
        let all = format!("{}…", "a".repeat(2 * CONTEXT));
        check_caret(&long, 0..10_001, [&all, &"^".repeat(2 * CONTEXT)]);
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
