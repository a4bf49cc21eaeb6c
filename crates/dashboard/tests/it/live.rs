//! Live updates.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use scheduler::{Schedule, Until};
use serde_json::Value;

use crate::api::eventually;
use crate::support::*;

/// A stream of events.
pub(crate) struct Stream(BufReader<TcpStream>, String);

impl Stream {
    pub(crate) fn open(served: &Served) -> Self {
        Self::open_as(served, VIEWER, "")
    }

    /// Goes on after an event.
    fn open_after(served: &Served, id: &str) -> Self {
        Self::open_as(served, VIEWER, &format!("Last-Event-ID: {id}\r\n"))
    }

    fn open_as(served: &Served, token: &str, header: &str) -> Self {
        let mut socket = TcpStream::connect(served.address()).unwrap();
        socket.set_read_timeout(Some(LIMIT)).unwrap();
        let host = served.address();
        let request = format!(
            "GET /api/v1/events HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n{header}\r\n"
        );
        socket.write_all(request.as_bytes()).unwrap();
        let mut stream = Self(BufReader::new(socket), String::new());
        let mut status = String::new();
        stream.0.read_line(&mut status).unwrap();
        assert!(status.contains("200"), "{status}");
        stream
    }

    /// The next event: its name and its data.
    fn next(&mut self) -> Option<(String, Value)> {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            // The last chunk: the connection may stay, for the next request.
            if self.0.read_line(&mut line).unwrap() == 0 || line == "0\r\n" {
                return None;
            }
            if let Some(event) = line.strip_prefix("event: ") {
                name = event.trim().to_owned();
            } else if let Some(id) = line.strip_prefix("id: ") {
                id.trim().clone_into(&mut self.1);
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Some((name, serde_json::from_str(data).unwrap()));
            }
        }
    }

    /// The row of a task in the next update that has one which is as wanted.
    pub(crate) fn row(&mut self, task: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let (_, data) = self.next().expect("an event");
            let rows = data["tasks"].as_array().cloned().unwrap_or_default();
            if let Some(row) = rows.into_iter().find(|row| row["name"] == task && is_wanted(row)) {
                return row;
            }
        }
    }
}

#[test]
fn a_stream_begins_with_all_tasks_and_goes_on_with_those_that_change() {
    let served =
        serve(&dashboard(), builder().task("a", hourly(), |_| {}).task("b", hourly(), |_| {}));
    let mut stream = Stream::open(&served);
    let (name, data) = stream.next().unwrap();
    assert_eq!((&*name, data["tasks"].as_array().unwrap().len()), ("snapshot", 2));
    served.task("a").run_now().unwrap();
    let row = stream.row("a", |row| row["counters"]["runs"] == 1);
    assert_eq!(row["last"]["outcome"], "success");
    served.task("b").pause().unwrap();
    assert_eq!(stream.row("b", |row| row["isPaused"] == true)["state"], "paused");
    served.scheduler.tasks().add("c", hourly(), |_| {}).unwrap();
    stream.row("c", |row| row["state"] == "waiting");
    served.scheduler.tasks().remove("c").unwrap();
    stream.row("c", |row| row["isRemoved"] == true);
    served.stop();
    while stream.next().is_some() {}
}

#[test]
fn updates_come_at_most_four_times_a_second_however_fast_tasks_run() {
    let served = serve(&dashboard(), builder().task("fast", Schedule::fixed_rate("1ms"), |_| {}));
    let mut stream = Stream::open(&served);
    let (mut last, mut updates) = (0, 0);
    // Each update has all that has run since the one before.
    while last < 1_000 {
        let row = stream.row("fast", |_| true);
        last = row["counters"]["runs"].as_u64().unwrap();
        updates += 1;
    }
    assert!(updates <= 500, "{updates} updates of {last} runs");
    served.stop();
}

#[test]
fn there_may_be_32_streams_and_one_that_closes_makes_room() {
    let served = serve(&dashboard(), builder().task("a", hourly(), |_| {}));
    let mut streams: Vec<Stream> = (0..32).map(|_| Stream::open(&served)).collect();
    for stream in &mut streams {
        assert_eq!(stream.next().unwrap().0, "snapshot");
    }
    let token = format!("Bearer {VIEWER}");
    let refused = served.send("GET", "/api/v1/events", &[("Authorization", &token)], "");
    assert_eq!(refused.status, 503);
    assert!(refused.json()["detail"].as_str().unwrap().contains("32"));
    assert_eq!(served.get("/api/v1/info").json()["streams"]["open"], 32);
    streams.truncate(31);
    eventually(|| (served.get("/api/v1/info").json()["streams"]["open"] == 31).then_some(()));
    assert_eq!(Stream::open(&served).next().unwrap().0, "snapshot");
    served.stop();
}

#[test]
fn a_viewer_with_all_streams_cannot_keep_others_out() {
    let served = serve(&dashboard(), builder().task("a", hourly(), |_| {}));
    let mut streams: Vec<Stream> = (0..32).map(|_| Stream::open(&served)).collect();
    for stream in &mut streams {
        assert_eq!(stream.next().unwrap().0, "snapshot");
    }
    let mut of_operator = Stream::open_as(&served, OPERATOR, "");
    assert_eq!(of_operator.next().unwrap().0, "snapshot");
    assert!(streams[0].next().is_none(), "the oldest of the viewer has ended");
    assert_eq!(served.get("/api/v1/info").json()["streams"]["open"], 32);
    served.task("a").run_now().unwrap();
    for stream in streams[1..].iter_mut().chain([&mut of_operator]) {
        stream.row("a", |row| row["counters"]["runs"] == 1);
    }
    served.stop();
}

#[test]
fn a_stream_that_never_reads_is_dropped_and_others_go_on() {
    // Rows of some size, so that what the system keeps for the reader is full soon.
    let long = "x".repeat(150);
    let mut builder = builder();
    for number in 0..150 {
        let schedule = Schedule::fixed_rate("50ms").tags([long.clone()]);
        builder = builder.task(&format!("{number}-{long}"), schedule, |_| {});
    }
    let served = serve(&dashboard(), builder);
    let deaf = Stream::open(&served);
    let mut other = Stream::open(&served);
    // By the hub, whose messages it does not take, or by the server, whose write stalls: whichever comes first.
    let open = || served.get("/api/v1/info").json()["streams"]["open"].as_u64().unwrap();
    for _ in 0..400 {
        assert!(other.next().is_some());
        if open() == 1 {
            assert!(other.next().is_some());
            drop(deaf);
            served.stop();
            return;
        }
    }
    panic!("it was not dropped");
}

#[test]
fn without_the_listener_there_are_updates_too() {
    let scheduler = builder().task("a", hourly(), |_| {}).spawn().unwrap();
    let dashboard = dashboard();
    let server = dashboard.serve(scheduler.tasks(), "127.0.0.1:0").unwrap();
    let served = Served { scheduler, server };
    let mut stream = Stream::open(&served);
    assert_eq!(stream.next().unwrap().0, "snapshot");
    served.task("a").run_now().unwrap();
    stream.row("a", |row| row["counters"]["runs"] == 1);
    assert_eq!(served.get("/api/v1/info").json()["history"]["runsPerTask"], 20);
    let metrics = served.get("/metrics").body;
    assert!(metrics.contains("scheduler_run_finished_total") && !metrics.contains("_bucket"));
    served.stop();
}

/// A redaction that panics breaks one answer, or one stream, and no more.
#[test]
fn streams_come_again_when_code_of_the_program_panics() {
    let is_broken = Arc::new(AtomicBool::new(false));
    let broken = Arc::clone(&is_broken);
    let dashboard = dashboard().redact(move |text| {
        assert!(!broken.load(Ordering::Relaxed), "broken");
        text.to_owned()
    });
    let builder = builder().task("a", hourly(), |_| Err::<(), _>("no"));
    let served = serve(&dashboard, builder);
    let mut stream = Stream::open(&served);
    assert_eq!(stream.next().unwrap().0, "snapshot");
    is_broken.store(true, Ordering::Relaxed);
    served.task("a").run_now().unwrap();
    while stream.next().is_some() {}
    is_broken.store(false, Ordering::Relaxed);
    let mut stream = Stream::open(&served);
    assert_eq!(stream.next().unwrap().0, "snapshot");
    served.task("a").run_now().unwrap();
    stream.row("a", |row| row["counters"]["runs"] == 2);
    served.stop();
}

#[test]
fn a_stream_that_comes_again_goes_on_after_the_last_event_it_has_seen() {
    let served =
        serve(&dashboard(), builder().task("a", hourly(), |_| {}).task("b", hourly(), |_| {}));
    let mut stream = Stream::open(&served);
    let mut other = Stream::open(&served);
    assert_eq!(
        (stream.next().unwrap().0, other.next().unwrap().0),
        ("snapshot".into(), "snapshot".into())
    );
    served.task("a").run_now().unwrap();
    stream.row("a", |row| row["counters"]["runs"] == 1);
    let seen = stream.1.clone();
    drop((stream, other));
    // Without a stream, what changes is kept all the same.
    eventually(|| (served.get("/api/v1/info").json()["streams"]["open"] == 0).then_some(()));
    served.task("b").run_now().unwrap();
    served.scheduler.wait_for("b", Until::runs(1), LIMIT).unwrap();
    served.task("a").pause().unwrap();
    let mut again = Stream::open_after(&served, &seen);
    let (mut is_paused, mut has_run, mut has_all) = (false, false, false);
    while !(is_paused && has_run && has_all) {
        let (name, data) = again.next().unwrap();
        assert!(["tasks", "tick"].contains(&&*name), "{name}: no list as a whole");
        has_all |= name == "tick";
        for row in data["tasks"].as_array().into_iter().flatten() {
            is_paused |= row["name"] == "a" && row["isPaused"] == true;
            has_run |= row["name"] == "b" && row["counters"]["runs"] == 1;
        }
    }
    assert_ne!(again.1, seen);
    for lost in ["0-1-1", "1", "", &format!("{seen}0"), "\u{fc}"] {
        let (name, data) = Stream::open_after(&served, lost).next().unwrap();
        assert!(name == "reset" || lost == "\u{fc}", "{lost}: {name}");
        assert_eq!(data["tasks"].as_array().unwrap().len(), 2);
    }
    served.stop();
}
