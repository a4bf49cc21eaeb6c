//! The statements, with the name of the schema in them.
//!
//! No other text is ever joined into a statement.

use scheduler_store::{ATTEMPT_TEXT_MAX, ATTEMPTS_MAX, CLAIM_BYTES_MAX, NAME_MAX, PAYLOAD_MAX};

use crate::inline::expand;

/// The greatest length of the name of a schema: PostgreSQL cuts names at 63 bytes, and a channel adds some.
const SCHEMA_MAX: usize = 50;

/// The entries of the index of ready jobs that each poll may read to find its lines, beside [`LINE_READS`] for each line: some
/// 0.7 ms.
const WALK_CHEAP: u32 = 500;

/// The entries that it takes at most to find one line: four pages and two entries, as `ready_reads` counts them.
const LINE_READS: u32 = 22;

/// The columns of a job, in the order in which [`crate::job`] reads them, with their types.
const JOB: [(&str, &str); 26] = [
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
    ("traceparent", "text"),
    ("attempts", "text"),
];

/// When a column of finished jobs is written once for all jobs of a row.
#[derive(Clone, Copy)]
enum Once {
    /// Never.
    Never,
    /// If all values are the same. The column has no nulls.
    Same,
    /// If all are zero.
    Zero,
    /// If all are false.
    False,
    /// If all are null.
    Null,
    /// If all are empty.
    Empty,
}

/// The columns of jobs that the table `done` has as arrays, beside the identity.
const DONE: [(&str, &str, Once); 24] = [
    ("fence", "bigint", Once::Never),
    ("run_at", "timestamptz", Once::Never),
    ("created_at", "timestamptz", Once::Never),
    ("started_at", "timestamptz", Once::Never),
    ("attempt", "integer", Once::Same),
    ("lost", "integer", Once::Zero),
    ("undecoded", "integer", Once::Zero),
    ("priority", "smallint", Once::Same),
    ("is_abandoned", "boolean", Once::False),
    ("is_exclusive", "boolean", Once::False),
    ("is_key_until_start", "boolean", Once::False),
    ("max_attempts", "bigint", Once::Same),
    ("payload_version", "bigint", Once::Same),
    ("state", "text", Once::Same),
    ("task", "text", Once::Same),
    ("queue", "text", Once::Same),
    ("key", "text", Once::Null),
    ("schedule", "text", Once::Null),
    ("tick", "timestamptz", Once::Null),
    ("missed", "bigint", Once::Zero),
    ("payload", "bytea", Once::Empty),
    ("error", "text", Once::Null),
    ("traceparent", "text", Once::Null),
    ("attempts", "text", Once::Null),
];

/// The columns of the table `job`, in its order.
const TABLE: [&str; 29] = [
    "id",
    "fence",
    "session",
    "run_at",
    "created_at",
    "started_at",
    "finished_at",
    "attempt",
    "lost",
    "undecoded",
    "priority",
    "kind",
    "is_abandoned",
    "is_exclusive",
    "is_cancel_requested",
    "is_key_until_start",
    "max_attempts",
    "payload_version",
    "state",
    "task",
    "queue",
    "key",
    "schedule",
    "tick",
    "missed",
    "payload",
    "error",
    "traceparent",
    "attempts",
];

/// The schemas in which a name without one is looked up: only a superuser can put anything there, and temporary objects come
/// last. Each function sets it, so that none finds what its caller would.
pub(crate) const PATH: &str = "pg_catalog, pg_temp";

/// The clock of the store. Tests replace it in the functions.
const CLOCK: &str = "pg_catalog.clock_timestamp()";

/// The settings of the functions that a program calls: each connection plans their statements once, and never with a
/// walk over a whole table, however empty it was when they were planned.
const PLANS: &str = "set {path} set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off set enable_bitmapscan = off \
     set enable_hashjoin = off set enable_mergejoin = off";

/// Joins a text for each column of `done`.
fn each_done(separator: &str, text: impl Fn(&str, &str, Once) -> String) -> String {
    let texts: Vec<_> = DONE.iter().map(|(name, kind, once)| text(name, kind, *once)).collect();
    texts.join(separator)
}

/// The arrays of a row of `done`, from jobs `j`.
fn packed() -> String {
    let columns = each_done(", ", |name, _, once| {
        let all = format!("array_agg(j.{name})");
        let is_one = match once {
            Once::Never => return all,
            Once::Same => format!("({all})[1] = all({all})"),
            Once::Zero => format!("0 = all({all})"),
            Once::False => format!("false = all({all})"),
            Once::Null => format!("count(j.{name}) = 0"),
            Once::Empty => format!("max(octet_length(j.{name})) = 0"),
        };
        format!("case when {is_one} then ({all})[1:1] else {all} end")
    });
    format!("array_agg(j.id), {columns}")
}

/// The arrays of a row of `done` that has nothing of its jobs `j` but their identities, and who has ended them.
fn gone() -> String {
    let columns = each_done(", ", |name, kind, _| match name {
        "fence" => "array_agg(j.fence)".to_owned(),
        "is_abandoned" => {
            "case when bool_or(j.is_abandoned) then array_agg(j.is_abandoned) else array[false] end"
                .to_owned()
        }
        "state" => "array['done']".to_owned(),
        _ => format!("'{{}}'::{kind}[]"),
    });
    format!("array_agg(j.id), {columns}")
}

/// A row of `job` for each element `u` of a row `d` of `done`, whose first elements are in `c`.
fn unpacked() -> String {
    let value =
        |name: &str| format!("case when c.is_one_{name} then c.one_{name} else u.{name} end");
    let columns = TABLE.iter().map(|name| {
        let value = match *name {
            "id" => "u.id".to_owned(),
            "session" => "d.session".to_owned(),
            "finished_at" => "d.ended_at".to_owned(),
            "is_cancel_requested" => "false".to_owned(),
            "kind" => "0::bigint".to_owned(),
            name => value(name),
        };
        format!("{value} as {name}")
    });
    columns.collect::<Vec<_>>().join(", ")
}

/// The names of the functions that a migration makes.
pub(crate) fn functions_of(migration: &str) -> impl Iterator<Item = &str> {
    let made = migration.split("create function {s}.").skip(1);
    made.filter_map(|rest| rest.split_once('(').map(|(name, _)| name))
}

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
        let mut text = expand(template);
        if text.contains("{done") || text.contains("{packed}") || text.contains("{ended") {
            let is_as_it_was = |name: &str| {
                !["state", "attempt", "undecoded", "lost", "max_attempts", "error", "attempts"]
                    .contains(&name)
            };
            let ended: Vec<_> =
                DONE.iter().map(|(name, ..)| *name).filter(|name| is_as_it_was(name)).collect();
            let ended: Vec<_> = ended.iter().map(|name| format!("j.{name}")).collect();
            let collated = |kind: &str| if kind == "text" { " collate \"C\"" } else { "" };
            text = text
                .replace(
                    "{done_columns}",
                    &each_done(",\n  ", |name, kind, _| {
                        format!("{name} {kind}[]{} not null", collated(kind))
                    }),
                )
                .replace("{done_names}", &each_done(", ", |name, _, _| format!("d.{name}")))
                .replace("{done_names_plain}", &each_done(", ", |name, _, _| name.to_owned()))
                .replace(
                    "{done_firsts}",
                    &each_done(", ", |name, _, _| {
                        format!(
                            "cardinality(d.{name}) = 1 as is_one_{name}, d.{name}[1] as one_{name}"
                        )
                    }),
                )
                .replace("{done_unpacked}", &unpacked())
                .replace("{packed}", &packed())
                .replace("{gone}", &gone())
                .replace("{ended_columns}", &ended.join(", "));
        }
        if text.contains("{functions}") {
            let functions: Vec<_> =
                functions_of(template).map(|name| format!("{{s}}.{name}")).collect();
            text = text.replace("{functions}", &functions.join(", "));
        }
        text.replace("{plans}", PLANS)
            .replace("{path}", &format!("search_path = {PATH}"))
            .replace("{clock}", CLOCK)
            .replace("{nudge}", "pg_notify('{channel}', '')")
            .replace("{s}", &format!("\"{}\"", self.0))
            .replace("{channel}", &self.channel())
            .replace("{job_columns}", &columns.join(", "))
            .replace("{job_types}", &types.join(", "))
            .replace("{job_names}", &names.join(", "))
            .replace("{name_max}", &NAME_MAX.to_string())
            .replace("{payload_max}", &PAYLOAD_MAX.to_string())
            .replace("{claim_bytes_max}", &CLAIM_BYTES_MAX.to_string())
            .replace("{attempts_max}", &ATTEMPTS_MAX.to_string())
            .replace("{attempt_text_max}", &ATTEMPT_TEXT_MAX.to_string())
            .replace("{walk_cheap}", &WALK_CHEAP.to_string())
            .replace("{line_reads}", &LINE_READS.to_string())
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
