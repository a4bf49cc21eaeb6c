//! Requests for runs beside the schedule: manual runs and jobs.

use std::sync::Arc;

use scheduler_core::Tick;

use super::manual::ManualResult;
use crate::base::set_once::SetOnce;
use crate::run::ClaimedJob;

/// A run that was asked for.
#[derive(Clone, Debug)]
pub(super) enum RunRequest {
    Manual {
        asked_at: Tick,
        answer: SetOnce<ManualResult>,
    },
    #[cfg_attr(not(feature = "durable"), expect(dead_code, reason = "no job is claimed"))]
    Job {
        asked_at: Tick,
        job: Arc<ClaimedJob>,
    },
}

impl RunRequest {
    pub(super) fn asked_at(&self) -> Tick {
        match self {
            Self::Manual { asked_at, .. } | Self::Job { asked_at, .. } => *asked_at,
        }
    }

    /// Returns the job that is to run, if it asks for one.
    pub(super) fn job(&self) -> Option<&Arc<ClaimedJob>> {
        match self {
            Self::Manual { .. } => None,
            Self::Job { job, .. } => Some(job),
        }
    }
}
