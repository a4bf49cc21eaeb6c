//! What a conductor costs beyond the bare engine, for a run that does nothing and that nobody listens to.
//!
//! Run by hand, because a timed assertion says nothing on a busy machine:
//! `cargo test --release --lib conduct::tests::cost -- --ignored --nocapture`

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

#[test]
#[ignore = "a measurement"]
#[expect(clippy::print_stdout, reason = "a measurement is for people")]
fn a_run_that_does_nothing() {
    let step = Duration::from_millis(1);
    let bare = Bench::new();
    let body = || {
        black_box(scheduler_core::Run::current());
    };
    let task = Task::at_fixed_rate(step, Body::new(body)).on_error(OnError::Continue);
    bare.pool.submit_task(task.initial_delay(step)).unwrap();
    let bare = bare.measure(step);
    let conducted = Bench::new();
    conducted.conduct(Rule::FixedRate { period: step, initial_delay: step });
    let conducted = conducted.measure(step);
    let second = Duration::from_secs(1);
    let bare_cron = Bench::new();
    let Rule::Cron(trigger) = cron("* * * * * *") else { unreachable!("it is cron") };
    let task = Task::on_trigger((*trigger).clone(), Body::new(body));
    bare_cron.pool.submit_task(task).unwrap();
    let bare_cron = bare_cron.measure(second);
    let conducted_cron = Bench::new();
    conducted_cron.conduct(cron("* * * * * *"));
    let conducted_cron = conducted_cron.measure(second);
    println!("fixed rate: engine {bare:?}, conducted {conducted:?}");
    println!("cron: engine {bare_cron:?}, conducted {conducted_cron:?}");
}
