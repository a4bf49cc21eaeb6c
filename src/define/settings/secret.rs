//! Keys and variables whose values no message shows.

use std::collections::BTreeSet;

use super::{Source, key};

/// The words that make a name secret.
const MARKS: [&str; 7] =
    ["secret", "password", "passwd", "passphrase", "token", "key", "credential"];

/// The keys whose values are secret: those with a mark in their names, and those that the program names.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    /// Folded keys, and the variables that stand for them.
    named: BTreeSet<String>,
}

impl Secrets {
    pub(super) fn new(keys: &[String]) -> Self {
        let names = |written: &String| {
            let folded = key::fold(&key::parts(written).join("."));
            key::variables(written).into_iter().chain([written.clone(), folded])
        };
        Self { named: keys.iter().flat_map(names).collect() }
    }

    /// Returns true if a placeholder of this key, set there, has a secret value.
    pub(super) fn has(&self, written: &str, source: &Source) -> bool {
        let variable = match source {
            Source::Environment { variable } => Some(variable.as_str()),
            _ => None,
        };
        std::iter::once(written).chain(variable).any(|name| self.is_secret(name))
    }

    fn is_secret(&self, name: &str) -> bool {
        let lower = name.to_lowercase();
        MARKS.iter().any(|mark| lower.contains(mark))
            || self.named.contains(name)
            || self.named.contains(&key::fold(&key::parts(name).join(".")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_a_mark_and_names_of_the_program_are_secret() {
        let secrets = Secrets::new(&["db.url".to_owned(), "pin-code".to_owned()]);
        let in_file = Source::File { path: "scheduler.toml".to_owned(), line: 1 };
        let in_env = |name: &str| Source::Environment { variable: name.to_owned() };
        for name in [
            "db.password",
            "DB_PASSWORD",
            "apiToken",
            "aws.secret-access",
            "stripe_key",
            "db.url",
            "pin_code",
            "pin-code",
        ] {
            assert!(secrets.has(name, &in_file), "{name}");
        }
        for (name, variable) in [("db.url", "DB_URL"), ("a", "MY_TOKEN"), ("x", "PIN_CODE")] {
            assert!(secrets.has(name, &in_env(variable)), "{name} {variable}");
        }
        assert!(!secrets.has("report.cron", &in_file));
        assert!(!secrets.has("report.cron", &in_env("REPORT_CRON")));
        assert!(!secrets.has("db.url.host", &in_file));
    }
}
