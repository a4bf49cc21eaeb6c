//! Requests that are broken: one refusal or none, and the next connection is served.

use std::time::Duration;

use crate::support::*;

/// The server may wait for more, or close.
const A_MOMENT: Duration = Duration::from_secs(1);

/// Begins a good request that is answered before the broken one comes.
fn good(served: &Served) -> String {
    format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", served.address())
}

fn answers(bytes: &[u8]) -> Vec<u16> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.split("HTTP/1.").skip(1);
    lines.filter_map(|line| line.split(' ').nth(1)?.parse().ok()).collect()
}

fn with(served: &Served, target: &str, headers: &str, body: &str) -> Vec<u8> {
    let host = served.address();
    let head =
        format!("POST {target} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {OPERATOR}");
    format!("{head}\r\nContent-Type: application/json\r\n{headers}\r\n{body}").into_bytes()
}

#[test]
fn f_ht2_broken_requests_get_one_refusal_or_none() {
    let served = serve(&dashboard(), builder().task("a", hourly(), |_| {}));
    let path = "/api/v1/tasks/a/pause";
    let many: String = (0..1_000).map(|number| format!("X-{number}: x\r\n")).collect();
    let big = "x".repeat(1 << 20);
    let ten = "x".repeat(10 << 20);
    let length = |length: &str| with(&served, path, &format!("Content-Length: {length}\r\n"), "{}");
    let broken: Vec<(&str, Vec<u8>)> = vec![
        ("a request line of 64 KiB", with(&served, &format!("/{}", "x".repeat(64 << 10)), "", "")),
        ("1,000 header lines", with(&served, path, &many, "")),
        ("a header of 1 MiB", with(&served, path, &format!("X: {big}\r\n"), "")),
        ("a negative length", length("-1")),
        ("a length that is no number", length("two")),
        ("an enormous length", length("99999999999999999999999")),
        ("two lengths", length("2\r\nContent-Length: 3")),
        ("a length and chunks", length("2\r\nTransfer-Encoding: chunked")),
        (
            "a body of 10 MiB",
            with(&served, path, &format!("Content-Length: {}\r\n", 10 << 20), &ten),
        ),
        (
            "a chunk without end",
            with(&served, path, "Transfer-Encoding: chunked\r\n", "FFFFFFFFFFFFFFFF\r\n{}"),
        ),
        ("a negative chunk", with(&served, path, "Transfer-Encoding: chunked\r\n", "-1\r\n{}")),
        ("an unknown encoding", with(&served, path, "Transfer-Encoding: gzip\r\n", "{}")),
        ("a folded header", with(&served, path, "X: a\r\n b\r\n", "")),
        ("a NUL", with(&served, path, "X: a\0b\r\n", "")),
        ("a blank before the colon", with(&served, path, "X : a\r\n", "")),
        ("a bare CR", with(&served, path, "X: a\rb\r\n", "")),
        ("HTTP/0.9", b"GET /\r\n\r\n".to_vec()),
        ("HTTP/3.7", b"GET / HTTP/3.7\r\nHost: x\r\n\r\n".to_vec()),
        ("TLS", [&[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3][..], &[7; 64][..]].concat()),
        ("nothing but blanks", b"\r\n\r\n \r\n\r\n".to_vec()),
    ];
    for (what, bytes) in &broken {
        let fresh = answers(&exchange(served.address(), bytes, A_MOMENT));
        assert!(
            fresh.len() <= 1 && fresh.iter().all(|status| (400..500).contains(status)),
            "{what}: {fresh:?}"
        );
        let second = [good(&served).as_bytes(), bytes].concat();
        let second = answers(&exchange(served.address(), &second, A_MOMENT));
        assert!(
            second.len() <= 2 && second.first().is_none_or(|first| *first == 200),
            "{what}: {second:?}"
        );
        assert!(
            second.iter().skip(1).all(|status| (400..500).contains(status)),
            "{what}: {second:?}"
        );
        assert_eq!(served.get("/healthz").status, 200, "after {what}");
        assert!(!served.task("a").snapshot().is_paused, "{what}");
    }
    served.stop();
}

/// hyper takes a bare LF as the end of a line: that is one request with one answer, and nothing is smuggled.
#[test]
fn f_ht2_a_bare_line_feed_makes_one_request_of_one() {
    let served = serve(&dashboard(), builder());
    let host = served.address();
    let request = format!("GET /healthz HTTP/1.1\nHost: {host}\nConnection: close\n\n");
    assert!(answers(&exchange(host, request.as_bytes(), A_MOMENT)).len() <= 1);
    let hidden =
        format!("GET /healthz HTTP/1.1\r\nX: a\nHost: {host}\r\nConnection: close\r\n\r\n");
    assert!(answers(&exchange(host, hidden.as_bytes(), A_MOMENT)).len() <= 1);
    served.stop();
}

/// hyper takes `Content-Length` out of such a request, so that the guard sees only the encoding.
#[test]
fn f_ht2_a_request_that_says_in_chunks_how_long_it_is_is_refused() {
    let served = serve(&dashboard(), builder().task("a", hourly(), |_| {}));
    let chunks = "2\r\n{}\r\n0\r\n\r\n";
    for headers in [
        "Transfer-Encoding: chunked\r\n",
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    ] {
        let bytes = with(&served, "/api/v1/tasks/a/pause", headers, chunks);
        let found = answers(&exchange(served.address(), &bytes, A_MOMENT));
        assert!(found == [411] || found == [400], "{headers}: {found:?}");
        assert!(!served.task("a").snapshot().is_paused, "{headers}");
    }
    served.stop();
}
