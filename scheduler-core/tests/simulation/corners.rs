//! The corners that a simulation has reached: proof that plans reach them.

use super::campaign::played_world;
use super::plan::Plan;

/// A situation that is worth being reached often.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Corner {
    PolledOn,
    CancelledInQueue,
    CancelledOnWorker,
    CancelledSuspended,
    CancelledHeld,
    CancelTooLate,
    DeadTaskSurfaced,
    Removed,
    Drained,
    RanByHand,
    RejectedByPool,
    RejectedByArgument,
    RejectedByThread,
    WorkerRefused,
    WorkerTimedOut,
    DeedInBody,
    Missed,
    PoolDroppedInBody,
    RanAfterShutdown,
    AskedWhileSuspended,
    SawTheRequest,
    TimerFired,
    TimerFiredBesideItself,
    TimerFiredByTheWall,
    TimerFiredAfterShutdown,
    TimerMoved,
    TimerDisarmed,
    TimerRefused,
    TimerDropped,
    TimerDroppedForWantOfWorkers,
    TimerSetBack,
    TimerPanicked,
    Last,
}

/// The number of times that each corner was reached.
pub(crate) type Corners = [u64; Corner::Last as usize];

#[test]
fn the_plans_reach_every_corner() {
    const SEEDS: u64 = 1_500;
    let mut sum: Corners = [0; Corner::Last as usize];
    for seed in 0..SEEDS {
        let corners = played_world(&Plan::draw(seed), None).expect("a good seed").corners;
        for (sum, reached) in sum.iter_mut().zip(corners) {
            *sum += u64::from(reached > 0);
        }
    }
    // The order of `Corner`, so that a failure names its line.
    let rare = sum.iter().enumerate().filter(|(_, seeds)| **seeds < SEEDS / 300);
    let rare: Vec<_> = rare.collect();
    assert!(rare.is_empty(), "too rarely reached: {rare:?} of {sum:?}");
}
