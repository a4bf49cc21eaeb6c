//! Values of secrets, which no message shows.

use super::places::*;
use crate::define::settings::*;

/// A value that no attribute takes, in a form that parsers quote.
const VALUE: &str = "hunter2 * x";

/// All messages about these places; none shows the value.
#[track_caller]
fn unseen(places: &Places<'_>) -> String {
    let applied = places.apply();
    let faults = applied.faults.iter().map(SettingsError::to_string);
    let remarks = applied.remarks.iter().map(|remark| remark.text.clone());
    let parsed = applied.tasks.iter().flat_map(|task| {
        scheduler_expr::Attribute::ALL.iter().filter_map(|attribute| {
            let resolved = task.get(*attribute)?;
            let error = attribute.check(&resolved.text, None).err()?;
            Some(task.blame(&error).to_string())
        })
    });
    let report = report(&applied, &applied.tasks, &[]);
    let said: Vec<String> = faults.chain(remarks).chain(parsed).chain([report]).collect();
    let said = said.join("\n\n");
    assert!(!said.contains("hunter2"), "{said}");
    said
}

#[test]
fn a_value_of_a_secret_is_in_no_fault_and_in_no_dry_run() {
    let said = unseen(&Places {
        set: &[("tasks.report.cron", "${db.password}"), ("db.password", VALUE)],
        ..Places::default()
    });
    let expected = "builder.set(\"tasks.report.cron\"): `shop::jobs::report`: `cron`: its value is \
                    refused, and not shown: `db.password` is a secret\n\
                    note: `${db.password}` is not shown; db.password: builder.set(\"db.password\")\n\
                    help: for example `.set(\"tasks.report.cron\", \"0 0 9 * * MON-FRI\")`";
    assert!(said.contains(expected), "{said}");
    assert!(said.contains("not shown  "), "the dry run has a row: {said}");
}

#[test]
fn a_variable_or_a_key_of_the_program_makes_a_secret_too() {
    for (name, env) in [
        ("a", [("A", "${b}"), ("MY_TOKEN", VALUE)]),
        ("a", [("A", "${MY_TOKEN}"), ("MY_TOKEN", VALUE)]),
        ("db.url", [("DB_URL", VALUE), ("B", "")]),
        ("a", [("A", "x ${db.url}"), ("DB_URL", VALUE)]),
        ("pass${db.url}", [("DB_URL", VALUE), ("A", "")]),
    ] {
        let cron = format!("${{{name}}}");
        let toml = "b = \"${MY_TOKEN}\"";
        let set = [("tasks.report.cron", cron.as_str())];
        let said = unseen(&Places { set: &set, env: &env, toml });
        assert!(said.contains(" is a secret"), "{name}: {said}");
    }
}

#[test]
fn settings_of_the_scheduler_and_broken_values_show_no_secret() {
    let pool = unseen(&Places {
        set: &[("pool.size", "${api.key}"), ("api.key", "hunter2")],
        ..Places::default()
    });
    assert!(pool.contains("`scheduler.pool.size`: its value is refused, and not shown"), "{pool}");
    let broken = unseen(&Places {
        set: &[("tasks.report.cron", "${api.key}"), ("api.key", "${hunter2")],
        ..Places::default()
    });
    let expected = "a placeholder in it cannot be replaced, and not shown: `api.key` is a secret";
    assert!(broken.contains(expected), "{broken}");
}

#[test]
fn a_task_whose_name_has_a_mark_is_judged_with_its_texts() {
    let words = [task("rotate-key", &[])];
    let places = env(&[("SCHEDULER_TASKS_ROTATE_KEY_CRON", "0 0 25 * * *")]);
    let applied = apply(&places.load().expect("readable"), &words, &[]);
    let cron = applied.tasks[0].get(scheduler_expr::Attribute::Cron).expect("a value");
    assert_eq!((cron.text.as_str(), cron.secret.as_deref()), ("0 0 25 * * *", None));
}
