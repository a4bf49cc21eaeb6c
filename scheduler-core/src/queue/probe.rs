//! The queues as benchmarks and fuzzers see them: both behind one face, with numbers for items.

use super::DelayQueue;
use super::HeapQueue;
use super::Key;
use super::Ticket;
use super::WheelQueue;

/// A delay queue of either kind.
#[derive(Debug)]
pub struct Probe<T>(Kind<T>);

#[derive(Debug)]
enum Kind<T> {
    Heap(HeapQueue<T>),
    Wheel(Box<WheelQueue<T>>),
}

/// Calls the same method of either kind.
macro_rules! either {
    ($probe:expr, $queue:ident => $call:expr) => {
        match $probe {
            Kind::Heap($queue) => $call,
            Kind::Wheel($queue) => $call,
        }
    };
}

impl<T> Probe<T> {
    /// The indexed heap.
    #[must_use]
    pub fn heap() -> Self {
        Self(Kind::Heap(HeapQueue::new()))
    }

    /// The exact wheel.
    #[must_use]
    pub fn wheel() -> Self {
        Self(Kind::Wheel(Box::new(WheelQueue::new(|_| ()))))
    }

    /// Puts an item in and returns its ticket.
    #[inline]
    pub fn push(&mut self, due: u64, sequence: u64, item: T) -> u64 {
        let key = Key { due, sequence };
        either!(&mut self.0, queue => queue.push(key, item)).to_bits()
    }

    /// The due time and the sequence of the first item.
    #[inline]
    pub fn first(&mut self) -> Option<(u64, u64)> {
        either!(&mut self.0, queue => queue.first()).map(|key| (key.due, key.sequence))
    }

    /// Takes the first item out.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, u64, T)> {
        let (key, item) = either!(&mut self.0, queue => queue.pop())?;
        Some((key.due, key.sequence, item))
    }

    /// Takes out the item with this ticket.
    #[inline]
    pub fn remove(&mut self, ticket: u64) -> Option<T> {
        either!(&mut self.0, queue => queue.remove(Ticket::from_bits(ticket)))
    }

    /// The item with this ticket.
    #[inline]
    pub fn find(&self, ticket: u64) -> Option<&T> {
        either!(&self.0, queue => queue.find(Ticket::from_bits(ticket)))
    }

    /// Takes out all items for which `leaves` holds, sorted by due time and sequence.
    pub fn extract(&mut self, mut leaves: impl FnMut(u64, &T) -> bool) -> Vec<(u64, u64, T)> {
        let mut leaves = |key: Key, item: &T| leaves(key.due, item);
        let mut out = either!(&mut self.0, queue => queue.extract(&mut leaves));
        out.sort_by_key(|(key, _)| *key);
        out.into_iter().map(|(key, item)| (key.due, key.sequence, item)).collect()
    }

    /// The due times and sequences of all items, sorted.
    #[must_use]
    pub fn keys(&self) -> Vec<(u64, u64)> {
        let mut keys = Vec::new();
        let mut note = |key: Key, _: &T| keys.push((key.due, key.sequence));
        either!(&self.0, queue => queue.for_each(&mut note));
        keys.sort_unstable();
        keys
    }

    /// How many items there are.
    #[must_use]
    pub fn len(&self) -> usize {
        either!(&self.0, queue => queue.len())
    }

    /// Whether there is no item.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
