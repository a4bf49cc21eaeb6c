//! Finds due jobs and schedules whose task no living process has.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use scheduler_node::Request;
use scheduler_store::{Next, SessionId, Store, StoreError};

use super::effects::NodeDriver;
use crate::observe::StoreEvent;

/// For how long a job has been due at least: a deploy in which all processes start again takes less.
const DUE: Duration = Duration::from_secs(60);

/// The jobs and the schedules of a task.
#[derive(Default)]
struct Waiting {
    due: u64,
    schedules: Vec<Arc<str>>,
}

impl NodeDriver {
    /// Looks for such tasks after each deletion of old jobs, which comes once a minute, and reports them.
    pub(super) fn asked(&self, what: &Request) {
        if !matches!(what, Request::Prune(_)) {
            return;
        }
        let Some(session) = self.node().session() else { return };
        // A store may be the user's, and one that does not answer is reported elsewhere.
        let found = crate::observe::catch(|| unknown_tasks(&*self.store, session));
        for event in found.into_iter().flatten().flatten() {
            self.reports.tell(event);
        }
    }
}

/// The tasks that no living process has. Of all processes one looks for them: the one with the first session.
fn unknown_tasks(store: &dyn Store, session: SessionId) -> Result<Vec<StoreEvent>, StoreError> {
    let sessions = store.sessions()?;
    let living = sessions.iter().filter(|session| !session.has_run_out);
    if living.clone().map(|session| session.id).min() != Some(session) {
        return Ok(Vec::new());
    }
    let known: BTreeSet<&str> =
        living.flat_map(|session| &session.tasks).map(|task| &**task).collect();
    let mut unknown = BTreeMap::<String, Waiting>::new();
    for depth in store.depths()? {
        let is_due = depth.oldest.is_some_and(|oldest| oldest >= DUE);
        if is_due && !known.contains(&*depth.task) {
            unknown.entry(depth.task).or_default().due += depth.due;
        }
    }
    for schedule in store.schedules()? {
        let is_over = schedule.next == Next::Never || schedule.pause.is_some();
        let definition = schedule.definition;
        if !is_over && !known.contains(&*definition.task) {
            unknown.entry(definition.task).or_default().schedules.push(definition.name.into());
        }
    }
    let event = |(task, waiting): (String, Waiting)| StoreEvent::TaskUnknown {
        nearest: scheduler_expr::nearest(&task, known.iter().copied()).map(Arc::from),
        known: known.iter().map(|&task| task.into()).collect(),
        task: task.into(),
        due: waiting.due,
        schedules: waiting.schedules,
    };
    Ok(unknown.into_iter().map(event).collect())
}
