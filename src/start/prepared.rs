//! A checked scheduler, before its start.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use scheduler_core::Clock;

#[cfg(feature = "durable")]
use super::durable::Durable;
use super::pools::PoolPlan;
use super::registrar::ResolveContext;
use super::report::Message;
use super::tasks::Tasks;
use crate::define::settings::Settings;
use crate::run::Shutdown;
use crate::task::TaskSpec;

/// A checked scheduler. Nothing has started.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) specs: Vec<TaskSpec>,
    /// The names that tasks may refer to, also those that are added later.
    pub(crate) context: ResolveContext,
    /// The default pool, and then the others.
    pub(crate) pools: Vec<PoolPlan>,
    /// The warning that the zone was guessed, if no task goes by it yet.
    pub(super) zone_warning: Option<Message>,
    /// The time that a stop waits for running tasks.
    pub(crate) limit: Duration,
    /// The number of ended tasks that are kept in the list.
    pub(crate) keep_ended: usize,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) shutdown: Shutdown,
    pub(crate) tasks: Tasks,
    #[cfg(feature = "durable")]
    pub(super) durable: Option<Durable>,
    pub(crate) settings: Settings,
    /// Printed before the start message.
    pub(crate) remarks: Vec<Message>,
    /// Printed after it.
    pub(crate) warnings: Vec<Message>,
    /// Only of a dry run.
    pub(crate) report: Option<DryRun>,
}

/// A start that runs nothing: every effective value with its source, then all remarks and warnings.
///
/// [`Builder::dry_run`](crate::Builder::dry_run) makes it. `Display` writes it for people; the text may change in any release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "a dry run is for printing"]
pub struct DryRun {
    pub(super) text: String,
}

impl fmt::Display for DryRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
