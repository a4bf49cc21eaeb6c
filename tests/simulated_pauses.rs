//! Pauses of tasks, kinds of jobs and queues: one way for all of them.

use scheduler::store::{JobState, PauseScope};
use scheduler::testing::*;
use scheduler::{Pause, Run, Schedule, TaskState, job, scheduled};

#[job(name = "mail", alias = "letter")]
fn mail(#[payload] number: u32) {
    assert!(number > 0);
}

#[job(name = "slow", queue = "slow")]
async fn slow(run: Run) {
    run.sleep_async(minutes(1)).await;
}

#[scheduled(cron = "0 */10 * * * *", zone = "UTC", name = "nightly", durable)]
fn nightly() {}

#[scheduled(fixed_rate = "1m", name = "memory")]
fn memory() {}

fn sim() -> Sim {
    let list = scheduler::tasks![mail, slow, nightly, memory];
    Sim::at("2026-01-01T00:05:00Z").with_store().tasks(list)
}

fn runs(sim: &Sim, task: &str) -> usize {
    sim.starts(task).len()
}

/// The states of its jobs, the oldest first.
fn states(sim: &Sim, task: &str) -> Vec<JobState> {
    let jobs = sim.jobs().list(&scheduler::store::JobFilter::default(), 100).expect("it answers");
    jobs.iter().rev().filter(|job| job.task == task).map(|job| job.state).collect()
}

fn scopes(sim: &Sim) -> Vec<PauseScope> {
    let pauses = sim.jobs().pauses().expect("it answers");
    pauses.into_iter().map(|paused| paused.scope).collect()
}

#[test]
fn a_kind_of_job_is_paused_and_resumed_as_any_task() {
    let mut sim = sim();
    sim.advance(secs(1));
    let pause = Pause::new().by("ada").reason("the mail server is down");
    sim.control("mail").pause_with(&pause).expect("the store does it");
    sim.jobs().enqueue(mail::job(1)).expect("jobs are still accepted");
    sim.jobs().enqueue(slow::job()).expect("others are not paused");
    sim.advance(hours(1));
    assert_eq!(states(&sim, "mail"), [JobState::Ready]);
    assert_eq!(states(&sim, "slow"), [JobState::Done]);
    let pauses = sim.jobs().pauses().expect("it answers");
    let paused = &pauses[0].pause;
    assert_eq!((&*paused.by, &*paused.reason), ("ada", "the mail server is down"));
    sim.resume("mail");
    sim.advance(secs(5));
    assert_eq!(states(&sim, "mail"), [JobState::Done]);
    assert!(sim.control("mail").resume().expect_err("it is resumed").is_not_paused());
    assert_eq!(scopes(&sim), []);
}

/// Jobs that were enqueued under a former name are of the same kind.
#[test]
fn a_kind_is_paused_under_all_its_names() {
    let mut sim = sim();
    sim.advance(secs(1));
    sim.pause("mail");
    let [mail, letter] = ["mail", "letter"].map(|name| PauseScope::Task(name.to_owned()));
    assert_eq!(scopes(&sim), [letter, mail]);
    sim.resume("mail");
    assert_eq!(scopes(&sim), []);
}

#[test]
fn a_queue_is_paused_until_an_instant_and_what_runs_goes_on() {
    let mut sim = sim();
    sim.jobs().enqueue(slow::job()).expect("it is stored");
    sim.advance(secs(10));
    assert_eq!(states(&sim, "slow"), [JobState::Running]);
    let until = "2026-01-01T01:00:00Z".parse().expect("an instant");
    sim.jobs().pause_queue("slow", &Pause::new().until(until)).expect("it answers");
    sim.jobs().enqueue(slow::job()).expect("it is stored");
    sim.jobs().enqueue(mail::job(1)).expect("it is stored");
    sim.advance(minutes(30));
    assert_eq!(states(&sim, "slow"), [JobState::Done, JobState::Ready]);
    assert_eq!(states(&sim, "mail"), [JobState::Done], "another queue");
    sim.advance(minutes(30));
    assert_eq!(scopes(&sim), []);
    assert_eq!(states(&sim, "slow"), [JobState::Done, JobState::Done], "nobody has resumed it");
}

#[test]
fn a_durable_schedule_is_controlled_as_any_task() {
    let mut sim = sim();
    sim.advance(minutes(6));
    assert_eq!(runs(&sim, "nightly"), 1);
    sim.pause("nightly");
    sim.advance(minutes(30));
    assert_eq!(runs(&sim, "nightly"), 1);
    let schedule = &sim.schedules().list().expect("it answers")[0];
    assert!(schedule.pause.is_some());
    sim.resume("nightly");
    sim.advance(minutes(10));
    assert_eq!(runs(&sim, "nightly"), 2);
    let nightly = sim.control("nightly");
    nightly.reschedule(Schedule::cron("0 * * * * *").zone("UTC")).expect("the store does it");
    sim.advance(minutes(10));
    assert_eq!(runs(&sim, "nightly"), 12);
    let error = sim.control("mail").reschedule(Schedule::fixed_rate("1h")).expect_err("no rule");
    assert!(error.is_refused() && error.to_string().contains("a kind of job"), "{error}");
}

#[test]
fn all_tasks_are_paused_and_resumed_wherever_they_live() {
    let mut sim = sim();
    sim.advance(secs(1));
    sim.running_tasks().pause_all(&Pause::new().by("ops")).expect("the store answers");
    for job in [mail::job(1), slow::job()] {
        sim.jobs().enqueue(job).expect("it is stored");
    }
    sim.advance(hours(1));
    let all = |sim: &Sim| ["mail", "slow", "nightly", "memory"].map(|task| runs(sim, task));
    let before = all(&sim);
    assert_eq!((before[0], before[1], before[2]), (0, 0, 0));
    assert_eq!(sim.snapshot("memory").state, TaskState::Paused);
    sim.running_tasks().resume_all().expect("the store answers");
    sim.advance(minutes(11));
    let after = all(&sim);
    assert!(after.iter().zip(before).all(|(after, before)| *after > before), "{after:?}");
    assert_eq!(scopes(&sim), []);
}

/// Disabled tasks stay as they are: their jobs are for other processes.
#[test]
fn a_disabled_kind_is_not_paused_with_all_others() {
    let mut sim = sim().set("tasks.mail.enabled", "false");
    sim.advance(secs(1));
    assert!(sim.control("mail").pause().expect_err("it is disabled").is_disabled());
    sim.running_tasks().pause_all(&Pause::new()).expect("the store answers");
    assert_eq!(scopes(&sim), [PauseScope::Task("slow".to_owned())]);
}
