//! What the scheduler says by itself: the banner at the start, what goes wrong, how it stops.
//!
//! # What this room is for
//!
//! A Rust program without a log subscriber prints nothing at all, so the scheduler speaks for itself,
//! on stderr, one line at a time. Where the feature `tracing` or `log` is on and the program has
//! installed a subscriber, the words go there instead; and whoever gives the builder a function has
//! them there. The [`Reporter`] listens to events and finds the words for them.
//!
//! # What it must never do
//!
//! Decide anything, or fail: if stderr is closed, or the given function panics, the words are lost and
//! all goes on. Let a text of a task forge a line: a [`Message`] escapes control characters. Flood: what
//! repeats itself is summed up once a minute.
//!
//! # How a neighbour uses it
//!
//! The runner says the [`Banner`] and the words of the farewell; the reporter hangs on the bus.

mod banner;
mod control;
mod failures;
mod farewell;
mod limit;
mod message;
mod reporter;
#[cfg(test)]
mod tests;
mod trouble;
mod voice;
mod warnings;
mod words;

pub(crate) use banner::Banner;
pub(crate) use banner::PoolWords;
pub(crate) use banner::ROWS_MAX;
pub(crate) use banner::TaskWords;
pub(crate) use farewell::NotStopped;
pub(crate) use farewell::StillRunning;
pub(crate) use farewell::StillWaiting;
pub(crate) use farewell::Stopped;
pub(crate) use farewell::Stopping;
pub(crate) use farewell::dropped_too_early;
pub(crate) use farewell::unheard;
pub(crate) use message::Message;
pub(crate) use reporter::Reporter;
pub(crate) use voice::Voice;
pub(crate) use warnings::panics_abort;
pub(crate) use warnings::run_by_others;
pub(crate) use words::duration;
pub(crate) use words::on_one_line;
