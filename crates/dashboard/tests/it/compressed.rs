//! Answers to clients that accept gzip.

use std::io::{Read, Write};
use std::net::TcpStream;

use flate2::read::GzDecoder;
use scheduler::Until;

use crate::support::*;

fn request(served: &Served, path: &str, accepts: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {OPERATOR}\r\n\
         Accept-Encoding: {accepts}\r\nConnection: close\r\n\r\n",
        served.address()
    )
}

/// The head of an answer, and its body.
fn split(answer: &[u8]) -> Option<(String, &[u8])> {
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    Some((String::from_utf8_lossy(&answer[..end]).to_lowercase(), &answer[end + 4..]))
}

fn get(served: &Served, path: &str, accepts: &str) -> (String, Vec<u8>) {
    let answer = exchange(served.address(), request(served, path, accepts).as_bytes(), LIMIT);
    let (head, body) = split(&answer).expect("an answer");
    (head, body.to_vec())
}

/// The text of a compressed one, as far as it has come.
fn decoded(bytes: &[u8]) -> String {
    let (mut text, mut byte, mut decoder) = (Vec::new(), [0], GzDecoder::new(bytes));
    while matches!(decoder.read(&mut byte), Ok(1)) {
        text.push(byte[0]);
    }
    String::from_utf8(text).expect("UTF-8")
}

fn many() -> Served {
    let tasks = (0..100).fold(builder(), |builder, number| {
        builder.task(&format!("shop::reports::task_{number}"), hourly(), |_| ())
    });
    serve(&dashboard(), tasks)
}

#[test]
fn a_long_answer_is_compressed_for_those_who_accept_it() {
    let served = many();
    let plain = served.get("/api/v1/tasks").body;
    let (head, body) = get(&served, "/api/v1/tasks", "br, gzip;q=0.5");
    assert!(head.contains("content-encoding: gzip") && head.contains("vary: accept-encoding"));
    assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
    assert!(body.len() * 10 < plain.len(), "{} of {}", body.len(), plain.len());
    let count = |text: &str| text.matches("\"name\"").count();
    assert_eq!((count(&decoded(&body)), count(&plain)), (100, 100));

    let (head, page) = get(&served, "/", "gzip");
    assert!(head.contains("content-security-policy") && decoded(&page).contains("</html>"));
    for accepts in ["identity", "gzip;q=0", "br"] {
        let (head, body) = get(&served, "/api/v1/tasks", accepts);
        assert!(!head.contains("content-encoding") && body.starts_with(b"{"), "{accepts}: {head}");
    }
    let (head, body) = get(&served, "/healthz", "gzip");
    assert!(!head.contains("content-encoding") && body.starts_with(b"{"), "too short: {head}");
    let (head, body) = get(&served, "/api/v1/nothing", "gzip");
    assert!(head.starts_with("http/1.1 404") && body.starts_with(b"{"), "{head}");
    served.stop();
}

/// A body in chunks, as far as it has come.
fn dechunked(mut body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(end) = body.windows(2).position(|bytes| bytes == b"\r\n") {
        let length = String::from_utf8_lossy(&body[..end]).into_owned();
        let length = usize::from_str_radix(length.trim(), 16).expect("a length");
        let Some(chunk) = body.get(end + 2..end + 2 + length) else { break };
        bytes.extend(chunk);
        body = body.get(end + 4 + length..).unwrap_or_default();
    }
    bytes
}

#[test]
fn each_event_of_a_compressed_stream_can_be_read_when_it_comes() {
    let served = many();
    let mut socket = TcpStream::connect(served.address()).expect("a connection");
    socket.set_read_timeout(Some(LIMIT)).expect("a timeout");
    socket.write_all(request(&served, "/api/v1/events", "gzip").as_bytes()).expect("sent");
    let mut read = Vec::new();
    let mut until = |text: &str| loop {
        let mut part = [0; 4_096];
        let length = socket.read(&mut part).expect("more");
        assert!(length > 0, "it ended before {text}");
        read.extend(&part[..length]);
        let (head, body) = split(&read).unwrap_or_default();
        if !body.is_empty() && decoded(&dechunked(body)).contains(text) {
            assert!(head.contains("content-encoding: gzip"), "{head}");
            return;
        }
    };
    until("event: snapshot");
    let run = served.task("shop::reports::task_7").run_now().expect("it runs");
    run.wait(LIMIT).expect("it ends");
    until("event: tasks");
    served.task("shop::reports::task_7").wait_for(Until::runs(1), LIMIT).expect("it ran");
    served.stop();
}
