//! Chance that repeats: the same in every process and every run, spread evenly over tasks and times.

use std::time::Duration;

/// The chance of one task: what it gives depends on its name, a seed and what it is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chance {
    base: u64,
}

/// What a part is drawn for, so that draws for different purposes are independent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Draw {
    /// The jitter of a fire time on a grid: its number, or its instant in whole seconds and nanoseconds.
    Jitter(u64, u32),
    /// The wait after an attempt: the number of the run and of the attempt.
    Retry(u64, u32),
}

impl Chance {
    pub(super) fn new(seed: u64, task: &str) -> Self {
        let name = task.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self { base: mix(name ^ mix(seed)) }
    }

    /// A part of `[0, span)`; zero of a span of zero.
    pub(super) fn part_of(self, span: Duration, draw: Draw) -> Duration {
        let (purpose, major, minor) = match draw {
            Draw::Jitter(major, minor) => (1, major, minor),
            Draw::Retry(major, minor) => (2, major, minor),
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
            Chance::new(0, "a").part_of(MINUTE, Draw::Jitter(7, 0)),
            Chance::new(0, "b").part_of(MINUTE, Draw::Jitter(7, 0)),
            Chance::new(1, "a").part_of(MINUTE, Draw::Jitter(7, 0)),
            Chance::new(0, "a").part_of(MINUTE, Draw::Jitter(8, 0)),
            Chance::new(0, "a").part_of(MINUTE, Draw::Jitter(7, 1)),
            Chance::new(0, "a").part_of(MINUTE, Draw::Retry(7, 0)),
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
        let chance = Chance::new(0, "report");
        let mut tenths = [0_u32; 10];
        for number in 0..10_000 {
            let part = chance.part_of(Duration::from_nanos(10), Draw::Jitter(number, 0));
            tenths[usize::try_from(part.as_nanos()).unwrap()] += 1;
        }
        assert!(tenths.iter().all(|count| (900..1_100).contains(count)), "{tenths:?}");
        assert_eq!(chance.part_of(Duration::ZERO, Draw::Retry(1, 1)), Duration::ZERO);
    }
}
