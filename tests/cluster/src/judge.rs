//! Judges journals.

use std::collections::BTreeMap;

use crate::journal::Run;

/// The runs of a task by their tick.
#[must_use]
pub fn by_tick(runs: &[Run], task: &str) -> BTreeMap<i64, Vec<Run>> {
    let mut ticks = BTreeMap::<i64, Vec<Run>>::new();
    for run in runs.iter().filter(|run| run.task == task && run.tick != 0) {
        ticks.entry(run.tick).or_default().push(run.clone());
    }
    ticks
}

/// The whole second of a tick.
#[must_use]
pub fn second_of(tick: i64) -> i64 {
    tick.div_euclid(1_000_000)
}

/// Returns two runs that were in progress at the same time, if there are any. A run that never ended was in progress until
/// the next one with its job began.
#[must_use]
pub fn is_overlapping(runs: &[Run]) -> Option<(Run, Run)> {
    let mut runs: Vec<&Run> = runs.iter().filter(|run| run.end.is_some()).collect();
    runs.sort_by_key(|run| run.began);
    let found =
        runs.windows(2).find(|pair| pair[0].end.is_some_and(|(end, _)| end > pair[1].began));
    found.map(|pair| (pair[0].clone(), pair[1].clone()))
}
