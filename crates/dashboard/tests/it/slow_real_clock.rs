//! Many slow clients, and a store that never answers: they are bounded, and neither tasks nor other clients notice them.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use scheduler::{Clock, Event, EventKind, Listener, Schedule, SystemClock};

use crate::away::{Mood, Moody};
use crate::support::*;

/// As many as there are in the list of faults: 600 slow connections and 50 streams that never read.
struct Crowd(Vec<TcpStream>);

impl Crowd {
    fn come(served: &Served, slow: usize, streams: usize) -> Self {
        let connect = || TcpStream::connect(served.address()).expect("a connection");
        let mut crowd: Vec<TcpStream> = (0..slow).map(|_| connect()).collect();
        for _ in 0..streams {
            let mut socket = connect();
            let host = served.address();
            let request = format!(
                "GET /api/v1/events HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {VIEWER}\r\n\r\n"
            );
            socket.write_all(request.as_bytes()).expect("a request");
            crowd.push(socket);
        }
        Self(crowd)
    }

    /// Each slow one sends a byte of a request.
    fn send(&mut self, slow: usize, byte: u8) -> usize {
        let sent = self.0.iter_mut().take(slow).map(|socket| socket.write_all(&[byte]).is_ok());
        sent.filter(|sent| *sent).count()
    }
}

/// Returns true if the other side has closed it; a stream has something to read.
fn is_closed(mut socket: &TcpStream) -> bool {
    socket.set_nonblocking(true).expect("a socket");
    match socket.read(&mut [0; 1]) {
        Ok(bytes) => bytes == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

#[test]
fn f_ht3_slow_connections_are_capped_and_a_good_request_is_answered_among_them() {
    let served = serve(&dashboard(), builder().task("tick", Schedule::fixed_rate("10ms"), |_| {}));
    let mut crowd = Crowd::come(&served, 300, 50);
    for byte in b"GET / HTTP" {
        crowd.send(300, *byte);
        assert_eq!(served.get("/api/v1/tasks").status, 200);
    }
    let streams = served.get("/api/v1/info").json()["streams"]["open"].as_u64().unwrap();
    assert!((1..=32).contains(&streams), "{streams}");
    let closed = crowd.0.iter().filter(|socket| is_closed(socket));
    assert!(closed.count() >= 300 + 32 - 256, "at most 256 connections are kept");
    served.stop();
}

/// In real time, and a measurement: `cargo test -p scheduler-dashboard --test it -- --ignored f_ht3 --nocapture`.
#[test]
#[ignore = "a measurement of 15 seconds"]
fn f_ht3_a_task_is_on_time_beside_650_slow_clients() {
    #[derive(Default)]
    struct Late(std::sync::Mutex<Vec<Duration>>);
    impl Listener for Late {
        fn on_event(&self, event: &Event) {
            if let EventKind::RunStarted { late, .. } = &event.kind {
                self.0.lock().unwrap().push(*late);
            }
        }
    }
    let late = Arc::new(Late::default());
    let builder = builder().listener(Arc::clone(&late));
    let served = serve(&dashboard(), builder.task("tick", Schedule::fixed_rate("10ms"), |_| {}));
    let clock = SystemClock::new();
    let mut crowd = Crowd::come(&served, 600, 50);
    let (begin, mut worst) = (clock.now(), Duration::ZERO);
    let mut alive = 0;
    for second in 0..14 {
        alive = crowd.send(500, b'G');
        let before = clock.now();
        assert_eq!(served.get("/api/v1/tasks").status, 200);
        worst = worst.max(clock.now().since(before));
        thread::park_timeout(Duration::from_millis(950));
        println!("second {second}: {alive} of 500 can still send");
    }
    let mut late = late.0.lock().unwrap().clone();
    late.sort_unstable();
    let p99 = late[late.len() * 99 / 100];
    println!(
        "{} runs in {:?}; lateness: median {:?}, 99 % {p99:?}, longest {:?}; slowest answer {worst:?}",
        late.len(),
        clock.now().since(begin),
        late[late.len() / 2],
        late[late.len() - 1],
    );
    assert!(p99 < Duration::from_millis(20), "{p99:?}");
    assert!(worst < Duration::from_secs(1), "{worst:?}");
    assert_eq!(alive, 0, "all slow ones were closed at their deadline");
    drop(crowd);
    served.stop();
}

/// One request that may take longer than others: its status.
fn patient(address: std::net::SocketAddr, path: &str) -> u16 {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(LIMIT)).unwrap();
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {OPERATOR}\r\nConnection: close\r\n\r\n"
    );
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).unwrap();
    Answer::of(&answer).status
}

#[test]
fn a_store_that_never_answers_keeps_nothing_else_waiting_and_does_not_hold_up_the_stop() {
    let store = Moody::new();
    let builder = builder().task("a", hourly(), |_| {}).store(store.clone());
    let served = serve(&dashboard(), builder);
    assert_eq!(served.get("/api/v1/queues").status, 200);
    store.set(Mood::IsStuck);
    let address = served.address();
    let ask = |path: &'static str| {
        let thread = thread::Builder::new();
        thread.spawn(move || patient(address, path)).unwrap()
    };
    // More than may be out at once.
    let asked: Vec<_> = (0..6).map(|_| ask("/api/v1/jobs")).collect();
    for path in ["/api/v1/tasks", "/api/v1/tasks/a", "/api/v1/info", "/metrics"] {
        assert_eq!(patient(address, path), 200, "{path}");
    }
    for asked in asked {
        // The last one of a visitor stands before the others.
        assert!([429, 503].contains(&asked.join().unwrap()));
    }
    let Served { scheduler, server } = served;
    server.stop();
    store.set(Mood::Answers);
    scheduler.shutdown().unwrap();
}
