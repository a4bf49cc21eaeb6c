//! A scene of brief tasks: two workers meet at the pool's lock again and again, and one of them rests.
//!
//! Its clock stands still, so that a rest lasts until the pool ends: no task may wait for one that rests.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;
use scheduler_core::Clock;
use scheduler_core::ManualClock;
use scheduler_core::ScheduledThreadPool;
use scheduler_core::TaskHandle;
use scheduler_core::Tick;
use scheduler_core::WorkerThread;
use scheduler_core::time::Epoch;
use scheduler_core::time::Gate;
use shuttle::rand::Rng;
use shuttle::scheduler::RandomScheduler;
use shuttle::thread;

/// How many rests there were. Like all atomics of a test it is no point at which shuttle switches.
static RESTS: AtomicUsize = AtomicUsize::new(0);

/// A clock that stands still, by which a wake-up takes some time.
#[derive(Debug)]
struct Still(ManualClock);

impl Clock for Still {
    fn now(&self) -> Tick {
        self.0.now()
    }

    fn wall(&self) -> DateTime<Utc> {
        self.0.wall()
    }

    fn wake_up(&self) -> Duration {
        Duration::from_micros(40)
    }

    fn wait(&self, gate: &Arc<Gate>, seen: Epoch, until: Option<Tick>) {
        // All tasks are due at once: nothing else has an end.
        RESTS.fetch_add(usize::from(until.is_some()), Ordering::SeqCst);
        self.0.wait(gate, seen, until);
    }
}

#[test]
fn random_schedules() {
    let scheduler = RandomScheduler::new_from_seed(super::SEED, super::schedules());
    super::sample("rests", scheduler, scene);
    let rests = RESTS.load(Ordering::SeqCst);
    assert!(rests > 0, "nobody has rested");
    eprintln!("rests: {rests} of them");
}

/// A task that has been submitted, and how often it has run.
type Submitted = (TaskHandle<()>, Arc<AtomicUsize>);

/// Those who submit, one of whom waits for each of his tasks, and an end in their midst or after them.
fn scene() -> usize {
    let (pool, submitted) = (pool(), Arc::new(Mutex::default()));
    let clients = [false, true].map(|waits| {
        let (pool, submitted) = (pool.clone(), Arc::clone(&submitted));
        thread::spawn(move || submit(&pool, waits, &submitted))
    });
    let mut random = shuttle::rand::thread_rng();
    let mut early = Vec::from(clients);
    let late = early.split_off(random.gen_range(0..=early.len()));
    early.into_iter().for_each(|client| client.join().expect("no client panics"));
    let drained = if random.gen_bool(0.5) {
        pool.shutdown();
        Vec::new()
    } else {
        pool.shutdown_now()
    };
    assert!(pool.await_termination(Duration::MAX), "the pool terminates");
    let handed_out = drained.len();
    // Whoever waits for one of them goes on.
    drop(drained);
    late.into_iter().for_each(|client| client.join().expect("no client panics"));
    assert_eq!(pool.stats().pool_size, 0, "nobody is left in the pool");
    let accepted = std::mem::take(&mut *submitted.lock().expect("no panic under it"));
    for (handle, runs) in &accepted {
        let state = (handle.is_cancelled(), runs.load(Ordering::SeqCst));
        assert!(matches!(state, (true, 0) | (false, 1)), "a task runs once, or is handed out");
    }
    let cancelled = accepted.iter().filter(|(handle, _)| handle.is_cancelled()).count();
    assert_eq!(cancelled, handed_out, "no other task is cancelled");
    accepted.len()
}

fn submit(pool: &ScheduledThreadPool, waits: bool, submitted: &Mutex<Vec<Submitted>>) {
    for _ in 0..10 {
        let runs = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&runs);
        let body = move || {
            thread::yield_now();
            count.fetch_add(1, Ordering::SeqCst);
        };
        let Ok(handle) = pool.execute(body) else { return };
        submitted.lock().expect("no panic under it").push((handle.clone(), runs));
        if waits && handle.wait().is_err() {
            return;
        }
    }
}

fn pool() -> ScheduledThreadPool {
    ScheduledThreadPool::builder()
        .core_size(2)
        .thread_name_prefix("worker-")
        .clock(Arc::new(Still(ManualClock::new())))
        .thread_factory(|worker: WorkerThread| {
            thread::spawn(move || worker.run());
            Ok(())
        })
        .build()
        .expect("valid settings")
}
