//! A copy of the environment.

use std::collections::BTreeMap;
use std::ffi::OsString;

use super::{DRY_RUN_VARIABLE, SettingsError, word};

/// The variables of a process, or those of a test.
///
/// A variable whose *name* is not UTF-8 is left out. A *value* that is not UTF-8 is a fault when it is read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    variables: BTreeMap<String, OsString>,
}

impl Environment {
    /// The variables of this process.
    pub(crate) fn of_process() -> Self {
        std::env::vars_os().collect()
    }

    /// The text of a variable that is set.
    pub(super) fn text(&self, variable: &str) -> Result<Option<&str>, SettingsError> {
        let Some(value) = self.variables.get(variable) else { return Ok(None) };
        value.to_str().map(Some).ok_or_else(|| {
            SettingsError::new(format!("env {}: the value is not valid UTF-8", word(variable)))
                .help("set it to a plain text, or unset it".to_owned())
        })
    }

    /// A variable of another program, such as `TZ`; empty if it is not set.
    pub(crate) fn foreign(&self, variable: &str) -> String {
        let value = self.variables.get(variable);
        value.map(|value| value.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// The variables whose names begin so, sorted.
    pub(super) fn names_with(&self, prefix: impl Into<String>) -> impl Iterator<Item = &str> {
        let prefix = prefix.into();
        let names = self.variables.range(prefix.clone()..).map(|(name, _)| name.as_str());
        names.take_while(move |name| name.starts_with(&prefix))
    }
}

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        let named = variables
            .into_iter()
            .filter_map(|(name, value)| Some((name.into().into_string().ok()?, value.into())));
        Self { variables: named.collect() }
    }
}

/// Returns true if `SCHEDULER_DRY_RUN` asks for the dry run.
pub(super) fn is_dry_run(environment: &Environment) -> Result<bool, SettingsError> {
    match environment.text(DRY_RUN_VARIABLE)? {
        Some("1" | "true") => Ok(true),
        None | Some("" | "0" | "false") => Ok(false),
        Some(other) => Err(SettingsError::new(format!(
            "env {DRY_RUN_VARIABLE}: {} is neither `true` nor `false`",
            word(other)
        ))
        .help("write `true` or `1` to print the settings and start nothing".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_found_by_name_and_by_prefix() {
        let environment: Environment =
            [("A_B", "1"), ("A_C", "2"), ("AB", "3")].into_iter().collect();
        assert_eq!(environment.text("A_C"), Ok(Some("2")));
        assert_eq!(environment.text("A"), Ok(None));
        assert_eq!(environment.names_with("A_").collect::<Vec<_>>(), ["A_B", "A_C"]);
    }

    #[test]
    fn the_dry_run_is_asked_for_in_so_many_words() {
        let asked = |value: &str| is_dry_run(&[(DRY_RUN_VARIABLE, value)].into_iter().collect());
        assert_eq!((asked("1"), asked("true")), (Ok(true), Ok(true)));
        assert_eq!((asked("0"), asked("false"), asked("")), (Ok(false), Ok(false), Ok(false)));
        assert_eq!(is_dry_run(&Environment::default()), Ok(false));
        let fault = asked("yes").unwrap_err().to_string();
        assert_eq!(
            fault,
            "env SCHEDULER_DRY_RUN: `yes` is neither `true` nor `false`\n\
             help: write `true` or `1` to print the settings and start nothing"
        );
    }

    #[cfg(unix)]
    #[test]
    fn f_cf2_only_the_variable_asked_for_has_to_be_utf_8() {
        use std::os::unix::ffi::OsStringExt;
        let broken = || OsString::from_vec(vec![b'x', 0xFF]);
        let environment: Environment = [
            (OsString::from("GOOD"), OsString::from("1")),
            ("BAD".into(), broken()),
            (broken(), broken()),
        ]
        .into_iter()
        .collect();
        assert_eq!(environment.text("GOOD"), Ok(Some("1")));
        let fault = environment.text("BAD").unwrap_err().to_string();
        assert!(fault.starts_with("env `BAD`: the value is not valid UTF-8"), "{fault}");
    }
}
