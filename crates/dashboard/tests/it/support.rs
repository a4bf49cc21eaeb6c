//! A scheduler with a dashboard, and a client that sends exact bytes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use scheduler::{Builder, Schedule, Scheduler, TaskControl, tasks};
use scheduler_dashboard::{Dashboard, DashboardServer};
use serde_json::Value;

pub(crate) const OPERATOR: &str = "operator-0123456789";
pub(crate) const VIEWER: &str = "viewer-0123456789ab";
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Served {
    pub(crate) scheduler: Scheduler,
    pub(crate) server: DashboardServer,
}

/// A builder that reads neither the environment nor a settings file, and has no function of another test.
pub(crate) fn builder() -> Builder {
    let builder = Scheduler::builder().environment([("PATH", "")]).settings("none.toml", "");
    builder.zone("UTC").messages(|_| {}).tasks(tasks![])
}

/// A task that waits for an hour.
pub(crate) fn hourly() -> Schedule {
    Schedule::fixed_rate("1h").initial_delay("1h")
}

pub(crate) fn dashboard() -> Dashboard {
    let dashboard = Dashboard::new().title("tests").cache_ttl(Duration::ZERO);
    dashboard.operator("ops", OPERATOR).viewer("wall", VIEWER)
}

pub(crate) fn serve(dashboard: &Dashboard, builder: Builder) -> Served {
    let scheduler = builder.listener(dashboard.listener()).spawn().expect("it starts");
    let server = dashboard.serve(scheduler.tasks(), "127.0.0.1:0").expect("it is served");
    Served { scheduler, server }
}

impl Served {
    pub(crate) fn task(&self, name: &str) -> TaskControl {
        self.scheduler.tasks().get(name).expect("a task")
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// A GET with the token of the operator.
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[("Authorization", &format!("Bearer {OPERATOR}"))], "")
    }

    /// A POST as the page sends it.
    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        let token = format!("Bearer {OPERATOR}");
        let headers = [("Authorization", &*token), ("Content-Type", "application/json")];
        self.send("POST", path, &headers, body)
    }

    /// A request with the right host.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut text = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.address());
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!(
            "Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        self.raw(text.as_bytes())
    }

    /// Sends bytes on a connection of their own, and reads the answer.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Answer {
        Answer::of(&exchange(self.address(), bytes, LIMIT))
    }

    pub(crate) fn stop(self) {
        self.server.stop();
        self.scheduler.shutdown().expect("it stops");
    }
}

/// Sends bytes and reads until the other side closes, or until nothing has come for so long.
pub(crate) fn exchange(address: SocketAddr, bytes: &[u8], patience: Duration) -> Vec<u8> {
    let mut socket = TcpStream::connect(address).expect("a connection");
    socket.set_read_timeout(Some(patience)).expect("a timeout");
    // The other side may refuse a request before it has been sent as a whole.
    let mut writing = socket.try_clone().expect("a socket");
    let bytes = bytes.to_vec();
    let writer = std::thread::Builder::new().spawn(move || drop(writing.write_all(&bytes)));
    let mut read = Vec::new();
    drop(socket.read_to_end(&mut read));
    drop(socket.shutdown(std::net::Shutdown::Both));
    drop(writer.expect("a thread").join());
    read
}

#[derive(Debug)]
pub(crate) struct Answer {
    /// 0 if the connection was closed without an answer.
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Self { status: status.unwrap_or(0), head: head.to_lowercase(), body: body.to_owned() }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let start = format!("{name}: ");
        self.head.lines().find_map(|line| line.strip_prefix(&*start))
    }
}
