//! A request to a store, and its answer, as data.

use crate::generate::TASKS;
use scheduler_store::Store;
use scheduler_store::StoreError;
use scheduler_store::StoreTime;
use scheduler_store::{
    Action, ActionFilter, BulkOutcome, Close, Command, CommandAll, CommandOutcome, Enqueue, Finish,
    Finished, Fire, Fired, JobFilter, JobPause, JobWait, LimitDepth, Open, Opened, PartitionDepth,
    Poll, Polled, Prune, QueueDepth, Reap, Reaped, Register, Registered, Renew, Renewed,
    SessionInfo, Signature,
};
use scheduler_store::{ClaimRef, Enqueued, StoredJob};
use scheduler_store::{JobId, SessionId};
use scheduler_store::{StoredLimit, StoredSchedule};

/// A step of a sequence.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    SetNow(StoreTime),
    /// All handles are dropped, and the store is opened again.
    Reopen,
    Open(Open),
    Renew(Renew),
    Close(Close),
    Register(Register),
    Poll(Poll),
    Fire(Fire),
    Finish(Vec<Finish>),
    Held(SessionId),
    Reap(Reap),
    Enqueue(Enqueue),
    Command(Option<Signature>, Command, StoreTime),
    CommandAll(CommandAll),
    Prune(Prune),
    Job(JobId),
    Jobs(JobFilter, u32),
    Note(Action, bool),
    Actions(ActionFilter, u32),
}

/// The answer of a store.
#[derive(Debug, PartialEq)]
pub(crate) enum Answer {
    None,
    Opened(Result<Opened, StoreError>),
    Renewed(Result<Renewed, StoreError>),
    Closed(Result<(), StoreError>),
    Registered(Result<Registered, StoreError>),
    Polled(Result<Polled, StoreError>),
    Fired(Result<Fired, StoreError>),
    Finished(Result<Vec<Finished>, StoreError>),
    Held(Result<Vec<ClaimRef>, StoreError>),
    Reaped(Result<Reaped, StoreError>),
    Enqueued(Result<Vec<Enqueued>, StoreError>),
    CommandOutcome(Result<CommandOutcome, StoreError>),
    BulkOutcome(Result<BulkOutcome, StoreError>),
    Pruned(Result<u64, StoreError>),
    Job(Result<Option<Box<StoredJob>>, StoreError>),
    Jobs(Result<Vec<StoredJob>, StoreError>),
    Noted(Result<(), StoreError>),
    Actions(Result<Vec<Action>, StoreError>),
}

impl Operation {
    /// Asks a store. An operation of the test alone has no answer.
    pub(crate) fn ask(&self, store: &dyn Store) -> Answer {
        match self {
            Self::SetNow(_) | Self::Reopen => Answer::None,
            Self::Open(request) => Answer::Opened(store.open(request)),
            Self::Renew(request) => Answer::Renewed(store.renew(request)),
            Self::Close(request) => Answer::Closed(store.close(request)),
            Self::Register(request) => Answer::Registered(store.register(request)),
            Self::Poll(request) => Answer::Polled(store.poll(request)),
            Self::Fire(request) => Answer::Fired(store.fire(request)),
            Self::Finish(requests) => Answer::Finished(store.finish(requests)),
            Self::Held(session) => Answer::Held(store.held(*session)),
            Self::Reap(request) => Answer::Reaped(store.reap(request)),
            Self::Enqueue(request) => Answer::Enqueued(store.enqueue(request)),
            Self::Command(signature, command, not_after) => {
                let answer = store.command_by(signature.as_ref(), command, *not_after);
                Answer::CommandOutcome(answer)
            }
            Self::CommandAll(request) => Answer::BulkOutcome(store.command_all(request)),
            Self::Prune(request) => Answer::Pruned(store.prune(request)),
            Self::Job(id) => Answer::Job(store.job(*id).map(|job| job.map(Box::new))),
            Self::Jobs(filter, limit) => Answer::Jobs(store.jobs(filter, *limit)),
            Self::Note(action, adds) => Answer::Noted(store.note(action, *adds)),
            Self::Actions(filter, limit) => Answer::Actions(store.actions(filter, *limit)),
        }
    }
}

/// Everything that a store shows.
#[derive(Debug, PartialEq)]
pub(crate) struct Contents {
    pub(crate) jobs: Result<Vec<StoredJob>, StoreError>,
    pub(crate) schedules: Result<Vec<StoredSchedule>, StoreError>,
    pub(crate) sessions: Result<Vec<SessionInfo>, StoreError>,
    pub(crate) depths: Result<Vec<QueueDepth>, StoreError>,
    pub(crate) pauses: Result<Vec<JobPause>, StoreError>,
    pub(crate) limits: Result<Vec<StoredLimit>, StoreError>,
    pub(crate) waits: Result<Vec<JobWait>, StoreError>,
    pub(crate) partitions: Vec<Result<Vec<PartitionDepth>, StoreError>>,
    pub(crate) limit_depths: Result<Vec<LimitDepth>, StoreError>,
    pub(crate) actions: Result<Vec<Action>, StoreError>,
}

impl Contents {
    pub(crate) fn of(store: &dyn Store) -> Self {
        let jobs = store.jobs(&JobFilter::default(), u32::MAX);
        let ids: Vec<JobId> = jobs.iter().flatten().map(|job| job.id).collect();
        Self {
            waits: store.waits(&ids),
            partitions: TASKS.into_iter().map(|task| store.partitions(task, 2)).collect(),
            limit_depths: store.limit_depths(),
            jobs,
            schedules: store.schedules(),
            sessions: store.sessions(),
            depths: store.depths(),
            pauses: store.pauses(),
            limits: store.limits(),
            actions: store.actions(&ActionFilter::default(), u32::MAX),
        }
    }
}
