//! What the wheel sorts: a key, and the slot of the slab where the item lies.

use super::slab::Place;
use crate::delay_queue::Key;

/// A key and the place of its item. The item may have left meanwhile: then the entry is *dead*.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) key: Key,
    pub(super) place: Place,
}

impl Entry {
    /// Fills room that holds no entry yet.
    pub(super) const VOID: Self =
        Self { key: Key { due: 0, sequence: 0 }, place: Place { slot: 0, generation: u32::MAX } };

    pub(super) fn rank(&self) -> u128 {
        rank_of(self.key)
    }
}

/// A key as one number of the same order: the due time above the sequence.
pub(super) fn rank_of(key: Key) -> u128 {
    u128::from(key.due) << 64 | u128::from(key.sequence)
}

#[cfg(test)]
impl Entry {
    /// An entry whose slot has the number of its sequence.
    pub(super) fn sample(due: u64, sequence: u32) -> Self {
        let key = Key { due, sequence: sequence.into() };
        Self { key, place: Place { slot: sequence, generation: 0 } }
    }
}
