//! Errors that differ only in their numbers and identities, as one pattern.

/// The most characters of a pattern.
const CHARS_MAX: usize = 160;
/// A word so long that has a digit is an identity.
const IDENTITY_CHARS_MIN: usize = 16;
const PART_CHARS_MIN: usize = 8;

/// Returns the first line of an error, with `*` in place of numbers and identities.
pub(crate) fn pattern_of(error: &str) -> String {
    let line = error.lines().next().unwrap_or_default();
    let cut: String = line.chars().take(CHARS_MAX).collect();
    let is_of_word = |letter: char| letter.is_alphanumeric() || letter == '-' || letter == '_';
    let identity = |word: &str| is_numbered(word) && word.len() >= IDENTITY_CHARS_MIN;
    let text = replaced(&cut, is_of_word, identity);
    let starts_with_digit = |word: &str| word.starts_with(|letter: char| letter.is_ascii_digit());
    let number =
        |word: &str| starts_with_digit(word) || is_numbered(word) && word.len() >= PART_CHARS_MIN;
    replaced(&text, char::is_alphanumeric, number)
}

/// Returns true if a text has the parts of a pattern in their order; `*` stands for any text. Case does not matter.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.to_lowercase(), text.to_lowercase());
    let mut rest = &*text;
    pattern.split('*').all(|part| match rest.split_once(part) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

fn is_numbered(word: &str) -> bool {
    word.contains(|letter: char| letter.is_ascii_digit())
}

/// Replaces the words for which this is true by `*`.
fn replaced(
    text: &str,
    is_of_word: fn(char) -> bool,
    is_replaced: impl Fn(&str) -> bool,
) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_of_word) {
        let (before, after) = rest.split_at(start);
        let end = after.find(|letter| !is_of_word(letter)).unwrap_or(after.len());
        let (word, left) = after.split_at(end);
        out.push_str(before);
        out.push_str(if is_replaced(word) { "*" } else { word });
        rest = left;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_differ_in_numbers_have_one_pattern_which_matches_them() {
        for (error, pattern) in [
            ("cannot decode image 17.png", "cannot decode image *.png"),
            ("order 550e8400-e29b-41d4-a716-446655440000 is unknown", "order * is unknown"),
            ("utf8 of web-1:\nline 2", "utf8 of web-*:"),
            ("no number", "no number"),
            ("", ""),
        ] {
            assert_eq!(pattern_of(error), pattern);
            assert!(matches(pattern, error), "{pattern} {error}");
        }
    }

    #[test]
    fn the_parts_of_a_pattern_come_in_their_order() {
        assert!(matches("DECODE", "cannot decode image"));
        assert!(matches("cannot*image", "it cannot decode image 4"));
        assert!(!matches("image*cannot", "it cannot decode image 4"));
        assert!(matches("", "anything"));
    }
}
