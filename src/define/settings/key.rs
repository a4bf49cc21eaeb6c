//! Keys: the variables that stand for them, and those that exist.
//!
//! A key is a path: `scheduler.pool.size`. In its parts `-` and `_` are the same. A part that has a
//! dot in it is quoted: `scheduler.tasks."a.b".cron`.

use scheduler_expr::{Attribute, Role, RuleKind};

/// Between the parts of the path of a task.
pub(super) const SEPARATOR: &str = "::";

/// The parts of a key as it is written in `builder.set` or in a placeholder.
pub(super) fn parts(key: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut is_quoted = false;
    for c in key.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            '.' if !is_quoted => parts.push(String::new()),
            _ => parts.last_mut().expect("there is always a part").push(c),
        }
    }
    for part in &mut parts {
        if part.trim().len() < part.len() {
            *part = part.trim().to_owned();
        }
    }
    parts
}

/// The text with `-` and `_` made the same, for comparisons.
pub(super) fn fold(text: &str) -> String {
    text.replace('-', "_")
}

/// The variable of a key, without a prefix: upper case, everything that is neither letter nor digit
/// one `_`.
pub(super) fn variable(key: &str) -> String {
    let mut out = String::new();
    for c in key.chars() {
        if c.is_alphanumeric() {
            out.extend(c.to_uppercase());
        } else if !out.is_empty() && !out.ends_with('_') {
            out.push('_');
        }
    }
    out.truncate(out.trim_end_matches('_').len());
    out
}

/// The variable in Spring's form: `-` and `_` inside the parts of a key are left out.
fn dashless_variable(key: &str) -> String {
    variable(&key.replace(['-', '_'], ""))
}

/// The variables of a key: with all underscores, and in Spring's form if that differs.
pub(super) fn variables(key: &str) -> Vec<String> {
    let (ours, springs) = (variable(key), dashless_variable(key));
    if ours == springs { vec![ours] } else { vec![ours, springs] }
}

/// The tails of a path, from the path itself down to its last part.
pub(super) fn tails(task: &str) -> impl Iterator<Item = &str> {
    let starts = task.match_indices(SEPARATOR).map(|(at, separator)| at + separator.len());
    std::iter::once(task).chain(starts.map(|start| &task[start..]))
}

/// The table of the named pools.
pub(super) const POOLS: &str = "pools";

/// The table of the tasks.
pub(super) const TASKS: &str = "tasks";

/// The table of the defaults for all tasks.
pub(super) const DEFAULTS: &str = "defaults";

/// The file that is read when it exists.
pub(super) const FILE: &str = "scheduler.toml";

/// The variable that names another file.
pub(super) const FILE_VARIABLE: &str = "SCHEDULER_CONFIG";

/// The variable that asks for the dry run.
pub(super) const DRY_RUN_VARIABLE: &str = "SCHEDULER_DRY_RUN";

/// The variables that are no settings but are read, here or by the command `scheduler`.
pub(super) const SPECIAL_VARIABLES: [&str; 4] =
    [FILE_VARIABLE, DRY_RUN_VARIABLE, "SCHEDULER_URL", "SCHEDULER_TOKEN"];

/// The first part of the keys of settings.
pub(super) const ROOT: &str = "scheduler";

/// The attributes that are rules; a task has one.
pub(super) fn triggers() -> impl Iterator<Item = Attribute> {
    Attribute::ALL.iter().copied().filter(|attribute| attribute.row().role == Role::Rule)
}

/// Returns true if the attribute belongs to another rule, and is replaced together with it.
pub(super) fn is_foreign_to(attribute: Attribute, rule: RuleKind) -> bool {
    let row = attribute.row();
    match row.role {
        Role::Rule => RuleKind::of(attribute) != Some(rule),
        Role::Timing => !row.rules.contains(&rule),
        Role::Option => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_split_at_its_dots() {
        assert_eq!(parts("scheduler.pool.size"), ["scheduler", "pool", "size"]);
        assert_eq!(parts("tasks.shop::jobs::report.cron"), ["tasks", "shop::jobs::report", "cron"]);
        assert_eq!(parts("tasks.\"a.b\".cron"), ["tasks", "a.b", "cron"]);
        assert_eq!(parts(" a . b "), ["a", "b"]);
        assert_eq!(parts(""), [""]);
        assert_eq!(parts("\"a.b"), ["a.b"]);
    }

    #[test]
    fn variables_are_upper_case_with_single_underscores() {
        assert_eq!(variable("scheduler.pool.size"), "SCHEDULER_POOL_SIZE");
        assert_eq!(variable("shop::jobs::daily-report"), "SHOP_JOBS_DAILY_REPORT");
        assert_eq!(variable("_a__b_"), "A_B");
        assert_eq!(variable("straße.é"), "STRASSE_É");
        assert_eq!(variable("::"), "");
    }

    #[test]
    fn springs_variables_leave_dashes_out() {
        assert_eq!(
            variables("scheduler.thread-name-prefix"),
            ["SCHEDULER_THREAD_NAME_PREFIX", "SCHEDULER_THREADNAMEPREFIX"]
        );
        assert_eq!(variables("scheduler.pool.size"), ["SCHEDULER_POOL_SIZE"]);
    }

    #[test]
    fn a_trigger_is_foreign_to_every_other() {
        for trigger in triggers() {
            let rule = RuleKind::of(trigger).unwrap();
            let foreign = triggers().filter(|other| is_foreign_to(*other, rule));
            assert_eq!(foreign.count() + 1, triggers().count());
        }
        assert!(is_foreign_to(Attribute::Zone, RuleKind::FixedRate));
        assert!(is_foreign_to(Attribute::InitialDelay, RuleKind::Cron));
        assert!(!is_foreign_to(Attribute::InitialDelay, RuleKind::FixedDelay));
        assert!(!is_foreign_to(Attribute::Timeout, RuleKind::Cron));
    }
}
