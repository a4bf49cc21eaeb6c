//! Commands that a person signs, and those of the program.

use std::error::Error;

use scheduler::store::{
    Action, ActionFilter, JobFilter, JobState, Signature, TargetKind, new_action,
};
use scheduler::testing::*;
use scheduler::{EventKind, NodeOptions, Pause, Schedule, job, scheduled};

type Checked = Result<(), Box<dyn Error>>;

#[job(name = "mail", alias = "letter")]
fn mail(#[payload] number: u32) {
    assert!(number > 0);
}

#[scheduled(cron = "0 0 * * * *", zone = "UTC", name = "hourly", durable)]
fn hourly() {}

fn sim() -> Sim {
    let list = scheduler::tasks![mail, hourly];
    let sim = Sim::at("2026-01-01T00:05:00Z").with_store().tasks(list);
    let node = NodeOptions::default().keep_actions(days(3));
    sim.builder(|builder| builder.node(node.label("web-1")))
}

/// The actions in the store, the earliest first: by whom, of what, why.
fn actions(sim: &Sim) -> Vec<String> {
    let actions = sim.jobs().actions(&ActionFilter::default(), 100).expect("it answers");
    let shown = |action: &Action| format!("{}: {action} [{}]", action.by, action.reason);
    actions.iter().rev().map(shown).collect()
}

/// The same, as listeners heard of it.
fn told(sim: &Sim) -> Vec<String> {
    let events = sim.events();
    let told = events.iter().filter_map(|event| match &event.kind {
        EventKind::Action { by, what, reason, .. } => {
            Some(format!("{by}: {what} [{}]", reason.as_deref().unwrap_or_default()))
        }
        _ => None,
    });
    told.collect()
}

#[test]
fn a_signed_command_is_kept_and_told_once_and_a_command_of_the_program_is_not() -> Checked {
    let mut sim = sim();
    sim.advance(secs(1));
    let jobs = sim.jobs();
    let anna = jobs.signed(&Signature::by("anna").reason("a test"));
    jobs.pause_task("mail", &Pause::new())?;
    jobs.resume_task("mail")?;
    jobs.pause_task("mail", &Pause::new().by("berta").reason("mail is down"))?;
    for number in 1..=2_500 {
        jobs.enqueue(mail::job(number))?;
    }
    let ready = JobFilter { state: Some(JobState::Ready), ..JobFilter::default() };
    assert_eq!(anna.cancel_all(&ready)?, 2_500, "in three transactions");
    assert_eq!(anna.cancel_all(&ready)?, 0);
    anna.resume_task("mail")?;
    let schedules = sim.schedules();
    let rule = Schedule::cron("0 30 * * * *").zone("UTC");
    schedules.signed(&Signature::by("anna")).reschedule("hourly", rule)?;
    schedules.reset("hourly")?;
    let none = "00000000-0000-0000-0000-000000000001".parse()?;
    assert!(anna.retry(none).is_err(), "there is no such job");
    sim.advance(secs(1));
    let expected = [
        "berta: pause of task `mail` [mail is down]",
        "anna: cancel of 2500 jobs: state ready [a test]",
        "anna: resume of task `mail` [a test]",
        "anna: reschedule of schedule `hourly` []",
    ];
    assert_eq!(actions(&sim), expected);
    assert_eq!(told(&sim), expected);
    let first = jobs.actions(&ActionFilter::default(), 1)?.remove(0);
    assert_eq!((&*first.node, first.task.as_deref()), ("web-1", Some("hourly")));
    let lines = sim.messages();
    let line = "INFO  scheduler: cancel of 2500 jobs: state ready, by anna: a test";
    assert_eq!(lines.iter().filter(|message| message.contains(line)).count(), 1, "{lines:?}");
    Ok(())
}

#[test]
fn commands_that_are_one_action_are_told_by_their_author() -> Checked {
    let mut sim = sim();
    sim.advance(secs(1));
    let jobs = sim.jobs();
    let ids: Vec<_> = (1..=3).map(|number| mail::job(number).after(hours(9))).collect();
    let together = Signature::by("anna").in_action(new_action(), "error timed out", None);
    let anna = jobs.signed(&together);
    for job in ids {
        let id = job.id();
        jobs.enqueue(job)?;
        anna.cancel(id)?;
    }
    assert_eq!(actions(&sim), ["anna: cancel of 3 jobs: error timed out []"]);
    assert_eq!(told(&sim), [""; 0]);
    let mut whole = Action::new(&together, "cancel", TargetKind::Jobs, "");
    whole.count = 5;
    sim.running_tasks().note_action(whole, 3);
    let expected = ["anna: cancel of 5 jobs: error timed out []"];
    assert_eq!(
        (actions(&sim), told(&sim)),
        (expected.map(str::to_owned).to_vec(), expected.map(str::to_owned).to_vec())
    );
    Ok(())
}

#[test]
fn a_node_deletes_actions_when_their_time_is_over() -> Checked {
    let mut sim = sim();
    sim.advance(secs(1));
    let anna = sim.jobs().signed(&Signature::by("anna"));
    anna.resume_queue("mail")?;
    sim.advance(days(2));
    anna.resume_queue("slow")?;
    sim.advance(hours(23));
    assert_eq!(actions(&sim).len(), 2);
    sim.advance(hours(2));
    assert_eq!(actions(&sim), ["anna: resume of queue `slow` []"]);
    sim.advance(days(3));
    assert_eq!(actions(&sim), [""; 0]);
    Ok(())
}
