//! A program with a dashboard, as far as the commands ask it: canned answers, and what was asked.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// An answer: method and path, status, body.
pub(crate) type Canned = (&'static str, u16, String);

pub(crate) struct Stub {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Stub {
    /// As [`of`](Self::of), of a program in the zone Europe/Berlin.
    pub(crate) fn in_berlin(mut answers: Vec<Canned>) -> Self {
        answers.push(("GET /api/v1/info", 200, r#"{"zone":"Europe/Berlin"}"#.to_owned()));
        Self::of(answers)
    }

    /// Answers these requests, and all others with 404. Of several answers to one request the last is for all that
    /// follow.
    pub(crate) fn of(answers: Vec<Canned>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&asked);
        let serve = move || {
            for stream in listener.incoming().flatten() {
                // A connection that breaks is the end of a client.
                let _ = answer(&stream, &answers, &shared);
            }
        };
        std::thread::Builder::new().spawn(serve).expect("a thread");
        Self { url, asked }
    }

    /// The requests: method, path, token and body.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no panic").clone()
    }
}

fn answer(
    stream: &TcpStream,
    answers: &[Canned],
    asked: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let request = first.rsplit_once(' ').map_or("", |(request, _)| request).to_owned();
    let (mut length, mut token) = (0, String::new());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        match &*name.to_ascii_lowercase() {
            "content-length" => length = value.trim().parse().unwrap_or(0),
            "authorization" => value.trim().clone_into(&mut token),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    std::io::Read::read_exact(&mut reader, &mut body)?;
    let body = String::from_utf8_lossy(&body);
    let mut asked = asked.lock().expect("no panic");
    let before = asked.iter().filter(|line| line.starts_with(&request)).count();
    asked.push(format!("{request} {token} {body}").trim_end().to_owned());
    drop(asked);
    let mut fitting = answers.iter().filter(|(wanted, ..)| *wanted == request);
    let count = fitting.clone().count();
    let found = fitting.nth(before.min(count.saturating_sub(1)));
    let (status, text) = found.map_or((404, "gone"), |(_, status, text)| (*status, text));
    let head = format!(
        "HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        text.len()
    );
    (&*stream).write_all(format!("{head}{text}").as_bytes())
}
