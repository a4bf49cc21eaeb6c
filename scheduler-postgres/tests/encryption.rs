//! Encrypted connections, with certificates that are made for the test.

use postgres_server::Server;
use scheduler_postgres::Postgres;
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
    let full =
        |file: &std::path::Path| format!("sslmode=verify-full&sslrootcert={}", file.display());
    let store = connect("127.0.0.1", &full(&authority)).expect("the certificate is right");
    enqueue(&store, vec![NewJob::new(id(1), "a")]);
    let encrypted = "select count(*) from pg_stat_ssl join pg_stat_activity using (pid)
        where ssl and application_name = 'scheduler'";
    assert_eq!(server.psql(encrypted), "1");
    store.watch().expect("a watch").wait(std::time::Duration::from_secs(10)).expect("it listens");
    for (host, options, reason) in [
        ("127.0.0.1", full(&other), "UnknownIssuer"),
        ("127.0.0.1", "sslmode=require".to_owned(), "UnknownIssuer"),
        ("localhost", full(&authority), "not valid for name"),
    ] {
        let text = connect(host, &options).expect_err("it is refused").to_string();
        assert!(text.contains("invalid peer certificate") && text.contains(reason), "{text}");
        assert!(text.contains("help: name the server as its certificate does"), "{text}");
    }
    let missing = connect("127.0.0.1", "sslrootcert=/none.pem").expect_err("no file").to_string();
    assert!(missing.contains("`sslrootcert`: /none.pem"), "{missing}");
    connect("127.0.0.1", "sslmode=disable").expect("the server takes both");
}
