//! Controls a running scheduler: run now, pause, resume, reschedule, add, cancel.
//!
//! ```sh
//! cargo run -p examples --example control
//! ```
//!
//! Look at the states of the tasks after each step. `examples/beside_axum.rs` does it over HTTP.

use std::time::Duration;

use scheduler::{Pause, Schedule, Scheduler, Tasks, Until, scheduled};

const PATIENCE: Duration = Duration::from_secs(60);

#[scheduled(fixed_rate = "1h", initial_delay = "1h")]
fn import() {
    println!("  import: working");
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scheduler = Scheduler::builder().spawn()?;
    let tasks = scheduler.tasks();
    show(&tasks, "at the start");

    let import = tasks.get("import")?;
    import.run_now()?;
    import.wait_for(Until::runs(1), PATIENCE)?;
    show(&tasks, "after `run_now`, which does not move the schedule");

    import.pause_with(&Pause::new().reason("migration"))?;
    show(&tasks, "paused");
    import.resume()?;

    import.reschedule(Schedule::fixed_rate("200ms"))?;
    import.wait_for(Until::runs(3), PATIENCE)?;
    import.cancel()?;
    show(&tasks, "rescheduled, run twice more, and cancelled");
    if let Err(error) = import.run_now() {
        println!("{error}");
    }

    let export = tasks.add("export", Schedule::once("10ms"), |_| println!("  export: working"))?;
    export.wait_for(Until::runs(1), PATIENCE)?;
    show(&tasks, "with a task that was added");
    scheduler.shutdown()?;
    Ok(())
}

fn show(tasks: &Tasks, when: &str) {
    println!("{when}:");
    for task in tasks.list() {
        let (name, rule, state) = (task.name(), &task.facts.rule, task.state.name());
        let next = task.next.map_or("never".to_owned(), |next| next.format("%H:%M:%S").to_string());
        println!("  {name}: {rule}; {state}; runs: {}; next: {next}", task.counters.runs);
    }
}
