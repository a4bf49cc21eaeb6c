//! Warnings before the first task runs.

use super::Message;
use crate::observe::{on_one_line, plural};

/// The most names in a warning.
const NAMES_MAX: usize = 5;

/// The warning for a build in which no panic can be caught.
pub(crate) fn panics_abort() -> Option<Message> {
    cfg!(panic = "abort").then(|| {
        Message::warn("this build aborts on panic: a panicking task will end the process")
            .note("help: remove `panic = \"abort\"` from the profile in Cargo.toml")
    })
}

/// The warning for annotated tasks that another scheduler of the process runs, too.
pub(crate) fn tasks_shared_with_other_schedulers(tasks: &[&str]) -> Message {
    let names: Vec<String> = tasks.iter().map(|name| format!("`{}`", on_one_line(name))).collect();
    let more = names.len().saturating_sub(NAMES_MAX);
    let (names, more) = match more {
        0 => (names.join(", "), String::new()),
        more => (names[..NAMES_MAX].join(", "), format!(", and {more} more")),
    };
    let count = plural(tasks.len() as u64, "annotated task");
    Message::warn(format!(
        "another scheduler of this process runs the same {count}, so that each runs more than once: {names}{more}"
    ))
    .note("help: Scheduler::builder().tasks(tasks![…]) names the annotated tasks of a scheduler; tasks![] is none")
}

/// The warning for a scheduler without tasks.
pub(crate) fn no_tasks() -> Message {
    Message::warn("no scheduled tasks found")
        .note(
            "note: tasks in another crate are linked only if the crate is mentioned: \
             add `use jobs as _;` to main.rs",
        )
        .note("note: a file is compiled only if it is declared: is there a `mod jobs;`?")
        .note("help: annotate a function: #[scheduled(fixed_rate = \"1s\")] fn tick() {}")
}
