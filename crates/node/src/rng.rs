//! Random numbers from a seed.

use std::time::Duration;

use scheduler_store::{StoreTime, Uuid};

/// A generator of random numbers: xoroshiro128++. The same seed gives the same numbers.
///
/// Identities come from it, so two processes must not have the same seed: take one of 128 random bits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rng {
    low: u64,
    high: u64,
}

impl Rng {
    /// A generator from a seed.
    #[must_use]
    pub fn new(seed: u128) -> Self {
        let (low, high) = (seed as u64, (seed >> 64) as u64);
        let mut rng = Self { low: mix(low), high: mix(high ^ 0x9E37_79B9_7F4A_7C15) };
        if (rng.low, rng.high) == (0, 0) {
            rng.low = 1;
        }
        rng.number();
        rng
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        let (low, high) = (self.low, self.high);
        let drawn = low.wrapping_add(high).rotate_left(17).wrapping_add(low);
        let mixed = high ^ low;
        self.low = low.rotate_left(49) ^ mixed ^ (mixed << 21);
        self.high = mixed.rotate_left(28);
        drawn
    }

    /// A number below a limit, which is not zero.
    pub fn below(&mut self, limit: u64) -> u64 {
        let wide = u128::from(self.number()) * u128::from(limit);
        (wide >> 64) as u64
    }

    /// A length between 80 and 120 parts of a hundred.
    pub fn about(&mut self, length: Duration) -> Duration {
        let per_thousand = 800 + self.below(401) as u32;
        length / 1_000 * per_thousand
    }

    /// An identity: a UUID of version 7, so that rows which are made together are stored together.
    pub fn id(&mut self, now: StoreTime) -> Uuid {
        let millis = (now.as_micros() / 1_000).max(0) as u64;
        let bits = (u128::from(self.number()) << 64) | u128::from(self.number());
        let time = u128::from(millis & 0xFFFF_FFFF_FFFF) << 80;
        let random = bits & ((0xFFF << 64) | (u128::from(u64::MAX) >> 2));
        Uuid::from_u128(time | (0x7 << 76) | (0x8 << 60) | random)
    }
}

/// Spreads every bit of a number over all bits, one to one.
pub(crate) fn mix(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_of_version_7_and_in_the_order_of_time() {
        let mut rng = Rng::new(7);
        let early = rng.id(StoreTime::from_micros(1_000_000));
        let late = rng.id(StoreTime::from_micros(1_001_000));
        assert!(early < late);
        assert_eq!((early.get_version_num(), late.get_version_num()), (7, 7));
    }
}
