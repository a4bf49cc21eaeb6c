//! The contract of a delay queue: keys, tickets, and what both implementations do.

/// The order of an item: its due time, then its sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// When the item is due, in nanoseconds.
    pub due: u64,
    /// What orders items that are due at the same time.
    pub sequence: u64,
}

/// The place of an item in its queue, valid until the item leaves it.
///
/// The highest bit is never set by a queue: an owner of two queues may use it to distinguish them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(pub(crate) u64);

impl Ticket {
    /// A ticket that no item ever has.
    pub const NONE: Self = Self(u64::MAX >> 1);

    /// The ticket of an item that is on its way into the queue, or stands in a line, where it is found by its key.
    pub const STAGED: Self = Self((u64::MAX >> 1) - 1);

    const MARK: u64 = 1 << 63;

    /// This ticket with the free bit set.
    pub fn marked(self) -> Self {
        Self(self.0 | Self::MARK)
    }

    /// This ticket without the free bit, and whether it was set.
    pub fn unmarked(self) -> (Self, bool) {
        (Self(self.0 & !Self::MARK), self.0 & Self::MARK != 0)
    }

    /// The ticket as a number.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// The ticket that [`to_bits`](Self::to_bits) made a number of.
    #[must_use]
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

/// The contract of a delay queue.
pub trait DelayQueue<T> {
    /// Puts an item in and returns the ticket to take it out again.
    fn push(&mut self, key: Key, item: T) -> Ticket;

    /// The key of the first item, due or not. A queue may reorder itself to find it.
    fn first(&mut self) -> Option<Key>;

    /// A key after the first one, if it is known without a search: no live item is between both. It may be
    /// the key of an item that has left, and it may be `None` although there are more items.
    fn second(&self) -> Option<Key>;

    /// Removes the first item, due or not.
    fn pop(&mut self) -> Option<(Key, T)>;

    /// Removes the item with this ticket, if it is still here.
    fn remove(&mut self, ticket: Ticket) -> Option<T>;

    /// The item with this ticket, if it is still here.
    fn find(&self, ticket: Ticket) -> Option<&T>;

    /// Removes all items for which `leaves` returns true, in no particular order.
    fn extract(&mut self, leaves: &mut dyn FnMut(Key, &T) -> bool) -> Vec<(Key, T)>;

    /// Calls `visit` for each item, in no particular order.
    fn for_each(&self, visit: &mut dyn FnMut(Key, &T));

    /// The number of items.
    fn len(&self) -> usize;

    /// Returns true if there is no item.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
