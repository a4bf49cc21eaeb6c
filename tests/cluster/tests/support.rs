//! Questions of several files to processes and stores.

use std::collections::BTreeSet;
use std::time::Duration;

use cluster::{Lab, Process, Run, by_tick, eventually, runs, second_of};
use scheduler_store::JobState;

/// Generous: the machine may be slow.
pub(crate) const LIMIT: Duration = Duration::from_secs(90);

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

/// Asserts that each tick has one run, and that none of the seconds between the first and the last is missing. A tick that
/// no process could fire in time was skipped, and the store has counted it.
pub(crate) fn assert_each_second_once(runs: &[Run], task: &str, skipped: u64) {
    let ticks = by_tick(runs, task);
    for (tick, runs) in &ticks {
        assert_eq!(runs.len(), 1, "tick {tick} of {task}: {runs:?}");
    }
    let seconds: Vec<i64> = ticks.keys().map(|tick| second_of(*tick)).collect();
    let (first, last) = (seconds[0], seconds[seconds.len() - 1]);
    let expected = u64::try_from(last - first + 1).expect("ticks are sorted");
    // One after the last run may have been skipped by now.
    assert!(expected <= seconds.len() as u64 + skipped, "{task}: {seconds:?}, skipped {skipped}");
}

pub(crate) fn skipped(lab: &Lab, name: &str) -> u64 {
    let schedules = lab.open().schedules().expect("the store answers");
    let schedule = schedules.iter().find(|each| each.definition.name == name);
    schedule.expect("it is registered").skips.total()
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
