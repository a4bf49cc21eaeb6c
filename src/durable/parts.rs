//! The parts of a node: the store, tasks and schedules.
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use scheduler_node::Policy;
use scheduler_store::{OnLost, ScheduleSpec};

use super::client::Client;
use super::jobs::Jobs;
use super::rule::{definition_of, policy_of};
use crate::define::calendar::Calendar;
use crate::run::inject::Call;
use crate::task::{Control, Retry, TaskSpec};

/// All that a node needs of the facade.
#[derive(Debug)]
pub(crate) struct NodeInput {
    pub(crate) client: Client,
    pub(crate) jobs: Jobs,
    /// The tasks that run jobs here.
    pub(crate) tasks: Vec<JobTask>,
    /// The schedules in the code of this process, to be registered.
    pub(crate) schedules: Vec<DurableSchedule>,
    /// The calendars that rules of other schedules may name.
    pub(crate) calendars: BTreeMap<String, Arc<Calendar>>,
}

/// A task that runs jobs.
#[derive(Clone, Debug)]
pub(crate) struct JobTask {
    /// Its name, and those that it had before.
    pub(crate) names: Vec<Arc<str>>,
    /// The greatest version of payloads that it can read.
    pub(crate) version: u32,
    pub(crate) control: Control,
    /// The greatest number of its jobs that run at once in this process; none for any number.
    pub(crate) max_concurrent: Option<NonZeroU32>,
    /// The pool whose threads its runs hold; none of an async function.
    pub(crate) blocking_pool: Option<Arc<str>>,
    /// After what time a failed job is tried again.
    pub(crate) retry: Retry,
    /// True if its jobs run at most once.
    pub(crate) is_abandon: bool,
    /// False if a value is missing for its arguments: then this process runs none of its jobs, and fires its ticks for others.
    pub(crate) is_run_here: bool,
}

/// A durable schedule in the code.
#[derive(Clone)]
pub(crate) struct DurableSchedule {
    pub(crate) definition: ScheduleSpec,
    pub(crate) policy: Policy,
}

impl JobTask {
    /// `None` if no store keeps the jobs of the task, or it is disabled.
    pub(crate) fn of(spec: &TaskSpec, control: &Control) -> Option<Self> {
        let durable = spec.durable.as_ref().filter(|_| !spec.is_disabled())?;
        let former = spec.job.iter().flat_map(|job| job.aliases).map(|name| Arc::from(*name));
        let holds_threads = matches!(spec.call, Call::Sync(_));
        Some(Self {
            names: std::iter::once(Arc::clone(spec.name())).chain(former).collect(),
            version: known_version(spec),
            control: control.clone(),
            max_concurrent: spec.policy.max_concurrent,
            blocking_pool: holds_threads.then(|| Arc::clone(&spec.facts.pool)),
            retry: spec.policy.retry,
            is_abandon: durable.on_lost == OnLost::Abandon,
            is_run_here: spec.missing.is_empty(),
        })
    }
}

/// A function without a payload reads none, and so runs jobs of every version.
fn known_version(spec: &TaskSpec) -> u32 {
    let version = spec.job.as_ref().map_or(0, |job| job.version);
    if version == 0 { u32::MAX } else { version }
}

impl JobTask {
    /// Returns true if its runs hold no threads.
    pub(crate) fn is_async(&self) -> bool {
        self.blocking_pool.is_none()
    }
}

impl DurableSchedule {
    /// `None` if no store keeps the schedule of the task, or it is disabled.
    pub(crate) fn of(spec: &TaskSpec) -> Option<Self> {
        let durable = spec.durable.as_ref().filter(|_| !spec.is_disabled())?;
        Some(Self { definition: definition_of(spec)?, policy: policy_of(spec, durable) })
    }
}

crate::base::opaque::opaque! { DurableSchedule { definition, policy } }
