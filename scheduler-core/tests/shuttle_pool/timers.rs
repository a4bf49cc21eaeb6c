//! Timers: clients arm and disarm them, and the pool ends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use scheduler_core::{
    Clock, Due, Fire, Fired, ManualClock, Now, Run, ScheduledThreadPool, Tick, Timer, WorkerThread,
};
use shuttle::rand::Rng;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::thread;

#[test]
fn random_schedules() {
    let scheduler = RandomScheduler::new_from_seed(super::SEED, super::schedules());
    super::sample("timers", scheduler, scene);
}

#[test]
fn schedules_of_three_decisions() {
    let scheduler = PctScheduler::new_from_seed(super::SEED, 3, super::schedules());
    super::sample("timers, PCT(3)", scheduler, scene);
}

/// The calls that a timer has got. The lock is held for some assignments only, because shuttle does not see it.
#[derive(Default)]
struct Seen(Mutex<Record>);

#[derive(Default)]
struct Record {
    /// The number of firings for each time; each time is armed once.
    fired: BTreeMap<u64, u32>,
    early: u32,
    /// Firings in progress.
    open: u32,
    dropped: u32,
}

struct Watched {
    seen: Arc<Seen>,
    clock: ManualClock,
}

impl Seen {
    fn lock(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fire for Watched {
    fn fire(timer: &Arc<Timer<Self>>, run: &Run) -> Fired {
        let (Due::Tick(due), now) = (run.due(), timer.clock.now()) else {
            return Fired::NothingToFinish;
        };
        {
            let mut seen = timer.seen.lock();
            *seen.fired.entry(due.as_nanos()).or_default() += 1;
            seen.early += u32::from(now < due);
            seen.open += 1;
        }
        thread::yield_now();
        // Times of its own: those of the clients are even.
        if run.number() < 3 {
            let due = Due::Tick(Tick::from_nanos(2 * run.number() + 1));
            timer.arm(due, run.started()).perform();
        }
        Fired::Returned
    }

    fn finish(timer: &Arc<Timer<Self>>, _: &Run, _: Now) {
        timer.seen.lock().open -= 1;
    }

    fn dropped(timer: &Arc<Timer<Self>>) {
        timer.seen.lock().dropped += 1;
    }
}

/// Those who arm and disarm, one who lets time pass, and an end in their midst or after them.
fn scene() -> usize {
    let clock = ManualClock::new();
    let (pool, seen) = (pool(&clock), [Arc::<Seen>::default(), Arc::default()]);
    let timers = seen.clone().map(|seen| {
        let clock = clock.clone();
        pool.timer("watched", Watched { seen, clock })
    });
    let clients = [0, 1].map(|client| {
        let (timers, clock) = (timers.clone(), clock.clone());
        thread::spawn(move || arm(&timers, &clock, client))
    });
    let mover = clock.clone();
    let mover = thread::spawn(move || {
        (0..6).for_each(|_| mover.advance(Duration::from_nanos(8)));
    });
    let mut random = shuttle::rand::thread_rng();
    let mut early: Vec<_> = clients.into_iter().chain([mover]).collect();
    let late = early.split_off(random.gen_range(0..=early.len()));
    early.into_iter().for_each(|client| client.join().expect("no client panics"));
    if random.gen_bool(0.5) {
        assert!(pool.shutdown_now().is_empty(), "no timer is handed out");
        end(&pool, &seen);
        late.into_iter().for_each(|client| client.join().expect("no client panics"));
    } else {
        late.into_iter().for_each(|client| client.join().expect("no client panics"));
        pool.shutdown();
        clock.advance(Duration::from_secs(1));
        end(&pool, &seen);
        let has_dropped = seen.iter().any(|seen| seen.lock().dropped > 0);
        assert!(!has_dropped, "a pool that shuts down fires its timers");
    }
    let fired = seen.iter().map(|seen| {
        let seen = seen.lock();
        assert!(seen.fired.values().all(|count| *count == 1), "an arming fires once");
        assert!(seen.dropped <= 1, "a timer is dropped once");
        seen.fired.len()
    });
    fired.sum()
}

/// The pool terminates, and nothing is left of it then.
fn end(pool: &ScheduledThreadPool, seen: &[Arc<Seen>]) {
    assert!(pool.await_termination(Duration::MAX), "the pool terminates");
    let stats = pool.stats();
    assert_eq!((stats.pool_size, stats.active, stats.queued), (0, 0, 0), "nothing is left");
    let fired: usize = seen.iter().map(|seen| seen.lock().fired.len()).sum();
    assert_eq!(stats.completed, fired as u64, "each firing is counted");
    for seen in seen {
        let seen = seen.lock();
        assert_eq!((seen.open, seen.early), (0, 0), "each is over, and none was early");
    }
}

fn arm(timers: &[Arc<Timer<Watched>>; 2], clock: &ManualClock, client: u64) {
    for number in 0..6 {
        let timer = &timers[usize::from(number % 3 == client)];
        let due = Due::Tick(Tick::from_nanos(4 * number + 2 * client + 2));
        let now = Now::read(clock);
        let wake = if number == 4 { timer.disarm() } else { timer.arm(due, now) };
        thread::yield_now();
        wake.perform();
    }
}

fn pool(clock: &ManualClock) -> ScheduledThreadPool {
    ScheduledThreadPool::builder()
        .core_size(2)
        .thread_name_prefix("worker-")
        .clock(Arc::new(clock.clone()))
        .thread_factory(|worker: WorkerThread| {
            thread::spawn(move || worker.run());
            Ok(())
        })
        .build()
        .expect("valid settings")
}
