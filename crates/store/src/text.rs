//! Texts for people, as every store can keep them.

/// The greatest length of the text of an error or a reason, in bytes; longer ones are cut.
pub const TEXT_MAX: usize = 16 << 10;

/// A text for people as every store can keep it: cut to [`TEXT_MAX`], with NUL replaced.
#[must_use]
pub fn storable(text: &str) -> String {
    let mut end = text.len().min(TEXT_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].replace('\0', "\u{FFFD}")
}
