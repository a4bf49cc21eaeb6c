//! Proof that the simulation can fail: each planted bug breaks an invariant.

use super::campaign::{play, shrink};
use super::plan::Plan;
use super::plant::Plant;
use super::verdict::Invariant;
use std::collections::BTreeSet;

/// The number of seeds within which a planted bug has to be found.
const SEEDS: u64 = 400;

fn check(plant: Plant, invariant: Invariant) {
    let mut tripped = BTreeSet::new();
    for seed in 0..SEEDS {
        let plan = Plan::draw(seed);
        let Err(violation) = play(&plan, Some(plant)) else { continue };
        tripped.insert(violation.invariant);
        if violation.invariant == invariant {
            let short = shrink(&plan, invariant, Some(plant));
            assert!(short.ops.len() <= 20, "{plant:?} is not made plain: {:#?}", short.ops);
            let still = play(&short, Some(plant)).expect_err("a shortened plan still fails");
            assert_eq!(still.invariant, invariant);
            return;
        }
    }
    panic!("{plant:?} went unnoticed by {invariant:?} for {SEEDS} seeds; it tripped {tripped:?}");
}

macro_rules! planted {
    ($($name:ident: $plant:ident trips $invariant:ident,)*) => {$(
        #[test]
        fn $name() {
            check(Plant::$plant, Invariant::$invariant);
        }
    )*};
}

planted! {
    i1_a_clock_that_runs_ahead_starts_runs_early: FastClock trips NeverEarly,
    i2_a_pool_that_loses_a_task_leaves_its_end_unexplained: LosingPool trips OneEnd,
    i3_a_body_that_is_entered_twice_overlaps_itself: DoubleBody trips NoOverlap,
    i4_a_pool_with_other_due_times_runs_in_another_order: LateSubmit trips Order,
    i5_a_cancellation_that_claims_what_it_has_not_done_is_noticed: LyingCancel trips CancelMeansNoRun,
    i6_a_longer_period_leaves_the_grid: DriftingGrid trips FireTimes,
    i7_a_pool_that_drops_a_task_miscounts: LosingPool trips Counts,
    i8_a_worker_that_misses_its_wake_leaves_a_due_task_waiting: DeafWorker trips Liveness,
    i8_a_pool_that_waits_for_longer_than_its_slack_is_noticed: LazyPool trips Liveness,
    i9_a_body_that_is_never_dropped_is_missed: LeakyBody trips NothingLeft,
    i10_a_timer_that_fires_for_another_time_is_noticed: LateDiary trips Timers,
    i10_a_timer_that_does_not_hear_of_the_clock_is_noticed: DeafTimer trips Timers,
    i11_a_handle_that_goes_back_is_noticed: ForgetfulHandle trips StateForward,
    i12_cancelled_tasks_that_stay_in_the_queue_are_noticed: HoardingQueue trips Memory,
    i13_an_event_that_is_lost_is_missed: DeafListener trips Events,
    i14_a_spinning_reader_of_the_clock_is_noticed: RestlessClock trips ClockReads,
}

#[test]
fn a_seed_means_the_same_twice_and_another_seed_something_else() {
    let digest = |seed| play(&Plan::draw(seed), None).expect("a good seed").digest;
    assert_eq!(digest(7), digest(7));
    assert_ne!(digest(7), digest(8));
}
