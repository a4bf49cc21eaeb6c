//! The reads of each request of a program, by plans that its connections made while all tables were empty.

use std::cell::{Cell, RefCell};
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use postgres_server::Server;
use scheduler_postgres::Postgres;
use scheduler_postgres::postgres::Client;
use scheduler_postgres::postgres::types::ToSql;
use scheduler_store::{
    ClaimRef, Close, Command, CommandAll, CommandOutcome, End, Enqueue, Fence, Finish, Finished,
    Fire, Fired, JobAction, JobFilter, JobId, JobState, Key, KeyUntil, NewJob, OnBusy, OnConflict,
    Overlap, PauseScope, Payload, Poll, Prune, Reap, Register, Renew, Rule, SessionId, Store,
    StoreTime, StoredJob, Timing, Uuid,
};

use crate::support::{
    END, OF_VERSION_7, builder, client, definition, ended_lately, fire_of, open, poll_of,
    replace_clock, session,
};

const TABLES: [&str; 6] = ["session", "schedule", "job", "key", "pause", "done"];
const DAY: Duration = Duration::from_secs(86_400);

/// A store, and the reads of each request to it.
struct Stage {
    store: Postgres,
    /// A connection that counts, and changes what no request does.
    client: RefCell<Client>,
    /// The connection of a program in another language.
    program: RefCell<Client>,
    me: SessionId,
    counting: Cell<Option<&'static str>>,
    last: Cell<u128>,
    /// The requests that read too much.
    many: RefCell<Vec<String>>,
}

/// The rows that were read of each table, as a whole or by its indexes, and pages of both.
type Reads = Vec<(String, i64, i64)>;

impl Stage {
    /// Empty tables with statistics. The clock makes each transaction that asks for it hand over the counters of its connection.
    fn new(store: Postgres, mut client: Client, program: Client) -> Self {
        let schema = store.schema();
        let quiet = TABLES
            .map(|table| format!("alter table {schema}.{table} set (autovacuum_enabled = off);"));
        client.batch_execute(&quiet.concat()).expect("no vacuum");
        let clock = "language sql volatile as
            'select pg_catalog.pg_stat_force_next_flush(); select pg_catalog.clock_timestamp()'";
        replace_clock(&mut client, schema, clock);
        let me = open(&store, 1);
        let (client, program) = (RefCell::new(client), RefCell::new(program));
        let (counting, last, many) = (Cell::new(None), Cell::new(0), RefCell::default());
        Self { store, client, program, me, counting, last, many }
    }

    /// An identity of version 7, as programs make them.
    fn id(&self) -> JobId {
        let millis = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_millis();
        self.last.set(self.last.get() + 1);
        JobId::from_uuid(Uuid::from_u128(millis << 80 | 7 << 76 | 8 << 60 | self.last.get()))
    }

    fn jobs(&self, count: usize) -> Vec<NewJob> {
        (0..count).map(|_| NewJob::new(self.id(), "a")).collect()
    }

    fn analyze(&self) {
        let tables = TABLES.map(|table| format!("analyze {}.{table};", self.store.schema()));
        self.change(&tables.concat());
    }

    /// Changes something, which is not counted later.
    fn change(&self, sql: &str) {
        let sql = format!("select pg_stat_force_next_flush(); {sql}");
        self.client.borrow_mut().batch_execute(&sql).expect("a change");
    }

    fn forget(&self, job: JobId) {
        let (schema, id) = (self.store.schema(), job.as_uuid());
        self.change(&format!("delete from {schema}.job where id = '{id}'"));
    }

    /// Each connection of the store hands over its counters.
    fn settle(&self) {
        let (unknown, not_after) = (session(u128::MAX), END);
        self.store.close(&Close { session: unknown, not_after }).expect("claims");
        self.store
            .renew(&Renew {
                progress: Vec::new(),
                clock_offset: None,
                session: unknown,
                lease: DAY,
                not_after,
            })
            .expect("leases");
        let nothing = Command::ResumeJobs { scope: PauseScope::Queue("none".into()) };
        self.store.command(&nothing, END).expect("callers");
    }

    fn reads(&self) -> Reads {
        let counts = format!(
            "select relname::text, seq_tup_read + coalesce((
                 select sum(i.idx_tup_read) from pg_stat_user_indexes i where i.relid = t.relid), 0)::bigint,
               heap_blks_read + heap_blks_hit + coalesce(idx_blks_read + idx_blks_hit, 0)
                 + coalesce(toast_blks_read + toast_blks_hit, 0)
             from pg_stat_user_tables t join pg_statio_user_tables p using (schemaname, relname)
             where schemaname = '{}' order by relname",
            self.store.schema()
        );
        let rows = self.client.borrow_mut().query(&counts, &[]).expect("counters");
        rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect()
    }

    /// A request about so many jobs or schedules, which may read some rows and pages for each, and a few hundred more: of jobs
    /// that are gone.
    fn ask<R>(&self, name: &str, count: usize, request: impl FnOnce(&Postgres) -> R) -> R {
        let Some(when) = self.counting.get() else { return request(&self.store) };
        let before = self.reads();
        let answer = request(&self.store);
        self.settle();
        let after = self.reads();
        let reads = after.into_iter().zip(before);
        let reads: Reads = reads
            .map(|((table, rows, pages), before)| (table, rows - before.1, pages - before.2))
            .collect();
        let count = i64::try_from(count).expect("a count");
        let (rows, pages) = reads.iter().fold((0, 0), |sum, each| (sum.0 + each.1, sum.1 + each.2));
        let read = format!("{name} ({count}) {when}: {rows} rows, {pages} pages, {reads:?}");
        if rows > 500 + 10 * count || pages > 500 + 30 * count {
            self.many.borrow_mut().push(read);
        }
        answer
    }

    fn command(&self, name: &str, command: &Command) -> CommandOutcome {
        self.ask(name, 1, |store| store.command(command, END).expect(name))
    }

    fn enqueue(&self, name: &str, jobs: Vec<NewJob>) {
        let request = Enqueue { jobs, not_after: END };
        self.ask(name, request.jobs.len(), |store| store.enqueue(&request).expect(name));
    }

    fn poll(&self, name: &str, poll: &Poll, count: usize) -> Vec<StoredJob> {
        let claim = |store: &Postgres| store.poll(poll).expect(name).jobs;
        let mut jobs = self.ask(name, count, claim);
        // After a walk over many entries of jobs that are gone, polls do with the lines that they know for a moment.
        for _ in 0..500 {
            if jobs.len() < count {
                sleep(Duration::from_millis(20));
                jobs.extend(claim(&self.store));
            }
        }
        assert_eq!(jobs.len(), count, "{name}");
        jobs
    }

    fn finish(&self, name: &str, ends: &[Finish]) -> Vec<Finished> {
        self.ask(name, ends.len(), |store| store.finish(ends).expect(name))
    }

    /// A job in a state; none is the state of one that was never enqueued.
    fn job_in(&self, state: Option<JobState>) -> JobId {
        let jobs = self.jobs(1);
        let id = jobs[0].id;
        let end = match state {
            Some(JobState::Parked) => End::Park { error: "no".to_owned() },
            _ => End::Done,
        };
        if state.is_some() {
            self.store.enqueue(&Enqueue { jobs, not_after: END }).expect("a job");
        }
        if !matches!(state, None | Some(JobState::Ready)) {
            let claimed = self.poll("poll of one", &poll_of(self.me, "a", 1), 1);
            if state != Some(JobState::Running) {
                let finish =
                    Finish { progress: None, session: self.me, held: claimed[0].held(), end };
                self.store.finish(&[finish]).expect("an end");
            }
        }
        id
    }
}

/// Sessions that open, renew, close and die.
fn sessions(stage: &Stage) {
    let (me, not_after) = (stage.me, END);
    let other = SessionId::from_uuid(stage.id().as_uuid());
    let number = other.as_uuid().as_u128();
    stage.ask("open", 1, |store| open(store, number));
    stage.enqueue("enqueue", stage.jobs(3));
    let jobs = stage.poll("poll", &poll_of(other, "a", 3), 3);
    stage.ask("renew", 1, |store| {
        store
            .renew(&Renew {
                progress: Vec::new(),
                clock_offset: None,
                session: other,
                lease: DAY,
                not_after,
            })
            .expect("a renewal")
    });
    let held = stage.ask("held", 3, |store| store.held(other).expect("claims"));
    assert_eq!(held.len(), 3);
    stage.ask("close", 3, |store| {
        store.close(&Close { session: other, not_after }).expect("an end");
    });
    jobs.iter().for_each(|job| stage.forget(job.id));

    let dead = SessionId::from_uuid(stage.id().as_uuid());
    open(&stage.store, dead.as_uuid().as_u128());
    stage.enqueue("enqueue", stage.jobs(3));
    stage.poll("poll", &poll_of(dead, "a", 3), 3);
    let schema = stage.store.schema();
    let end =
        format!("update {schema}.session set lease_until = now() where id = '{}'", dead.as_uuid());
    stage.change(&end);
    let leases = Poll { with_leases: true, ..poll_of(me, "a", 3) };
    let polled = stage.ask("poll with leases", 3, |store| store.poll(&leases).expect("leases"));
    let dead = polled.leases.into_iter().filter(|lease| lease.session == dead).collect();
    let reap = |dead| Reap {
        found_by: "finder".to_owned(),
        dead,
        max_lost: 3,
        spread: DAY,
        draw: 1,
        not_after,
    };
    let reaped = stage.ask("reap", 3, |store| store.reap(&reap(dead)).expect("a reap"));
    assert_eq!(reaped.jobs.len(), 3);
    reaped.jobs.iter().for_each(|job| stage.forget(job.id));
    stage.ask("reap of nothing", 0, |store| store.reap(&reap(Vec::new())).expect("a reap"));
    stage.ask("sessions", 1, |store| store.sessions().expect("sessions"));
    let request = Prune {
        keep_done: DAY,
        keep_parked: DAY,
        keep_over: DAY,
        keep_actions: DAY,
        limit: 1_000,
        not_after,
    };
    stage.ask("prune", 0, |store| store.prune(&request).expect("a prune"));
}

/// Each end of a claim, alone; and many.
fn ends(stage: &Stage) {
    let (me, error, after) = (stage.me, "no".to_owned(), DAY);
    for end in [
        End::Done,
        End::Gone,
        End::Failed { after, error: error.clone() },
        End::Park { error: error.clone() },
        End::Cancelled,
        End::Snooze { after },
        End::Lost { after, max_lost: 3 },
        End::GiveBack,
        End::Undecodable { after, error, limit: 3 },
    ] {
        let limit = NewJob { max_attempts: 3, ..NewJob::new(stage.id(), "a") };
        stage.enqueue("enqueue of one", vec![limit]);
        let job = stage.poll("poll of one", &poll_of(me, "a", 1), 1).remove(0);
        let finish = [Finish { progress: None, session: me, held: job.held(), end }];
        stage.finish(&format!("{:?}", finish[0].end), &finish);
        stage.finish(&format!("{:?} again", finish[0].end), &finish);
        stage.forget(job.id);
    }
    let key = |on_conflict, until| {
        Some(Key { text: format!("{}", stage.last.get()), until, on_conflict })
    };
    let keyed = |on_conflict, until| {
        let keyed = |job| NewJob { key: key(on_conflict, until), ..job };
        stage.jobs(1).into_iter().map(keyed).next().expect("one")
    };
    let (keep, replace) = (OnConflict::Keep, OnConflict::Replace);
    let mut jobs = stage.jobs(200);
    jobs.extend([
        keyed(keep, KeyUntil::End),
        keyed(keep, KeyUntil::Start),
        keyed(keep, KeyUntil::For(DAY)),
    ]);
    let others = jobs[200..].iter().map(|job| {
        let key = job.key.clone().map(|key| Key { on_conflict: replace, ..key });
        NewJob { id: stage.id(), key, ..job.clone() }
    });
    let others = others.collect();
    stage.enqueue("enqueue of many", jobs.clone());
    stage.enqueue("enqueue of keys that are there", others);
    stage.enqueue("enqueue of many again", jobs);
    let jobs = stage.poll("poll of many", &poll_of(me, "a", 203), 203);
    let finish: Vec<_> = jobs
        .iter()
        .map(|job| Finish { progress: None, session: me, held: job.held(), end: End::Done })
        .collect();
    stage.finish("many ends", &finish);
    stage.finish("many ends again", &finish);
    let held = ClaimRef { job: stage.id(), fence: Fence(1) };
    let answer = stage.finish(
        "an end of an unknown job",
        &[Finish { progress: None, session: me, held, end: End::Done }],
    );
    assert_eq!(answer, [Finished::Lost]);
}

/// Each command about a job in each state.
fn commands(stage: &Stage) {
    let payload = Payload { version: 1, bytes: vec![1] };
    for state in [
        None,
        Some(JobState::Ready),
        Some(JobState::Running),
        Some(JobState::Parked),
        Some(JobState::Done),
    ] {
        type Make = fn(JobId, Payload) -> Command;
        let commands: [(&str, Make); 4] = [
            ("edit", |job, payload| Command::Edit { job, fence: None, payload }),
            ("cancel", |job, _| Command::Cancel { job }),
            ("retry", |job, _| Command::Retry { job }),
            ("delete", |job, _| Command::Delete { job }),
        ];
        for (name, command) in commands {
            let id = stage.job_in(state);
            let found =
                stage.ask(&format!("job, {state:?}"), 1, |store| store.job(id).expect("a job"));
            assert_eq!(found.map(|job| job.state), state);
            stage.command(&format!("{name}, {state:?}"), &command(id, payload.clone()));
            stage.forget(id);
        }
    }
}

/// Lists, and commands about the jobs of lists.
fn lists(stage: &Stage) {
    let task = |task: &str| JobFilter { task: Some(task.to_owned()), ..JobFilter::default() };
    let queue = JobFilter { queue: Some("none".to_owned()), ..JobFilter::default() };
    let key = JobFilter {
        key: Some("of 7".to_owned()),
        state: Some(JobState::Ready),
        ..JobFilter::default()
    };
    let schedule = JobFilter {
        schedule: Some("none".to_owned()),
        state: Some(JobState::Ready),
        ..JobFilter::default()
    };
    let state = |state| JobFilter { state: Some(state), ..JobFilter::default() };
    let parked = stage.job_in(Some(JobState::Parked));
    for (name, filter, count) in [
        ("all", JobFilter::default(), 50),
        // A look at the ready jobs of a task ends after 2,001, and reads those that are done until it has 50.
        ("of a task", task("a"), 450),
        (
            "of a task that is unknown",
            JobFilter { state: Some(JobState::Ready), ..task("none") },
            50,
        ),
        ("of a queue that is unknown", JobFilter { state: Some(JobState::Parked), ..queue }, 50),
        ("of a key", key, 50),
        ("of a schedule", schedule, 50),
        ("ready", state(JobState::Ready), 50),
        ("running", state(JobState::Running), 50),
        ("parked", state(JobState::Parked), 50),
        ("done", state(JobState::Done), 50),
    ] {
        stage.ask(&format!("jobs, {name}"), count, |store| store.jobs(&filter, 50).expect(name));
    }
    let running = stage.job_in(Some(JobState::Running));
    for (name, action, state) in [
        ("cancel all", JobAction::Cancel, JobState::Running),
        ("retry all", JobAction::Retry, JobState::Parked),
        ("delete all", JobAction::Delete, JobState::Ready),
    ] {
        let filter = JobFilter { state: Some(state), ..JobFilter::default() };
        let request = CommandAll { action, filter, limit: 2, signature: None, not_after: END };
        stage.ask(name, 50, |store| store.command_all(&request).expect(name));
    }
    stage.forget(parked);
    stage.forget(running);
    stage.ask("pauses", 1, |store| store.pauses().expect("pauses"));
    stage.ask("schedules", 2_000, |store| store.schedules().expect("schedules"));
    // It counts all entries of ready jobs, by design: see `docs/decisions.md`.
    let of_jobs = || stage.reads().iter().find(|table| table.0 == "job").map_or(0, |table| table.1);
    let before = of_jobs();
    stage.store.depths().expect("depths");
    stage.settle();
    let rows = of_jobs() - before;
    let is_counting = stage.counting.get().is_some();
    assert!(!is_counting || (300_000..320_000).contains(&rows), "depths read {rows} rows");
}

/// A schedule from its definition to its end.
fn schedules(stage: &Stage) {
    let (me, not_after) = (stage.me, END);
    let name = format!("s{}", stage.id().as_uuid());
    let schedule = name.clone();
    let spec = definition(&name, Overlap::Skip);
    let request = Register {
        session: me,
        first_opened: StoreTime::MIN,
        definitions: vec![spec.clone()],
        limits: Vec::new(),
        not_after,
    };
    stage.command("put", &Command::Put { definition: Box::new(spec) });
    stage.ask("register", 1, |store| store.register(&request).expect("it is registered"));
    let polled = stage
        .ask("poll of schedules", 1, |store| store.poll(&poll_of(me, "tick", 1)).expect("a poll"));
    assert_eq!(polled.due.len(), 1);
    let seen = polled.due[0].schedule.cursor;
    let job = stage.id();
    let fire = fire_of(me, &name, seen, job.as_uuid().as_u128(), OnBusy::Queue);
    let fire = Fire { claim: Some(u32::MAX), ..fire };
    let fired = stage.ask("fire", 1, |store| store.fire(&fire).expect("it fires"));
    let Fired::Moved(Some(claimed)) = fired else { panic!("{fired:?}") };
    let fired = stage.ask("fire again", 1, |store| store.fire(&fire).expect("it fires"));
    assert!(matches!(fired, Fired::Refused(Some(_))), "{fired:?}");
    let next = Fire {
        claim: None,
        ..fire_of(me, &name, fire.cursor, stage.id().as_uuid().as_u128(), OnBusy::Queue)
    };
    assert_eq!(
        stage.ask("fire while busy", 1, |store| store.fire(&next).expect("it fires")),
        Fired::Queued
    );
    let run_now = |job| Command::RunNow { schedule: schedule.clone(), job };
    assert_eq!(
        stage.command("run now while busy", &run_now(stage.id())),
        CommandOutcome::Conflict(job)
    );
    // The tick that waits becomes a job.
    let end = Finish { progress: None, session: me, held: claimed.held(), end: End::Done };
    stage.finish("an end of a job of a schedule", &[end]);
    let waiting = stage.poll("poll of a tick that waited", &poll_of(me, "tick", 1), 1);
    let end = Finish { progress: None, session: me, held: waiting[0].held(), end: End::Done };
    stage.finish("an end of a job of a schedule", &[end]);
    let now = stage.id();
    assert_eq!(stage.command("run now", &run_now(now)), CommandOutcome::Done);
    stage.command("cancel a job of a schedule", &Command::Cancel { job: now });
    stage.command("retry a job of a schedule", &Command::Retry { job: now });
    stage.command("delete a job of a schedule", &Command::Delete { job: now });
    pauses(stage, name);
}

/// A schedule that is paused, changed and removed; and jobs that are paused.
fn pauses(stage: &Stage, name: String) {
    let (by, reason) = ("me".to_owned(), "why".to_owned());
    let pause = Command::Pause {
        schedule: name.clone(),
        until: None,
        by: by.clone(),
        reason: reason.clone(),
    };
    stage.command("pause", &pause);
    stage.command("resume", &Command::Resume { schedule: name.clone() });
    let rule = Some(Rule { text: "other".to_owned(), timing: Timing::Computed });
    stage.command("reschedule", &Command::Reschedule { schedule: name.clone(), rule });
    stage.command("remove", &Command::Remove { schedule: name });
    let scope = PauseScope::Task("none".into());
    stage.command(
        "pause jobs",
        &Command::PauseJobs { scope: scope.clone(), until: None, by, reason },
    );
    stage.command("resume jobs", &Command::ResumeJobs { scope });
}

/// The functions for any client.
fn functions(stage: &Stage) {
    let schema = stage.store.schema();
    let (sql, json) = stage.store.statement(&stage.jobs(3)).expect("a statement");
    let ask = |name: &str, sql: &str, params: &[&(dyn ToSql + Sync)]| {
        let rows =
            stage.ask(name, 3, |_| stage.program.borrow_mut().query(sql, params).expect(name));
        rows.into_iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>()
    };
    let mut ids = ask("enqueue_json", &sql, &[&json]);
    ids.extend(ask("enqueue", &format!("select {schema}.enqueue('a')::text"), &[]));
    ids.extend(ask(
        "enqueue with a key",
        &format!("select {schema}.enqueue('a', key => 'mine')::text"),
        &[],
    ));
    ask("edit", &format!("select {schema}.edit('{}', '1')", ids[0]), &[]);
    for id in ids {
        ask("remove", &format!("select {schema}.remove('{id}')"), &[]);
    }
}

/// Many rows in each table that has many: jobs of the future in the line that is polled and in others, parked jobs, keys, and jobs
/// that have ended in the last two hours, whose identities say when they were made.
fn fill(schema: &str) -> String {
    let job = "id, run_at, created_at, priority, is_abandoned, max_attempts, payload_version, queue, payload";
    let done = ended_lately(schema, 2_000, OF_VERSION_7);
    format!(
        "insert into {schema}.job ({job}, task, state, finished_at)
         select {schema}.new_id(), now(), now(), 1, false, 1, 0, 'default', '', 'b', 'parked', now() from generate_series(1, 3000);
         insert into {schema}.job ({job}, task, key)
         select {schema}.new_id(), now() + interval '1 day', now(), 1, false, 1, 0, 'default', '', 'c', 'of ' || n from generate_series(1, 10000) n;
         insert into {schema}.job ({job}, task)
         select {schema}.new_id(), now() + interval '1 day', now(), 1, false, 1, 0, 'default', '', 'a' from generate_series(1, 300000);
         insert into {schema}.key (task, key, job) select 'c', j.key, j.id from {schema}.job j where j.task = 'c';
         insert into {schema}.schedule (name, task, payload, payload_version, queue, priority, rule, timing, timing_first, timing_every,
           calculator, overlap, max_attempts, is_abandoned, is_dynamic, cursor_at, next_kind, next_at, registrant_opened)
         select 'many ' || n, 'other', '', 0, 'default', 1, 'rule', 'computed', 0, 0, '1', 'skip', 1, false, false, now(), 'at',
           now() + interval '1 day', now() from generate_series(1, 1000) n;
         {done}"
    )
}

#[test]
fn no_request_reads_more_than_what_it_is_about_though_it_was_planned_on_empty_tables() {
    // Transactions of other tests would keep the entries of jobs that are gone.
    let Some(server) = Server::start() else { return };
    let store = builder(&server).caller_connections(1).connect().expect("a store");
    let stage = Stage::new(store, client(&server), client(&server));
    let rounds = |count| {
        for _ in 0..count {
            for each in [sessions, ends, commands, lists, schedules, functions] {
                each(&stage);
            }
        }
    };
    // Tables without pages, and tables whose rows are gone. After five executions PL/pgSQL keeps a plan.
    for _ in 0..2 {
        stage.analyze();
        rounds(7);
    }
    stage.change(&fill(stage.store.schema()));
    stage.counting.set(Some("with old plans"));
    rounds(2);
    stage.analyze();
    stage.counting.set(Some("with new plans"));
    rounds(2);
    let many = stage.many.take();
    assert!(many.is_empty(), "{many:#?}");
}
