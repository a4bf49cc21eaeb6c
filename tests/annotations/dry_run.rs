//! A dry run prints to stdout, with all warnings, whatever the log.

use std::process::Output;

use crate::own_process::command_for;
use scheduler::{Builder, Scheduler, scheduled, tasks};

const CHILD: &str = "TEST_OF_THE_DRY_RUN";

#[scheduled(fixed_rate = "10s")]
fn tick() {}

fn builder() -> Builder {
    Scheduler::builder()
        .tasks(tasks![tick])
        .zone("UTC")
        .settings("none.toml", "")
        .environment([("SCHEDULER_DRY_RUN", "1"), ("SCHEDULER_TASKS_TOCK_FIXED_RATE", "1s")])
}

/// Runs a test of this file as a program of its own.
fn run<T: Fn()>(test: T) -> Output {
    command_for(test).env(CHILD, "1").output().expect("it runs")
}

fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

#[test]
fn it_is_printed_and_no_message_is_given_away() {
    if is_child() {
        let said = |text: &str| panic!("`{text}` is given to the function");
        builder().messages(said).start().expect("it starts nothing");
        return;
    }
    let output = run(it_is_printed_and_no_message_is_given_away);
    check(&output);
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}

/// `spawn` has no scheduler to return, so it returns an error.
#[test]
fn with_spawn_it_is_printed_before_the_error() {
    if is_child() {
        assert!(builder().spawn().unwrap_err().is_dry_run());
        return;
    }
    check(&run(with_spawn_it_is_printed_before_the_error));
}

/// In place of the report, it would be one record with line breaks, if the filter lets that through.
#[test]
fn it_does_not_go_to_a_logger() {
    if is_child() {
        let logger: &'static Refusing = &Refusing;
        log::set_logger(logger).expect("the first");
        log::set_max_level(log::LevelFilter::Info);
        builder().start().expect("it starts nothing");
        return;
    }
    check(&run(it_does_not_go_to_a_logger));
}

struct Refusing;

impl log::Log for Refusing {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        panic!("`{}` is logged", record.args());
    }

    fn flush(&self) {}
}

fn check(output: &Output) {
    let (out, err) = (&output.stdout, String::from_utf8_lossy(&output.stderr));
    let out = String::from_utf8_lossy(out);
    assert!(output.status.success(), "{out}\n{err}");
    let at = |text: &str| out.find(text).unwrap_or_else(|| panic!("no `{text}` in:\n{out}\n{err}"));
    let (report, warning) =
        (at("  fixed_rate  "), at("WARN  env `SCHEDULER_TASKS_TOCK_FIXED_RATE`"));
    assert!(report < warning, "{out}");
    assert!(!err.contains("SCHEDULER_TASKS_TOCK"), "{err}");
}

#[test]
fn its_text_has_the_warnings_too() {
    let text = builder().dry_run().unwrap().to_string();
    assert!(text.contains("\n\nWARN  env `SCHEDULER_TASKS_TOCK_FIXED_RATE`"), "{text}");
    let text = Scheduler::builder().tasks(tasks![]).zone("UTC").dry_run().unwrap().to_string();
    assert!(text.contains("\n\nWARN  no scheduled tasks found\n"), "{text}");
}

/// `cargo scheduler check` sets the same variable.
#[cfg(feature = "sqlite")]
#[test]
fn it_opens_no_store() {
    const FILE: &str = "TEST_OF_THE_DRY_RUN_FILE";
    if let Some(file) = std::env::var_os(FILE) {
        let store = scheduler::store::Sqlite::open(&file).expect("it is not opened");
        let started = builder().store(store).spawn();
        assert!(started.unwrap_err().is_dry_run());
        return;
    }
    let folder = std::env::temp_dir().join(format!("scheduler-dry-run-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("jobs.db");
    for (variable, makes_file) in [("1", false), ("true", false), ("0", true)] {
        let mut child = command_for(it_opens_no_store);
        let output = child.env(FILE, &file).env("SCHEDULER_DRY_RUN", variable).output();
        let output = output.expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        assert_eq!(file.exists(), makes_file, "SCHEDULER_DRY_RUN={variable}");
    }
    std::fs::remove_dir_all(&folder).expect("it can be removed");
}
