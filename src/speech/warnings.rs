//! What is worth a warning before the first task runs.

use super::Message;

/// The warning for a build in which no panic can be caught; none in others.
pub(crate) fn panics_abort() -> Option<Message> {
    cfg!(panic = "abort").then(|| {
        Message::warn("this build aborts on panic: a panicking task will end the process")
            .note("help: remove `panic = \"abort\"` from the profile in Cargo.toml")
    })
}

/// The warning for a scheduler that has nothing to do.
pub(crate) fn no_tasks() -> Message {
    Message::warn("no scheduled tasks found")
        .note(
            "note: tasks in another crate are linked only if the crate is mentioned: \
             add `use jobs as _;` to main.rs",
        )
        .note("note: a file is compiled only if it is declared: is there a `mod jobs;`?")
        .note("help: annotate a function: #[scheduled(fixed_rate = \"1s\")] fn tick() {}")
}
