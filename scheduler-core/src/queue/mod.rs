//! Decides *what is first*: items ordered by due time, then by sequence.
//!
//! # What this room is for
//!
//! A `DelayQueue` keeps items until they are due and hands them out in the exact order of
//! (due, sequence): by time, and first in, first out among equal times. Any item can be taken out
//! again by the `Ticket` it was given, without a search.
//!
//! There is one contract and there are two implementations: `HeapQueue`, an indexed 4-ary heap, which
//! is simple enough to be obviously right, and `WheelQueue`, which is faster where many items are
//! pending and has to agree with the heap in all that can be seen. Beside them, a `Line` takes what comes in
//! its order, and nothing else.
//!
//! # What it must never do
//!
//! Know what an item is, what time it is, or that there are threads: it is single-threaded, reads no
//! clock and takes no lock. Its type parameter makes that ignorance checkable.
//!
//! # Invariants
//!
//! A due time is an unsigned number of nanoseconds and is compared as a value, never as a difference:
//! the end of time is simply the greatest one. Equal (due, sequence) pairs do not occur among items
//! whose sequences are distinct. A ticket of an item that has left is never mistaken for another.

mod heap;
mod line;
#[cfg(feature = "bench")]
pub mod probe;
mod rope;
#[cfg(test)]
mod tests;
mod wheel;

pub(crate) use heap::HeapQueue;
pub(crate) use line::Line;
pub(crate) use wheel::WheelQueue;

/// The order of an item: its due time, then its sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) due: u64,
    pub(crate) sequence: u64,
}

/// Where an item stands in the queue; good until the item leaves it.
///
/// The highest bit is never set by a queue: it is free for an owner of two queues to tell them apart. The
/// next one is set by a line only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

impl Ticket {
    /// A ticket that no item ever has.
    pub(crate) const NONE: Self = Self(u64::MAX);

    /// The ticket of an item that is on its way into the queue, or stands in line there.
    pub(crate) const STAGED: Self = Self(u64::MAX - 1);

    const MARK: u64 = 1 << 63;

    const LINE: u64 = 1 << 62;

    /// The ticket of an item that stands in line, by the number of its place.
    pub(crate) fn in_line(number: u64) -> Self {
        Self(number & (Self::LINE - 1) | Self::LINE)
    }

    /// The number of the item's place, if this is a ticket of a line.
    pub(crate) fn number_in_line(self) -> Option<u64> {
        (self.0 >> 62 == 1).then_some(self.0 & (Self::LINE - 1))
    }

    /// This ticket with the free bit set.
    pub(crate) fn marked(self) -> Self {
        Self(self.0 | Self::MARK)
    }

    /// This ticket without the free bit, and whether it was set.
    pub(crate) fn unmarked(self) -> (Self, bool) {
        (Self(self.0 & !Self::MARK), self.0 & Self::MARK != 0)
    }

    pub(crate) fn to_bits(self) -> u64 {
        self.0
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

/// The contract of a delay queue.
pub(crate) trait DelayQueue<T> {
    /// Puts an item in and returns the ticket to take it out again.
    fn push(&mut self, key: Key, item: T) -> Ticket;

    /// The key of the first item, due or not. A queue may put itself in order to find it.
    fn first(&mut self) -> Option<Key>;

    /// A key after the first one, as far as it is at hand: no live item is between both. It may be that of
    /// an item that has left, and there may be none though there are more items.
    fn second(&self) -> Option<Key>;

    /// Takes the first item out, due or not.
    fn pop(&mut self) -> Option<(Key, T)>;

    /// Takes out the item with this ticket, if it is still here.
    fn remove(&mut self, ticket: Ticket) -> Option<T>;

    /// The item with this ticket, if it is still here.
    fn find(&self, ticket: Ticket) -> Option<&T>;

    /// Takes out all items for which `leaves` holds, in no particular order.
    fn extract(&mut self, leaves: &mut dyn FnMut(Key, &T) -> bool) -> Vec<(Key, T)>;

    /// Calls `visit` for each item, in no particular order.
    fn for_each(&self, visit: &mut dyn FnMut(Key, &T));

    /// How many items there are.
    fn len(&self) -> usize;
}
