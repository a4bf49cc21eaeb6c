//! A store that refuses to answer, or lets the caller wait, when the test says so.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use scheduler::store::{
    Enqueued, JobFilter, JobId, Model, QueueDepth, SessionId, Store, StoreError, StoreTime,
};
use scheduler::{Clock, ManualClock, SystemClock};
use scheduler_store::{
    Action, ActionFilter, BulkOutcome, ClaimRef, Close, Command, CommandAll, CommandOutcome,
    Enqueue, Finish, Finished, Fire, Fired, JobPause, JobWait, LimitDepth, Open, Opened,
    PartitionDepth, Poll, Polled, Prune, Reap, Reaped, Register, Registered, Renew, Renewed,
    SessionInfo, Signature, StoredJob, StoredLimit, StoredSchedule,
};

/// The answer of the store to requests that the page makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Answers,
    IsAway,
    /// It answers with an error.
    Fails,
    IsStuck,
    /// It does not come to an end with its counts of jobs.
    CountsSlowly,
    /// Its disk is full: it answers questions, and renews no lease.
    RefusesWrites,
    /// It answers all but commands after so many.
    IsAwayAfterCommands(u32),
    FailsAfterCommands(u32),
}

impl Mood {
    fn waits(self) -> bool {
        matches!(self, Self::IsStuck | Self::CountsSlowly)
    }

    fn answer(self) -> Result<(), StoreError> {
        match self {
            Self::IsAway => Err(StoreError::Unavailable("connection refused".to_owned())),
            Self::RefusesWrites => Err(StoreError::Unavailable("database or disk is full".into())),
            Self::Fails => Err(StoreError::Failed("permission denied (42501)".to_owned())),
            _ => Ok(()),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Moody {
    store: Model,
    mood: Arc<(Mutex<Mood>, Condvar)>,
    asked: Arc<Mutex<BTreeMap<&'static str, u32>>>,
    /// A clock, and the time that a command takes.
    step: Option<(ManualClock, Duration)>,
}

impl Moody {
    pub(crate) fn new() -> Self {
        let now = || StoreTime::from(SystemClock::new().wall());
        Self {
            store: Model::with_clock(now),
            mood: Arc::new((Mutex::new(Mood::Answers), Condvar::new())),
            asked: Arc::default(),
            step: None,
        }
    }

    /// Each command takes so long by this clock, which is the store's.
    pub(crate) fn stepping(mut self, clock: &ManualClock, step: Duration) -> Self {
        let wall = clock.clone();
        self.store = Model::with_clock(move || StoreTime::from(wall.wall()));
        self.step = Some((clock.clone(), step));
        self
    }

    pub(crate) fn set(&self, mood: Mood) {
        *self.mood.0.lock().unwrap() = mood;
        self.mood.1.notify_all();
    }

    /// The questions of people since the last call, with their numbers.
    pub(crate) fn take_asked(&self) -> BTreeMap<&'static str, u32> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }

    fn check_question(&self, what: &'static str) -> Result<(), StoreError> {
        *self.asked.lock().unwrap().entry(what).or_default() += 1;
        let mood = *self.mood.0.lock().unwrap();
        match mood {
            Mood::RefusesWrites => Ok(()),
            Mood::CountsSlowly if what != "depths" => Ok(()),
            _ => self.check(),
        }
    }

    fn check(&self) -> Result<(), StoreError> {
        let mood = self.mood.0.lock().unwrap();
        let mood = self.mood.1.wait_while(mood, |mood| mood.waits()).unwrap();
        mood.answer()
    }

    fn check_command(&self) -> Result<(), StoreError> {
        if let Some((clock, step)) = &self.step {
            clock.advance(*step);
        }
        let mut mood = self.mood.0.lock().unwrap();
        match &mut *mood {
            Mood::IsAwayAfterCommands(0) => Mood::IsAway.answer(),
            Mood::FailsAfterCommands(0) => Mood::Fails.answer(),
            Mood::IsAwayAfterCommands(left) | Mood::FailsAfterCommands(left) => {
                *left -= 1;
                Ok(())
            }
            _ => {
                drop(mood);
                self.check()
            }
        }
    }
}

/// The first list is what the node asks, the second what people ask.
macro_rules! pass_on {
    ($($name:ident($request:ty) -> $answer:ty;)* --- $($asked:ident($($argument:ident: $kind:ty),*) -> $found:ty;)*) => {
        impl Store for Moody {
            fn describe(&self) -> String {
                "a store with moods".to_owned()
            }

            /// A node that renews its lease, and a program that asks for the clock.
            fn renew(&self, request: &Renew) -> Result<Renewed, StoreError> {
                let mood = *self.mood.0.lock().unwrap();
                if mood != Mood::CountsSlowly {
                    self.check()?;
                }
                self.store.renew(request)
            }

            fn command_by(&self, by: Option<&Signature>, command: &Command, not_after: StoreTime) -> Result<CommandOutcome, StoreError> {
                self.check_command()?;
                self.store.command_by(by, command, not_after)
            }

            fn command_all(&self, request: &CommandAll) -> Result<BulkOutcome, StoreError> {
                self.check_command()?;
                self.store.command_all(request)
            }

            $(fn $name(&self, request: $request) -> Result<$answer, StoreError> {
                self.store.$name(request)
            })*

            $(fn $asked(&self, $($argument: $kind),*) -> Result<$found, StoreError> {
                self.check_question(stringify!($asked))?;
                self.store.$asked($($argument),*)
            })*
        }
    };
}

pass_on! {
    open(&Open) -> Opened;
    close(&Close) -> ();
    register(&Register) -> Registered;
    poll(&Poll) -> Polled;
    fire(&Fire) -> Fired;
    finish(&[Finish]) -> Vec<Finished>;
    held(SessionId) -> Vec<ClaimRef>;
    reap(&Reap) -> Reaped;
    enqueue(&Enqueue) -> Vec<Enqueued>;
    prune(&Prune) -> u64;
    ---
    job(id: JobId) -> Option<StoredJob>;
    jobs(filter: &JobFilter, limit: u32) -> Vec<StoredJob>;
    note(action: &Action, adds: bool) -> ();
    actions(filter: &ActionFilter, limit: u32) -> Vec<Action>;
    schedules() -> Vec<StoredSchedule>;
    pauses() -> Vec<JobPause>;
    limits() -> Vec<StoredLimit>;
    waits(jobs: &[JobId]) -> Vec<JobWait>;
    partitions(task: &str, limit: u32) -> Vec<PartitionDepth>;
    limit_depths() -> Vec<LimitDepth>;
    sessions() -> Vec<SessionInfo>;
    depths() -> Vec<QueueDepth>;
}
