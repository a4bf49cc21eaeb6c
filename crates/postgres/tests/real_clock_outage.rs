//! The server goes away and comes back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use postgres_server::{Proxy, Server, Way};
use scheduler_postgres::{Builder, Postgres, Wakeup};
use scheduler_store::{
    Command, CommandOutcome, Enqueue, JobFilter, NewJob, Overlap, Refusal, Store, StoreError,
    StoreTime,
};

use crate::support::{
    END, builder, client, enqueue, id, open, poll_of, put, server, until_one_waits,
};

/// A store whose network fails.
fn through(proxy: &Proxy) -> Builder {
    let url = format!("postgres://test@127.0.0.1:{}/postgres", proxy.port());
    Postgres::builder(&url).schema(crate::support::schema())
}

/// The longest wait of a test, on however slow a machine.
const CAP: Duration = Duration::from_secs(60);

fn send(store: &Postgres, number: u128) -> Result<(), StoreError> {
    let jobs = vec![NewJob::new(id(number), "a")];
    store.enqueue(&Enqueue { jobs, not_after: END }).map(drop)
}

#[test]
fn accepted_jobs_survive_a_crash_of_the_server_and_calls_succeed_again() {
    // A server of its own, which keeps what was committed when it is ended at once.
    if server().is_none() {
        return;
    }
    let server = Server::start_with(&["fsync=off"]).expect("a second server");
    let store = builder(&server).deadline(CAP * 2).connect().expect("a store");
    let me = open(&store, 1);
    let is_over = Arc::new(AtomicBool::new(false));
    let (writer, over) = (store.clone(), Arc::clone(&is_over));
    let (tell, told) = mpsc::channel();
    let writer = thread::spawn(move || {
        let (mut accepted, mut failed) = (Vec::new(), 0);
        for number in 1.. {
            match send(&writer, number) {
                Ok(()) => {
                    accepted.push(id(number));
                    tell.send(true).expect("the test listens");
                }
                Err(StoreError::Unavailable(_) | StoreError::NotExecuted(_)) => {
                    failed += 1;
                    tell.send(false).expect("the test listens");
                    thread::sleep(Duration::from_millis(20));
                }
                Err(other) => panic!("{other}"),
            }
            if over.load(Ordering::Relaxed) {
                break;
            }
        }
        (accepted, failed)
    });
    // Waits until the writer has met this so many times.
    let await_told = |is_accepted: bool, count: usize| {
        let mut answers = std::iter::from_fn(|| told.recv_timeout(CAP).ok());
        let seen = answers.by_ref().filter(|answer| *answer == is_accepted).take(count).count();
        assert_eq!(seen, count, "accepted: {is_accepted}");
    };
    await_told(true, 20);
    server.stop();
    let start = Instant::now();
    assert!(matches!(
        store.poll(&poll_of(me, "a", 1)),
        Err(StoreError::Unavailable(_) | StoreError::NotExecuted(_))
    ));
    assert!(start.elapsed() < CAP, "a call while it is away ends soon");
    await_told(false, 20);
    server.begin();
    let start = Instant::now();
    while store.depths().is_err() || send(&store, 1 << 80).is_err() {
        assert!(start.elapsed() < CAP, "it does not come back");
        thread::sleep(Duration::from_millis(20));
    }
    await_told(true, 20);
    is_over.store(true, Ordering::Relaxed);
    let (accepted, failed) = writer.join().expect("no panic");
    assert!(failed >= 20 && accepted.len() >= 40, "{failed} failed, {} accepted", accepted.len());
    let kept = store.jobs(&JobFilter::default(), u32::MAX).expect("jobs");
    let kept: std::collections::HashSet<_> = kept.iter().map(|job| job.id).collect();
    assert!(accepted.iter().all(|job| kept.contains(job)), "an accepted job is gone");
    // The session has outlived the crash, and goes on.
    assert!(!store.poll(&poll_of(me, "a", 10)).expect("a poll").jobs.is_empty());
}

#[test]
fn fences_grow_over_a_new_connection() {
    let Some(server) = server() else { return };
    // Also if this process flushes its own claims: another one may not.
    for is_relaxed in [true, false] {
        fences_grow(server, is_relaxed);
    }
}

fn fences_grow(server: &Server, is_relaxed: bool) {
    let store = builder(server).relaxed_claims(is_relaxed).connect().expect("a store");
    let me = open(&store, 1);
    enqueue(&store, (1..=2).map(|number| NewJob::new(id(number), "a")).collect());
    let first = store.poll(&poll_of(me, "a", 1)).expect("a poll").jobs.remove(0).fence;
    let broken = format!(
        "select pg_terminate_backend(pid) from pg_stat_activity where query like '%\"{}\".poll(%' and pid <> pg_backend_pid()",
        store.schema()
    );
    client(server).query_one(&broken, &[]).expect("the connection is broken");
    let start = Instant::now();
    let second = loop {
        match store.poll(&poll_of(me, "a", 1)) {
            Ok(mut polled) => break polled.jobs.remove(0).fence,
            Err(StoreError::Unavailable(_) | StoreError::NotExecuted(_)) => {
                assert!(start.elapsed() < CAP);
            }
            Err(other) => panic!("{other}"),
        }
    };
    // Fences whose commit was lost in a crash are never given out again.
    assert!(second.0 >= first.0 + 1_000_000, "{first} and {second}");
}

#[test]
fn an_idle_connection_that_broke_is_made_again_without_an_error() {
    let Some(server) = server() else { return };
    let store = builder(server).caller_connections(1).connect().expect("a store");
    enqueue(&store, vec![NewJob::new(id(1), "a")]);
    let broken = format!(
        "select pg_terminate_backend(pid) from pg_stat_activity where query like '%\"{}\".enqueue_jobs(%' and pid <> pg_backend_pid()",
        store.schema()
    );
    client(server).query_one(&broken, &[]).expect("the connection is broken");
    // The same identity sent twice is accepted once, so that it may be sent again.
    enqueue(&store, vec![NewJob::new(id(2), "a")]);
}

#[test]
fn a_server_that_is_away_is_asked_twice_a_second_at_most() {
    let Some(server) = server() else { return };
    let proxy = Proxy::new(server.port());
    let store = through(&proxy).connect().expect("a store");
    let me = open(&store, 1);
    enqueue(&store, vec![NewJob::new(id(1), "a")]);
    proxy.refuse();
    proxy.cut();
    let before = proxy.connects();
    let (start, mut calls) = (Instant::now(), 0);
    while start.elapsed() < Duration::from_secs(2) || calls < 100 {
        assert!(store.poll(&poll_of(me, "a", 1)).is_err());
        assert!(send(&store, 2).is_err());
        assert!(store.sessions().is_err());
        calls += 3;
        thread::sleep(Duration::from_millis(5));
    }
    let (connects, took) = (proxy.connects() - before, start.elapsed());
    let most = 2 * (took.as_secs() + 2);
    assert!((2..=most).contains(&(connects as u64)), "{connects} connects in {took:?}");
    // As many calls would take minutes if each waited to connect.
    assert!(took < CAP, "{calls} calls in {took:?}: they wait");
}

#[test]
fn a_statement_that_takes_too_long_is_given_up_and_the_next_one_is_not_delayed() {
    let Some(server) = server() else { return };
    let deadline = Duration::from_millis(300);
    let store = builder(server).deadline(deadline).connect().expect("a store");
    let me = open(&store, 1);
    let mut blocker = client(server);
    let lock = format!("begin; lock table {}.job", store.schema());
    blocker.batch_execute(&lock).expect("the table is locked");
    let error = send(&store, 1).expect_err("it takes too long");
    assert!(
        matches!(error, StoreError::Failed(_)) && error.to_string().contains("(57014)"),
        "{error}"
    );
    // A renewal has a connection of its own.
    let store_of_leases = store.clone();
    let claim = thread::spawn(move || store_of_leases.poll(&poll_of(me, "a", 1)));
    let renew = scheduler_store::Renew {
        progress: Vec::new(),
        clock_offset: None,
        session: me,
        lease: Duration::from_secs(60),
        not_after: END,
    };
    assert!(store.renew(&renew).expect("a renewal").is_alive);
    assert!(claim.join().expect("no panic").is_err());
    blocker.batch_execute("commit").expect("the table is free");
    send(&store, 2).expect("it is accepted");
    assert_eq!(store.job(id(1)), Ok(None), "what was given up does not happen later");
}

/// A process that goes silent within a transaction keeps what it has locked, until the server ends the transaction.
#[test]
fn locks_of_a_process_that_went_silent_are_free_after_the_deadline() {
    let Some(server) = server() else { return };
    for wakeup in [Wakeup::Notify, Wakeup::Poll] {
        go_silent(server, wakeup);
    }
}

fn go_silent(server: &Server, wakeup: Wakeup) {
    let proxy = Proxy::new(server.port());
    let silent = through(&proxy)
        .wakeup(wakeup)
        .deadline(Duration::from_millis(500))
        .connect()
        .expect("a store");
    let other = Postgres::builder(&server.url()).schema(silent.schema()).connect();
    let other = other.expect("a second store");
    put(&other, "tick", Overlap::Skip);
    let pause = Command::Pause {
        schedule: "tick".to_owned(),
        until: None,
        by: "test".to_owned(),
        reason: "test".to_owned(),
    };
    // It waits for the row; once that is locked for it, it hears of nothing any more.
    let mut blocker = client(server);
    let lock = format!("begin; select 1 from {}.schedule for update", silent.schema());
    blocker.batch_execute(&lock).expect("the row is locked");
    let (command, store) = (pause.clone(), silent.clone());
    let waiting = thread::spawn(move || store.command(&command, END));
    until_one_waits(&mut client(server), silent.schema());
    proxy.strand();
    blocker.batch_execute("commit").expect("the row is free");
    assert!(waiting.join().expect("no panic").is_err());
    assert_eq!(other.command(&pause, END), Ok(CommandOutcome::Done), "{wakeup:?}");
}

#[test]
fn a_transaction_that_fails_is_ended_at_once() {
    let Some(server) = server() else { return };
    let builder = builder(server).caller_connections(1).deadline(Duration::from_millis(300));
    let store = builder.connect().expect("a store");
    put(&store, "tick", Overlap::Skip);
    let resume = Command::Resume { schedule: "tick".to_owned() };
    let late = store.command(&resume, StoreTime::MIN);
    assert_eq!(late, Err(StoreError::Refused(Refusal::TooLate)));
    // Else the server would end it now, with the connection.
    thread::sleep(Duration::from_millis(800));
    assert_eq!(store.command(&resume, END), Ok(CommandOutcome::Done));
}

#[test]
fn a_server_that_accepts_and_says_nothing_costs_no_more_than_the_deadline() {
    let Some(server) = server() else { return };
    let proxy = Proxy::new(server.port());
    proxy.isolate();
    let error = through(&proxy).deadline(Duration::from_millis(200)).connect();
    let text = error.expect_err("no answer").to_string();
    assert!(text.contains("did not answer before the deadline"), "{text}");
    proxy.heal();
    through(&proxy).connect().expect("a store");
}

/// The job is stored and its answer lost; then the repetition meets an error that is certain for itself alone.
#[test]
fn an_enqueue_whose_answer_is_lost_stays_uncertain() {
    let Some(server) = server() else { return };
    for is_refused in [true, false] {
        let proxy = Proxy::new(server.port());
        let store = through(&proxy).caller_connections(1).connect().expect("a store");
        send(&store, 1).expect("a connection stands");
        proxy.hold(Way::ToClient);
        let sender = store.clone();
        let sent = thread::spawn(move || send(&sender, 2));
        let mut client = client(server);
        let count = format!("select count(*) from {}.job", store.schema());
        while client.query_one(&count, &[]).expect("a count").get::<_, i64>(0) < 2 {
            thread::sleep(Duration::from_millis(5));
        }
        if is_refused {
            proxy.refuse();
            proxy.cut();
        } else {
            let broken = format!("drop function {}.enqueue_jobs", store.schema());
            client.batch_execute(&broken).expect("the next enqueue is an error");
            proxy.cut();
            proxy.heal();
        }
        let answer = sent.join().expect("no panic");
        assert!(matches!(answer, Err(StoreError::Unavailable(_))), "{is_refused}: {answer:?}");
    }
}

/// Asks or enqueues, as callers do.
fn call(store: &Postgres, number: u128) -> Result<(), StoreError> {
    match number % 3 {
        0 => store.job(id(number)).map(drop),
        1 => store.jobs(&JobFilter::default(), 10).map(drop),
        _ => send(store, number),
    }
}

/// Calls by 20 threads at once; each answer, with the time that it took.
fn call_at_once(
    call: impl Fn(u128) -> Result<(), StoreError> + Sync,
) -> Vec<(u128, Result<(), StoreError>, Duration)> {
    let timed = |number| {
        let start = Instant::now();
        (number, call(number), start.elapsed())
    };
    thread::scope(|scope| {
        let callers: Vec<_> = (100..120).map(|number| scope.spawn(move || timed(number))).collect();
        callers.into_iter().map(|caller| caller.join().expect("no panic")).collect()
    })
}

/// Two requests are sent. The other callers wait for a connection, and have sent nothing when their time is over.
#[test]
fn callers_beyond_the_connections_know_that_nothing_was_sent_and_may_ask_again() {
    let Some(server) = server() else { return };
    for is_refused in [false, true] {
        let (proxy, deadline) = (Proxy::new(server.port()), Duration::from_secs(1));
        let store = through(&proxy).caller_connections(2).deadline(deadline).connect();
        let store = store.expect("a store");
        send(&store, 1).expect("it is accepted");
        proxy.isolate();
        if is_refused {
            proxy.refuse();
        }
        let answers = call_at_once(|number| call(&store, number));
        let mut uncertain = 0;
        for (number, answer, took) in &answers {
            assert!(*took < deadline * 8, "{number}: {answer:?} after {took:?}");
            match answer {
                Err(StoreError::NotExecuted(_)) => {}
                Err(StoreError::Unavailable(_)) => uncertain += 1,
                other => panic!("{number}: {other:?}"),
            }
        }
        assert!(uncertain <= 2, "of two connections: {answers:?}");
        let again = thread::spawn({
            let store = store.clone();
            move || {
                call_at_once(|number| {
                    let start = Instant::now();
                    loop {
                        let answer = call(&store, 100 + number);
                        let is_away = matches!(
                            answer,
                            Err(StoreError::Unavailable(_) | StoreError::NotExecuted(_))
                        );
                        if !is_away || start.elapsed() > CAP {
                            return answer;
                        }
                        thread::sleep(Duration::from_millis(50));
                    }
                })
            }
        });
        thread::sleep(deadline * 3);
        proxy.heal();
        for (number, answer, _) in again.join().expect("no panic") {
            assert_eq!(answer, Ok(()), "{number}");
        }
        let unsent = answers
            .iter()
            .filter(|(_, answer, _)| matches!(answer, Err(StoreError::NotExecuted(_))));
        for (number, answer, _) in unsent {
            assert_eq!(store.job(id(*number)), Ok(None), "{answer:?}");
        }
    }
}
