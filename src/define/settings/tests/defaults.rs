//! Defaults for all tasks: places, precedence, faults.

use scheduler_core::{NextFireTime, Trigger, TriggerContext};
use scheduler_expr::Attribute;

use super::places::*;
use crate::base::metadata::Location;
use crate::define::entry::Definition;
use crate::define::schedule::Schedule;
use crate::define::settings::*;
use crate::run::inject::Call;

const TOML: &str = "[scheduler.defaults]\ntimeout = \"5m\"\noverlap = \"queue_one\"\n\
                    tags = ['a', 'b']\nretry.max = 2\n[scheduler.tasks.purge]\ntimeout = \"-\"\n";

#[test]
fn a_task_that_says_nothing_has_the_default() {
    let outcome = toml(TOML).apply();
    assert_eq!(outcome.faults, []);
    let [report, purge] = outcome.tasks.as_slice() else { panic!("two tasks") };
    check_value(report, Attribute::Timeout, "5m", "scheduler.toml:2");
    check_value(report, Attribute::Overlap, "queue_one", "scheduler.toml:3");
    check_value(report, Attribute::RetryMax, "2", "scheduler.toml:5");
    check_value(purge, Attribute::Timeout, "-", "scheduler.toml:7");
    check_value(purge, Attribute::Tags, "a, b", "scheduler.toml:4");
    let text = super::super::report(&outcome, &outcome.tasks, &[]);
    assert!(text.contains("  timeout        5m                 scheduler.toml:2\n"), "{text}");
}

#[test]
fn the_builder_overrides_the_environment_and_that_a_file() {
    let places = Places {
        set: &[("defaults.jitter", "3s")],
        env: &[("SCHEDULER_DEFAULTS_JITTER", "2s"), ("SCHEDULER_DEFAULTS_TIMEOUT", "2m")],
        toml: TOML,
    };
    let outcome = places.apply();
    assert_eq!((&*outcome.faults, &*outcome.remarks.len().to_string()), (&[][..], "1"));
    check_value(&outcome.tasks[0], Attribute::Jitter, "3s", "builder.set(\"defaults.jitter\")");
    check_value(&outcome.tasks[0], Attribute::Timeout, "2m", "env SCHEDULER_DEFAULTS_TIMEOUT");
}

struct Never;

impl Trigger for Never {
    fn next_fire_time(&self, _: &TriggerContext) -> NextFireTime {
        Ok(None)
    }
}

#[test]
fn a_default_of_no_use_to_a_task_is_left_out_there() {
    let text =
        "[scheduler.defaults]\noverlap = \"skip\"\nmax-concurrent = 4\nretry.base = \"1s\"\n";
    let outcome = toml(text).apply();
    assert_eq!(outcome.faults, []);
    let [report, purge] = outcome.tasks.as_slice() else { panic!("two tasks") };
    assert_eq!(set_attributes(report), [Attribute::Cron, Attribute::Zone, Attribute::Overlap]);
    assert_eq!(set_attributes(purge), [Attribute::FixedDelay, Attribute::InitialDelay]);
    let schedule = Schedule::on_trigger(Never);
    let custom = Definition::in_code("custom", schedule, Call::noop(), Location::NONE);
    let settings = toml("[scheduler.defaults]\nmisfire = \"skip\"\n").load().expect("readable");
    let outcome =
        apply(&settings, &[custom, task("once", &[(Attribute::InitialDelay, "1s")])], &[]);
    assert_eq!(set_attributes(&outcome.tasks[0]), [Attribute::Misfire]);
    assert_eq!(set_attributes(&outcome.tasks[1]), [Attribute::InitialDelay]);
}

#[test]
fn a_task_that_is_added_later_has_the_defaults_too() {
    let settings = toml(TOML).load().expect("readable");
    let mut names = settings.names();
    names.insert(&"late".into(), 0);
    let late = task("late", &[(Attribute::FixedRate, "1s"), (Attribute::Tags, "own")]);
    let late = settings.apply_to(&late, &names).expect("no fault");
    check_value(&late, Attribute::Timeout, "5m", "scheduler.toml:2");
    check_value(&late, Attribute::Tags, "own", "src/a.rs:1");
}

#[test]
fn a_wrong_default_is_reported_once() {
    toml("[scheduler.defaults]\ntimeout = \"0s\"\n").check_fault(
        "scheduler.toml:2: `scheduler.defaults`: invalid `timeout`: `0s` must be longer than zero\n\
         help: for no limit, write `timeout = \"-\"`",
    );
    env(&[("SCHEDULER_DEFAULTS_MAX_RUNS", "0")]).check_fault(
        "env SCHEDULER_DEFAULTS_MAX_RUNS: `scheduler.defaults`: invalid `max_runs`: `0` is too few\n\
         help: write at least `1`, or `-` for none",
    );
    toml("[scheduler.defaults]\ntimeot = \"5m\"\n").check_fault(
        "scheduler.toml:2: unknown option `defaults.timeot`; did you mean `defaults.timeout`?",
    );
    toml("[scheduler.defaults]\ncron = \"@daily\"\n[scheduler.defaults.retry]\n").check_first_lines(&[
        "scheduler.toml:2: `defaults.cron`: each task says itself when it fires, so this has no default",
    ]);
    let remarks = env(&[("SCHEDULER_DEFAULTS_TIMEOT", "5m")]).remarks();
    let expected =
        "env `SCHEDULER_DEFAULTS_TIMEOT` has no effect; did you mean `SCHEDULER_DEFAULTS_TIMEOUT`?";
    assert_eq!(remarks, [expected]);
    let remarks = toml("[defaults]\ntimeout = \"5m\"\n").remarks();
    assert!(remarks[0].ends_with("write `[scheduler.defaults]`"), "{remarks:?}");
}

#[test]
fn the_builder_gives_the_lowest_defaults() {
    let load = |defaults: &[(Attribute, &str)], toml: &str| {
        let defaults = defaults.iter().map(|(attribute, text)| (*attribute, (*text).to_owned()));
        Settings::load(SettingsInput {
            defaults: defaults.collect(),
            environment: Environment::default(),
            text: Some(("scheduler.toml".to_owned(), toml.to_owned())),
            ..SettingsInput::of_process()
        })
        .expect("readable")
    };
    let given = [(Attribute::Timeout, "1m"), (Attribute::Jitter, "${j:1s}")];
    let outcome = apply(&load(&given, "[scheduler.defaults]\njitter = '2s'\n"), &tasks(), &[]);
    check_value(&outcome.tasks[0], Attribute::Timeout, "1m", "builder.defaults(…)");
    check_value(&outcome.tasks[0], Attribute::Jitter, "2s", "scheduler.toml:2");
    let outcome = apply(&load(&[(Attribute::Cron, "@daily")], ""), &tasks(), &[]);
    assert!(
        outcome.faults[0].to_string().starts_with("builder.defaults(…): `defaults.cron`: each")
    );
}
