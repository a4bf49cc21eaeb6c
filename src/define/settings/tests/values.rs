//! Values that are bad, hostile, or no text at all.

use std::time::Duration;

use scheduler_expr::{Attribute, parse_period};

use super::hostile_names;
use super::places::*;
use crate::define::settings::*;

#[test]
fn f_cf2_bad_values_of_settings_name_the_key_the_source_and_an_example() {
    let bad_period =
        ["-5s", "-", "NaN", "1e400s", "１０s", "18446744073709551616ms", "5 parsecs", "", "5"];
    for text in bad_period {
        let variable = "SCHEDULER_SHUTDOWN_AWAIT_TERMINATION_PERIOD";
        let faults = env(&[(variable, text)]).faults();
        assert_eq!(faults.len(), 1, "{text}: {faults:?}");
        let start = format!("env {variable}: `scheduler.shutdown.await-termination-period`: ");
        assert!(faults[0].starts_with(&start), "{}", faults[0]);
        let end = format!("for example `{variable}=30s`");
        assert!(faults[0].ends_with(&end), "{}", faults[0]);
    }
    for text in ["-1", "0", "+4", "NaN", "1e3", "１０", "18446744073709551616", "four", "", " 4"]
    {
        let faults = env(&[("SCHEDULER_POOL_SIZE", text)]).faults();
        assert_eq!(faults.len(), 1, "{text}: {faults:?}");
        assert!(
            faults[0].starts_with("env SCHEDULER_POOL_SIZE: `scheduler.pool.size`: "),
            "{}",
            faults[0]
        );
        assert!(faults[0].ends_with("for example `SCHEDULER_POOL_SIZE=4`"), "{}", faults[0]);
    }
    let faults = toml("[scheduler]\npool.size = 0").faults();
    assert!(faults[0].ends_with("for example `scheduler.pool.size = 4`"), "{}", faults[0]);
    for (variable, text) in [
        ("SCHEDULER_ZONE", "Mars/Base"),
        ("SCHEDULER_ZONE", ""),
        ("SCHEDULER_SHUTDOWN_AWAIT_TERMINATION", "yes"),
        ("SCHEDULER_SHUTDOWN_AWAIT_TERMINATION", "１"),
        ("SCHEDULER_THREAD_NAME_PREFIX", ""),
        ("SCHEDULER_THREAD_NAME_PREFIX", "a\u{7}"),
        ("SCHEDULER_POOLS_IO_SIZE", "0"),
    ] {
        let faults = env(&[(variable, text)]).faults();
        assert_eq!(faults.len(), 1, "{variable}={text}: {faults:?}");
        assert!(faults[0].starts_with(&format!("env {variable}: `scheduler.")), "{}", faults[0]);
        assert!(faults[0].contains(&format!("for example `{variable}=")), "{}", faults[0]);
    }
}

#[test]
fn a_stop_may_be_told_not_to_wait() {
    let variable = "SCHEDULER_SHUTDOWN_AWAIT_TERMINATION_PERIOD";
    let applied = env(&[(variable, "0s")]).apply();
    let period = applied.globals.await_termination_period;
    assert_eq!(period, Some(Duration::ZERO));
    let fault = env(&[(variable, "-")]).faults().remove(0);
    assert!(fault.contains("help: write `0s` not to wait; for example"), "{fault}");
}

#[test]
fn f_cf2_bad_values_of_tasks_name_the_attribute_the_source_and_an_example() {
    let applied = Places {
        env: &[("SCHEDULER_TASKS_PURGE_FIXED_DELAY", "${EVERY}"), ("EVERY", "5 parsecs")],
        ..Places::default()
    }
    .apply();
    let purge = &applied.tasks[1];
    let text = &purge.get(Attribute::FixedDelay).expect("a value").text;
    let error = parse_period(text, None).expect_err("no duration");
    let (reason, help) = (error.to_string(), Some("write `5s`".to_owned()));
    assert_eq!(
        purge.refused(Attribute::FixedDelay, &reason, Some(error.caret()), help).to_string(),
        "env SCHEDULER_TASKS_PURGE_FIXED_DELAY: `shop::purge`: `fixed_delay`: \
         `parsecs` is not a unit of time\n5 parsecs\n  ^^^^^^^\n\
         note: `${EVERY}` is `5 parsecs`; EVERY: env EVERY\nhelp: write `5s`"
    );
    assert_eq!(
        purge.refused(Attribute::Jitter, "none at all", None, None).to_string(),
        "src/purge.rs:3: `shop::purge`: `jitter`: none at all\nhelp: for example `jitter = \"500ms\"`"
    );
}

/// The fault of the fixed delay of the second task in `places`.
fn blamed(places: &Places<'_>) -> String {
    let purge = places.apply().tasks.remove(1);
    let text = &purge.get(Attribute::FixedDelay).expect("a value").text;
    let error = Attribute::FixedDelay.check(text, None).expect_err("no duration");
    purge.blame(&error).to_string()
}

#[test]
fn a_fault_of_a_task_is_spelled_as_its_place_spells_attributes() {
    let variable = "SCHEDULER_TASKS_PURGE_FIXED_DELAY";
    assert_eq!(
        blamed(&env(&[(variable, "30")])),
        format!(
            "env {variable}: `shop::purge`: invalid `fixed_delay`: `30` has no unit\n\
             help: write `{variable}=30s` or `{variable}=30ms` \
             (Spring's plain numbers are milliseconds)"
        )
    );
    assert_eq!(
        blamed(&toml("[scheduler.tasks.purge]\nfixed-delay = 30\n")),
        "scheduler.toml:2: `shop::purge`: invalid `fixed-delay`: `30` has no unit\n\
         help: write `fixed-delay = \"30s\"` or `fixed-delay = \"30ms\"` \
         (Spring's plain numbers are milliseconds)"
    );
    let set = [("tasks.purge.fixed-delay", "-")];
    let set = Places { set: &set, ..Places::default() };
    assert_eq!(
        blamed(&set),
        "builder.set(\"tasks.purge.fixed-delay\"): `shop::purge`: invalid `fixed-delay`: \
         `-` switches off no task but one of a cron expression\n\
         help: to switch the task off, write `.set(\"tasks.purge.enabled\", \"false\")`"
    );
}

#[test]
fn an_expression_of_spring_is_refused_wherever_it_stands() {
    let text = "[scheduler]\nzone = \"#{zone}\"\n[scheduler.tasks.purge]\ncron = \"${c}\"\n";
    let places = Places { env: &[("C", "0 #{5} * * * *")], toml: text, ..Places::default() };
    let faults = places.faults();
    let help = "help: write `${key}` or `${key:default}`, or the value itself";
    assert_eq!(
        faults[0],
        format!(
            "scheduler.toml:2: `scheduler.zone`: Spring expressions (SpEL) are not supported\n\
             #{{zone}}\n^^^^^^^\n{help}"
        )
    );
    assert!(faults[1].starts_with("scheduler.toml:4: `shop::purge`: `cron`: "), "{}", faults[1]);
    assert!(faults[1].contains("the value of `${c}`: Spring expressions"), "{}", faults[1]);
}

#[cfg(unix)]
#[test]
fn f_cf2_a_variable_that_is_not_utf_8_matters_only_when_asked_for() {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    let faults = |variable: &str| {
        let broken = OsString::from_vec(vec![0xFF, 0xFE]);
        let settings = Settings::load(SettingsInput {
            set: vec![("zone".to_owned(), "${MY_ZONE:UTC}".to_owned())],
            environment: [(variable, broken)].into_iter().collect(),
            defaults: Vec::new(),
            secrets: Vec::new(),
            text: None,
            read: missing,
        })
        .unwrap_or_else(|faults| panic!("{faults:?}"));
        let applied = apply(&settings, &tasks(), &[]);
        applied.faults.iter().map(SettingsError::to_string).collect::<Vec<String>>()
    };
    assert_eq!(faults("UNRELATED"), [""; 0]);
    for variable in ["SCHEDULER_POOL_SIZE", "SCHEDULER_TASKS_PURGE_JITTER", "MY_ZONE"] {
        let faults = faults(variable);
        assert_eq!(faults.len(), 1, "{variable}: {faults:?}");
        let expected = format!("env `{variable}`: the value is not valid UTF-8");
        assert!(faults[0].contains(&expected), "{}", faults[0]);
    }
}

#[test]
fn f_rg2_hostile_names_can_be_set_and_stay_on_one_line() {
    let long = hostile_names::long();
    let names = [&hostile_names::FORGING[..], &hostile_names::ODD, &["", "::", &*long]].concat();
    let words = |name| task(name, &[]);
    let words: Vec<_> = names.iter().copied().map(words).collect();
    let quoted =
        |name: &str| name.chars().map(|c| format!("\\U{:08X}", u32::from(c))).collect::<String>();
    for (index, name) in names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
        let text = format!("[scheduler.tasks.\"{}\"]\njitter = \"${{x:1s}}\"\n", quoted(name));
        let settings = toml(&text).load().unwrap_or_else(|faults| panic!("{name}: {faults:?}"));
        let applied = apply(&settings, &words, &[]);
        assert_eq!(applied.faults, [], "{name}");
        assert_eq!(applied.tasks[index].get(Attribute::Jitter).expect("a value").text, "1s");
        assert!(applied.remarks.iter().all(|remark| !remark.text.contains(char::is_control)));
        let report = report(&applied, &applied.tasks, &[]);
        assert!(!report.contains("\nERROR") && !report.contains(['\x1b', '\u{202E}']), "{report}");
        assert!(report.lines().all(|line| line.chars().count() < 400));
    }
}
