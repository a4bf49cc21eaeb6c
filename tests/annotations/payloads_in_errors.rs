//! No value, key or variant of a payload stands in an error.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::io;
use std::sync::{Arc, Mutex};

use crate::own_process::is_in_own_process;
use scheduler::store::{JobId, JobState};
use scheduler::testing::{Sim, minutes, secs};
use scheduler::{Job, Jobs, job, scheduled, tasks};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

/// A part of each value, key and variant.
const MARKER: &str = "sesame";
/// The same for numbers.
const NUMBER: i64 = 918_273_645;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Letter {
    iban: String,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Channel {
    Mail(u8),
}

#[derive(Debug, Serialize)]
struct Address(String);

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        if text.contains('@') {
            Ok(Self(text))
        } else {
            Err(D::Error::custom(text + " is no address"))
        }
    }
}

#[job(name = "letter")]
fn letter(#[payload] letter: Letter) {
    drop(letter.iban);
}

#[job(name = "channel")]
fn channel(#[payload] channel: Channel) {
    let Channel::Mail(_) = channel;
}

#[job(name = "address")]
async fn address(#[payload] address: Address) {
    drop(address.0);
}

#[job(name = "prices")]
fn prices(#[payload] prices: BTreeMap<u64, u8>) {
    drop(prices);
}

#[job(name = "pair")]
fn pair(#[payload] pair: (u8, char)) {
    let _ = pair;
}

/// The error of `serde_json`, as it is and in a box.
fn as_it_is(old: Value) -> serde_json::Result<Letter> {
    serde_json::from_value(old)
}

fn boxed(old: Value) -> Result<Letter, Box<dyn Error>> {
    Ok(serde_json::from_value(old)?)
}

fn boxed_to_send(old: Value) -> Result<Letter, Box<dyn Error + Send + Sync>> {
    Ok(serde_json::from_value(old)?)
}

#[job(name = "as-it-is", version = 2, upgrade = as_it_is)]
fn upgraded_as_it_is(#[payload] letter: Letter) {
    drop(letter.iban);
}

#[job(name = "boxed", version = 2, upgrade = boxed)]
fn upgraded_boxed(#[payload] letter: Letter) {
    drop(letter.iban);
}

#[job(name = "boxed-to-send", version = 2, upgrade = boxed_to_send)]
fn upgraded_boxed_to_send(#[payload] letter: Letter) {
    drop(letter.iban);
}

/// Code of the program that decodes a payload and returns the error.
#[scheduled(fixed_rate = "1m", initial_delay = "1m", name = "reads")]
fn reads(jobs: &Jobs) -> Result<(), Box<dyn Error>> {
    let all = jobs.list(&scheduler::store::JobFilter::default(), 100)?;
    let job = all.iter().find(|job| job.task == "letter").ok_or("no job")?;
    job.payload.decode::<Letter>()?;
    Ok(())
}

/// Jobs of these tasks as another build enqueues them, with any payload of the first version.
mod misfit {
    use serde_json::Value;

    macro_rules! tasks {
        ($($function:ident = $name:literal,)*) => {$(
            #[scheduler::job(name = $name)]
            pub(super) fn $function(#[payload] payload: Value) {
                drop(payload);
            }
        )*};
    }

    tasks! {
        letter = "letter",
        channel = "channel",
        address = "address",
        prices = "prices",
        pair = "pair",
        as_it_is = "as-it-is",
        boxed = "boxed",
        boxed_to_send = "boxed-to-send",
    }
}

/// Jobs of each task whose payloads do not fit its type.
fn misfits() -> Vec<Job> {
    let iban = json!({ "iban": NUMBER });
    vec![
        misfit::letter::job(iban.clone()),
        misfit::letter::job(json!({ "iban": { MARKER: MARKER } })),
        misfit::letter::job(json!({ "iban": "", (MARKER): 1 })),
        misfit::letter::job(json!(MARKER)),
        misfit::letter::job(json!({})),
        misfit::channel::job(json!({ MARKER: 1 })),
        misfit::channel::job(json!(MARKER)),
        misfit::channel::job(json!({ "Mail": MARKER })),
        misfit::channel::job(json!({ "Mail": NUMBER })),
        misfit::address::job(json!(MARKER)),
        misfit::prices::job(json!({ MARKER: 1 })),
        misfit::pair::job(json!([1, MARKER])),
        misfit::pair::job(json!([NUMBER, "a"])),
        misfit::pair::job(json!([1, "a", MARKER])),
        misfit::as_it_is::job(iban.clone()),
        misfit::boxed::job(iban.clone()),
        misfit::boxed_to_send::job(iban),
    ]
}

/// All that `tracing` writes.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no writer panics").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[track_caller]
fn assert_clean(output: &str, text: &str) {
    let bytes = format!("{:?}", MARKER.as_bytes());
    for part in [MARKER, &NUMBER.to_string(), bytes.trim_matches(['[', ']'])] {
        let found = text.lines().find(|line| line.contains(part));
        assert_eq!(found, None, "{output} has `{part}`");
    }
}

/// Enqueues jobs whose payloads do not fit, and runs them until they are parked.
fn parked(sim: &mut Sim) -> Vec<JobId> {
    let mut ids = Vec::new();
    for job in misfits() {
        ids.push(job.id());
        sim.jobs().enqueue(job.after(secs(1))).expect("it is stored");
    }
    sim.advance(minutes(10));
    ids
}

#[test]
fn no_error_has_a_part_of_a_payload() {
    if !is_in_own_process(no_error_has_a_part_of_a_payload) {
        return;
    }
    let (log, told) = (Log::default(), Arc::new(Mutex::new(String::new())));
    let (writer, hook) = (log.clone(), Arc::clone(&told));
    tracing_subscriber::fmt().json().with_writer(move || writer.clone()).init();
    let list = tasks![
        letter,
        channel,
        address,
        prices,
        pair,
        upgraded_as_it_is,
        upgraded_boxed,
        upgraded_boxed_to_send,
        reads
    ];
    let sim = Sim::at("2026-01-01T00:00:00Z").with_store().tasks(list);
    let mut sim = sim.builder(|builder| {
        builder.on_parked(move |job| {
            writeln!(hook.lock().expect("no panic"), "{job} {job:?}").expect("a text");
        })
    });
    let ids = parked(&mut sim);

    let mut stored = String::new();
    for id in &ids {
        let job = sim.jobs().get(*id).expect("an answer").expect("it is kept");
        assert_eq!(job.state, JobState::Parked, "{job:?}");
        let error = job.error.clone().expect("why");
        assert!(error.contains("cannot be decoded"), "{error}");
        assert_eq!(job.attempts.len(), 5, "{job:?}");
        writeln!(stored, "{error} {:?} {job:?}", job.attempts).expect("a text");
    }
    let reads = sim.outcomes("reads");
    assert!(reads.len() > 5 && reads.iter().all(|outcome| outcome.is_failure()), "{reads:?}");
    let events = sim.events();
    let told = told.lock().expect("no panic").clone();
    assert_eq!(told.lines().count(), ids.len(), "{told}");
    let log = String::from_utf8(log.0.lock().expect("no panic").clone()).expect("UTF-8");
    assert!(log.contains("cannot be decoded"), "{log}");

    assert_clean("the store", &stored);
    assert_clean("a message", &sim.messages().join("\n"));
    assert_clean("the log of events", &sim.event_log());
    assert_clean("an event", &format!("{events:#?}"));
    assert_clean("an event as JSON", &serde_json::to_string_pretty(&events).expect("JSON"));
    assert_clean("on_parked", &told);
    assert_clean("tracing", &log);
}

#[test]
fn no_debug_text_has_a_part_of_a_payload() {
    let with_marker = || letter::job(Letter { iban: MARKER.to_owned() });
    assert_clean("a job", &format!("{:?} {:#?}", with_marker(), with_marker()));
    let sim = Sim::at("2026-01-01T00:00:00Z").with_store().tasks(tasks![letter]);
    let no_queue = with_marker().queue("");
    let error = sim.jobs().enqueue(no_queue).expect_err("a queue has a name");
    assert_clean("an error that has its job", &format!("{error} {error:?} {error:#?}"));
    let job = with_marker();
    let id = job.id();
    sim.jobs().enqueue(job.after(secs(60))).expect("it is stored");
    let stored = sim.jobs().get(id).expect("an answer").expect("it waits");
    assert_clean("a stored job", &format!("{stored:?} {stored:#?}"));
    let mut payload = stored.payload.clone();
    payload.bytes = format!("{{\"{MARKER}\"").into_bytes();
    let refused = sim.jobs().edit(&stored, &payload).expect_err("it is no JSON");
    assert_clean("a refused edit", &format!("{refused} {refused:?}"));
    let misfit = stored.payload.with(&json!({ "iban": { MARKER: NUMBER } })).expect("it is JSON");
    let refused = sim.jobs().edit(&stored, &misfit).expect_err("it does not fit");
    assert!(refused.to_string().contains("cannot be decoded: it does not fit"), "{refused}");
    assert_clean("an edit that does not fit", &format!("{refused} {refused:?}"));
}

#[test]
fn a_payload_that_cannot_be_decoded_is_reported_as_no_attempt() {
    let mut sim = Sim::at("2026-01-01T00:00:00Z").with_store().tasks(tasks![letter]);
    let job = misfit::letter::job(json!({ "iban": NUMBER }));
    let id = job.id();
    sim.jobs().enqueue(job.after(secs(1))).expect("it is stored");
    sim.advance(minutes(10));

    let why = |time: u32| {
        format!(
            "its payload cannot be decoded: it does not fit `{}` at line 1 column 17; this is time {time} of 5, a minute \
             apart, and then it is parked; help: a type that has changed needs `version = 2` and `upgrade = …` in `#[job]`",
            std::any::type_name::<Letter>()
        )
    };
    let messages = sim.messages().join("\n");
    for time in 1..=4 {
        let message = format!("task `letter` failed in job {id}, next in 1m: {}", why(time));
        assert!(messages.contains(&message), "{message}: {messages}");
    }
    assert!(
        messages.contains(&format!("task `letter` failed in job {id}: {}", why(5))),
        "{messages}"
    );
    let parked = format!("job {id} is parked after 0 attempts: {}", why(5));
    assert!(messages.contains(&parked), "{parked}: {messages}");
    let events = sim.event_log();
    assert!(events.contains(&format!("of job {id} failed: {}; next in 1m", why(1))), "{events}");
    for text in [messages, events] {
        let contradiction =
            text.lines().find(|line| line.contains("decoded") && line.contains("attempt 1"));
        assert_eq!(contradiction, None);
    }
}
