//! Durable jobs, their queues, and the processes that run them.

use crate::limits::Wait;
use crate::tasks::Pause;

json! {
    /// `GET /jobs`, the newest first.
    struct Jobs {
        now: String,
        jobs: Vec<Job>,
        has_more: bool,
    } optional {
        /// The next page has it as its `after`.
        after: String,
        /// The number of jobs that were compared with a part of an error, which takes only so much time at once.
        looked_through: u64,
    }

    /// The jobs that are meant: the query of `GET /jobs` and `GET /jobs:errors`, and a part of the body of a change.
    #[serde(deny_unknown_fields)]
    struct JobFilter {
    } optional {
        state: String,
        task: String,
        queue: String,
        partition: String,
        key: String,
        schedule: String,
        /// A part of the error; `*` stands for any text.
        error: String,
        /// The job before the first one of the list.
        after: String,
        /// The greatest number of jobs, only of `GET /jobs`.
        limit: u64,
    }

    /// The body of `POST /jobs:retry`, `/jobs:cancel` and `/jobs:delete`: which jobs.
    #[serde(deny_unknown_fields)]
    struct JobsRequest {
        /// Counts, and changes nothing.
        dry_run: bool,
    } optional {
        ids: Vec<String>,
        /// All jobs that match. It needs a state.
        matching: JobFilter,
        /// The action that this request goes on with.
        action: String,
    }

    /// The body of `POST /jobs/{id}/edit`: another payload of a job that waits or is parked.
    #[serde(deny_unknown_fields)]
    struct EditRequest {
        /// The payload: a text that is JSON, and is stored as it is.
        payload: String,
    } optional {
        /// The version of its type; without one, the version of the payload before.
        version: u32,
        /// The fence of the job as the visitor has seen it: one that was claimed since then is refused.
        fence: u64,
    }

    /// `GET /jobs:errors`, the most frequent first.
    struct JobErrors {
        now: String,
        errors: Vec<JobError>,
        /// True if there was no time to look at all jobs.
        is_partial: bool,
    }

    /// The jobs of a task with one error.
    struct JobError {
        task: String,
        /// The first line, with `*` in place of numbers.
        error: String,
        count: u64,
    } optional {
        /// The end of the earliest of their last attempts that have failed so, one after the other.
        first_at: String,
        last_at: String,
    }

    /// `POST /jobs:retry`, `/jobs:cancel`, `/jobs:delete`.
    struct ChangedJobs {
        count: u64,
    } optional {
        /// There was no time for all; the next request has it as its `after`.
        after: String,
        /// The action, for the next request.
        action: String,
    }

    /// A job.
    struct Job {
        id: String,
        task: String,
        queue: String,
        state: String,
        priority: String,
        on_lost: String,
        attempt: u32,
        max_attempts: u32,
        /// The number of runs whose process died.
        lost: u32,
        /// The number of runs that could not read the payload.
        undecoded: u32,
        fence: u64,
        is_cancel_requested: bool,
    } optional {
        /// The part of its task's jobs that it belongs to.
        partition: String,
        /// Why it does not run, of one that is ready.
        waits: Wait,
        key: String,
        session: String,
        /// The process that runs it, if its session is known.
        node: String,
        schedule: String,
        /// The number of missed ticks for which it stands.
        missed: u64,
        tick: String,
        run_at: String,
        /// When it is cancelled, unless a process has taken it by then.
        expires_at: String,
        created_at: String,
        started_at: String,
        finished_at: String,
        error: String,
        /// The progress that its last run has reported.
        progress: JobProgress,
        /// Only of a job by itself.
        payload: Payload,
        /// The last attempts that did not succeed, the earliest first, at most ten; only of a job by itself.
        attempts: Vec<JobAttempt>,
        is_deleted: bool,
    }

    /// The progress that the run of a job has reported last.
    struct JobProgress {
        /// From 0 to 1.
        fraction: f64,
        text: String,
    }

    /// An attempt of a job that did not succeed.
    struct JobAttempt {
        number: u32,
        /// `failed`, `gave_up`, `lost` or `undecodable`.
        outcome: String,
        started_at: String,
        ended_at: String,
        took_ms: f64,
        /// The first 500 characters.
        error: String,
    } optional {
        /// The name of the process, if the store knew it.
        node: String,
    }

    /// The argument of a job, as far as the visitor may see it.
    struct Payload {
        version: u32,
        /// Its length.
        bytes: u64,
    } optional {
        is_hidden: bool,
        is_cut: bool,
        text: String,
    }

    /// `GET /queues`.
    struct Queues {
        now: String,
        /// When the jobs were counted.
        as_of: String,
        queues: Vec<Queue>,
        /// The tasks that no living process can run, though their jobs are due or their schedules fire.
        unknown_tasks: Vec<UnknownTask>,
        paused_partitions: Vec<PausedPartition>,
    } optional {
        /// Why the last attempt to count them has failed.
        count_failure: String,
    }

    /// A task that no living process can run: it was renamed or removed, its name is mistyped, or no process knows its newer payloads.
    struct UnknownTask {
        task: String,
        /// The number of its jobs that are due.
        due: u64,
        /// Its schedules that are neither over nor paused.
        schedules: Vec<String>,
    } optional {
        /// The name of a known task that may have been meant.
        nearest: String,
        /// The greatest version of the payloads of those jobs, if a process knows older ones.
        version: u32,
        /// The greatest version that a process knows.
        known_version: u32,
        /// The process that has the task, and does not serve the queue of those jobs.
        elsewhere: String,
    }

    /// A partition of a task whose jobs are paused.
    struct PausedPartition {
        partition: String,
        task: String,
        pause: Pause,
    }

    /// A queue, in sum and for each of its tasks.
    struct Queue {
        queue: String,
        #[serde(flatten)]
        depth: Depth,
        tasks: Vec<QueueTask>,
    } optional {
        /// The pause of all its jobs.
        pause: Pause,
    }

    /// The jobs of a task in a queue.
    struct QueueTask {
        task: String,
        #[serde(flatten)]
        depth: Depth,
        /// The oldest running job takes ten times as long as any of the last that succeeded in the cluster, and a minute at least; ten
        /// minutes where the store knows fewer than five.
        has_long_run: bool,
    } optional {
        /// Of a task with a limit: the due jobs that it holds back. They wait for others of their kind, and for no process.
        held: u64,
        /// The pause of the jobs of the task, in all queues.
        pause: Pause,
        /// Of a task with a limit: the time for which the oldest due job has waited that may start, if none was seen to start for half a
        /// minute.
        oldest_open_ms: f64,
    }

    /// Numbers of unfinished jobs.
    struct Depth {
        due: u64,
        later: u64,
        /// Those of the due and the later ones that have an error, and are tried again.
        retrying: u64,
        running: u64,
        parked: u64,
    } optional {
        /// The age of the oldest due job.
        oldest_ms: f64,
        /// The time since the oldest running job was claimed.
        oldest_running_ms: f64,
    }

    /// `GET /nodes`.
    struct Nodes {
        now: String,
        /// When their jobs were looked at.
        as_of: String,
        nodes: Vec<Node>,
        /// Jobs whose process is gone.
        orphans: Vec<NodeJob>,
        /// Processes that stopped or were lost within the last hour, the latest first.
        ended: Vec<EndedNode>,
    }

    /// A process whose session has ended.
    struct EndedNode {
        session: String,
        label: String,
        build: String,
        at: String,
        /// False if it has stopped; true if its lease ran out.
        is_lost: bool,
        /// True if a process of this name is there again.
        is_back: bool,
        /// The number of jobs that it held.
        jobs: u32,
    } optional {
        /// The process that has found it lost, which may be itself.
        found_by: String,
    }

    /// A process that uses the store.
    struct Node {
        session: String,
        label: String,
        build: String,
        /// The tasks that it runs.
        tasks: Vec<String>,
        /// The greatest number of jobs that it runs at once.
        concurrency: u32,
        /// True if its lease has run out.
        has_run_out: bool,
        /// True if its clock differs from the store's by more than two seconds.
        is_clock_off: bool,
        opened_at: String,
        jobs: Vec<NodeJob>,
    } optional {
        /// The queues that it serves; missing if it serves all.
        queues: Vec<String>,
        /// By how much its clock is ahead of the store's.
        clock_offset_ms: f64,
        /// It takes no jobs and fires no ticks.
        pause: Pause,
    }

    /// A job that a process runs.
    struct NodeJob {
        id: String,
        task: String,
        attempt: u32,
    } optional {
        started_at: String,
    }
}
