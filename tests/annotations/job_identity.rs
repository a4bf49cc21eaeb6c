//! Events, messages and hooks name the durable job they are about.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use scheduler::store::JobState;
use scheduler::testing::*;
use scheduler::{
    Admission, Event, EventKind, GateContext, JobError, JobInfo, ParkedJob, Run, RunInfo,
    StoreEvent, job,
};
use serde::{Deserialize, Serialize};

#[job(name = "send-invoice", queue = "mail", retry(max = 2, base = "10s"), timeout = "10m")]
fn send_invoice(run: &Run, seen: &Seen, #[payload] number: u32) -> Result<(), JobError> {
    seen.0.lock().expect("no run panics while it holds it").push(run.info());
    if number == 0 {
        return Err(JobError::give_up("there is no invoice 0"));
    }
    Err(JobError::failed("no connection to smtp:25"))
}

#[job(name = "read-invoice", retry(max = 1), timeout = "10m")]
fn read_invoice(#[payload] _invoice: Invoice) {}

/// A payload that the code cannot decode.
#[derive(Clone, Serialize, Deserialize)]
#[serde(into = "u32", try_from = "u32")]
struct Invoice(u32);

impl From<Invoice> for u32 {
    fn from(invoice: Invoice) -> Self {
        invoice.0
    }
}

impl TryFrom<u32> for Invoice {
    type Error = String;

    fn try_from(number: u32) -> Result<Self, String> {
        Err(format!("invoice {number} has no currency"))
    }
}

#[job(name = "charge", on_lost = "abandon")]
fn charge() {}

/// The runs as the function has seen them.
#[derive(Default)]
struct Seen(Mutex<Vec<RunInfo>>);

fn sim() -> Sim {
    let list = scheduler::tasks![send_invoice, read_invoice];
    let sim = Sim::at("2026-01-01T00:00:00Z").with_store().tasks(list);
    sim.manage(Seen::default())
}

/// The events about runs and parked jobs, in words.
fn story(events: &[Event]) -> Vec<String> {
    let tell = |event: &Event| match &event.kind {
        EventKind::RunStarted { run, .. } => Some(format!("run_started {}", attempt(run))),
        EventKind::AttemptFailed { run, next_attempt_in, .. } => {
            let seconds = next_attempt_in.as_secs();
            Some(format!("attempt_failed {} next in {seconds}s", attempt(run)))
        }
        EventKind::RunFinished { run, outcome, streak, .. } => {
            Some(format!("run_finished {} {} streak {streak}", attempt(run), outcome.name()))
        }
        EventKind::Store { what: StoreEvent::JobParked { job, .. }, .. } => {
            let of = event.task_name().unwrap_or("no task");
            Some(format!(
                "job_parked {of} {} {:?} {} {}",
                job.task, job.key, job.queue, job.attempts
            ))
        }
        _ => None,
    };
    events.iter().filter_map(tell).collect()
}

fn attempt(run: &RunInfo) -> String {
    format!("{}: {} of {}", run.number, run.attempt, run.max_attempts)
}

#[test]
fn a_job_that_is_tried_thrice_is_one_run_one_failure_and_three_attempts() {
    let mut sim = sim();
    let job = send_invoice::job(17).key("inv-17");
    let id = job.id().to_string();
    sim.jobs().enqueue(job).expect("it is stored");
    sim.drain_jobs(minutes(5));
    let expected = [
        "run_started 1: 1 of 3",
        "attempt_failed 1: 1 of 3 next in 10s",
        "run_started 1: 2 of 3",
        "attempt_failed 1: 2 of 3 next in 20s",
        "run_started 1: 3 of 3",
        "run_finished 1: 3 of 3 error streak 1",
        "job_parked send-invoice send-invoice Some(\"inv-17\") mail 3",
    ];
    let events = sim.events();
    assert_eq!(story(&events), expected);
    let jobs: Vec<&JobInfo> =
        events.iter().filter_map(|event| event.run()?.job.as_deref()).collect();
    let is_it = |job: &&JobInfo| {
        (&*job.id, job.key.as_deref(), &*job.queue) == (&*id, Some("inv-17"), "mail")
    };
    assert!(jobs.len() == 6 && jobs.iter().all(is_it), "{jobs:?}");
    let snapshot = sim.snapshot("send-invoice");
    let counters = snapshot.counters;
    assert_eq!((counters.runs, counters.errors, counters.attempts), (1, 1, 3));
    assert_eq!((snapshot.streak, snapshot.last_runs[0].attempts), (1, 3));
    let seen = sim.get::<Seen>();
    let seen = seen.0.lock().expect("no run panics");
    assert!(seen.iter().all(|run| run.job.as_deref().is_some_and(|job| is_it(&job))), "{seen:?}");
}

#[test]
fn the_next_job_has_the_next_number_while_another_waits_for_its_attempt() {
    let mut sim = sim();
    sim.jobs().enqueue(send_invoice::job(1)).expect("it is stored");
    sim.advance(secs(5));
    sim.jobs().enqueue(send_invoice::job(2)).expect("it is stored");
    sim.drain_jobs(minutes(5));
    let started: Vec<(u64, u32)> = sim
        .events()
        .iter()
        .filter(|event| matches!(event.kind, EventKind::RunStarted { .. }))
        .filter_map(|event| event.run().map(|run| (run.number, run.attempt)))
        .collect();
    assert_eq!(started, [(1, 1), (2, 1), (1, 2), (2, 2), (1, 3), (2, 3)]);
}

#[test]
fn attempts_are_warnings_and_the_parking_is_the_one_error() {
    let mut sim = sim();
    let job = send_invoice::job(17).key("inv-17");
    let id = job.id();
    sim.jobs().enqueue(job).expect("it is stored");
    sim.drain_jobs(minutes(5));
    let about = |level: &str| -> Vec<String> {
        let messages = sim.messages().into_iter().filter(|text| text.starts_with(level));
        messages.filter_map(|text| text.lines().next().map(str::to_owned)).collect()
    };
    let warnings = about("WARN");
    assert_eq!(warnings.len(), 3, "{warnings:#?}");
    let first = format!(
        "WARN  task `send-invoice` failed in attempt 1 of 3 of job {id} (key `inv-17`), next in 10"
    );
    assert!(warnings[0].starts_with(&first), "{warnings:#?}");
    assert!(warnings[0].ends_with("s: no connection to smtp:25"), "{warnings:#?}");
    let last = format!(
        "WARN  task `send-invoice` failed in attempt 3 of 3 of job {id} (key `inv-17`): no connection to smtp:25"
    );
    assert_eq!(warnings[2], last);
    let parked = format!(
        "ERROR task `send-invoice`: job {id} (key `inv-17`) is parked after 3 attempts: no connection to smtp:25"
    );
    assert_eq!(about("ERROR"), [parked]);
    let errors = sim.messages().into_iter().filter(|text| text.starts_with("ERROR"));
    let help: Vec<String> =
        errors.filter_map(|text| Some(text.lines().nth(1)?.to_owned())).collect();
    assert_eq!(help, [format!("      it is kept for a retry by hand: scheduler jobs retry {id}")]);
}

#[test]
fn a_payload_that_cannot_be_decoded_names_the_cure_and_when_it_is_tried_again() {
    let mut sim = sim();
    sim.jobs().enqueue(read_invoice::job(Invoice(17))).expect("it is stored");
    let ended = sim.drain_jobs(minutes(10));
    assert_eq!((ended[0].state, ended[0].attempt), (JobState::Parked, 0), "no attempt counts");
    let warnings: Vec<String> =
        sim.messages().into_iter().filter(|text| text.starts_with("WARN")).collect();
    assert_eq!(warnings.len(), 5, "{warnings:#?}");
    for (time, warning) in (1..).zip(&warnings) {
        assert_eq!(warning.contains(", next in 1m: its payload"), time < 5, "{warning}");
        let times = format!("this is time {time} of 5, a minute apart, and then it is parked");
        assert!(warning.contains(&times), "{warning}");
        assert!(
            warning.contains("help: a type that has changed needs `version = 2` and `upgrade = …`")
        );
    }
    assert_eq!(sim.snapshot("read-invoice").counters.runs, 1);
}

#[test]
fn the_hook_for_parked_jobs_gets_all_of_each_and_may_panic() {
    type Told = Vec<(Option<u32>, ParkedJob)>;
    let parked: Arc<Mutex<Told>> = Arc::default();
    let kept = Arc::clone(&parked);
    let mut sim = sim().allow_panics().builder(move |builder| {
        let builder = builder.on_parked(|_| panic!("no chat"));
        builder.on_parked(move |job| {
            kept.lock()
                .expect("no hook panics while it holds it")
                .push((job.payload(), job.clone()));
        })
    });
    sim.jobs().enqueue(send_invoice::job(0).key("none")).expect("it is stored");
    sim.drain_jobs(minutes(5));
    sim.jobs().enqueue(send_invoice::job(17)).expect("it is stored");
    sim.drain_jobs(minutes(5));
    let parked = parked.lock().expect("no hook panics");
    let told: Vec<_> = parked
        .iter()
        .map(|(number, job)| (*number, job.key.as_deref(), job.attempts, &*job.error))
        .collect();
    let expected = [
        (Some(0), Some("none"), 1, "there is no invoice 0"),
        (Some(17), None, 3, "no connection to smtp:25"),
    ];
    assert_eq!(told, expected);
    assert!(!format!("{:?}", parked[1].1).contains("17,"), "no text shows the payload");
}

#[test]
fn a_job_that_was_parked_since_its_process_died_is_told_by_who_found_it() {
    let parked: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&parked);
    let mut cluster = Sim::cluster("2026-01-01T00:00:00Z", 2, move |sim| {
        let kept = Arc::clone(&kept);
        sim.tasks(scheduler::tasks![charge]).builder(move |builder| {
            let kept = Arc::clone(&kept);
            builder.on_parked(move |job| {
                kept.lock().expect("no hook panics").push(format!("{} {}", job.task, job.error));
            })
        })
    });
    cluster.takes("charge", minutes(5));
    cluster.jobs().enqueue(charge::job()).expect("it is stored");
    cluster.advance(secs(10));
    let (_, process) = cluster.starts("charge")[0];
    cluster.kill(process);
    cluster.advance(minutes(2));
    let text = "charge lost: the session of attempt 1 ended before its outcome was stored";
    assert_eq!(*parked.lock().expect("no hook panics"), [text]);
}

#[test]
fn a_gate_sees_the_job_of_a_run() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&seen);
    let mut sim = sim().builder(move |builder| {
        builder.gate(move |context: &GateContext| {
            let job = context.run.job.as_deref().map(ToString::to_string);
            kept.lock().expect("no gate panics").extend(job);
            Ok(Admission::run())
        })
    });
    let job = send_invoice::job(0).key("none");
    let expected = format!("job {} (key `none`)", job.id());
    sim.jobs().enqueue(job).expect("it is stored");
    sim.drain_jobs(Duration::from_secs(60));
    assert_eq!(*seen.lock().expect("no gate panics"), [expected]);
}

/// So a gate can limit the rate of each process.
#[test]
fn a_job_that_a_gate_refuses_comes_again_after_ten_seconds_and_that_was_no_attempt() {
    let mut sim = sim().builder(|builder| {
        let asked = AtomicU32::new(0);
        builder.gate(move |_: &GateContext| {
            let is_open = asked.fetch_add(1, SeqCst) >= 2;
            Ok(if is_open { Admission::run() } else { Admission::refuse("the quota is used up") })
        })
    });
    let job = send_invoice::job(0);
    let id = job.id();
    sim.jobs().enqueue(job).expect("it is stored");
    sim.advance(secs(60));
    let [start] = sim.starts("send-invoice")[..] else {
        panic!("{:?}", sim.starts("send-invoice"))
    };
    assert!((secs(20)..secs(24)).contains(&start), "{start:?}");
    let job = sim.jobs().get(id).expect("it answers").expect("it is kept");
    assert_eq!((job.state, job.attempt), (JobState::Parked, 1));
}
