//! Names that a person gives, and the nearest of the known ones.

use crate::error::{ParseError, is_quotable, quoted};

/// Longer names fit into no line.
const BYTES_MAX: usize = 200;

/// Checks that a name can be found again in settings and messages: it has no blanks around it and
/// nothing in it that is not seen, is neither empty nor longer than 200 bytes, and can stand in an address.
///
/// ```
/// use scheduler_expr::check_name;
///
/// assert!(check_name("daily-report").is_ok());
/// let error = check_name(" daily-report").unwrap_err();
/// assert_eq!(error.to_string(), "has blanks around it");
/// assert_eq!(error.help(), Some("write `daily-report`"));
/// ```
///
/// # Errors
///
/// When it cannot. The error reads as the end of a sentence that begins with what is named.
pub fn check_name(name: &str) -> Result<(), ParseError> {
    let trimmed = name.trim();
    let reason = if trimmed.is_empty() {
        "is empty"
    } else if trimmed != name {
        "has blanks around it"
    } else if name.contains(is_control) {
        "has a control character in it"
    } else if name.len() > BYTES_MAX {
        "is longer than 200 bytes"
    } else if matches!(name, "." | "..") {
        // A browser takes it for a folder, also if it is escaped.
        "cannot be part of an address"
    } else {
        return Ok(());
    };
    let is_shown = trimmed != name && !trimmed.is_empty() && is_quotable(trimmed);
    let help = match name.chars().find(|c| is_unseen(*c)) {
        _ if is_shown => Some(format!("write {}", quoted(trimmed))),
        Some(unseen) => Some(format!("remove the character U+{:04X}", u32::from(unseen))),
        None => None,
    };
    Err(ParseError::new(0..name.len(), reason).within(name).with_help(help))
}

fn is_control(c: char) -> bool {
    c.is_control() || is_unseen(c)
}

/// Characters that leave no mark of their own, or turn the direction of writing: what is read is
/// then not what is there, and two names look the same.
///
/// They are those of Unicode's `Default_Ignorable_Code_Point`, line and paragraph separators, and the anchors
/// of annotations. Not the selectors U+FE00 to U+FE0F, which choose between a symbol and an emoji.
fn is_unseen(c: char) -> bool {
    matches!(
        c,
        '\u{AD}'
            | '\u{34F}'
            | '\u{61C}'
            | '\u{115F}'..='\u{1160}'
            | '\u{17B4}'..='\u{17B5}'
            | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}'
            | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{3164}'
            | '\u{FEFF}'
            | '\u{FFA0}'
            | '\u{FFF0}'..='\u{FFFB}'
            | '\u{1BCA0}'..='\u{1BCA3}'
            | '\u{1D173}'..='\u{1D17A}'
            | '\u{E0000}'..='\u{E0FFF}'
    )
}

/// The greatest number of letters in which a word may differ.
const SLIPS_MAX: usize = 2;

/// The greatest length of a word to be compared at all.
const LENGTH_MAX: usize = 128;

/// Finds the candidate that `word` was probably meant to be.
///
/// Case, underscores, hyphens and spaces do not count, so Spring's `fixedRate` finds `fixed_rate`;
/// after that, up to one wrong, missing, additional or exchanged letter in three is forgiven, and two
/// at most: a name that differs in more is another one. Of several that are equally near, the first is
/// taken.
///
/// ```
/// use scheduler_expr::nearest;
///
/// assert_eq!(nearest("fixedRate", ["cron", "fixed_rate"]), Some("fixed_rate"));
/// assert_eq!(nearest("corn", ["cron", "fixed_rate"]), Some("cron"));
/// assert_eq!(nearest("colour", ["cron", "fixed_rate"]), None);
/// assert_eq!(nearest("export-orders", ["poll-orders"]), None);
/// ```
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LENGTH_MAX {
        return None;
    }
    let word = letters(word);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= 2 * LENGTH_MAX)
        .map(|candidate| (distance(&word, &letters(candidate)), candidate))
        .filter(|(distance, _)| *distance <= (word.len() / 3).min(SLIPS_MAX))
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
    fn a_name_is_one_line_without_blanks_around_it() {
        for name in ["report", "...", "nightly report", "shop::jobs::report-2", "straße"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        assert_eq!(check_name(&"x".repeat(200)), Ok(()));
        for (name, reason, help) in [
            ("", "is empty", None),
            (" \t", "is empty", None),
            ("report ", "has blanks around it", Some("write `report`")),
            ("a\nb", "has a control character in it", None),
            ("a\u{202E}b", "has a control character in it", Some("remove the character U+202E")),
            (
                "\u{FEFF}report",
                "has a control character in it",
                Some("remove the character U+FEFF"),
            ),
            (".", "cannot be part of an address", None),
            ("..", "cannot be part of an address", None),
            (&"x".repeat(201), "is longer than 200 bytes", None),
        ] {
            let error = check_name(name).unwrap_err();
            assert_eq!((error.to_string().as_str(), error.help()), (reason, help), "{name:?}");
        }
    }
    #[test]
    fn a_name_has_nothing_in_it_that_is_not_seen() {
        for unseen in [
            '\u{AD}',
            '\u{34F}',
            '\u{61C}',
            '\u{1160}',
            '\u{180E}',
            '\u{200B}',
            '\u{200C}',
            '\u{200D}',
            '\u{200E}',
            '\u{2028}',
            '\u{202A}',
            '\u{2060}',
            '\u{2064}',
            '\u{2069}',
            '\u{206F}',
            '\u{3164}',
            '\u{FEFF}',
            '\u{FFF9}',
            '\u{E0001}',
            '\u{E0041}',
        ] {
            let error = check_name(&format!("re{unseen}port")).unwrap_err();
            assert_eq!(error.to_string(), "has a control character in it", "{unseen:?}");
            let help = format!("remove the character U+{:04X}", u32::from(unseen));
            assert_eq!(error.help(), Some(help.as_str()));
        }
        for name in ["Grüße", "e\u{301}te", "夜間レポート", "отчёт", "⚙\u{FE0F} sweep", "🧹"]
        {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
    }

    #[track_caller]
    fn check(word: &str, expected: Option<&str>) {
        let candidates = ["cron", "zone", "fixed_rate", "fixed_delay", "initial_delay", "name"];
        assert_eq!(nearest(word, candidates), expected);
    }

    #[test]
    fn finds_what_was_meant() {
        check("fixedRate", Some("fixed_rate"));
        check("FIXED-DELAY", Some("fixed_delay"));
        check("fixed_rte", Some("fixed_rate"));
        check("corn", Some("cron"));
        check("nmae", Some("name"));
        check("zon", Some("zone"));
        check("crron", Some("cron"));
    }

    #[test]
    fn finds_nothing_when_nothing_is_near() {
        check("fxd_dly", None);
        check("colour", None);
        check("c", None);
        check("nmaex", None); // a swap is a slip, and so is the letter
        assert_eq!(nearest("export-orders", ["poll-orders", "import-mail"]), None);
        assert_eq!(
            nearest("exprot-ordes", ["poll-orders", "export-orders"]),
            Some("export-orders")
        );
        check("", None);
        check(&"x".repeat(10_000), None);
    }

    #[test]
    fn never_compares_long_candidates() {
        let long = "x".repeat(10_000);
        assert_eq!(nearest("xxx", [long.as_str(), "xxxx"]), Some("xxxx"));
    }

    #[test]
    fn compares_words_up_to_the_limit() {
        let word = |length| "x".repeat(length);
        let candidate = word(LENGTH_MAX + SLIPS_MAX);
        assert_eq!(nearest(&word(LENGTH_MAX), [candidate.as_str()]), Some(candidate.as_str()));
        assert_eq!(nearest(&word(LENGTH_MAX + 1), [candidate.as_str()]), None);
        assert_eq!(nearest(&word(10_000), [candidate.as_str()]), None);
    }
}
