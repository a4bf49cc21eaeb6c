//! Durable jobs in real processes, a test for each row of the contract.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cluster::{Lab, Outcome, Process, Run, eventually, is_full, pass, runs};
use scheduler::store::Postgres;
use scheduler::{Scheduler, job};
use scheduler_sqlite::Sqlite;
use scheduler_sqlite::rusqlite::{Connection, Transaction, TransactionBehavior};
use scheduler_store::{Command, JobId, JobState, NewJob, Payload, Uuid};

use crate::NODE;
use crate::support::{LIMIT, await_opened};

fn runs_of(processes: &[&Process], id: JobId) -> Vec<Run> {
    let id = id.to_string();
    let mut runs: Vec<Run> = runs(processes).into_iter().filter(|run| run.job == id).collect();
    runs.sort_by_key(|run| run.began);
    runs
}

#[test]
fn d7_what_was_accepted_is_run_after_a_kill() {
    for _ in 0..if is_full() { 20 } else { 3 } {
        let Some(lab) = Lab::new(NODE) else { return };
        let mut first = lab.process_with_short_lease("a").with("enqueue-every", 0).start();
        eventually(LIMIT, "jobs are accepted", || {
            (first.notes("accepted").len() >= 50).then_some(())
        });
        first.kill();
        let accepted: BTreeSet<String> =
            first.notes("accepted").into_iter().map(|(_, id)| id).collect();
        let second = lab.process("b").start();
        lab.await_all_ended(LIMIT);
        let ran = runs(&[&first, &second]);
        let done: BTreeSet<String> = ran
            .iter()
            .filter(|run| matches!(run.end, Some((_, Outcome::Done))))
            .map(|run| run.job.clone())
            .collect();
        let missing: Vec<&String> = accepted.difference(&done).collect();
        // A run that the kill has cut off after its work has no end in the journal, but an outcome in the store.
        let stored: BTreeSet<String> =
            lab.jobs(JobState::Done).iter().map(|job| job.id.to_string()).collect();
        assert!(missing.iter().all(|id| stored.contains(*id)), "{missing:?}");
    }
}

fn immediate(connection: &mut Connection) -> Transaction<'_> {
    let behavior = TransactionBehavior::Immediate;
    connection.transaction_with_behavior(behavior).expect("a transaction")
}

/// For the tests of `enqueue_in`: the program `node` has the body.
#[job(name = "work")]
fn work(#[payload] _: BTreeMap<String, u64>) {}

/// A transaction of the caller and the handle of the facade, which has to do with the same store.
#[test]
fn d8_a_job_in_a_transaction_of_the_caller_through_the_facade() {
    let Some(lab) = Lab::on_postgres(NODE) else { return };
    // It polls once in an hour, so that the job is found by the notification that comes with the commit.
    let process = lab.process("a").with("poll", 3_600_000).start();
    await_opened(&process, 1);
    let (mut client, schema) = lab.client();
    let url = lab.url();
    let store = Postgres::builder(&url).schema(schema).connect().expect("a store");
    let scheduler = Scheduler::builder().store(store);
    let scheduler = scheduler.set("scheduler.tasks.work.enabled", "false").spawn();
    let scheduler = scheduler.expect("it starts");
    let jobs = scheduler.jobs().expect("there is a store");
    let mut transaction = client.transaction().expect("a transaction");
    let rolled_back = work::job(BTreeMap::new());
    let gone = rolled_back.id();
    jobs.enqueue_in(&mut transaction, rolled_back).expect("accepted");
    transaction.rollback().expect("it is rolled back");
    let mut transaction = client.transaction().expect("a transaction");
    let committed = work::job(BTreeMap::new());
    let id = committed.id();
    jobs.enqueue_in(&mut transaction, committed).expect("accepted");
    pass(Duration::from_secs(1));
    assert!(jobs.get(id).expect("an answer").is_none() && process.runs().is_empty());
    transaction.commit().expect("it is committed");
    lab.await_state(id, JobState::Done, LIMIT);
    assert!(jobs.get(gone).expect("an answer").is_none());
    assert_eq!(process.runs().len(), 1, "what was rolled back never ran");
    scheduler.shutdown().expect("it stops");
}

#[test]
fn d8_a_job_in_a_transaction_of_the_caller_exists_once_that_is_committed() {
    let lab = Lab::sqlite(NODE);
    let process = lab.process("a").start();
    let new = |number| NewJob::new(JobId::from_uuid(Uuid::from_u128(number)), "work");
    let payload = Payload { version: 1, bytes: b"{}".to_vec() };
    let mut connection = lab.connection();
    let store = Sqlite::open(lab.store().trim_start_matches("sqlite:")).expect("a store");
    eventually(LIMIT, "the process has opened a session", || {
        process.notes("session_opened").first().cloned()
    });
    let rolled_back = immediate(&mut connection);
    let job = NewJob { payload: payload.clone(), ..new(1) };
    store.enqueue_in(&rolled_back, &[job]).expect("it is accepted");
    rolled_back.rollback().expect("it is rolled back");
    let committed = immediate(&mut connection);
    let job = NewJob { payload, ..new(2) };
    store.enqueue_in(&committed, std::slice::from_ref(&job)).expect("it is accepted");
    pass(Duration::from_secs(1));
    assert!(process.runs().is_empty(), "nothing runs before the commit");
    committed.commit().expect("it is committed");
    lab.await_state(job.id, JobState::Done, LIMIT);
    assert_eq!(process.runs().len(), 1, "what was rolled back never ran");
}

#[test]
fn d9_many_processes_run_each_job_once() {
    let Some(lab) = Lab::new(NODE) else { return };
    let count = if is_full() { 20_000 } else { 4_000 };
    lab.enqueue("work", "{}", count);
    let start = |label| lab.process(label).with("threads", 8).start();
    let all = ["a", "b", "c", "d"].map(start);
    let all: Vec<&Process> = all.iter().collect();
    lab.await_all_ended(LIMIT);
    let of_all = runs(&all);
    let mut by_job = BTreeMap::<String, usize>::new();
    for run in &of_all {
        *by_job.entry(run.job.clone()).or_default() += 1;
        assert!(matches!(run.end, Some((_, Outcome::Done))), "{run:?}");
    }
    assert_eq!(by_job.len(), count);
    assert!(by_job.values().all(|runs| *runs == 1), "none runs twice");
    assert!(all.iter().all(|process| process.notes("job_lost").is_empty()));
}

#[test]
fn d10_a_job_of_a_killed_process_runs_again_elsewhere() {
    let Some(lab) = Lab::new(NODE) else { return };
    let mut first = lab.process_with_short_lease("a").start();
    let id = lab.enqueue("work", r#"{"ms": 600000}"#, 1)[0];
    let at_most_once = lab.enqueue("abandoned", r#"{"ms": 600000}"#, 1)[0];
    eventually(LIMIT, "both run", || {
        let runs = first.runs();
        let has_run = |task: &str| runs.iter().any(|run| run.task == task);
        (has_run("work") && has_run("abandoned")).then_some(())
    });
    let second = lab.process("b").start();
    first.kill();
    eventually(LIMIT, "the other runs it", || (!second.runs().is_empty()).then_some(()));
    let of_job = runs_of(&[&first, &second], id);
    // Also before it was killed, a slow moment may have cost the first its session.
    assert!(of_job.windows(2).all(|pair| pair[0].attempt < pair[1].attempt), "{of_job:?}");
    assert!(of_job.windows(2).all(|pair| pair[0].fence < pair[1].fence), "{of_job:?}");
    let (last, job) = (&of_job[of_job.len() - 1], lab.job(id));
    assert_eq!((&*last.process, last.fence, last.attempt), ("b", job.fence.0, job.attempt));
    assert_eq!(job.lost + 1, job.attempt, "each attempt before was lost");
    let parked = lab.await_state(at_most_once, JobState::Parked, LIMIT);
    assert!(parked.error.expect("a reason").starts_with("lost"));
    assert_eq!(runs_of(&[&first, &second], at_most_once).len(), 1);
}

#[test]
fn d11_a_late_outcome_is_refused() {
    let Some(lab) = Lab::new(NODE) else { return };
    let first = lab.process_with_short_lease("a").start();
    let id = lab.enqueue("work", r#"{"ms": 4000, "stubborn": true}"#, 1)[0];
    eventually(LIMIT, "it runs", || (!first.runs().is_empty()).then_some(()));
    lab.freeze(&first);
    let second = lab.process("b").start();
    eventually(LIMIT, "the other takes it", || (!second.runs().is_empty()).then_some(()));
    lab.command(&Command::Cancel { job: id });
    let cancelled = lab.await_state(id, JobState::Cancelled, LIMIT);
    let count = runs_of(&[&first, &second], id).len();
    first.resume();
    eventually(LIMIT, "the first sees its loss", || first.notes("session_lost").first().cloned());
    eventually(LIMIT, "its body ends", || first.runs().first().and_then(|run| run.end).map(drop));
    // It goes on as a process: a further job runs there or elsewhere, and the old one is as the second has left it.
    let next = lab.enqueue("work", "{}", 1)[0];
    lab.await_state(next, JobState::Done, LIMIT);
    assert_eq!(lab.job(id), cancelled);
    assert_eq!(runs_of(&[&first, &second], id).len(), count, "it does not run again");
}

#[test]
fn d12_retries_and_giving_up() {
    let Some(lab) = Lab::new(NODE) else { return };
    let process = lab.process("a").start();
    let id = lab.enqueue("work", r#"{"fail": 2}"#, 1)[0];
    lab.await_state(id, JobState::Done, LIMIT);
    let of_job = runs_of(&[&process], id);
    assert_eq!(of_job.iter().map(|run| run.attempt).collect::<Vec<_>>(), [1, 2, 3]);
    for (pair, least) in of_job.windows(2).zip([200_000, 400_000]) {
        let gap = pair[1].began - pair[0].end.expect("it ended").0;
        assert!(gap >= least, "{gap} µs");
    }
    let never = lab.enqueue("twice", r#"{"fail": 100}"#, 1)[0];
    let parked = lab.await_state(never, JobState::Parked, LIMIT);
    assert_eq!(parked.attempt, 3);
    assert!(parked.error.expect("the last error").contains("attempt 3 fails"));
    assert_eq!(runs_of(&[&process], never).len(), 3);
    lab.command(&Command::Retry { job: never });
    eventually(LIMIT, "it runs once more", || {
        (runs_of(&[&process], never).len() == 4).then_some(())
    });
    lab.await_state(never, JobState::Parked, LIMIT);
}

#[test]
fn d13_a_job_that_kills_its_process_is_parked_and_takes_no_other_with_it() {
    let Some(lab) = Lab::new(NODE) else { return };
    let poison = lab.enqueue("work", r#"{"abort": true}"#, 1)[0];
    let others = lab.enqueue("work", r#"{"ms": 5}"#, 200);
    let start = |number: usize| lab.process(&format!("p{number}")).with("lease", 5_000).start();
    let mut all: Vec<Process> = (0..3).map(start).collect();
    let parked = eventually(LIMIT * 2, "the poison is parked, and all others are done", || {
        // A supervisor starts processes again.
        for index in 0..3 {
            if all[index].status().is_some() {
                let number = all.len();
                let next = start(number);
                let former = std::mem::replace(&mut all[index], next);
                all.push(former);
            }
        }
        let job = lab.job(poison);
        let is_over = job.state == JobState::Parked && lab.jobs(JobState::Done).len() == 200;
        is_over.then_some(job)
    });
    assert_eq!(parked.lost, 3);
    assert!(parked.error.expect("a reason").starts_with("lost"));
    let all: Vec<&Process> = all.iter().collect();
    // Fewer where a slow process lost its lease between the claim and the run.
    assert!((1..=3).contains(&runs_of(&all, poison).len()));
    assert!(others.iter().all(|id| lab.job(*id).state == JobState::Done));
}

#[test]
fn d14_a_payload_that_cannot_be_read_waits_untouched() {
    let Some(lab) = Lab::new(NODE) else { return };
    let good = lab.enqueue("work", "{}", 19);
    let bad = lab.enqueue("work", r#"{"ms": "a word"}"#, 1)[0];
    let process = lab.process("a").start();
    for id in good {
        lab.await_state(id, JobState::Done, LIMIT);
    }
    let waiting = eventually(LIMIT, "the bad one was tried", || {
        Some(lab.job(bad)).filter(|job| job.undecoded >= 1 && job.state == JobState::Ready)
    });
    assert_eq!((waiting.attempt, &*waiting.payload.bytes), (0, &br#"{"ms": "a word"}"#[..]));
    let why = waiting.error.expect("a reason");
    assert!(why.contains("does not fit") && !why.contains("word"), "{why}");
    assert!(runs_of(&[&process], bad).is_empty(), "its body never began");
}

#[test]
fn d15_a_job_whose_task_is_not_here_waits_for_a_process_that_has_it() {
    let Some(lab) = Lab::new(NODE) else { return };
    let without = lab.process("a").with("without", "rare").start();
    let rare = lab.enqueue("rare", "{}", 50);
    let known = lab.enqueue("work", "{}", 10);
    for id in known {
        lab.await_state(id, JobState::Done, LIMIT);
    }
    pass(Duration::from_secs(1));
    for id in &rare {
        let job = lab.job(*id);
        assert_eq!((job.state, job.attempt), (JobState::Ready, 0));
    }
    let with = lab.process("b").start();
    for id in &rare {
        lab.await_state(*id, JobState::Done, LIMIT);
    }
    assert_eq!(with.runs().iter().filter(|run| run.task == "rare").count(), 50);
    assert!(without.runs().iter().all(|run| run.task != "rare"));
}
