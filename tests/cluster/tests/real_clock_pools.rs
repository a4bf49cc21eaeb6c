//! PgBouncer in transaction mode between the processes and the server.

use std::collections::BTreeSet;

use cluster::{Lab, Process, eventually, length, pass, runs};
use postgres_server::Server;

use crate::NODE;
use crate::support::{LIMIT, assert_each_second_once, await_opened, each_second, schedule};

#[test]
fn a_pool_that_gives_each_transaction_another_connection_keeps_all_promises() {
    if !Lab::is_postgres() {
        return;
    }
    let Some(server) = Server::start() else { return };
    let Some(bouncer) = server.bouncer() else { return };
    let lab = Lab::postgres(NODE, &server.url());
    let start = |label: &str| {
        let process = lab.process(label).with("store", lab.store_at(bouncer.port(), ",poll"));
        process.with("schedule", each_second("tick", "")).start()
    };
    // They make the tables through the pool.
    let mut all: Vec<Process> = ["a", "b", "c"].into_iter().map(start).collect();
    all.iter().for_each(|process| await_opened(process, 1));
    let before = schedule(&lab, "tick");
    let jobs = lab.enqueue("work", r#"{"ms": 20}"#, 300);
    pass(length(60, 5));
    lab.await_task_ended("work", LIMIT);
    assert_each_second_once(&lab, &before, &all.iter().collect::<Vec<_>>());
    let of_all = runs(&all.iter().collect::<Vec<_>>());
    let work: Vec<&str> =
        of_all.iter().filter(|run| run.task == "work").map(|run| &*run.job).collect();
    assert_eq!((work.len(), work.iter().collect::<BTreeSet<_>>().len()), (jobs.len(), jobs.len()));
    // The job of a killed process runs elsewhere.
    lab.enqueue("work", r#"{"hang": 1}"#, 1);
    let holder = eventually(LIMIT, "it runs", || {
        all.iter().position(|process| {
            process.runs().iter().any(|run| run.task == "work" && run.end.is_none())
        })
    });
    all[holder].kill();
    lab.await_task_ended("work", LIMIT);
    assert!(all.iter().any(|process| !process.notes("job_lost").is_empty()));
}

#[test]
fn a_process_that_would_keep_state_in_a_connection_is_refused_with_a_remedy() {
    if !Lab::is_postgres() {
        return;
    }
    let Some(server) = Server::start() else { return };
    let Some(bouncer) = server.bouncer() else { return };
    let lab = Lab::postgres(NODE, &server.url());
    let mut process = lab.process("a").with("store", lab.store_at(bouncer.port(), "")).start();
    let status = eventually(LIMIT, "it ends", || process.status());
    assert_eq!(status.code(), Some(2));
    assert!(process.log().contains("help: behind a pool of connections"), "{}", process.log());
}
