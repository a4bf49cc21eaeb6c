//! A node on a model store, with a small driver.

mod claims;
mod session;
mod ticks;

use std::sync::Arc;
use std::time::Duration;

use scheduler_expr::Tick;
use scheduler_store::{
    ClaimRef, Command, CommandOutcome, End, Enqueue, Finished, JobFilter, JobId, JobState, Model,
    NewJob, Next, OnLost, Open, Overlap, PauseScope, Payload, Priority, Refusal, Rule,
    ScheduleSpec, SessionInfo, SessionTask, Store, StoreError, StoreTime, StoredJob,
    StoredSchedule, Timing, Uuid, When,
};

use super::Node;
use crate::config::{Config, Misfire, Policy, Rules, TaskConfig};
use crate::effect::{Answer, Channel, Effect, Input, LostReason, NodeEvent, Request, RequestId};
use crate::rng::Rng;

const START: StoreTime = StoreTime::from_micros(1_700_000_000_000_000);
/// The clock of a process, which is seven seconds ahead.
const WALL: StoreTime = StoreTime::from_micros(1_700_000_007_000_000);

#[derive(Debug, Default)]
struct Every(Policy);

impl Rules for Every {
    fn check(&self, schedule: &StoredSchedule) -> Result<(), String> {
        match schedule.rule().text.as_str() {
            "lunar" => Err("not known".to_owned()),
            _ => Ok(()),
        }
    }

    fn next_after(&self, _: &str, after: StoreTime) -> Next {
        Next::At(after.after(Duration::from_secs(1)))
    }

    fn policy(&self, _: &StoredSchedule) -> Policy {
        self.0
    }
}

struct Driver {
    node: Node,
    model: Model,
    now: Tick,
    /// The requests without an answer, and when each answer comes.
    asked: Vec<(Tick, Channel, RequestId, Request)>,
    /// Runs, and when they end.
    runs: Vec<(Tick, ClaimRef)>,
    queue: Vec<StoredJob>,
    workers: usize,
    lasts: Duration,
    is_away: bool,
    /// The request that the store answers with an error.
    failing: Option<&'static str>,
    /// The answers of a store that does not do as the model.
    other_answer: fn(&Request) -> Option<Result<Answer, StoreError>>,
    /// By how much the store's clock was set forward.
    set_by: Duration,
    cancels: u32,
    enqueued: u32,
    latency: Duration,
    sent: Vec<(Tick, Request)>,
    events: Vec<NodeEvent>,
    is_stopped: bool,
}

fn config() -> Config {
    let task = TaskConfig {
        name: "work".into(),
        task: "work".into(),
        version: 1,
        limit: None,
        pool: None,
        is_abandon: false,
    };
    Config { tasks: vec![task], ..Config::default() }
}

fn definition(timing: Timing) -> ScheduleSpec {
    ScheduleSpec {
        name: "s".into(),
        task: "work".into(),
        payload: scheduler_store::Payload::default(),
        queue: scheduler_store::DEFAULT_QUEUE.into(),
        priority: Priority::Normal,
        partition: None,
        rule: Rule { text: format!("{timing:?}"), timing },
        calculator: "1".into(),
        overlap: Overlap::Skip,
        max_attempts: 3,
        on_lost: scheduler_store::OnLost::Rerun,
        is_dynamic: false,
    }
}

fn after(seconds: f64) -> Tick {
    Tick::ZERO + Duration::from_secs_f64(seconds)
}

impl Driver {
    fn new(config: Config, policy: Policy) -> Self {
        let workers = config.workers as usize;
        let now = Tick::ZERO;
        let node = Node::new(Arc::new(config), Arc::new(Every(policy)), Rng::new(1), now, WALL);
        Self {
            node,
            model: Model::new(),
            now,
            asked: Vec::new(),
            runs: Vec::new(),
            queue: Vec::new(),
            workers,
            lasts: Duration::from_millis(1),
            is_away: false,
            failing: None,
            other_answer: |_| None,
            set_by: Duration::ZERO,
            cancels: 0,
            enqueued: 0,
            latency: Duration::from_millis(1),
            sent: Vec::new(),
            events: Vec::new(),
            is_stopped: false,
        }
    }

    /// Another process on the same store, from an instant on.
    fn other(&self, config: Config, policy: Policy, now: Tick) -> Self {
        let rules = Arc::new(Every(policy));
        let node = Node::new(Arc::new(config.clone()), rules, Rng::new(2), now, WALL);
        Self { node, model: self.model.clone(), now, ..Self::new(config, policy) }
    }

    fn store_now(&self) -> StoreTime {
        START.after(self.now.since(Tick::ZERO) + self.set_by)
    }

    fn enqueue(&mut self, count: u32) {
        self.enqueue_as(count, |_| {});
    }

    fn enqueue_as(&mut self, count: u32, mut change: impl FnMut(&mut NewJob)) {
        let mut job = |number: u32| {
            let id = JobId::from_uuid(Uuid::from_u128(u128::from(self.enqueued + number) + 1));
            let mut job = NewJob::new(id, "work");
            change(&mut job);
            job
        };
        self.model.set_now(self.store_now());
        let jobs = (0..count).map(&mut job).collect();
        self.enqueued += count;
        let request = Enqueue { jobs, not_after: StoreTime::MAX };
        self.model.enqueue(&request).expect("a model answers");
    }

    fn step(&mut self, input: Input) {
        let mut effects = Vec::new();
        self.node.step(input, self.now, &mut effects);
        for effect in effects {
            match effect {
                Effect::Ask { channel, request, what, .. } => {
                    self.sent.push((self.now, what.clone()));
                    self.asked.push((self.now + self.latency, channel, request, what));
                }
                Effect::Start(job) => self.queue.push(StoredJob::clone(&job)),
                Effect::Withdraw(held) => self.queue.retain(|job| job.held() != held),
                Effect::Event(event) => self.events.push(event),
                Effect::Stopped => self.is_stopped = true,
                Effect::Cancel(_) => self.cancels += 1,
                Effect::Lost(_) | Effect::Outlived(_) => {}
            }
        }
        while self.runs.len() < self.workers && !self.queue.is_empty() {
            let held = self.queue.remove(0).held();
            if self.node.begin(held, self.now) {
                self.runs.push((self.now + self.lasts, held));
            }
        }
    }

    fn until(&mut self, end: Tick) {
        loop {
            let answer = self.asked.iter().map(|(at, ..)| *at).min();
            let run = self.runs.iter().map(|(at, _)| *at).min();
            let [store, lease] = [Channel::Store, Channel::Lease]
                .map(|channel| self.node.wake(channel).map(|at| at.max(self.now)));
            let next = [answer, run, store, lease].into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            self.now = next;
            if answer == Some(next) {
                let index =
                    self.asked.iter().position(|(at, ..)| *at == next).expect("it is there");
                let (_, _, request, what) = self.asked.remove(index);
                self.model.set_now(self.store_now());
                let away = self.is_away.then(|| Err(StoreError::Unavailable("away".into())));
                let is_failing = self.failing == Some(what.name());
                let failed = is_failing.then(|| Err(StoreError::Failed("no right (42501)".into())));
                let other = away.or(failed).or_else(|| (self.other_answer)(&what));
                let result = other.unwrap_or_else(|| what.execute(&self.model));
                self.step(Input::Answer { request, result });
            } else if run == Some(next) {
                let index = self.runs.iter().position(|(at, _)| *at == next).expect("it is there");
                let (_, held) = self.runs.remove(index);
                self.step(Input::Ended { held, end: End::Done });
            } else if store == Some(next) {
                self.step(Input::Timer(Channel::Store));
            } else {
                self.step(Input::Timer(Channel::Lease));
            }
        }
        self.now = end;
    }

    fn jobs(&self, state: JobState) -> Vec<StoredJob> {
        let filter = JobFilter { state: Some(state), ..JobFilter::default() };
        self.model.jobs(&filter, u32::MAX).expect("a model answers")
    }

    /// The number of polls among the requests from this index on.
    fn polls(&self, first: usize) -> usize {
        let is_poll = |request: &Request| matches!(request, Request::Poll(_));
        self.sent[first..].iter().filter(|(_, request)| is_poll(request)).count()
    }
}
