//! Numbers from a seed: SplitMix64.

use std::time::Duration;

#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below a limit.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Returns true if something happens that happens once in so many times.
    pub(super) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub(super) fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).expect("an index")]
    }

    /// A length below a limit, in whole milliseconds.
    pub(super) fn length(&mut self, limit: Duration) -> Duration {
        let limit = u64::try_from(limit.as_millis()).expect("no age").max(1);
        Duration::from_millis(self.below(limit))
    }
}
