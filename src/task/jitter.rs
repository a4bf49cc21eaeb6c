//! Deterministic jitter: a hash of seed, task name and fire time.

use std::time::Duration;

/// The source of jitter of one task: a hash of its name, a seed and the draw.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeededJitter {
    base: u64,
}

/// The purpose of a draw. Draws for different purposes are independent.
#[derive(Clone, Copy, Debug)]
pub(super) enum JitterKind {
    /// The jitter of a fire time on a grid: its number, or its instant in whole seconds and nanoseconds.
    FireTime(u64, u32),
    /// The wait after an attempt: the number of the run and of the attempt.
    Retry(u64, u32),
}

impl SeededJitter {
    pub(super) fn new(seed: u64, task: &str) -> Self {
        let name = task.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self { base: mix(name ^ mix(seed)) }
    }

    /// Returns a part of `[0, span)`, zero for an empty span.
    pub(super) fn part_of(self, span: Duration, draw: JitterKind) -> Duration {
        let (purpose, major, minor) = match draw {
            JitterKind::FireTime(major, minor) => (1, major, minor),
            JitterKind::Retry(major, minor) => (2, major, minor),
        };
        let hash = mix(mix(self.base ^ purpose ^ major.rotate_left(8)) ^ u64::from(minor));
        let span = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        let part = (u128::from(hash) * u128::from(span)) >> 64;
        Duration::from_nanos(u64::try_from(part).unwrap_or(u64::MAX))
    }
}

/// Spreads every bit of a number over all bits, one to one (the finalizer of `SplitMix64`).
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn a_part_is_always_the_same_and_no_two_purposes_tasks_or_seeds_share_it() {
        let draws = [
            SeededJitter::new(0, "a").part_of(MINUTE, JitterKind::FireTime(7, 0)),
            SeededJitter::new(0, "b").part_of(MINUTE, JitterKind::FireTime(7, 0)),
            SeededJitter::new(1, "a").part_of(MINUTE, JitterKind::FireTime(7, 0)),
            SeededJitter::new(0, "a").part_of(MINUTE, JitterKind::FireTime(8, 0)),
            SeededJitter::new(0, "a").part_of(MINUTE, JitterKind::FireTime(7, 1)),
            SeededJitter::new(0, "a").part_of(MINUTE, JitterKind::Retry(7, 0)),
        ];
        for (number, draw) in draws.iter().enumerate() {
            assert!(*draw < MINUTE);
            assert!(!draws[..number].contains(draw), "{draws:?}");
        }
        // A change of this number would move every fire time of every user.
        assert_eq!(draws[0], Duration::from_nanos(58_719_520_513));
    }

    #[test]
    fn parts_are_spread_over_the_whole_span() {
        let jitter_source = SeededJitter::new(0, "report");
        let mut tenths = [0_u32; 10];
        for number in 0..10_000 {
            let part =
                jitter_source.part_of(Duration::from_nanos(10), JitterKind::FireTime(number, 0));
            tenths[usize::try_from(part.as_nanos()).unwrap()] += 1;
        }
        assert!(tenths.iter().all(|count| (900..1_100).contains(count)), "{tenths:?}");
        assert_eq!(jitter_source.part_of(Duration::ZERO, JitterKind::Retry(1, 1)), Duration::ZERO);
    }
}
