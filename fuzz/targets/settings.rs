//! Reads any text as a settings file and applies it to tasks: no panic, each message on as many
//! lines as it is meant to have, and no value without a source.
//!
//! The room of the facade is compiled into the target, because nothing of it is public.

use scheduler_expr::Attribute;

#[allow(dead_code, unused_imports, unfulfilled_lint_expectations)]
#[path = "../../src/settings/mod.rs"]
mod room;

use room::{Environment, Given, Known, Settings, TaskWords};

pub fn check(text: &str) {
    let environment: Environment =
        [("SCHEDULER_TASKS_REPORT_JITTER", "${own.jitter:1s}")].into_iter().collect();
    let given = Given {
        set: vec![("tasks.purge.timeout".to_owned(), "${own.timeout:1s}".to_owned())],
        environment,
        text: Some(("s.toml".to_owned(), text.to_owned())),
        read: |_| Err(std::io::ErrorKind::NotFound.into()),
    };
    let faults = match Settings::load(given) {
        Err(faults) => faults,
        Ok(settings) => {
            let task =
                |name, attributes| TaskWords { name, place: "a.rs:1".to_owned(), attributes };
            let tasks = [
                task("shop::jobs::report", &[(Attribute::Cron, "${own.cron:@daily}")]),
                task("shop::purge", &[(Attribute::FixedDelay, "5s")]),
                task("other::purge", &[]),
            ];
            let applied = settings.apply(&Known { tasks: &tasks, pools: &["io"] });
            assert_eq!(applied.tasks.len(), tasks.len());
            assert!(
                applied.remarks.iter().all(|remark| !remark.text.chars().any(char::is_control))
            );
            assert!(!room::report(&applied, &[]).is_empty());
            applied.faults
        }
    };
    for fault in faults {
        let message = fault.to_string();
        assert!(message.lines().count() <= 8, "{message}");
        assert!(!message.chars().any(|c| c.is_control() && c != '\n'), "{message}");
    }
}
