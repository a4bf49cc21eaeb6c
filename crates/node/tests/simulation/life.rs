//! One life, from its seed to its judgement.

use scheduler_store::{
    Command, DEFAULT_QUEUE, Expiry, JobId, Key, KeyUntil, LimitOverride, LimitScope, NewJob,
    OnConflict, OnLost, PauseScope, Payload, Priority, StoreTime, When,
};
use std::time::Duration;

use crate::body::{POISON, WORK};
use crate::rules;
use crate::setup::{NEWER, Setup, limit, ordered_as, plain};
use crate::wire::{Event, Happening};
use crate::world::{MILLI, SECOND, Wanted, Wish, World};
use scheduler_node::Rng;

/// The figures of a life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    /// Statements sent to the store.
    pub(crate) statements: u64,
    /// Runs that began.
    pub(crate) runs: u64,
    /// Sessions that were lost.
    pub(crate) losses: u64,
    /// Its length, by true time.
    pub(crate) lasted: Duration,
}

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The seed that shows it again.
    pub(crate) seed: u64,
    /// The promise, and the breach.
    pub(crate) what: String,
}

/// The partitions of jobs whose task has limits.
const PARTITIONS: [Option<&str>; 4] = [None, Some("a"), Some("b"), Some("c")];
/// A schedule that is made while programs run.
const DYNAMIC: &str = "d0";
/// When the faults end.
const CALM: u64 = 26 * SECOND;
/// When schedules are paused.
const QUIET: u64 = 45 * SECOND;
/// When everything has to be done.
const END: u64 = 160 * SECOND;

/// Lives a life, and judges it.
///
/// # Errors
///
/// Something has happened that the contract rules out.
pub(crate) fn live(seed: u64) -> Result<Figures, Fault> {
    let mut rng = Rng::new(u128::from(seed) << 32);
    let setup = Setup::draw(&mut rng);
    // Jobs that run one by one take their time.
    let end = if setup.limits.is_some() { END * 4 } else { END };
    let mut world = World::new(seed, setup, rng);
    world.prepare();
    while let Some(event) = world.next_event() {
        let is_look = matches!(event, Event::Look);
        world.handle(event);
        if let Some(what) = world.checker.fault() {
            return Err(Fault { seed, what });
        }
        if !is_look {
            continue;
        }
        let unfinished = world.checker.unfinished(&world.model, world.store_now());
        if unfinished.is_empty() {
            world.checker.check_all(&world.model);
            break;
        }
        if world.now > end {
            return Err(Fault { seed, what: format!("not done at the end: {unfinished:?}") });
        }
        world.after(SECOND, Event::Look);
    }
    if let Some(what) = world.checker.fault() {
        return Err(Fault { seed, what });
    }
    Ok(Figures {
        statements: world.statements,
        runs: world.checker.runs(),
        losses: world.checker.losses(),
        lasted: Duration::from_nanos(world.now),
    })
}

impl World {
    /// Rng what will happen.
    fn prepare(&mut self) {
        for index in 0..self.setup.processes {
            let at = SECOND + self.rng.below(3) * self.rng.below(SECOND);
            self.at(at, Event::Process(index, Happening::Start));
            self.prepare_faults(index);
        }
        let count = 5 + self.rng.below(25);
        for index in 0..count {
            self.prepare_job(index);
        }
        if self.setup.commands {
            for _ in 0..1 + self.rng.below(12) {
                self.prepare_command();
            }
        }
        if self.setup.outages {
            let at = self.some_time();
            self.at(at, Event::Store(true));
            let length = self.rng.below(8 * SECOND);
            self.at((at + length).min(CALM), Event::Store(false));
        }
        if self.setup.steps {
            for _ in 0..1 + self.rng.below(2) {
                let at = self.some_time();
                let by = 1_000 * i64::try_from(self.rng.below(20_000)).unwrap_or(0);
                let back = self.rng.below(4) == 0;
                self.at(at, Event::Step(if back { -by / 4 } else { by }));
            }
        }
        self.at(CALM, Event::Calm);
        self.at(QUIET, Event::Quiet);
        self.at(QUIET + SECOND, Event::Look);
    }

    fn some_time(&mut self) -> u64 {
        SECOND + self.rng.below(CALM - 2 * SECOND)
    }

    fn prepare_faults(&mut self, index: usize) {
        let setup = self.setup.clone();
        if setup.crashes {
            for _ in 0..self.rng.below(3) {
                let at = self.some_time();
                self.at(at, Event::Process(index, Happening::Crash));
            }
        }
        if setup.freezes {
            for _ in 0..self.rng.below(3) {
                let at = self.some_time();
                let length = self.rng.below(9 * SECOND);
                self.at(at, Event::Process(index, Happening::Freeze(length)));
            }
        }
        if setup.stops {
            for _ in 0..self.rng.below(3) {
                let at = self.some_time();
                self.at(at, Event::Process(index, Happening::Stop));
            }
        }
        if setup.hangs && index > 0 && self.rng.below(2) == 0 {
            let at = self.some_time();
            self.at(at, Event::Process(index, Happening::Hang));
        }
    }

    fn job_id(&mut self) -> JobId {
        let now = self.store_now();
        JobId::from_uuid(self.rng.id(now))
    }

    fn prepare_job(&mut self, index: u64) {
        let id = self.job_id();
        let is_poison = self.setup.poison && index == 0;
        let task = if is_poison { POISON } else { WORK };
        let max_attempts = if is_poison { 1 } else { 1 + self.rng.below(8) as u32 };
        let on_lost = match !is_poison && self.rng.below(8) == 0 {
            true => OnLost::Abandon,
            false => OnLost::Rerun,
        };
        let key = (!is_poison && self.rng.below(4) == 0).then(|| Key {
            text: format!("key {}", self.rng.below(3)),
            until: match self.rng.below(3) {
                0 => KeyUntil::End,
                1 => KeyUntil::Start,
                _ => KeyUntil::For(Duration::from_secs(self.rng.below(60))),
            },
            on_conflict: match self.rng.below(4) {
                0 | 1 => OnConflict::Keep,
                2 => OnConflict::Replace,
                _ => OnConflict::Debounce(Duration::from_millis(self.rng.below(2_000))),
            },
        });
        let when = match self.rng.below(4) {
            0 => When::After(Duration::from_millis(self.rng.below(4_000))),
            _ => When::Now,
        };
        let priority = Priority::HIGHEST_FIRST[self.rng.below(4) as usize];
        let (mut payload, mut partition) = (Payload::default(), None);
        if self.setup.builds {
            payload.version = self.rng.below(u64::from(NEWER) + 1) as u32;
        }
        if self.setup.limits.is_some() && !is_poison {
            partition = PARTITIONS[self.rng.below(4) as usize].map(str::to_owned);
        }
        let is_guarded = self.setup.limits.is_some() && self.rng.below(2) == 0;
        let expires = (self.rng.below(8) == 0)
            .then(|| Expiry::After(Duration::from_millis(1 + self.rng.below(3_000))));
        let new = NewJob {
            expires,
            partition,
            key,
            when,
            priority,
            payload,
            on_lost,
            max_attempts,
            is_guarded,
            ..NewJob::new(id, task)
        };
        self.prepare_wish(Wanted::Enqueue(Box::new(new)));
    }

    fn prepare_wish(&mut self, what: Wanted) {
        let at = self.some_time() / 2 + if self.rng.below(2) == 0 { 0 } else { CALM / 3 };
        self.wishes.push(Wish { what, first_sent: None, is_done: false });
        self.at(at, Event::Wish(self.wishes.len() - 1));
    }

    fn prepare_command(&mut self) {
        let jobs: Vec<JobId> = self
            .wishes
            .iter()
            .filter_map(|wish| match &wish.what {
                Wanted::Enqueue(job) => Some(job.id),
                Wanted::Command(_) => None,
            })
            .collect();
        let job = jobs[self.rng.below(jobs.len() as u64) as usize];
        let count = self.setup.schedules.len() as u64;
        let schedule = match self.rng.below(count + 1) {
            index if index < count => format!("s{index}"),
            _ => DYNAMIC.to_owned(),
        };
        let until = match self.rng.below(2) {
            0 => None,
            _ => Some(self.pause_end()),
        };
        let id = self.job_id();
        let period = Duration::from_millis(500 + self.rng.below(3_000));
        let is_limited = self.setup.limits.is_some();
        let scope = match self.rng.below(if is_limited { 6 } else { 3 }) {
            3.. => {
                let partition = PARTITIONS[self.rng.below(4) as usize].unwrap_or_default();
                PauseScope::Partition(WORK.to_owned(), partition.to_owned())
            }
            0 => PauseScope::Queue(DEFAULT_QUEUE.to_owned()),
            _ => PauseScope::Task(WORK.to_owned()),
        };
        let command = match self.rng.below(if is_limited { 26 } else { 18 }) {
            18.. => self.limit_by_hand(),
            14..=16 => {
                let (by, reason) = ("me".to_owned(), "so".to_owned());
                Command::PauseJobs { scope, until, by, reason }
            }
            17 => Command::ResumeJobs { scope },
            0 | 1 => {
                let (by, reason) = ("me".to_owned(), "so".to_owned());
                Command::Pause { schedule, until, by, reason }
            }
            2 | 3 => Command::Resume { schedule },
            4 => Command::RunNow { schedule, job: id },
            5 => {
                let rule = match self.rng.below(3) {
                    0 => None,
                    1 => Some(rules::rate(period, period)),
                    _ => Some(rules::computed(period, Duration::from_millis(70))),
                };
                Command::Reschedule { schedule, rule }
            }
            6 => Command::Cancel { job },
            7 | 12 | 13 => Command::Retry { job },
            8 => Command::Delete { job },
            9 => Command::Remove { schedule: DYNAMIC.to_owned() },
            _ => {
                let rule = match self.rng.below(3) {
                    0 => rules::rate(period, period),
                    1 => rules::delay(period, period),
                    _ => rules::computed(period, Duration::from_millis(30)),
                };
                Command::Put { definition: Box::new(plain(DYNAMIC, rule)) }
            }
        };
        self.prepare_wish(Wanted::Command(command));
    }

    /// A limit by hand, or the end of one.
    fn limit_by_hand(&mut self) -> Command {
        let each = self.setup.limits.as_ref().map(|limits| limits.each).unwrap_or_default();
        let (scope, limit) = match self.rng.below(2) {
            0 => (LimitScope::All, limit(4, &mut self.rng)),
            _ => (LimitScope::Each, ordered_as(limit(2, &mut self.rng), each)),
        };
        let (by, reason) = ("me".to_owned(), format!("for the {}th time", self.wishes.len()));
        let limit = (self.rng.below(4) > 0).then_some(LimitOverride { limit, by, reason });
        Command::SetLimit { task: WORK.to_owned(), scope, limit }
    }

    fn pause_end(&mut self) -> StoreTime {
        self.store_now().after(Duration::from_millis(self.rng.below(25 * SECOND / MILLI)))
    }
}
