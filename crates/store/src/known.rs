//! The newest answer to a question that is asked again and again.

/// The value of the newest answer: of two answers the one counts that was asked for later, and none counts that was asked for
/// before a change of one's own.
#[derive(Debug, Default)]
pub struct Known<T> {
    asked: u64,
    answered: u64,
    value: T,
}

impl<T> Known<T> {
    /// To be called before the question is sent: its number.
    pub fn ask(&mut self) -> u64 {
        self.asked += 1;
        self.asked
    }

    /// Returns true if an answer is awaited that would count.
    #[must_use]
    pub const fn is_asked(&self) -> bool {
        self.asked > self.answered
    }

    /// The value, to be replaced by the answer to this question; none if something newer is known.
    pub fn answer(&mut self, question: u64) -> Option<&mut T> {
        (question > self.answered).then(|| {
            self.answered = question;
            &mut self.value
        })
    }

    /// The value, to be changed by what was done just now.
    pub fn change(&mut self) -> &mut T {
        self.asked += 1;
        self.answered = self.asked;
        &mut self.value
    }

    /// The value.
    pub const fn get(&self) -> &T {
        &self.value
    }

    /// The value, for what no answer says.
    pub const fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_unless_something_newer_is_known() {
        let mut known = Known::<u8>::default();
        let take = |known: &mut Known<u8>, question, value| {
            known.answer(question).map(|known| *known = value).is_some()
        };
        assert!(!known.is_asked());
        let (first, second) = (known.ask(), known.ask());
        assert!(take(&mut known, second, 2) && !known.is_asked());
        assert!(!take(&mut known, first, 1), "it was asked before the other");
        let third = known.ask();
        assert!(known.is_asked());
        *known.change() = 7;
        assert!(!take(&mut known, third, 3), "it was asked before the change");
        assert_eq!((*known.get(), known.is_asked()), (7, false));
    }
}
