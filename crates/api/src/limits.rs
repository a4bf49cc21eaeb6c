//! Limits of kinds of jobs, their partitions, and why a job waits.

use crate::tasks::Pause;

json! {
    /// `GET /limits`: the limits of all tasks, by name.
    struct Limits {
        limits: Vec<Limit>,
    }

    /// `GET /tasks/{name}/limits`, and the answer to a change of them.
    struct TaskLimits {
        now: String,
        task: String,
        limits: Vec<Limit>,
        /// The partitions with the most due jobs, at most 50.
        partitions: Vec<Partition>,
    }

    /// A limit of a task.
    struct Limit {
        task: String,
        /// `all` jobs of the task together, or those of `each` partition.
        scope: String,
    } optional {
        /// The limit in the code of the newest process; missing if that has none.
        code: LimitValue,
        /// The one that was set by hand, and counts instead.
        by_hand: LimitByHand,
    }

    /// The most that may run and start.
    struct LimitValue {
        /// It in words.
        text: String,
    } optional {
        /// The jobs that run at once.
        running: u32,
        /// The jobs that start in any window of a time, such as `100/60s`.
        rate: String,
        /// The jobs of those that start at once after a rest.
        burst: u32,
        /// Those of a partition start in their order. Behind a parked one they `go_on`, or it makes them `hold`.
        ordered: String,
        /// The due jobs in a queue at which an enqueue is refused.
        waiting: u32,
    }

    /// A limit by hand.
    struct LimitByHand {
        #[serde(flatten)]
        limit: LimitValue,
        by: String,
        reason: String,
    }

    /// A partition of a task in which jobs are due or run.
    struct Partition {
        partition: String,
        due: u64,
        running: u64,
    } optional {
        /// When the next job may start, if none may now and time alone brings it.
        opens_at: String,
        pause: Pause,
    }

    /// The body of `POST /tasks/{name}/partitions/pause` and `…/resume`.
    #[serde(deny_unknown_fields)]
    struct PartitionRequest {
    } optional {
        /// It has to be there; empty for the one without a name.
        partition: String,
        reason: String,
        until: String,
        for_ms: u64,
    }

    /// The body of `POST /tasks/{name}/limit`: a limit in place of the one in the code, or `reset`.
    #[serde(deny_unknown_fields)]
    struct LimitRequest {
    } optional {
        /// `all` or `each`.
        scope: String,
        running: u32,
        /// Such as `100/1m`.
        rate: String,
        burst: u32,
        /// Of `each`: `go_on` or `hold`.
        ordered: String,
        waiting: u32,
        reason: String,
        /// The limits of the code again.
        reset: bool,
    }

    /// The first thing that stands in the way of a job that is ready.
    struct Wait {
        /// `later`, `paused`, `no_process`, `processes_paused`, `full`, `rate`, `behind` or `turn`.
        reason: String,
        /// It as a sentence, with instants in UTC.
        text: String,
    } optional {
        due_at: String,
        /// `task`, `queue` or `partition` that is paused; `all` or `each` of a limit.
        scope: String,
        /// The name of what is paused.
        name: String,
        pause: Pause,
        /// The jobs that run, and the most that may.
        running: u32,
        limit: u32,
        /// When the rate allows the next start.
        opens_at: String,
        /// The job before it in its partition, and true if that is parked.
        job: String,
        is_parked: bool,
    }
}
