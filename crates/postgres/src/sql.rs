//! The statements, with the name of the schema in them.
//!
//! No other text is ever joined into a statement.
//!
//! PostgreSQL inlines no function that sets its `search_path`, as all of the schema do, and the call of one costs some
//! microseconds. A migration defines a text by `define name(parameter, parameter) as $$ … $$;`, and `{name(argument, argument)}`
//! puts it in place, in functions and in later definitions.

use scheduler_store::{
    ATTEMPT_TEXT_MAX, ATTEMPTS_MAX, CLAIM_BYTES_MAX, EXPIRED, EXPIRED_MAX, LANES_MAX, NAME_MAX,
    PAYLOAD_MAX,
};

use crate::columns::{each_done, gone, packed, type_of, unchanged, unpacked, with_lists};

/// The greatest length of the name of a schema: PostgreSQL cuts names at 63 bytes, and a channel adds some.
const SCHEMA_MAX: usize = 50;

/// The entries of the index of ready jobs that each poll may read to find its lines, beside [`LINE_READS`] for each line: some
/// 0.7 ms.
const WALK_CHEAP: u32 = 500;

/// The entries that it takes at most to find one line: four pages and two entries, as `ready_reads` counts them.
const LINE_READS: u32 = 22;

/// The schemas in which a name without one is looked up: only a superuser can put anything there, and temporary objects come
/// last. Each function sets it, so that none finds what its caller would.
pub(crate) const PATH: &str = "pg_catalog, pg_temp";

/// The clock of the store. Tests replace it in the functions.
const CLOCK: &str = "pg_catalog.clock_timestamp()";

/// The settings of the functions that a program calls: each connection plans their statements once, and never with a
/// walk over a whole table, however empty it was when they were planned.
const PLANS: &str = "set {path} set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off set enable_bitmapscan = off \
     set enable_hashjoin = off set enable_mergejoin = off";

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
        let mut text = expand(&with_lists(template));
        if text.contains("{done") || text.contains("{packed}") || text.contains("{ended") {
            let firsts = |name: &str, _: &_| {
                format!("cardinality(d.{name}) = 1 as is_one_{name}, d.{name}[1] as one_{name}")
            };
            text = text
                .replace(
                    "{done_columns}",
                    &each_done(",\n  ", |name, column| {
                        let kind = type_of(column.kind).1;
                        let collated = if kind == "text" { " collate \"C\"" } else { "" };
                        format!("{name} {kind}[]{collated} not null")
                    }),
                )
                .replace("{done_names}", &each_done(", ", |name, _| format!("d.{name}")))
                .replace("{done_names_plain}", &each_done(", ", |name, _| name.to_owned()))
                .replace("{done_firsts}", &each_done(", ", firsts))
                .replace("{done_unpacked}", &unpacked())
                .replace("{packed}", &packed())
                .replace("{gone}", &gone())
                .replace("{ended_columns}", &unchanged());
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
            .replace("{name_max}", &NAME_MAX.to_string())
            .replace("{payload_max}", &PAYLOAD_MAX.to_string())
            .replace("{claim_bytes_max}", &CLAIM_BYTES_MAX.to_string())
            .replace("{attempts_max}", &ATTEMPTS_MAX.to_string())
            .replace("{attempt_text_max}", &ATTEMPT_TEXT_MAX.to_string())
            .replace("{expired}", EXPIRED)
            .replace("{expired_max}", &EXPIRED_MAX.to_string())
            .replace("{lanes_max}", &LANES_MAX.to_string())
            .replace("{walk_cheap}", &WALK_CHEAP.to_string())
            .replace("{line_reads}", &LINE_READS.to_string())
    }
}

/// A text with parameters.
struct InlineText<'a> {
    name: &'a str,
    parameters: Vec<&'a str>,
    text: &'a str,
}

/// A migration without its definitions, whose texts are in place.
fn expand(migration: &str) -> String {
    let mut parts = migration.split("\ndefine ");
    let mut rest = parts.next().unwrap_or_default().to_owned();
    let mut definitions = Vec::new();
    for part in parts {
        let (definition, after) = part.split_once("\n$$;").unwrap_or((part, ""));
        definitions.extend(InlineText::read(definition));
        rest += after;
    }
    // The text of a definition has those before it.
    definitions.iter().rev().fold(rest, |text, definition| definition.put_into(&text))
}

impl<'a> InlineText<'a> {
    fn read(definition: &'a str) -> Option<Self> {
        let (head, text) = definition.split_once(" as $$")?;
        let (name, parameters) = head.trim_end_matches(')').split_once('(')?;
        Some(Self { name, parameters: parameters.split(", ").collect(), text: text.trim() })
    }

    fn put_into(&self, text: &str) -> String {
        let begin = format!("{{{}(", self.name);
        let mut parts = text.split(&begin);
        let mut whole = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (arguments, rest) = arguments(part);
            let pairs = self.parameters.iter().zip(arguments);
            whole += &pairs.fold(self.text.to_owned(), |text, (parameter, argument)| {
                text.replace(&format!("{{{parameter}}}"), argument)
            });
            whole += rest;
        }
        whole
    }
}

/// The arguments before the end of a name, and what follows it.
fn arguments(text: &str) -> (Vec<&str>, &str) {
    let (mut depth, mut begin, mut found) = (0, 0, Vec::new());
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ',' if depth == 0 => {
                found.push(text[begin..at].trim());
                begin = at + 1;
            }
            ')' if depth == 0 => {
                found.push(text[begin..at].trim());
                return (found, text[at..].strip_prefix(")}").unwrap_or_default());
            }
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    (found, "")
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

#[cfg(test)]
mod tests_of_inline {
    use super::expand;

    #[test]
    fn a_text_has_the_texts_before_it_and_its_arguments() {
        let migration = "-- One.\ndefine one(a, b) as $$\n({a} + {b})\n$$;\n\ndefine none() as $$\nnow()\n$$;\n\
                         define two(a) as $$\n{one({a}, '{}')} * {a}\n$$;\nselect {two(f(x, y))}, {none()}, {other};\n";
        assert_eq!(
            expand(migration),
            "-- One.\n\nselect (f(x, y) + '{}') * f(x, y), now(), {other};\n"
        );
    }
}
