//! The conditions of a life, drawn from its seed.

use std::sync::Arc;
use std::time::Duration;

use scheduler_store::{
    Limit, LimitSpec, OnLost, OnPark, Overlap, Payload, Priority, Rate, Rule, ScheduleSpec,
};

use crate::body::{POISON, WORK};
use crate::rules::{self, SimRules};
use scheduler_node::Rng;
use scheduler_node::{Config, TaskConfig};
use scheduler_node::{Misfire, Policy};

/// The faults of a life.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) processes: usize,
    /// One message in so many is dropped, repeated, or arrives very late; none if 0.
    pub(crate) network: u64,
    pub(crate) crashes: bool,
    pub(crate) freezes: bool,
    pub(crate) hangs: bool,
    pub(crate) stops: bool,
    pub(crate) steps: bool,
    pub(crate) outages: bool,
    pub(crate) poison: bool,
    pub(crate) builds: bool,
    pub(crate) commands: bool,
    pub(crate) lease: Duration,
    pub(crate) schedules: Vec<ScheduleSpec>,
    /// The rule of the first schedule in the second build; its second schedule has another calculator, and all have newer payloads.
    pub(crate) other_rule: Rule,
    pub(crate) rules: Arc<SimRules>,
    pub(crate) keep_done: Duration,
    /// The limits of the jobs, which have partitions then.
    pub(crate) limits: Option<LimitSpec>,
    /// Those in the second build.
    pub(crate) other_limits: Option<LimitSpec>,
}

/// The version of payloads that the second build knows, and the first one does not.
pub(crate) const NEWER: u32 = 2;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

impl Setup {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        let poison = rng.below(8) == 0;
        let mut some = |parts: u64| rng.below(parts) == 0;
        let (crashes, freezes, hangs) =
            (!poison && some(2), !poison && some(3), !poison && some(8));
        let (stops, steps, outages) = (some(2), some(4), !poison && some(4));
        let (builds, commands, is_short) = (some(3), some(2), some(3));
        let is_network = !poison && some(2);
        let network = if is_network { 4 + rng.below(30) } else { 0 };
        let mut sim_rules = SimRules::default();
        let count = rng.below(4) as usize;
        let schedules = (0..count).map(|index| definition(index, rng, &mut sim_rules)).collect();
        let limits = (rng.below(3) == 0).then(|| limits(rng));
        let other_limits = limits.clone().map(|mut other| {
            if rng.below(2) == 0 {
                other.all = limit(4, rng);
                other.each = ordered_as(limit(2, rng), other.each);
            }
            other
        });
        Self {
            processes: 1 + rng.below(3) as usize + usize::from(hangs),
            network,
            crashes,
            freezes,
            hangs,
            stops,
            steps,
            outages,
            poison,
            builds,
            commands,
            lease: Duration::from_secs(if is_short { 2 } else { 4 }),
            schedules,
            other_rule: rules::computed(ms(1_700), ms(300)),
            rules: Arc::new(sim_rules),
            // A clock that is set forward may end a retention at once.
            keep_done: if rng.below(3) == 0 && !steps {
                ms(500)
            } else {
                Duration::from_secs(3_600)
            },
            limits,
            other_limits,
        }
    }

    /// The configuration of a process.
    pub(crate) fn config(&self, process: usize, other_build: bool, rng: &mut Rng) -> Config {
        let mut definitions = self.schedules.clone();
        if let Some(first) = definitions.first_mut().filter(|_| other_build) {
            first.rule = self.other_rule.clone();
        }
        if let Some(second) = definitions.get_mut(1).filter(|_| other_build) {
            second.calculator = "2".to_owned();
        }
        let version = if other_build { NEWER } else { NEWER - 1 };
        for definition in definitions.iter_mut().filter(|_| other_build) {
            definition.payload.version = version;
        }
        let limits = if other_build { &self.other_limits } else { &self.limits };
        let threads = (rng.below(3) == 0).then(|| 1 + rng.below(2) as u32);
        let pool = threads.map(|_| 0);
        let task = |name: &str, limit| {
            let name: Arc<str> = Arc::from(name);
            TaskConfig { task: Arc::clone(&name), name, version, limit, pool, is_abandon: false }
        };
        Config {
            label: format!("process {process}"),
            build: if other_build { "2".into() } else { "1".into() },
            lease: self.lease,
            reap_every: self.lease / 3,
            poll_every: ms(700),
            prune_every: Duration::from_secs(3),
            compare_every: Duration::from_secs(6),
            answer_limit: self.lease / 4,
            workers: 1 + rng.below(4) as u32,
            pools: threads.into_iter().collect(),
            prefetch_max: rng.below(3) as u32 * 5,
            tasks: vec![task(WORK, (rng.below(3) == 0).then_some(2)), task(POISON, None)],
            definitions,
            limits: limits.iter().cloned().collect(),
            lost_spread: ms(300),
            keep_done: self.keep_done,
            keep_parked: Duration::from_secs(3_600),
            catch_up_limit: 1 + rng.below(5) as u32,
            ..Config::default()
        }
    }
}

/// A limit that may have each part.
pub(crate) fn limit(running: u64, rng: &mut Rng) -> Limit {
    let running = (rng.below(2) == 0).then(|| 1 + rng.below(running) as u32);
    let starts = 4 + rng.below(4) as u32;
    let (period, burst) = (ms(1_000), 1 + rng.below(2) as u32);
    let rate = (rng.below(3) == 0).then_some(Rate { starts, period, burst });
    let waiting = (rng.below(3) == 0).then(|| 1 + rng.below(4) as u32);
    Limit { running, rate, waiting, ..Limit::default() }
}

/// A limit of each partition with the order of another one: an order lasts for a life.
pub(crate) fn ordered_as(mut limit: Limit, other: Limit) -> Limit {
    if other.ordered.is_some() {
        (limit.running, limit.ordered) = (Some(1), other.ordered);
    }
    limit
}

fn limits(rng: &mut Rng) -> LimitSpec {
    let (all, mut each) = (limit(4, rng), limit(2, rng));
    if rng.below(3) == 0 {
        let on_park = if rng.below(4) == 0 { OnPark::Hold } else { OnPark::GoOn };
        (each.running, each.ordered) = (Some(1), Some(on_park));
    }
    LimitSpec { task: WORK.to_owned(), all, each, ..LimitSpec::default() }
}

fn definition(index: usize, rng: &mut Rng, rules: &mut SimRules) -> ScheduleSpec {
    let period = ms(400 + rng.below(16) * 250);
    let rule = match rng.below(6) {
        0 | 1 => rules::rate(ms(rng.below(2_000)), period),
        2 => rules::delay(ms(rng.below(2_000)), period),
        3 => rules::once(ms(rng.below(15_000))),
        _ => rules::computed(period, ms(rng.below(1_000))),
    };
    let (misfire, window) = match rng.below(3) {
        0 => (Misfire::RunOnce, None),
        1 => (Misfire::Skip, None),
        _ => (Misfire::CatchUp, Some(ms(1_000 + rng.below(10) * 1_000))),
    };
    let jitter = if rng.below(4) == 0 { ms(200) } else { Duration::ZERO };
    let overlap = match rng.below(3) {
        0 => Overlap::Skip,
        1 => Overlap::QueueOne,
        _ => Overlap::Allow,
    };
    let on_lost = if rng.below(4) == 0 { OnLost::Abandon } else { OnLost::Rerun };
    let name = format!("s{index}");
    rules.policies.insert(name.clone(), Policy { misfire, window, jitter, until: None });
    ScheduleSpec { overlap, on_lost, ..plain(&name, rule) }
}

/// A schedule without anything special.
pub(crate) fn plain(name: &str, rule: Rule) -> ScheduleSpec {
    ScheduleSpec {
        name: name.to_owned(),
        task: WORK.to_owned(),
        payload: Payload::default(),
        queue: scheduler_store::DEFAULT_QUEUE.to_owned(),
        priority: Priority::Normal,
        partition: None,
        rule,
        calculator: "1".to_owned(),
        overlap: Overlap::Skip,
        max_attempts: 20,
        on_lost: OnLost::Rerun,
        is_dynamic: false,
    }
}
