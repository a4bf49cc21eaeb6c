//! Locked rows and refused values keep nothing else back.

use std::time::{Duration, Instant};

use scheduler_postgres::Postgres;
use scheduler_postgres::postgres::Client;
use scheduler_store::{
    Command, CommandAll, CommandOutcome, End, Enqueue, Enqueued, Finish, Finished, Fired,
    JobAction, JobFilter, JobProgress, JobState, Key, KeyUntil, NewJob, OnBusy, OnConflict,
    Overlap, Refusal, Register, Renew, SessionId, Store, StoreError, StoreTime, StoredJob,
};

use crate::support::{
    END, builder, client, enqueue, fire_of, id, open, poll_of, put, server, until_one_waits, uuid,
};

/// A store with so many running jobs.
fn running(count: u128) -> Option<(Postgres, Client, SessionId, Vec<StoredJob>)> {
    let server = server()?;
    let (store, client) = (builder(server).connect().expect("a store"), client(server));
    let me = open(&store, 1);
    enqueue(&store, (1..=count).map(|number| NewJob::new(id(number), "a")).collect());
    let jobs = store.poll(&poll_of(me, "a", 100)).expect("a poll").jobs;
    Some((store, client, me, jobs))
}

fn ends(session: SessionId, jobs: &[StoredJob], end: &End) -> Vec<Finish> {
    jobs.iter()
        .map(|job| Finish { progress: None, session, held: job.held(), end: end.clone() })
        .collect()
}

#[test]
fn a_job_that_a_client_has_locked_keeps_no_other_outcome_back() {
    let Some((store, mut client, me, jobs)) = running(3) else { return };
    let cancel = format!("begin; select {}.cancel({})", store.schema(), uuid(2));
    client.batch_execute(&cancel).expect("a request that is not committed");
    for round in 0..3 {
        let begun = Instant::now();
        let wanted = match round {
            0 => [JobState::Done, JobState::Done].map(Finished::Stored),
            _ => [JobState::Done, JobState::Done].map(Finished::AlreadyMine),
        };
        let answers = store.finish(&ends(me, &jobs, &End::Done)).expect("an answer");
        assert_eq!(answers, [wanted[0], Finished::Locked, wanted[1]], "round {round}");
        assert!(begun.elapsed() < Duration::from_secs(3), "it waits for the lock");
    }
    client.batch_execute("commit").expect("a commit");
    let failed = End::Failed { after: Duration::ZERO, error: "no".to_owned() };
    let answers = store.finish(&ends(me, &jobs[1..2], &failed)).expect("an answer");
    assert_eq!(answers, [Finished::Stored(JobState::Cancelled)]);
}

/// While nothing fails, a success writes nothing of it; and it waits for no failure of the same moment.
#[test]
fn a_success_neither_writes_failures_nor_waits_for_those_of_others() {
    let Some((store, mut client, me, jobs)) = running(4) else { return };
    let failing = format!("{}.failing", store.schema());
    let mut failures = |store: &Postgres| -> (i64, Option<u64>) {
        let size = format!("select pg_relation_size('{failing}')");
        let size = client.query_one(&size, &[]).expect("a size").get(0);
        (size, store.depths().expect("depths")[0].failing.as_ref().map(|row| row.failures))
    };
    enqueue(&store, vec![NewJob::new(id(9), "a")]);
    let finish = |job: usize, end: End| {
        store.finish(&ends(me, &jobs[job..=job], &end)).expect("an answer")[0]
    };
    finish(0, End::Done);
    assert_eq!(failures(&store), (0, None));
    finish(1, End::Park { error: "no".to_owned() });
    assert_eq!(failures(&store).1, Some(1));
    let lock = format!("begin; select from {failing} for update");
    client.batch_execute(&lock).expect("it is locked");
    assert_eq!(finish(2, End::Done), Finished::Stored(JobState::Done));
    client.batch_execute("commit").expect("a commit");
    finish(3, End::Done);
    assert_eq!(store.depths().expect("depths")[0].failing, None);
}

#[test]
fn a_schedule_that_a_client_has_locked_keeps_no_other_back() {
    let Some((store, mut client, me, _)) = running(0) else { return };
    let cursors = ["s", "t"].map(|name| put(&store, name, Overlap::QueueOne));
    let fire = |name: &str, at: usize, job| fire_of(me, name, cursors[at], job, OnBusy::Queue);
    assert_eq!(store.fire(&fire("s", 0, 1)), Ok(Fired::Moved(None)));
    let job = store.poll(&poll_of(me, "tick", 10)).expect("a poll").jobs;
    let run_now = format!("begin; select {}.run_now('s', {})", store.schema(), uuid(7));
    client.batch_execute(&run_now).expect("a request that is not committed");
    enqueue(&store, vec![NewJob::new(id(2), "a")]);
    let other = store.poll(&poll_of(me, "a", 10)).expect("a poll is not kept back").jobs;
    let both = [job, other].concat();
    let answers = store.finish(&ends(me, &both, &End::Done)).expect("an answer");
    assert_eq!(answers, [Finished::Locked, Finished::Stored(JobState::Done)]);
    assert_eq!(store.fire(&fire("s", 0, 3)), Ok(Fired::Locked));
    assert_eq!(store.fire(&fire("t", 1, 4)), Ok(Fired::Moved(None)));
    client.batch_execute("rollback").expect("a rollback");
    let answers = store.finish(&ends(me, &both[..1], &End::Done)).expect("an answer");
    assert_eq!(answers, [Finished::Stored(JobState::Done)]);
}

/// A process that starts registers its schedules before it claims jobs.
#[test]
fn a_schedule_that_a_client_has_locked_is_registered_later() {
    let Some((store, mut client, me, _)) = running(0) else { return };
    put(&store, "s", Overlap::Skip);
    let definition = store.schedules().expect("schedules").remove(0).definition;
    let register = Register {
        session: me,
        first_opened: StoreTime::MIN,
        definitions: vec![definition],
        limits: Vec::new(),
        not_after: END,
    };
    let run_now = format!("begin; select {}.run_now('s', {})", store.schema(), uuid(7));
    client.batch_execute(&run_now).expect("a request that is not committed");
    let begun = Instant::now();
    let refused = store.register(&register);
    assert_eq!(refused, Err(StoreError::Refused(Refusal::Locked)));
    assert!(begun.elapsed() < Duration::from_secs(3), "it waits for the lock");
    client.batch_execute("rollback").expect("a rollback");
    assert!(store.register(&register).expect("an answer").is_alive);
}

/// The server sends an error before it releases the locks. A client that does not wait for the end meets them in 4 % of the
/// turns.
#[test]
fn a_request_that_was_refused_holds_no_lock() {
    let Some((store, _, me, _)) = running(0) else { return };
    let cursor = put(&store, "s", Overlap::QueueOne);
    let run_now = Command::RunNow { schedule: "s".to_owned(), job: id(7) };
    let stale = fire_of(me, "s", StoreTime::MAX, 1, OnBusy::Queue);
    for turn in 0..500 {
        let refused = store.command(&run_now, cursor);
        assert_eq!(refused, Err(StoreError::Refused(Refusal::TooLate)));
        let fired = store.fire(&stale);
        assert!(matches!(fired, Ok(Fired::Refused(_))), "turn {turn}: {fired:?}");
    }
}

#[test]
fn a_job_that_a_client_retries_keeps_no_other_from_being_claimed() {
    let Some((store, mut client, me, jobs)) = running(1) else { return };
    store.finish(&ends(me, &jobs, &End::Park { error: "no".to_owned() })).expect("it is parked");
    let retry = format!("begin; select {}.retry({})", store.schema(), uuid(1));
    client.batch_execute(&retry).expect("a request that is not committed");
    enqueue(&store, vec![NewJob::new(id(2), "a")]);
    let polled = store.poll(&poll_of(me, "a", 10)).expect("a poll");
    assert_eq!(polled.jobs.iter().map(|job| job.id).collect::<Vec<_>>(), [id(2)]);
    client.batch_execute("commit").expect("a commit");
    assert_eq!(store.poll(&poll_of(me, "a", 10)).expect("a poll").jobs.len(), 1);
}

#[test]
fn a_job_that_a_client_has_locked_keeps_no_other_command_back() {
    let Some((store, mut client, me, jobs)) = running(3) else { return };
    store.finish(&ends(me, &jobs, &End::Park { error: "no".to_owned() })).expect("all are parked");
    let retry = format!("begin; select {}.retry({})", store.schema(), uuid(2));
    client.batch_execute(&retry).expect("a request that is not committed");
    let parked = JobFilter { state: Some(JobState::Parked), ..JobFilter::default() };
    let all = CommandAll {
        action: JobAction::Retry,
        filter: parked,
        limit: 100,
        signature: None,
        not_after: END,
    };
    assert_eq!(store.command_all(&all).expect("an answer").done, 2);
    client.batch_execute("rollback").expect("a rollback");
    assert_eq!(store.command_all(&all).expect("an answer").done, 1);
}

/// A job waits for the transaction that has made another of its key, and nothing else does.
#[test]
fn a_key_that_is_not_committed_keeps_no_other_enqueue_back() {
    let Some(server) = server() else { return };
    let patient = builder(server).deadline(Duration::from_secs(60));
    let (store, mut client) = (patient.connect().expect("a store"), client(server));
    let made = format!("begin; select {}.enqueue('a', key => 'k')", store.schema());
    let standing = format!(
        "select count(*) from pg_stat_activity where query like '%{}%.enqueue_jobs%' and pid <> pg_backend_pid()",
        store.schema()
    );
    let mut number = 100;
    while client.query_one(&standing, &[]).expect("a count").get::<_, i64>(0) < 2 {
        assert!(number < 10_000, "the second connection is not made");
        store.enqueue(&one(NewJob::new(id(number), "a"))).expect("it is accepted");
        number += 1;
    }
    client.batch_execute(&made).expect("a job that is not committed");
    let key = Key { text: "k".to_owned(), until: KeyUntil::End, on_conflict: OnConflict::Keep };
    let keyed = NewJob { key: Some(key), ..NewJob::new(id(5), "a") };
    let sender = store.clone();
    let waiting = std::thread::spawn(move || sender.enqueue(&one(keyed)));
    until_one_waits(&mut crate::support::client(server), store.schema());
    for number in 6..=12 {
        store.enqueue(&one(NewJob::new(id(number), "a"))).expect("it waits for nothing");
    }
    assert!(!waiting.is_finished(), "the others did not wait for it");
    client.batch_execute("rollback").expect("a rollback");
    assert_eq!(waiting.join().expect("no panic"), Ok(vec![Enqueued::Accepted(id(5))]));
}

fn one(job: NewJob) -> Enqueue {
    Enqueue { jobs: vec![job], not_after: END }
}

/// A person pauses a kind by hand, and leaves the transaction open.
#[test]
fn a_pause_that_is_not_committed_keeps_nothing_from_being_claimed() {
    let Some((store, mut client, me, _)) = running(0) else { return };
    enqueue(&store, vec![NewJob::new(id(1), "a")]);
    let pause = format!("begin; select {}.pause_task('a')", store.schema());
    client.batch_execute(&pause).expect("a pause that is not committed");
    assert_eq!(store.poll(&poll_of(me, "a", 10)).expect("a poll").jobs.len(), 1);
    client.batch_execute("commit").expect("a commit");
    enqueue(&store, vec![NewJob::new(id(2), "a")]);
    assert_eq!(store.poll(&poll_of(me, "a", 10)).expect("a poll").jobs.len(), 0);
}

#[test]
fn kinds_and_queues_are_paused_by_sql() {
    let Some((store, mut client, me, _)) = running(0) else { return };
    let mut sql = |statement: &str| {
        let statement = statement.replace("{s}", store.schema());
        client.batch_execute(&statement).expect("a statement");
    };
    sql("select {s}.pause_task('a', p_reason => 'mail is down', p_by => 'ada')");
    sql("select {s}.pause_queue('slow', p_until => now() + interval '1 hour')");
    let pauses = store.pauses().expect("an answer");
    let scopes: Vec<_> = pauses.iter().map(|paused| paused.scope.to_string()).collect();
    assert_eq!(scopes, ["task `a`", "queue `slow`"]);
    assert_eq!((&*pauses[0].pause.by, &*pauses[0].pause.reason), ("ada", "mail is down"));
    assert_eq!((pauses[0].pause.until, &*pauses[1].pause.reason), (None, ""));
    assert_ne!(pauses[1].pause.by, "", "the role of the session");
    enqueue(&store, vec![NewJob::new(id(1), "a")]);
    assert_eq!(store.poll(&poll_of(me, "a", 10)).expect("a poll").jobs.len(), 0);
    sql("select {s}.resume_task('a'), {s}.resume_queue('slow')");
    assert_eq!(store.pauses(), Ok(Vec::new()));
    assert_eq!(store.poll(&poll_of(me, "a", 10)).expect("a poll").jobs.len(), 1);
}

/// The constraint stands for whatever the server refuses of a text.
#[test]
fn an_error_that_cannot_be_stored_is_stored_in_ascii_and_keeps_no_other_back() {
    let Some((store, mut client, me, jobs)) = running(3) else { return };
    let ascii = "check (error is null or octet_length(error) = length(error))";
    let constraint = format!("alter table {}.job add constraint ascii {ascii}", store.schema());
    client.batch_execute(&constraint).expect("a constraint");
    let mut requests = ends(me, &jobs, &End::Done);
    requests[1].end = End::Park { error: "na\u{ef}ve \u{274c}".to_owned() };
    let answers = store.finish(&requests).expect("an answer");
    let wanted = [JobState::Done, JobState::Parked, JobState::Done].map(Finished::Stored);
    assert_eq!(answers, wanted);
    let parked = store.job(id(2)).expect("an answer").expect("the job");
    assert_eq!(parked.error.as_deref(), Some("na\\u{ef}ve \\u{274c}"));
}

fn renewal(session: SessionId, jobs: &[StoredJob], text: &str) -> Renew {
    let progress = JobProgress::new(0.5, text).expect("a number");
    let progress = jobs.iter().map(|job| (job.held(), progress.clone())).collect();
    let (lease, not_after) = (Duration::from_secs(60), END);
    Renew { session, lease, clock_offset: None, progress, not_after }
}

fn progress(store: &Postgres, number: u128) -> Option<String> {
    let job = store.job(id(number)).expect("an answer").expect("the job");
    job.progress.map(|progress| progress.text().to_owned())
}

/// A lease that waits for the transaction of a client is lost.
#[test]
fn fp_a_job_that_a_client_has_locked_delays_no_lease() {
    let Some((store, mut client, me, jobs)) = running(2) else { return };
    let cancel = format!("begin; select {}.cancel({})", store.schema(), uuid(1));
    client.batch_execute(&cancel).expect("a request that is not committed");
    let begun = Instant::now();
    let renewed = store.renew(&renewal(me, &jobs, "half")).expect("an answer");
    assert_eq!((renewed.is_alive, renewed.is_complete), (true, false));
    assert!(begun.elapsed() < Duration::from_secs(3), "it waits for the lock");
    assert_eq!([1, 2].map(|number| progress(&store, number)), [None, Some("half".to_owned())]);
    client.batch_execute("commit").expect("a commit");
    let renewed = store.renew(&renewal(me, &jobs, "half")).expect("an answer");
    assert_eq!((renewed.is_alive, renewed.is_complete), (true, true));
    assert_eq!(progress(&store, 1).as_deref(), Some("half"));
}

#[test]
fn fp_a_progress_that_cannot_be_stored_is_stored_in_ascii_and_ends_no_lease() {
    let Some((store, mut client, me, jobs)) = running(1) else { return };
    let ascii = "check (progress is null or octet_length(progress) = length(progress))";
    let constraint = format!("alter table {}.job add constraint ascii {ascii}", store.schema());
    client.batch_execute(&constraint).expect("a constraint");
    let renewed = store.renew(&renewal(me, &jobs, "na\u{ef}ve")).expect("an answer");
    assert_eq!((renewed.is_alive, renewed.is_complete), (true, true));
    assert_eq!(progress(&store, 1).as_deref(), Some("na\\u{ef}ve"));
    let [job] = &*jobs else { panic!("one job") };
    let parked = End::Park { error: "no".to_owned() };
    let progress_at_the_end = JobProgress::new(1.0, "\u{274c}");
    let end = Finish { session: me, held: job.held(), end: parked, progress: progress_at_the_end };
    assert_eq!(store.finish(&[end]), Ok(vec![Finished::Stored(JobState::Parked)]));
    assert_eq!(progress(&store, 1).as_deref(), Some("\\u{274c}"));
}

#[test]
fn a_command_meets_no_idle_connection_that_the_server_has_ended() {
    let Some((store, mut client, _, _)) = running(1) else { return };
    // Two connections of callers, and those that claim and renew.
    let idle = "select count(*) from pg_stat_activity
        where pid <> pg_backend_pid() and state = 'idle' and query like '%\"' || $1 || '\"%'";
    while client.query_one(idle, &[&store.schema()]).expect("a count").get::<_, i64>(0) < 4 {
        store.job(id(1)).expect("an answer");
        client.batch_execute("select pg_sleep(0.01)").expect("a pause");
    }
    let end = "select count(pg_terminate_backend(pid)) from pg_stat_activity
        where pid <> pg_backend_pid() and query like '%\"' || $1 || '\"%'";
    client.query_one(end, &[&store.schema()]).expect("they are ended");
    client.batch_execute("select pg_sleep(0.2)").expect("a pause");
    for _ in 0..2 {
        assert_eq!(store.command(&Command::Cancel { job: id(1) }, END), Ok(CommandOutcome::Done));
    }
}

#[test]
fn a_client_enqueues_in_a_prepared_transaction() {
    let Some(server) = postgres_server::Server::start_with(&["max_prepared_transactions=2"]) else {
        return;
    };
    let (store, mut client) = (builder(&server).connect().expect("a store"), client(&server));
    let enqueue = |nudge: bool| {
        let schema = store.schema();
        format!(
            "begin; select {schema}.enqueue('a', nudge => {nudge}); prepare transaction 'x{nudge}'"
        )
    };
    client.batch_execute(&enqueue(false)).expect("a transaction in two phases");
    assert!(client.batch_execute(&enqueue(true)).is_err(), "a notification is possible by now");
    let _ = client.batch_execute("rollback");
    client.batch_execute("commit prepared 'xfalse'").expect("a commit");
    let me = open(&store, 1);
    assert_eq!(store.poll(&poll_of(me, "a", 10)).expect("a poll").jobs.len(), 1);
}

/// A message that was under way for long makes a job once more, while that ends and after it.
#[test]
fn a_job_that_ends_while_it_is_made_again_does_not_come_back() {
    let Some((store, mut client, _, _)) = running(0) else { return };
    put(&store, "s", Overlap::Allow);
    let schema = store.schema();
    let key = Key { text: "k".to_owned(), until: KeyUntil::End, on_conflict: OnConflict::Keep };
    let plain = NewJob::new(id(1), "a");
    let with_key = NewJob { key: Some(key), ..NewJob::new(id(2), "a") };
    let run_now = Command::RunNow { schedule: "s".to_owned(), job: id(3) };
    let again = |number| match number {
        1 => assert_eq!(enqueue(&store, vec![plain.clone()]), [Enqueued::Accepted(id(1))]),
        2 => assert_eq!(enqueue(&store, vec![with_key.clone()]), [Enqueued::Accepted(id(2))]),
        _ => assert_eq!(store.command(&run_now, END), Ok(CommandOutcome::Done)),
    };
    for number in 1..=3 {
        let make = match number {
            1 => format!("enqueue('a', id => {})", uuid(1)),
            2 => format!("enqueue('a', id => {}, key => 'k')", uuid(2)),
            _ => format!("enqueue('tick', id => {})", uuid(3)),
        };
        client.batch_execute(&format!("begin; select {schema}.{make}")).expect("a job");
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| again(number));
            until_one_waits(&mut self::client(server().expect("a server")), schema);
            let end = format!("select {schema}.cancel({}); commit", uuid(number));
            client.batch_execute(&end).expect("an end");
            waiting.join().expect("an answer");
        });
        again(number);
        let stored = store.job(id(number)).expect("an answer").expect("a job");
        assert_eq!(stored.state, JobState::Cancelled, "job {number}");
        let left = format!(
            "select (select count(*) from {schema}.job) + (select count(*) from {schema}.key)"
        );
        assert_eq!(client.query_one(&left, &[]).expect("a count").get::<_, i64>(0), 0);
    }
}
