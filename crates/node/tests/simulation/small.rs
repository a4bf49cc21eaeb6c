//! All states of small worlds.
//!
//! A world has two nodes, a schedule, a job, one crash, and one message that is late.
//!
//! Where lives draw what happens, here everything that can happen is tried: in which order the store executes what was
//! sent at the same time, when runs end, which message is late and until when, who crashes and when. A state that was seen
//! before is not looked at again. When the time is up, the faults end, and all has to be done soon.
//!
//! It is a search of our own rather than a library's: a state has the store's whole contents and two nodes in it, which
//! differ by a hash of what they print, and the search over them is thirty lines.

use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::fmt::{self, Write};
use std::hash::Hasher;
use std::sync::Arc;
use std::time::Duration;

use scheduler_store::{
    End, Enqueue, JobFilter, JobId, JobState, Model, ModelState, NewJob, Store, StoreTime,
    StoredJob, Uuid,
};

use crate::body::WORK;
use crate::rules::{self, SimRules};
use crate::setup::plain;
use scheduler_node::Node;
use scheduler_node::Rng;
use scheduler_node::Tick;
use scheduler_node::{Answer, Channel, Request, RequestId};
use scheduler_node::{Config, TaskConfig};
use scheduler_node::{Effect, Input};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The time moves by at least so much, in milliseconds.
const STEP: u64 = 50;

#[derive(Clone)]
struct Small {
    millis: u64,
    nodes: [Option<Node>; 2],
    state: ModelState,
    messages: Vec<Message>,
    runs: Vec<(usize, StoredJob)>,
    /// The crashes and late messages that are left.
    crashes: u32,
    late: u32,
    /// The jobs whose outcome was stored.
    over: BTreeSet<JobId>,
}

#[derive(Clone, Debug)]
struct Message {
    node: usize,
    request: RequestId,
    what: Request,
    deadline: Tick,
    /// The answer, if it was executed.
    answer: Option<Result<Answer, scheduler_store::StoreError>>,
    is_late: bool,
    /// True if the node has given it up, or has crashed.
    is_given_up: bool,
}

/// An event that can come next.
#[derive(Clone, Copy, Debug)]
enum Choice {
    Execute(usize),
    /// Executed, but its answer is late.
    ExecuteSilently(usize),
    Delay(usize),
    Deliver(usize),
    Ends(usize),
    Crash(usize),
    Time,
}

struct Bytes(DefaultHasher);

impl fmt::Write for Bytes {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

impl Small {
    fn new() -> Self {
        let rule = rules::rate(ms(200), ms(600));
        let config = Config {
            lease: ms(1_000),
            reap_every: ms(500),
            poll_every: ms(400),
            compare_every: ms(900),
            answer_limit: ms(200),
            workers: 1,
            prefetch_max: 0,
            tasks: vec![TaskConfig {
                name: WORK.into(),
                task: WORK.into(),
                version: 0,
                limit: None,
                pool: None,
                is_abandon: false,
            }],
            definitions: vec![plain("s0", rule)],
            lost_spread: ms(10),
            ..Config::default()
        };
        let config = Arc::new(config);
        let node = |seed| {
            let rules = Arc::new(SimRules::default());
            Some(Node::new(
                Arc::clone(&config),
                rules,
                Rng::new(seed),
                Tick::ZERO,
                StoreTime::default(),
            ))
        };
        let model = Model::new();
        let job =
            NewJob { max_attempts: 9, ..NewJob::new(JobId::from_uuid(Uuid::from_u128(1)), WORK) };
        let enqueue = Enqueue { jobs: vec![job], not_after: StoreTime::MAX };
        drop(model.enqueue(&enqueue));
        let mut world = Self {
            millis: 0,
            nodes: [node(1), node(2)],
            state: model.state(),
            messages: Vec::new(),
            runs: Vec::new(),
            crashes: 1,
            late: 1,
            over: BTreeSet::new(),
        };
        for node in 0..2 {
            world.step(node, Input::Timer(Channel::Store));
        }
        world
    }

    fn tick(&self) -> Tick {
        Tick::ZERO + ms(self.millis)
    }

    fn hash(&self) -> u64 {
        let mut bytes = Bytes(DefaultHasher::new());
        let rest = (
            &self.nodes,
            self.millis,
            &self.state,
            &self.messages,
            &self.runs,
            self.crashes,
            self.late,
        );
        write!(bytes, "{rest:?}").expect("a hash takes any text");
        bytes.0.finish()
    }

    fn step(&mut self, node: usize, input: Input) {
        let tick = self.tick();
        let mut effects = Vec::new();
        let Some(machine) = self.nodes[node].as_mut() else { return };
        machine.step(input, tick, &mut effects);
        for effect in effects {
            match effect {
                Effect::Ask { request, what, deadline, .. } => self.messages.push(Message {
                    node,
                    request,
                    what,
                    deadline,
                    answer: None,
                    is_late: false,
                    is_given_up: false,
                }),
                Effect::Start(job) => {
                    let begins =
                        self.nodes[node].as_mut().is_some_and(|node| node.begin(job.held(), tick));
                    if begins {
                        self.begins(node, StoredJob::clone(&job));
                    }
                }
                _ => {}
            }
        }
    }

    /// INVARIANT: no two runs of the same work, both in sessions in which their processes believe.
    fn begins(&mut self, node: usize, job: StoredJob) {
        let schedule = |job: &StoredJob| job.origin.as_ref().map(|origin| origin.schedule.clone());
        for (other, run) in &self.runs {
            let is_same =
                run.id == job.id || (schedule(run).is_some() && schedule(run) == schedule(&job));
            let believes = self.nodes[*other].as_ref().and_then(Node::session) == run.session;
            assert!(!(is_same && believes), "{} runs beside {}", job.id, run.id);
        }
        assert!(!self.over.contains(&job.id), "{} runs after its outcome", job.id);
        self.runs.push((node, job));
    }

    fn choices(&self, is_free: bool) -> Vec<Choice> {
        let mut choices = Vec::new();
        for (index, message) in self.messages.iter().enumerate() {
            match (&message.answer, message.is_late) {
                (Some(_), _) if message.is_given_up => {}
                (Some(_), _) => choices.push(Choice::Deliver(index)),
                (None, true) => choices.push(Choice::Execute(index)),
                (None, false) => {
                    choices.push(Choice::Execute(index));
                    if is_free && self.late > 0 {
                        choices.extend([Choice::ExecuteSilently(index), Choice::Delay(index)]);
                    }
                }
            }
        }
        choices.extend((0..self.runs.len()).map(Choice::Ends));
        if is_free && self.crashes > 0 {
            choices.extend((0..2).filter(|node| self.nodes[*node].is_some()).map(Choice::Crash));
        }
        if self.messages.iter().all(|message| message.is_late) {
            choices.push(Choice::Time);
        }
        choices
    }

    fn choose(&mut self, choice: Choice) {
        match choice {
            Choice::Execute(index) => {
                self.execute(index);
                let message = &self.messages[index];
                if message.is_given_up {
                    self.messages.remove(index);
                } else if !message.is_late {
                    self.choose(Choice::Deliver(index));
                }
            }
            Choice::ExecuteSilently(index) => {
                self.late -= 1;
                self.messages[index].is_late = true;
                self.execute(index);
            }
            Choice::Delay(index) => {
                self.late -= 1;
                self.messages[index].is_late = true;
            }
            Choice::Deliver(index) => {
                let message = self.messages.remove(index);
                let (request, Some(result)) = (message.request, message.answer) else { return };
                self.step(message.node, Input::Answer { request, result });
            }
            Choice::Ends(index) => {
                let (node, job) = self.runs.remove(index);
                self.step(node, Input::Ended { held: job.held(), end: End::Done });
            }
            Choice::Crash(node) => {
                self.crashes -= 1;
                self.nodes[node] = None;
                self.runs.retain(|(of, _)| *of != node);
                for message in self.messages.iter_mut().filter(|message| message.node == node) {
                    (message.is_late, message.is_given_up) = (true, true);
                }
                self.messages.retain(|message| !(message.is_given_up && message.answer.is_some()));
            }
            Choice::Time => self.time_passes(),
        }
    }

    fn execute(&mut self, index: usize) {
        let now =
            StoreTime::from_micros(1_000_000_000 + i64::try_from(self.millis * 1_000).unwrap_or(0));
        let model = Model::with_state(std::mem::take(&mut self.state), now);
        let before = model.jobs(&JobFilter::default(), u32::MAX).unwrap_or_default();
        let answer = self.messages[index].what.execute(&model);
        let after = model.jobs(&JobFilter::default(), u32::MAX).unwrap_or_default();
        for job in &before {
            let same = after.iter().find(|other| other.id == job.id);
            let is_kept = job.state.is_unfinished() || same.is_some_and(|same| same == job);
            assert!(is_kept, "{} changes after its outcome", job.id);
        }
        let mut ticks = BTreeSet::new();
        for origin in after.iter().filter_map(|job| job.origin.as_ref()) {
            assert!(ticks.insert(origin.tick), "a tick is two jobs");
        }
        let done = after.iter().filter(|job| job.state == JobState::Done).map(|job| job.id);
        self.over.extend(done);
        self.messages[index].answer = Some(answer);
        self.state = model.state();
    }

    /// The time moves to the next look of a process.
    fn time_passes(&mut self) {
        let wakes = self.nodes.iter().flatten().flat_map(|node| {
            [node.wake(Channel::Store), node.wake(Channel::Lease)].into_iter().flatten()
        });
        let waiting = self.messages.iter().filter(|message| !message.is_given_up);
        let first = wakes.chain(waiting.map(|message| message.deadline)).min();
        let nanos = first.map_or(0, Tick::as_nanos);
        let next = nanos.div_ceil(1_000_000).div_ceil(STEP) * STEP;
        self.millis = next.max(self.millis + STEP);
        let tick = self.tick();
        for index in (0..self.messages.len()).rev() {
            if !self.messages[index].is_given_up && self.messages[index].deadline <= tick {
                let (node, request) = (self.messages[index].node, self.messages[index].request);
                self.messages[index].is_given_up = true;
                if self.messages[index].answer.is_some() {
                    self.messages.remove(index);
                }
                self.step(node, Input::NoAnswer { request });
            }
        }
        for node in 0..2 {
            for channel in [Channel::Store, Channel::Lease] {
                let wake = self.nodes[node].as_ref().and_then(|node| node.wake(channel));
                if wake.is_some_and(|wake| wake <= tick) {
                    self.step(node, Input::Timer(channel));
                }
            }
        }
    }

    /// The faults end: what was late arrives, runs end, and the rest follows.
    fn ends_well(mut self) {
        let until = self.millis + 6_000;
        loop {
            let all = Model::with_state(self.state.clone(), StoreTime::default());
            let jobs = all.jobs(&JobFilter::default(), u32::MAX).unwrap_or_default();
            // The last tick may be under way.
            let is_done = jobs.iter().all(|job| {
                job.state == JobState::Done || self.millis < until && job.state.is_unfinished()
            });
            let one = jobs.iter().find(|job| job.id.as_uuid() == Uuid::from_u128(1));
            let is_one_done = one.is_some_and(|job| job.state == JobState::Done);
            if is_one_done && (is_done || self.millis >= until)
                || self.nodes.iter().all(Option::is_none)
            {
                return;
            }
            assert!(self.millis < until, "the job is not done: {jobs:?}");
            let choices = self.choices(false);
            let first = choices.iter().find(|choice| !matches!(choice, Choice::Time));
            let choice = *first.or(choices.last()).unwrap_or(&Choice::Time);
            self.choose(choice);
        }
    }
}

/// Looks at all states until a time, or at so many. Returns how many, and how many ends.
fn explore(millis: u64, most: usize) -> (usize, usize) {
    let mut seen = BTreeSet::new();
    let mut left = vec![Small::new()];
    let mut ends = 0;
    while let Some(world) = left.pop() {
        if world.millis > millis {
            ends += 1;
            world.ends_well();
            continue;
        }
        for choice in world.choices(true) {
            let mut next = world.clone();
            next.choose(choice);
            if seen.insert(next.hash()) {
                left.push(next);
            }
        }
        assert!(seen.len() < most, "more than {most} states");
    }
    (seen.len(), ends)
}

#[test]
fn all_states_of_a_small_world() {
    let millis =
        std::env::var("TEST_NODE_SMALL").map_or(200, |text| text.parse().expect("milliseconds"));
    let (states, ends) = explore(millis, 20_000_000);
    println!("{states} states, {ends} ends");
    assert!(states > 1_000);
}
