//! Pauses of tasks, kinds of jobs and queues: one way for all of them.

use scheduler::store::{JobState, PauseScope};
use scheduler::testing::*;
use scheduler::{EventKind, Pause, Run, Schedule, TaskSnapshot, TaskState, job, scheduled};

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
    assert_eq!(states(&sim, "slow"), [JobState::Done, JobState::Done], "it is not resumed by hand");
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

fn cluster() -> Cluster {
    Sim::cluster("2026-01-01T00:05:00Z", 2, |sim| {
        sim.tasks(scheduler::tasks![mail, slow, nightly, memory])
    })
}

/// By whom, why and until when a task is paused, as its snapshot has it; `None` if it is not paused.
fn paused(task: &TaskSnapshot) -> Option<(String, String, String)> {
    assert_eq!(task.is_paused, task.state == TaskState::Paused);
    assert_eq!(task.is_paused, task.paused_since.is_some());
    let text = |text: &Option<std::sync::Arc<str>>| text.as_deref().unwrap_or_default().to_owned();
    let until = task.paused_until.map(|until| until.to_rfc3339()).unwrap_or_default();
    task.is_paused.then(|| (text(&task.paused_by), text(&task.pause_reason), until))
}

/// The pauses and resumptions of a task that listeners of a process have heard.
fn heard(sim: &Sim, task: &str) -> Vec<String> {
    let text = |event: scheduler::Event| match &event.kind {
        EventKind::Paused { by, .. } if event.task_name() == Some(task) => {
            Some(format!("paused by {}", by.as_deref().unwrap_or_default()))
        }
        EventKind::Resumed { .. } if event.task_name() == Some(task) => Some("resumed".to_owned()),
        _ => None,
    };
    sim.events().into_iter().filter_map(text).collect()
}

fn by_ada() -> Pause {
    Pause::new().by("ada").reason("the mail server is down")
}

#[test]
fn a_paused_kind_is_shown_by_all_processes_whichever_pauses_and_resumes_it() {
    let mut cluster = cluster();
    cluster.advance(secs(1));
    let until = "2026-01-01T09:00:00Z".parse().expect("an instant");
    let pause = by_ada().until(until);
    cluster[0].control("mail").pause_with(&pause).expect("the store does it");
    let shown = Some(("ada".into(), "the mail server is down".into(), until.to_rfc3339()));
    assert_eq!(paused(&cluster[0].snapshot("mail")), shown, "here at once");
    cluster.advance(secs(2));
    for process in [0, 1] {
        assert_eq!(paused(&cluster[process].snapshot("mail")), shown, "process {process}");
        let list = cluster[process].running_tasks().list();
        let names: Vec<&str> =
            list.iter().filter(|it| it.is_paused).map(TaskSnapshot::name).collect();
        assert_eq!(names, ["mail"], "process {process}");
        let line = "task `mail`: paused by ada until Thu 2026-01-01 09:00:00 +00:00: the mail server is down";
        let messages = cluster[process].messages();
        assert!(messages.iter().any(|it| it.contains(line)), "process {process}: {messages:#?}");
    }
    cluster[1].control("mail").pause_with(&Pause::new().by("bob")).expect("the store does it");
    cluster.advance(secs(2));
    let shown = Some(("bob".into(), String::new(), String::new()));
    assert_eq!(paused(&cluster[0].snapshot("mail")), shown, "another pause");
    cluster[1].control("mail").resume().expect("the store does it");
    assert_eq!(paused(&cluster[1].snapshot("mail")), None, "here at once");
    cluster.advance(secs(2));
    for process in [0, 1] {
        assert_eq!(paused(&cluster[process].snapshot("mail")), None, "process {process}");
        let heard = heard(&cluster[process], "mail");
        assert_eq!(heard, ["paused by ada", "paused by bob", "resumed"], "process {process}");
    }
}

#[test]
fn a_kind_that_was_paused_before_the_start_is_shown_until_the_pause_ends() {
    let mut cluster = cluster();
    cluster.advance(secs(1));
    let until = "2026-01-01T02:00:00Z".parse().expect("an instant");
    // Under a former name.
    cluster.jobs().pause_task("letter", &by_ada().until(until)).expect("the store does it");
    cluster.restart(1);
    cluster.advance(secs(5));
    for process in [0, 1] {
        assert!(paused(&cluster[process].snapshot("mail")).is_some(), "process {process}");
    }
    cluster.advance_to("2026-01-01T01:59:59Z");
    assert!(cluster[1].snapshot("mail").is_paused);
    cluster.advance(secs(3));
    for process in [0, 1] {
        assert_eq!(paused(&cluster[process].snapshot("mail")), None, "process {process}");
        assert_eq!(heard(&cluster[process], "mail"), ["paused by ada", "resumed"]);
    }
}

#[test]
fn a_paused_durable_schedule_is_shown_by_all_processes_within_a_minute() {
    let mut cluster = cluster();
    cluster.advance(secs(1));
    cluster[0].control("nightly").pause_with(&by_ada()).expect("the store does it");
    let shown = Some(("ada".into(), "the mail server is down".into(), String::new()));
    assert_eq!(paused(&cluster[0].snapshot("nightly")), shown, "here at once");
    // A simulated process that has nothing to do skips time.
    for _ in 0..6 {
        cluster.jobs().enqueue(mail::job(1)).expect("it is stored");
        cluster.advance(secs(20));
    }
    assert_eq!(paused(&cluster[1].snapshot("nightly")), shown);
    cluster.restart(0);
    cluster.advance(secs(5));
    assert_eq!(paused(&cluster[0].snapshot("nightly")), shown, "after a restart");
    cluster[1].control("nightly").resume().expect("the store does it");
    assert_eq!(paused(&cluster[1].snapshot("nightly")), None, "here at once");
    assert!(cluster[0].snapshot("nightly").is_paused, "it has not heard of it");
    cluster[0].schedules().list().expect("it answers");
    assert_eq!(paused(&cluster[0].snapshot("nightly")), None, "it has asked");
    assert_eq!(heard(&cluster[1], "nightly"), ["paused by ada", "resumed"]);
    assert_eq!(heard(&cluster[0], "nightly"), ["paused by ada", "resumed"]);
}
