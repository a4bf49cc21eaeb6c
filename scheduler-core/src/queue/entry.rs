//! Entries of the queue and their keys.

/// The place of an entry in the order: its due time, then its number in the order of submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// When the entry is due, in nanoseconds; `u64::MAX` is never reached.
    pub due: u64,
    /// The number of the entry, unique among those that wait.
    pub sequence: u64,
}

/// An item in the queue.
#[derive(Debug)]
pub struct Entry<T> {
    /// Its place.
    pub key: Key,
    /// The item.
    pub item: T,
}

/// An entry that is compared by its key alone.
#[derive(Debug)]
pub(crate) struct ByKey<T>(pub(crate) Entry<T>);

impl<T> PartialEq for ByKey<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0.key == other.0.key
    }
}

impl<T> Eq for ByKey<T> {}

impl<T> PartialOrd for ByKey<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for ByKey<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.key.cmp(&other.0.key)
    }
}

/// The end of time: nothing that is due then is ever taken.
pub const NEVER: u64 = u64::MAX;
