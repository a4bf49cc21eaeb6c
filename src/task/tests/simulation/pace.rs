//! How long the runs of a duel take: drawn from a seed, the same for the conductor and for the reference.

use crate::task::tests::random::Random;

/// How long each run takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub(super) seed: u64,
    pub(super) longest: u64,
}

impl Pace {
    pub(super) fn takes(self, number: u64) -> u64 {
        let mut random = Random::new(self.seed ^ number.rotate_left(17));
        if self.longest == 0 || random.once_in(3) { 0 } else { random.below(self.longest) }
    }
}
