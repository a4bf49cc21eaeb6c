//! Runs every program of `examples/`: its output, and its exit code.
//!
//! Nothing here measures time: each step waits for a line that the program writes, and a watchdog
//! kills a program that does not come to its end. Cargo builds the examples before this test, unless
//! it runs this test only.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::{fs, thread};

use crate::watchdog::{signal, watch};

/// An example that runs.
struct Running {
    child: Child,
    output: Lines<BufReader<ChildStdout>>,
    words: Lines<BufReader<ChildStderr>>,
    /// The lines of both that have been read.
    seen: [Vec<String>; 2],
    _watchdog: mpsc::Sender<()>,
}

/// An example that is over.
#[derive(Debug)]
struct Ended {
    /// The output of the program.
    output: String,
    /// The messages of the scheduler.
    words: String,
    code: Option<i32>,
}

impl Running {
    fn new(example: &str, setup: impl FnOnce(&mut Command) -> &mut Command) -> Self {
        let mut command = Command::new(binary(example));
        for (variable, _) in std::env::vars_os() {
            if variable.to_string_lossy().starts_with("SCHEDULER_") {
                command.env_remove(variable);
            }
        }
        command.current_dir(root()).env("TZ", "Europe/Berlin").stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = setup(&mut command).spawn().expect("the example starts");
        let output = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let words = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let watchdog = watch(child.id());
        Self { child, output, words, seen: [Vec::new(), Vec::new()], _watchdog: watchdog }
    }

    fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    /// Reads what the program prints until there was a line with each of the texts, in any order.
    fn await_output(&mut self, texts: &[&str]) {
        await_lines(&mut self.output, &mut self.seen[0], texts);
    }

    /// Reads what the scheduler says until there was a line with each of the texts.
    fn await_words(&mut self, texts: &[&str]) {
        await_lines(&mut self.words, &mut self.seen[1], texts);
    }

    fn end(mut self) -> Ended {
        // Both pipes are drained, so that the program is never blocked on one.
        let [mut output, mut words] = self.seen;
        let words = thread::Builder::new().spawn(move || {
            words.extend(self.words.map_while(Result::ok));
            words.join("\n")
        });
        output.extend(self.output.map_while(Result::ok));
        let words = words.expect("a thread starts").join().expect("lines of text");
        let code = self.child.wait().expect("the example has ended").code();
        Ended { output: output.join("\n"), words, code }
    }
}

/// Runs an example, which ends by itself.
fn run(example: &str, setup: impl FnOnce(&mut Command) -> &mut Command) -> Ended {
    Running::new(example, setup).end()
}

fn plainly(command: &mut Command) -> &mut Command {
    command
}

impl Ended {
    /// The example ended well, and printed each of the texts.
    #[track_caller]
    fn check(&self, texts: &[&str]) -> &Self {
        assert_eq!(self.code, Some(0), "{self:#?}");
        for text in texts {
            assert!(self.output.contains(text), "`{text}` is missing in {self:#?}");
        }
        self
    }

    /// Texts that stand in this order in what was printed.
    #[track_caller]
    fn check_order(&self, texts: &[&str]) -> &Self {
        let mut rest = self.output.as_str();
        for text in texts {
            let Some((_, behind)) = rest.split_once(text) else {
                panic!("`{text}` is missing, or comes too early, in {self:#?}");
            };
            rest = behind;
        }
        self
    }
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Cargo puts examples beside the folder in which this test lies.
fn binary(example: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a path");
    let profile = test.parent().and_then(Path::parent).expect("target/<profile>/deps");
    let path = profile.join("examples").join(example);
    assert!(path.exists(), "{path:?} is missing: cargo build --workspace --examples");
    path
}

fn await_lines(lines: &mut Lines<impl BufRead>, seen: &mut Vec<String>, texts: &[&str]) {
    let mut awaited = texts.to_vec();
    while !awaited.is_empty() {
        let Some(line) = lines.next() else {
            panic!("no line contains {awaited:?}; the lines were:\n{}", seen.join("\n"));
        };
        let line = line.expect("a line of text");
        awaited.retain(|text| !line.contains(text));
        seen.push(line);
    }
}

/// The sources of all examples, by name.
fn sources() -> BTreeMap<String, String> {
    let entries = fs::read_dir(root().join("examples")).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let programs = paths.filter(|path| path.is_dir() || path.extension() == Some("rs".as_ref()));
    let sources = programs.map(|path| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let source = if path.is_dir() { path.join("main.rs") } else { path };
        (name, fs::read_to_string(source).expect("a program"))
    });
    sources.collect()
}

/// The first comment of a program.
fn head(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line))).collect()
}

/// The output that the first comment of an example promises.
fn promised(example: &str) -> String {
    let head = head(&sources()[example]);
    let (_, block) = head.split_once("```text\n").expect("a block of text");
    let (text, _) = block.split_once("\n```").expect("an end of the block");
    text.to_owned()
}

/// The entry of an example in the manifest of the package.
fn manifest_entry(example: &str) -> String {
    let manifest = fs::read_to_string(root().join("examples/Cargo.toml")).expect("a manifest");
    let name = format!("name = \"{example}\"\n");
    let mut entries = manifest.split("\n[[").filter(|entry| entry.starts_with("example]]"));
    entries.find(|entry| entry.contains(&name)).unwrap_or_default().to_owned()
}

#[test]
fn every_example_is_run_here() {
    let here = include_str!("examples.rs");
    let is_run = |name: &str| {
        [format!("run(\"{name}\", "), format!("Running::new(\"{name}\", ")]
            .iter()
            .any(|call| here.contains(call))
    };
    // Its tests are run by Cargo, which does not build its program then.
    let has_tests = |name: &str| manifest_entry(name).contains("test = true");
    let names = sources().into_keys();
    let left_out: Vec<_> = names.filter(|name| !is_run(name) && !has_tests(name)).collect();
    assert!(left_out.is_empty(), "no test runs {left_out:?}");
}

#[test]
fn every_example_begins_with_the_command_that_runs_it() {
    for (name, source) in sources() {
        let entry = manifest_entry(&name);
        let how = if entry.contains("test = true") { "test" } else { "run" };
        // The one of the README is a target of the facade itself.
        let package = if name == "hello" { "" } else { " -p examples" };
        let command = format!("cargo {how}{package} --example {name}");
        let head = head(&source);
        let ends = ["\n", "`", " "].map(|end| head.contains(&format!("{command}{end}")));
        assert!(ends.contains(&true), "`{command}` is not in the head of {name}:\n{head}");
    }
}

/// The command of the README.
#[test]
fn hello() {
    let mut hello = Running::new("hello", plainly);
    hello.await_words(&["scheduler 0.1.0  5 tasks", "hello::tick    every 1s ", "hello::import  "]);
    hello.await_output(&["tick", "hello, world", "chime", "sweep"]);
    hello.await_words(&["ERROR task `hello::import` failed", "No such file", "next run "]);
    hello.signal("INT");
    hello.await_words(&["INFO  stopping: no new runs", "INFO  stopped after "]);
    assert_eq!(hello.end().code, Some(0));
}

/// Those that are played on a virtual clock print the same each time.
#[test]
fn the_simulation_prints_the_output_of_its_head() {
    let ended = [
        ("cron_and_dst", run("cron_and_dst", plainly)),
        ("policies", run("policies", plainly)),
        ("rate_and_delay", run("rate_and_delay", plainly)),
    ];
    for (name, ended) in ended {
        ended.check(&[]);
        assert_eq!(ended.output, promised(name), "{name}");
    }
}

#[test]
fn state() {
    let ended = run("state", plainly);
    ended.check_order(&[
        "cannot start: 2 faults were found, and nothing has run",
        "`state::confirm` wants `&state::Orders`, which is not managed",
        "`state::confirm` wants `&dyn state::Mail`, which is not managed",
        "mail: 1. tea is on its way, yours faithfully",
        "mail: 2. jam is on its way, yours faithfully",
        "mail: 3. bread is on its way, yours faithfully",
    ]);
    ended.check(&[]);
}

#[test]
fn components() {
    let ended = run("components", plainly);
    ended.check(&["Berlin has sold 1", "Paris has sold 1"]);
    ended.check(&["the office hears from Berlin: ", "the office hears from Paris: "]);
    for task in ["sell", "report", "close"] {
        for shop in ["berlin", "paris"] {
            let name = format!("components::Shop::{task}[{shop}]");
            assert!(ended.words.contains(&name), "{name} is missing in {ended:#?}");
        }
    }
}

#[test]
fn alongside_tokio() {
    let ended = run("alongside_tokio", plainly);
    ended.check_order(&[
        "waiting for messages",
        "sending message 1",
        "got message 1",
        "got message 2",
        "got message 3",
        "no further message",
    ]);
    ended.check(&[]);
    assert!(ended.words.contains("1 thread (scheduling-1) "), "{ended:#?}");
    assert!(ended.words.contains("async tasks: Tokio"), "{ended:#?}");
}

#[test]
fn beside_axum() {
    let mut server = Running::new("beside_axum", |command| command.env("PORT", "0"));
    server.await_output(&["listening on http://"]);
    let line = server.seen[0].last().expect("a line").clone();
    let address = line.strip_prefix("listening on http://").expect("an address");
    assert!(ask(address, "GET /").ends_with("you are visitor 1\n"));
    assert!(ask(address, "GET /").ends_with("you are visitor 2\n"));
    let list = ask(address, "GET /tasks");
    assert!(list.contains("beside_axum::report: every 5s, first after 5s; "), "{list}");
    let answer = ask(address, "POST /tasks/report");
    assert!(answer.starts_with("HTTP/1.1 202 ") && answer.ends_with("report runs\n"), "{answer}");
    server.await_output(&["2 visits"]);
    let answer = ask(address, "POST /tasks/reprot");
    assert!(answer.contains("did you mean `report`?"), "{answer}");
    server.signal("TERM");
    let ended = server.end();
    ended.check(&["stopped"]);
    assert!(ended.words.contains("INFO  stopped after "), "{ended:#?}");
}

#[test]
fn dashboard() {
    let mut program = Running::new("dashboard", |command| command.env("DASHBOARD", "127.0.0.1:0"));
    program.await_words(&["dashboard http://127.0.0.1:"]);
    let line = program.seen[1].last().expect("a line").clone();
    let (page, token) = line.split_once("/#token=").expect("a token");
    let address = page.strip_prefix("dashboard http://").expect("an address");
    assert!(ask(address, "GET /").contains("<title>web shop"), "the page");
    assert!(ask(address, "GET /api/v1/tasks").starts_with("HTTP/1.1 401 "));
    let tasks = ask_as(address, "GET /api/v1/tasks", &format!("Bearer {token}"));
    assert!(tasks.contains("dashboard::import_orders"), "{tasks}");
    let jobs = ask_as(address, "GET /api/v1/jobs?state=ready", &format!("Bearer {token}"));
    assert!(jobs.starts_with("HTTP/1.1 200 "), "{jobs}");
    program.signal("TERM");
    program.await_words(&["INFO  stopped after "]);
    assert_eq!(program.end().code, Some(0));
}

#[test]
fn dashboard_axum() {
    let mut server = Running::new("dashboard_axum", |command| command.env("PORT", "0"));
    server.await_output(&["listening on http://"]);
    let line = server.seen[0].last().expect("a line").clone();
    let address = line.strip_prefix("listening on http://").expect("an address");
    let (address, page) = address.split_once('/').expect("a path");
    let (anna, ben) = ("Basic YW5uYTpkZW1v", "Basic YmVuOmRlbW8=");
    assert!(ask(address, "GET /").ends_with("the shop\n"));
    assert!(ask(address, &format!("GET /{page}")).starts_with("HTTP/1.1 401 "));
    assert!(ask_as(address, &format!("GET /{page}"), ben).contains("<!doctype html>"));
    let pause = format!("POST /{page}/api/v1/tasks/report/pause");
    assert!(ask_as(address, &pause, ben).starts_with("HTTP/1.1 403 "));
    let paused = ask_as(address, &pause, anna);
    assert!(paused.starts_with("HTTP/1.1 202 ") && paused.contains("\"by\":\"anna\""), "{paused}");
    server.await_output(&["anna: pause of task `dashboard_axum::report`"]);
    server.signal("INT");
    assert_eq!(server.end().code, Some(0));
}

#[test]
fn durable() {
    let folder = tempfile::tempdir().expect("a folder");
    let start = || Running::new("durable", |command| command.current_dir(folder.path()));
    let mut first = start();
    first.await_output(&["bill for ", "attempt 1, fence Some(Fence("]);
    first.signal("KILL");
    assert_eq!(first.end().code, None);
    let mut second = start();
    // The job whose process was killed, by the next attempt.
    second.await_output(&["attempt 2, fence Some(Fence(", "is sent"]);
    second.signal("TERM");
    let ended = second.end();
    assert_eq!(ended.code, Some(0));
    assert!(ended.words.contains("lost its process in attempt 1; it runs again"), "{ended:#?}");
}

/// As [`ask`], with the header by which programs know their users, and JSON.
fn ask_as(address: &str, request: &str, who: &str) -> String {
    send(address, request, &format!("Authorization: {who}\r\nContent-Type: application/json\r\n"))
}

/// The answer of a web server, with its head.
fn ask(address: &str, request: &str) -> String {
    send(address, request, "")
}

fn send(address: &str, request: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    let head = format!("Host: {address}\r\n{headers}Connection: close");
    let request = format!("{request} HTTP/1.1\r\n{head}\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("the server reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the server answers");
    answer
}

#[test]
fn settings() {
    const FILE: &str = "examples/settings/scheduler.toml";
    let plain = run("settings", plainly);
    plain.check(&["hello"]);
    assert!(plain.words.contains("3 tasks · "), "{plain:#?}");
    assert!(plain.words.contains("0 0 9 * * * (09:00, every day) in UTC"), "{plain:#?}");

    let ended = run("settings", |command| command.env("SCHEDULER_CONFIG", FILE));
    ended.check(&["hello"]);
    let zone = "0 0 7 * * MON-FRI (07:00, Monday to Friday) in America/New_York";
    for text in [zone, "1 thread ", "zone Europe/Berlin", "disabled: settings::cleanup"] {
        assert!(ended.words.contains(text), "`{text}` is missing in {ended:#?}");
    }

    let dry = run("settings", |command| {
        command.env("SCHEDULER_CONFIG", FILE).env("SCHEDULER_DRY_RUN", "1")
    });
    for text in [&format!("{FILE}:11"), "written `${cleanup.every:10m}`"] {
        assert!(dry.output.contains(text), "`{text}` is missing in {dry:#?}");
    }
    assert!(!dry.output.contains("hello"), "nothing runs: {dry:#?}");

    let slip = run("settings", |command| command.env("SCHEDULER_TASKS_REPROT_CRON", "@daily"));
    assert!(slip.words.contains("did you mean `SCHEDULER_TASKS_REPORT_CRON`?"), "{slip:#?}");
}

#[test]
fn limits() {
    let folder = tempfile::tempdir().expect("a folder");
    let ended = run("limits", |command| command.current_dir(folder.path()));
    ended.check(&["call-api each: 1 running, 2 starts in 1s", "ada: order 2", "flood: order 6"]);
}

#[test]
fn import() {
    let folder = tempfile::tempdir().expect("a folder");
    let ended = run("import", |command| command.current_dir(folder.path()));
    ended.check(&["100 %: page 7 of 7"]);
}

#[test]
fn pools() {
    let ended = run("pools", plainly);
    ended.check(&["tick on scheduling-1", "upload begins on io-", "download begins on io-"]);
    assert!(!ended.output.contains("tick on io"), "{ended:#?}");
    assert!(!ended.output.contains("begins on scheduling"), "{ended:#?}");
}

#[test]
fn control() {
    run("control", plainly).check(&[]).check_order(&[
        "at the start:",
        "control::import: every 1h, first after 1h; waiting; runs: 0; next: ",
        "import: working",
        "control::import: every 1h, first after 1h; waiting; runs: 1; next: ",
        "control::import: every 1h, first after 1h; paused; runs: 1; next: never",
        "import: working",
        "import: working",
        "control::import: every 200ms; cancelled; runs: ",
        "task `control::import` has ended: it is cancelled",
        "export: working",
        "export: once, after 10ms; completed; runs: 1; next: never",
    ]);
}

/// The second Ctrl-C, and a task that does not end, are tested with programs that can wait for it.
#[test]
fn graceful_shutdown() {
    let mut program = Running::new("graceful_shutdown", plainly);
    program.await_output(&["import: part 1", "backup: begun", "listen: waiting"]);
    program.signal("TERM");
    let ended = program.end();
    ended.check(&["import: the rest comes with the next run", "listen: closed"]);
    ended.check(&["backup: complete"]);
    assert!(ended.words.contains("INFO  stopping: no new runs; waiting up to 30s"), "{ended:#?}");
    assert!(ended.words.contains(", 0 failures"), "{ended:#?}");
}

#[test]
fn explain() {
    let ask = ["0 30 2 * * *", "--zone", "Europe/Berlin", "--from", "2026-03-28T00:00:00Z"];
    let ended = run("explain", |command| command.args(ask));
    ended.check(&["02:30, every day"]).check_order(&[
        "next runs in Europe/Berlin",
        "   1  Sat 2026-03-28 02:30:00 +01:00",
        "-- Sun 2026-03-29 +01:00 becomes +02:00: 02:00 to 03:00 is left out; runs in it are skipped",
        "   2  Mon 2026-03-30 02:30:00 +02:00",
    ]);
    let slip = run("explain", |command| command.arg("0 0 25 * * *"));
    assert_eq!(slip.code, Some(2), "{slip:#?}");
    assert!(slip.words.contains("hour `25` is out of range"), "{slip:#?}");
}
