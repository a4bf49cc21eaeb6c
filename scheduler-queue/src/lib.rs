//! Decides *what is first*: items ordered by due time, then by sequence.
//!
//! Internal to [`scheduler-rs`](https://docs.rs/scheduler-rs/latest/scheduler/): any release may change anything here. You want
//! that crate, or `scheduler-core` for its thread pool.
//!
//! # What this crate is for
//!
//! A [`DelayQueue`] keeps items until they are due and hands them out in the exact order of
//! (due, sequence): by time, and first in, first out among equal times. Any item can be taken out
//! again by the [`Ticket`] it was given, without a search.
//!
//! There is one contract and there are two implementations: [`HeapQueue`], an indexed 4-ary heap, which
//! is simple enough to be obviously right, and [`WheelQueue`], which is faster where many items are
//! pending and has to agree with the heap in all that can be seen. Beside them, a [`Line`] takes what comes
//! in its order, and nothing else.
//!
//! ```
//! use scheduler_queue::{DelayQueue, Key, WheelQueue};
//!
//! let mut queue = WheelQueue::new(|_| ());
//! queue.push(Key { due: 20, sequence: 0 }, "later");
//! let ticket = queue.push(Key { due: 10, sequence: 1 }, "cancelled");
//! queue.push(Key { due: 10, sequence: 2 }, "first");
//! assert_eq!(queue.remove(ticket), Some("cancelled"));
//! assert_eq!(queue.pop(), Some((Key { due: 10, sequence: 2 }, "first")));
//! ```
//!
//! # What it must never do
//!
//! Know what an item is, what time it is, or that there are threads: it is single-threaded, reads no
//! clock and takes no lock.
//!
//! # Invariants
//!
//! A due time is an unsigned number of nanoseconds and is compared as a value, never as a difference:
//! the end of time is simply the greatest one. Equal (due, sequence) pairs do not occur among items
//! whose sequences are distinct. A ticket of an item that has left is never mistaken for another.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod delay_queue;
mod heap;
mod line;
#[cfg(test)]
mod tests;
mod wheel;

pub use delay_queue::{DelayQueue, Key, Ticket};
pub use heap::HeapQueue;
pub use line::Line;
pub use wheel::WheelQueue;
