//! Former names of jobs that are those of other jobs.

use std::error::Error;

use scheduler::store::Model;
use scheduler::{Scheduler, TaskList, job, tasks};

#[job(name = "sweep")]
fn sweep() {}

#[job(name = "renamed", alias = ["sweep", "before"])]
fn renamed() {}

#[job(name = "renamed-too", alias = "before")]
fn renamed_too() {}

#[test]
fn a_former_name_that_another_job_has_is_refused() -> Result<(), Box<dyn Error>> {
    let start = |list: TaskList, enabled: &str| {
        let builder = Scheduler::builder().environment([("PATH", "")]).messages(|_| {});
        let builder = builder.set("tasks.sweep.enabled", enabled).store(Model::new());
        builder.tasks(list).spawn()
    };
    let text = start(tasks![sweep, renamed, renamed_too], "true").expect_err("a fault").to_string();
    for part in
        ["the alias `sweep` of `renamed` is a name of `sweep` (", "`before` of `renamed-too` is a"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    start(tasks![sweep, renamed], "false")?.shutdown()?;
    Ok(())
}
