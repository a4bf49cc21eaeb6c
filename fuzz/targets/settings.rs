//! Reads any text as a settings file and applies it to tasks: no panic, each message on as many
//! lines as it is meant to have, and no value without a source.
//!
//! The room of the facade is compiled into the target, because nothing of it is public.
#![cfg_attr(fuzzing, no_main)]

use scheduler_expr::{Attribute, RuleKind};

#[allow(dead_code, unused_imports, unfulfilled_lint_expectations)]
#[path = "../../src/define/settings/mod.rs"]
mod room;

use room::{Environment, Given, Settings, TaskTexts};

pub fn check(text: &str) {
    let environment: Environment =
        [("SCHEDULER_TASKS_REPORT_JITTER", "${own.jitter:1s}")].into_iter().collect();
    let given = Given {
        set: vec![("tasks.purge.timeout".to_owned(), "${own.timeout:1s}".to_owned())],
        environment,
        defaults: vec![(Attribute::Until, "${own.until:2099-01-01T00:00:00Z}".to_owned())],
        secrets: Vec::new(),
        text: Some(("s.toml".to_owned(), text.to_owned())),
        read: |_| Err(std::io::ErrorKind::NotFound.into()),
    };
    let faults = match Settings::load(given) {
        Err(faults) => faults,
        Ok(settings) => {
            let rule = RuleKind::Once;
            let task =
                |name, attributes| TaskTexts { name, place: "a.rs:1".to_owned(), rule, attributes };
            let tasks = [
                task("shop::jobs::report", vec![(Attribute::Cron, "${own.cron:@daily}")]),
                task("shop::purge", vec![(Attribute::FixedDelay, "5s")]),
                task("other::purge", vec![]),
            ];
            let mut names = settings.names();
            for (number, task) in tasks.iter().enumerate() {
                assert!(names.insert(&task.name.into(), number));
            }
            let mut application = settings.apply(&names, &["io"]);
            let each = tasks.iter().enumerate();
            let tasks: Vec<_> = each.map(|(number, task)| application.task(number, task)).collect();
            let applied = application.finish();
            assert!(
                applied.remarks.iter().all(|remark| !remark.text.chars().any(char::is_control))
            );
            assert!(!room::report(&applied, &tasks, &[]).is_empty());
            applied.faults
        }
    };
    for fault in faults {
        let message = fault.to_string();
        assert!(message.lines().count() <= 8, "{message}");
        assert!(!message.chars().any(|c| c.is_control() && c != '\n'), "{message}");
    }
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|text: &str| check(text));
