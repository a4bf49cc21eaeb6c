//! Random requests that collide.
//!
//! Names, keys, identities and times are from small sets, so that a few hundred steps meet each other in most ways that there
//! are: the same identity twice, a key that another job has, a fence of before, a session that has died, a request that
//! comes too late. A fence, a cursor or a mark that a request has to name is read from the model.

use std::sync::Arc;
use std::time::Duration;

use crate::operation::Operation;
use crate::random::Random;
use scheduler_store::Model;
use scheduler_store::Store as _;
use scheduler_store::StoreTime;
use scheduler_store::{
    Action, ActionFilter, ActionId, Close, Command, CommandAll, End, Enqueue, Finish, Fire,
    JobAction, JobFilter, JobProgress, Lease, OnBusy, Open, Poll, Prune, Reap, Register, Renew,
    SessionTask, Signature, TargetKind, TaskRoom,
};
use scheduler_store::{
    ClaimRef, Expiry, JobState, Key, KeyUntil, NewJob, OnConflict, OnLost, Payload, Priority,
    StoredJob, When,
};
use scheduler_store::{Fence, JobId, SessionId};
use scheduler_store::{Limit, LimitOverride, LimitScope, LimitSpec, OnPark, Rate};
use scheduler_store::{
    Next, Overlap, Pause, PauseScope, PauseSpan, Rule, ScheduleSpec, Skips, StoredSchedule,
    TickJob, Timing,
};
use scheduler_store::{SessionInfo, Uuid};

pub(crate) const TASKS: [&str; 4] = ["a", "A", "a ", "'; DROP TABLE job; --%_\\"];
const QUEUES: [&str; 3] = ["default", "mail", "é"];
const PEOPLE: [&str; 3] = ["anna", "Anna", ""];
const KEYS: [&str; 3] = ["k", "K", "%"];
const SCHEDULES: [&str; 4] = ["s", "S", "t", "t "];
const RULES: [&str; 3] = ["0 0 3 * * *", "1s", ""];
const SESSIONS: u64 = 5;

/// Makes the next request from what the model has.
#[derive(Debug)]
pub(crate) struct Generator {
    random: Random,
    /// The number of identities of jobs in use; some are used again.
    jobs: u64,
    last: Option<Operation>,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: Random::new(seed), jobs: 0, last: None }
    }

    /// The next step.
    pub(crate) fn next(&mut self, model: &Model) -> Operation {
        if let Some(last) = self.last.clone().filter(|_| self.random.once_in(16)) {
            return last;
        }
        let operation = self.fresh(model);
        self.last = Some(operation.clone());
        operation
    }

    fn fresh(&mut self, model: &Model) -> Operation {
        let now = model.now();
        match self.random.below(100) {
            0..=9 => Operation::SetNow(self.later(now)),
            10 => Operation::Reopen,
            11..=16 => Operation::Open(self.open(now)),
            17..=21 => Operation::Renew(Renew {
                progress: self.all_progress(model),
                clock_offset: self
                    .random
                    .once_in(2)
                    .then(|| -i64::from(self.session_task().version)),
                session: self.session(model),
                lease: self.lease(),
                not_after: self.not_after(now),
            }),
            22..=23 => Operation::Close(self.close(model)),
            24..=29 => Operation::Register(self.register(model)),
            30..=44 => Operation::Poll(self.poll(model)),
            45..=54 => Operation::Fire(self.fire(model)),
            55..=66 => Operation::Finish(self.finishes(model)),
            67 => Operation::Held(self.session(model)),
            68..=70 => Operation::Reap(self.reap(model)),
            71..=83 => Operation::Enqueue(self.enqueue(model)),
            84..=92 => {
                Operation::Command(self.signature(), self.command(model), self.not_after(now))
            }
            93..=94 => Operation::CommandAll(CommandAll {
                action: self.random.pick(&[JobAction::Cancel, JobAction::Retry, JobAction::Delete]),
                filter: self.filter(model),
                limit: self.small(),
                signature: self.signature(),
                not_after: self.not_after(now),
            }),
            95 => Operation::Prune(Prune {
                keep_done: self.wait(),
                keep_parked: self.wait(),
                keep_over: self.wait(),
                keep_actions: self.wait(),
                limit: self.small(),
                not_after: self.not_after(now),
            }),
            96 => Operation::Job(self.job(model)),
            97 => Operation::Jobs(self.filter(model), self.small()),
            98 => Operation::Note(self.action(), self.random.once_in(2)),
            _ => Operation::Actions(self.action_filter(model), self.small()),
        }
    }

    fn later(&mut self, now: StoreTime) -> StoreTime {
        match self.random.below(12) {
            0 => now.before(self.wait()),
            1 => now.after(Duration::from_micros(1)),
            2 => now.after(Duration::from_secs(40)),
            _ => now.after(self.wait()),
        }
    }

    fn wait(&mut self) -> Duration {
        let waits = [0, 1, 1_000, 999_999, 1_000_000, 2_000_000, 5_000_000];
        Duration::from_micros(self.random.pick(&waits))
    }

    fn lease(&mut self) -> Duration {
        Duration::from_secs(self.random.pick(&[1, 5, 20, 100]))
    }

    fn small(&mut self) -> u32 {
        self.random.pick(&[0, 1, 2, 3, 10, 100])
    }

    /// Now and then it is too late.
    fn not_after(&mut self, now: StoreTime) -> StoreTime {
        match self.random.below(20) {
            0 => now.before(Duration::from_micros(1)),
            1 => now,
            2 => StoreTime::MAX,
            _ => now.after(Duration::from_secs(10)),
        }
    }

    fn instant(&mut self, now: StoreTime) -> StoreTime {
        match self.random.below(8) {
            0 => StoreTime::MAX,
            1 => StoreTime::MIN,
            2 | 3 => now.before(self.wait()),
            _ => now.after(self.wait()),
        }
    }

    fn any_session(&mut self) -> SessionId {
        SessionId::from_uuid(Uuid::from_u128(u128::from(self.random.below(SESSIONS)) << 64 | 7))
    }

    /// Most often one that is open.
    fn session(&mut self, model: &Model) -> SessionId {
        let open = model.sessions().unwrap_or_default();
        let alive: Vec<&SessionInfo> = open.iter().filter(|each| each.is_alive()).collect();
        match alive.is_empty() || self.random.once_in(8) {
            true => self.any_session(),
            false => self.random.pick(&alive).id,
        }
    }

    fn new_job(&mut self) -> JobId {
        if self.jobs == 0 || !self.random.once_in(12) {
            self.jobs += 1;
            return job_id(self.jobs);
        }
        job_id(self.random.below(self.jobs) + 1)
    }

    /// Most often one that is there.
    fn job(&mut self, model: &Model) -> JobId {
        let jobs = model.jobs(&JobFilter::default(), u32::MAX).unwrap_or_default();
        match jobs.is_empty() || self.random.once_in(10) {
            true => job_id(self.random.below(self.jobs + 2)),
            false => self.random.pick(&jobs).id,
        }
    }

    fn name(&mut self) -> String {
        self.random.pick(&SCHEDULES).to_owned()
    }

    /// Most often one that is there.
    fn schedule(&mut self, model: &Model) -> Option<StoredSchedule> {
        let schedules = model.schedules().unwrap_or_default();
        (!schedules.is_empty()).then(|| self.random.pick(&schedules))
    }

    fn open(&mut self, now: StoreTime) -> Open {
        let replaces = self.random.once_in(4).then(|| self.any_session());
        Open {
            queues: self.random.once_in(2).then(|| [self.random.pick(&QUEUES).into()].into()),
            concurrency: self.random.pick(&[0, 7, u32::MAX]),
            id: self.any_session(),
            replaces,
            label: self.random.pick(&["web-1", "", "a\0b"]).to_owned(),
            build: "1".to_owned(),
            application: self.random.pick(&["shop", "bank", "a\0b"]).to_owned(),
            tasks: (0..self.random.below(3)).map(|_| self.session_task()).collect(),
            lease: self.lease(),
            not_after: self.not_after(now),
        }
    }

    fn close(&mut self, model: &Model) -> Close {
        Close { session: self.session(model), not_after: self.not_after(model.now()) }
    }

    fn timing(&mut self, now: StoreTime) -> Timing {
        let first = self.wait() + Duration::from_nanos(self.random.below(2));
        match self.random.below(7) {
            0 => Timing::Rate { first, period: Duration::from_secs(1) },
            1 | 2 => Timing::Delay { first, delay: self.wait() },
            3 => Timing::Once(self.instant(now)),
            4 => Timing::OnceAfter(first),
            _ => Timing::Computed,
        }
    }

    fn rule(&mut self, now: StoreTime) -> Rule {
        Rule { text: self.random.pick(&RULES).to_owned(), timing: self.timing(now) }
    }

    fn payload(&mut self) -> Payload {
        let length = self.random.pick(&[0, 1, 9, 300]);
        let bytes = (0..length).map(|_| self.random.next().to_le_bytes()[0]).collect();
        Payload { version: self.version(), bytes }
    }

    fn version(&mut self) -> u32 {
        self.random.pick(&[0, 1, 2, u32::MAX])
    }

    fn session_task(&mut self) -> SessionTask {
        SessionTask { name: self.random.pick(&TASKS).into(), version: self.version() }
    }

    fn on_lost(&mut self) -> OnLost {
        if self.random.once_in(3) { OnLost::Abandon } else { OnLost::Rerun }
    }

    fn partition(&mut self) -> Option<String> {
        let partitions = [None, None, None, Some(""), Some("p-1"), Some("p-2")];
        self.random.pick(&partitions).map(str::to_owned)
    }

    fn definition(&mut self, now: StoreTime) -> ScheduleSpec {
        ScheduleSpec {
            name: self.name(),
            task: self.random.pick(&TASKS).to_owned(),
            payload: self.payload(),
            queue: self.random.pick(&QUEUES).to_owned(),
            priority: self.random.pick(&Priority::HIGHEST_FIRST),
            partition: self.partition(),
            rule: self.rule(now),
            calculator: self.random.pick(&["1", "2"]).to_owned(),
            overlap: self.random.pick(&[Overlap::Skip, Overlap::QueueOne, Overlap::Allow]),
            max_attempts: self.random.pick(&[0, 1, 3]),
            on_lost: self.on_lost(),
            is_dynamic: self.random.once_in(3),
        }
    }

    fn register(&mut self, model: &Model) -> Register {
        let now = model.now();
        let count = self.random.below(3) + 1;
        let mut definitions: Vec<_> = (0..count).map(|_| self.definition(now)).collect();
        if self.random.once_in(20) {
            definitions[0].task = self.random.pick(&["", "a\0"]).to_owned();
        }
        Register {
            session: self.session(model),
            first_opened: now.before(self.wait()),
            definitions,
            limits: (0..self.random.below(3)).map(|_| self.limits()).collect(),
            not_after: self.not_after(now),
        }
    }

    fn limits(&mut self) -> LimitSpec {
        let former = self.random.once_in(8).then(|| self.random.pick(&TASKS).to_owned());
        LimitSpec {
            task: self.random.pick(&TASKS).to_owned(),
            former_names: former.into_iter().collect(),
            all: self.limit(),
            each: self.limit(),
        }
    }

    fn limit(&mut self) -> Limit {
        if self.random.once_in(2) {
            return Limit::default();
        }
        let running = self.random.once_in(2).then(|| self.random.pick(&[1, 2, 5]));
        let starts = self.random.pick(&[1, 3, 7]);
        let period = Duration::from_micros(self.random.pick(&[7, 1_000_000, 10_000_000]));
        let burst = self.random.pick(&[1, starts]);
        let rate = self.random.once_in(3).then_some(Rate { starts, period, burst });
        let waiting = self.random.once_in(4).then(|| 1 + self.random.below(4) as u32);
        let on_park = self.random.pick(&[OnPark::GoOn, OnPark::Hold]);
        let ordered = self.random.once_in(3).then_some(on_park);
        Limit { running, rate, waiting, ordered }
    }

    fn poll(&mut self, model: &Model) -> Poll {
        let count = self.random.below(TASKS.len() as u64 + 1);
        let room = |this: &mut Self| TaskRoom {
            task: this.random.pick(&TASKS).into(),
            room: this.small(),
            version: this.version(),
        };
        let tasks: Vec<_> = (0..count).map(|_| room(self)).collect();
        let queues = self.random.once_in(3).then(|| {
            let count = self.random.below(3);
            (0..count).map(|_| Arc::<str>::from(self.random.pick(&QUEUES))).collect::<Vec<_>>()
        });
        Poll {
            session: self.session(model),
            tasks: tasks.into(),
            queues: queues.map(Into::into),
            limit: self.small(),
            abandon_limit: self.small(),
            lost_limit: self.small(),
            with_leases: self.random.once_in(2),
            not_after: self.not_after(model.now()),
        }
    }

    fn next_of(&mut self, now: StoreTime) -> Next {
        match self.random.below(6) {
            0 => Next::Unknown,
            1 => Next::Never,
            2 | 3 => Next::AfterJob,
            _ => Next::At(self.instant(now)),
        }
    }

    fn fire(&mut self, model: &Model) -> Fire {
        let now = model.now();
        let schedule = self.schedule(model);
        let (mut name, mut rule, mut seen, mut pause) = (self.name(), String::new(), now, None);
        if let Some(schedule) = &schedule {
            name.clone_from(&schedule.definition.name);
            (rule, seen) = (schedule.rule().text.clone(), schedule.cursor);
            pause = schedule.pause.as_ref().map(Pause::span);
        }
        if self.random.once_in(12) {
            let until = self.random.once_in(2).then_some(now);
            pause = pause.map(|pause| PauseSpan { until, ..pause });
        }
        if self.random.once_in(12) {
            seen = seen.after(Duration::from_micros(1));
        }
        if self.random.once_in(12) {
            rule.push('x');
        }
        let tick = match self.random.below(4) {
            0 => self.instant(now),
            1 => now,
            _ => seen.max(now.before(self.wait())),
        };
        let job = (!self.random.once_in(4)).then(|| TickJob {
            id: self.new_job(),
            tick,
            missed: self.random.below(3),
            run_at: tick.after(self.wait()),
        });
        let skips = Skips {
            missed: self.random.below(3),
            paused: self.random.below(2),
            overlap: self.random.below(2),
            limit: 0,
        };
        Fire {
            session: self.session(model),
            schedule: name,
            rule,
            seen,
            pause,
            cursor: if self.random.once_in(6) { seen } else { tick },
            next: self.next_of(now),
            job,
            on_busy: self.random.pick(&[OnBusy::Skip, OnBusy::Queue, OnBusy::Queue, OnBusy::Wait]),
            skips,
            claim: self.random.once_in(2).then(|| self.version()),
            not_after: self.not_after(now),
        }
    }

    fn end(&mut self) -> End {
        let error = || "it broke\0'\u{1E}\u{1F}\n".to_owned();
        match self.random.below(10) {
            0 => End::Done,
            1 => End::Gone,
            9 => End::Lost { after: self.wait(), max_lost: self.small() },
            2 | 3 => End::Failed { after: self.wait(), error: error() },
            4 => End::Park { error: error() },
            5 => End::Cancelled,
            6 => End::Snooze { after: self.wait() },
            7 => End::GiveBack,
            _ => {
                let limit = self.small();
                End::Undecodable { after: self.wait(), error: error(), limit }
            }
        }
    }

    fn finishes(&mut self, model: &Model) -> Vec<Finish> {
        let jobs = model.jobs(&JobFilter::default(), u32::MAX).unwrap_or_default();
        let held: Vec<&StoredJob> = jobs.iter().filter(|job| job.session.is_some()).collect();
        let running: Vec<&StoredJob> =
            held.iter().copied().filter(|job| job.state == JobState::Running).collect();
        let count = self.random.below(3) + 1;
        let mut finishes = Vec::new();
        for _ in 0..count {
            let from = if self.random.once_in(5) { &held } else { &running };
            let Some(job) = (!from.is_empty()).then(|| self.random.pick(from)) else { break };
            let (mut session, mut fence) = (job.session.unwrap_or(self.any_session()), job.fence);
            if self.random.once_in(12) {
                session = self.any_session();
            }
            if self.random.once_in(12) {
                fence = self.random.pick(&[Fence(0), Fence(fence.0 + 1), Fence(u64::MAX)]);
            }
            let held = ClaimRef { job: job.id, fence };
            let progress = self.random.once_in(2).then(|| self.progress()).flatten();
            finishes.push(Finish { progress, session, held, end: self.end() });
        }
        finishes
    }

    fn progress(&mut self) -> Option<JobProgress> {
        let fraction = f64::from(self.random.below(11) as u32) / 10.0;
        JobProgress::new(fraction, self.random.pick(&["", "page 3 of 7", "a 'b' \n\u{1F}ü"]))
    }

    /// That of some jobs, of others too, and not by their last claims alone.
    fn all_progress(&mut self, model: &Model) -> Vec<(ClaimRef, JobProgress)> {
        let jobs = model.jobs(&JobFilter::default(), u32::MAX).unwrap_or_default();
        let mut all = Vec::new();
        for job in jobs.iter().take(4).filter(|job| job.session.is_some()) {
            let fence = if self.random.once_in(8) { Fence(job.fence.0 + 1) } else { job.fence };
            let held = ClaimRef { job: job.id, fence };
            all.extend(self.progress().map(|progress| (held, progress)));
        }
        all
    }

    fn reap(&mut self, model: &Model) -> Reap {
        let now = model.now();
        let mut dead = model.state().leases(SessionId::from_uuid(Uuid::max()), now);
        let is_strict = self.random.once_in(2);
        dead.retain(|lease| lease.has_run_out || !is_strict);
        // As it was seen before the session was renewed.
        for lease in &mut dead {
            lease.mark -= i64::from(self.random.once_in(4));
        }
        if self.random.once_in(6) {
            dead.push(Lease { session: self.any_session(), mark: 1, has_run_out: true });
        }
        Reap {
            found_by: self.random.pick(&["web-1", "", "a\0b"]).to_owned(),
            dead,
            max_lost: self.random.pick(&[1, 2, 3]),
            spread: self.wait(),
            draw: self.random.next(),
            not_after: self.not_after(now),
        }
    }

    fn enqueue(&mut self, model: &Model) -> Enqueue {
        let now = model.now();
        let count = self.random.below(4);
        let mut jobs: Vec<_> = (0..count).map(|_| self.job_to_enqueue(now)).collect();
        for job in &mut jobs {
            job.is_resent = model.state().remembers(job.id);
        }
        if let Some(job) = jobs.last_mut().filter(|_| self.random.once_in(20)) {
            job.queue = "x".repeat(251);
        }
        Enqueue { jobs, not_after: self.not_after(now) }
    }

    fn job_to_enqueue(&mut self, now: StoreTime) -> NewJob {
        let key = self.random.once_in(3).then(|| Key {
            text: self.random.pick(&KEYS).to_owned(),
            until: match self.random.below(4) {
                0 => KeyUntil::Start,
                1 => KeyUntil::For(self.wait()),
                _ => KeyUntil::End,
            },
            on_conflict: match self.random.below(3) {
                0 => OnConflict::Keep,
                1 => OnConflict::Replace,
                _ => OnConflict::Debounce(self.wait()),
            },
        });
        let when = match self.random.below(4) {
            0 => When::After(self.wait()),
            1 => When::At(self.instant(now)),
            _ => When::Now,
        };
        NewJob {
            payload: self.payload(),
            queue: self.random.pick(&QUEUES).to_owned(),
            priority: self.random.pick(&Priority::HIGHEST_FIRST),
            when,
            expires: match self.random.below(12) {
                0 => Some(Expiry::After(self.wait())),
                1 => Some(Expiry::At(self.instant(now))),
                _ => None,
            },
            key,
            max_attempts: self.random.pick(&[0, 1, 3, u32::MAX]),
            on_lost: self.on_lost(),
            partition: self.partition(),
            is_guarded: self.random.once_in(2),
            traceparent: self.random.once_in(2).then(|| format!("00-{}", self.random.below(3))),
            ..NewJob::new(self.new_job(), self.random.pick(&TASKS))
        }
    }

    fn command(&mut self, model: &Model) -> Command {
        let now = model.now();
        let schedule = match self.schedule(model) {
            Some(schedule) if !self.random.once_in(6) => schedule.definition.name,
            _ => self.name(),
        };
        match self.random.below(18) {
            15 => Command::PauseNode {
                session: self.session(model),
                until: self.random.once_in(2).then(|| self.instant(now)),
                by: "me\0".to_owned(),
                reason: "x".repeat(20_000),
            },
            16 => Command::ResumeNode { session: self.session(model) },
            12 => Command::PauseJobs {
                scope: self.scope(),
                until: self.random.once_in(2).then(|| self.instant(now)),
                by: "me\0".to_owned(),
                reason: "x".repeat(20_000),
            },
            13 => Command::ResumeJobs { scope: self.scope() },
            0 => Command::Pause {
                schedule,
                until: self.random.once_in(2).then(|| self.instant(now)),
                by: "me\0".to_owned(),
                reason: "x".repeat(20_000),
            },
            1 | 2 => Command::Resume { schedule },
            3 | 4 => Command::RunNow { schedule, job: self.new_job() },
            5 => {
                let rule = self.random.once_in(2).then(|| self.rule(now));
                Command::Reschedule { schedule, rule }
            }
            6 => Command::Put { definition: Box::new(self.definition(now)) },
            7 if self.random.once_in(3) => Command::Remove { schedule },
            8 | 9 => Command::Cancel { job: self.job(model) },
            10 => Command::Delete { job: self.job(model) },
            14 => self.edit(model),
            11 => Command::SetLimit {
                task: self.random.pick(&TASKS).to_owned(),
                scope: self.random.pick(&LimitScope::BOTH),
                limit: (!self.random.once_in(3)).then(|| LimitOverride {
                    limit: self.limit(),
                    by: "me\0".to_owned(),
                    reason: "x".repeat(20_000),
                }),
            },
            _ => Command::Retry { job: self.job(model) },
        }
    }

    /// Few actions, so that several commands are one.
    fn signature(&mut self) -> Option<Signature> {
        let mut signature = Signature::by(self.random.pick(&PEOPLE)).address("127.0.0.1");
        signature.action = Some(self.action_id());
        if self.random.once_in(2) {
            signature = signature.reason("x\0");
        }
        if self.random.once_in(3) {
            let task = self.random.once_in(2).then(|| self.random.pick(&TASKS));
            signature = signature.in_action(self.action_id(), "all of them", task);
        }
        (!self.random.once_in(3)).then_some(signature)
    }

    fn action_id(&mut self) -> ActionId {
        ActionId::from_uuid(Uuid::from_u128(u128::from(self.random.below(200))))
    }

    fn action(&mut self) -> Action {
        let mut signature = Signature::by(self.random.pick(&PEOPLE));
        signature.action = Some(self.action_id());
        let mut action = Action::new(&signature, "run", TargetKind::Task, self.random.pick(&TASKS));
        action.count = 1 + self.random.below(9);
        action
    }

    fn action_filter(&mut self, model: &Model) -> ActionFilter {
        let now = model.now();
        ActionFilter {
            since: self.random.once_in(3).then(|| self.instant(now)),
            by: self.random.once_in(3).then(|| self.random.pick(&PEOPLE).to_owned()),
            task: self.random.once_in(3).then(|| self.random.pick(&TASKS).to_owned()),
            after: self.random.once_in(3).then(|| self.action_id()),
        }
    }

    fn edit(&mut self, model: &Model) -> Command {
        let job = self.job(model);
        let fence = model.job(job).ok().flatten().map(|job| job.fence);
        let fence = match self.random.below(4) {
            0 => None,
            1 => Some(Fence(self.random.below(9))),
            _ => fence,
        };
        Command::Edit { job, fence, payload: self.payload() }
    }

    fn scope(&mut self) -> PauseScope {
        match self.random.below(3) {
            0 => PauseScope::Task(self.random.pick(&TASKS).to_owned()),
            1 => PauseScope::Queue(self.random.pick(&QUEUES).to_owned()),
            _ => {
                let partition = self.random.pick(&["", "p-1", "p-2"]);
                PauseScope::Partition(self.random.pick(&TASKS).to_owned(), partition.to_owned())
            }
        }
    }

    fn filter(&mut self, model: &Model) -> JobFilter {
        JobFilter {
            task: self.random.once_in(4).then(|| self.random.pick(&TASKS).to_owned()),
            queue: self.random.once_in(4).then(|| self.random.pick(&QUEUES).to_owned()),
            partition: self
                .random
                .once_in(6)
                .then(|| self.random.pick(&["", "p-1", "p-2"]).to_owned()),
            state: self.random.once_in(3).then(|| self.random.pick(&JobState::ALL)),
            key: self.random.once_in(6).then(|| self.random.pick(&KEYS).to_owned()),
            schedule: self.random.once_in(6).then(|| self.name()),
            has_error: self.random.once_in(4),
            after: self.random.once_in(3).then(|| self.job(model)),
        }
    }
}

/// Identities in another order than they are made.
fn job_id(number: u64) -> JobId {
    let scattered = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    JobId::from_uuid(Uuid::from_u128(u128::from(scattered) << 64 | u128::from(number)))
}
