//! Encrypted connections, with certificates that are made for the test.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use postgres_server::Server;
use scheduler_postgres::{ConnectError, Postgres};
use scheduler_store::{NewJob, Store};

use crate::support::{enqueue, id, schema, server};

#[test]
fn a_certificate_and_its_name_are_checked() {
    if server().is_none() {
        return;
    }
    let server = Server::start().expect("a second server");
    let Some([authority, other]) = server.encrypt("IP:127.0.0.1") else { return };
    let connect = |host: &str, options: &str| {
        let url = format!("postgres://test@{host}:{}/postgres?{options}", server.port());
        Postgres::builder(&url).schema(schema()).connect()
    };
    let full = |file: &Path| format!("sslmode=verify-full&sslrootcert={}", file.display());
    let store = connect("127.0.0.1", &full(&authority)).expect("the certificate is right");
    enqueue(&store, vec![NewJob::new(id(1), "a")]);
    let encrypted = "select count(*) from pg_stat_ssl join pg_stat_activity using (pid)
        where ssl and application_name = 'scheduler'";
    assert_eq!(server.psql(encrypted), "1");
    store.watch().expect("a watch").wait(std::time::Duration::from_secs(60)).expect("it listens");
    for (host, options, reason) in [
        ("127.0.0.1", full(&other), "UnknownIssuer"),
        ("127.0.0.1", "sslmode=require".to_owned(), "UnknownIssuer"),
        ("localhost", full(&authority), "not valid for name"),
    ] {
        let error = connect(host, &options).expect_err("it is refused");
        assert!(matches!(error, ConnectError::Encryption(_)), "{error:?}");
        let text = error.to_string();
        assert!(text.contains("invalid peer certificate") && text.contains(reason), "{text}");
        assert!(text.contains("help: name the server as its certificate does"), "{text}");
    }
    let missing = connect("127.0.0.1", "sslrootcert=/none.pem").expect_err("no file").to_string();
    assert!(missing.contains("`sslrootcert`: /none.pem"), "{missing}");
    connect("127.0.0.1", "sslmode=disable").expect("the server takes both");
}

#[test]
fn the_file_of_authorities_may_have_blanks_in_its_path() {
    if server().is_none() {
        return;
    }
    let server = Server::start().expect("a second server");
    let Some([authority, _]) = server.encrypt("IP:127.0.0.1") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("my authorities & more.pem");
    fs::copy(authority, &file).expect("a copy");
    let (path, port) = (file.to_str().expect("UTF-8"), server.port());
    let coded = path.replace(' ', "%20").replace('&', "%26");
    for address in [
        format!(
            "host=127.0.0.1 port={port} user=test dbname=postgres sslmode=verify-full sslrootcert = '{path}'"
        ),
        format!(
            "postgres://test@127.0.0.1:{port}/postgres?sslrootcert={coded}&sslmode=verify-full"
        ),
    ] {
        Postgres::builder(&address).schema(schema()).connect().expect(&address);
    }
}

/// The output of a process that connects to this address, where these files are the authorities of the system.
fn said_by_another(address: &str, file: &Path, folder: &Path) -> String {
    let mut command = Command::new(env::current_exe().expect("this program"));
    command.args(["--exact", "encryption::connects_for_another_test", "--nocapture"]);
    command.env("CONNECT_TO", address).env("SSL_CERT_FILE", file).env("SSL_CERT_DIR", folder);
    let output = command.output().expect("it runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn connects_for_another_test() {
    let Ok(address) = env::var("CONNECT_TO") else { return };
    match Postgres::builder(&address).schema(schema()).connect() {
        Ok(_) => println!("it is connected"),
        Err(error) => println!("{error}"),
    }
}

#[test]
fn the_authorities_of_the_system_are_trusted_and_it_is_said_if_there_are_none() {
    if server().is_none() {
        return;
    }
    let server = Server::start().expect("a second server");
    let Some([authority, _]) = server.encrypt("IP:127.0.0.1") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("broken.pem");
    let url =
        |options: &str| format!("postgres://test@127.0.0.1:{}/postgres?{options}", server.port());
    let by_name = url("sslrootcert=system");
    let said = said_by_another(&by_name, &authority, folder.path());
    assert!(said.contains("it is connected"), "{said}");
    fs::write(&file, "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n")
        .expect("a file");
    for address in [by_name, url("")] {
        let said = said_by_another(&address, &file, folder.path());
        assert!(said.contains("UnknownIssuer"), "{said}");
        assert!(
            said.contains("no certificate of an authority was found on this system: "),
            "{said}"
        );
        assert!(said.contains("base64") && said.contains("`ca-certificates`"), "{said}");
    }
    let said = said_by_another(&url("sslmode=disable"), &file, folder.path());
    assert!(said.contains("it is connected"), "none is needed: {said}");
}
