//! Tasks: rows, fire times, runs, and requests that change them.

json! {
    /// `GET /tasks`.
    struct Tasks {
        now: String,
        tasks: Vec<Task>,
    } optional {
        /// The time of the store, which fires the ticks of durable tasks.
        store_now: String,
    }

    /// A task: a row of the list, or by itself with `upcoming` and `durations`.
    struct Task {
        name: String,
        /// The kind of its rule, such as `cron`.
        kind: String,
        /// The rule as people read it.
        rule: String,
        zone: String,
        pool: String,
        tags: Vec<String>,
        is_async: bool,
        state: String,
        is_ended: bool,
        is_paused: bool,
        /// The number of runs in progress.
        running: u64,
        /// The number of failed runs since the last success.
        streak: u64,
        recent: Recent,
        counters: Counters,
    } optional {
        function: String,
        source: String,
        /// The cron expression.
        expression: String,
        /// The rule in words, without the expression.
        words: String,
        period_ms: f64,
        initial_delay_ms: f64,
        pause: Pause,
        next: String,
        /// The next fire time without the pause.
        would_run_at: String,
        running_since: String,
        /// Since when a run has waited for a thread.
        late_since: String,
        /// Since when a run in progress has held up fire times.
        stuck_since: String,
        failing_since: String,
        first_failure: String,
        last_success: String,
        trigger_failure: String,
        last: LastRun,
        is_durable: bool,
        /// The schedule in the store, if the task is durable.
        schedule: Schedule,
        /// Why the store has not answered, or lets this process fire no ticks.
        store_failure: String,
        upcoming: Vec<FireTime>,
        durations: Durations,
    }

    /// A pause of a task.
    struct Pause {
    } optional {
        by: String,
        reason: String,
        since: String,
        until: String,
    }

    /// The last run of a task, in short.
    struct LastRun {
        /// 0 for a run of another process, which the store knows.
        number: u64,
        started_at: String,
        ended_at: String,
        took_ms: f64,
        outcome: String,
    } optional {
        message: String,
    }

    /// The last runs of a task for a sparkline, the latest last.
    struct Recent {
        /// One letter for each run.
        outcomes: String,
        took_ms: Vec<f64>,
    }

    /// Counters of a task since the start of the program.
    struct Counters {
        runs: u64,
        successes: u64,
        failures: u64,
        cancelled: u64,
        attempts: u64,
        skipped: Skipped,
    }

    /// Fire times that started no run, by reason.
    struct Skipped {
        overlap: u64,
        limit: u64,
        paused: u64,
        misfire: u64,
        rescheduled: u64,
        refused: u64,
    }

    /// The time that the runs of a task took.
    struct Durations {
        /// The number of runs that were measured.
        runs: u64,
    } optional {
        p50_ms: f64,
        p95_ms: f64,
        max_ms: f64,
    }

    /// A schedule in the store.
    struct Schedule {
        /// The number of ticks that became jobs.
        fired: u64,
        /// True if its rule was set by hand.
        is_overridden: bool,
        /// True if a tick waits for the end of a job.
        is_waiting: bool,
        skipped: SkippedTicks,
    } optional {
        last_tick: String,
        has_ended: bool,
        /// The person who set the rule, if that was no program.
        overridden_by: String,
        overridden_at: String,
        /// The rule before.
        rule_before: String,
    }

    /// Ticks that became no jobs, by reason.
    struct SkippedTicks {
        overlap: u64,
        limit: u64,
        missed: u64,
        paused: u64,
    }

    /// The query of `GET /tasks/{name}/next`.
    #[serde(deny_unknown_fields)]
    struct NextQuery {
    } optional {
        /// The number of fire times.
        n: u64,
    }

    /// `GET /tasks/{name}/next`.
    struct NextTimes {
        task: String,
        zone: String,
        times: Vec<FireTime>,
    }

    /// A fire time to come.
    struct FireTime {
        at: String,
    } optional {
        /// The change of the clocks since the fire time before.
        clock_change: ClockChange,
    }

    /// A change of the clocks.
    struct ClockChange {
        at: String,
        offset_before: String,
        offset_after: String,
        is_forward: bool,
    }

    /// `GET /tasks/{name}/preview`.
    struct Preview {
        task: String,
        kind: String,
        rule: String,
        zone: String,
        times: Vec<FireTime>,
    } optional {
        expression: String,
        words: String,
    }

    /// The body of `POST /tasks/{name}/pause`, `/tasks:pause` and `/tasks:resume`.
    #[serde(deny_unknown_fields)]
    struct PauseRequest {
    } optional {
        reason: String,
        until: String,
        for_ms: u64,
        names: Vec<String>,
        tag: String,
        all: bool,
        /// The task after which this request goes on, of several, and its action.
        after: String,
        action: String,
    }

    /// The query of `GET /tasks/{name}/preview` and the body of `POST /tasks/{name}/reschedule`: one rule.
    #[serde(deny_unknown_fields)]
    struct RuleRequest {
    } optional {
        cron: String,
        /// Of a cron expression; without it, the zone that the task has.
        zone: String,
        fixed_rate: String,
        fixed_delay: String,
        initial_delay: String,
        at: String,
        /// The rule of the code again, of a durable task.
        reset: bool,
    }

    /// The answer to a request about several tasks: the number of those that changed.
    struct Changed {
        changed: u64,
    } optional {
        /// There was no time for all; the next request has it as its `after`.
        after: String,
        /// The action, for the next request.
        action: String,
    }

    /// The event `tick`: the time, and the number of tasks.
    struct Tick {
        now: String,
        count: u64,
    }

    /// `GET /timeline`.
    struct Timeline {
        now: String,
        tasks: Vec<TaskTimeline>,
    }

    /// The hours before and after now of a task: a letter for each minute.
    struct TaskTimeline {
        name: String,
        past: String,
        next: String,
    }
}

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
