//! A server for tests: keeps each request, and answers as the test asks.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// The time that a test waits for a request before it fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) content_type: String,
    pub(crate) body: String,
}

impl Received {
    /// The path and the query without the identity of the run.
    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.method, without_run(&self.target))
    }

    /// The identity of the run that the query has under this name.
    pub(crate) fn run(&self, name: &str) -> String {
        let query = self.target.split_once('?').expect("a query").1;
        let value = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        value.expect("a run").to_owned()
    }
}

fn without_run(target: &str) -> String {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let is_run =
        |pair: &&str| ["rid=", "series=", "check_in_id="].iter().any(|name| pair.starts_with(name));
    let rest: Vec<&str> = query.split('&').filter(|pair| !is_run(pair)).collect();
    format!("{path}?{}", rest.join("&"))
}

struct Shared {
    /// The head of the next answers, after the version of HTTP.
    head: Mutex<String>,
    received: Mutex<Vec<Received>>,
    changed: Condvar,
}

/// A server on a port of its own.
pub(crate) struct Server {
    pub(crate) url: String,
    shared: Arc<Shared>,
}

impl Server {
    /// Answers with a status, which further lines of a head may follow.
    pub(crate) fn answering(head: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let shared = Arc::new(Shared {
            head: Mutex::new(head.to_owned()),
            received: Mutex::default(),
            changed: Condvar::new(),
        });
        let of_thread = Arc::clone(&shared);
        std::thread::Builder::new()
            .spawn(move || {
                for stream in listener.incoming().flatten() {
                    let shared = Arc::clone(&of_thread);
                    let serve = move || serve(&stream, &shared);
                    std::thread::Builder::new().spawn(serve).expect("a thread");
                }
            })
            .expect("a thread");
        Self { url, shared }
    }

    /// Gives the requests that come from now on another answer.
    pub(crate) fn answer(&self, head: &str) {
        head.clone_into(&mut self.shared.head.lock().expect("no panic"));
    }

    /// All requests so far.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.shared.received.lock().expect("no panic").clone()
    }

    /// Waits until so many requests have come, and returns all.
    pub(crate) fn wait_for(&self, count: usize) -> Vec<Received> {
        let received = self.shared.received.lock().expect("no panic");
        let is_short = |received: &mut Vec<Received>| received.len() < count;
        let (received, timeout) =
            self.shared.changed.wait_timeout_while(received, PATIENCE, is_short).expect("no panic");
        assert!(!timeout.timed_out(), "only {} of {count} came: {received:#?}", received.len());
        received.clone()
    }
}

/// Serves a connection until it is closed.
fn serve(stream: &TcpStream, shared: &Shared) {
    let mut reader = BufReader::new(stream);
    while let Some(received) = read(&mut reader) {
        let head = shared.head.lock().expect("no panic").clone();
        shared.received.lock().expect("no panic").push(received);
        shared.changed.notify_all();
        let answer = format!("HTTP/1.1 {head}\r\ncontent-length: 2\r\n\r\nOK");
        if (&*stream).write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn read(reader: &mut impl BufRead) -> Option<Received> {
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut words = first.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (mut length, mut content_type) = (0, String::new());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        match &*name.to_ascii_lowercase() {
            "content-length" => length = value.trim().parse().ok()?,
            "content-type" => value.trim().clone_into(&mut content_type),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8(body).ok()?;
    Some(Received { method, target, content_type, body })
}
