//! Finished runs, and their numbers in the last hour.

json! {
    /// The query of `GET /tasks/{name}/runs`.
    #[serde(deny_unknown_fields)]
    struct RunsQuery {
    } optional {
        limit: u64,
        /// Only runs with smaller numbers.
        before: u64,
    }

    /// `GET /tasks/{name}/runs`, the latest first.
    struct Runs {
        task: String,
        runs: Vec<Run>,
        has_more: bool,
    }

    /// A finished run.
    struct Run {
        number: u64,
        cause: String,
        fire_time: String,
        started_at: String,
        attempts: u32,
        outcome: String,
    } optional {
        took_ms: f64,
        late_ms: f64,
        error: RunError,
        failed_attempts: Vec<FailedAttempt>,
        notes: Vec<String>,
    }

    /// The failure of a run.
    struct RunError {
        kind: String,
        message: String,
    } optional {
        causes: Vec<String>,
        place: String,
    }

    /// An attempt that was followed by another one.
    struct FailedAttempt {
        attempt: u32,
        at: String,
    } optional {
        message: String,
    }

    /// `GET /throughput`: the last hour of this process, minute by minute.
    struct Throughput {
        now: String,
        /// When counting began; minutes before it are not known.
        known_since: String,
        all: Minutes,
        /// Queues of durable jobs, at most 50.
        queues: Vec<QueueMinutes>,
    }

    /// The last hour of a queue.
    struct QueueMinutes {
        queue: String,
        #[serde(flatten)]
        minutes: Minutes,
    }

    /// 60 numbers of each kind: one for each minute, the present minute last.
    struct Minutes {
        started: Vec<u64>,
        succeeded: Vec<u64>,
        failed: Vec<u64>,
        /// The mean time from the due time of a run to its start.
        wait_ms: Vec<f64>,
        longest_wait_ms: Vec<f64>,
    }
}
