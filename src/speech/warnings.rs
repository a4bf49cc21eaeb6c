//! What is worth a warning before the first task runs.

use super::Message;

/// The warning for a build in which no panic can be caught; none in others.
pub(crate) fn panics_abort() -> Option<Message> {
    cfg!(panic = "abort").then(|| {
        Message::warn("this build aborts on panic: a panicking task will end the process")
            .note("help: remove `panic = \"abort\"` from the profile in Cargo.toml")
    })
}
