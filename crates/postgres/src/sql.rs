//! The statements, with the name of the schema in them. No other text is ever joined into a statement.

use scheduler_store::{NAME_MAX, PAYLOAD_MAX};

/// How long the name of a schema may be: PostgreSQL cuts names at 63 bytes, and a channel adds some.
const SCHEMA_MAX: usize = 50;

/// The columns of a job, in the order in which [`crate::job`] reads them, with their types.
const JOB: [(&str, &str); 24] = [
    ("id", "uuid"),
    ("task", "text"),
    ("payload", "bytea"),
    ("payload_version", "bigint"),
    ("queue", "text"),
    ("priority", "smallint"),
    ("key", "text"),
    ("state", "text"),
    ("run_at", "timestamptz"),
    ("attempt", "integer"),
    ("lost", "integer"),
    ("undecoded", "integer"),
    ("max_attempts", "bigint"),
    ("is_abandoned", "boolean"),
    ("fence", "bigint"),
    ("session", "uuid"),
    ("schedule", "text"),
    ("tick", "timestamptz"),
    ("missed", "bigint"),
    ("is_cancel_requested", "boolean"),
    ("created_at", "timestamptz"),
    ("started_at", "timestamptz"),
    ("finished_at", "timestamptz"),
    ("error", "text"),
];

/// The conditions of the ranges from which jobs `j` are claimed, each of which one index answers: a line `l` of all queues and
/// one of one queue, of plain jobs and of others. They are written as the conditions of those indexes are.
const RANGES: [(&str, &str); 4] = [
    (
        "{plain}",
        "j.state = 'ready' and j.lost = 0 and not j.is_abandoned and j.task = l.task and j.priority = l.priority",
    ),
    (
        "{plain_of_queue}",
        "j.state = 'ready' and j.lost < 1 and not j.is_abandoned and j.task = l.task and j.queue = l.queue \
         and j.priority = l.priority",
    ),
    (
        "{special}",
        "j.state = 'ready' and (j.lost >= 1 or j.is_abandoned) and j.task = l.task and j.priority = l.priority \
         and j.is_abandoned::integer + 2 * (j.lost > 0)::integer = l.kind",
    ),
    (
        "{special_of_queue}",
        "j.state = 'ready' and (j.lost > 0 or j.is_abandoned) and j.task = l.task and j.queue = l.queue \
         and j.priority = l.priority and j.is_abandoned::integer + 2 * (j.lost > 0)::integer = l.kind",
    ),
];

/// A schema: a checked identifier.
#[derive(Clone, Debug)]
pub(crate) struct Schema(String);

impl Schema {
    /// Returns none unless the name is a plain lower-case identifier.
    pub(crate) fn new(name: &str) -> Option<Self> {
        let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
        let is_identifier = (1..=SCHEMA_MAX).contains(&name.len())
            && name.bytes().all(is_plain)
            && !name.as_bytes()[0].is_ascii_digit()
            && !name.starts_with("pg_");
        is_identifier.then(|| Self(name.to_owned()))
    }

    pub(crate) fn name(&self) -> &str {
        &self.0
    }

    /// The channel of the notifications.
    pub(crate) fn channel(&self) -> String {
        format!("{}_nudge", self.0)
    }

    /// A statement of this crate, with the schema and the lists of columns in it.
    pub(crate) fn sql(&self, template: &str) -> String {
        let columns: Vec<_> = JOB.iter().map(|(name, _)| format!("job.{name}")).collect();
        let types: Vec<_> = JOB.iter().map(|(name, kind)| format!("{name} {kind}")).collect();
        let names: Vec<_> = JOB.iter().map(|(name, _)| *name).collect();
        let ranges = RANGES.iter().fold(template.to_owned(), |text, (name, range)| {
            if text.contains(name) { text.replace(name, range) } else { text }
        });
        ranges
            .replace("{s}", &format!("\"{}\"", self.0))
            .replace("{channel}", &self.channel())
            .replace("{job_columns}", &columns.join(", "))
            .replace("{job_types}", &types.join(", "))
            .replace("{job_names}", &names.join(", "))
            .replace("{name_max}", &NAME_MAX.to_string())
            .replace("{payload_max}", &PAYLOAD_MAX.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::Schema;

    #[test]
    fn only_plain_identifiers_are_schemas() {
        for name in ["scheduler", "_a", "tenant_17", "select"] {
            assert!(Schema::new(name).is_some(), "{name}");
        }
        for name in ["", "1a", "Ab", "a b", "a\"b", "a;--", "ä", "pg_x", &"a".repeat(51)] {
            assert!(Schema::new(name).is_none(), "{name}");
        }
    }
}
