//! The cost of a scheduled task beyond the bare engine, for an empty run: `cargo bench -p benches --bench facade_cost`.
//!
//! First a table in which all ways to run take turns in
//! one process, so that whatever else the machine does hurts all of them alike: the minimum and the
//! median over many rounds, and what is added to the engine's own. Then each way by itself, with its
//! allocations.
//!
//! One virtual worker on a clock that is moved by hand, so that no thread waits and no clock of the
//! operating system is read.

use divan::{Bencher, black_box};
use scheduler::__private::BenchTask;
use scheduler::{Event, Listener, Run, Zone};
use scheduler_core::trigger::CronTrigger;
use scheduler_core::{
    self as engine, Body, Clock, Due, Error, Fire, Fired, ManualClock, Now, OnError,
    ScheduledThreadPool, Stepped, SystemClock, Task, Timer, VirtualWorkers,
};
use std::sync::Arc;
use std::time::Duration;

#[global_allocator]
static ALLOCATIONS: divan::AllocProfiler = divan::AllocProfiler::system();

fn main() {
    // Not if the command line names a bench, a test or a list.
    if std::env::args().skip(1).all(|argument| argument == "--bench") {
        compare();
    }
    divan::main();
}

const PERIOD: Duration = Duration::from_millis(1);

struct Ear;

impl Listener for Ear {
    fn on_event(&self, event: &Event) {
        black_box(event);
    }
}

const SECOND: Duration = Duration::from_secs(1);

/// A timer of the engine that arms itself for the next second of the wall clock.
struct EachSecond;

impl Fire for EachSecond {
    fn fire(timer: &Arc<Timer<Self>>, run: &engine::Run) -> Fired {
        if let Due::Wall(due) = run.due() {
            timer.arm(Due::Wall(due + SECOND), run.started()).perform();
        }
        black_box(());
        Fired::NothingToFinish
    }
}

/// The ways to run again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    EngineRate,
    TaskRate,
    TaskRateHeard,
    EngineTimer,
    TaskCron,
    TaskCronHeard,
}

const WAYS: [Way; 6] = [
    Way::EngineRate,
    Way::TaskRate,
    Way::TaskRateHeard,
    Way::EngineTimer,
    Way::TaskCron,
    Way::TaskCronHeard,
];

impl Way {
    /// The way of the bare engine that it is compared with.
    fn bare(self) -> Self {
        match self {
            Self::EngineRate | Self::TaskRate | Self::TaskRateHeard => Self::EngineRate,
            Self::EngineTimer | Self::TaskCron | Self::TaskCronHeard => Self::EngineTimer,
        }
    }

    /// The time from one run to the next.
    fn period(self) -> Duration {
        match self.bare() {
            Self::EngineTimer => SECOND,
            _ => PERIOD,
        }
    }

    fn is_heard(self) -> bool {
        matches!(self, Self::TaskRateHeard | Self::TaskCronHeard)
    }
}

/// One task of its own in a pool of its own.
struct Stage {
    way: Way,
    clock: ManualClock,
    workers: VirtualWorkers,
    _pool: Arc<ScheduledThreadPool>,
}

impl Stage {
    fn of(way: Way) -> Self {
        let (clock, workers) = (ManualClock::new(), VirtualWorkers::new());
        let builder = ScheduledThreadPool::builder().core_size(1).clock(Arc::new(clock.clone()));
        let pool = Arc::new(builder.virtual_workers(&workers).build().expect("valid settings"));
        let listener = way.is_heard().then(|| Arc::new(Ear) as Arc<dyn Listener>);
        let task_maker =
            BenchTask { pool: Arc::clone(&pool), clock: Arc::new(clock.clone()), listener };
        let nothing = |run: &Run| {
            black_box(run);
        };
        let every_second =
            || CronTrigger::new("* * * * * *".parse().expect("valid cron"), Zone::UTC);
        let text = |error: Error| error.to_string();
        let submitted = match way {
            Way::EngineRate => {
                let task = Task::at_fixed_rate(PERIOD, body()).on_error(OnError::Continue);
                pool.submit_task(task.initial_delay(PERIOD)).map(drop).map_err(text)
            }
            Way::EngineTimer => {
                let timer = pool.timer("each second", EachSecond);
                let now = Now::read(&clock);
                timer.arm(Due::Wall(now.wall + SECOND), now).perform();
                Ok(())
            }
            Way::TaskRate | Way::TaskRateHeard => task_maker.at_fixed_rate(PERIOD, nothing),
            Way::TaskCron | Way::TaskCronHeard => task_maker.by_cron(every_second(), nothing),
        };
        submitted.expect("the pool is open");
        workers.run_until_idle();
        Self { way, clock, workers, _pool: pool }
    }

    /// Time passes, the worker takes the task, runs it, and puts it back.
    fn run_once(&self) {
        self.clock.advance(self.way.period());
        assert_eq!(self.workers.step(1), Stepped::Ran);
    }
}

fn body() -> Body {
    Body::new(|| {
        black_box(());
    })
}

const ROUNDS: usize = 400;
const RUNS: u32 = 1_000;

/// Has all ways take turns, and prints what each costs.
fn compare() {
    let stages: Vec<Stage> = WAYS.into_iter().map(Stage::of).collect();
    let time = SystemClock::new();
    let mut costs: Vec<Vec<f64>> = vec![Vec::with_capacity(ROUNDS); stages.len()];
    for _ in 0..ROUNDS {
        for (stage, costs) in stages.iter().zip(&mut costs) {
            let begin = time.now();
            for _ in 0..RUNS {
                stage.run_once();
            }
            costs.push(time.now().since(begin).as_secs_f64() * 1e9 / f64::from(RUNS));
        }
    }
    let costs: Vec<Cost> = costs.into_iter().map(Cost::of).collect();
    println!("ns per run, {ROUNDS} rounds of {RUNS} runs each, taking turns");
    println!(
        "{:<20} {:>8} {:>8} {:>22} {:>7}",
        "", "minimum", "median", "beyond the engine", "ratio"
    );
    for (way, cost) in WAYS.into_iter().zip(&costs) {
        let bare = WAYS.iter().position(|bare| *bare == way.bare()).expect("one of them");
        let bare = &costs[bare];
        let name = format!("{way:?}");
        println!(
            "{name:<20} {:>8.1} {:>8.1} {:>+10.1} / {:>+9.1} {:>7.2}",
            cost.minimum,
            cost.median,
            cost.minimum - bare.minimum,
            cost.median - bare.median,
            cost.minimum / bare.minimum,
        );
    }
    println!();
}

/// The cost of a run, in nanoseconds.
struct Cost {
    minimum: f64,
    median: f64,
}

impl Cost {
    fn of(mut rounds: Vec<f64>) -> Self {
        rounds.sort_by(f64::total_cmp);
        Self { minimum: rounds[0], median: rounds[rounds.len() / 2] }
    }
}

#[divan::bench(args = WAYS, sample_count = 300, sample_size = 1_000)]
fn one_run(bencher: Bencher<'_, '_>, way: Way) {
    let stage = Stage::of(way);
    bencher.bench_local(|| stage.run_once());
}
