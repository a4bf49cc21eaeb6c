//! Tasks left after many cancellations run on time (JDK-8370887).
//!
//! JDK 25's pool fails this test. `TEST_CHURN_ROUNDS` is the number of rounds: 2 by default, 1000 before a release:
//! `TEST_CHURN_ROUNDS=1000 cargo test -p scheduler-core --release --test engine contract::churn::`.

use std::sync::Arc;
use std::time::Duration;

use crate::kit::{Mutex, Random};
use scheduler_core::{
    Clock, ManualClock, ScheduledThreadPool, Stepped, TaskHandle, Tick, VirtualWorkers,
};

const PENDING: usize = 20_000;
const CANCELS: usize = 50_000;
const ROUNDS: u64 = 2;

/// When a run was due, which task it was, and when it ran.
type Journal = Arc<Mutex<Vec<(Tick, u64, Tick)>>>;

struct Round {
    clock: ManualClock,
    workers: VirtualWorkers,
    pool: ScheduledThreadPool,
    random: Random,
    journal: Journal,
    /// All that was submitted: due time, number, and the handle.
    submitted: Vec<(Tick, TaskHandle<()>)>,
}

impl Round {
    fn new(seed: u64) -> Self {
        let (clock, workers) = (ManualClock::new(), VirtualWorkers::new());
        let builder = ScheduledThreadPool::builder().core_size(2);
        let builder = builder.clock(Arc::new(clock.clone())).virtual_workers(&workers);
        let pool = builder.build().unwrap();
        assert_eq!(pool.prestart_all(), 2);
        workers.run_until_idle();
        let (random, journal) = (Random(seed), Journal::default());
        Self { clock, workers, pool, random, journal, submitted: Vec::new() }
    }

    /// Submits a task that is due within `limit` nanoseconds from `delay` on.
    fn submit(&mut self, delay: Duration, limit: u64) -> usize {
        let delay = delay + Duration::from_nanos(self.random.below(limit));
        let due = self.clock.now() + delay;
        let (clock, journal) = (self.clock.clone(), Arc::clone(&self.journal));
        let number = self.submitted.len();
        let run = move || journal.lock().unwrap().push((due, number as u64, clock.now()));
        self.submitted.push((due, self.pool.schedule(delay, run).unwrap()));
        number
    }

    /// Replaces random ones of the tasks that wait, so many times.
    fn churn(&mut self) {
        let far = 3_599_000_000_000;
        let mut pending: Vec<usize> =
            (0..PENDING).map(|_| self.submit(Duration::from_secs(1), far)).collect();
        for _ in 0..CANCELS {
            let fresh = self.submit(Duration::from_secs(1), far);
            let at = self.random.below(PENDING as u64) as usize;
            let stale = std::mem::replace(&mut pending[at], fresh);
            assert!(self.submitted[stale].1.cancel());
        }
    }

    /// Lets time come to each due time, one after the other, and both workers do what there is to do.
    fn run_all(&mut self) -> Vec<(Tick, u64, Tick)> {
        let left = self.submitted.iter().enumerate().filter(|(_, (_, task))| !task.is_done());
        let mut expected: Vec<(Tick, u64, Tick)> =
            left.map(|(number, (due, _))| (*due, number as u64, *due)).collect();
        expected.sort_unstable();
        for (due, _, _) in &expected {
            self.clock.advance_to(*due);
            // The worker that waits for this moment, and the one that is woken by it.
            while (1..=2).any(|worker| self.workers.step(worker) == Stepped::Ran) {}
        }
        expected
    }
}

#[test]
fn whatever_is_not_cancelled_runs_on_time_after_any_number_of_cancellations() {
    let rounds = std::env::var("TEST_CHURN_ROUNDS").ok();
    let rounds = rounds.map_or(ROUNDS, |rounds| rounds.parse().expect("a number of rounds"));
    for seed in 0..rounds {
        let mut round = Round::new(seed);
        round.churn();
        for _ in 0..PENDING {
            round.submit(Duration::ZERO, 20_000_000);
        }
        assert_eq!(round.pool.stats().queued, 2 * PENDING, "round {seed}");
        let expected = round.run_all();
        let ran = round.journal.lock().unwrap();
        assert_eq!(expected.len(), 2 * PENDING, "round {seed}");
        assert!(*ran == expected, "round {seed}: {} of {} ran", ran.len(), expected.len());
        assert_eq!(round.pool.stats().queued, 0, "round {seed}");
    }
}
