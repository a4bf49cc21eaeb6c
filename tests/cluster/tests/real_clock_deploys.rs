//! Old and new builds side by side: newer tables, and back.
//!
//! Changed schedules are in D19.

use cluster::{Lab, eventually, pass, runs, wall_at};
use std::time::Duration;

use crate::NODE;
use crate::support::{LIMIT, await_opened, await_runs, each_second};

/// Newer than this build knows.
const NEWER: i32 = 99;

#[test]
fn newer_tables_that_this_build_understands_are_used_by_both() {
    let Some(lab) = Lab::new(NODE) else { return };
    let start = |label| lab.process(label).with("schedule", each_second("tick", "")).start();
    let old = start("old");
    await_runs(&[&old], 1);
    lab.set_version(NEWER, 1);
    let new = start("new");
    await_opened(&new, 1);
    let count = runs(&[&old, &new]).len();
    await_runs(&[&old, &new], count + 2);
    assert_eq!(lab.open().sessions().expect("the store answers").len(), 2);
    assert!(old.notes("session_lost").is_empty() && old.notes("refused").is_empty());
}

#[test]
fn a_build_that_does_not_understand_the_tables_writes_nothing_and_goes_on_after_a_rollback() {
    let Some(lab) = Lab::new(NODE) else { return };
    let old = lab.process("old").with("schedule", each_second("tick", "")).start();
    await_runs(&[&old], 1);
    lab.set_version(NEWER, NEWER - 1);
    // One that runs says so, and does nothing more.
    let refused =
        eventually(LIMIT, "the refusal is an event", || old.notes("refused").first().cloned());
    assert!(refused.1.contains("98") && refused.1.contains("help:"), "{}", refused.1);
    pass(Duration::from_secs(3));
    // A run of an older tick may have begun later.
    let count = old.runs().len();
    let late = old.runs().into_iter().find(|run| run.tick > wall_at(refused.0));
    assert_eq!(late, None, "it runs nothing any more");
    // One that starts says so, and ends.
    let mut late = lab.process("late").with("schedule", each_second("tick", "")).start();
    let status = eventually(LIMIT, "it ends", || late.status());
    assert_eq!(status.code(), Some(2));
    let log = late.log();
    assert!(log.contains("98") && log.contains("help: "), "{log}");
    // The deploy is rolled back, and the tables with it.
    lab.set_version(1, 1);
    eventually(LIMIT, "it goes on by itself", || (old.runs().len() > count + 1).then_some(()));
}
