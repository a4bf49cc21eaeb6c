//! Texts for people, as every store can keep them.

/// The greatest length of the text of an error or a reason, in bytes; longer ones are cut.
pub const TEXT_MAX: usize = 16 << 10;

/// An identifier that is made of a name: lower-case letters, digits and underscores.
#[must_use]
pub fn identifier(name: &str) -> String {
    let plain = |letter: char| match letter.to_ascii_lowercase() {
        letter if letter.is_ascii_alphanumeric() => letter,
        _ => '_',
    };
    let text: String = name.chars().map(plain).take(40).collect();
    match text.starts_with(|first: char| first.is_ascii_lowercase()) {
        true => text,
        false => format!("app_{text}"),
    }
}

/// A text for people as every store can keep it: cut to [`TEXT_MAX`], with NUL replaced.
#[must_use]
pub fn storable(text: &str) -> String {
    let mut end = text.len().min(TEXT_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].replace('\0', "\u{FFFD}")
}

#[cfg(test)]
mod tests {
    use super::identifier;

    #[test]
    fn every_name_makes_an_identifier() {
        for (name, wanted) in [
            ("shop", "shop"),
            ("Shop-Worker 2", "shop_worker_2"),
            ("2nd", "app_2nd"),
            ("", "app_"),
            ("über", "app__ber"),
        ] {
            assert_eq!(identifier(name), wanted);
        }
        assert_eq!(identifier(&"a".repeat(300)).len(), 40);
    }
}
