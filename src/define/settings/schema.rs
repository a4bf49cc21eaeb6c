//! The keys of all settings.

use scheduler_expr::{Attribute, Role, RuleKind};

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
