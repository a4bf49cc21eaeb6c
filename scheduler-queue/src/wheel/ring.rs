//! One ring of slots: a span of keys, cut into equal parts.
//!
//! A slot holds a bucket of entries, or a finer ring. Spans are cut where their keys first differ, so the
//! way from the root to a bucket is short.

use super::bucket::Bucket;

/// A ring has 2^BITS slots.
const BITS: u32 = 5;
const SLOTS: usize = 1 << BITS;

/// A slot of a ring as one number, so that it can be noted what is at home there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Home(u32);

impl Home {
    /// The home of what is not far.
    pub(super) const NEAR: Self = Self(u32::MAX);
    /// The home of what has just come.
    pub(super) const ARRIVALS: Self = Self(u32::MAX - 1);

    pub(super) fn new(ring: u32, digit: usize) -> Self {
        Self(ring << BITS | digit as u32)
    }

    pub(super) fn ring(self) -> u32 {
        self.0 >> BITS
    }

    pub(super) fn digit(self) -> usize {
        self.0 as usize % SLOTS
    }

    pub(super) fn to_bits(self) -> u32 {
        self.0
    }

    pub(super) fn from_bits(bits: u32) -> Self {
        Self(bits)
    }
}

/// What a slot holds.
#[derive(Debug)]
pub(super) enum Content {
    Nothing,
    Bucket(Bucket),
    /// A ring, by its number.
    Ring(u32),
}

#[derive(Debug)]
pub(super) struct Ring {
    /// The least key of the span: zero in the bits of the digit and below.
    start: u128,
    /// Bits below the digit: each slot spans 2^shift keys.
    shift: u32,
    /// The slot that holds this ring.
    pub(super) above: Home,
    /// INVARIANT: bit i is set if and only if slot i holds something.
    taken: u32,
    slots: [Content; SLOTS],
}

impl Ring {
    /// The ring of all keys.
    pub(super) fn root() -> Self {
        Self::new(0, shift_for(127), Home::NEAR)
    }

    /// A ring with room for a key, whose slots span 2^shift keys each.
    pub(super) fn new(key: u128, shift: u32, above: Home) -> Self {
        let start = key.checked_shr(width(shift)).map_or(0, |prefix| prefix << width(shift));
        Self { start, shift, above, taken: 0, slots: [const { Content::Nothing }; SLOTS] }
    }

    /// The slot of a key, if the key belongs to the span of this ring.
    #[inline]
    pub(super) fn digit(&self, key: u128) -> Option<usize> {
        let different = key ^ self.start;
        let digit = if self.shift >= 64 {
            (different >> 64) as u64 >> (self.shift - 64)
        } else if different >> 64 == 0 {
            different as u64 >> self.shift
        } else {
            return None;
        };
        (digit < SLOTS as u64).then_some(digit as usize)
    }

    /// The least key of the span.
    pub(super) fn start(&self) -> u128 {
        self.start
    }

    /// How many of the lowest bits this ring and its slots distinguish.
    pub(super) fn width(&self) -> u32 {
        width(self.shift)
    }

    #[inline]
    pub(super) fn get(&self, digit: usize) -> &Content {
        &self.slots[digit % SLOTS]
    }

    #[inline]
    pub(super) fn bucket_mut(&mut self, digit: usize) -> Option<&mut Bucket> {
        match &mut self.slots[digit % SLOTS] {
            Content::Bucket(bucket) => Some(bucket),
            Content::Nothing | Content::Ring(_) => None,
        }
    }

    pub(super) fn set(&mut self, digit: usize, content: Content) {
        self.taken |= 1 << digit;
        self.slots[digit] = content;
    }

    /// Takes the bucket out of a slot.
    pub(super) fn take_bucket(&mut self, digit: usize) -> Option<Bucket> {
        self.bucket_mut(digit)?;
        self.taken &= !(1 << digit);
        match std::mem::replace(&mut self.slots[digit], Content::Nothing) {
            Content::Bucket(bucket) => Some(bucket),
            Content::Nothing | Content::Ring(_) => None,
        }
    }

    pub(super) fn clear(&mut self, digit: usize) {
        self.taken &= !(1 << digit);
        self.slots[digit] = Content::Nothing;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.taken == 0
    }

    /// The first slot that holds something.
    pub(super) fn first(&self) -> Option<usize> {
        (self.taken != 0).then(|| self.taken.trailing_zeros() as usize)
    }

    /// All slots that hold a bucket, and these.
    pub(super) fn buckets(&self) -> impl Iterator<Item = (usize, &Bucket)> {
        self.slots.iter().enumerate().filter_map(|(digit, content)| match content {
            Content::Bucket(bucket) => Some((digit, bucket)),
            Content::Nothing | Content::Ring(_) => None,
        })
    }
}

/// The shift of a ring that distinguishes two keys whose highest different bit is `bit`.
///
/// No digit has bits of both the due time and the sequence, so that each is made of one word.
pub(super) fn shift_for(bit: u32) -> u32 {
    let least = if bit < 64 { 0 } else { 64 };
    (bit + 1).saturating_sub(BITS).max(least)
}

fn width(shift: u32) -> u32 {
    if shift < 64 { (shift + BITS).min(64) } else { shift + BITS }
}

#[cfg(test)]
mod tests {
    use super::super::bucket::Blocks;
    use super::super::entry::Entry;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_root_has_room_for_all_keys() {
        let root = Ring::root();
        assert_eq!(root.digit(0), Some(0));
        assert_eq!(root.digit(u128::MAX), Some(SLOTS - 1));
        assert_eq!((root.start(), root.width()), (0, 128));
    }

    #[test]
    fn what_was_put_into_a_slot_is_there_until_it_is_taken() {
        let mut ring = Ring::root();
        assert!(ring.is_empty());
        ring.set(9, Content::Ring(4));
        ring.set(5, Content::Bucket(Bucket::new(Entry::sample(1, 1), &mut Blocks::default())));
        assert_eq!((ring.first(), ring.buckets().count()), (Some(5), 1));
        assert!(ring.take_bucket(9).is_none() && ring.take_bucket(5).is_some());
        assert!(ring.take_bucket(5).is_none());
        assert_eq!(ring.first(), Some(9));
        ring.clear(9);
        assert!(ring.is_empty());
    }

    proptest! {
        /// A ring for two keys keeps them in their order, and holds what is between them.
        #[test]
        fn a_ring_tells_apart_what_it_is_made_for(one: u128, flips: u128, bits in 0..128u32, part: u128) {
            let other = one ^ (flips >> bits).max(1);
            let (low, high) = (one.min(other), one.max(other));
            let ring = Ring::new(one, shift_for(127 - (low ^ high).leading_zeros()), Home::NEAR);
            let between = low + part % (high - low + 1);
            let digits = [low, between, high].map(|key| ring.digit(key));
            prop_assert!(digits.iter().all(Option::is_some));
            prop_assert!(digits.is_sorted());
            prop_assert!(digits[0] < digits[2]);
        }

        /// A ring covers exactly the keys that differ from its first one below its width only.
        #[test]
        fn a_ring_covers_its_span_and_nothing_else(key: u128, bit in 0..128u32, other: u128, near in 0..128u32) {
            let ring = Ring::new(key, shift_for(bit), Home::NEAR);
            let other = key ^ other >> near;
            let is_inside = (other ^ ring.start()).checked_shr(ring.width()).unwrap_or(0) == 0;
            prop_assert_eq!(ring.digit(other).is_some(), is_inside);
            prop_assert_eq!(ring.digit(ring.start()), Some(0));
        }
    }
}
