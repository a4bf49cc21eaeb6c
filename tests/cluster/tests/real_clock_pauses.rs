//! Kinds of jobs that are paused, in real processes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cluster::{Lab, Outcome, Process, boot_micros, eventually, pass, runs};
use scheduler_store::{Command, JobId, JobState, PauseScope};

use crate::NODE;
use crate::support::LIMIT;

const COUNT: usize = 1_000;

fn ids(lab: &Lab, state: JobState) -> BTreeSet<JobId> {
    let jobs = lab.jobs(state).into_iter().filter(|job| job.task == "work");
    jobs.map(|job| job.id).collect()
}

/// Four processes run 1,000 jobs of a kind beside another kind. No job of it is claimed any more once the pause is
/// committed: those that wait then are exactly those that run after it.
#[test]
fn d21_nothing_of_a_paused_kind_begins_until_it_is_resumed() {
    let Some(lab) = Lab::on_postgres(NODE) else { return };
    lab.enqueue("twice", r#"{"ms":20}"#, COUNT);
    let start = |label| lab.process(label).with("threads", 4).start();
    let all = ["a", "b", "c", "d"].map(start);
    let all: Vec<&Process> = all.iter().collect();
    let of =
        |task: &str| -> Vec<_> { runs(&all).into_iter().filter(|run| run.task == task).collect() };
    let scope = PauseScope::Task("work".to_owned());
    let mut count = 0;
    let (paused_at, waiting) = eventually(LIMIT, "it is paused while jobs wait", || {
        lab.command(&Command::ResumeJobs { scope: scope.clone() });
        lab.enqueue("work", r#"{"ms":20}"#, COUNT);
        count += COUNT;
        eventually(LIMIT, "a part of the jobs is done", || {
            (of("work").len() >= count - COUNT + 100).then_some(())
        });
        let (by, reason) = ("ada".to_owned(), "the mail server is down".to_owned());
        lab.command(&Command::PauseJobs { scope: scope.clone(), until: None, by, reason });
        Some((boot_micros(), ids(&lab, JobState::Ready))).filter(|(_, ids)| !ids.is_empty())
    });
    lab.enqueue("twice", r#"{"ms":20}"#, COUNT);

    eventually(LIMIT, "what ran has ended", || {
        ids(&lab, JobState::Running).is_empty().then_some(())
    });
    let left = ids(&lab, JobState::Ready);
    assert!(left.is_superset(&waiting), "{} of {} jobs are left", left.len(), waiting.len());
    lab.await_task_ended("twice", LIMIT);
    assert_eq!(of("twice").len(), 2 * COUNT, "another kind goes on");
    pass(Duration::from_secs(2));
    assert_eq!(ids(&lab, JobState::Ready), left);
    let begun: BTreeSet<String> = of("work").into_iter().map(|run| run.job).collect();
    assert!(waiting.iter().all(|id| !begun.contains(&id.to_string())));
    assert_eq!(begun.len() + left.len(), count, "given back or run");
    let ahead = of("work").iter().filter(|run| run.began > paused_at).count();
    println!(
        "{} waited, {} given back, {ahead} claimed before began after",
        waiting.len(),
        left.len() - waiting.len()
    );

    lab.command(&Command::ResumeJobs { scope });
    lab.await_all_ended(LIMIT);
    let mut by_job = BTreeMap::<String, usize>::new();
    for run in of("work") {
        assert!(matches!(run.end, Some((_, Outcome::Done))), "{run:?}");
        *by_job.entry(run.job).or_default() += 1;
    }
    assert_eq!(by_job.len(), count, "all of it runs after the resume");
    assert!(by_job.values().all(|runs| *runs == 1), "none runs twice");
}
