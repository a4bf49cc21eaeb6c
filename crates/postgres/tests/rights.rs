//! Each role has what docs/cluster.md grants, and no more.

use std::fs;

use postgres_server::Server;
use scheduler_postgres::postgres::{Client, NoTls};
use scheduler_postgres::{ConnectError, Postgres};
use scheduler_store::{
    ActionFilter, ActionId, Command, End, Enqueued, Finish, JobFilter, JobState, NewJob,
    PauseScope, Signature, Store, StoreTime, Uuid,
};

use crate::support::{client, enqueue, id, open, poll_of, schema, server};

const ROLES: [&str; 5] = ["shop_owner", "shop_app", "shop_client", "shop_reader", "shop_operator"];

/// Makes the roles of the documentation, unless they are there.
pub(crate) fn make_roles(admin: &mut Client) {
    let make = ROLES.map(|role| {
        format!(
            "do $$ begin create role {role} login; exception when duplicate_object or unique_violation then null; end $$;"
        )
    });
    admin.batch_execute(&make.concat()).expect("roles");
}

/// The statements of the documentation, which the owner of a schema executes.
pub(crate) fn grants(schema: &str) -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cluster.md");
    let page = fs::read_to_string(page).expect("the page");
    let (_, rest) = page.split_once("```sql\n-- the program\n").expect("the grants");
    let (grants, _) = rest.split_once("```").expect("their end");
    grants
        .replace("shop.", &format!("{schema}."))
        .replace("schema shop ", &format!("schema {schema} "))
}

/// A schema of the role `shop_owner`, with the grants of the documentation.
struct Shop {
    server: &'static Server,
    schema: String,
}

impl Shop {
    fn new() -> Option<Self> {
        let server = server()?;
        let (schema, mut admin) = (schema(), client(server));
        make_roles(&mut admin);
        admin
            .batch_execute(&format!("create schema {schema} authorization shop_owner"))
            .expect("a schema");
        let shop = Self { server, schema };
        let mut owner = shop.connect("shop_owner");
        let script = Postgres::migrations(&shop.schema).expect("a script");
        owner.batch_execute(&script).expect("the owner needs nothing else");
        owner.batch_execute(&grants(&shop.schema)).expect("the owner grants");
        Some(shop)
    }

    fn url(&self, role: &str) -> String {
        format!("postgres://{role}@127.0.0.1:{}/postgres", self.server.port())
    }

    fn connect(&self, role: &str) -> Client {
        Client::connect(&self.url(role), NoTls).expect("a connection")
    }

    fn store(&self, role: &str) -> Result<Postgres, ConnectError> {
        Postgres::builder(&self.url(role)).schema(&self.schema).migrate(false).connect()
    }

    fn sql(&self, statement: &str) -> String {
        statement.replace("{s}", &self.schema)
    }

    /// Executes statements, all with success.
    fn can(&self, role: &str, statements: &[&str]) {
        let mut client = self.connect(role);
        for statement in statements {
            let done = client.batch_execute(&self.sql(statement));
            assert!(done.is_ok(), "{role}: {statement}: {done:?}");
        }
    }

    /// Executes statements, all refused for a missing right.
    fn cannot(&self, role: &str, statements: &[&str]) {
        let mut client = self.connect(role);
        for statement in statements {
            let error = client.batch_execute(&self.sql(statement)).expect_err(statement);
            assert_eq!(
                error.code().map(|code| code.code()),
                Some("42501"),
                "{role}: {statement}: {error:?}"
            );
        }
    }
}

/// Changes of tables, which only the program makes.
const WRITES: [&str; 11] = [
    "insert into {s}.action (verb) values ('pause')",
    "delete from {s}.action",
    "update {s}.job set payload = ''",
    "delete from {s}.job",
    "insert into {s}.job (task) values ('a')",
    "delete from {s}.key",
    "delete from {s}.done",
    "delete from {s}.session",
    "update {s}.schedule set rule = ''",
    "insert into {s}.pause (name) values ('a')",
    "update {s}.meta set version = 9",
];

/// Calls of processes, and things that others find.
const OF_PROGRAMS: [&str; 5] = [
    "select * from {s}.poll(null, null, null, null, null, 1, 1, 1, 'infinity', false, false)",
    "select {s}.finish(null, null, null, null, null, null, null, null, null, false)",
    "select {s}.pause_jobs('task', 'a', 'anna', '', null, 'infinity')",
    "select nextval('{s}.fence')",
    "create table {s}.planted (id integer)",
];

const COMMANDS: [&str; 10] = [
    "select {s}.cancel('00000000-0000-0000-0000-000000000001')",
    "select {s}.retry('00000000-0000-0000-0000-000000000001')",
    "select {s}.edit('00000000-0000-0000-0000-000000000001', '2')",
    "select {s}.remove('00000000-0000-0000-0000-000000000001')",
    "select {s}.command_all('cancel', p_task => 'none')",
    "select {s}.run_now('none', '00000000-0000-0000-0000-000000000009')",
    "select {s}.pause_task('a', p_by => 'anna')",
    "select {s}.resume_task('a')",
    "select {s}.pause_queue('mail')",
    "select {s}.resume_queue('mail')",
];

const READS: [&str; 5] = [
    "select at, done_by, session_role, verb, target from {s}.action",
    "select id, payload, error from {s}.jobs",
    "select * from {s}.list(null, null, null, null, null, null, 9)",
    "select * from {s}.depths()",
    "select * from {s}.pause",
];

#[test]
fn a_program_runs_with_the_rights_of_the_documentation() {
    let Some(shop) = Shop::new() else { return };
    let store = shop.store("shop_app").expect("a store");
    let me = open(&store, 1);
    enqueue(&store, vec![NewJob::new(id(1), "a")]);
    let job = store.poll(&poll_of(me, "a", 9)).expect("a poll").jobs.remove(0);
    store
        .finish(&[Finish { progress: None, session: me, held: job.held(), end: End::Done }])
        .expect("it is done");
    assert_eq!(store.jobs(&JobFilter::default(), 9).expect("jobs")[0].state, JobState::Done);
    shop.can("shop_app", &READS);
    shop.can("shop_app", &COMMANDS);
    shop.cannot("shop_app", &["create table {s}.planted (id integer)", "drop table {s}.job"]);
}

#[test]
fn a_client_enqueues_and_can_do_nothing_else() {
    let Some(shop) = Shop::new() else { return };
    let store = shop.store("shop_app").expect("a store");
    let mut producer = shop.connect("shop_client");
    let mut sent = |arguments: &str| -> Uuid {
        let sql = shop.sql(&format!("select {{s}}.enqueue('a', {arguments})"));
        producer.query_one(&sql, &[]).expect("a job").get(0)
    };
    let first = sent("'1', key => 'k'");
    assert_eq!(sent("'2', key => 'k'"), first, "it learns the job of a key");
    assert_eq!(sent("'3', key => 'k', on_conflict => 'replace'"), first);
    let me = open(&store, 1);
    let job = store.poll(&poll_of(me, "a", 9)).expect("a poll").jobs.remove(0);
    assert_eq!(job.payload.bytes, b"3");
    // A job that runs is not changed.
    assert_eq!(sent("'4', key => 'k', on_conflict => 'replace'"), first);
    assert_eq!(store.job(job.id).expect("an answer").expect("a job").payload.bytes, b"3");
    store
        .finish(&[Finish { progress: None, session: me, held: job.held(), end: End::Done }])
        .expect("it is done");
    assert_eq!(sent(&format!("'5', id => '{first}'")), first, "it was sent before, and has ended");
    assert_eq!(store.poll(&poll_of(me, "a", 9)).expect("a poll").jobs, []);
    shop.cannot("shop_client", &WRITES);
    shop.cannot("shop_client", &OF_PROGRAMS);
    shop.cannot("shop_client", &COMMANDS);
    shop.cannot("shop_client", &READS);
    let types = ["create temp table own (line {s}.line)", "create temp table own (walk {s}.walk)"];
    shop.cannot("shop_client", &types);
    shop.cannot("shop_client", &["select {s}.new_id()", "select {s}.enqueue_jobs(null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, 'infinity', false)"]);
}

/// A function that acts with the rights of its owner checks what it gets.
#[test]
fn a_client_stores_no_value_that_no_job_can_have() {
    let Some(shop) = Shop::new() else { return };
    let good = "'{\"id\":\"00000000-0000-0000-0000-000000000001\",\"task\":\"a\",\"version\":1,\"queue\":\"q\",\"priority\":1,\
                \"wait\":0,\"until_start\":false,\"replace\":false,\"max_attempts\":1,\"abandon\":false}'::jsonb";
    let mut producer = shop.connect("shop_client");
    let mut send = |change: &str| {
        let sql = format!("select {{s}}.enqueue_json(jsonb_build_array({good} || {change})::text)");
        producer
            .batch_execute(&shop.sql(&sql))
            .map_err(|error| error.code().map(|code| code.code().to_owned()))
    };
    for change in [
        "'{\"task\":\"\"}'",
        "jsonb_build_object('queue', repeat('x', 251))",
        "'{\"key\":\"\"}'",
        "jsonb_build_object('traceparent', repeat('x', 251))",
        "jsonb_build_object('partition', repeat('x', 251))",
        "jsonb_build_object('payload', repeat('x', 16777217))",
        "'{\"version\":-1}'",
        "'{\"version\":4294967296}'",
        "'{\"max_attempts\":0}'",
        "'{\"max_attempts\":4294967296}'",
        "'{\"priority\":4}'",
        "'{\"priority\":null}'",
        "'{\"wait\":-1}'",
    ] {
        assert_eq!(send(change), Err(Some("22023".to_owned())), "{change}");
    }
    assert_eq!(send("'{}'"), Ok(()));
}

/// A store asks for more than an enqueue needs; a transaction of one's own does not.
#[test]
fn a_producer_needs_the_rights_of_a_program_and_its_transaction_those_of_a_client() {
    let Some(shop) = Shop::new() else { return };
    let refused = shop.store("shop_client").expect_err("no rights").to_string();
    assert!(refused.contains("permission denied") || refused.contains("lacks rights"), "{refused}");
    let store = shop.store("shop_app").expect("a store");
    let mut producer = shop.connect("shop_client");
    let mut transaction = producer.transaction().expect("a transaction");
    let accepted = store.enqueue_in(&mut transaction, &[NewJob::new(id(1), "a")]);
    assert_eq!(accepted, Ok(vec![Enqueued::Accepted(id(1))]));
    transaction.commit().expect("a commit");
    assert!(store.job(id(1)).expect("an answer").is_some());
}

#[test]
fn a_person_who_reads_changes_nothing() {
    let Some(shop) = Shop::new() else { return };
    let store = shop.store("shop_app").expect("a store");
    enqueue(&store, vec![NewJob::new(id(1), "a")]);
    shop.can("shop_reader", &READS);
    let mut reader = shop.connect("shop_reader");
    let read = reader.query_one(&shop.sql("select task, state from {s}.jobs"), &[]).expect("a job");
    assert_eq!((read.get(0), read.get(1)), ("a", "ready"));
    shop.cannot("shop_reader", &WRITES);
    shop.cannot("shop_reader", &OF_PROGRAMS);
    shop.cannot("shop_reader", &COMMANDS);
    shop.cannot(
        "shop_reader",
        &["select {s}.enqueue('a')", "select {s}.enqueue_json('[]')", "select * from {s}.job"],
    );
}

#[test]
fn a_person_who_operates_writes_to_no_table() {
    let Some(shop) = Shop::new() else { return };
    let store = shop.store("shop_app").expect("a store");
    enqueue(&store, vec![NewJob::new(id(1), "a")]);
    shop.can("shop_operator", &READS);
    shop.can("shop_operator", &COMMANDS);
    shop.cannot("shop_operator", &WRITES);
    shop.cannot("shop_operator", &OF_PROGRAMS);
    shop.cannot("shop_operator", &["select {s}.enqueue('a')", "select {s}.enqueue_json('[]')"]);
}

/// A pause is signed with any name, and has the role beside it.
#[test]
fn a_pause_has_the_role_of_the_person_who_made_it() {
    let Some(shop) = Shop::new() else { return };
    let store = shop.store("shop_app").expect("a store");
    shop.can(
        "shop_operator",
        &["select {s}.pause_task('a', p_by => 'anna')", "select {s}.pause_queue('q')"],
    );
    // `set role` changes the role that acts, not the one that has connected.
    let acting = "set role shop_operator; select {s}.pause_task('b', p_by => '')";
    client(shop.server).batch_execute(&shop.sql(acting)).expect("a pause");
    shop.can("shop_app", &["select {s}.pause_jobs('queue', 'r', 'berta', '', null, 'infinity')"]);
    let by = |store: &Postgres| -> Vec<String> {
        store.pauses().expect("pauses").into_iter().map(|paused| paused.pause.by).collect()
    };
    assert_eq!(by(&store), ["anna (role shop_operator)", "(role test)", "shop_operator", "berta"]);
    let roles = shop.sql("select string_agg(session_role, ' ' order by name) from {s}.pause");
    let stored = shop.connect("shop_reader").query_one(&roles, &[]).expect("pauses");
    assert_eq!(stored.get::<_, String>(0), "shop_operator test shop_operator shop_app");
    // Made again by the program, it is the program's.
    shop.can("shop_app", &["select {s}.pause_jobs('task', 'a', 'anna', '', null, 'infinity')"]);
    assert_eq!(by(&store)[0], "anna");
}

/// So is each other change in SQL, in one transaction with its action.
#[test]
fn an_action_in_sql_has_the_role_of_the_person_who_made_it() {
    let Some(shop) = Shop::new() else { return };
    let store = shop.store("shop_app").expect("a store");
    enqueue(&store, (1..=3).map(|number| NewJob::new(id(number), "mail")).collect());
    let job = format!("'{}'", id(1));
    let signed = "p_by => 'anna', p_reason => 'a test'";
    shop.can(
        "shop_operator",
        &[
            &format!("select {{s}}.cancel({job}, {signed})"),
            &format!("select {{s}}.retry({job}, {signed})"),
            &format!("select {{s}}.edit({job}, '12', {signed})"),
            &format!("select {{s}}.command_all('remove', p_task => 'mail', {signed})"),
            &format!("select {{s}}.pause_queue('slow', {signed})"),
            "select {s}.resume_queue('slow')",
            "begin; select {s}.pause_task('mail'); rollback",
            "select {s}.cancel('00000000-0000-0000-0000-0000000000ff')",
        ],
    );
    let actions = store.actions(&ActionFilter::default(), 100).expect("actions");
    let shown = actions.iter().rev().map(|action| {
        format!("{}/{} {action} x{} {}", action.by, action.role, action.count, action.reason)
    });
    let job = id(1).to_string();
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [
            format!("anna/shop_operator cancel of job `{job}` x1 a test"),
            format!("anna/shop_operator retry of job `{job}` x1 a test"),
            format!("anna/shop_operator edit of job `{job}` x1 a test"),
            "anna/shop_operator delete of 3 jobs: task mail x3 a test".to_owned(),
            "anna/shop_operator pause of queue `slow` x1 a test".to_owned(),
            "shop_operator/shop_operator resume of queue `slow` x1 ".to_owned(),
        ]
    );
    assert_eq!((&*actions[3].before, &*actions[3].after), ("0 bytes", "2 bytes"));
    assert_eq!(actions[0].address, "127.0.0.1");
    assert!(actions.iter().all(|action| action.node.is_empty()));
    // The program's own commands have no role beside the name.
    let mut signature = Signature::by("berta");
    signature.action = Some(ActionId::from_uuid(id(9).as_uuid()));
    let resume = Command::ResumeJobs { scope: PauseScope::Queue("slow".to_owned()) };
    store.command_by(Some(&signature), &resume, StoreTime::MAX).expect("it is resumed");
    let last = store.actions(&ActionFilter::default(), 1).expect("actions").remove(0);
    assert_eq!((&*last.by, &*last.role), ("berta", ""));
    let roles = shop.sql("select distinct session_role from {s}.action order by 1");
    let roles = shop.connect("shop_reader").query(&roles, &[]).expect("roles");
    assert_eq!(
        roles.iter().map(|row| row.get(0)).collect::<Vec<String>>(),
        ["shop_app", "shop_operator"]
    );
}

/// PostgreSQL lets everybody execute a new function, and looks names up in the caller's path: neither holds for any of the schema.
#[test]
fn every_function_has_a_path_of_its_own_and_is_not_for_everybody() {
    let Some(shop) = Shop::new() else { return };
    let faults = "select string_agg(f.oid::regprocedure::text, ', ') from pg_proc f
        where f.pronamespace = '{s}'::regnamespace and (
          f.proconfig is null or not f.proconfig @> array['search_path=pg_catalog, pg_temp']
          or f.proacl is null or exists (select from aclexplode(f.proacl) a where a.grantee = 0))";
    let mut admin = client(shop.server);
    let found: Option<String> = admin.query_one(&shop.sql(faults), &[]).expect("an answer").get(0);
    assert_eq!(found, None);
    let count = admin.query_one(
        &shop.sql("select count(*) from pg_proc where pronamespace = '{s}'::regnamespace"),
        &[],
    );
    assert!(count.expect("a count").get::<_, i64>(0) > 50);
}

/// A column of such a type would keep a later migration from changing the table.
#[test]
fn no_type_of_the_schema_is_for_everybody() {
    let Some(shop) = Shop::new() else { return };
    let of = "from pg_type t where t.typnamespace = '{s}'::regnamespace and t.typtype = 'c'";
    let open =
        "(t.typacl is null or exists (select from aclexplode(t.typacl) a where a.grantee = 0))";
    let found = format!("select string_agg(t.typname, ', ') filter (where {open}), count(*) {of}");
    let row = client(shop.server).query_one(&shop.sql(&found), &[]).expect("an answer");
    assert_eq!(row.get::<_, Option<String>>(0), None);
    assert!(row.get::<_, i64>(1) >= 10);
    shop.cannot("shop_client", &["create temp table own (job {s}.job)"]);
}

#[test]
fn functions_of_others_in_the_schema_stay_as_they_are() {
    let Some(server) = server() else { return };
    let schema = schema();
    let _ = server.psql(&format!(
        "create schema {schema}; create role stranger_{schema}; create function {schema}.theirs() returns int language sql as 'select 1';
         create function {schema}.secret() returns int language sql as 'select 2';
         revoke execute on function {schema}.secret from public; grant usage on schema {schema} to stranger_{schema};"
    ));
    Postgres::builder(&server.url()).schema(&schema).connect().expect("a store");
    let answer = server.psql(&format!("set role stranger_{schema}; select {schema}.theirs()"));
    assert_eq!(answer.lines().last(), Some("1"));
}
