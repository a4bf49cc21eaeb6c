//! What a conductor costs beyond the bare engine, for a run that does nothing and that nobody listens to.
//!
//! Run by hand, because a timed assertion says nothing on a busy machine:
//! `cargo test --release --lib conduct::tests::cost -- --ignored --nocapture --test-threads 1`

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use scheduler_core::Body;
use scheduler_core::Clock;
use scheduler_core::ManualClock;
use scheduler_core::OnError;
use scheduler_core::ScheduledThreadPool;
use scheduler_core::Stepped;
use scheduler_core::SystemClock;
use scheduler_core::Task;
use scheduler_core::VirtualCrew;
use scheduler_core::trigger::Zone;

use super::stage::cron;
use crate::conduct::Conductor;
use crate::conduct::Parts;
use crate::conduct::Policy;
use crate::conduct::Rule;
use crate::inject::Call;
use crate::observe::BusBuilder;
use crate::observe::TaskFacts;
use crate::run::Run;

const RUNS: u32 = 200_000;

struct Bench {
    clock: ManualClock,
    crew: VirtualCrew,
    pool: Arc<ScheduledThreadPool>,
}

impl Bench {
    fn new() -> Self {
        let (clock, crew) = (ManualClock::new(), VirtualCrew::new());
        let builder = ScheduledThreadPool::builder().core_size(1).clock(Arc::new(clock.clone()));
        let pool = Arc::new(builder.virtual_crew(&crew).build().unwrap());
        Self { clock, crew, pool }
    }

    fn conduct(&self, rule: Rule) {
        let clock: Arc<dyn Clock> = Arc::new(self.clock.clone());
        let facts = TaskFacts {
            name: "task".into(),
            function: None,
            kind: rule.kind(),
            rule: "a rule".into(),
            period: None,
            zone: Zone::UTC,
            pool: "default".into(),
            is_async: false,
            location: None,
        };
        let call = Call::of(|run: &Run| {
            black_box(run);
        });
        let bus = Arc::new(BusBuilder::new().build(Arc::clone(&clock)).unwrap());
        let (policy, pool) = (Policy::default(), Arc::clone(&self.pool));
        Conductor::start(Parts { facts, rule, policy, call, pool, clock, bus }).unwrap();
    }

    /// The shortest time per run of several rounds.
    fn measure(&self, step: Duration) -> Duration {
        let time = SystemClock::new();
        let rounds = (0..9).map(|_| {
            let begin = time.now();
            for _ in 0..RUNS {
                self.clock.advance(step);
                assert_eq!(self.crew.step(1), Stepped::Ran);
            }
            time.now().since(begin) / RUNS
        });
        rounds.min().unwrap_or_default()
    }
}

#[expect(clippy::print_stdout, reason = "a measurement is for people")]
fn say(what: &str, cost: Duration) {
    println!("{what}: {cost:?}");
}

const STEP: Duration = Duration::from_millis(1);

fn body() -> Body {
    Body::new(|| {
        black_box(scheduler_core::Run::current());
    })
}

#[test]
#[ignore = "a measurement"]
fn fixed_rate_bare() {
    let bench = Bench::new();
    let task = Task::at_fixed_rate(STEP, body()).on_error(OnError::Continue);
    bench.pool.submit_task(task.initial_delay(STEP)).unwrap();
    say("fixed rate, engine", bench.measure(STEP));
}

#[test]
#[ignore = "a measurement"]
fn fixed_rate_conducted() {
    let bench = Bench::new();
    bench.conduct(Rule::FixedRate { period: STEP, initial_delay: STEP });
    say("fixed rate, conducted", bench.measure(STEP));
}

#[test]
#[ignore = "a measurement"]
fn cron_bare() {
    let bench = Bench::new();
    let Rule::Cron(trigger) = cron("* * * * * *") else { unreachable!("it is cron") };
    bench.pool.submit_task(Task::on_trigger((*trigger).clone(), body())).unwrap();
    say("cron, engine", bench.measure(STEP * 1_000));
}

#[test]
#[ignore = "a measurement"]
fn cron_conducted() {
    let bench = Bench::new();
    bench.conduct(cron("* * * * * *"));
    say("cron, conducted", bench.measure(STEP * 1_000));
}
