//! Tables of settings of the scheduler, each read from text to value.

use scheduler_expr::Kind;

use super::{Reading, SettingsError, Subject, word};

/// A setting of the scheduler or of one of its pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spec {
    /// The key behind `scheduler.` or behind `scheduler.pools.<name>.`.
    pub(super) key: &'static str,
    /// A value to paste.
    pub(super) example: &'static str,
}

/// A table of settings: a field for each, with its type, its key, a value to paste, and its parser.
macro_rules! settings {
    ($(#[$about:meta])* $name:ident {
        $($(#[$doc:meta])* $field:ident: $type:ty, $key:expr, $example:literal => $read:ident($parse:expr);)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub(crate) struct $name {
            $($(#[$doc])* pub(crate) $field: Option<$type>,)*
        }

        impl $name {
            pub(super) const SPECS: &'static [Spec] =
                &[$(Spec { key: $key, example: $example }),*];

            /// These settings, and others where one is not set.
            #[allow(dead_code, reason = "the code sets only some tables as a whole")]
            pub(crate) fn or(self, other: Self) -> Self {
                Self { $($field: self.$field.or(other.$field),)* }
            }

            /// Reads all settings of the table. Adds a fault for each text that cannot be parsed.
            pub(super) fn read(reading: &mut Reading<'_>, table: &str) -> Self {
                Self {
                    $($field: $read(reading, table, Spec { key: $key, example: $example }, $parse),)*
                }
            }
        }
    };
}

pub(super) use settings;

/// Reads a setting that is a text, a number or a flag.
pub(super) fn read_scalar<T>(
    reading: &mut Reading<'_>,
    table: &str,
    spec: Spec,
    parse: fn(&str) -> Result<T, SettingsError>,
) -> Option<T> {
    read_as(reading, Kind::Flag, (table, spec), parse)
}

/// Reads a setting that a file may set to an array, too.
pub(super) fn read_list<T>(
    reading: &mut Reading<'_>,
    table: &str,
    spec: Spec,
    parse: fn(&str) -> Result<T, SettingsError>,
) -> Option<T> {
    read_as(reading, Kind::Tags, (table, spec), parse)
}

fn read_as<T>(
    reading: &mut Reading<'_>,
    kind: Kind,
    (table, spec): (&str, Spec),
    parse: fn(&str) -> Result<T, SettingsError>,
) -> Option<T> {
    let name = format!("{table}.{}", spec.key);
    let raw = reading.find(&name, kind)?;
    let label = word(&name);
    let subject = Subject { owner: format!("setting {label}"), label, example: spec.example };
    let resolved = reading.resolve(&raw, &subject)?;
    match parse(&resolved.text) {
        Ok(value) => {
            reading.texts.push((name, resolved));
            Some(value)
        }
        Err(error) => {
            let example = resolved.source.assignment(&name, &name, spec.example);
            let (text, help) = match resolved.unseen() {
                Some(text) => (text, None),
                None => (error.text, error.help),
            };
            let help = help.map(|help| format!("{help}; ")).unwrap_or_default();
            let error = SettingsError::new(format!("{}: {text}", subject.label))
                .note(resolved.note())
                .help(format!("{help}for example `{example}`"));
            reading.faults.push(error.at(&resolved.source));
            None
        }
    }
}

/// Parses a whole number.
pub(super) fn count(text: &str, what: &str) -> Result<usize, SettingsError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(SettingsError::new(format!("{} is not a whole number of {what}", word(text))));
    }
    text.parse().map_err(|_| SettingsError::new(format!("{} is too large a number", word(text))))
}
