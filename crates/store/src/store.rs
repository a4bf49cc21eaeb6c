//! The contract of a store.

use std::any::Any;
use std::fmt;
use std::time::Duration;

use crate::action::{Action, ActionFilter, Signature};
use crate::command::{BulkOutcome, Command, CommandAll, CommandOutcome, JobPause};
use crate::error::{Refusal, StoreError};
use crate::id::{JobId, SessionId, StoreTime};
use crate::job::{ClaimRef, Enqueued, NewJob, StoredJob};
use crate::limit::StoredLimit;
use crate::request::{
    Close, Enqueue, Finish, Finished, Fire, Fired, JobFilter, Open, Opened, Poll, Polled, Prune,
    QueueDepth, Reap, Reaped, Register, Registered, Renew, Renewed,
};
use crate::schedule::StoredSchedule;
use crate::session::SessionInfo;
use crate::wait::{JobWait, LimitDepth, PartitionDepth};

/// Where durable jobs, schedules and sessions are kept, for all processes that use it.
///
/// Each method is one transaction, blocks until it is committed, and may be called by several threads at once. All times are
/// by the clock of the store. The conditions under which a method changes something are part of the same transaction, so
/// that no two processes can both find them true.
///
/// The conformance suite holds a store against this contract, and [`Model`](crate::Model) is the
/// contract as a program: any sequence of calls has the same answers on each store.
pub trait Store: Any + Send + Sync + fmt::Debug {
    /// The name of the store for people, without passwords.
    fn describe(&self) -> String;

    /// The code with which an application of this name has tables of its own, for people.
    fn separate(&self, application: &str) -> String {
        let _ = application;
        "open another store".to_owned()
    }

    /// Opens a session, and ends the one that it replaces. Opening a session that is open does nothing.
    ///
    /// # Errors
    ///
    /// The store does not answer, or the request came too late.
    fn open(&self, request: &Open) -> Result<Opened, StoreError>;

    /// Renews a lease that has not run out.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    fn renew(&self, request: &Renew) -> Result<Renewed, StoreError>;

    /// Gives back jobs that never began, and ends the session.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    fn close(&self, request: &Close) -> Result<(), StoreError>;

    /// Registers schedules.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open); or a text cannot be stored, and nothing is registered.
    fn register(&self, request: &Register) -> Result<Registered, StoreError>;

    /// Repairs, claims jobs, and returns what is due.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    fn poll(&self, request: &Poll) -> Result<Polled, StoreError>;

    /// Moves the cursor of a schedule, and makes a job of a tick.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    fn fire(&self, request: &Fire) -> Result<Fired, StoreError>;

    /// Ends claims, each by itself, all in one transaction. They never come too late.
    ///
    /// # Errors
    ///
    /// The store does not answer.
    fn finish(&self, requests: &[Finish]) -> Result<Vec<Finished>, StoreError>;

    /// The jobs that a session has claimed, by identity.
    ///
    /// # Errors
    ///
    /// The store does not answer.
    fn held(&self, session: SessionId) -> Result<Vec<ClaimRef>, StoreError>;

    /// Ends dead sessions, and gives back the jobs of sessions that are gone.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    fn reap(&self, request: &Reap) -> Result<Reaped, StoreError>;

    /// Enqueues jobs, all in one transaction; one answer for each.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open); or a text or payload cannot be stored, and no job is accepted.
    fn enqueue(&self, request: &Enqueue) -> Result<Vec<Enqueued>, StoreError>;

    /// A statement of SQL that enqueues jobs, and its only parameter, which is a text: for a transaction of any client of the
    /// database. It returns rows with the texts `id` and `outcome`, which [`Enqueued::from_row`] reads.
    ///
    /// # Errors
    ///
    /// A text or payload cannot be stored, or the store is no database.
    fn statement(&self, jobs: &[NewJob]) -> Result<(String, String), StoreError> {
        let _ = jobs;
        let why = format!("{} is no database that others write to", self.describe());
        Err(Refusal::Unsupported(why).into())
    }

    /// Executes a command. If a person has signed it and it is done, the store keeps an [`Action`] of it.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open); or a text cannot be stored.
    fn command_by(
        &self,
        signature: Option<&Signature>,
        command: &Command,
        not_after: StoreTime,
    ) -> Result<CommandOutcome, StoreError>;

    /// Executes a command that no person has given.
    ///
    /// # Errors
    ///
    /// As [`command_by`](Self::command_by).
    fn command(
        &self,
        command: &Command,
        not_after: StoreTime,
    ) -> Result<CommandOutcome, StoreError> {
        self.command_by(None, command, not_after)
    }

    /// Keeps an action that no command has made, such as the pause of a task in memory, at the store's time. If there is one of
    /// its identity, it stays as it is, or the number is added.
    ///
    /// # Errors
    ///
    /// The store does not answer.
    fn note(&self, action: &Action, adds: bool) -> Result<(), StoreError>;

    /// Actions, the latest first, at most so many.
    ///
    /// # Errors
    ///
    /// The store does not answer.
    fn actions(&self, filter: &ActionFilter, limit: u32) -> Result<Vec<Action>, StoreError>;

    /// Does the same with all jobs that a filter selects.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    fn command_all(&self, request: &CommandAll) -> Result<BulkOutcome, StoreError>;

    /// Deletes jobs that ended long ago, and returns how many; and sessions that did.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    fn prune(&self, request: &Prune) -> Result<u64, StoreError>;

    /// A job.
    ///
    /// # Errors
    ///
    /// The store does not answer.
    fn job(&self, id: JobId) -> Result<Option<StoredJob>, StoreError>;

    /// Jobs by identity, the newest first, at most so many.
    ///
    /// # Errors
    ///
    /// The store does not answer.
    fn jobs(&self, filter: &JobFilter, limit: u32) -> Result<Vec<StoredJob>, StoreError>;

    /// All schedules, by name.
    ///
    /// # Errors
    ///
    /// The store does not answer.
    fn schedules(&self) -> Result<Vec<StoredSchedule>, StoreError>;

    /// The pauses of jobs that hold, by scope: those of tasks, of queues, and of partitions.
    ///
    /// # Errors
    ///
    /// The store does not answer.
    fn pauses(&self) -> Result<Vec<JobPause>, StoreError>;

    /// The limits of tasks, by task and scope.
    ///
    /// # Errors
    ///
    /// The store does not answer.
    fn limits(&self) -> Result<Vec<StoredLimit>, StoreError>;

    /// Those of these jobs that are ready, each with the first thing that stands in its way.
    ///
    /// # Errors
    ///
    /// The store does not answer.
    fn waits(&self, jobs: &[JobId]) -> Result<Vec<JobWait>, StoreError>;

    /// The partitions of a task in which jobs are due or run, at most so many: those with the most due jobs first, then by name.
    ///
    /// # Errors
    ///
    /// The store does not answer.
    fn partitions(&self, task: &str, limit: u32) -> Result<Vec<PartitionDepth>, StoreError>;

    /// The due jobs of all tasks that have a limit, by task and queue. No statement looks at jobs while no task has one.
    ///
    /// # Errors
    ///
    /// The store does not answer.
    fn limit_depths(&self) -> Result<Vec<LimitDepth>, StoreError>;

    /// All sessions that are open, by identity; then those that ended within [`ENDED_SESSION_RETENTION`], the latest first.
    ///
    /// [`ENDED_SESSION_RETENTION`]: crate::ENDED_SESSION_RETENTION
    ///
    /// # Errors
    ///
    /// The store does not answer.
    fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError>;

    /// The numbers of unfinished and parked jobs, by queue and task.
    ///
    /// # Errors
    ///
    /// The store does not answer.
    fn depths(&self) -> Result<Vec<QueueDepth>, StoreError>;

    /// Notifies this process early that another has enqueued something; none if only polling does.
    fn watch(&self) -> Option<Box<dyn Watch>> {
        None
    }
}

/// Waits for changes that other processes make. It is a hint: polling finds everything without it.
pub trait Watch: Send {
    /// Blocks until something may have changed, at most for the limit. Returns true if something may have.
    ///
    /// # Errors
    ///
    /// The store does not answer.
    fn wait(&mut self, limit: Duration) -> Result<bool, StoreError>;
}

/// Returns true if `SCHEDULER_DRY_RUN` asks for a dry run. A store then neither connects nor writes when it is opened.
#[must_use]
pub fn is_dry_run() -> bool {
    let asked = std::env::var("SCHEDULER_DRY_RUN").unwrap_or_default();
    matches!(asked.trim(), "1") || asked.trim().eq_ignore_ascii_case("true")
}
