//! Timers that threads arm, disarm and fire at the same time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread;

use crate::kit::{ManualPool, Mutex, Random, await_terminated, close, eventually};
use scheduler_core::{Due, Fire, Fired, ManualClock, Now, Run, Tick, Timer, Wake};

/// Each time is armed once, so that how often it fires tells how often that arming has.
#[derive(Default)]
struct Times {
    next: AtomicU64,
    fired: Mutex<BTreeMap<u64, u32>>,
    finished: AtomicU64,
    dropped: AtomicU64,
}

struct Noting {
    times: Arc<Times>,
    clock: ManualClock,
}

impl Times {
    fn draw(&self) -> Tick {
        Tick::from_nanos(self.next.fetch_add(1, Ordering::Relaxed))
    }

    fn fired(&self) -> BTreeMap<u64, u32> {
        self.fired.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Noting {
    /// A time that is due, or soon will be, on either clock.
    fn draw(&self) -> (Due, Now) {
        let (tick, now) = (self.times.draw(), Now::read(&self.clock));
        let due = Due::Tick(tick);
        (if tick.as_nanos().is_multiple_of(8) { Due::Wall(due.as_wall(now)) } else { due }, now)
    }
}

impl Fire for Noting {
    fn fire(timer: &Arc<Timer<Self>>, run: &Run) -> Fired {
        let tick = run.due().as_tick(run.started()).as_nanos();
        assert!(tick <= run.started().tick.as_nanos(), "it is early");
        *timer
            .times
            .fired
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(tick)
            .or_default() += 1;
        if run.number().is_multiple_of(3) {
            let (due, now) = timer.draw();
            timer.arm(due, now).perform();
        }
        Fired::Returned
    }

    fn finish(timer: &Arc<Timer<Self>>, _: &Run, _: Now) {
        timer.times.finished.fetch_add(1, Ordering::Relaxed);
    }

    fn clock_set_back(_: &Arc<Timer<Self>>, _: Now) {
        unreachable!("no test sets it")
    }

    fn dropped(timer: &Arc<Timer<Self>>) {
        timer.times.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

/// Arms and disarms some timers, and lets time pass, in random order.
fn play(timers: &[Arc<Timer<Noting>>], clock: &ManualClock, seed: u64, count: u32) {
    let mut random = Random(seed);
    for _ in 0..count {
        let timer = &timers[usize::try_from(random.below(timers.len() as u64)).unwrap()];
        let wakes = match random.below(8) {
            0 => vec![timer.disarm()],
            1 => {
                let now = timer.times.next.load(Ordering::Relaxed) + random.below(200);
                clock.advance_to(Tick::from_nanos(now.saturating_sub(100)));
                Vec::new()
            }
            2 => {
                let ((one, now), (other, later)) = (timer.draw(), timer.draw());
                vec![timer.arm(one, now), timer.disarm(), timer.arm(other, later)]
            }
            _ => {
                let (due, now) = timer.draw();
                vec![timer.arm(due, now)]
            }
        };
        wakes.into_iter().for_each(Wake::perform);
    }
}

#[test]
fn ec_o10_of_random_armings_each_fires_at_most_once_and_the_last_one_does() {
    for (workers, timers) in [(1, 1), (2, 1), (3, 4)] {
        let ManualPool { pool, clock } = ManualPool::new(workers);
        let times = Arc::new(Times::default());
        let content = || Noting { times: Arc::clone(&times), clock: clock.clone() };
        let timers: Vec<_> = (0..timers).map(|_| pool.timer("noting", content())).collect();
        thread::scope(|scope| {
            for seed in 0..4 {
                let (timers, clock) = (&timers, &clock);
                scope.spawn(move || play(timers, clock, seed, 5_000));
            }
        });
        // Timers that are still armed may arm themselves anew, at later times.
        eventually("no timer is armed and nothing runs", || {
            clock.advance_to(Tick::from_nanos(times.next.load(Ordering::Relaxed) + 1_000));
            let stats = pool.stats();
            stats.queued == 0 && stats.active == 0
        });
        for timer in &timers {
            let (tick, now) = (times.draw(), Now::read(&clock));
            timer.arm(Due::Tick(tick), now).perform();
            eventually("the last arming fires", || times.fired().contains_key(&tick.as_nanos()));
        }
        eventually("no timer is armed and nothing runs", || {
            clock.advance_to(Tick::from_nanos(times.next.load(Ordering::Relaxed) + 1_000));
            let stats = pool.stats();
            stats.queued == 0 && stats.active == 0
        });
        let fired = times.fired();
        assert!(fired.values().all(|count| *count == 1), "{fired:?}");
        assert_eq!(times.finished.load(Ordering::Relaxed), fired.len() as u64);
        assert_eq!(pool.stats().completed, fired.len() as u64);
        close(&pool);
    }
}

#[test]
fn ec_o10_a_pool_that_stops_amid_armings_drops_what_was_armed_and_refuses_the_rest() {
    for seed in 0..50 {
        let ManualPool { pool, clock } = ManualPool::new(2);
        let times = Arc::new(Times::default());
        let content = || Noting { times: Arc::clone(&times), clock: clock.clone() };
        let timers: Vec<_> = (0..3).map(|_| pool.timer("noting", content())).collect();
        thread::scope(|scope| {
            for thread in 0..3 {
                let (timers, clock) = (&timers, &clock);
                scope.spawn(move || play(timers, clock, 100 * seed + thread, 200));
            }
            scope.spawn(|| drop(pool.shutdown_now()));
        });
        await_terminated(&pool);
        assert!(times.dropped.load(Ordering::Relaxed) <= 3);
        for timer in &timers {
            assert_eq!(timer.due(), None);
            let (due, now) = timer.draw();
            assert!(timer.arm(due, now).is_refused());
        }
        let stats = pool.stats();
        assert_eq!((stats.queued, stats.active, stats.pool_size), (0, 0, 0));
    }
}
