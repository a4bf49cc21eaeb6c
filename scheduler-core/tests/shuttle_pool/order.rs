//! A scene of workers that take due tasks in their order.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use scheduler_core::{ManualClock, ScheduledThreadPool, TaskHandle, WorkerThread};
use shuttle::rand::Rng;
use shuttle::scheduler::RandomScheduler;
use shuttle::sync::Mutex;
use shuttle::thread;

const MS: Duration = Duration::from_millis(1);

const WORKERS: usize = 4;

const TASKS: usize = 16;

#[test]
fn random_schedules() {
    let scheduler = RandomScheduler::new_from_seed(super::SEED, super::schedules());
    super::sample("order", scheduler, scene);
}

/// A task: how it is watched, and which place it has in the order of all.
struct Known {
    handle: TaskHandle<()>,
    started: Arc<AtomicUsize>,
}

/// All workers are at a task while the others come, from two threads, some of them late and some due before those
/// that came before; then they are free.
fn scene() -> usize {
    let clock = ManualClock::new();
    let pool = pool(&clock);
    let is_free = Arc::new((Mutex::new(false), shuttle::sync::Condvar::new()));
    for _ in 0..WORKERS {
        let is_free = Arc::clone(&is_free);
        let body = move || {
            let mut guard = is_free.0.lock().unwrap();
            while !*guard {
                guard = is_free.1.wait(guard).unwrap();
            }
        };
        pool.execute(body).unwrap();
    }
    let starts = Arc::new(AtomicUsize::new(0));
    let submit = {
        let (pool, clock, starts) = (pool.clone(), clock.clone(), Arc::clone(&starts));
        move || {
            let mut random = shuttle::rand::thread_rng();
            let mut known = Vec::new();
            for _ in 0..TASKS / 2 {
                let delay = MS * random.gen_range(0..4);
                let (started, starts) = (Arc::new(AtomicUsize::new(0)), Arc::clone(&starts));
                let noted = Arc::clone(&started);
                let body = move || {
                    noted.store(1 + starts.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
                };
                known.push(Known { handle: pool.schedule(delay, body).unwrap(), started });
                if random.gen_bool(0.3) {
                    clock.advance(MS);
                }
                if random.gen_bool(0.2) {
                    assert!(pool.stats().queued <= TASKS + WORKERS);
                }
            }
            known
        }
    };
    let other = thread::spawn(submit.clone());
    let mut known = submit();
    known.extend(other.join().unwrap());
    clock.advance(MS * 8);
    known.sort_by(|one, other| one.handle.compare(&other.handle));
    {
        *is_free.0.lock().unwrap() = true;
        is_free.1.notify_all();
    }
    pool.shutdown();
    assert!(pool.await_termination(Duration::MAX), "the pool terminates");
    let starts: Vec<usize> = known.iter().map(|task| task.started.load(Ordering::SeqCst)).collect();
    for (rank, start) in starts.iter().enumerate() {
        // Each other worker may have taken one before, and begin it later.
        let late = starts[..rank].iter().filter(|earlier| *earlier > start).count();
        assert!(late < WORKERS, "task {rank} of {starts:?} is before {late} that come before it");
    }
    TASKS + WORKERS
}

fn pool(clock: &ManualClock) -> ScheduledThreadPool {
    ScheduledThreadPool::builder()
        .core_size(WORKERS)
        .clock(Arc::new(clock.clone()))
        .thread_factory(|worker: WorkerThread| {
            thread::spawn(move || worker.run());
            Ok(())
        })
        .build()
        .expect("valid settings")
}
