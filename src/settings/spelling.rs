//! How each place spells keys in messages about it, so that what is proposed can be pasted there.

use scheduler_expr::assignment;

use super::{Source, key};

impl Source {
    /// The name of an attribute, in a sentence.
    pub(super) fn name(&self, name: &str) -> String {
        match self {
            Self::File { .. } | Self::Builder { .. } => dashed(name),
            _ => name.to_owned(),
        }
    }

    /// What sets the key `other` to a text here, where the key `own` stands.
    pub(super) fn assignment(&self, own: &str, other: &str, text: &str) -> String {
        let pasted = match self {
            Self::Builder { key } => {
                let start =
                    key.len().checked_sub(own.len()).and_then(|at| key.split_at_checked(at));
                let start = start.filter(|(_, end)| key::fold(end) == key::fold(own));
                start.map(|(start, _)| format!(".set(\"{start}{}\", \"{text}\")", dashed(other)))
            }
            Self::Environment { variable } => {
                let own = key::variables(own);
                let start = own.iter().find_map(|own| variable.strip_suffix(own.as_str()));
                start.map(|start| format!("{start}{}={}", key::variable(other), in_shell(text)))
            }
            Self::File { .. } => None,
            Self::Default | Self::Annotation(_) | Self::Code { .. } => {
                other.rsplit('.').next().map(|key| assignment(key, text))
            }
        };
        pasted.unwrap_or_else(|| assignment(&dashed(other), text))
    }
}

fn dashed(key: &str) -> String {
    key.replace('_', "-")
}

fn in_shell(text: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c);
    if text.chars().all(is_bare) { text.to_owned() } else { format!("'{text}'") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &Source, own: &str, (other, text): (&str, &str), expected: &str) {
        assert_eq!(source.assignment(own, other, text), expected);
    }

    #[test]
    fn each_place_is_told_what_can_be_pasted_there() {
        let rate = "fixed_rate";
        let file = Source::File { path: "scheduler.toml".to_owned(), line: 3 };
        check(&file, rate, (rate, "5s"), "fixed-rate = \"5s\"");
        check(&file, rate, ("retry.max", "3"), "retry.max = 3");
        let place = Source::Annotation("src/a.rs:1".to_owned());
        check(&place, rate, (rate, "5s"), "fixed_rate = \"5s\"");
        check(&place, rate, ("retry.max", "3"), "max = 3");
        let springs = "SCHEDULER_TASKS_SWEEP_FIXEDRATE";
        for variable in ["SCHEDULER_TASKS_SWEEP_FIXED_RATE", springs] {
            let env = Source::Environment { variable: variable.to_owned() };
            check(&env, rate, ("retry.max", "3"), "SCHEDULER_TASKS_SWEEP_RETRY_MAX=3");
            check(&env, rate, ("cron", "@daily"), "SCHEDULER_TASKS_SWEEP_CRON='@daily'");
        }
        for key in ["tasks.sweep.fixed-rate", "tasks.sweep.fixed_rate"] {
            let set = Source::Builder { key: key.to_owned() };
            check(&set, rate, ("time_unit", "s"), ".set(\"tasks.sweep.time-unit\", \"s\")");
        }
        let odd = Source::Builder { key: "tasks.\"é".to_owned() };
        check(&odd, rate, (rate, "5s"), "fixed-rate = \"5s\"");
    }
}
