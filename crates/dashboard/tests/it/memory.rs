//! The memory of the listener.

use std::sync::Arc;

use scheduler::testing::sample_events;
use scheduler::{Event, EventKind, Listener, TaskFacts};
use scheduler_dashboard::Dashboard;

/// The memory of this process, in bytes. `None` where that cannot be known.
fn resident() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(text.split(' ').nth(1)?.parse::<usize>().ok()? * 4_096)
}

fn sample(kind: &str) -> Event {
    let samples = sample_events();
    samples.into_iter().find(|event| event.kind.name() == kind).expect("one of each kind")
}

fn of_task(event: &Event, task: &Arc<TaskFacts>, number: u64) -> Event {
    let mut event = event.clone();
    event.task = Some(Arc::clone(task));
    match &mut event.kind {
        EventKind::RunStarted { run, .. }
        | EventKind::AttemptFailed { run, .. }
        | EventKind::RunFinished { run, .. } => run.number = number,
        _ => {}
    }
    event
}

/// Other tests of the process need memory, too: the best of some attempts counts.
#[test]
fn a_thousand_tasks_with_a_hundred_runs_take_less_than_16_mib() {
    const LIMIT: usize = 16 << 20;
    let [started, failed, finished] = ["run_started", "attempt_failed", "run_finished"].map(sample);
    let mut best = usize::MAX;
    for _ in 0..5 {
        let Some(before) = resident() else { return };
        let dashboard = Dashboard::new();
        let listener = dashboard.listener();
        for number in 0..1_000 {
            let mut facts = TaskFacts::clone(finished.task.as_ref().expect("a task"));
            facts.name = format!("shop::jobs::task_{number}").into();
            let facts = Arc::new(facts);
            for run in 1..=120 {
                for event in [&started, &failed, &finished] {
                    listener.on_event(&of_task(event, &facts, run));
                }
            }
        }
        let grown = resident().map_or(0, |after| after.saturating_sub(before));
        println!("{} KiB", grown >> 10);
        best = best.min(grown);
        if best > 0 && best < LIMIT {
            return;
        }
        drop(listener);
    }
    assert!(best < LIMIT, "{best} bytes");
}
