//! Foreign texts in messages.

/// The most characters of a name or value that are shown.
const SHOWN_MAX: usize = 200;

/// A foreign text on one line: control characters are escaped, and long texts are cut.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == SHOWN_MAX {
            out.push('…');
            break;
        }
        match c {
            '"' | '\'' | '\\' => out.push(c),
            _ => out.extend(c.escape_debug()),
        }
    }
    out
}

/// A foreign text in backticks.
pub(crate) fn word(text: &str) -> String {
    format!("`{}`", visible(text))
}

/// Returns true if a part of a key needs no quotes in TOML.
pub(crate) fn is_bare(part: &str) -> bool {
    !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// A list in a sentence: `a`, `b` or `c`.
pub(crate) fn either(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [head @ .., last] => format!("{} or {last}", head.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_texts_stay_on_one_line() {
        assert_eq!(word("a\nERROR\x1b[2J\u{202E}"), "`a\\nERROR\\u{1b}[2J\\u{202e}`");
        assert_eq!(word("say \"hi\""), "`say \"hi\"`");
        assert_eq!(visible(&"x".repeat(10_000)).chars().count(), SHOWN_MAX + 1);
    }

    #[test]
    fn lists_are_read_aloud() {
        let words = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(either(&words), "a, b or c");
        assert_eq!(either(&words[..1]), "a");
    }
}
