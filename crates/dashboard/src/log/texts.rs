//! The texts of a task's failures: each different one once, the latest few.

use std::collections::VecDeque;
use std::sync::Arc;

const TEXTS_MAX: usize = 8;
const TEXT_BYTES_MAX: usize = 400;

/// The latest different texts, the newest last.
#[derive(Debug, Default)]
pub(super) struct Texts(VecDeque<Arc<str>>);

impl Texts {
    /// Keeps a text. Returns it, and the one that it displaces.
    pub(super) fn keep(&mut self, text: &str) -> (Arc<str>, Option<Arc<str>>) {
        let text = cut(text);
        if let Some(known) = self.0.iter().find(|known| ***known == *text) {
            return (Arc::clone(known), None);
        }
        let displaced = if self.0.len() >= TEXTS_MAX { self.0.pop_front() } else { None };
        let text: Arc<str> = text.into();
        self.0.push_back(Arc::clone(&text));
        (text, displaced)
    }
}

/// The beginning of a text.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_one_and_the_oldest_goes() {
        let mut texts = Texts::default();
        let (first, _) = texts.keep("0");
        let (same, _) = texts.keep("0");
        assert!(Arc::ptr_eq(&first, &same));
        for number in 1..TEXTS_MAX {
            assert_eq!(texts.keep(&number.to_string()).1, None);
        }
        assert_eq!(texts.keep("one more").1.as_deref(), Some("0"));
        assert_eq!(cut(&"ü".repeat(300)).len(), 400);
        assert_eq!(cut(&format!("x{}", "ü".repeat(300))).len(), 399);
    }
}
