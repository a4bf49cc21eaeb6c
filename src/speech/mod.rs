//! What the scheduler says by itself: the banner at the start, what goes wrong, how it stops.
//!
//! # What this room is for
//!
//! A Rust program without a log subscriber prints nothing at all, so the scheduler speaks for itself,
//! on stderr, one line at a time. Where the feature `tracing` or `log` is on and the program has
//! installed a subscriber, the words go there instead; a program that gives the builder a function has
//! them there. The [`Reporter`] listens to events and finds the words for them. [`Messages`] has them
//! printed by a thread of its own, in the order in which they were said.
//!
//! # What it must never do
//!
//! Decide anything, or fail: if stderr is closed, or the given function panics, the words are lost and
//! all goes on. Let a task, or a stop, wait for a [`Sink`]: that may be a pipe which is full, or code of
//! the program's. Let a text of a task forge a line: a [`Message`] escapes control characters. Flood: what
//! repeats itself is summed up once a minute, by task and kind (`limit`), and all tasks together have a
//! bound (`budget`).
//!
//! # How a neighbour uses it
//!
//! The runner gives the [`Banner`] and the words of the farewell to the messages; the reporter hangs on
//! the bus.

mod banner;
mod budget;
mod control;
mod failures;
mod farewell;
mod limit;
mod message;
mod messages;
mod reporter;
mod sink;
#[cfg(test)]
mod tests;
mod trouble;
mod warnings;
mod words;

pub(crate) use banner::Banner;
pub(crate) use banner::PoolWords;
pub(crate) use banner::ROWS_MAX;
pub(crate) use banner::TaskWords;
pub(crate) use farewell::CutOff;
pub(crate) use farewell::NotStopped;
pub(crate) use farewell::StillRunning;
pub(crate) use farewell::StillWaiting;
pub(crate) use farewell::Stopped;
pub(crate) use farewell::Stopping;
pub(crate) use farewell::dropped_too_early;
pub(crate) use farewell::unheard;
pub(crate) use message::Message;
pub(crate) use messages::Messages;
pub(crate) use reporter::Reporter;
pub(crate) use sink::Sink;
pub(crate) use warnings::no_tasks;
pub(crate) use warnings::panics_abort;
pub(crate) use warnings::run_by_others;
pub(crate) use words::duration;
pub(crate) use words::on_one_line;
