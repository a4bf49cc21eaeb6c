//! A store with a clock, and short ways to ask it.

use std::time::Duration;

use crate::test_store::TestStore;
use scheduler_store::Store;
use scheduler_store::StoreTime;
use scheduler_store::{ClaimRef, Enqueued, JobState, NewJob, StoredJob};
use scheduler_store::{
    Command, CommandOutcome, End, Enqueue, Finish, Finished, Fire, Fired, Lease, OnBusy, Open,
    Poll, Polled, Prune, Reap, Reaped, Register, RegisteredSchedule, Registration, Renew, Renewed,
    TaskRoom,
};
use scheduler_store::{Fence, JobId, SessionId};
use scheduler_store::{
    Next, Overlap, Pause, Rule, ScheduleSpec, Skips, StoredSchedule, TickJob, Timing,
};
use scheduler_store::{OnLost, Payload, Priority, Uuid};

/// A store with a clock, and short ways to ask it.
pub(crate) struct Given<T> {
    pub(crate) test: T,
    pub(crate) now: StoreTime,
}

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const LEASE: Duration = Duration::from_secs(10);
const DAY: Duration = Duration::from_secs(86_400);

/// Opens a session that lasts an hour.
pub fn open(store: &dyn Store, number: u128) -> SessionId {
    let id = session(number);
    let request = Open {
        queues: None,
        concurrency: 4,
        id,
        replaces: None,
        label: "test".to_owned(),
        build: "1".to_owned(),
        lease: SECOND * 3_600,
        application: String::new(),
        tasks: [].into(),
        not_after: StoreTime::MAX,
    };
    store.open(&request).expect("a session");
    id
}

impl<T: TestStore> Given<T> {
    /// An empty store.
    pub(crate) fn store() -> Self {
        let (test, now) = (T::fresh(), StoreTime::from_micros(1_700_000_000_000_000));
        test.set_now(now);
        Self { test, now }
    }

    /// A store with an open session.
    pub(crate) fn session() -> (Self, SessionId) {
        let given = Self::store();
        let session = given.open(1);
        (given, session)
    }

    pub(crate) fn ask(&self) -> &dyn Store {
        self.test.store()
    }

    pub(crate) fn wait(&mut self, time: Duration) {
        self.now = self.now.after(time);
        self.test.set_now(self.now);
    }

    /// When requests expire, unless it is about that.
    pub(crate) fn in_time(&self) -> StoreTime {
        self.now.after(DAY)
    }

    pub(crate) fn open(&self, number: u128) -> SessionId {
        self.open_for(number, DAY, None)
    }

    pub(crate) fn open_for(
        &self,
        number: u128,
        lease: Duration,
        replaces: Option<SessionId>,
    ) -> SessionId {
        let id = session(number);
        let (label, build) = ("node".to_owned(), "1".to_owned());
        let request = Open {
            queues: None,
            concurrency: 4,
            id,
            replaces,
            label,
            build,
            lease,
            application: String::new(),
            tasks: [].into(),
            not_after: self.in_time(),
        };
        assert_eq!(self.ask().open(&request).unwrap().now, self.now);
        id
    }

    pub(crate) fn renew(&self, session: SessionId) -> Renewed {
        let request = Renew {
            progress: Vec::new(),
            clock_offset: None,
            session,
            lease: LEASE,
            not_after: self.in_time(),
        };
        self.ask().renew(&request).unwrap()
    }

    pub(crate) fn enqueue(&self, job: NewJob) -> Enqueued {
        let request = Enqueue { jobs: vec![job], not_after: self.in_time() };
        self.ask().enqueue(&request).unwrap()[0]
    }

    /// Enqueues a job of a task, and returns its identity.
    pub(crate) fn job_of(&self, number: u128, task: &str) -> JobId {
        assert_eq!(self.enqueue(NewJob::new(job(number), task)), Enqueued::Accepted(job(number)));
        job(number)
    }

    /// A job with a payload of this version.
    pub(crate) fn of_version(&self, number: u128, task: &str, version: u32) -> NewJob {
        let payload = Payload { version, bytes: b"{}".to_vec() };
        NewJob { payload, ..NewJob::new(job(number), task) }
    }

    pub(crate) fn versioned(&self, number: u128, task: &str, version: u32) -> JobId {
        self.enqueue(self.of_version(number, task, version));
        job(number)
    }

    /// A poll that knows payloads of a task up to a version.
    pub(crate) fn poll_up_to(&self, session: SessionId, task: &str, version: u32) -> Poll {
        let tasks = [TaskRoom { task: task.into(), room: 100, version }].into();
        Poll { tasks, ..self.poll_of(session, &[]) }
    }

    /// A poll without limits.
    pub(crate) fn poll_of(&self, session: SessionId, tasks: &[&str]) -> Poll {
        let room = |task: &&str| TaskRoom { task: (*task).into(), room: 100, version: u32::MAX };
        Poll {
            session,
            tasks: tasks.iter().map(room).collect(),
            queues: None,
            limit: 100,
            abandon_limit: 100,
            lost_limit: 100,
            with_leases: false,
            not_after: self.in_time(),
        }
    }

    pub(crate) fn poll(&self, session: SessionId, tasks: &[&str]) -> Polled {
        self.ask().poll(&self.poll_of(session, tasks)).unwrap()
    }

    /// Claims the only job of a task that is due.
    pub(crate) fn claim(&self, session: SessionId, task: &str) -> StoredJob {
        let mut jobs = self.poll(session, &[task]).jobs;
        assert_eq!(jobs.len(), 1, "jobs of {task:?} that are due");
        jobs.remove(0)
    }

    pub(crate) fn finish(&self, session: SessionId, held: ClaimRef, end: End) -> Finished {
        self.ask().finish(&[Finish { progress: None, session, held, end }]).unwrap()[0]
    }

    pub(crate) fn job(&self, id: JobId) -> StoredJob {
        self.ask().job(id).unwrap().expect("the job is there")
    }

    pub(crate) fn state(&self, id: JobId) -> JobState {
        self.job(id).state
    }

    pub(crate) fn command(&self, command: &Command) -> CommandOutcome {
        self.ask().command(command, self.in_time()).unwrap()
    }

    pub(crate) fn register(&self, session: SessionId, definition: &ScheduleSpec) -> Registration {
        self.register_of(session, definition, self.now)
    }

    pub(crate) fn register_of(
        &self,
        session: SessionId,
        definition: &ScheduleSpec,
        first_opened: StoreTime,
    ) -> Registration {
        let definitions = vec![definition.clone()];
        let (limits, not_after) = (Vec::new(), self.in_time());
        let request = Register { session, first_opened, definitions, limits, not_after };
        let registered = self.ask().register(&request).unwrap();
        let RegisteredSchedule { outcome, schedule } = &registered.schedules[0];
        assert_eq!(*schedule, self.schedule(&definition.name), "the answer is what is kept");
        *outcome
    }

    pub(crate) fn schedule(&self, name: &str) -> StoredSchedule {
        let schedules = self.ask().schedules().unwrap();
        schedules
            .into_iter()
            .find(|each| each.definition.name == name)
            .expect("the schedule is there")
    }

    /// The next tick is now, and becomes a job.
    pub(crate) fn fire_of(&self, session: SessionId, name: &str, number: u128) -> Fire {
        let schedule = self.schedule(name);
        let (id, tick) = (job(number), self.now);
        Fire {
            session,
            schedule: name.to_owned(),
            rule: schedule.rule().text.clone(),
            seen: schedule.cursor,
            pause: schedule.pause.as_ref().map(Pause::span),
            cursor: tick,
            next: Next::Unknown,
            job: Some(TickJob { id, tick, missed: 0, run_at: tick }),
            on_busy: OnBusy::Skip,
            skips: Skips::default(),
            claim: None,
            not_after: self.in_time(),
        }
    }

    pub(crate) fn fire(&self, request: &Fire) -> Fired {
        self.ask().fire(request).unwrap()
    }

    /// A prune that deletes nothing yet.
    pub(crate) fn prune_of(&self) -> Prune {
        let keep = Duration::from_secs(100);
        Prune {
            keep_done: keep,
            keep_parked: keep,
            keep_over: keep,
            keep_actions: keep,
            limit: 10,
            not_after: self.in_time(),
        }
    }

    /// Reaps sessions as they are now.
    pub(crate) fn reap(&self, dead: Vec<Lease>) -> Reaped {
        let request = Reap {
            found_by: "finder".to_owned(),
            dead,
            max_lost: 3,
            spread: SECOND,
            draw: 7,
            not_after: self.in_time(),
        };
        self.ask().reap(&request).unwrap()
    }

    /// The leases of all sessions but one.
    pub(crate) fn leases(&self, session: SessionId) -> Vec<Lease> {
        let poll = Poll { with_leases: true, ..self.poll_of(session, &[]) };
        self.ask().poll(&poll).unwrap().leases
    }

    /// The lease of a session as another one sees it.
    pub(crate) fn lease_of(&self, session: SessionId) -> Lease {
        let all = self.leases(SessionId::from_uuid(Uuid::max()));
        all.into_iter().find(|lease| lease.session == session).expect("the session is open")
    }
}

pub(crate) fn session(number: u128) -> SessionId {
    SessionId::from_uuid(Uuid::from_u128(number))
}

pub(crate) fn job(number: u128) -> JobId {
    JobId::from_uuid(Uuid::from_u128(number))
}

pub(crate) fn held(number: u128, fence: u64) -> ClaimRef {
    ClaimRef { job: job(number), fence: Fence(fence) }
}

/// A cron schedule of the task `tick` with this overlap.
pub(crate) fn cron(name: &str, overlap: Overlap) -> ScheduleSpec {
    ScheduleSpec {
        name: name.to_owned(),
        task: "tick".to_owned(),
        payload: Payload { version: 1, bytes: b"{}".to_vec() },
        queue: "default".to_owned(),
        priority: Priority::Normal,
        partition: None,
        rule: Rule { text: "each second".to_owned(), timing: Timing::Computed },
        calculator: "1".to_owned(),
        overlap,
        max_attempts: 1,
        on_lost: OnLost::Rerun,
        is_dynamic: false,
    }
}

/// A schedule with a delay of a second.
pub(crate) fn delay(name: &str) -> ScheduleSpec {
    let timing = Timing::Delay { first: SECOND, delay: SECOND };
    let rule = Rule { text: "a second after".to_owned(), timing };
    ScheduleSpec { rule, ..cron(name, Overlap::Skip) }
}

/// A cron schedule of a task, for tests of a store beyond these.
#[must_use]
pub fn definition(name: &str, task: &str) -> ScheduleSpec {
    ScheduleSpec { task: task.to_owned(), ..cron(name, Overlap::Skip) }
}
