//! The progress of runs, on a virtual clock.

use scheduler::store::{JobId, JobState};
use scheduler::testing::*;
use scheduler::{EventKind, JobError, Jobs, Run, StoreEvent, job, scheduled};
use std::time::Duration;

#[job(name = "pages", retry(max = 2, base = "1m"))]
async fn pages(#[payload] pages: u32, run: Run) -> Result<(), JobError> {
    for page in 1..=pages {
        run.progress(f64::from(page) / f64::from(pages), format!("page {page} of {pages}"));
        run.sleep_async(secs(1)).await;
    }
    if run.attempt() == 1 { Err(JobError::failed("the file ends")) } else { Ok(()) }
}

#[job(name = "rows")]
fn rows(#[payload] rows: u32, run: Run) {
    for row in 0..rows {
        run.progress(f64::from(row + 1) / f64::from(rows), format!("row {row}"));
    }
    drop(run);
}

#[job(name = "empty")]
async fn empty(run: Run) {
    run.progress(0.5, "half of nothing");
    for rest in [0.0, 1.0] {
        run.progress(rest * f64::NAN, "0 of 0");
        run.sleep_async(secs(1)).await;
    }
}

#[scheduled(fixed_rate = "1h", name = "plain")]
fn plain(run: Run) {
    run.progress(0.5, "of no job");
    drop(run);
}

fn program(sim: Sim) -> Sim {
    sim.tasks(scheduler::tasks![pages, rows, empty, plain])
}

fn sim() -> Sim {
    let mut sim = program(Sim::at("2026-01-01T00:00:00Z").with_store());
    sim.advance(secs(1));
    sim
}

fn progress(jobs: &Jobs, id: JobId) -> Option<(f64, String)> {
    let job = jobs.get(id).expect("it answers").expect("the job");
    job.progress.map(|progress| (progress.fraction(), progress.text().to_owned()))
}

fn at(fraction: f64, text: &str) -> Option<(f64, String)> {
    Some((fraction, text.to_owned()))
}

#[test]
fn progress_is_shown_at_once_and_kept_until_the_next_run_begins() {
    let mut sim = sim();
    let id = sim.jobs().enqueue(pages::job(4)).expect("it is stored").id();
    assert_eq!(progress(&sim.jobs(), id), None);
    sim.advance(Duration::from_millis(500));
    assert_eq!(progress(&sim.jobs(), id), at(0.25, "page 1 of 4"));
    sim.advance(secs(1));
    assert_eq!(progress(&sim.jobs(), id), at(0.5, "page 2 of 4"));
    sim.advance(secs(10));
    assert_eq!(sim.jobs().get(id).expect("it answers").expect("a job").state, JobState::Ready);
    assert_eq!(
        progress(&sim.jobs(), id),
        at(1.0, "page 4 of 4"),
        "that of the attempt that failed"
    );
    sim.advance(hours(1));
    let done = sim.jobs().get(id).expect("it answers").expect("a job");
    assert_eq!((done.state, done.attempt), (JobState::Done, 2));
    assert_eq!(progress(&sim.jobs(), id), at(1.0, "page 4 of 4"));
}

#[test]
fn a_plain_function_reports_too_and_a_task_that_is_no_job_may() {
    let mut sim = sim();
    let id = sim.jobs().enqueue(rows::job(1_000)).expect("it is stored").id();
    sim.advance(secs(1));
    assert_eq!(progress(&sim.jobs(), id), at(1.0, "row 999"));
    sim.advance(hours(2));
    assert!(sim.starts("plain").len() >= 2, "it has no store to write to");
}

#[test]
fn a_fraction_that_is_no_number_is_ignored_with_one_warning() {
    let mut sim = sim();
    let id = sim.jobs().enqueue(empty::job()).expect("it is stored").id();
    sim.advance(secs(10));
    assert_eq!(progress(&sim.jobs(), id), at(0.5, "half of nothing"));
    let events = sim.events();
    let ignored = events.iter().filter_map(|event| match &event.kind {
        EventKind::Store { what: what @ StoreEvent::ProgressIgnored { .. }, .. } => Some(what),
        _ => None,
    });
    let texts: Vec<String> = ignored.map(ToString::to_string).collect();
    let expected = format!(
        "job {id} of `empty` has reported a progress that is no number, which is ignored: it has divided by zero"
    );
    assert_eq!(texts, [expected]);
}
