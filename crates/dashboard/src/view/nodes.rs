//! The processes that share the jobs.

use std::collections::BTreeMap;

use scheduler::chrono::{DateTime, Utc};
use scheduler::store::{SessionId, SessionInfo, StoredJob};
use scheduler_api::{EndedNode, Node, NodeJob, Nodes};

use super::stored_state::pause_in;
use crate::app::App;
use crate::times::{instant, now};

/// The processes, each with the jobs that it runs; the jobs whose process is gone; and the processes that are gone.
pub(crate) fn nodes(
    app: &App,
    sessions: &[SessionInfo],
    running: &[StoredJob],
    as_of: DateTime<Utc>,
) -> Nodes {
    let mut held = BTreeMap::<Option<SessionId>, Vec<NodeJob>>::new();
    for job in running {
        held.entry(job.session).or_default().push(NodeJob {
            id: job.id.to_string(),
            task: job.task.clone(),
            attempt: job.attempt,
            started_at: job.started_at.map(instant),
        });
    }
    let mut nodes = Vec::new();
    let mut ended = Vec::new();
    for session in sessions {
        if let Some(gone) = ended_node(session, sessions) {
            ended.push(gone);
        } else {
            let jobs = held.remove(&Some(session.id)).unwrap_or_default();
            nodes.push(Node { jobs, ..node(app, session) });
        }
    }
    let orphans = held.into_values().flatten().collect();
    Nodes { now: instant(now()), as_of: instant(as_of), nodes, orphans, ended }
}

fn node(app: &App, session: &SessionInfo) -> Node {
    Node {
        session: session.id.to_string(),
        label: session.label.clone(),
        build: session.build.clone(),
        tasks: session.tasks.iter().map(|task| task.name.clone()).collect(),
        concurrency: session.concurrency,
        has_run_out: session.has_run_out,
        is_clock_off: session.is_clock_off(),
        opened_at: instant(session.opened_at),
        jobs: Vec::new(),
        queues: session.queues.clone(),
        clock_offset_ms: session.clock_offset.map(|micros| micros as f64 / 1e3),
        pause: session.pause.as_ref().map(|pause| pause_in(app, pause)),
    }
}

fn ended_node(session: &SessionInfo, all: &[SessionInfo]) -> Option<EndedNode> {
    let end = session.ended.as_ref()?;
    // One that has come back may have stopped since.
    let is_same = |other: &SessionInfo| {
        other.label == session.label && (other.is_alive() || end.at < other.opened_at)
    };
    Some(EndedNode {
        session: session.id.to_string(),
        label: session.label.clone(),
        build: session.build.clone(),
        at: instant(end.at),
        is_lost: end.is_lost,
        is_back: all.iter().any(is_same),
        jobs: end.jobs,
        found_by: end.is_lost.then(|| end.found_by.clone()),
    })
}
