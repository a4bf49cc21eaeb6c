//! Why a store could not be connected, as people read it.

use scheduler_postgres::{ConnectError, Postgres};

use crate::support::server;

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

#[test]
fn an_address_of_another_database_is_no_silent_server() {
    for address in ["mysql://shop:hunter2@db/shop", "jdbc:postgresql://db/shop", "db/shop"] {
        let error = refused(address);
        assert!(matches!(error, ConnectError::Address(_)), "{error:?}");
        assert!(error.to_string().contains("help: postgres://user:password@host"), "{error}");
    }
}
