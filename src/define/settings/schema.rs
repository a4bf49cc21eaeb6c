//! The keys of all settings.

use scheduler_expr::{Attribute, Role, RuleKind};

use super::fold;

/// A setting of the scheduler or of one of its pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spec {
    /// The key behind `scheduler.` or behind `scheduler.pools.<name>.`.
    pub(super) key: &'static str,
    /// A value to paste.
    pub(super) example: &'static str,
}

pub(super) const ZONE: Spec = Spec { key: "zone", example: "Europe/Berlin" };
pub(super) const POOL_SIZE: Spec = Spec { key: "pool.size", example: "4" };
pub(super) const THREAD_NAME_PREFIX: Spec =
    Spec { key: "thread-name-prefix", example: "scheduling-" };
pub(super) const AWAIT_TERMINATION: Spec =
    Spec { key: "shutdown.await-termination", example: "true" };
pub(super) const AWAIT_TERMINATION_PERIOD: Spec =
    Spec { key: "shutdown.await-termination-period", example: "30s" };
pub(super) const KEEP_ENDED_TASKS: Spec = Spec { key: "keep-ended-tasks", example: "100" };

/// The settings under `scheduler.node`.
pub(super) mod of_node {
    use super::Spec;

    pub(in super::super) const LEASE: Spec = Spec { key: "node.lease", example: "15s" };
    pub(in super::super) const RENEW_EVERY: Spec = Spec { key: "node.renew-every", example: "5s" };
    pub(in super::super) const REAP_EVERY: Spec = Spec { key: "node.reap-every", example: "5s" };
    pub(in super::super) const POLL_EVERY: Spec = Spec { key: "node.poll-every", example: "1s" };
    pub(in super::super) const ANSWER_LIMIT: Spec =
        Spec { key: "node.answer-limit", example: "5s" };
    pub(in super::super) const CONCURRENCY: Spec = Spec { key: "node.concurrency", example: "8" };
    pub(in super::super) const QUEUES: Spec = Spec { key: "node.queues", example: "default, mail" };
    pub(in super::super) const LABEL: Spec = Spec { key: "node.label", example: "web-1" };
    pub(in super::super) const BUILD: Spec = Spec { key: "node.build", example: "1.4.2" };
    pub(in super::super) const KEEP_DONE: Spec = Spec { key: "node.keep-done", example: "1d" };
    pub(in super::super) const KEEP_PARKED: Spec = Spec { key: "node.keep-parked", example: "30d" };
}

/// The settings under `scheduler`.
pub(super) const GLOBALS: &[Spec] = &[
    ZONE,
    POOL_SIZE,
    THREAD_NAME_PREFIX,
    AWAIT_TERMINATION,
    AWAIT_TERMINATION_PERIOD,
    KEEP_ENDED_TASKS,
    of_node::LEASE,
    of_node::RENEW_EVERY,
    of_node::REAP_EVERY,
    of_node::POLL_EVERY,
    of_node::ANSWER_LIMIT,
    of_node::CONCURRENCY,
    of_node::QUEUES,
    of_node::LABEL,
    of_node::BUILD,
    of_node::KEEP_DONE,
    of_node::KEEP_PARKED,
];

pub(super) const OF_POOL_SIZE: Spec = Spec { key: "size", ..POOL_SIZE };
pub(super) const OF_POOL_THREAD_NAME_PREFIX: Spec =
    Spec { key: "thread-name-prefix", example: "io-" };

/// The settings under `scheduler.pools.<name>`.
pub(super) const OF_POOL: [Spec; 2] = [OF_POOL_SIZE, OF_POOL_THREAD_NAME_PREFIX];

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

/// Returns true if a key that begins with this part is a setting.
pub(super) fn is_ours(part: &str) -> bool {
    let part = fold(part);
    let mut firsts = GLOBALS.iter().filter_map(|spec| spec.key.split('.').next());
    [POOLS, TASKS, DEFAULTS].contains(&&*part) || firsts.any(|first| fold(first) == part)
}

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
    fn keys_of_ours_are_known_by_their_first_part() {
        for part in ["zone", "pool", "pools", "tasks", "shutdown", "thread_name_prefix"] {
            assert!(is_ours(part), "{part}");
        }
        for part in ["", "scheduler", "reports", "size", "Zone"] {
            assert!(!is_ours(part), "{part}");
        }
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
