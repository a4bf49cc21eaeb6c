//! The dashboard itself, the actions of its visitors, and refused requests.

json! {
    /// `GET /info`.
    struct Info {
        application: String,
        version: String,
        sections: Vec<String>,
        now: String,
        zone: String,
        started_at: String,
        visitor: Visitor,
        is_read_only: bool,
        history: History,
        counts: Counts,
        /// Critical tasks that are down.
        down: Vec<String>,
        pools: Vec<Pool>,
        streams: Streams,
    }

    /// The visitor who asks.
    struct Visitor {
        name: String,
        role: String,
        may_act: bool,
    }

    /// The history that the dashboard keeps.
    struct History {
        runs_per_task: u64,
        /// Events that came too fast to be kept.
        lost_events: u64,
    }

    /// Numbers of tasks.
    struct Counts {
        tasks: u64,
        running: u64,
        paused: u64,
        failing: u64,
    }

    /// A thread pool.
    struct Pool {
        name: String,
        core_size: u64,
        threads: u64,
        active: u64,
        queued: u64,
        completed: u64,
    }

    /// Live streams.
    struct Streams {
        open: u64,
        /// Streams that were closed because their client did not read.
        dropped: u64,
    }

    /// The query of `GET /actions`.
    #[serde(deny_unknown_fields)]
    struct ActionsQuery {
    } optional {
        task: String,
    }

    /// `GET /actions`, the latest first.
    struct Actions {
        actions: Vec<Action>,
    }

    /// An action of a visitor.
    struct Action {
        at: String,
        who: String,
        action: String,
        task: String,
    } optional {
        queue: String,
        job: String,
        note: String,
        from: String,
    }

    /// A refused request: `application/problem+json` (RFC 9457).
    struct ProblemDetails {
        #[serde(rename = "type")]
        kind: String,
        title: String,
        status: u16,
        /// The change that cures it.
        detail: String,
    }
}
