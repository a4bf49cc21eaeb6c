//! The requests of a node to a store, as data.

use std::sync::Arc;

use scheduler_store::{
    ClaimRef, Close, Finish, Finished, Fire, Fired, Open, Opened, Poll, Polled, Prune, Reap,
    Reaped, Register, Registered, Renew, Renewed, SessionId, Store, StoreError,
};

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
