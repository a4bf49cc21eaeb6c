//! A scheduled task for benchmarks, with the feature `__bench`.

use std::sync::Arc;
use std::time::Duration;

use scheduler_core::trigger::{CronTrigger, Zone};
use scheduler_core::{Clock, ScheduledThreadPool};

use super::control::Control;
use super::policy::TaskSpec;
use super::rule::Rule;
use super::scheduled_task::TaskEnv;
use crate::observe::{BusBuilder, Listener, TaskFacts};
use crate::run::Run;
use crate::run::inject::Call;

/// Starts scheduled tasks for benchmarks.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "for benchmarks only")]
pub struct BenchTask {
    /// The pool in which it runs.
    pub pool: Arc<ScheduledThreadPool>,
    /// The clock of that pool.
    pub clock: Arc<dyn Clock>,
    /// Gets every event, on the thread on which it happens.
    pub listener: Option<Arc<dyn Listener>>,
}

impl BenchTask {
    /// Submits a task at a fixed rate that begins after one period, with the default policy.
    ///
    /// # Errors
    ///
    /// The pool takes no tasks.
    pub fn at_fixed_rate(
        &self,
        period: Duration,
        body: impl Fn(&Run) + Send + Sync + 'static,
    ) -> Result<(), String> {
        self.start(Rule::FixedRate { period, initial_delay: Some(period) }, Call::of(body))
    }

    /// Submits a task that fires by a cron expression, with the default policy.
    ///
    /// # Errors
    ///
    /// The pool takes no tasks.
    pub fn by_cron(
        &self,
        trigger: CronTrigger,
        body: impl Fn(&Run) + Send + Sync + 'static,
    ) -> Result<(), String> {
        self.start(Rule::Cron(Arc::new(trigger)), Call::of(body))
    }

    fn start(&self, rule: Rule, call: Call) -> Result<(), String> {
        let facts = TaskFacts {
            name: "task".into(),
            function: None,
            kind: rule.kind(),
            rule: rule.to_string().into(),
            period: rule.period(),
            zone: rule.zone().unwrap_or(Zone::UTC),
            pool: "default".into(),
            tags: Arc::new([]),
            is_async: false,
            is_durable: false,
            location: None,
        };
        let bus = self.listener.iter().cloned().fold(BusBuilder::new(), BusBuilder::in_place);
        let bus = Arc::new(bus.build(Arc::clone(&self.clock)).expect("a bus without a thread"));
        let env = TaskEnv {
            pool: Arc::downgrade(&self.pool),
            clock: Arc::clone(&self.clock),
            bus,
            gates: Arc::default(),
            pool_events: None,
            on_end: None,
        };
        let spec = TaskSpec {
            facts: Arc::new(facts),
            rule,
            policy: Arc::default(),
            durable: None,
            job: None,
            missing: Vec::new(),
            is_zone_default: false,
            call,
            disabled: None,
        };
        let task = Control::make(spec, Arc::new(env), &self.pool);
        task.begin(&self.pool).map_err(|error| format!("{error:?}"))
    }
}
