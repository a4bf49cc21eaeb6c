//! The place that counts, of several that set a value.

use scheduler_expr::Attribute;

use super::places::*;
use crate::define::settings::key::DRY_RUN_VARIABLE;
use crate::define::settings::*;

#[test]
fn the_annotation_counts_when_nothing_else_is_said() {
    let applied = Places::default().apply();
    let [report, purge] = applied.tasks.as_slice() else { panic!("two tasks") };
    check_value(report, Attribute::Cron, "0 0 9 * * MON-FRI", "src/jobs.rs:12");
    check_value(report, Attribute::Zone, "Europe/Berlin", "src/jobs.rs:12");
    check_value(purge, Attribute::InitialDelay, "1m", "src/purge.rs:3");
    assert_eq!(set_attributes(report).len(), 2);
    assert!(report.is_complete);
    assert!(applied.faults.is_empty() && applied.remarks.is_empty());
}

#[test]
fn higher_places_win_attribute_by_attribute() {
    let mut places = Places {
        set: &[("tasks.purge.jitter", "1s")],
        env: &[("SCHEDULER_TASKS_PURGE_JITTER", "2s"), ("SCHEDULER_TASKS_PURGE_TIMEOUT", "2s")],
        toml: "[scheduler.tasks.purge]\njitter = \"3s\"\ntimeout = \"3s\"\nfixed-delay = \"3s\"\n",
    };
    let applied = places.apply();
    let purge = &applied.tasks[1];
    check_value(purge, Attribute::Jitter, "1s", "builder.set(\"tasks.purge.jitter\")");
    check_value(purge, Attribute::Timeout, "2s", "env SCHEDULER_TASKS_PURGE_TIMEOUT");
    check_value(purge, Attribute::FixedDelay, "3s", "scheduler.toml:4");
    check_value(purge, Attribute::InitialDelay, "1m", "src/purge.rs:3");
    assert_eq!(
        places.remarks(),
        [
            "purge: fixed_delay overridden by scheduler.toml:4 (was \"5s\")",
            "purge: jitter overridden by builder.set(\"tasks.purge.jitter\") (was \"2s\")",
            "purge: timeout overridden by env SCHEDULER_TASKS_PURGE_TIMEOUT (was \"3s\")",
        ]
    );
    places.env = &[];
    assert_eq!(places.remarks()[2], "purge: timeout set by scheduler.toml:3");
}

#[test]
fn a_file_named_in_the_environment_stands_above_the_usual_one() {
    fn read(path: &Path) -> io::Result<String> {
        match path.to_str() {
            Some("/etc/other.toml") => Ok("[scheduler]\npool.size = 1\n".to_owned()),
            Some("scheduler.toml" | "./scheduler.toml") => {
                Ok("[scheduler]\npool.size = 2\nzone = \"UTC\"".to_owned())
            }
            _ => missing(path),
        }
    }
    let load = |path: &'static str| {
        let environment = [(FILE_VARIABLE, path)].into_iter().collect();
        Settings::load(SettingsInput {
            set: Vec::new(),
            environment,
            text: None,
            defaults: Vec::new(),
            secrets: Vec::new(),
            read,
        })
    };
    let applied = apply(&load("/etc/other.toml").expect("two files"), &[], &[]).applied;
    assert_eq!(applied.globals.pool_size, Some(1));
    let (_, zone) = applied.texts.iter().find(|(key, _)| key == "scheduler.zone").expect("a zone");
    assert_eq!(zone.source, Source::File { path: "scheduler.toml".to_owned(), line: 3 });
    assert_eq!(load("./scheduler.toml").expect("one file").sources.files.len(), 1);
    let faults = load("/nowhere.toml").expect_err("a fault");
    assert_eq!(faults.len(), 1);
    let text = faults[0].to_string();
    assert!(text.starts_with("env SCHEDULER_CONFIG: cannot read `/nowhere.toml`: "), "{text}");
}

#[test]
fn a_real_file_is_read() {
    let path = std::env::temp_dir().join(format!("settings-{}.toml", std::process::id()));
    std::fs::write(&path, "[scheduler]\nzone = \"UTC\"\n").expect("a writable folder");
    let environment = [(FILE_VARIABLE, path.to_str().expect("a plain path"))].into_iter().collect();
    let loaded = Settings::load(SettingsInput { environment, ..SettingsInput::of_process() });
    std::fs::remove_file(&path).expect("the file is there");
    let applied = apply(&loaded.expect("a readable file"), &[], &[]).applied;
    assert_eq!(applied.globals.zone.as_deref(), Some("UTC"));
}

#[test]
fn all_broken_places_are_told_together() {
    let places = Places { env: &[(DRY_RUN_VARIABLE, "yes")], toml: "a = [", ..Places::default() };
    let faults = places.load().expect_err("two faults");
    assert!(faults.len() >= 2, "{faults:?}");
}

#[test]
fn another_kind_of_trigger_replaces_the_annotated_one() {
    let places = env(&[("SCHEDULER_TASKS_PURGE_CRON", "@daily")]);
    let applied = places.apply();
    assert_eq!(set_attributes(&applied.tasks[1]).len(), 1);
    assert_eq!(
        places.remarks(),
        ["purge: cron overridden by env SCHEDULER_TASKS_PURGE_CRON (was fixed_delay = \"5s\")"]
    );

    let words = [task("once", &[(Attribute::InitialDelay, "5s")])];
    let settings = env(&[("SCHEDULER_TASKS_ONCE_CRON", "-")]).load().expect("readable");
    let applied = apply(&settings, &words, &[]);
    assert_eq!(
        applied.remarks[0].text,
        "once: cron overridden by env SCHEDULER_TASKS_ONCE_CRON (was initial_delay = \"5s\")"
    );

    let applied = toml("[scheduler.tasks.report]\nfixed-rate = \"1s\"\n").apply();
    assert_eq!(set_attributes(&applied.tasks[0]).len(), 1);
    check_value(&applied.tasks[0], Attribute::FixedRate, "1s", "scheduler.toml:2");

    let applied = toml("[scheduler.tasks.report]\ncron = \"-\"\n").apply();
    check_value(&applied.tasks[0], Attribute::Cron, "-", "scheduler.toml:2");
    check_value(&applied.tasks[0], Attribute::Zone, "Europe/Berlin", "src/jobs.rs:12");

    let applied = toml("[scheduler.tasks.purge]\ncron = \"@daily\"\nzone = \"UTC\"\n").apply();
    check_value(&applied.tasks[1], Attribute::Zone, "UTC", "scheduler.toml:3");

    let applied = toml("[scheduler.tasks.purge]\nfixed_rate = \"1s\"\n").apply();
    check_value(&applied.tasks[1], Attribute::InitialDelay, "1m", "src/purge.rs:3");
    assert_eq!(applied.tasks[1].get(Attribute::FixedDelay), None);
}

#[test]
fn the_highest_trigger_replaces_those_of_all_places_below() {
    let places = Places {
        set: &[("tasks.purge.fixed_rate", "1s")],
        env: &[("SCHEDULER_TASKS_PURGE_CRON", "@daily"), ("SCHEDULER_TASKS_PURGE_ZONE", "UTC")],
        toml: "scheduler.tasks.purge.fixed_delay = \"2s\"",
    };
    let applied = places.apply();
    let set: Vec<Attribute> = set_attributes(&applied.tasks[1]);
    assert_eq!(set, [Attribute::FixedRate, Attribute::InitialDelay]);
    assert_eq!(applied.remarks[0].level, Level::Note);
    assert_eq!(
        applied.remarks[0].text,
        "purge: fixed_rate overridden by builder.set(\"tasks.purge.fixed_rate\") \
         (was cron = \"@daily\")"
    );
}

#[test]
fn two_triggers_in_one_place_are_refused() {
    toml("[scheduler.tasks.purge]\nfixed_rate = \"1s\"\ncron = \"@daily\"\n").check_fault(
        "scheduler.toml:2: task `shop::purge` has `fixed-rate`, and `cron` (scheduler.toml:3): \
         a task has one trigger\nhelp: remove one of the two",
    );
}

#[test]
fn one_attribute_twice_in_one_place_is_refused() {
    toml("[scheduler.tasks]\npurge.jitter = \"1s\"\n\"shop::purge\".jitter = \"2s\"\n")
        .check_fault(
            "scheduler.toml:3: `jitter` of task `shop::purge` is also set by scheduler.toml:2\n\
         help: remove one of the two",
        );
    toml("[scheduler]\nthread-name-prefix = \"a\"\nthread_name_prefix = \"b\"\n").check_fault(
        "scheduler.toml:3: `scheduler.thread-name-prefix` is also set by scheduler.toml:2\n\
         help: remove one of the two",
    );
    let both = [("SCHEDULER_THREADNAMEPREFIX", "a"), ("SCHEDULER_THREAD_NAME_PREFIX", "b")];
    env(&both).check_first_lines(&["env SCHEDULER_THREADNAMEPREFIX: \
         `scheduler.thread-name-prefix` is also set by env SCHEDULER_THREAD_NAME_PREFIX"]);
}
