//! Two connections that race, step by step.
//!
//! Random requests, one after the other, cannot find these faults. Each rule stands beside the statement that breaks it,
//! which has to fail here.

use std::thread;

use postgres_server::Server;
use scheduler_postgres::Postgres;
use scheduler_postgres::postgres::Client;
use scheduler_store::{
    BulkOutcome, Command, CommandAll, CommandOutcome, End, Finish, Fired, JobAction, JobFilter,
    JobState, Key, KeyUntil, Lease, Limit, LimitSpec, NewJob, OnBusy, Overlap, PauseScope, Poll,
    Priority, Reap, Register, Store, StoreTime,
};

use crate::support::{
    END, SECOND, builder, client, enqueue, finished, fire_of, id, open, poll_of, put, server,
    session, until_one_waits, uuid,
};

struct Race {
    store: Postgres,
    schema: String,
    one: Client,
    look: Client,
}

fn race(server: &Server) -> Race {
    let store = builder(server).connect().expect("a store");
    let schema = store.schema().to_owned();
    Race { store, schema, one: client(server), look: client(server) }
}

impl Race {
    /// Runs a request on another thread until it waits for what the first connection has locked, and then commits that.
    fn against<R: Send + 'static>(
        &mut self,
        request: impl FnOnce(Postgres) -> R + Send + 'static,
    ) -> R {
        let store = self.store.clone();
        let thread = thread::spawn(move || request(store));
        until_one_waits(&mut self.look, &self.schema);
        self.one.batch_execute("commit").expect("a commit");
        thread.join().expect("no panic")
    }

    /// The same for a statement on a connection.
    fn against_sql(&mut self, server: &Server, sql: &str) -> Result<(), String> {
        let (mut two, sql) = (client(server), sql.replace("{s}", &self.schema));
        self.against(move |_| two.batch_execute(&sql).map_err(|error| error.to_string()))
    }

    fn begin(&mut self, sql: &str) {
        let sql = format!("begin; {}", sql.replace("{s}", &self.schema));
        self.one.batch_execute(&sql).expect("the first half");
    }

    fn state(&self, job: u128) -> JobState {
        self.store.job(id(job)).expect("an answer").expect("the job").state
    }
}

fn reap(dead: Vec<Lease>) -> Reap {
    Reap {
        found_by: "finder".to_owned(),
        dead,
        max_lost: 3,
        spread: SECOND,
        draw: 1,
        not_after: END,
    }
}

/// A job of a session that is gone.
fn orphan(race: &mut Race) {
    let me = open(&race.store, 1);
    enqueue(&race.store, vec![NewJob::new(id(1), "a")]);
    assert_eq!(race.store.poll(&poll_of(me, "a", 1)).expect("a poll").jobs.len(), 1);
    race.one.execute(&format!("delete from {}.session", race.schema), &[]).expect("it is gone");
}

/// In one transaction another one reaps the job, opens a session, and claims it.
fn take_over() -> String {
    format!(
        "insert into {{s}}.session values ({0}, '', '', now(), now() + interval '1 hour', 0);
         update {{s}}.job set session = {0}, fence = fence + 2 where id = {1}",
        uuid(2),
        uuid(1)
    )
}

#[test]
fn r9_a_reap_never_takes_a_job_that_another_has_taken_over() {
    let Some(server) = server() else { return };
    let mut race = race(server);
    orphan(&mut race);
    race.begin(&take_over());
    // Before the commit the job is locked, and after it the job is another's.
    for end in ["", "commit"] {
        race.one.batch_execute(end).expect("a commit");
        assert_eq!(race.store.reap(&reap(Vec::new())).expect("an answer").jobs, []);
    }
    let job = race.store.job(id(1)).expect("an answer").expect("the job");
    assert_eq!((job.state, job.session, job.lost), (JobState::Running, Some(session(2)), 0));
}

#[test]
fn r9_a_bare_anti_join_would_steal_it() {
    let Some(server) = server() else { return };
    let mut race = race(server);
    orphan(&mut race);
    race.begin(&take_over());
    let naive = "update {s}.job set state = 'ready', session = null, lost = lost + 1
        where state = 'running' and not exists (select from {s}.session s where s.id = job.session)";
    race.against_sql(server, naive).expect("an update");
    assert_eq!(
        race.state(1),
        JobState::Ready,
        "the live job was not stolen: this test sees nothing"
    );
}

/// A claim that is committed after its session was reaped.
fn claim_into_a_dead_session(server: &Server, reap_now: impl FnOnce(&mut Race, Lease)) -> Race {
    let mut race = race(server);
    let (me, other) = (open(&race.store, 1), open(&race.store, 2));
    enqueue(&race.store, vec![NewJob::new(id(1), "a")]);
    race.begin(&format!(
        "select * from {{s}}.poll({}, array['a'], array[1::bigint], array[9::bigint], null, 1, 1, 1, 'infinity', false, false)",
        uuid(1)
    ));
    let end =
        format!("update {}.session set lease_until = now() where id = {}", race.schema, uuid(1));
    race.look.execute(&end, &[]).expect("the lease ends");
    let poll = Poll { with_leases: true, ..poll_of(other, "a", 0) };
    let leases = race.store.poll(&poll).expect("leases").leases;
    let lease = *leases.iter().find(|lease| lease.session == me).expect("the lease");
    assert!(lease.has_run_out);
    reap_now(&mut race, lease);
    race.one.batch_execute("commit").expect("the claim is committed");
    assert_eq!(race.state(1), JobState::Running);
    race
}

#[test]
fn r10_a_claim_that_is_committed_into_a_dead_session_is_found_by_the_next_reap() {
    let Some(server) = server() else { return };
    let race = claim_into_a_dead_session(server, |race, lease| {
        let reaped = race.store.reap(&reap(vec![lease])).expect("a reap");
        assert_eq!((reaped.sessions.len(), reaped.jobs.len()), (1, 0));
    });
    let reaped = race.store.reap(&reap(Vec::new())).expect("a reap");
    assert_eq!(reaped.jobs.iter().map(|job| (job.id, job.lost)).collect::<Vec<_>>(), [(id(1), 1)]);
}

#[test]
fn r10_a_reap_of_the_jobs_of_the_sessions_it_ends_would_leave_it_running_for_ever() {
    let Some(server) = server() else { return };
    let naive = "with dead as (delete from {s}.session where lease_until <= now() returning id)
        update {s}.job set state = 'ready', session = null from dead where session = dead.id and state = 'running'";
    let mut race = claim_into_a_dead_session(server, |race, _| {
        let naive = naive.replace("{s}", &race.schema);
        race.look.batch_execute(&naive).expect("a naive reap");
    });
    let naive = naive.replace("{s}", &race.schema);
    race.look.batch_execute(&naive).expect("a naive reap");
    assert_eq!(race.state(1), JobState::Running, "it was found: this test sees nothing");
}

#[test]
fn r6_of_two_that_fire_one_tick_one_moves() {
    let Some(server) = server() else { return };
    let mut race = race(server);
    let me = open(&race.store, 1);
    let cursor = put(&race.store, "s", Overlap::Allow);
    let at = format!(
        "'1970-01-01 00:00:00+00'::timestamptz + {} * interval '1 microsecond'",
        cursor.as_micros() + 1
    );
    race.begin(&format!("update {{s}}.schedule set cursor_at = {at}"));
    let fire = fire_of(me, "s", cursor, 1, OnBusy::Skip);
    assert_eq!(race.store.fire(&fire), Ok(Fired::Locked));
    race.one.batch_execute("commit").expect("a commit");
    let fired = race.store.fire(&fire);
    assert!(matches!(fired, Ok(Fired::Refused(Some(_)))), "{fired:?}");
    assert_eq!(race.store.job(id(1)), Ok(None));
}

#[test]
fn r11_a_tick_beside_a_job_that_is_not_committed_yet_is_skipped() {
    let Some(server) = server() else { return };
    let mut race = race(server);
    let me = open(&race.store, 1);
    let cursor = put(&race.store, "s", Overlap::Skip);
    race.begin(&unfinished());
    let fired = race.against(move |store| store.fire(&fire_of(me, "s", cursor, 1, OnBusy::Skip)));
    assert_eq!(fired, Ok(Fired::Skipped));
    let schedule = &race.store.schedules().expect("schedules")[0];
    assert_eq!((schedule.fired, schedule.skips.overlap), (0, 1));
}

/// An unfinished job of the schedule, made without the lock of its row.
fn unfinished() -> String {
    format!(
        "insert into {{s}}.job (id, task, payload, payload_version, queue, priority, run_at, max_attempts, is_abandoned,
           is_exclusive, schedule, created_at)
         values ({}, 'tick', '', 0, 'default', 1, now(), 1, false, true, 's', now())",
        uuid(7)
    )
}

#[test]
fn r11_not_exists_alone_would_make_two_unfinished_jobs() {
    let Some(server) = server() else { return };
    let mut race = race(server);
    put(&race.store, "s", Overlap::Skip);
    race.look
        .batch_execute(&format!("drop index {}.job_exclusive", race.schema))
        .expect("no index");
    race.begin(&unfinished());
    let naive = unfinished().replace(&uuid(7), &uuid(8)).replace("values (", "select ").replace(
        "true, 's', now())",
        "true, 's', now() where not exists (select from {s}.job where schedule = 's')",
    );
    let naive = naive.replace("{s}", &race.schema);
    race.look.batch_execute(&naive).expect("the naive insert sees nothing");
    race.one.batch_execute("commit").expect("a commit");
    let jobs = race.store.jobs(&scheduler_store::JobFilter::default(), 10).expect("jobs");
    assert_eq!(jobs.len(), 2, "one was kept out: this test sees nothing");
}

/// A schedule with a running job, whose end is not committed yet.
fn ending(race: &mut Race) -> (scheduler_store::SessionId, scheduler_store::StoreTime) {
    let me = open(&race.store, 1);
    let cursor = put(&race.store, "s", Overlap::QueueOne);
    let fire = fire_of(me, "s", cursor, 1, OnBusy::Queue);
    let fired =
        race.store.fire(&scheduler_store::Fire { claim: Some(u32::MAX), ..fire }).expect("a tick");
    let Fired::Moved(Some(job)) = fired else { panic!("{fired:?}") };
    race.begin(&format!(
        "select * from {{s}}.finish(array[{}], array[{}], array[{}::bigint], array['done'], array[0::bigint], array[null::text],
           array[0::bigint], {}, {}, false)",
        uuid(1),
        uuid(1),
        job.fence.0,
        uuid(1),
        uuid(1)
    ));
    let schedule = race.store.schedules().expect("schedules").remove(0);
    (me, schedule.cursor)
}

#[test]
fn r12_a_tick_that_fires_while_the_job_ends_is_not_forgotten() {
    let Some(server) = server() else { return };
    let mut race = race(server);
    let (me, cursor) = ending(&mut race);
    let fire = fire_of(me, "s", cursor, 2, OnBusy::Queue);
    assert_eq!(race.store.fire(&fire), Ok(Fired::Locked));
    race.one.batch_execute("commit").expect("a commit");
    assert_eq!(race.store.fire(&fire), Ok(Fired::Moved(None)));
    assert_eq!(race.state(2), JobState::Ready);
}

#[test]
fn r12_a_look_before_the_lock_would_let_it_wait_for_a_job_that_has_ended() {
    let Some(server) = server() else { return };
    let mut race = race(server);
    let (me, _) = ending(&mut race);
    let naive = format!(
        "update {{s}}.schedule set waiting_id = {}, waiting_tick = now(), waiting_missed = 0, waiting_run_at = now()
         where name = 's' and exists (
           select from {{s}}.job j where j.schedule = 's' and j.state in ('ready', 'running'))",
        uuid(2)
    );
    race.against_sql(server, &naive).expect("an update");
    let waiting = race.store.schedules().expect("schedules").remove(0).waiting;
    assert!(
        waiting.is_some() && race.state(1) == JobState::Done,
        "nothing waits: this test sees nothing"
    );
    // Every poll repeats the promotion.
    let polled = race.store.poll(&poll_of(me, "tick", 1)).expect("a poll");
    assert_eq!(polled.jobs.iter().map(|job| job.id).collect::<Vec<_>>(), [id(2)]);
}

/// A parked job with a key, and another with the same key that is not committed yet.
fn parked(race: &mut Race) {
    let me = open(&race.store, 1);
    let keyed = "insert into {s}.job (id, task, payload, payload_version, queue, priority, run_at, max_attempts, is_abandoned,
        key, state, finished_at, created_at)
        values (ID, 'a', '', 0, 'default', 1, now(), 1, false, 'k', STATE, END, now())";
    let with = |number, state: &str, end: &str| {
        keyed.replace("ID", &uuid(number)).replace("STATE", state).replace("END", end)
    };
    let first = with(1, "'parked'", "now()").replace("{s}", &race.schema);
    race.look.batch_execute(&first).expect("a parked job");
    let key = format!("insert into {{s}}.key (task, key, job) values ('a', 'k', {})", uuid(2));
    race.begin(&format!("{}; {key}", with(2, "'ready'", "null")));
    let _ = me;
}

#[test]
fn r13_a_retry_that_meets_a_new_job_of_its_key_names_it() {
    let Some(server) = server() else { return };
    let mut race = race(server);
    parked(&mut race);
    let answer = race.against(|store| store.command(&Command::Retry { job: id(1) }, END));
    assert_eq!(answer, Ok(CommandOutcome::Conflict(id(2))));
    assert_eq!(race.state(1), JobState::Parked);
}

#[test]
fn r13_a_look_and_an_update_would_fail() {
    let Some(server) = server() else { return };
    let mut race = race(server);
    parked(&mut race);
    let naive = "insert into {s}.key (task, key, job) select j.task, j.key, j.id from {s}.job j
        where j.state = 'parked' and not exists (select from {s}.key k where k.task = j.task and k.key = j.key)";
    let failed = race.against_sql(server, naive);
    assert!(failed.is_err(), "it did not fail: this test sees nothing");
}

/// A job that is done, with or without a key, beside a retry, a removal and the pruning that were first.
#[test]
fn commands_about_a_job_that_another_takes_out_of_those_that_have_ended() {
    let Some(server) = server() else { return };
    let (retry, remove) = (Command::Retry { job: id(1) }, Command::Delete { job: id(1) });
    let cancel = Command::Cancel { job: id(1) };
    for (first, command, outcome, is_left) in [
        ("select {s}.retry({id})", &retry, CommandOutcome::Done, true),
        ("select {s}.remove({id})", &retry, CommandOutcome::NotFound, false),
        ("select {s}.prune(0, 0, 0, 0, 1000, 'infinity')", &retry, CommandOutcome::NotFound, false),
        ("select {s}.retry({id})", &remove, CommandOutcome::Done, false),
        ("select {s}.remove({id})", &remove, CommandOutcome::NotFound, false),
        (
            "select {s}.prune(0, 0, 0, 0, 1000, 'infinity')",
            &remove,
            CommandOutcome::NotFound,
            false,
        ),
        ("select {s}.retry({id})", &cancel, CommandOutcome::NotInState(JobState::Done), true),
    ] {
        for key in [None, Some("k")] {
            let mut race = race(server);
            let key = key.map(|text| Key { text: text.to_owned(), ..key_k(KeyUntil::End) });
            open(&race.store, 1);
            enqueue(&race.store, vec![NewJob { key, ..NewJob::new(id(1), "a") }]);
            let held = race
                .store
                .poll(&poll_of(session(1), "a", 1))
                .expect("a poll")
                .jobs
                .remove(0)
                .held();
            let end = Finish { progress: None, session: session(1), held, end: End::Done };
            race.store.finish(&[end]).expect("an answer");
            race.begin(&first.replace("{id}", &uuid(1)));
            let case = format!("{command:?} after {first}");
            if command == &cancel {
                // It only looks.
                assert_eq!(race.store.command(command, END).expect(&case), outcome, "{case}");
                race.one.batch_execute("commit").expect("a commit");
            } else {
                let request = command.clone();
                let answer = race.against(move |store| store.command(&request, END));
                assert_eq!(answer.expect(&case), outcome, "{case}");
            }
            let left = race.store.job(id(1)).expect("an answer");
            assert_eq!(left.map(|job| job.state), is_left.then_some(JobState::Ready), "{case}");
        }
    }
}

#[test]
fn commands_by_filter_leave_jobs_alone_that_another_takes_out_of_those_that_have_ended() {
    let Some(server) = server() else { return };
    let both = ["retry", "remove"].map(|action| {
        format!("select {{s}}.command_all('{action}', p_state => 'done', p_limit => 10)")
    });
    let prune = "select {s}.prune(0, 0, 0, 0, 1000, 'infinity')".to_owned();
    for first in both.into_iter().chain([prune]) {
        for action in [JobAction::Retry, JobAction::Delete] {
            let mut race = race(server);
            open(&race.store, 1);
            finished(&race.store, 1..=4, 4);
            race.begin(&first);
            let filter = JobFilter { state: Some(JobState::Done), ..JobFilter::default() };
            let request = CommandAll { action, filter, limit: 10, signature: None, not_after: END };
            let answer = race.store.command_all(&request);
            assert_eq!(answer, Ok(BulkOutcome { done: 0, last: None }), "{action:?} after {first}");
            race.one.batch_execute("commit").expect("a commit");
        }
    }
}

#[test]
fn a_command_by_filter_leaves_a_job_alone_that_is_another_by_then() {
    let Some(server) = server() else { return };
    let mut race = race(server);
    enqueue(&race.store, vec![NewJob::new(id(1), "a")]);
    race.look
        .batch_execute(&format!("update \"{}\".job set state = 'parked'", race.schema))
        .expect("an update");
    // It was retried by hand, and waits for a worker.
    race.begin(&format!("select {{s}}.retry({})", uuid(1)));
    let filter = JobFilter { state: Some(JobState::Parked), ..JobFilter::default() };
    let retry =
        CommandAll { action: JobAction::Retry, filter, limit: 10, signature: None, not_after: END };
    assert_eq!(race.store.command_all(&retry), Ok(BulkOutcome { done: 0, last: None }));
    race.one.batch_execute("commit").expect("a commit");
    assert_eq!(race.state(1), JobState::Ready);
}

#[test]
fn two_that_enqueue_one_key_make_one_job() {
    let Some(server) = server() else { return };
    let mut race = race(server);
    race.begin("select {s}.enqueue('a', key => 'k', id => '00000000-0000-0000-0000-000000000001')");
    let mut job = NewJob::new(id(2), "a");
    job.key = Some(scheduler_store::Key {
        text: "k".to_owned(),
        until: scheduler_store::KeyUntil::End,
        on_conflict: scheduler_store::OnConflict::Keep,
    });
    let answers = race.against(move |store| enqueue(&store, vec![job]));
    assert_eq!(answers, [scheduler_store::Enqueued::Kept(id(1))]);
}

/// A job that is done, whose key was kept for a time that is over.
fn done_with_an_old_key(race: &Race) {
    let me = open(&race.store, 1);
    let mut job = NewJob::new(id(1), "a");
    job.key = Some(key_k(scheduler_store::KeyUntil::For(std::time::Duration::from_micros(1))));
    enqueue(&race.store, vec![job]);
    let jobs = race.store.poll(&poll_of(me, "a", 1)).expect("a poll").jobs;
    let end = scheduler_store::End::Done;
    let done = scheduler_store::Finish { progress: None, session: me, held: jobs[0].held(), end };
    race.store.finish(&[done]).expect("it is done");
}

fn key_k(until: scheduler_store::KeyUntil) -> scheduler_store::Key {
    let on_conflict = scheduler_store::OnConflict::Keep;
    scheduler_store::Key { text: "k".to_owned(), until, on_conflict }
}

#[test]
fn two_that_enqueue_a_key_that_is_kept_no_longer_make_one_job() {
    let Some(server) = server() else { return };
    let mut race = race(server);
    done_with_an_old_key(&race);
    race.begin("select {s}.enqueue('a', key => 'k', id => '00000000-0000-0000-0000-000000000002')");
    let mut job = NewJob::new(id(3), "a");
    job.key = Some(key_k(scheduler_store::KeyUntil::End));
    let answers = race.against(move |store| enqueue(&store, vec![job]));
    assert_eq!(answers, [scheduler_store::Enqueued::Kept(id(2))]);
}

#[test]
fn a_retry_and_an_enqueue_of_a_key_that_is_kept_no_longer_make_one_job() {
    let Some(server) = server() else { return };
    let mut race = race(server);
    done_with_an_old_key(&race);
    race.begin(&format!("select {{s}}.retry({})", uuid(1)));
    let mut job = NewJob::new(id(3), "a");
    job.key = Some(key_k(scheduler_store::KeyUntil::End));
    let answers = race.against(move |store| enqueue(&store, vec![job]));
    assert_eq!(answers, [scheduler_store::Enqueued::Kept(id(1))]);
    assert_eq!(race.state(1), JobState::Ready);
}

/// For any client.
#[test]
fn a_key_for_a_time_is_asked_for_in_sql() {
    let Some(server) = server() else { return };
    let mut race = race(server);
    let mut ask = |arguments: &str| {
        let sql = format!("select {}.enqueue('a', key => 'k', {arguments})", race.schema);
        race.one.query_one(&sql, &[]).map(|row| row.get::<_, scheduler_store::Uuid>(0))
    };
    let first = ask("key_for => interval '1 hour'").expect("a job");
    let both = ask("key_for => interval '1 hour', key_until => 'start'").expect_err("both");
    let code = both.code().map(|code| code.code().to_owned());
    assert_eq!(code.as_deref(), Some("22023"), "{both}");
    let me = open(&race.store, 1);
    let jobs = race.store.poll(&poll_of(me, "a", 9)).expect("a poll").jobs;
    let end = scheduler_store::End::Done;
    let done = scheduler_store::Finish { progress: None, session: me, held: jobs[0].held(), end };
    race.store.finish(&[done]).expect("it is done");
    let mut job = NewJob::new(id(3), "a");
    job.key = Some(key_k(scheduler_store::KeyUntil::End));
    let answers = enqueue(&race.store, vec![job]);
    assert_eq!(
        answers,
        [scheduler_store::Enqueued::Kept(scheduler_store::JobId::from_uuid(first))]
    );
}

#[test]
fn the_same_job_sent_twice_at_once_is_accepted_once() {
    let Some(server) = server() else { return };
    let mut race = race(server);
    race.begin("select {s}.enqueue('a', id => '00000000-0000-0000-0000-000000000001')");
    let answers = race.against(|store| enqueue(&store, vec![NewJob::new(id(1), "a")]));
    assert_eq!(answers, [scheduler_store::Enqueued::Accepted(id(1))]);
    let jobs = race.store.jobs(&scheduler_store::JobFilter::default(), 10).expect("jobs");
    assert_eq!(jobs.len(), 1);
}

/// A claim that looked at the pauses before one was made is committed before that, and what comes later sees it.
#[test]
fn r21_a_pause_waits_for_the_claims_under_way() {
    let Some(server) = server() else { return };
    let mut race = race(server);
    let me = open(&race.store, 1);
    enqueue(&race.store, vec![NewJob::new(id(1), "a"), NewJob::new(id(2), "a")]);
    let session = uuid(1);
    race.begin(&format!(
        "select * from {{s}}.poll({session}, '{{a}}', '{{1}}', '{{9}}', null, 1, 1, 1, now() + interval '1 hour', false, false)"
    ));
    let scope = PauseScope::Task("a".to_owned());
    let (by, reason) = (String::new(), String::new());
    let pause = Command::PauseJobs { scope, until: None, by, reason };
    let paused = race.against(move |store| {
        let answer = store.command(&pause, END);
        (answer, store.job(id(1)).expect("an answer").expect("the job").state)
    });
    assert_eq!(paused, (Ok(CommandOutcome::Done), JobState::Running));
    assert_eq!(race.store.poll(&poll_of(me, "a", 9)).expect("a poll").jobs.len(), 0);
}

/// A limit of five in each partition, five of its jobs, and a claim of them that is not committed.
fn claim_of_a_lane(race: &mut Race, urgent: u128) {
    let me = open(&race.store, 1);
    let each = Limit { running: Some(5), ..Limit::default() };
    let limits = vec![LimitSpec { task: "a".to_owned(), each, ..LimitSpec::default() }];
    let (first_opened, definitions) = (StoreTime::from_micros(0), Vec::new());
    let register = Register { session: me, first_opened, definitions, limits, not_after: END };
    race.store.register(&register).expect("an answer");
    let of = |number: u128, priority| NewJob {
        partition: Some("x".to_owned()),
        priority,
        ..NewJob::new(id(number), "a")
    };
    enqueue(&race.store, (1..=5).map(|number| of(number, Priority::Normal)).collect());
    let claim = format!(
        "do $$ begin perform count(*) from {{s}}.poll({}, array['a'], array[100], array[9], null, 100, 100, 100, 'infinity', false, \
         false); end $$",
        uuid(1)
    );
    race.begin(&claim);
    enqueue(&race.store, (urgent..urgent + 5).map(|number| of(number, Priority::Urgent)).collect());
}

/// Two claims of one lane: the later one finds its lock taken, and counts what the first has claimed when that is committed. Urgent
/// jobs that come in between are what shows a missing lock: otherwise both claims choose the same rows.
#[test]
fn fl1_two_claims_of_a_lane_start_no_more_than_its_limit() {
    let Some(server) = server() else { return };
    let mut race = race(server);
    claim_of_a_lane(&mut race, 11);
    let other = open(&race.store, 2);
    let poll = || race.store.poll(&poll_of(other, "a", 100)).expect("an answer");
    let beside = poll();
    assert_eq!(
        (beside.jobs.len(), beside.is_partial),
        (0, true),
        "a lock that is taken is no error"
    );
    race.one.batch_execute("commit").expect("a commit");
    let after = poll();
    assert_eq!((after.jobs.len(), after.is_full), (0, true));
}

/// The same without the lock.
#[test]
fn fl1_without_the_lock_of_a_lane_ten_of_five_run() {
    let Some(server) = server() else { return };
    let mut race = race(server);
    let without = "do $$ declare f text := pg_get_functiondef('{s}.choose_of_group'::regproc); begin
        execute replace(f, 'where pg_try_advisory_xact_lock(', 'where true or pg_try_advisory_xact_lock('); end $$";
    race.look.batch_execute(&without.replace("{s}", &race.schema)).expect("the function changes");
    claim_of_a_lane(&mut race, 11);
    let other = open(&race.store, 2);
    let beside = race.store.poll(&poll_of(other, "a", 100)).expect("an answer");
    assert_eq!(beside.jobs.len(), 5, "as urgent ones came in between");
    race.one.batch_execute("commit").expect("a commit");
    let sql = format!("select count(*) from {}.job where state = 'running'", race.schema);
    let running: i64 = race.look.query_one(&sql, &[]).expect("a row").get(0);
    assert_eq!(running, 10);
}
