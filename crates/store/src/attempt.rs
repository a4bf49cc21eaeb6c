//! Attempts of a job that did not succeed, and their text in a column.

use crate::text::storable;
use crate::time::StoreTime;

/// The number of attempts that a store keeps of a job: the last ones.
pub const ATTEMPTS_MAX: usize = 10;
/// The greatest length of the error of an attempt, and of the name of its process, in characters.
pub const ATTEMPT_TEXT_MAX: usize = 500;

/// Between the fields of an attempt, and between attempts.
const FIELD: char = '\u{1F}';
const RECORD: char = '\u{1E}';

/// An attempt of a job that did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct JobAttempt {
    /// The number of the attempt, from 1. One that the store did not count has the number of the next.
    pub number: u32,
    /// When it was claimed.
    pub started_at: StoreTime,
    /// When the store learned that it has ended.
    pub ended_at: StoreTime,
    /// The end.
    pub outcome: AttemptOutcome,
    /// The name of the process for people; empty if the store no longer knew it.
    pub node: String,
    /// The error, perhaps cut.
    pub error: String,
}

/// The end of an attempt that did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AttemptOutcome {
    /// It failed.
    Failed,
    /// It failed, and has given up whatever attempts were left.
    GaveUp,
    /// Its process died, or lost its session.
    Lost,
    /// The payload could not be decoded. It does not count.
    Undecodable,
}

impl JobAttempt {
    /// An attempt that began and ended then, of an unknown process and without an error.
    #[must_use]
    pub fn new(
        number: u32,
        started_at: StoreTime,
        ended_at: StoreTime,
        outcome: AttemptOutcome,
    ) -> Self {
        Self { number, started_at, ended_at, outcome, node: String::new(), error: String::new() }
    }
}

impl AttemptOutcome {
    /// All outcomes.
    const ALL: [Self; 4] = [Self::Failed, Self::GaveUp, Self::Lost, Self::Undecodable];

    /// The word that stores keep and people read.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::GaveUp => "gave_up",
            Self::Lost => "lost",
            Self::Undecodable => "undecodable",
        }
    }
}

/// A text that is no part of the form of the column.
pub(crate) fn short(text: &str) -> String {
    let plain = |letter| if matches!(letter, FIELD | RECORD) { ' ' } else { letter };
    storable(text).chars().map(plain).take(ATTEMPT_TEXT_MAX).collect()
}

/// Attempts as the text of a column; none if there are none.
#[must_use]
pub fn attempts_to_text(attempts: &[JobAttempt]) -> Option<String> {
    let text = |attempt: &JobAttempt| {
        let JobAttempt { number, started_at, ended_at, outcome, node, error } = attempt;
        let times = [started_at.as_micros().to_string(), ended_at.as_micros().to_string()];
        let [started, ended] = &times;
        let fields = [&number.to_string(), started, ended, outcome.word(), node, error];
        fields.join(&FIELD.to_string())
    };
    let texts: Vec<String> = attempts.iter().map(text).collect();
    (!texts.is_empty()).then(|| texts.join(&RECORD.to_string()))
}

/// Reads what [`attempts_to_text`] has written. Attempts that another program has damaged are left out.
#[must_use]
pub fn attempts_of_text(text: &str) -> Vec<JobAttempt> {
    text.split(RECORD).filter_map(attempt_of).collect()
}

fn attempt_of(text: &str) -> Option<JobAttempt> {
    let mut fields = text.split(FIELD);
    let mut next = || fields.next();
    let number = next()?.parse().ok()?;
    let time = |text: &str| {
        let micros = text.parse().ok()?;
        let times = StoreTime::MIN.as_micros()..=StoreTime::MAX.as_micros();
        times.contains(&micros).then(|| StoreTime::from_micros(micros))
    };
    let (started_at, ended_at) = (time(next()?)?, time(next()?)?);
    let word = next()?;
    let outcome = AttemptOutcome::ALL.into_iter().find(|outcome| outcome.word() == word)?;
    let (node, error) = (next()?.to_owned(), next()?.to_owned());
    Some(JobAttempt { number, started_at, ended_at, outcome, node, error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_read_as_they_were_written() {
        let attempt = |number, error: &str| JobAttempt {
            number,
            started_at: StoreTime::from_micros(-7),
            ended_at: StoreTime::MAX,
            outcome: AttemptOutcome::Undecodable,
            node: String::new(),
            error: short(error),
        };
        let long = "é".repeat(ATTEMPT_TEXT_MAX + 1);
        let attempts = [attempt(1, "a\u{1F}b\u{1E}c\n"), attempt(2, ""), attempt(u32::MAX, &long)];
        assert_eq!(attempts[0].error, "a b c\n");
        assert_eq!(attempts[2].error.chars().count(), ATTEMPT_TEXT_MAX);
        let text = attempts_to_text(&attempts).expect("there are some");
        assert_eq!(attempts_of_text(&text), attempts);
        assert_eq!((attempts_to_text(&[]), attempts_of_text("")), (None, Vec::new()));
        let damaged = format!("{}\u{1E}1\u{1F}x\u{1E}{}", &text[..9], text);
        assert_eq!(attempts_of_text(&damaged), attempts);
    }
}
