//! Requests for runs beside the schedule: manual runs and jobs.

use std::sync::Arc;

use scheduler_core::Tick;

use super::manual::RunReply;
use crate::run::ClaimedJob;

/// A run that was asked for and has not started.
#[derive(Clone, Debug)]
pub(super) struct RunRequest {
    pub(super) asked_at: Tick,
    pub(super) by: Requester,
}

/// The origin of a request for a run.
#[derive(Clone, Debug)]
pub(super) enum Requester {
    Person(RunReply),
    #[cfg_attr(not(feature = "durable"), expect(dead_code, reason = "no job is claimed"))]
    Node(Arc<ClaimedJob>),
}

impl RunRequest {
    /// Returns the job that is to run, if a node asks.
    pub(super) fn job(&self) -> Option<&Arc<ClaimedJob>> {
        match &self.by {
            Requester::Node(job) => Some(job),
            Requester::Person(_) => None,
        }
    }

    /// Returns the reply that a person waits for.
    pub(super) fn into_reply(self) -> Option<RunReply> {
        match self.by {
            Requester::Person(reply) => Some(reply),
            Requester::Node(_) => None,
        }
    }
}
