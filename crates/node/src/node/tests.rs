//! One node on a model store, with a shell in a few lines.

use std::sync::Arc;
use std::time::Duration;

use scheduler_store::{
    Command, Definition, End, Enqueue, Held, JobFilter, JobId, JobState, Model, NewJob, Next,
    Overlap, Priority, Rule, Store, StoreError, StoreTime, StoredJob, StoredSchedule, Timing, Uuid,
};

use super::Node;
use crate::config::{Config, TaskConfig};
use crate::effect::{Effect, Input, LostReason, NodeEvent};
use crate::request::{Channel, Request, RequestId};
use crate::rng::Rng;
use crate::rule::{Misfire, Policy, Rules};
use crate::tick::Tick;

const START: StoreTime = StoreTime::from_micros(1_700_000_000_000_000);

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

struct Shell {
    node: Node,
    model: Model,
    now: Tick,
    /// What was sent, and when its answer comes.
    asked: Vec<(Tick, Channel, RequestId, Request)>,
    /// Runs, and when they end.
    runs: Vec<(Tick, Held)>,
    queue: Vec<StoredJob>,
    workers: usize,
    lasts: Duration,
    is_away: bool,
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
    let task = TaskConfig { name: "work".into(), task: "work".into(), limit: None, pool: None };
    Config { tasks: vec![task], ..Config::default() }
}

fn definition(timing: Timing) -> Definition {
    Definition {
        name: "s".into(),
        task: "work".into(),
        payload: scheduler_store::Payload::default(),
        queue: scheduler_store::DEFAULT_QUEUE.into(),
        priority: Priority::Normal,
        rule: Rule { text: format!("{timing:?}"), timing },
        calculator: "1".into(),
        overlap: Overlap::Skip,
        max_attempts: 3,
        on_lost: scheduler_store::OnLost::Rerun,
        is_dynamic: false,
    }
}

fn after(seconds: f64) -> Tick {
    Tick::default().after(Duration::from_secs_f64(seconds))
}

impl Shell {
    fn new(config: Config, policy: Policy) -> Self {
        let workers = config.workers as usize;
        let now = Tick::default();
        let node = Node::new(Arc::new(config), Arc::new(Every(policy)), Rng::new(1), now);
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
            set_by: Duration::ZERO,
            cancels: 0,
            enqueued: 0,
            latency: Duration::from_millis(1),
            sent: Vec::new(),
            events: Vec::new(),
            is_stopped: false,
        }
    }

    fn store_now(&self) -> StoreTime {
        START.after(self.now.since(Tick::default()) + self.set_by)
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
                    self.asked.push((self.now.after(self.latency), channel, request, what));
                }
                Effect::Start(job) => self.queue.push(*job),
                Effect::Withdraw(held) => self.queue.retain(|job| job.held() != held),
                Effect::Event(event) => self.events.push(event),
                Effect::Stopped => self.is_stopped = true,
                Effect::Cancel(_) => self.cancels += 1,
                Effect::Lost(_) => {}
            }
        }
        while self.runs.len() < self.workers && !self.queue.is_empty() {
            let held = self.queue.remove(0).held();
            if self.node.begin(held, self.now) {
                self.runs.push((self.now.after(self.lasts), held));
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
                let result = match self.is_away {
                    true => Err(StoreError::Unavailable("away".into())),
                    false => what.execute(&self.model),
                };
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

    fn count(&self, is_meant: impl Fn(&Request) -> bool) -> usize {
        self.sent.iter().filter(|(_, request)| is_meant(request)).count()
    }
}

#[test]
fn jobs_of_a_limited_task_follow_each_other_without_a_wait() {
    let mut config = config();
    config.tasks[0].limit = Some(2);
    let mut shell = Shell::new(config, Policy::default());
    shell.enqueue(40);
    shell.until(after(1.0));
    assert_eq!(shell.jobs(JobState::Done).len(), 40);
    let polls = shell.count(|request| matches!(request, Request::Poll(_)));
    assert!(polls <= 45, "{polls} polls");
}

#[test]
fn no_more_jobs_are_claimed_than_the_threads_of_their_pool_can_begin() {
    let mut config = config();
    let other: Arc<str> = "other".into();
    let other = TaskConfig { name: Arc::clone(&other), task: other, limit: None, pool: Some(1) };
    config.tasks[0].pool = Some(0);
    config.tasks.push(other);
    (config.workers, config.pools) = (10, vec![2, 8]);
    let mut shell = Shell::new(config, Policy::default());
    (shell.workers, shell.lasts) = (2, Duration::from_secs(1));
    shell.enqueue(20);
    shell.until(after(0.5));
    assert_eq!(shell.jobs(JobState::Running).len(), 2);
    shell.until(after(10.3));
    assert_eq!(shell.jobs(JobState::Done).len(), 20, "the next ones do not wait");
}

#[test]
fn an_idle_node_sends_at_most_three_statements_in_two_seconds() {
    let mut shell = Shell::new(config(), Policy::default());
    shell.until(after(1_000.0));
    assert!((1_200..=1_500).contains(&shell.sent.len()), "{}", shell.sent.len());
}

#[test]
fn jobs_without_work_are_claimed_in_large_numbers() {
    let mut shell = Shell::new(config(), Policy::default());
    shell.lasts = Duration::from_micros(1);
    shell.enqueue(5_000);
    shell.until(after(1.0));
    assert_eq!(shell.jobs(JobState::Done).len(), 5_000);
    let polls = shell.count(|request| matches!(request, Request::Poll(_)));
    assert!(polls < 20, "{polls} polls");
}

#[test]
fn jobs_that_take_long_are_claimed_for_free_workers_only() {
    let mut shell = Shell::new(config(), Policy::default());
    shell.lasts = Duration::from_secs(2);
    shell.enqueue(20);
    shell.until(after(9.0));
    assert_eq!(shell.jobs(JobState::Running).len(), 4);
    shell.until(after(12.0));
    assert_eq!(shell.jobs(JobState::Done).len(), 20);
}

#[test]
fn a_nudge_during_a_poll_is_not_lost() {
    let mut shell = Shell::new(config(), Policy::default());
    shell.until(after(5.0));
    shell.step(Input::Nudge);
    shell.until(shell.now.after(Duration::from_micros(1_100)));
    // The poll was executed; now a job comes, and a nudge before its answer is used.
    shell.step(Input::Nudge);
    shell.enqueue(1);
    shell.step(Input::Nudge);
    shell.until(shell.now.after(Duration::from_millis(10)));
    assert_eq!(shell.jobs(JobState::Done).len(), 1);
}

#[test]
fn a_store_that_is_away_is_asked_twice_a_second() {
    let mut shell = Shell::new(config(), Policy::default());
    shell.until(after(10.0));
    shell.is_away = true;
    shell.sent.clear();
    shell.until(after(70.0));
    assert!((30..=122).contains(&shell.sent.len()), "{}", shell.sent.len());
    shell.is_away = false;
    shell.enqueue(1);
    shell.until(after(73.0));
    assert_eq!(shell.jobs(JobState::Done).len(), 1);
    let told =
        |is_meant: fn(&NodeEvent) -> bool| shell.events.iter().filter(|it| is_meant(it)).count();
    assert_eq!(told(|it| matches!(it, NodeEvent::StoreAway { .. })), 1);
    assert_eq!(told(|it| matches!(it, NodeEvent::StoreBack { .. })), 1);
    assert_eq!(told(|it| matches!(it, NodeEvent::SessionLost { .. })), 1);
}

#[test]
fn a_late_yes_is_a_no() {
    let mut shell = Shell::new(config(), Policy::default());
    shell.enqueue(8);
    shell.lasts = Duration::from_secs(60);
    shell.until(after(4.9));
    let session = shell.node.session().expect("it is open");
    shell.latency = Duration::from_millis(7_900);
    shell.until(after(12.7));
    assert_eq!(shell.node.session(), Some(session), "0.85 of 15 s are 12.75 s");
    shell.until(after(12.9));
    assert_ne!(shell.node.session(), Some(session));
    let lost = NodeEvent::SessionLost { session, reason: LostReason::NotRenewed, runs: 4 };
    assert!(shell.events.contains(&lost), "{:?}", shell.events);
}

#[test]
fn a_stop_gives_back_waits_and_closes() {
    let mut shell = Shell::new(Config { workers: 1, ..config() }, Policy::default());
    shell.lasts = Duration::from_millis(10);
    shell.enqueue(30);
    shell.until(after(0.1));
    assert!(!shell.queue.is_empty(), "some wait for the worker");
    shell.step(Input::Stop);
    assert!(shell.queue.is_empty());
    shell.until(after(0.2));
    assert!(shell.is_stopped);
    assert!(matches!(shell.sent.last(), Some((_, Request::Close(_)))));
    assert_eq!(shell.jobs(JobState::Running), []);
    assert!(shell.jobs(JobState::Ready).iter().all(|job| job.attempt == 0));
    assert_eq!(shell.model.sessions(), Ok(Vec::new()));
}

#[test]
fn a_store_clock_that_is_set_forward_is_asked_for_again() {
    let mut shell = Shell::new(config(), Policy::default());
    shell.until(after(3.0));
    shell.set_by = Duration::from_secs(8);
    shell.enqueue(1);
    shell.until(after(5.0));
    assert_eq!(shell.jobs(JobState::Done).len(), 1);
    let is_loss = |event: &NodeEvent| matches!(event, NodeEvent::SessionLost { .. });
    assert!(!shell.events.iter().any(is_loss), "the lease had not run out");
    // Further than the lease: the session has ended, and another is opened.
    shell.set_by = Duration::from_secs(60);
    shell.until(after(8.0));
    assert!(shell.events.iter().any(is_loss));
    assert!(shell.node.session().is_some());
}

#[test]
fn a_year_of_missed_ticks_is_decided_with_few_statements() {
    for timing in [
        Timing::Computed,
        Timing::Rate { first: Duration::from_secs(1), period: Duration::from_secs(1) },
    ] {
        let window = Duration::from_secs(3);
        let policy = Policy { misfire: Misfire::CatchUp(window), ..Policy::default() };
        let definitions = vec![Definition { overlap: Overlap::Allow, ..definition(timing) }];
        let config = Config { definitions, ..config() };
        let mut shell = Shell::new(config.clone(), policy);
        shell.until(after(2.0));
        shell.step(Input::Stop);
        shell.until(after(3.0));
        assert!(shell.is_stopped);
        let mut again = Shell::new(config.clone(), policy);
        again.model = shell.model.clone();
        again.now = Tick::default().after(Duration::from_secs(365 * 86_400));
        let rules = Arc::new(Every(policy));
        again.node = Node::new(Arc::new(config), rules, Rng::new(2), again.now);
        again.until(again.now.after(Duration::from_secs(2)));
        let row = again.model.schedules().expect("a model answers").remove(0);
        assert!(row.skips.missed >= 10_000, "{:?}", row.skips);
        assert!((4..=8).contains(&row.fired), "{} fired", row.fired);
        assert!(again.sent.len() < 20, "{} statements", again.sent.len());
    }
}

/// The jobs of the schedule keep each other out: each tick follows the end of the job before it.
#[test]
fn a_schedule_that_is_behind_catches_up_without_waiting_for_polls() {
    let policy =
        Policy { misfire: Misfire::CatchUp(Duration::from_secs(3_600)), ..Policy::default() };
    let config = Config { definitions: vec![definition(Timing::Computed)], ..config() };
    let mut shell = Shell::new(config.clone(), policy);
    shell.until(after(2.0));
    shell.step(Input::Stop);
    shell.until(after(3.0));
    let mut again = Shell::new(config.clone(), policy);
    again.model = shell.model.clone();
    again.now = Tick::default().after(Duration::from_secs(600));
    again.node = Node::new(Arc::new(config), Arc::new(Every(policy)), Rng::new(2), again.now);
    again.until(again.now.after(Duration::from_secs(20)));
    let row = again.model.schedules().expect("a model answers").remove(0);
    assert!(row.fired > 600, "{} of some 600 ticks fired", row.fired);
}

#[test]
fn a_run_is_cancelled_while_the_process_stops_and_nothing_is_claimed() {
    for is_before in [true, false] {
        let mut shell = Shell::new(config(), Policy::default());
        shell.enqueue(1);
        shell.lasts = Duration::from_secs(100);
        shell.until(after(2.0));
        let id = shell.jobs(JobState::Running)[0].id;
        let cancel = |shell: &mut Shell| {
            shell.model.set_now(shell.store_now());
            shell.model.command(&Command::Cancel { job: id }, StoreTime::MAX).expect("it runs");
        };
        if is_before {
            cancel(&mut shell);
        }
        shell.step(Input::Stop);
        if !is_before {
            cancel(&mut shell);
            shell.step(Input::Nudge);
        }
        shell.enqueue(2);
        let asked = shell.sent.len();
        shell.until(after(10.0));
        assert_eq!(shell.cancels, 1, "asked before the stop: {is_before}");
        assert_eq!(shell.jobs(JobState::Ready).len(), 2, "nothing is claimed, and no poll spins");
        let polls = shell.sent[asked..].iter();
        let polls = polls.filter(|(_, request)| matches!(request, Request::Poll(_))).count();
        assert!((1..=30).contains(&polls), "{polls} polls");
        shell.until(after(200.0));
        assert!(shell.is_stopped);
    }
}

#[test]
fn the_job_of_a_process_that_died_runs_elsewhere_soon() {
    let mut dead = Shell::new(config(), Policy::default());
    dead.enqueue(1);
    dead.lasts = Duration::from_secs(1_000);
    let mut other = Shell::new(config(), Policy::default());
    other.node = Node::new(Arc::new(config()), Arc::new(Every::default()), Rng::new(9), dead.now);
    other.model = dead.model.clone();
    for second in 1..=17 {
        dead.until(after(f64::from(second)));
        other.until(after(f64::from(second)));
    }
    assert_eq!(other.jobs(JobState::Running)[0].attempt, 1);
    // It dies at 17 s, and its last renewal was at 15 s: the other one has seen that at 15 or 20 s.
    other.until(after(37.0));
    let done = other.jobs(JobState::Done);
    assert_eq!(done.len(), 1, "a loss is no failed attempt: {:?}", other.events);
    assert_eq!((done[0].attempt, done[0].lost), (2, 1));
}

#[test]
fn a_delay_runs_at_its_time() {
    let timing = Timing::Delay { first: Duration::ZERO, delay: Duration::from_millis(100) };
    let definitions = vec![definition(timing)];
    let mut shell = Shell::new(Config { definitions, ..config() }, Policy::default());
    shell.until(after(10.0));
    let count = shell.jobs(JobState::Done).len();
    assert!((85..=100).contains(&count), "{count} runs");
}

#[test]
fn a_cancelled_run_is_asked_to_stop_once() {
    let mut shell = Shell::new(config(), Policy::default());
    shell.enqueue(1);
    shell.lasts = Duration::from_secs(3);
    shell.until(after(1.0));
    let job = shell.jobs(JobState::Running)[0].id;
    shell.model.command(&Command::Cancel { job }, StoreTime::MAX).expect("a model answers");
    shell.until(after(9.0));
    assert_eq!(shell.cancels, 1);
    assert_eq!(shell.jobs(JobState::Done).len(), 1, "it went on to its end");
}

#[test]
fn more_than_a_slice_of_old_jobs_is_pruned_without_a_wait() {
    let keep_done = Duration::ZERO;
    let mut shell = Shell::new(Config { keep_done, ..config() }, Policy::default());
    shell.lasts = Duration::from_micros(1);
    shell.enqueue(5_000);
    shell.until(after(70.0));
    assert_eq!(shell.jobs(JobState::Done).len(), 0);
    let prunes = shell.count(|request| matches!(request, Request::Prune(_)));
    assert!((4..=6).contains(&prunes), "{prunes}: full slices, one after the other");
}

#[test]
fn jobs_that_are_limited_by_the_free_workers_follow_each_other_without_a_wait() {
    let abandon = |job: &mut NewJob| job.on_lost = scheduler_store::OnLost::Abandon;
    let mut shell = Shell::new(config(), Policy::default());
    shell.lasts = Duration::from_micros(1);
    shell.enqueue_as(400, abandon);
    shell.until(after(1.0));
    assert_eq!(shell.jobs(JobState::Done).len(), 400);
    let polls = shell.count(|request| matches!(request, Request::Poll(_)));
    assert!(polls <= 110, "{polls} polls");
}

#[test]
fn a_limit_that_is_used_up_while_others_run_is_asked_for_when_it_is_free_again() {
    let abandon = |job: &mut NewJob| job.on_lost = scheduler_store::OnLost::Abandon;
    let mut shell = Shell::new(config(), Policy::default());
    // Runs are short, so that jobs are claimed beyond the free workers; then all workers are busy.
    shell.lasts = Duration::from_micros(1);
    shell.enqueue(100);
    shell.until(after(0.5));
    shell.lasts = Duration::from_millis(1_900);
    shell.enqueue_as(8, abandon);
    shell.step(Input::Nudge);
    let asked = shell.sent.len();
    shell.until(after(2.3));
    let polls = shell.sent[asked..].iter();
    let polls = polls.filter(|(_, request)| matches!(request, Request::Poll(_))).count();
    assert!(polls <= 6, "{polls} polls");
    shell.until(after(2.42));
    assert_eq!(shell.jobs(JobState::Running).len(), 4, "the others follow at once");
}

#[test]
fn a_tick_with_jitter_starts_at_its_time() {
    let timing = Timing::Rate { first: Duration::from_secs(1), period: Duration::from_secs(900) };
    let definitions = vec![definition(timing)];
    let policy = Policy { jitter: Duration::from_secs(20), ..Policy::default() };
    let poll_every = Duration::from_secs(60);
    let mut shell = Shell::new(Config { definitions, poll_every, ..config() }, policy);
    shell.until(after(30.0));
    let done = shell.jobs(JobState::Done);
    let late = |job: &StoredJob| job.started_at.map(|started| started.since(job.run_at));
    let late: Vec<_> = done.iter().filter_map(late).collect();
    assert_eq!(late.len(), 1);
    assert!(late[0] < Duration::from_millis(20), "{late:?}");
}

#[test]
fn many_schedules_that_are_due_at_once_hold_up_no_jobs() {
    let timing = Timing::Rate { first: Duration::from_secs(2), period: Duration::from_secs(900) };
    let named = |number| Definition { name: format!("s{number}"), ..definition(timing) };
    let definitions = (0..1_000).map(named).collect();
    let mut shell = Shell::new(Config { definitions, ..config() }, Policy::default());
    shell.lasts = Duration::from_micros(1);
    shell.until(after(4.0));
    assert_eq!(shell.jobs(JobState::Done).len(), 1_000);
    let fires = shell.sent.iter().filter_map(|(_, request)| match request {
        Request::Fire(fires) => Some(fires.len()),
        _ => None,
    });
    assert_eq!(fires.max(), Some(100));
    let kinds: Vec<bool> = shell
        .sent
        .iter()
        .filter_map(|(_, request)| match request {
            Request::Fire(_) => Some(true),
            Request::Poll(_) => Some(false),
            _ => None,
        })
        .collect();
    assert!(!kinds.windows(2).any(|pair| pair == [true, true]), "jobs are claimed in between");
}

#[test]
fn a_limit_holds_for_all_names_of_a_task() {
    let mut config = config();
    config.tasks[0].limit = Some(2);
    config.tasks.push(TaskConfig { name: "former".into(), ..config.tasks[0].clone() });
    let mut shell = Shell::new(config, Policy::default());
    shell.lasts = Duration::from_secs(1);
    let mut number = 0;
    shell.enqueue_as(10, |job| {
        number += 1;
        job.task = if number % 2 == 0 { "work".into() } else { "former".into() };
    });
    for tenth in 1..=48 {
        shell.until(after(f64::from(tenth) / 10.0));
        assert!(shell.runs.len() <= 2, "{} runs", shell.runs.len());
    }
    shell.until(after(5.3));
    let done = shell.jobs(JobState::Done);
    assert_eq!(done.len(), 10, "each limit is used");
    assert!(done.iter().all(|job| job.attempt == 1));
    assert!(shell.sent.len() < 40, "{} statements", shell.sent.len());
}

#[test]
fn a_schedule_whose_rule_cannot_be_read_is_left_to_others_and_reported_once() {
    for timing in [Timing::Computed, Timing::Once(START)] {
        let rule = Rule { text: "lunar".into(), timing };
        let definition = Definition { rule, is_dynamic: true, ..definition(timing) };
        let mut shell = Shell::new(config(), Policy::default());
        shell.model.set_now(START);
        let put = Command::Put { definition: Box::new(definition) };
        shell.model.command(&put, StoreTime::MAX).expect("a model answers");
        let before = shell.model.schedules();
        shell.until(after(30.0));
        assert_eq!(shell.model.schedules(), before);
        let (schedule, rule, reason) = ("s".into(), "lunar".into(), "not known".into());
        let told = NodeEvent::Unreadable { schedule, rule, reason };
        assert_eq!(shell.events.iter().filter(|event| **event == told).count(), 1);
        assert!(shell.sent.len() < 50, "{} statements", shell.sent.len());
    }
}

#[test]
fn schedules_that_come_and_go_leave_nothing_behind_for_ever() {
    let timing = Timing::Rate { first: Duration::ZERO, period: Duration::from_secs(1) };
    let definitions = vec![definition(timing)];
    let mut shell = Shell::new(Config { definitions, ..config() }, Policy::default());
    shell.node.has_follow_up.extend((0..10_001).map(|number| (format!("gone {number}"), false)));
    shell.until(after(3.0));
    assert_eq!(shell.node.has_follow_up.len(), 1);
}
