//! The last actions of visitors: who did what to which task.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use scheduler::chrono::{DateTime, Utc};
use scheduler::store::JobId;

/// The number of actions that are kept.
const ACTIONS_MAX: usize = 200;

/// Something that a visitor did, for the list of actions and for [`on_action`](crate::Dashboard::on_action).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Action {
    /// When.
    pub at: DateTime<Utc>,
    /// The name of the visitor.
    pub who: Arc<str>,
    /// The address of the connection, or the one that a [trusted proxy](crate::Dashboard::trust_proxy) names.
    pub from: Option<IpAddr>,
    /// The action: `run`, `pause`, `resume`, `cancel`, `enable`, `reschedule` or `reset`; of a job `retry`, `cancel`, `delete` or `edit`.
    /// `wrong_tokens` if an unknown client has sent ten wrong tokens within a minute.
    pub action: &'static str,
    /// The name of the task; `*` for jobs of any task, and for a queue.
    pub task: Arc<str>,
    /// The queue, if it was paused or resumed.
    pub queue: Option<Arc<str>>,
    /// The job, if it was done to one.
    pub job: Option<JobId>,
    /// The note of a pause; the rule that a task had, and the one that it got.
    pub note: Option<Arc<str>>,
}

pub(crate) type OnAction = dyn Fn(&Action) + Send + Sync;

/// The last actions.
#[derive(Debug, Default)]
pub(crate) struct Audit(Mutex<VecDeque<Action>>);

impl Audit {
    pub(crate) fn add(&self, action: Action) {
        let mut actions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if actions.len() >= ACTIONS_MAX {
            actions.pop_front();
        }
        actions.push_back(action);
    }

    /// The latest first; those of one task, or all.
    pub(crate) fn list(&self, task: Option<&str>) -> Vec<Action> {
        let actions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted =
            actions.iter().rev().filter(|action| task.is_none_or(|name| name == &*action.task));
        wanted.cloned().collect()
    }
}
