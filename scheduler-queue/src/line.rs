//! A queue for items that come in their order.
//!
//! What is due when it is pushed comes, as a rule, after all that was pushed before. It needs no search for
//! its place, and its key is its ticket. An item that would
//! come before the last one is refused, and so is any item while many places in the middle are empty: another
//! queue has to take it.

use std::collections::VecDeque;
use std::mem;

use crate::delay_queue::Key;

/// The greatest number of empty places: a place is kept until all items before it have left.
const EMPTY_MAX: usize = 4096;

/// The places of a piece. Growing by pieces copies nothing.
const PIECE: usize = 256;

type Place<T> = (Key, Option<T>);

/// Items in the order of their keys.
#[derive(Debug)]
pub struct Line<T> {
    /// The first piece.
    ///
    /// INVARIANT: the place at `gone` holds an item, or there is none at all. The keys grow from there on.
    front: Vec<Place<T>>,
    /// How many places of the first piece have been left.
    gone: usize,
    /// The other pieces.
    ///
    /// INVARIANT: all pieces but the last are full.
    others: VecDeque<Vec<Place<T>>>,
    /// A piece that has been left, to be used again: one is large, and costly to allocate.
    spare: Vec<Place<T>>,
    len: usize,
    /// How many places are empty that have not been left.
    empty: usize,
    /// The greatest key of those in line.
    last: Key,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        let (front, others, spare) = (Vec::new(), VecDeque::new(), Vec::new());
        let last = Key { due: 0, sequence: 0 };
        Self { front, gone: 0, others, spare, len: 0, empty: 0, last }
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

    /// Returns true if the line can take an item with this key.
    #[inline]
    #[must_use]
    pub fn admits(&self, key: Key) -> bool {
        (self.len == 0 || self.last < key) && self.empty < EMPTY_MAX
    }

    /// Adds an item that was [admitted](Self::admits).
    #[inline]
    pub fn push(&mut self, key: Key, item: T) {
        self.last = key;
        self.len += 1;
        let mut piece = self.others.back_mut().unwrap_or(&mut self.front);
        if piece.len() == PIECE {
            let mut next = mem::take(&mut self.spare);
            next.reserve_exact(PIECE);
            self.others.push_back(next);
            piece = self.others.back_mut().unwrap_or(&mut self.front);
        }
        piece.push((key, Some(item)));
    }

    /// The key of the first item.
    #[inline]
    #[must_use]
    pub fn first(&self) -> Option<Key> {
        self.front.get(self.gone).map(|(key, _)| *key)
    }

    /// The key of the item after the first.
    #[must_use]
    pub fn second(&self) -> Option<Key> {
        self.places().filter(|(_, item)| item.is_some()).nth(1).map(|(key, _)| *key)
    }

    /// Removes the first item.
    #[inline]
    pub fn pop(&mut self) -> Option<(Key, T)> {
        let (key, place) = self.front.get_mut(self.gone)?;
        let (key, item) = (*key, place.take()?);
        self.gone += 1;
        self.len -= 1;
        if self.gone == PIECE || self.empty > 0 {
            self.trim();
        }
        Some((key, item))
    }

    /// Removes the item with this key, if it is here.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        let position = self.position(key)?;
        let item = self.place_mut(position)?.1.take()?;
        self.len -= 1;
        self.empty += 1;
        self.trim();
        Some(item)
    }

    /// The item with this key, if it is here.
    #[must_use]
    pub fn find(&self, key: Key) -> Option<&T> {
        self.place(self.position(key)?)?.1.as_ref()
    }

    /// Removes all items for which `leaves` returns true, in their order.
    pub fn extract(&mut self, leaves: &mut dyn FnMut(Key, &T) -> bool) -> Vec<(Key, T)> {
        let mut out = Vec::new();
        let places = self.front.iter_mut().skip(self.gone).chain(self.others.iter_mut().flatten());
        for (key, place) in places {
            out.extend(place.take_if(|item| leaves(*key, item)).map(|item| (*key, item)));
        }
        self.len -= out.len();
        self.empty += out.len();
        self.trim();
        out
    }

    /// Calls `visit` for each item, in their order.
    pub fn for_each(&self, visit: &mut dyn FnMut(Key, &T)) {
        self.places().for_each(|(key, item)| {
            if let Some(item) = item {
                visit(*key, item);
            }
        });
    }

    fn places(&self) -> impl Iterator<Item = &Place<T>> {
        self.front.iter().skip(self.gone).chain(self.others.iter().flatten())
    }

    fn place(&self, position: usize) -> Option<&Place<T>> {
        let index = self.gone + position;
        match index.checked_sub(PIECE) {
            None => self.front.get(index),
            Some(behind) => self.others.get(behind / PIECE)?.get(behind % PIECE),
        }
    }

    fn place_mut(&mut self, position: usize) -> Option<&mut Place<T>> {
        let index = self.gone + position;
        match index.checked_sub(PIECE) {
            None => self.front.get_mut(index),
            Some(behind) => self.others.get_mut(behind / PIECE)?.get_mut(behind % PIECE),
        }
    }

    /// Searches for the place with this key.
    fn position(&self, key: Key) -> Option<usize> {
        let (mut low, mut high) = (0, self.len + self.empty);
        while low < high {
            let middle = low.midpoint(high);
            if self.place(middle).is_some_and(|(place, _)| *place < key) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.place(low).filter(|(place, _)| *place == key).map(|_| low)
    }

    /// Leaves the empty places before the first item.
    #[inline(never)]
    fn trim(&mut self) {
        loop {
            if self.gone == PIECE {
                let next = self.others.pop_front().unwrap_or_default();
                self.spare = mem::replace(&mut self.front, next);
                self.spare.clear();
                self.gone = 0;
                if self.others.is_empty() {
                    self.others = VecDeque::new();
                }
            }
            match self.front.get(self.gone) {
                Some((_, None)) => {
                    self.gone += 1;
                    self.empty -= 1;
                }
                _ => return,
            }
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
        for due in 0..=EMPTY_MAX as u64 {
            assert!(line.admits(key(due)));
            line.push(key(due), due);
        }
        for due in 1..=EMPTY_MAX as u64 {
            assert_eq!(line.remove(key(due)), Some(due));
        }
        assert!(!line.admits(key(u64::MAX)));
        assert_eq!((line.len(), line.pop(), line.len()), (1, Some((key(0), 0)), 0));
        assert!(line.admits(key(0)));
    }

    #[test]
    fn a_line_that_was_long_keeps_little() {
        let mut line = Line::new();
        (0..PIECE as u64 * 5).for_each(|due| line.push(key(due), due));
        assert_eq!((line.front.len(), line.others.len()), (PIECE, 4));
        assert!(line.others.iter().all(|piece| piece.len() == PIECE));
        assert_eq!(line.find(key(PIECE as u64 * 3)), Some(&(PIECE as u64 * 3)));
        assert!((0..PIECE as u64 * 5).all(|due| line.pop() == Some((key(due), due))));
        assert_eq!((line.pop(), line.len(), line.others.capacity()), (None, 0, 0));
        assert!(line.front.capacity() + line.spare.capacity() <= 2 * PIECE);
    }

    proptest! {
        /// A line does what a sorted list does that takes no more than what fits behind its last one.
        #[test]
        fn a_line_is_a_sorted_list(steps in prop::collection::vec((0..6u8, 0..40u64), 0..1500)) {
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
