//! Processes that only enqueue, and workers of some queues.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use scheduler::store::{JobFilter, JobState, Model};
use scheduler::testing::*;
use scheduler::{NodeOptions, Pause, Run, Scheduler, TaskList, job, scheduled, tasks};

/// A value that workers alone have.
struct Engraver(AtomicU32);

#[job(name = "engrave", queue = "metal", retry(max = 4))]
fn engrave(#[payload] letters: u32, engraver: &Engraver) {
    engraver.0.fetch_add(letters, SeqCst);
}

#[scheduled(cron = "0 0 * * * *", zone = "UTC", name = "polish", queue = "metal", durable)]
fn polish(engraver: &Engraver) {
    engraver.0.fetch_add(1_000, SeqCst);
}

#[scheduled(fixed_rate = "1m")]
fn refresh() {}

#[job(name = "wait-async")]
async fn wait_async(run: Run) {
    run.sleep_async(minutes(1)).await;
}

#[job(name = "wait-plain")]
fn wait_plain() {}

const START: &str = "2026-01-01T00:30:00Z";

fn engraver() -> Arc<Engraver> {
    Arc::new(Engraver(AtomicU32::new(0)))
}

/// The first process enqueues, the second one works.
fn web_and_worker(engraver: &Arc<Engraver>) -> Cluster {
    let (engraver, process) = (Arc::clone(engraver), Cell::new(0));
    Sim::cluster(START, 2, move |sim| {
        let sim = sim.tasks(tasks![engrave, polish, refresh]);
        match process.replace(process.get() + 1) {
            0 => sim.builder(|builder| builder.enqueue_only()),
            _ => sim.manage_shared(Arc::clone(&engraver)),
        }
    })
}

#[test]
fn a_process_that_only_enqueues_needs_no_values_of_jobs_and_runs_none() {
    let engraver = engraver();
    let mut cluster = web_and_worker(&engraver);
    cluster.kill(1);
    cluster.advance(hours(1));
    cluster[0].jobs().enqueue(engrave::job(7)).expect("it is stored");
    cluster.advance(minutes(1));
    let jobs = cluster.jobs().list(&JobFilter::default(), 10).expect("it answers");
    let job = &jobs[0];
    assert_eq!(
        (jobs.len(), job.state),
        (1, JobState::Ready),
        "no process runs it, nor fires `polish`"
    );
    assert_eq!((job.max_attempts, &*job.queue), (5, "metal"), "the annotation counts");
    assert_eq!(cluster.jobs().sessions().expect("it answers").len(), 1, "that of the dead worker");
    assert_eq!(cluster[0].starts("refresh").len(), 62, "what is in memory runs");
    cluster.restart(1);
    cluster.advance(minutes(1));
    assert_eq!(engraver.0.load(SeqCst), 1_007, "the worker has run the job and the missed tick");
    let starts = [cluster.starts("engrave"), cluster.starts("polish")].concat();
    assert!(starts.iter().all(|(_, process)| *process == 1), "{starts:?}");
}

#[test]
fn a_process_that_only_enqueues_controls_jobs_and_schedules() {
    let engraver = engraver();
    let mut cluster = web_and_worker(&engraver);
    cluster.advance(secs(2));
    cluster[0].schedules().pause("polish", &Pause::default()).expect("there is such a schedule");
    cluster.advance(hours(3));
    assert_eq!(cluster.starts("polish"), []);
    cluster[0].schedules().run_now("polish").expect("nothing is unfinished");
    cluster.advance(secs(2));
    assert_eq!(cluster.starts("polish").len(), 1);
}

/// The messages of the start of a process.
fn said(tasks: TaskList, is_web: bool) -> String {
    let (sender, messages) = std::sync::mpsc::channel();
    let builder = Scheduler::builder().environment([("PATH", "")]).tasks(tasks);
    let builder = builder.store(Model::new()).messages(move |text| {
        drop(sender.send(text.to_owned()));
    });
    let builder = if is_web { builder.enqueue_only() } else { builder };
    builder.spawn().expect("it starts").shutdown().expect("it stops");
    messages.try_iter().collect::<Vec<_>>().join("\n")
}

#[test]
fn a_process_without_tasks_that_only_enqueues_is_not_warned_about() {
    assert!(said(tasks![], false).contains("no scheduled tasks found"));
    let web = said(tasks![], true);
    assert!(!web.contains("no scheduled tasks found"), "{web}");
    assert!(web.contains("durable jobs: enqueued here, run by other processes"), "{web}");
}

#[test]
fn a_process_that_only_enqueues_says_that_others_fire_its_schedules() {
    let web = said(tasks![polish, engrave], true);
    let polish = web.lines().find(|line| line.trim_start().starts_with("polish"));
    assert!(polish.is_some_and(|row| row.ends_with("  fired by other processes")), "{web}");
}

#[test]
fn to_enqueue_only_needs_a_store() {
    let builder = Scheduler::builder().environment([("PATH", "")]).messages(|_| {});
    let error = builder.tasks(tasks![]).enqueue_only().spawn().expect_err("there is no store");
    assert!(error.to_string().contains("enqueue_only() needs a store"), "{error}");
}

fn of_queues(queues: &[&str]) -> Sim {
    let node = NodeOptions::default().queues(queues.iter().copied());
    let sim = Sim::at(START).with_store().tasks(tasks![engrave, polish, refresh]);
    sim.builder(|builder| builder.node(node))
}

#[test]
fn values_are_needed_of_the_jobs_of_served_queues_only() {
    let mut sim = of_queues(&["mail"]);
    sim.jobs().enqueue(engrave::job(7)).expect("it is stored");
    // Without its value it is not run here, whatever queue it waits in.
    sim.jobs().enqueue(engrave::job(8).queue("mail")).expect("it is stored");
    sim.advance(hours(1));
    assert_eq!(sim.starts("engrave"), []);
    let jobs = sim.jobs().list(&JobFilter::default(), 10).expect("it answers");
    assert_eq!(jobs.len(), 3, "a tick of `polish` has fired");
    assert!(jobs.iter().all(|job| job.state == JobState::Ready), "{jobs:?}");
    let fault = std::panic::catch_unwind(|| of_queues(&["mail", "metal"]).advance(secs(1)));
    let fault = *fault.expect_err("a value is missing").downcast::<String>().expect("a text");
    assert!(fault.contains("wants `&annotations::web_and_worker::Engraver`"), "{fault}");
    assert!(fault.contains("note: managed so far: nothing"), "{fault}");
}

#[test]
fn a_switched_off_job_needs_no_values() {
    let sim = Sim::at(START).with_store().task(engrave).set("tasks.engrave.enabled", "false");
    sim.jobs().enqueue(engrave::job(7)).expect("it is stored");
}

#[test]
fn thirty_two_async_jobs_run_at_once_and_plain_ones_on_the_threads_beside_them() {
    let mut sim = Sim::at(START).with_store().tasks(tasks![wait_async, wait_plain]);
    sim.takes("wait-plain", minutes(1));
    for number in 0..50 {
        sim.jobs().enqueue(wait_async::job()).expect("it is stored");
        if number < 6 {
            sim.jobs().enqueue(wait_plain::job()).expect("it is stored");
        }
    }
    sim.advance(secs(30));
    assert_eq!((sim.starts("wait-async").len(), sim.starts("wait-plain").len()), (32, 4));
    sim.advance(minutes(3));
    assert_eq!((sim.starts("wait-async").len(), sim.starts("wait-plain").len()), (50, 6));
}

#[test]
fn a_given_concurrency_counts_async_and_plain_jobs_together() {
    let node = NodeOptions::default().concurrency(6);
    let sim = Sim::at(START).with_store().tasks(tasks![wait_async, wait_plain]);
    let mut sim = sim.builder(|builder| builder.node(node));
    sim.takes("wait-plain", minutes(1));
    for _ in 0..10 {
        sim.jobs().enqueue(wait_plain::job()).expect("it is stored");
    }
    for _ in 0..10 {
        sim.jobs().enqueue(wait_async::job()).expect("it is stored");
    }
    sim.advance(secs(30));
    assert_eq!((sim.starts("wait-async").len(), sim.starts("wait-plain").len()), (2, 4));
}
