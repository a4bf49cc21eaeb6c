//! Networks that fail between processes and PostgreSQL, and the server that stops.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use cluster::{
    Lab, Outcome, Process, boot_micros, by_tick, eventually, is_full, length, pass, runs,
};
use postgres_server::{Proxy, Way};
use scheduler_store::{AttemptOutcome, JobState};

use crate::NODE;
use crate::support::{
    LIMIT, assert_accepted_have_run, assert_each_second_once, assert_lease_is_kept, await_accepted,
    await_opened, each_second, schedule,
};

/// So that a request is given up long before a lease of 15 s ends.
const SHORT: &str = ",deadline=1500";

#[test]
fn a_node_behind_a_black_hole_loses_its_job_by_its_lease_and_goes_on_after_healing() {
    let Some(lab) = Lab::on_postgres(NODE) else { return };
    let proxy = lab.proxy();
    let register = lab.folder().join("register");
    let start = |label: &str, store: &str| {
        lab.process(label).with("store", store).with("register", register.display()).start()
    };
    let lonely = start("a", &lab.store_at(proxy.port(), SHORT));
    // The first run takes until its process knows that it is lost.
    let id = lab.enqueue("work", r#"{"hang": 1, "ms": 1000}"#, 1)[0];
    eventually(LIMIT, "it runs", || (lonely.runs().len() == 1).then_some(()));
    proxy.isolate();
    let mut other = start("b", lab.store());
    eventually(LIMIT, "it knows by itself", || lonely.notes("session_lost").first().cloned());
    let taken = eventually(LIMIT, "the other takes over", || other.runs().first().cloned());
    let first = lonely.runs()[0].clone();
    assert!(taken.attempt == 2 && taken.fence > first.fence, "{first:?} {taken:?}");
    eventually(LIMIT, "it writes", || other.notes("written").first().cloned());
    let taken_at = boot_micros();
    let end = eventually(LIMIT, "the run of the lonely one ends", || lonely.runs()[0].end);
    assert_eq!(end.1, Outcome::Stopped);
    // Its outcomes, and all that it had sent, come late.
    proxy.heal();
    eventually(LIMIT, "its late outcome is refused", || {
        lonely.notes("finish_refused").first().cloned()
    });
    await_opened(&lonely, 2);
    let late = lonely.notes("written").into_iter().filter(|(at, _)| *at > taken_at);
    assert_eq!(late.count(), 0, "the register takes no old fence");
    let job = lab.await_state(id, JobState::Done, LIMIT);
    let outcomes: Vec<_> = job.attempts.iter().map(|attempt| attempt.outcome).collect();
    assert_eq!((job.fence.0, job.lost), (taken.fence, 0), "its end counts losses anew: {job:?}");
    assert_eq!(outcomes, [AttemptOutcome::Lost], "{job:?}");
    assert!(other.stop(LIMIT).success());
    let next = lab.enqueue("work", "{}", 1)[0];
    lab.await_state(next, JobState::Done, LIMIT);
}

#[test]
fn a_half_open_connection_holds_up_a_node_no_longer_than_its_deadline() {
    // The defaults, or less, with more seconds to spare.
    let (options, lease) = if is_full() { ("", 15_000) } else { (SHORT, 8_000) };
    assert_lease_is_kept([lease, 3 * lease, 9 * lease], |lease| {
        let Some(lab) = Lab::on_postgres(NODE) else { return true };
        let proxy = lab.proxy();
        let process = lab.process("a").with("store", lab.store_at(proxy.port(), options));
        let process = process.with("lease", lease).with("renew", lease / 5);
        let process = process.with("enqueue-every", 50).with("schedule", each_second("tick", ""));
        let process = process.start();
        await_accepted(&process, 10);
        // Neither end learns that the connections are dead. The system would, after many minutes.
        proxy.strand();
        let stranded = Instant::now();
        await_accepted(&process, 10);
        println!("accepted again after {:?}", stranded.elapsed());
        let count = process.runs().len();
        eventually(LIMIT, "runs go on", || (process.runs().len() > count + 20).then_some(()));
        // For longer than the last lease: it was renewed in time.
        pass(Duration::from_millis(lease + 1_000).saturating_sub(stranded.elapsed()));
        if !process.notes("session_lost").is_empty() {
            return false;
        }
        let of_all = process.runs();
        assert!(by_tick(&of_all, "tick").values().all(|runs| runs.len() == 1), "{of_all:?}");
        true
    });
}

/// The answers of the server do not arrive: it has executed requests of whose outcome the process knows nothing.
#[test]
fn answers_that_do_not_arrive_make_no_run_twice_and_lose_none() {
    let Some(lab) = Lab::on_postgres(NODE) else { return };
    let proxy = lab.proxy();
    let start = |label: &str, store: &str| {
        let process = lab.process(label).with("store", store).with("enqueue-every", 30);
        process.with("schedule", each_second("tick", "")).start()
    };
    let mut all = [start("a", &lab.store_at(proxy.port(), SHORT)), start("b", lab.store())];
    await_accepted(&all[0], 10);
    for _ in 0..3 {
        proxy.hold(Way::ToClient);
        pass(Duration::from_millis(700));
        proxy.cut();
        proxy.heal();
        await_accepted(&all[0], 5);
    }
    assert_accepted_have_run(&lab, &mut all);
    let of_all = runs(&[&all[0], &all[1]]);
    let mut starts = BTreeSet::new();
    let twice = of_all.iter().find(|run| !starts.insert(&run.job));
    assert_eq!(twice, None);
}

#[test]
fn a_slow_network_keeps_all_promises() {
    let Some(lab) = Lab::on_postgres(NODE) else { return };
    let proxies = [0, 100, 200].map(|millis| {
        let proxy = lab.proxy();
        proxy.delay(Duration::from_millis(millis));
        proxy
    });
    let start = |(proxy, label): (&Proxy, &str)| {
        let process = lab.process(label).with("store", lab.store_at(proxy.port(), ""));
        process.with("schedule", each_second("tick", "")).start()
    };
    let all: Vec<Process> = proxies.iter().zip(["a", "b", "c"]).map(start).collect();
    all.iter().for_each(|process| await_opened(process, 1));
    let all: Vec<&Process> = all.iter().collect();
    let before = schedule(&lab, "tick");
    let jobs = lab.enqueue("work", r#"{"ms": 20}"#, 300);
    pass(length(60, 8));
    lab.await_task_ended("work", LIMIT);
    assert_each_second_once(&lab, &before, &all);
    let of_all = runs(&all);
    let of_jobs: BTreeSet<&str> =
        of_all.iter().filter(|run| run.task == "work").map(|run| &*run.job).collect();
    assert_eq!(of_jobs.len(), jobs.len());
    assert_eq!(of_all.iter().filter(|run| run.task == "work").count(), jobs.len(), "none twice");
    for process in all {
        assert!(process.notes("session_lost").is_empty(), "{} has lost its lease", process.label());
    }
}

#[test]
fn a_dead_listening_connection_delays_jobs_by_a_poll_and_is_made_again() {
    let Some(lab) = Lab::on_postgres(NODE) else { return };
    let proxy = lab.proxy();
    let process = lab.process("a").with("store", lab.store_at(proxy.port(), SHORT)).start();
    let (mut client, schema) = lab.client();
    let mut listening = || -> Option<(i32, u16)> {
        let sql =
            "select pid, client_port from pg_stat_activity where query = $1 order by pid desc";
        let row = client.query_opt(sql, &[&format!("listen \"{schema}_nudge\"")]).expect("a row");
        row.map(|row| (row.get(0), u16::try_from(row.get::<_, i32>(1)).expect("a port")))
    };
    await_opened(&process, 1);
    let (first, port) = eventually(LIMIT, "it listens", &mut listening);
    proxy.strand_one(port);
    let id = lab.enqueue("work", "{}", 1)[0];
    lab.await_state(id, JobState::Done, LIMIT);
    // The server keeps the backend of a dead connection; so that it does not count.
    let (mut other, _) = lab.client();
    other.execute("select pg_terminate_backend($1)", &[&first]).expect("it ends");
    let found =
        eventually(LIMIT, "it listens again", || listening().filter(|(pid, _)| *pid != first));
    assert_ne!(found.1, port);
    assert!(process.notes("session_lost").is_empty());
}

/// A server that takes connections and says nothing, as a pool that is paused does.
#[test]
fn a_server_that_says_nothing_costs_no_threads() {
    let Some(lab) = Lab::on_postgres(NODE) else { return };
    let proxy = lab.proxy();
    let store = lab.store_at(proxy.port(), ",deadline=300");
    let process = lab.process("a").with("store", store).with("enqueue-every", 20).start();
    await_opened(&process, 1);
    await_accepted(&process, 10);
    let before = (process.threads(), proxy.connects());
    proxy.isolate();
    let begun = Instant::now();
    pass(Duration::from_secs(8));
    let (threads, connects) = (process.threads(), proxy.connects() - before.1);
    let most = 2 * u32::try_from(begun.elapsed().as_secs() + 2).expect("seconds");
    assert!(threads <= before.0 + 2, "{} threads before, {threads} while it waits", before.0);
    assert!(connects <= most, "{connects} connects, {most} at most");
    proxy.heal();
    await_accepted(&process, 10);
}
