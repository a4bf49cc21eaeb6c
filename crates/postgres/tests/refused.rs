//! Why a store could not be connected, as people read it.

use scheduler_postgres::postgres::{Client, NoTls};
use scheduler_postgres::{ConnectError, Postgres};
use scheduler_store::{
    Command, Enqueue, JobId, NewJob, Payload, Store, StoreError, StoreTime, Uuid,
};

use crate::support::{END, builder, client, id, open, poll_of, replace_clock, server};

fn refused(address: &str) -> ConnectError {
    Postgres::connect(address).expect_err("it is refused")
}

#[test]
fn a_server_that_refuses_is_told_from_one_that_does_not_answer() {
    let Some(server) = server() else { return };
    let port = server.port();
    let none = refused(&format!("postgres://test@127.0.0.1:{port}/none"));
    assert!(matches!(none, ConnectError::Refused(_)), "{none:?}");
    let expected = "PostgreSQL refuses the connection: database \"none\" does not exist (3D000)\n\
                    help: create the database, or name another one in the address";
    assert_eq!(none.to_string(), expected);
    let nobody = refused(&format!("host=127.0.0.1 port={port} user='no body' dbname=postgres"));
    assert!(matches!(nobody, ConnectError::Refused(_)), "{nobody:?}");
    assert!(
        nobody.to_string().contains("role \"no body\" does not exist (28000)\nhelp: "),
        "{nobody}"
    );
    let silent = refused("postgres://test@127.0.0.1:1/postgres");
    assert!(matches!(silent, ConnectError::Unavailable(_)), "{silent:?}");
    assert!(silent.to_string().starts_with("PostgreSQL does not answer: "), "{silent}");
}

#[test]
fn a_role_that_may_not_make_tables_is_told_what_to_do() {
    let Some(server) = server() else { return };
    let _ = server.psql("create role guest login; revoke create on database postgres from public;");
    let address = format!("postgres://guest@127.0.0.1:{}/postgres", server.port());
    let error = Postgres::builder(&address).schema("of_guest").connect().expect_err("no right");
    assert!(matches!(error, ConnectError::Refused(_)), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("permission denied") && text.contains("Postgres::migrations"), "{text}");
}

/// The role `NAME` may connect, and owns the schema `NAME` of a database in which it may make none.
fn role_with_schema(server: &postgres_server::Server, name: &str) -> String {
    let _ = server.psql(&format!(
        "create role {name} login; revoke create on database postgres from public; create schema {name} authorization {name};"
    ));
    format!("postgres://{name}@127.0.0.1:{}/postgres", server.port())
}

#[test]
fn a_schema_that_another_role_made_needs_no_right_to_make_one() {
    let Some(server) = server() else { return };
    let address = role_with_schema(server, "shop");
    let store = Postgres::builder(&address).schema("shop").connect().expect("a store");
    assert_eq!(store.sessions().expect("an answer").len(), 0);
    let printed = role_with_schema(server, "printed_shop");
    let script = Postgres::migrations("printed_shop").expect("a script");
    let mut client = Client::connect(&printed, NoTls).expect("a connection");
    client.batch_execute(&script).expect("the script needs no more");
    Postgres::builder(&printed).schema("printed_shop").migrate(false).connect().expect("a store");
}

#[test]
fn callers_share_the_connection_that_a_server_without_more_has() {
    let Some(server) = server() else { return };
    let address = role_with_schema(server, "narrow");
    let store = Postgres::builder(&address).schema("narrow").connect().expect("a store");
    let _ = server.psql("alter role narrow connection limit 1;");
    for _ in 0..10 {
        store.sessions().expect("one connection is enough");
    }
}

#[test]
fn a_store_that_cannot_be_written_is_an_error_of_the_start() {
    let Some(server) = server() else { return };
    let address = role_with_schema(server, "writer");
    Postgres::builder(&address).schema("writer").connect().expect("a store");
    let _ = server.psql(
        "create role reader login; grant usage on schema writer to reader;
         grant select on all tables in schema writer to reader;
         grant all on writer.job, writer.key, writer.done, writer.session, writer.schedule to reader;
         revoke delete on writer.done from reader;
         revoke execute on function writer.finish from public;",
    );
    let reader = address.replace("writer@", "reader@");
    let error = Postgres::builder(&reader).schema("writer").connect().expect_err("no rights");
    let expected = "PostgreSQL refuses the connection: the role lacks rights in schema `writer`: \
                    action: INSERT UPDATE DELETE, arrival: INSERT UPDATE DELETE, done: DELETE, ended_session: INSERT UPDATE DELETE, failing: INSERT UPDATE DELETE, fence: UPDATE, functions: EXECUTE, meta: UPDATE, pause: INSERT UPDATE DELETE, task_limit: INSERT UPDATE DELETE\n\
                    help: grant insert, update, delete on \"writer\".action to reader;\n      \
                    grant insert, update, delete on \"writer\".arrival to reader;\n      \
                    grant delete on \"writer\".done to reader;\n      \
                    grant insert, update, delete on \"writer\".ended_session to reader;\n      \
                    grant insert, update, delete on \"writer\".failing to reader;\n      \
                    grant update on sequence \"writer\".fence to reader;\n      \
                    grant execute on all functions in schema \"writer\" to reader;\n      \
                    grant update on \"writer\".meta to reader;\n      \
                    grant insert, update, delete on \"writer\".pause to reader;\n      \
                    grant insert, update, delete on \"writer\".task_limit to reader;";
    assert_eq!(error.to_string(), expected);
    obey(server, &error);
    Postgres::builder(&reader).schema("writer").connect().expect("no right is missing any more");
}

/// Writes the lines that an error shows.
fn obey(server: &postgres_server::Server, error: &ConnectError) {
    let text = error.to_string();
    let (_, lines) = text.split_once("help: ").expect("a remedy");
    let _ = server.psql(lines);
}

/// A right that is missing already for the look at the version of the tables.
#[test]
fn rights_that_the_start_itself_needs_are_named() {
    let Some(server) = server() else { return };
    let address = role_with_schema(server, "keeper");
    Postgres::builder(&address).schema("keeper").connect().expect("a store");
    let _ = server.psql("create role stranger login;");
    let stranger = address.replace("keeper@", "stranger@");
    let connect = || Postgres::builder(&stranger).schema("keeper").connect();
    let error = connect().expect_err("no rights");
    let text = error.to_string();
    for line in ["usage on schema \"keeper\" to stranger;", "select, update on \"keeper\".meta to"]
    {
        assert!(text.contains(&format!("grant {line}")), "{text}");
    }
    obey(server, &error);
    connect().expect("no right is missing any more");
}

#[test]
fn a_database_that_is_read_only_is_an_error_of_the_start() {
    let Some(server) = server() else { return };
    let url = format!("postgres://test@127.0.0.1:{}/sealed", server.port());
    let _ = server.psql("create database sealed");
    for is_made in [false, true] {
        let _ = server.psql("alter database sealed set default_transaction_read_only = on");
        let connect = || Postgres::builder(&url).migrate(!is_made).connect();
        let error = connect().expect_err("read only");
        let expected = "PostgreSQL refuses the connection: the transactions of the role are read only, as where a disk is full\n\
                        help: alter role test in database sealed set default_transaction_read_only = off";
        assert_eq!(error.to_string(), expected);
        obey(server, &error);
        connect().expect("it can be written");
        let _ = server.psql("alter role test in database sealed reset all");
    }
}

/// A function that another role puts there could be called in place of one of the store.
#[test]
fn a_schema_that_every_role_may_write_is_an_error_of_the_start() {
    let Some(server) = server() else { return };
    let url = server.url();
    let _ = server.psql("create schema ajar; grant create on schema ajar to public");
    let connect = || Postgres::builder(&url).schema("ajar").connect();
    let error = connect().expect_err("it is open");
    let expected = "PostgreSQL refuses the connection: every role may create functions in the schema: ajar\n\
                    help: revoke create on schema ajar from public;";
    assert_eq!(error.to_string(), expected);
    obey(server, &error);
    connect().expect("a store");
}

#[test]
fn rows_that_are_hidden_from_the_role_are_an_error_of_the_start() {
    let Some(server) = server() else { return };
    let address = role_with_schema(server, "hidden");
    let connect = |url: &str| Postgres::builder(url).schema("hidden").connect();
    let store = connect(&address).expect("a store");
    let _ = server.psql(
        "create role shown login; grant usage on schema hidden to shown; grant execute on all functions in schema hidden to shown;
         grant all on all tables in schema hidden to shown; grant all on all sequences in schema hidden to shown;",
    );
    let shown = address.replace("hidden@", "shown@");
    connect(&shown).expect("it sees all");
    let tables = "select string_agg(relname, ', ' order by relname) from pg_class
        where relnamespace = 'hidden'::regnamespace and relkind = 'r'";
    let tables = server.psql(tables);
    for table in tables.split(", ") {
        let _ = server.psql(&format!("alter table hidden.{table} enable row level security"));
    }
    let refused = connect(&shown).expect_err("it sees nothing");
    let text = refused.to_string();
    let fault =
        format!("row-level security hides rows from the role in schema `hidden`: {tables}\nhelp: ");
    assert!(text.contains(&fault), "{text}");
    assert!(
        text.contains("create policy scheduler on \"hidden\".job to shown using (true);"),
        "{text}"
    );
    // It does not concern the owner, nor a role that it passes over.
    connect(&address).expect("the owner sees all");
    let _ = server.psql("alter role shown bypassrls");
    connect(&shown).expect("it sees all");
    let _ = server.psql("alter role shown nobypassrls");
    obey(server, &refused);
    let other = connect(&shown).expect("it sees all");
    let me = open(&other, 1);
    crate::support::enqueue(&store, vec![NewJob::new(id(1), "a")]);
    assert_eq!(other.poll(&poll_of(me, "a", 1)).expect("a poll").jobs.len(), 1);
    let restrict = "create policy late on hidden.key as restrictive to shown using (until > now())";
    let _ = server.psql(restrict);
    let text = connect(&shown).expect_err("it sees a part").to_string();
    assert!(text.contains("in schema `hidden`: key\n"), "{text}");
}

#[test]
fn a_database_that_cannot_store_each_text_is_refused() {
    let Some(server) = server() else { return };
    let _ = server.psql("create database latin encoding 'LATIN1' locale 'C' template template0;");
    let error = refused(&format!("postgres://test@127.0.0.1:{}/latin", server.port()));
    let text = error.to_string();
    assert!(text.contains("encoding of the database is LATIN1") && text.contains("UTF8"), "{text}");
}

#[test]
fn an_address_of_another_database_is_no_silent_server() {
    for address in ["mysql://shop:hunter2@db/shop", "jdbc:postgresql://db/shop", "db/shop"] {
        let error = refused(address);
        assert!(matches!(error, ConnectError::Address(_)), "{error:?}");
        assert!(error.to_string().contains("help: postgres://user:password@host"), "{error}");
    }
}

/// The line that a warning about two applications in one schema shows.
#[test]
fn an_application_is_separated_by_a_schema_that_it_may_have() {
    let Some(server) = server() else { return };
    let store = builder(server).connect().expect("a store");
    let line = store.separate("2nd Shop");
    assert_eq!(line, "Postgres::builder(url).schema(\"app_2nd_shop\")");
    let separate = Postgres::builder(&server.url()).schema("app_2nd_shop").connect();
    assert!(separate.is_ok(), "{separate:?}");
}

/// The part of the next test in a process of its own. It is no test by itself.
#[test]
fn a_part_of_the_dry_run() {
    let Ok(url) = std::env::var("TEST_POSTGRES_URL") else { return };
    Postgres::builder(&url).schema("not_made").connect().expect("nothing is asked");
    Postgres::connect("postgres://nobody@127.0.0.1:1/none").expect("no server is asked");
}

#[test]
fn a_dry_run_connects_to_no_server_and_makes_no_schema() {
    let Some(server) = server() else { return };
    let program = std::env::current_exe().expect("this program");
    let output = std::process::Command::new(program)
        .args(["--exact", "refused::a_part_of_the_dry_run"])
        .env("TEST_POSTGRES_URL", server.url())
        .env("SCHEDULER_DRY_RUN", "1")
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    let made = "select to_regnamespace('not_made') is not null";
    let row = crate::support::client(server).query_one(made, &[]).expect("an answer");
    assert!(!row.get::<_, bool>(0));
}

/// PostgreSQL sends the refused row with its error, as a detail.
#[test]
fn no_refusal_of_a_row_has_a_part_of_its_payload() {
    let Some(server) = server() else { return };
    let store = builder(server).connect().expect("a store");
    let mut client = client(server);
    let job = |number, text: &str| NewJob {
        payload: Payload { version: 1, bytes: text.into() },
        ..NewJob::new(JobId::from_uuid(Uuid::from_u128(number)), "a")
    };
    let (short, secret) = (job(1, "17"), job(2, r#"{"iban":"sesame"}"#));
    let enqueue = |job: &NewJob| {
        store.enqueue(&Enqueue { jobs: vec![job.clone()], not_after: StoreTime::MAX })
    };
    enqueue(&short).expect("it is stored");
    let schema = store.schema();
    let check =
        format!("alter table {schema}.job add constraint short check (length(payload) < 10)");
    client.batch_execute(&check).expect("a constraint");
    let edit = Command::Edit { job: short.id, fence: None, payload: secret.payload.clone() };
    let mut transaction = client.transaction().expect("a transaction");
    let errors = [
        enqueue(&secret).map(drop).expect_err("too long"),
        store.command(&edit, StoreTime::MAX).map(drop).expect_err("too long"),
        store.enqueue_in(&mut transaction, &[secret]).map(drop).expect_err("too long"),
    ];
    let hex: String = b"sesame".iter().map(|byte| format!("{byte:02x}")).collect();
    for error in errors {
        let text = format!("{error} {error:?}");
        assert!(text.contains("\"short\""), "{text}");
        assert!(!text.contains("sesame") && !text.contains(&hex), "{text}");
    }
}

/// The states that a server answers with, and whether they say that it is there.
const ANSWERS: [(&str, bool); 14] = [
    ("40001", true),
    ("42501", true),
    ("55000", true),
    ("57014", true),
    ("25P02", true),
    ("25006", true),
    ("53100", true),
    ("53200", true),
    ("22003", true),
    ("XX000", true),
    ("57P01", false),
    ("57P02", false),
    ("57P03", false),
    ("08006", false),
];

#[test]
fn an_answer_with_an_error_is_told_from_an_outage() {
    let Some(server) = server() else { return };
    for (state, is_there) in ANSWERS {
        let store = builder(server).connect().expect("a store");
        let (schema, me) = (store.schema(), open(&store, 1));
        let clock = format!(
            "language plpgsql volatile as $$ begin raise exception 'as planned' using errcode = '{state}'; end $$"
        );
        replace_clock(&mut client(server), schema, &clock);
        let request = Enqueue { jobs: vec![NewJob::new(id(1), "a")], not_after: END };
        let ask = |number: usize| match number % 2 {
            0 => store.poll(&poll_of(me, "a", 1)).map(drop).expect_err(state),
            _ => store.enqueue(&request).map(drop).expect_err(state),
        };
        // Some of them find no connection, and may not make another one yet.
        let errors: Vec<_> = (0..8).map(ask).collect();
        assert!(
            errors[0].to_string().contains(&format!(": as planned ({state})")),
            "{}",
            errors[0]
        );
        for error in errors {
            assert_eq!(matches!(error, StoreError::Failed(_)), is_there, "{error}");
            assert_eq!(error.to_string().contains("unavailable"), !is_there, "{error}");
        }
    }
}

/// This also holds between two tries: there are two a second at most.
#[test]
fn a_connection_that_the_server_refuses_is_no_outage() {
    let Some(server) = server() else { return };
    let address = role_with_schema(server, "dismissed");
    let store = Postgres::builder(&address).schema("dismissed").connect().expect("a store");
    store.sessions().expect("it is there");
    let _ = server.psql("alter role dismissed nologin");
    let end =
        "select count(pg_terminate_backend(pid)) from pg_stat_activity where usename = 'dismissed'";
    let ended = || server.psql(end);
    while ended() != "0" {}
    let errors: Vec<_> = (0..20).filter_map(|_| store.sessions().err()).collect();
    let refused = errors.iter().filter(|error| matches!(error, StoreError::Failed(_))).count();
    // The first one may meet the end of its connection.
    assert!(errors.len() == 20 && refused >= 19, "{errors:?}");
    assert!(errors[19].to_string().contains("not permitted to log in (28000)"), "{}", errors[19]);
}
