//! The names, texts and payloads that every store can keep.

use crate::column::{ColumnValue, NEW_JOB_COLUMNS};
use crate::command::{Command, PauseScope};
use crate::error::Refusal;
use crate::job::NewJob;
use crate::schedule::ScheduleSpec;

/// The greatest length of the name of a task, a queue or a schedule, and of a key, in bytes.
pub const NAME_MAX: usize = 250;
/// The greatest length of a payload, in bytes.
pub const PAYLOAD_MAX: usize = 16 << 20;

impl NewJob {
    /// Checks that every store can keep the job.
    ///
    /// # Errors
    ///
    /// A name, the key or the trace context is empty, one of them or the partition is too long, or has a NUL, which PostgreSQL cannot keep; or the payload is too long.
    pub fn check(&self) -> Result<(), Refusal> {
        for column in &NEW_JOB_COLUMNS {
            match (column.get)(self) {
                ColumnValue::Text(text) if column.may_be_empty && text.is_empty() => {}
                ColumnValue::Text(text) => check_name(column.name, &text)?,
                _ => {}
            }
        }
        payload(&self.payload.bytes)
    }
}

impl ScheduleSpec {
    /// Checks that every store can keep the schedule.
    ///
    /// # Errors
    ///
    /// As [`NewJob::check`].
    pub fn check(&self) -> Result<(), Refusal> {
        check_name("schedule", &self.name)?;
        check_name("task", &self.task)?;
        check_name("queue", &self.queue)?;
        if let Some(partition) = self.partition.as_deref().filter(|text| !text.is_empty()) {
            check_name("partition", partition)?;
        }
        long_text("rule", &self.rule.text)?;
        long_text("calculator", &self.calculator)?;
        payload(&self.payload.bytes)
    }
}

impl Command {
    /// Checks that every store can keep what the command says.
    ///
    /// # Errors
    ///
    /// As [`NewJob::check`].
    pub fn check(&self) -> Result<(), Refusal> {
        match self {
            Self::Put { definition } => definition.check(),
            Self::PauseJobs { scope: PauseScope::Partition(task, partition), .. } => {
                check_name("task", task)?;
                if partition.is_empty() { Ok(()) } else { check_name("partition", partition) }
            }
            Self::PauseJobs { scope, .. } => check_name(scope.word(), &scope.name()),
            Self::SetLimit { task, .. } => check_name("task", task),
            Self::Reschedule { rule: Some(rule), .. } => long_text("rule", &rule.text),
            Self::Edit { payload: new, .. } => payload(&new.bytes),
            _ => Ok(()),
        }
    }
}

/// Checks that every store can keep a name.
///
/// # Errors
///
/// It is empty, too long, or has a NUL.
pub fn check_name(field: &'static str, text: &str) -> Result<(), Refusal> {
    match text.len() {
        0 => Err(unstorable(field, "it is empty")),
        1..=NAME_MAX => long_text(field, text),
        long => Err(unstorable(
            field,
            &format!("it has {long} bytes, and at most {NAME_MAX} are allowed"),
        )),
    }
}

fn long_text(field: &'static str, text: &str) -> Result<(), Refusal> {
    match (text.contains('\0'), text.len() > TEXT_MAX) {
        (true, _) => Err(unstorable(field, "it has a NUL character, which no store keeps")),
        (_, true) => Err(unstorable(field, &format!("it has more than {TEXT_MAX} bytes"))),
        _ => Ok(()),
    }
}

fn payload(bytes: &[u8]) -> Result<(), Refusal> {
    if bytes.len() > PAYLOAD_MAX {
        let reason = format!("it has {} bytes, and at most {PAYLOAD_MAX} are allowed", bytes.len());
        return Err(unstorable("payload", &reason));
    }
    Ok(())
}

fn unstorable(field: &'static str, reason: &str) -> Refusal {
    Refusal::Unstorable { field, reason: reason.to_owned() }
}

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
