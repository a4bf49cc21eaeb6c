//! The cost of one empty run in the engine, from one due time to the next.
//!
//! `cargo bench -p benches --bench run`. One virtual worker on a clock moved by hand, so that a
//! sample is the engine's own work and no thread waits; then one real worker that is never idle. A timer
//! that arms itself at each firing is to cost little more than a task at a fixed rate.

use divan::Bencher;
use scheduler_core::{
    Body, Due, Fire, Fired, ManualClock, Now, Run, ScheduledThreadPool, Stepped, SystemClock, Task,
    Timer, VirtualWorkers,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

#[global_allocator]
static ALLOCATIONS: divan::AllocProfiler = divan::AllocProfiler::system();

fn main() {
    divan::main();
}

const PERIOD: Duration = Duration::from_millis(1);

fn at_rate(period: Duration, body: Body) -> Task<()> {
    Task::at_fixed_rate(period, body).initial_delay(period)
}

/// Time passes, a worker takes the task, runs it, and puts it back.
#[divan::bench(sample_count = 300, sample_size = 2_000)]
fn one_run(bencher: Bencher<'_, '_>) {
    let (clock, workers) = (ManualClock::new(), VirtualWorkers::new());
    let builder = ScheduledThreadPool::builder().core_size(1).clock(Arc::new(clock.clone()));
    let pool = builder.virtual_workers(&workers).build().expect("valid settings");
    let _task = pool.submit_task(at_rate(PERIOD, Body::new(|| ()))).expect("the pool is open");
    workers.run_until_idle();
    bencher.bench_local(|| {
        clock.advance(PERIOD);
        assert_eq!(workers.step(1), Stepped::Ran);
    });
}

/// A timer at a fixed rate, which may report how often it has fired.
struct Rate {
    period: Duration,
    is_finished: bool,
    fired: AtomicU32,
    end: Option<SyncSender<()>>,
}

impl Rate {
    fn start(self, pool: &ScheduledThreadPool, now: Now) -> Arc<Timer<Self>> {
        let due = Due::Tick(now.tick + self.period);
        let timer = pool.timer("rate", self);
        timer.arm(due, now).perform();
        timer
    }

    fn busy(is_finished: bool, end: SyncSender<()>) -> Self {
        let (period, fired) = (Duration::from_nanos(1), AtomicU32::new(0));
        Self { period, is_finished, fired, end: Some(end) }
    }
}

impl Fire for Rate {
    fn fire(timer: &Arc<Timer<Self>>, run: &Run) -> Fired {
        let started = run.started();
        timer.arm(Due::Tick(run.due().as_tick(started) + timer.period), started).perform();
        if let Some(end) = &timer.end
            && timer.fired.fetch_add(1, Ordering::Relaxed) % BATCH == BATCH - 1
        {
            // Sending fails once the benchmark has ended.
            let _ = end.send(());
        }
        if timer.is_finished { Fired::Returned } else { Fired::NothingToFinish }
    }
}

/// As `one_run`, of a timer that is armed anew at each firing, without and with a call of `finish`.
#[divan::bench(args = [false, true], sample_count = 300, sample_size = 2_000)]
fn one_firing(bencher: Bencher<'_, '_>, is_finished: bool) {
    let (clock, workers) = (ManualClock::new(), VirtualWorkers::new());
    let builder = ScheduledThreadPool::builder().core_size(1).clock(Arc::new(clock.clone()));
    let pool = builder.virtual_workers(&workers).build().expect("valid settings");
    let rate = Rate { period: PERIOD, is_finished, fired: AtomicU32::new(0), end: None };
    let _timer = rate.start(&pool, Now::read(&clock));
    workers.run_until_idle();
    bencher.bench_local(|| {
        clock.advance(PERIOD);
        assert_eq!(workers.step(1), Stepped::Ran);
    });
}

/// As `one_run`, among ten thousand tasks that wait.
#[divan::bench(sample_count = 300, sample_size = 2_000)]
fn one_run_among_many(bencher: Bencher<'_, '_>) {
    let (clock, workers) = (ManualClock::new(), VirtualWorkers::new());
    let builder = ScheduledThreadPool::builder().core_size(1).clock(Arc::new(clock.clone()));
    let pool = builder.virtual_workers(&workers).build().expect("valid settings");
    for _ in 0..10_000 {
        pool.submit_task(at_rate(PERIOD * 10_000_000, Body::new(|| ()))).expect("it is open");
    }
    pool.submit_task(at_rate(PERIOD, Body::new(|| ()))).expect("the pool is open");
    workers.run_until_idle();
    bencher.bench_local(|| {
        clock.advance(PERIOD);
        assert_eq!(workers.step(1), Stepped::Ran);
    });
}

const BATCH: u32 = 10_000;

/// Ten thousand runs back to back on a real worker: always due, so that it never waits.
#[divan::bench(sample_count = 100, sample_size = 1)]
fn ten_thousand_runs_on_a_thread(bencher: Bencher<'_, '_>) {
    let pool = ScheduledThreadPool::new(1);
    let ended = submit_busy(&pool);
    bencher.bench_local(|| ended.recv().expect("the task runs on"));
    drop(pool);
}

/// As `ten_thousand_runs_on_a_thread`, of a timer that is armed anew at each firing.
#[divan::bench(args = [false, true], sample_count = 100, sample_size = 1)]
fn ten_thousand_firings_on_a_thread(bencher: Bencher<'_, '_>, is_finished: bool) {
    let pool = ScheduledThreadPool::new(1);
    let (end, ended) = sync_channel(0);
    let _timer = Rate::busy(is_finished, end).start(&pool, Now::read(&SystemClock::new()));
    bencher.bench_local(|| ended.recv().expect("the timer fires on"));
    drop(pool);
}

/// A task that is always due, and that reports each time it has run so often.
fn submit_busy(pool: &ScheduledThreadPool) -> Receiver<()> {
    let (end, ended) = sync_channel(0);
    let mut runs = 0;
    let body = Body::new(move || {
        runs += 1;
        if runs % BATCH == 0 {
            // Sending fails once the benchmark has ended.
            let _ = end.send(());
        }
    });
    pool.submit_task(at_rate(Duration::from_nanos(1), body)).expect("the pool is open");
    ended
}

/// An alarm is set and taken back, as by a run that ends within its limit.
#[divan::bench(sample_count = 300, sample_size = 2_000)]
fn one_alarm_taken_back(bencher: Bencher<'_, '_>) {
    let workers = VirtualWorkers::new();
    let clock = Arc::new(ManualClock::new());
    let builder = ScheduledThreadPool::builder().core_size(1).clock(clock);
    let pool = builder.virtual_workers(&workers).build().expect("valid settings");
    let at = scheduler_core::Tick::ZERO + PERIOD;
    bencher.bench_local(|| drop(pool.call_at(at, || ())));
}
