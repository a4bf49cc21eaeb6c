//! Limits of kinds of jobs, and why a job waits.

use scheduler::store::{
    JobWait, LimitValue as StoredValue, PartitionDepth, StoredLimit, WaitReason,
};
use scheduler_api::{Limit, LimitByHand, LimitValue, Partition, Wait};

use super::stored_state::pause_in;
use crate::app::App;
use crate::problem::Problem;
use crate::times::instant;
use crate::view::by_name;

/// A limit that is in the code, or was set by hand; none if it is neither.
pub(crate) fn limit(app: &App, row: &StoredLimit) -> Option<Limit> {
    let by_hand = row.by_hand.as_ref().map(|hand| LimitByHand {
        limit: value(hand.limit),
        by: hand.by.clone(),
        reason: app.options.redacted(&hand.reason),
    });
    let (code, scope) = (row.code.map(value), row.scope.word().to_owned());
    let is_there = code.is_some() || by_hand.is_some();
    is_there.then(|| Limit { task: row.task.clone(), scope, code, by_hand })
}

fn value(limit: StoredValue) -> LimitValue {
    let (rate, burst) =
        limit.rate.map(|rate| (format!("{}/{:?}", rate.starts, rate.period), rate.burst)).unzip();
    let ordered = limit.ordered.map(|rule| rule.name().to_owned());
    let (running, waiting) = (limit.running, limit.waiting);
    LimitValue { text: limit.to_string(), running, rate, burst, waiting, ordered }
}

/// A partition in which jobs are due or run.
pub(crate) fn partition(app: &App, depth: &PartitionDepth) -> Partition {
    Partition {
        partition: depth.partition.clone(),
        due: depth.due,
        running: depth.running,
        opens_at: depth.opens_at.map(|at| instant(at.utc())),
        pause: depth.pause.as_ref().map(|pause| pause_in(app, pause)),
    }
}

/// Why a job that is ready does not run; with these words if no process runs it.
pub(crate) fn wait(app: &App, wait: &JobWait, no_process: Option<String>) -> Result<Wait, Problem> {
    let mut reason = wait.reason.clone();
    let mut pause = None;
    if let WaitReason::Paused { pause: stored, .. } = &mut reason {
        stored.reason = app.options.redacted(&stored.reason);
        pause = Some(pause_in(app, stored));
    }
    let no_process = no_process.filter(|_| reason == WaitReason::NoProcess);
    let text = no_process.unwrap_or_else(|| reason.to_string());
    Ok(Wait { text, pause, ..by_name(wait)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use scheduler::store::JobId;

    #[test]
    fn a_job_behind_another_names_it() {
        let [own, other] = [1, 2].map(|id| JobId::from_uuid(scheduler::store::Uuid::from_u128(id)));
        let wait = JobWait::new(own, WaitReason::Behind { job: other, is_parked: true });
        let shown: Wait = by_name(&wait).expect("it has all that the API shows");
        assert_eq!(shown.reason, "behind");
        assert_eq!((shown.job, shown.is_parked), (Some(other.to_string()), Some(true)));
    }
}
