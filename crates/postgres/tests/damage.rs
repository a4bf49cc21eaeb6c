//! Rows that other programs have written, and texts that look like SQL.

use std::fs;
use std::path::Path;

use scheduler_store::{End, Finish, Finished, JobFilter, JobState, NewJob, Store};

use crate::support::{builder, client, enqueue, id, open, poll_of, server, uuid};

/// Damage that the table refuses, and damage that gets in.
const DAMAGE: [(&str, bool); 9] = [
    ("state = 'sleeping'", false),
    ("attempt = -1", false),
    ("lost = -5", false),
    ("priority = 99", false),
    ("run_at = '294276-12-31 23:59:59+00'", true),
    ("run_at = '-infinity'", true),
    ("payload_version = -1", true),
    ("payload_version = 9000000000", true),
    ("payload = '', max_attempts = -7", true),
];

#[test]
fn damaged_rows_are_refused_or_read_and_the_others_run() {
    let Some(server) = server() else { return };
    let store = builder(server).connect().expect("a store");
    let me = open(&store, 1);
    let mut client = client(server);
    enqueue(&store, (1..=200).map(|number| NewJob::new(id(number), "a")).collect());
    for (number, (change, is_taken)) in (1..).zip(DAMAGE) {
        let update =
            format!("update {}.job set {change} where id = {}", store.schema(), uuid(number));
        assert_eq!(client.batch_execute(&update).is_ok(), is_taken, "{change}");
    }
    // The checks were removed by hand.
    let checks = ["state", "attempt", "lost", "priority"];
    for check in checks {
        let drop = format!("alter table {}.job drop constraint job_{check}_check", store.schema());
        client.batch_execute(&drop).expect("no check");
    }
    for (number, (change, _)) in (1..).zip(DAMAGE) {
        let update =
            format!("update {}.job set {change} where id = {}", store.schema(), uuid(number));
        client.batch_execute(&update).expect(change);
    }
    assert_eq!(store.jobs(&JobFilter::default(), 1000).expect("a list").len(), 200);
    store.depths().expect("depths");
    let mut done = 0;
    loop {
        let polled = store.poll(&poll_of(me, "a", 50)).expect("a poll");
        let ends: Vec<_> = polled
            .jobs
            .iter()
            .map(|job| Finish { progress: None, session: me, held: job.held(), end: End::Done })
            .collect();
        let answers = store.finish(&ends).expect("ends");
        assert!(answers.iter().all(|answer| *answer == Finished::Stored(JobState::Done)));
        done += answers.len();
        if answers.is_empty() {
            break;
        }
    }
    // Two are left alone: an unknown state, and one that is due after the year 9999.
    assert_eq!(done, 198);
    let unknown = store.job(id(1)).expect("an answer").expect("the job");
    assert_eq!(unknown.state, JobState::Parked);
}

#[test]
fn a_damaged_schedule_is_left_alone_and_told_once() {
    let Some(server) = server() else { return };
    let store = builder(server).connect().expect("a store");
    let me = open(&store, 1);
    for name in ["bad", "good"] {
        crate::support::put(&store, name, scheduler_store::Overlap::Skip);
    }
    let damage = format!(
        "alter table {0}.schedule drop constraint schedule_timing_check; update {0}.schedule set timing = 'moon' where name = 'bad'",
        store.schema()
    );
    client(server).batch_execute(&damage).expect("damage");
    let polled = store.poll(&poll_of(me, "tick", 1)).expect("a poll");
    assert_eq!(polled.due.len(), 1);
    assert_eq!(polled.damaged.len(), 1);
    assert!(polled.damaged[0].row.contains("bad") && polled.damaged[0].reason.contains("moon"));
    assert_eq!(store.poll(&poll_of(me, "tick", 1)).expect("a poll").damaged, []);
    assert_eq!(store.schedules().expect("a list").len(), 1);
}

/// Text of users is never part of a statement: the only text that is put into one is a checked identifier, in one place, and
/// no function of the schema executes a text.
#[test]
fn no_statement_is_made_from_text() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for entry in fs::read_dir(root.join("sql/0001")).expect("a folder").flatten() {
        let text = fs::read_to_string(entry.path()).expect("a file").to_lowercase();
        let text = text.replace("execute function", "").replace("revoke execute on", "");
        assert!(!text.contains("execute"), "{:?}", entry.path());
        assert!(!text.contains("format("), "{:?}", entry.path());
    }
    for entry in fs::read_dir(&root).expect("a folder").flatten() {
        // One file prepares the statements that the others have.
        if !entry.path().is_file() || entry.file_name() == "blocking_connection.rs" {
            continue;
        }
        let text = fs::read_to_string(entry.path()).expect("a file");
        for call in [".query(", ".execute(", ".simple_query(", ".query_one(", ".query_opt("] {
            // These prepare a statement, or take one without parameters.
            let found = text
                .lines()
                .any(|line| line.contains(call) && !line.trim_start().starts_with("//"));
            assert!(!found, "{:?} calls {call}", entry.path());
        }
    }
}
