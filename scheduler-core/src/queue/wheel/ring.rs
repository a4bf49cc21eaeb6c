//! One ring of slots: a span of time, cut into equal parts.
//!
//! A slot holds a bag of entries, or a finer ring. Spans are cut where their keys first differ, so a
//! ring has two taken slots at least, and the way from the root to a bag is short.

/// A ring has 2^BITS slots.
pub(super) const BITS: u32 = 5;
const SLOTS: usize = 1 << BITS;

/// What a slot holds, by its number in the slab of bags or of rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    Bag(u32),
    Ring(u32),
}

#[derive(Debug)]
pub(super) struct Ring {
    /// The bits above the digit: what all keys of this ring have in common.
    prefix: u128,
    /// Bits below the digit: each slot spans 2^shift keys.
    shift: u32,
    /// INVARIANT: bit i is set if and only if slot i holds something.
    taken: u32,
    slots: [Held; SLOTS],
}

impl Ring {
    /// A ring that can tell two keys apart whose highest different bit is `bit`, and that can hold
    /// rings of up to `below` bits.
    pub(super) fn new(key: u128, bit: u32, below: u32) -> Self {
        let shift = (bit + 1).saturating_sub(BITS).max(below);
        Self { prefix: above(key, shift), shift, taken: 0, slots: [Held::Bag(u32::MAX); SLOTS] }
    }

    /// Whether a key belongs to the span of this ring.
    pub(super) fn covers(&self, key: u128) -> bool {
        above(key, self.shift) == self.prefix
    }

    /// The bits that this ring and its slots tell apart.
    pub(super) fn width(&self) -> u32 {
        self.shift + BITS
    }

    /// The highest bit in which a key outside differs from those of this ring.
    pub(super) fn difference(&self, key: u128) -> u32 {
        let difference = (above(key, self.shift) ^ self.prefix).leading_zeros();
        (127 - difference) + self.width()
    }

    /// A key of this ring's span.
    pub(super) fn sample(&self) -> u128 {
        self.prefix.checked_shl(self.width()).unwrap_or(0)
    }

    pub(super) fn digit(&self, key: u128) -> usize {
        (key >> self.shift) as usize % SLOTS
    }

    pub(super) fn get(&self, digit: usize) -> Option<Held> {
        (self.taken & 1 << digit != 0).then(|| self.slots[digit])
    }

    pub(super) fn set(&mut self, digit: usize, held: Held) {
        self.taken |= 1 << digit;
        self.slots[digit] = held;
    }

    pub(super) fn clear(&mut self, digit: usize) {
        self.taken &= !(1 << digit);
    }

    /// The first slot that holds something, and what.
    pub(super) fn first(&self) -> Option<(usize, Held)> {
        if self.taken == 0 {
            return None;
        }
        let digit = self.taken.trailing_zeros() as usize;
        Some((digit, self.slots[digit]))
    }

    /// All that the slots hold.
    pub(super) fn held(&self) -> impl Iterator<Item = Held> {
        (0..SLOTS).filter_map(|digit| self.get(digit))
    }

    /// What the ring holds, if that is one thing only.
    pub(super) fn only(&self) -> Option<Held> {
        self.first().filter(|_| self.taken.count_ones() == 1).map(|(_, held)| held)
    }
}

/// The bits of a key above the digit at `shift`.
fn above(key: u128, shift: u32) -> u128 {
    key.checked_shr(shift + BITS).unwrap_or(0)
}
