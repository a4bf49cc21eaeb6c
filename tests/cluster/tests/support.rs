//! Questions of several files to processes and stores.

use std::collections::BTreeSet;
use std::time::Duration;

use cluster::{Lab, Process, Run, by_tick, eventually, runs, second_of};
use scheduler_store::{Command, JobState, StoredSchedule};

/// Generous: the machine may be slow.
pub(crate) const LIMIT: Duration = Duration::from_secs(300);

pub(crate) fn each_second(name: &str, more: &str) -> String {
    format!("name={name};cron=* * * * * *{more}")
}

pub(crate) fn await_runs(processes: &[&Process], count: usize) {
    let what = format!("{count} runs");
    eventually(LIMIT, &what, || (runs(processes).len() >= count).then_some(()));
}

pub(crate) fn await_opened(process: &Process, count: usize) {
    eventually(LIMIT, "the process has opened a session", || {
        (process.notes("session_opened").len() >= count).then_some(())
    });
}

/// Waits until the process has had so many more jobs accepted.
pub(crate) fn await_accepted(process: &Process, more: usize) {
    let before = process.notes("accepted").len();
    eventually(LIMIT, "jobs are accepted", || {
        (process.notes("accepted").len() >= before + more).then_some(())
    });
}

/// A schedule, once it is registered.
pub(crate) fn schedule(lab: &Lab, name: &str) -> StoredSchedule {
    let store = lab.open();
    eventually(LIMIT, &format!("{name} is registered"), || {
        let schedules = store.schedules().expect("the store answers");
        schedules.into_iter().find(|each| each.definition.name == name)
    })
}

/// No more ticks of a schedule fire, and its jobs have ended. Returns it as it stays.
pub(crate) fn stopped(lab: &Lab, name: &str) -> StoredSchedule {
    let (schedule_name, by) = (name.to_owned(), "the test".to_owned());
    let pause =
        Command::Pause { schedule: schedule_name, until: None, by, reason: "the end".to_owned() };
    lab.command(&pause);
    lab.await_task_ended(name, LIMIT);
    schedule(lab, name)
}

/// Asserts that each second between two states of a schedule has fired, waits or was skipped, once.
pub(crate) fn assert_each_second_decided(before: &StoredSchedule, after: &StoredSchedule) {
    let decided = |schedule: &StoredSchedule| {
        schedule.fired + schedule.skips.total() + u64::from(schedule.waiting.is_some())
    };
    let cursor = |schedule: &StoredSchedule| second_of(schedule.cursor.as_micros());
    let seconds = u64::try_from(cursor(after) - cursor(before)).expect("a cursor never goes back");
    assert_eq!(decided(after) - decided(before), seconds, "from {before:?}\nto {after:?}");
}

/// Ends a schedule, and asserts that each second since it had this state was decided once, and that each tick which fired, in its whole
/// life, has one run in the processes.
pub(crate) fn assert_each_second_once(lab: &Lab, before: &StoredSchedule, all: &[&Process]) {
    let name = &before.definition.name;
    let after = stopped(lab, name);
    assert_each_second_decided(before, &after);
    let ticks = by_tick(&runs(all), name);
    assert_eq!(ticks.len() as u64, after.fired, "{ticks:?}\n{after:?}");
    for (tick, runs) in &ticks {
        assert_eq!(runs.len(), 1, "tick {tick} of {name}: {runs:?}");
    }
}

/// Asserts that no tick of a task became two jobs. A job that was lost may run again, with a greater fence.
pub(crate) fn assert_one_job_each_tick(runs: &[Run], task: &str) {
    for (tick, runs) in by_tick(runs, task) {
        let jobs: BTreeSet<&str> = runs.iter().map(|run| &*run.job).collect();
        assert_eq!(jobs.len(), 1, "tick {tick} of {task} became {jobs:?}");
        let fences: BTreeSet<u64> = runs.iter().map(|run| run.fence).collect();
        assert_eq!(fences.len(), runs.len(), "fences grow: {runs:?}");
    }
}

/// Tries a lease, and a longer one after each loss: a slow moment of the machine can be longer than any. The round returns true if no
/// session was lost.
pub(crate) fn assert_lease_is_kept(leases_in_millis: [u64; 3], round: impl FnMut(u64) -> bool) {
    let is_kept = leases_in_millis.into_iter().any(round);
    assert!(is_kept, "a session was lost with each of {leases_in_millis:?}");
}

/// Kills the processes, and asserts that another one runs what is left of the jobs that they had accepted.
pub(crate) fn assert_accepted_have_run(lab: &Lab, processes: &mut [Process]) {
    processes.iter_mut().for_each(Process::kill);
    let accepted: BTreeSet<String> =
        processes.iter().flat_map(|process| process.notes("accepted")).map(|(_, id)| id).collect();
    let mut last = lab.process("last").start();
    await_opened(&last, 1);
    // The tick of a killed process waits for one that knows its schedule.
    lab.await_task_ended("work", LIMIT);
    assert!(last.stop(LIMIT).success());
    let stored: BTreeSet<String> =
        lab.jobs(JobState::Done).iter().map(|job| job.id.to_string()).collect();
    assert!(accepted.is_subset(&stored), "{:?}", accepted.difference(&stored).collect::<Vec<_>>());
}
