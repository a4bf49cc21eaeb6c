//! Warns of tasks that no living process can run.

use std::sync::Arc;

use scheduler_node::Request;
use scheduler_store::SessionId;

use super::super::error::JobsError;
use super::super::jobs::Jobs;
use super::super::schedules::Schedules;
use super::super::unknown::{UnknownTask, known_tasks};
use super::node_driver::NodeDriver;
use crate::observe::StoreEvent;

impl NodeDriver {
    /// Looks for such tasks after each deletion of old jobs, which comes once a minute, and reports them.
    pub(super) fn warn_of_unknown(&self, what: &Request) {
        if !matches!(what, Request::Prune(_)) {
            return;
        }
        let Some(session) = self.node().session() else { return };
        // A store may be the user's, and one that does not answer is reported elsewhere.
        let found = crate::observe::catch(|| unknown_tasks(self.reports.jobs(), session));
        for event in found.into_iter().flatten().flatten() {
            self.reports.tell(event);
        }
    }
}

/// The warnings. Of all processes one looks for them: the one with the first session.
fn unknown_tasks(jobs: &Jobs, own: SessionId) -> Result<Vec<StoreEvent>, JobsError> {
    let sessions = jobs.sessions()?;
    let living = sessions.iter().filter(|session| !session.has_run_out);
    if living.map(|session| session.id).min() != Some(own) {
        // Once a minute each process hears which of its schedules others have paused.
        if jobs.has_schedules() {
            Schedules::of(jobs).list()?;
        }
        return Ok(Vec::new());
    }
    let known = known_tasks(&sessions);
    let unknown = jobs.unknown_beside(&known, &jobs.depths()?)?;
    let event = |unknown: UnknownTask| StoreEvent::TaskUnknown {
        task: unknown.task.into(),
        due: unknown.due,
        schedules: unknown.schedules.into_iter().map(Arc::from).collect(),
        nearest: unknown.nearest.map(Arc::from),
        known: known.keys().map(|&task| task.into()).collect(),
        version: unknown.version,
        known_version: unknown.known_version,
    };
    Ok(unknown.into_iter().map(event).collect())
}
