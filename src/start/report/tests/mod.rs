//! The messages of the reporter for each event.
//!
//! `outcomes` is about the ends of runs, `events` about all other events, `hostile_names` about names that imitate other
//! text, `printing` about the way to the sink. `console` is a reporter that knows one task.

mod console;
mod events;
mod hostile_names;
mod outcomes;
mod printing;
