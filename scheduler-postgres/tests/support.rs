//! A server for all tests of a file, and a store in a schema of its own for each.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use postgres_server::Server;
use scheduler_postgres::postgres::{Client, NoTls};
use scheduler_postgres::{Builder, Postgres};
use scheduler_store::{JobId, SessionId, StoreTime, Uuid};

/// The server of this process; none if there is no PostgreSQL, and the test is to end.
pub(crate) fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(Server::start).as_ref()
}

/// A schema that no other test has.
pub(crate) fn schema() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("test_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn builder(server: &Server) -> Builder {
    Postgres::builder(&server.url()).schema(schema())
}

pub(crate) fn client(server: &Server) -> Client {
    Client::connect(&server.url(), NoTls).expect("a connection")
}

/// A store whose clock is moved by hand.
#[derive(Debug)]
pub(crate) struct Timed {
    pub(crate) store: Postgres,
    url: String,
}

impl Timed {
    pub(crate) fn new(server: &Server) -> Self {
        let store = builder(server).relaxed_claims(false).connect().expect("a store");
        let schema = store.schema();
        client(server)
            .batch_execute(&format!(
                "create unlogged table {schema}.test_clock (now timestamptz not null);
                 insert into {schema}.test_clock values ('1970-01-01 00:00:00+00');
                 create or replace function {schema}.clock() returns timestamptz language sql volatile
                   as 'select now from {schema}.test_clock';"
            ))
            .expect("a clock");
        Self { store, url: server.url() }
    }

    pub(crate) fn set_now(&self, now: StoreTime) {
        let mut client = Client::connect(&self.url, NoTls).expect("a connection");
        let schema = self.store.schema();
        client
            .batch_execute(&format!(
                "update {schema}.test_clock set now = '1970-01-01 00:00:00+00'::timestamptz
                   + ({0} / 1000000) * interval '1 second' + ({0} % 1000000) * interval '1 microsecond'",
                now.as_micros()
            ))
            .expect("the clock moves");
    }
}

pub(crate) fn id(number: u128) -> JobId {
    JobId::from_uuid(Uuid::from_u128(number))
}

pub(crate) fn session(number: u128) -> SessionId {
    SessionId::from_uuid(Uuid::from_u128(number))
}

pub(crate) const SECOND: Duration = Duration::from_secs(1);
