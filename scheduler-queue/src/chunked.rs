//! A deque in chunks: growing never copies much.

use std::collections::VecDeque;
use std::mem;

/// The greatest length of a piece. Room for two pieces is kept when the deque is empty.
const PIECE: usize = 256;

/// A deque in pieces: it grows at the back and shrinks at the front.
///
/// INVARIANT: the first piece is empty only if the list is, and of the others all but the last are full.
#[derive(Debug)]
pub(super) struct ChunkedDeque<T> {
    first: VecDeque<T>,
    others: VecDeque<VecDeque<T>>,
    len: usize,
    /// A piece that has become empty: to allocate one is dear, because it is large.
    spare: Option<VecDeque<T>>,
}

impl<T> ChunkedDeque<T> {
    pub(super) fn new() -> Self {
        Self { first: VecDeque::new(), others: VecDeque::new(), len: 0, spare: None }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn front(&self) -> Option<&T> {
        self.first.front()
    }

    #[inline]
    pub(super) fn push_back(&mut self, thing: T) {
        if self.len < PIECE && self.others.is_empty() {
            self.first.push_back(thing);
        } else {
            self.push_beyond(thing);
        }
        self.len += 1;
    }

    #[inline]
    fn push_beyond(&mut self, thing: T) {
        match self.others.back_mut().filter(|last| last.len() < PIECE) {
            Some(last) => last.push_back(thing),
            None => self.push_piece(thing),
        }
    }

    #[inline(never)]
    fn push_piece(&mut self, thing: T) {
        let spare = self.spare.take();
        let mut piece = spare.unwrap_or_else(|| VecDeque::with_capacity(PIECE));
        piece.push_back(thing);
        self.others.push_back(piece);
    }

    #[inline]
    pub(super) fn pop_front(&mut self) -> Option<T> {
        let thing = self.first.pop_front()?;
        self.len -= 1;
        if self.first.is_empty() && self.len > 0 {
            self.begin_piece();
        }
        Some(thing)
    }

    #[inline(never)]
    fn begin_piece(&mut self) {
        let next = self.others.pop_front().unwrap_or_default();
        self.spare = Some(mem::replace(&mut self.first, next));
        if self.others.is_empty() {
            self.others = VecDeque::new();
        }
    }

    pub(super) fn get(&self, index: usize) -> Option<&T> {
        match index.checked_sub(self.first.len()) {
            None => self.first.get(index),
            Some(beyond) => self.others.get(beyond / PIECE)?.get(beyond % PIECE),
        }
    }

    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        match index.checked_sub(self.first.len()) {
            None => self.first.get_mut(index),
            Some(beyond) => self.others.get_mut(beyond / PIECE)?.get_mut(beyond % PIECE),
        }
    }

    /// The first index at which `is_before` does not hold; it has to hold for none after that.
    pub(super) fn partition_point(&self, is_before: impl Fn(&T) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let middle = low.midpoint(high);
            if self.get(middle).is_some_and(&is_before) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(self.others.iter().flatten())
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.first.iter_mut().chain(self.others.iter_mut().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    #[test]
    fn what_has_become_empty_keeps_little() {
        let mut deque = ChunkedDeque::new();
        (0..PIECE * 5).for_each(|number| deque.push_back(number));
        assert!((0..PIECE * 5).all(|number| deque.pop_front() == Some(number)));
        assert_eq!((deque.pop_front(), deque.len()), (None, 0));
        assert_eq!((deque.first.capacity(), deque.others.capacity()), (PIECE, 0));
        assert_eq!(deque.spare.map(|piece| piece.capacity()), Some(PIECE));
    }

    #[test]
    fn no_piece_is_longer_than_a_piece() {
        let mut deque = ChunkedDeque::new();
        (0..PIECE * 3).for_each(|number| deque.push_back(number));
        assert_eq!((deque.first.len(), deque.others.len()), (PIECE, 2));
        assert!(deque.others.iter().all(|piece| piece.len() == PIECE));
    }

    proptest! {
        /// Longer than a piece, a deque does what one list does.
        #[test]
        fn a_chunked_deque_is_a_list(steps in prop::collection::vec((any::<bool>(), 1..700usize), 0..40)) {
            let (mut deque, mut list, mut next) = (ChunkedDeque::new(), VecDeque::new(), 0);
            for (grows, count) in steps {
                for _ in 0..count {
                    if grows {
                        deque.push_back(next);
                        list.push_back(next);
                        next += 1;
                    } else {
                        prop_assert_eq!(deque.pop_front(), list.pop_front());
                    }
                }
                prop_assert_eq!((deque.len(), deque.front()), (list.len(), list.front()));
                prop_assert!(deque.iter().eq(&list) && deque.iter_mut().map(|thing| *thing).eq(list.iter().copied()));
                for index in [0, list.len() / 2, list.len().saturating_sub(1), list.len()] {
                    prop_assert_eq!(deque.get(index), list.get(index));
                    prop_assert_eq!(deque.get_mut(index), list.get_mut(index));
                    let wanted = list.get(index).copied().unwrap_or(next);
                    prop_assert_eq!(deque.partition_point(|thing| *thing < wanted), index.min(list.len()));
                }
            }
        }
    }
}
