//! Which of the missed fire times of a fixed-rate task still run.

use std::time::Duration;

use crate::time::Tick;

/// What happens to fire times that passed before a worker could start them.
///
/// Fire times of a fixed-rate task lie on a grid, `first + k × period`. When a run takes longer than
/// the period, or nothing could run for a while, some of them are missed. In every case later runs
/// are on the grid again.
///
/// | policy | period 10 s, the run of 0 s ends at 34 s | origin |
/// |---|---|---|
/// | `CatchUp` | 10, 20 and 30 run back to back, then 40 | the JDK |
/// | `RunOnce` | 30 runs at once, then 40 | ours |
/// | `Skip` | 40 | ours |
///
/// ```
/// use scheduler_core::{Body, MisfirePolicy, Task};
/// use std::time::Duration;
///
/// let task = Task::at_fixed_rate(Duration::from_secs(10), Body::new(|| println!("tick")))
///     .misfire(MisfirePolicy::RunOnce);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MisfirePolicy {
    /// All missed fire times together are made up by one run.
    RunOnce,
    /// Missed fire times are forgotten.
    Skip,
    /// Every missed fire time runs, one after the other, without a pause.
    #[default]
    CatchUp,
}

impl MisfirePolicy {
    /// The fire time after `due`, asked at `now`, of a task with this period.
    pub(crate) fn next_at_fixed_rate(self, due: Tick, period: Duration, now: Tick) -> Tick {
        let next = due + period;
        // The end of time is never reached, not even by a clock that stands there.
        if next > now || next == Tick::MAX || self == Self::CatchUp {
            return next;
        }
        let period_nanos = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX).max(1);
        let elapsed = now.as_nanos() - due.as_nanos();
        let latest = Tick::from_nanos(now.as_nanos() - elapsed % period_nanos);
        if self == Self::RunOnce || latest == now { latest } else { latest + period }
    }
}

#[cfg(test)]
mod tests {
    use super::MisfirePolicy;
    use super::MisfirePolicy::{CatchUp, RunOnce, Skip};
    use crate::time::Tick;
    use proptest::prelude::*;
    use std::time::Duration;

    fn check(policy: MisfirePolicy, due: u64, period: u64, now: u64, expected: u64) {
        let next = policy.next_at_fixed_rate(
            Tick::from_nanos(due),
            Duration::from_nanos(period),
            Tick::from_nanos(now),
        );
        assert_eq!(next, Tick::from_nanos(expected), "{policy:?} {due} {period} {now}");
    }

    #[test]
    fn the_table_of_the_documentation() {
        check(CatchUp, 0, 10, 34, 10);
        check(RunOnce, 0, 10, 34, 30);
        check(Skip, 0, 10, 34, 40);
    }

    #[test]
    fn a_run_in_time_leaves_the_policy_without_a_say() {
        for policy in [CatchUp, RunOnce, Skip] {
            check(policy, 20, 10, 29, 30);
            check(policy, 20, 10, 30, 30);
            check(policy, 20, u64::MAX, 30, u64::MAX);
            check(policy, u64::MAX - 5, 10, u64::MAX, u64::MAX);
            check(policy, u64::MAX, 10, u64::MAX, u64::MAX);
        }
    }

    #[test]
    fn a_fire_time_that_is_reached_just_now_is_not_missed() {
        check(RunOnce, 0, 10, 40, 40);
        check(Skip, 0, 10, 40, 40);
    }

    proptest! {
        #[test]
        fn the_next_fire_time_is_on_the_grid_and_after_the_last(
            due in 0..1_000_000u64, period in 1..10_000u64, late in 0..1_000_000u64,
        ) {
            let now = due + late;
            for policy in [CatchUp, RunOnce, Skip] {
                let next = policy
                    .next_at_fixed_rate(Tick::from_nanos(due), Duration::from_nanos(period), Tick::from_nanos(now))
                    .as_nanos();
                prop_assert!(next > due);
                prop_assert_eq!((next - due) % period, 0);
                match policy {
                    CatchUp => prop_assert_eq!(next, due + period),
                    RunOnce => prop_assert!(next + period > now),
                    Skip => prop_assert!(next >= now && (late < period || next < now + period)),
                }
            }
        }
    }
}
