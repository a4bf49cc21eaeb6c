//! The log of a parked job in JSON, as a guide shows it.

#![expect(
    clippy::disallowed_methods,
    reason = "it waits for threads of the scheduler in real time"
)]

use std::io::{self, Write};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use crate::own_process::is_in_own_process;
use scheduler::store::{Model, StoreTime};
use scheduler::{Scheduler, Until, job, tasks};
use serde_json::{Map, Value};

#[job(name = "send-invoice", queue = "mail", retry(max = 1, base = "10ms"))]
fn send_invoice(#[payload] to: String) -> Result<(), String> {
    tracing::info!("sends an invoice to {to}");
    if to.contains('@') { Ok(()) } else { Err(to + " is no address") }
}

/// The header of the request for which the job is enqueued.
const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("no writer panics").clone()).expect("UTF-8")
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no writer panics").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn now() -> StoreTime {
    StoreTime::from_micros(scheduler::chrono::Utc::now().timestamp_micros())
}

/// The fields that the guide shows of a line; none of a line that is about no job.
fn shown(line: &str, id: &str) -> Option<String> {
    const FIELDS: [&str; 6] = [
        "scheduler.job.id",
        "scheduler.job.key",
        "scheduler.job.queue",
        "scheduler.job.attempt",
        "scheduler.job.max_attempts",
        "trace_id",
    ];
    let line: Value = serde_json::from_str(line).expect("JSON");
    let (fields, span) = (&line["fields"], &line["span"]);
    let of = if span.is_null() { fields } else { span };
    of.get(FIELDS[0])?;
    let mut shown = Map::new();
    shown.insert("level".to_owned(), line["level"].clone());
    let message = fields["message"].as_str().expect("a message");
    shown.insert("message".to_owned(), without_times(&message.replace(id, "0198c5f4-…")).into());
    let job = FIELDS.iter().filter_map(|name| Some(((*name).to_owned(), of.get(*name)?.clone())));
    let mut job: Map<String, Value> = job.collect();
    job.insert(FIELDS[0].to_owned(), "0198c5f4-…".into());
    match span.get("name") {
        Some(name) => {
            job.insert("name".to_owned(), name.clone());
            shown.insert("span".to_owned(), job.into());
        }
        None => shown.extend(job),
    }
    Some(Value::from(shown).to_string())
}

/// Durations differ from run to run, and so does the place of the function.
fn without_times(text: &str) -> String {
    let is_time = |word: &str| word.starts_with(char::is_numeric) && word.ends_with('s');
    let words = text.split(' ').map(|word| {
        let bare = word.trim_end_matches([';', ':']);
        if is_time(bare) { format!("10ms{}", &word[bare.len()..]) } else { word.to_owned() }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_guide_shows_the_log_of_a_job_that_is_parked_edited_and_retried() {
    if !is_in_own_process(the_guide_shows_the_log_of_a_job_that_is_parked_edited_and_retried) {
        return;
    }
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().json().with_span_list(false);
    subscriber.with_writer(move || writer.clone()).init();
    let (parked, is_parked) = mpsc::channel();
    let builder = Scheduler::builder().tasks(tasks![send_invoice]).zone("UTC");
    let builder = builder.on_parked(move |job| {
        parked.send(job.payload::<String>()).expect("the test waits");
    });
    let scheduler = builder.store(Model::with_clock(now)).spawn().expect("it starts");
    let jobs = scheduler.jobs().expect("there is a store");
    let job = send_invoice::job("zoe".to_owned()).key("invoice-17").traceparent(TRACE);
    let id = job.id();
    jobs.enqueue(job).expect("it is stored");
    let limit = Duration::from_secs(30);
    assert_eq!(is_parked.recv_timeout(limit), Ok(Some("zoe".to_owned())));
    let start = Instant::now();
    while !log.text().contains("is parked") && start.elapsed() < limit {
        // The messages have a thread of their own.
        std::thread::sleep(Duration::from_millis(1));
    }
    let stored = jobs.get(id).expect("it answers").expect("it is kept");
    let payload = stored.payload.with(&"zoe@example.com").expect("it is JSON");
    jobs.edit(&stored, &payload).expect("it is parked");
    jobs.retry(id).expect("it is there");
    scheduler.wait_for("send-invoice", Until::runs(2), limit).expect("it runs again");
    scheduler.shutdown().expect("it stops");
    let text = log.text();
    let lines: Vec<String> = text.lines().filter_map(|line| shown(line, &id.to_string())).collect();
    let excerpt = lines.join("\n");
    let guide = include_str!("../../docs/observe.md");
    assert!(guide.contains(&format!("```json\n{excerpt}\n```\n")), "write:\n{excerpt}\n{text}");
}
