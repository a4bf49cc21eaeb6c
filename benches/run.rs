//! What one run of a task that does nothing costs the engine, from due to due again.
//!
//! `cargo bench -p benches --bench run`. One virtual worker on a clock moved by hand, so that a
//! sample is the engine's own work and no thread waits; then one real worker that is never idle. A task
//! with a pace is to cost no more than one at a fixed rate, and to allocate as little.

use divan::Bencher;
use scheduler_core::{
    Asked, Body, Due, ManualClock, Occasion, Pace, ScheduledThreadPool, Stepped, Task, VirtualCrew,
};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

#[global_allocator]
static ALLOCATIONS: divan::AllocProfiler = divan::AllocProfiler::system();

fn main() {
    divan::main();
}

const PERIOD: Duration = Duration::from_millis(1);

/// The grid of a fixed rate that catches up, as a pace.
struct Grid(Duration);

impl Pace for Grid {
    fn next(&self, asked: &Asked<'_>) -> Option<Due> {
        let last = match asked.occasion {
            Occasion::RunEnded { due, .. } => due.as_tick(asked.now),
            Occasion::First | Occasion::Renewed => asked.now.tick,
        };
        Some(Due::Tick(last + self.0))
    }
}

/// The ways to run again and again.
#[derive(Clone, Copy, Debug)]
enum Way {
    FixedRate,
    Paced,
}

const WAYS: [Way; 2] = [Way::FixedRate, Way::Paced];

impl Way {
    fn task(self, period: Duration, body: Body) -> Task<()> {
        match self {
            Self::FixedRate => Task::at_fixed_rate(period, body).initial_delay(period),
            Self::Paced => Task::paced(Grid(period), body),
        }
    }
}

/// Time passes, a worker takes the task, runs it, and puts it back.
#[divan::bench(args = WAYS, sample_count = 300, sample_size = 2_000)]
fn one_run(bencher: Bencher<'_, '_>, way: Way) {
    let (clock, crew) = (ManualClock::new(), VirtualCrew::new());
    let builder = ScheduledThreadPool::builder().core_size(1).clock(Arc::new(clock.clone()));
    let pool = builder.virtual_crew(&crew).build().expect("valid settings");
    let _task = pool.submit_task(way.task(PERIOD, Body::new(|| ()))).expect("the pool is open");
    crew.run_until_idle();
    bencher.bench_local(|| {
        clock.advance(PERIOD);
        assert_eq!(crew.step(1), Stepped::Ran);
    });
}

/// As `one_run`, among ten thousand tasks that wait.
#[divan::bench(args = WAYS, sample_count = 300, sample_size = 2_000)]
fn one_run_among_many(bencher: Bencher<'_, '_>, way: Way) {
    let (clock, crew) = (ManualClock::new(), VirtualCrew::new());
    let builder = ScheduledThreadPool::builder().core_size(1).clock(Arc::new(clock.clone()));
    let pool = builder.virtual_crew(&crew).build().expect("valid settings");
    for _ in 0..10_000 {
        pool.submit_task(way.task(PERIOD * 10_000_000, Body::new(|| ()))).expect("it is open");
    }
    pool.submit_task(way.task(PERIOD, Body::new(|| ()))).expect("the pool is open");
    crew.run_until_idle();
    bencher.bench_local(|| {
        clock.advance(PERIOD);
        assert_eq!(crew.step(1), Stepped::Ran);
    });
}

const BATCH: u32 = 10_000;

/// Ten thousand runs back to back on a real worker: always due, so that it never waits.
#[divan::bench(args = WAYS, sample_count = 100, sample_size = 1)]
fn ten_thousand_runs_on_a_thread(bencher: Bencher<'_, '_>, way: Way) {
    let pool = ScheduledThreadPool::new(1);
    let ended = submit_busy(&pool, way);
    bencher.bench_local(|| ended.recv().expect("the task runs on"));
    drop(pool);
}

/// A task that is always due, and that reports each time it has run so often.
fn submit_busy(pool: &ScheduledThreadPool, way: Way) -> Receiver<()> {
    let (end, ended) = sync_channel(0);
    let mut runs = 0;
    let body = Body::new(move || {
        runs += 1;
        if runs % BATCH == 0 {
            // The bench is over when nobody listens.
            let _ = end.send(());
        }
    });
    pool.submit_task(way.task(Duration::from_nanos(1), body)).expect("the pool is open");
    ended
}

/// A waiting task asks its pace anew.
#[divan::bench(sample_count = 300, sample_size = 2_000)]
fn one_renewal(bencher: Bencher<'_, '_>) {
    let crew = VirtualCrew::new();
    let clock = Arc::new(ManualClock::new());
    let builder = ScheduledThreadPool::builder().core_size(1).clock(clock);
    let pool = builder.virtual_crew(&crew).build().expect("valid settings");
    let task = Way::Paced.task(PERIOD, Body::new(|| ()));
    let handle = pool.submit_task(task).expect("the pool is open");
    crew.run_until_idle();
    bencher.bench_local(|| handle.renew());
}

/// An alarm is set and taken back, as by a run that ends within its limit.
#[divan::bench(sample_count = 300, sample_size = 2_000)]
fn one_alarm_taken_back(bencher: Bencher<'_, '_>) {
    let crew = VirtualCrew::new();
    let clock = Arc::new(ManualClock::new());
    let builder = ScheduledThreadPool::builder().core_size(1).clock(clock);
    let pool = builder.virtual_crew(&crew).build().expect("valid settings");
    let at = scheduler_core::Tick::ZERO + PERIOD;
    bencher.bench_local(|| drop(pool.call_at(at, || ())));
}
