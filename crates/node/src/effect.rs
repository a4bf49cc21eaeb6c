//! The inputs and the effects of a node.

use std::sync::Arc;
use std::time::Duration;

use scheduler_expr::Tick;
use scheduler_store::{
    ClaimRef, End, OtherApplication, Registration, SessionId, Skips, StoreError, StoreTime,
    StoredJob, StoredSchedule, UnreadableRow,
};

use crate::request::{Answer, Channel, Request, RequestId};

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
