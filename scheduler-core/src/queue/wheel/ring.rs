//! One ring of slots: a span of keys, cut into equal parts.
//!
//! A slot holds a bag of entries, or a finer ring. Spans are cut where their keys first differ, so the
//! way from the root to a bag is short.

use super::bag::Bag;

/// A ring has 2^BITS slots.
const BITS: u32 = 5;
const SLOTS: usize = 1 << BITS;

/// A slot of a ring as one number, so that it can be noted what is at home there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Home(u32);

impl Home {
    /// The home of what is not far.
    pub(super) const NEAR: Self = Self(u32::MAX);

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
pub(super) enum Held {
    Nothing,
    Bag(Bag),
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
    slots: [Held; SLOTS],
}

impl Ring {
    /// The ring of all keys.
    pub(super) fn root() -> Self {
        Self::new(0, shift_for(127), Home::NEAR)
    }

    /// A ring with room for a key, whose slots span 2^shift keys each.
    pub(super) fn new(key: u128, shift: u32, above: Home) -> Self {
        let start = key.checked_shr(width(shift)).map_or(0, |prefix| prefix << width(shift));
        Self { start, shift, above, taken: 0, slots: [const { Held::Nothing }; SLOTS] }
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

    /// How many of the lowest bits this ring and its slots tell apart.
    pub(super) fn width(&self) -> u32 {
        width(self.shift)
    }

    #[inline]
    pub(super) fn get(&self, digit: usize) -> &Held {
        &self.slots[digit % SLOTS]
    }

    #[inline]
    pub(super) fn bag_mut(&mut self, digit: usize) -> Option<&mut Bag> {
        match &mut self.slots[digit % SLOTS] {
            Held::Bag(bag) => Some(bag),
            Held::Nothing | Held::Ring(_) => None,
        }
    }

    pub(super) fn set(&mut self, digit: usize, held: Held) {
        self.taken |= 1 << digit;
        self.slots[digit] = held;
    }

    /// Takes the bag out of a slot.
    pub(super) fn take_bag(&mut self, digit: usize) -> Option<Bag> {
        self.bag_mut(digit)?;
        self.taken &= !(1 << digit);
        match std::mem::replace(&mut self.slots[digit], Held::Nothing) {
            Held::Bag(bag) => Some(bag),
            Held::Nothing | Held::Ring(_) => None,
        }
    }

    pub(super) fn clear(&mut self, digit: usize) {
        self.taken &= !(1 << digit);
        self.slots[digit] = Held::Nothing;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.taken == 0
    }

    /// The first slot that holds something.
    pub(super) fn first(&self) -> Option<usize> {
        (self.taken != 0).then(|| self.taken.trailing_zeros() as usize)
    }

    /// All slots that hold a bag, and these.
    pub(super) fn bags(&self) -> impl Iterator<Item = (usize, &Bag)> {
        self.slots.iter().enumerate().filter_map(|(digit, held)| match held {
            Held::Bag(bag) => Some((digit, bag)),
            Held::Nothing | Held::Ring(_) => None,
        })
    }
}

/// The shift of a ring that can tell two keys apart whose highest different bit is `bit`.
///
/// No digit has bits of both the due time and the sequence, so that each is made of one word.
pub(super) fn shift_for(bit: u32) -> u32 {
    let least = if bit < 64 { 0 } else { 64 };
    (bit + 1).saturating_sub(BITS).max(least)
}

fn width(shift: u32) -> u32 {
    if shift < 64 { (shift + BITS).min(64) } else { shift + BITS }
}
