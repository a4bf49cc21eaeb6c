//! What the node is given: the store, the tasks that run jobs, the durable schedules.
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use scheduler_store::Definition;

use super::client::Client;
use super::jobs::Jobs;
use super::options::JobOptions;
use super::rule::{definition_of, misfires_of, options_of};
use super::ticks::Misfires;
use crate::define::calendar::Calendar;
use crate::define::registrar::Planned;
use crate::run::inject::Call;
use crate::run::task::{Control, Retry};

/// All that a node needs of the facade.
#[derive(Debug)]
pub(crate) struct NodeParts {
    pub(crate) client: Client,
    pub(crate) jobs: Jobs,
    /// The tasks that run jobs here.
    pub(crate) tasks: Vec<JobTask>,
    /// The schedules in the code of this process, to be registered.
    pub(crate) schedules: Vec<DurableSchedule>,
    /// What rules of other schedules may name.
    pub(crate) calendars: BTreeMap<String, Arc<Calendar>>,
}

/// A task that runs jobs.
#[derive(Clone, Debug)]
pub(crate) struct JobTask {
    /// Its name, and those that it had before.
    pub(crate) names: Vec<Arc<str>>,
    pub(crate) control: Control,
    /// How many of its jobs may run at once in this process; none for any number.
    pub(crate) max_concurrent: Option<NonZeroU32>,
    /// The pool whose threads its runs hold; none of an async function.
    pub(crate) holds_threads_of: Option<Arc<str>>,
    /// After what time a failed job is tried again.
    pub(crate) retry: Retry,
}

/// A durable schedule in the code.
#[derive(Clone)]
pub(crate) struct DurableSchedule {
    pub(crate) definition: Definition,
    pub(crate) misfires: Misfires,
}

/// What of a planned task the node needs; its [`Control`] comes later.
#[derive(Debug)]
pub(crate) struct PlannedJobs {
    names: Vec<Arc<str>>,
    options: JobOptions,
    max_concurrent: Option<NonZeroU32>,
    holds_threads_of: Option<Arc<str>>,
    retry: Retry,
    schedule: Option<DurableSchedule>,
}

impl PlannedJobs {
    /// What a planned task says; `None` if no store keeps its jobs, or it is disabled.
    pub(crate) fn of(planned: &Planned) -> Option<Self> {
        let stored = planned.stored.as_ref().filter(|_| planned.disabled.is_none())?;
        let former = planned.job.iter().flat_map(|job| job.aliases).map(|name| Arc::from(*name));
        let schedule = definition_of(planned).map(|definition| DurableSchedule {
            definition,
            misfires: misfires_of(planned, stored),
        });
        Some(Self {
            names: std::iter::once(Arc::clone(&planned.name)).chain(former).collect(),
            options: options_of(planned)?,
            max_concurrent: planned.policy.max_concurrent,
            holds_threads_of: matches!(planned.call, Call::Sync(_)).then(|| planned.pool.clone()),
            retry: planned.policy.retry,
            schedule,
        })
    }

    /// The name of the task.
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.names[0]
    }

    /// What is enqueued for the task, unless the code says otherwise.
    pub(crate) fn options(&self) -> &JobOptions {
        &self.options
    }

    /// The same with the task itself.
    pub(crate) fn with(self, control: Control) -> (JobTask, Option<DurableSchedule>) {
        let Self { names, max_concurrent, holds_threads_of, retry, schedule, .. } = self;
        (JobTask { names, control, max_concurrent, holds_threads_of, retry }, schedule)
    }
}

impl fmt::Debug for DurableSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DurableSchedule")
            .field("definition", &self.definition)
            .field("misfires", &self.misfires)
            .finish_non_exhaustive()
    }
}
