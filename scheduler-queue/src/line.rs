//! A queue for items that come in their order.
//!
//! What is due when it is pushed comes, as a rule, after all that was pushed before. It needs no search for
//! its place, and its key is its ticket. An item that would
//! come before the last one is refused, and so is any item while many places in the middle are empty: another
//! queue has to take it.

use crate::chunked::ChunkedDeque;
use crate::delay_queue::Key;

/// The greatest number of empty places: a place is kept until all items before it have left.
const LEFT_MAX: usize = 4096;

/// Items in the order of their keys.
#[derive(Debug)]
pub struct Line<T> {
    /// INVARIANT: the keys grow, and the first place holds an item.
    places: ChunkedDeque<(Key, Option<T>)>,
    len: usize,
    /// The greatest key of those in line.
    last: Key,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        let last = Key { due: 0, sequence: 0 };
        Self { places: ChunkedDeque::new(), len: 0, last }
    }
}

impl<T> Line<T> {
    /// Creates an empty line.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there is no item.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether the line can take an item with this key.
    #[inline]
    #[must_use]
    pub fn admits(&self, key: Key) -> bool {
        let is_in_order = self.len == 0 || self.last < key;
        is_in_order && self.places.len() - self.len < LEFT_MAX
    }

    /// Adds an item that was [admitted](Self::admits).
    #[inline]
    pub fn push(&mut self, key: Key, item: T) {
        self.last = key;
        self.len += 1;
        self.places.push_back((key, Some(item)));
    }

    #[inline]
    /// The key of the first item.
    #[must_use]
    pub fn first(&self) -> Option<Key> {
        self.places.front().map(|(key, _)| *key)
    }

    /// The key of the item after the first.
    #[must_use]
    pub fn second(&self) -> Option<Key> {
        self.places.iter().filter(|(_, item)| item.is_some()).nth(1).map(|(key, _)| *key)
    }

    #[inline]
    /// Removes the first item.
    pub fn pop(&mut self) -> Option<(Key, T)> {
        let (key, item) = self.places.pop_front()?;
        self.len -= 1;
        if self.places.len() > self.len {
            self.trim();
        }
        Some((key, item?))
    }

    /// Removes the item with this key, if it is here.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        let position = self.position(key)?;
        let item = self.places.get_mut(position)?.1.take()?;
        self.len -= 1;
        self.trim();
        Some(item)
    }

    /// The item with this key, if it is here.
    #[must_use]
    pub fn find(&self, key: Key) -> Option<&T> {
        self.places.get(self.position(key)?)?.1.as_ref()
    }

    /// Removes all items for which `leaves` returns true, in their order.
    pub fn extract(&mut self, leaves: &mut dyn FnMut(Key, &T) -> bool) -> Vec<(Key, T)> {
        let mut out = Vec::new();
        for (key, place) in self.places.iter_mut() {
            out.extend(place.take_if(|item| leaves(*key, item)).map(|item| (*key, item)));
        }
        self.len -= out.len();
        self.trim();
        out
    }

    /// Calls `visit` for each item, in their order.
    pub fn for_each(&self, visit: &mut dyn FnMut(Key, &T)) {
        self.places.iter().for_each(|(key, item)| {
            if let Some(item) = item {
                visit(*key, item);
            }
        });
    }

    fn position(&self, key: Key) -> Option<usize> {
        if self.len == 0 || self.last < key {
            return None;
        }
        let position = self.places.partition_point(|(place, _)| *place < key);
        self.places.get(position).filter(|(place, _)| *place == key).map(|_| position)
    }

    /// Drops the empty places before the first item.
    fn trim(&mut self) {
        while let Some((_, None)) = self.places.front() {
            self.places.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    fn key(due: u64) -> Key {
        Key { due, sequence: 0 }
    }

    #[test]
    fn an_item_before_the_last_one_is_refused_until_the_line_is_empty() {
        let mut line = Line::new();
        assert!(line.admits(key(5)));
        line.push(key(5), ());
        assert!(!line.admits(key(5)) && !line.admits(key(4)) && line.admits(key(6)));
        line.pop().unwrap();
        assert!(line.admits(key(4)));
    }

    #[test]
    fn a_line_takes_no_item_while_most_places_are_empty() {
        let mut line = Line::new();
        for due in 0..=LEFT_MAX as u64 {
            assert!(line.admits(key(due)));
            line.push(key(due), due);
        }
        for due in 1..=LEFT_MAX as u64 {
            assert_eq!(line.remove(key(due)), Some(due));
        }
        assert!(!line.admits(key(u64::MAX)));
        assert_eq!((line.len(), line.pop(), line.len()), (1, Some((key(0), 0)), 0));
        assert!(line.admits(key(0)));
    }

    proptest! {
        /// A line does what a sorted list does that takes no more than what fits behind its last one.
        #[test]
        fn a_line_is_a_sorted_list(steps in prop::collection::vec((0..6u8, 0..40u64), 0..300)) {
            let mut line = Line::new();
            let mut model: BTreeMap<Key, u64> = BTreeMap::new();
            let mut keys: Vec<Key> = Vec::new();
            let mut last = None;
            for (value, (step, choice)) in (0..).zip(steps) {
                match step {
                    0..=2 => {
                        let key = Key { due: choice / 4 + value / 3, sequence: value };
                        last = last.filter(|_| !model.is_empty());
                        let is_admitted = line.admits(key);
                        prop_assert_eq!(is_admitted, last.is_none_or(|last| last < key));
                        if is_admitted {
                            line.push(key, value);
                            model.insert(key, value);
                            keys.push(key);
                            last = Some(key);
                        }
                    }
                    3 => prop_assert_eq!(line.pop(), model.pop_first()),
                    4 if !keys.is_empty() => {
                        let key = keys[choice as usize % keys.len()];
                        prop_assert_eq!(line.find(key), model.get(&key));
                        prop_assert_eq!(line.remove(key), model.remove(&key));
                    }
                    _ if choice == 0 => {
                        let out = line.extract(&mut |key, _| key.due % 2 == 0);
                        let expected: Vec<_> = model.extract_if(.., |key, _| key.due % 2 == 0).collect();
                        prop_assert_eq!(out, expected);
                    }
                    _ => {}
                }
                prop_assert_eq!(line.len(), model.len());
                prop_assert_eq!(line.first(), model.keys().next().copied());
                prop_assert_eq!(line.second(), model.keys().nth(1).copied());
                let mut shown = Vec::new();
                line.for_each(&mut |key, value| shown.push((key, *value)));
                prop_assert!(shown.into_iter().eq(model.iter().map(|(key, value)| (*key, *value))));
            }
        }
    }
}
