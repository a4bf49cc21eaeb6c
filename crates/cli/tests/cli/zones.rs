//! Without `--zone` a command answers in the zone by which a program would go that is started in the same shell.

use scheduler::{Scheduler, tasks};
use serde_json::Value;

use crate::{Answered, Typed};

const BOTH: [&str; 2] = ["SCHEDULER_ZONE", "TZ"];

fn ask(args: &[&str], values: [Option<&str>; 2]) -> Answered {
    let mut typed = Typed::new(args);
    let values = BOTH.into_iter().zip(values);
    typed.variables.extend(values.filter_map(|(name, value)| Some((name, value?.to_owned()))));
    typed.answer()
}

/// The zone of a program with these variables.
fn of_program(values: [Option<&str>; 2]) -> String {
    let values = BOTH.into_iter().zip(values);
    let values = values.filter_map(|(name, value)| Some((name, value?)));
    let report = Scheduler::builder().environment(values).tasks(tasks![]).dry_run();
    let report = report.expect("it could start").to_string();
    let line = report.lines().find(|line| line.contains("scheduler.zone")).expect("a line");
    line.split_whitespace().nth(1).expect("a value").to_owned()
}

#[test]
fn a_command_answers_in_the_zone_by_which_a_program_goes() {
    let cases = [
        [None, Some("America/New_York")],
        [None, Some(":/usr/share/zoneinfo/America/New_York")],
        [Some("Asia/Tokyo"), Some("America/New_York")],
        [Some("Asia/Tokyo"), Some("CET-1CEST")],
    ];
    for values in cases {
        let answer = ask(&["next", "0 0 9 * * *", "-n", "1", "--json"], values);
        let answer: Value = serde_json::from_str(&answer.output).expect("JSON");
        assert_eq!(answer["zone"], *of_program(values), "{values:?}");
    }
}

#[test]
fn a_command_names_the_zone_that_was_not_asked_for() {
    let new_york = [None, Some("America/New_York")];
    let next = ask(&["next", "0 0 9 * * *", "-n", "1"], new_york);
    assert_eq!(next.output, "Fri 2026-03-27 09:00 -04:00\n");
    let note = "note: in America/New_York, the zone of TZ; for another: --zone NAME\n";
    assert_eq!((&*next.errors, next.code), (note, 0));
    let between = ["between", "0 30 2 * * *", "2026-03-07", "2026-03-09"];
    for args in [&["lint", "0 30 2 * * *"][..], &between, &["explain", "0 30 2 * * *"]] {
        assert_eq!(ask(args, new_york).errors, note, "{args:?}");
    }
    let tokyo = ask(&["next", "0 0 9 * * *", "-n", "1"], [Some("Asia/Tokyo"), None]);
    assert!(tokyo.errors.contains("Asia/Tokyo, the zone of SCHEDULER_ZONE"), "{}", tokyo.errors);
    let asked = ask(&["next", "0 0 9 * * *", "-n", "1", "--zone", "UTC"], new_york);
    assert_eq!((&*asked.output, &*asked.errors), ("Sat 2026-03-28 09:00 +00:00\n", ""));
    let in_text = ask(&["next", "09:00 UTC", "-n", "1", "--from", "systemd"], new_york);
    assert_eq!((&*in_text.output, &*in_text.errors), ("Sat 2026-03-28 09:00 +00:00\n", ""));
}

#[test]
fn a_variable_that_names_no_zone_is_no_answer_in_another_one() {
    let next = ["next", "0 0 9 * * *", "-n", "1"];
    let answer = ask(&next, [None, Some("CET-1CEST,M3.5.0,M10.5.0/3")]);
    assert!(answer.errors.starts_with("error: the variable TZ: "), "{}", answer.errors);
    assert!(answer.errors.contains("--zone Europe/Berlin") && answer.code == 2);
    let answer = ask(&next, [Some("Mars/Base"), Some("UTC")]);
    assert!(answer.errors.starts_with("error: the variable SCHEDULER_ZONE: "), "{}", answer.errors);
    assert_eq!(answer.code, 2);
}
