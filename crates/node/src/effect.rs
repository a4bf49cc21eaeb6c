//! The inputs, effects, requests and answers of a node.

use std::sync::Arc;
use std::time::Duration;

use scheduler_expr::Tick;
use scheduler_store::{
    ClaimRef, Close, End, Finish, Finished, Fire, Fired, Open, Opened, OtherApplication, Poll,
    Polled, Prune, Reap, Reaped, Register, Registered, Registration, Renew, Renewed, SessionId,
    Skips, Store, StoreError, StoreTime, StoredJob, StoredSchedule, UnreadableRow,
};

/// An input of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A store has answered.
    Answer {
        /// The request.
        request: RequestId,
        /// The answer.
        result: Result<Answer, StoreError>,
    },
    /// The thread gave a request up at its deadline, and closed the connection: whether it was or will be executed is
    /// not known. An answer that comes later is ignored.
    NoAnswer {
        /// The request.
        request: RequestId,
    },
    /// A run has ended that [`Node::begin`](crate::Node::begin) had let begin.
    Ended {
        /// The job and its fence.
        held: ClaimRef,
        /// The end.
        end: End,
    },
    /// Something may have become due.
    Nudge,
    /// The thread of this channel waits for work: at its wake time, or earlier.
    Timer(Channel),
    /// The process is to stop.
    Stop,
}

/// An action that a node asks of its driver.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Ask the store, and pass the answer on; or [`Input::NoAnswer`] at the deadline.
    Ask {
        /// The thread that asks.
        channel: Channel,
        /// The number of the request.
        request: RequestId,
        /// The request.
        what: Request,
        /// When to give it up.
        deadline: Tick,
    },
    /// Run a job on the next free worker, if [`Node::begin`](crate::Node::begin) then allows it.
    Start(Arc<StoredJob>),
    /// Forget a job that was to start: it may not begin any more.
    Withdraw(ClaimRef),
    /// Tell a run that it is lost, and ask it to stop: its outcome will not be stored.
    Lost(ClaimRef),
    /// Tell a run that its session has ended. It runs at most once and goes on, and its outcome will be stored (R4).
    Outlived(ClaimRef),
    /// Ask a run to stop: its job was cancelled.
    Cancel(ClaimRef),
    /// Report what happened.
    Event(NodeEvent),
    /// The node has stopped, and wants nothing any more.
    Stopped,
}

/// Something that people may want to know.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum NodeEvent {
    /// A session was opened.
    Opened {
        /// The session.
        session: SessionId,
        /// The session of this process that it replaces.
        replaces: Option<SessionId>,
    },
    /// The store has jobs of another application, by the first session of this process.
    OtherApplication(OtherApplication),
    /// The session has ended, and its runs are lost.
    SessionLost {
        /// The session.
        session: SessionId,
        /// Why.
        reason: LostReason,
        /// The number of runs in progress.
        runs: u32,
    },
    /// Dead sessions of other processes were ended.
    TookOver {
        /// The sessions.
        sessions: Vec<SessionId>,
    },
    /// A job was lost with its session: it is ready again, or parked. This is the job as it is now.
    JobLost(Box<StoredJob>),
    /// A run has ended whose job was another's already: its outcome is not stored.
    FinishRefused {
        /// The job.
        held: ClaimRef,
    },
    /// The end of a run has parked a job. This is the job as it is now.
    Parked(Box<StoredJob>),
    /// A claim was given back that this process did not know of, since its answer was lost.
    GivenBack {
        /// The job.
        held: ClaimRef,
    },
    /// Ticks of a schedule were skipped.
    Skipped {
        /// The schedule.
        schedule: String,
        /// The numbers of ticks, by reason.
        skips: Skips,
        /// All ticks up to this one are decided.
        until: StoreTime,
    },
    /// A schedule was registered.
    Registered {
        /// The schedule as the store keeps it.
        schedule: Box<StoredSchedule>,
        /// The outcome.
        outcome: Registration,
    },
    /// This process does not fire a schedule, since another build has registered another rule. Told once for each rule.
    Silent {
        /// The schedule.
        schedule: String,
        /// The rule that is registered.
        rule: String,
    },
    /// This process does not fire a schedule, since it cannot read its rule. Told once for each rule.
    Unreadable {
        /// The schedule.
        schedule: String,
        /// The rule that counts.
        rule: String,
        /// Why.
        reason: String,
    },
    /// The store does not answer. Told once until it does.
    StoreAway {
        /// Why.
        reason: String,
    },
    /// The store answers again.
    StoreBack {
        /// For how long it did not.
        after: Duration,
    },
    /// The store refuses a request, or answers it with an error. While errors go on, this comes once a minute.
    Refused {
        /// The name of the request.
        request: &'static str,
        /// Why.
        reason: String,
    },
    /// The clock of this process differs from the store's by more than 2 s. Told once until it does not.
    ClockOff {
        /// By how many microseconds it is ahead.
        offset: i64,
    },
    /// People have paused this process, or let it go on.
    NodePaused {
        /// True if it is paused now.
        is_paused: bool,
    },
    /// Jobs of a task were cancelled, because no process had taken them by their time.
    Expired {
        /// The task.
        task: String,
        /// The number of jobs.
        count: u64,
    },
    /// A row could not be read.
    Damaged(UnreadableRow),
}

/// Why a session has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LostReason {
    /// No renewal was answered in time, by the clock of this process.
    NotRenewed,
    /// The store says that it has ended.
    Ended,
}

/// Names a request of a node. Numbers are not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// The thread that sends a request. Each has a connection of its own, and one request in flight at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Channel {
    /// Everything but renewals.
    Store,
    /// Renewals only, so that a slow claim never delays one.
    Lease,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Opens a session.
    Open(Open),
    /// Renews its lease.
    Renew(Renew),
    /// Ends it.
    Close(Close),
    /// Registers the schedules of the code.
    Register(Arc<Register>),
    /// Claims jobs, and asks what is due.
    Poll(Poll),
    /// Moves cursors, each in a transaction of its own.
    Fire(Arc<[Fire]>),
    /// Ends claims.
    Finish(Arc<[Finish]>),
    /// Reads which jobs a session has.
    Held(SessionId),
    /// Ends dead sessions.
    Reap(Reap),
    /// Deletes old jobs.
    Prune(Prune),
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To [`Request::Open`].
    Open(Opened),
    /// To [`Request::Renew`].
    Renew(Renewed),
    /// To [`Request::Close`].
    Close,
    /// To [`Request::Register`].
    Register(Registered),
    /// To [`Request::Poll`].
    Poll(Polled),
    /// To [`Request::Fire`]: one for each that was answered, and why there is none for the next.
    Fire(Vec<Fired>, Option<StoreError>),
    /// To [`Request::Finish`], one for each.
    Finish(Vec<Finished>),
    /// To [`Request::Held`].
    Held(Vec<ClaimRef>),
    /// To [`Request::Reap`].
    Reap(Reaped),
    /// To [`Request::Prune`].
    Prune(u64),
}

impl Request {
    /// The name of the request, for people.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Open(_) => "open",
            Self::Renew(_) => "renew",
            Self::Close(_) => "close",
            Self::Register(_) => "register",
            Self::Poll(_) => "poll",
            Self::Fire(_) => "fire",
            Self::Finish(_) => "finish",
            Self::Held(_) => "held",
            Self::Reap(_) => "reap",
            Self::Prune(_) => "prune",
        }
    }

    /// Sends the request, and blocks until it is answered.
    ///
    /// # Errors
    ///
    /// The store does not answer, or has refused.
    pub fn execute(&self, store: &dyn Store) -> Result<Answer, StoreError> {
        Ok(match self {
            Self::Open(open) => Answer::Open(store.open(open)?),
            Self::Renew(renew) => Answer::Renew(store.renew(renew)?),
            Self::Close(close) => {
                store.close(close)?;
                Answer::Close
            }
            Self::Register(register) => Answer::Register(store.register(register)?),
            Self::Poll(poll) => Answer::Poll(store.poll(poll)?),
            Self::Fire(fires) => {
                let mut fired = Vec::with_capacity(fires.len());
                let failed = fires.iter().try_for_each(|fire| {
                    fired.push(store.fire(fire)?);
                    Ok(())
                });
                match failed {
                    Err(error) if fired.is_empty() => return Err(error),
                    failed => Answer::Fire(fired, failed.err()),
                }
            }
            Self::Finish(finishes) => Answer::Finish(store.finish(finishes)?),
            Self::Held(session) => Answer::Held(store.held(*session)?),
            Self::Reap(reap) => Answer::Reap(store.reap(reap)?),
            Self::Prune(prune) => Answer::Prune(store.prune(prune)?),
        })
    }
}
