//! The attributes of a task, one row each, for macro, settings and documentation.

use super::{
    DstGap, DstOverlap, Misfire, OnError, OnLost, OnPark, Overlap, Priority, RuleKind, Word,
};

/// The kind of an attribute's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A cron expression, or `-` for none.
    Cron,
    /// The name of a time zone.
    Zone,
    /// The name of a unit of time.
    Unit,
    /// The name of a pool.
    Pool,
    /// `true` or `false`.
    Flag,
    /// A whole number of this range.
    Count {
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
    },
    /// An instant: a date and a time with the offset from UTC.
    Instant,
    /// Tags, separated by commas.
    Tags,
    /// The name of a calendar.
    Calendar,
    /// The name of a queue of durable jobs.
    Queue,
    /// A duration, longer than zero.
    Period,
    /// A duration that may be zero.
    Delay,
    /// So many starts in a time: `100/1m`.
    Rate,
    /// One of these words, the default first.
    Words(&'static [&'static str]),
}

/// The role of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// When the task fires; a task has one of these.
    Rule,
    /// More about when the task fires; it is replaced together with the rule.
    Timing,
    /// A policy of its runs, independent of the rule.
    Option,
}

/// One attribute.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The attribute.
    pub attribute: Attribute,
    /// Its name, as in an annotation; a part of `retry(…)`, `limit(…)` or `each(…)` has a dot.
    pub name: &'static str,
    /// The kind of its text.
    pub kind: Kind,
    /// Its role.
    pub role: Role,
    /// The text that counts if none is given.
    pub default: Option<&'static str>,
    /// True if `-` switches it off.
    pub off: bool,
    /// True if its name alone, without a value, means `true`.
    pub bare: bool,
    /// The rules that it goes with.
    pub rules: &'static [RuleKind],
    /// Why it does not go with another rule.
    pub why_not: fn(RuleKind) -> &'static str,
    /// A correct use in an annotation.
    pub example: &'static str,
    /// Its names in other schedulers, for suggestions.
    pub aliases: &'static [&'static str],
    /// Its meaning, in one line.
    pub help: &'static str,
}

impl Row {
    /// The text of the example, without its name and quotes: `5s` of `fixed_rate = "5s"`.
    #[must_use]
    pub fn example_text(&self) -> &'static str {
        self.example.split_once(" = ").map_or("", |(_, text)| text.trim_matches('"'))
    }
}

/// Makes the enum and its table. Fields that are left out have the values of an option that goes with every
/// rule.
macro_rules! attributes {
    ($($attribute:ident $name:literal $help:literal { $($field:ident: $value:expr),* $(,)? })*) => {
        /// An attribute of a scheduled task that a person can write, in an annotation or in settings.
        ///
        /// ```
        /// use scheduler_expr::Attribute;
        ///
        /// assert_eq!(Attribute::FixedRate.name(), "fixed_rate");
        /// assert_eq!(Attribute::from_name("fixed-rate"), Some(Attribute::FixedRate));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Attribute {
            $(#[doc = concat!("`", $name, "`: ", $help, ".")] $attribute,)*
        }

        impl Attribute {
            /// All attributes, in the order in which manuals list them.
            pub const ALL: &'static [Self] = &[$(Self::$attribute),*];
        }

        /// The rows, in the order of the enum.
        static ROWS: &[Row] = &[$(Row {
            $($field: $value,)*
            ..Row::option(Attribute::$attribute, $name, $help)
        }),*];
    };
}

impl Row {
    const fn option(attribute: Attribute, name: &'static str, help: &'static str) -> Self {
        Self {
            attribute,
            name,
            kind: Kind::Period,
            role: Role::Option,
            default: None,
            off: false,
            bare: false,
            rules: RuleKind::ALL,
            why_not: |_| "",
            example: "",
            aliases: &[],
            help,
        }
    }
}

const ONLY_CRON: fn(RuleKind) -> &'static str = |rule| match rule {
    RuleKind::Job => ENQUEUED,
    _ => "only a cron expression reads the wall clock",
};

/// The rules by which a task fires by itself.
const SCHEDULED: &[RuleKind] = &[
    RuleKind::Cron,
    RuleKind::FixedRate,
    RuleKind::FixedDelay,
    RuleKind::Once,
    RuleKind::At,
    RuleKind::Custom,
];

/// The rules that a store can keep.
const STORED: &[RuleKind] =
    &[RuleKind::Cron, RuleKind::FixedRate, RuleKind::FixedDelay, RuleKind::Once, RuleKind::At];

/// The same, and the jobs that code enqueues.
const JOBS: &[RuleKind] = &[
    RuleKind::Cron,
    RuleKind::FixedRate,
    RuleKind::FixedDelay,
    RuleKind::Once,
    RuleKind::At,
    RuleKind::Job,
];

/// The jobs that code enqueues.
const ENQUEUED_ALONE: &[RuleKind] = &[RuleKind::Job];

const NO_PARTITION: fn(RuleKind) -> &'static str =
    |_| "only a `#[job]` has a payload, which says to which partition it belongs";

const ENQUEUED: &str = "a job is due when the code that enqueues it says";

const NOT_STORED: &str =
    "a trigger is code, and what is durable is computed by other processes, too";

/// The rules by which a task may fire more than once.
const RECURRING: &[RuleKind] =
    &[RuleKind::Cron, RuleKind::FixedRate, RuleKind::FixedDelay, RuleKind::Custom];

const RUNS_ONCE: fn(RuleKind) -> &'static str = |rule| match rule {
    RuleKind::Job => ENQUEUED,
    _ => "a one-time task ends after its run in any case",
};

/// The rules whose fire times may come during a run.
const INDEPENDENT: &[RuleKind] = &[RuleKind::Cron, RuleKind::FixedRate, RuleKind::Custom];

/// The same, and jobs.
const LIMITED: &[RuleKind] =
    &[RuleKind::Cron, RuleKind::FixedRate, RuleKind::Custom, RuleKind::Job];

const NEVER_OVERLAPS: fn(RuleKind) -> &'static str = |rule| match rule {
    RuleKind::FixedDelay => "the delay begins when a run has ended, so that runs never overlap",
    RuleKind::Job => "jobs overlap as far as `max_concurrent` allows",
    _ => "a one-time task has no second run that could overlap the first",
};

const ANY_NUMBER: Kind = Kind::Count { min: 1, max: u32::MAX as u64 };

attributes! {
    Cron "cron" "a cron expression, or `-` for none" {
        kind: Kind::Cron,
        role: Role::Rule,
        example: r#"cron = "0 0 9 * * MON-FRI""#,
        aliases: &["expression"],
    }
    Zone "zone" "the time zone of the cron expression" {
        kind: Kind::Zone,
        role: Role::Timing,
        rules: &[RuleKind::Cron],
        why_not: ONLY_CRON,
        example: r#"zone = "Europe/Berlin""#,
        aliases: &["timezone", "tz"],
    }
    FixedRate "fixed_rate" "from one fire time to the next" {
        role: Role::Rule,
        example: r#"fixed_rate = "5s""#,
        aliases: &["fixed_rate_string", "every", "interval", "period", "rate"],
    }
    FixedDelay "fixed_delay" "from the end of a run to the start of the next" {
        role: Role::Rule,
        example: r#"fixed_delay = "5s""#,
        aliases: &["fixed_delay_string"],
    }
    At "at" "the instant of the only run" {
        kind: Kind::Instant,
        role: Role::Rule,
        example: r#"at = "2027-01-01T09:00:00+01:00""#,
        aliases: &["date", "start_at", "start_time", "instant"],
    }
    InitialDelay "initial_delay" "before the first run; alone, before the only run" {
        kind: Kind::Delay,
        role: Role::Timing,
        rules: &[RuleKind::FixedRate, RuleKind::FixedDelay, RuleKind::Once],
        why_not: |rule| match rule {
            RuleKind::Cron => "the expression alone says when the first run is",
            RuleKind::Job => ENQUEUED,
            RuleKind::At => "the instant alone says when the run is",
            _ => "the trigger alone says when the first run is",
        },
        example: r#"initial_delay = "5s""#,
        aliases: &["initial_delay_string", "delay", "after"],
    }
    TimeUnit "time_unit" "the unit of durations that are bare numbers" {
        kind: Kind::Unit,
        role: Role::Timing,
        example: r#"time_unit = "seconds""#,
        aliases: &["unit"],
    }
    Pool "pool" "the pool that runs the task" {
        kind: Kind::Pool,
        example: r#"pool = "io""#,
        aliases: &["executor"],
    }
    Enabled "enabled" "whether the task is scheduled at all" {
        kind: Kind::Flag,
        default: Some("true"),
        example: "enabled = false",
        aliases: &["disabled", "active"],
    }
    Jitter "jitter" "by how much a run may start later than its fire time, at random" {
        kind: Kind::Delay,
        off: true,
        rules: SCHEDULED,
        why_not: |_| ENQUEUED,
        example: r#"jitter = "500ms""#,
        aliases: &["random_delay", "splay"],
    }
    Timeout "timeout" "how long an attempt may take" {
        off: true,
        example: r#"timeout = "30s""#,
        aliases: &["time_limit", "max_duration", "lock_at_most_for"],
    }
    Overlap "overlap" "what happens to a fire time that comes during a run" {
        kind: Kind::Words(Overlap::WORDS),
        default: Some("skip"),
        rules: INDEPENDENT,
        why_not: NEVER_OVERLAPS,
        example: r#"overlap = "queue_one""#,
        aliases: &["concurrency", "concurrent", "disallow_concurrent_execution"],
    }
    MaxConcurrent "max_concurrent" "how many runs may be in progress at once" {
        kind: Kind::Count { min: 1, max: u32::MAX as u64 },
        off: true,
        rules: LIMITED,
        why_not: NEVER_OVERLAPS,
        example: "max_concurrent = 4",
        aliases: &["max_instances", "concurrency_limit", "max_parallel"],
    }
    Misfire "misfire" "what happens to fire times at which nothing could run" {
        kind: Kind::Words(Misfire::WORDS),
        default: Some("run_once"),
        rules: INDEPENDENT,
        why_not: |rule| match rule {
            RuleKind::FixedDelay => "the delay begins when a run has ended, so that no fire time is missed",
            RuleKind::Job => "a job that is late runs late",
            _ => "a one-time task that is late runs late, and no fire time is missed",
        },
        example: r#"misfire = "skip""#,
        aliases: &["misfire_policy", "missed"],
    }
    OnError "on_error" "whether the task goes on after a failed run" {
        kind: Kind::Words(OnError::WORDS),
        default: Some("continue"),
        rules: RECURRING,
        why_not: RUNS_ONCE,
        example: r#"on_error = "stop""#,
        aliases: &["error", "error_handler", "on_failure"],
    }
    RetryMax "retry.max" "how many further attempts a failed run has" {
        kind: Kind::Count { min: 0, max: u32::MAX as u64 },
        off: true,
        example: "max = 3",
        aliases: &["max_retries", "max_attempts", "attempts", "times", "count"],
    }
    RetryBase "retry.base" "the longest wait before the second attempt" {
        example: r#"base = "1s""#,
        aliases: &["delay", "backoff", "wait"],
    }
    RetryCap "retry.cap" "the longest wait before any attempt" {
        example: r#"cap = "1m""#,
        aliases: &["max_delay"],
    }
    Until "until" "the instant after which the task does not fire" {
        kind: Kind::Instant,
        off: true,
        rules: RECURRING,
        why_not: RUNS_ONCE,
        example: r#"until = "2027-01-01T00:00:00Z""#,
        aliases: &["end", "end_at", "end_date", "end_time", "not_after"],
    }
    MaxRuns "max_runs" "how many runs the schedule starts at most" {
        kind: Kind::Count { min: 1, max: u64::MAX },
        off: true,
        rules: RECURRING,
        why_not: RUNS_ONCE,
        example: "max_runs = 5",
        aliases: &["repeat_count", "repeat", "max_executions", "runs"],
    }
    SkipDays "skip_days" "the calendar with the days on which the task does not fire" {
        kind: Kind::Calendar,
        off: true,
        rules: &[RuleKind::Cron],
        why_not: |rule| match rule {
            RuleKind::Custom => "the trigger itself can leave days out",
            RuleKind::Job => ENQUEUED,
            RuleKind::Once | RuleKind::At => "a one-time task has no other day to run on",
            _ => "a period is counted whatever the day is, and only a cron expression names days",
        },
        example: r#"skip_days = "holidays""#,
        aliases: &["calendar", "holidays", "exclude_days", "except"],
    }
    Tags "tags" "names under which several tasks are controlled together" {
        kind: Kind::Tags,
        off: true,
        example: r#"tags = "billing, nightly""#,
        aliases: &["tag", "group", "groups", "labels"],
    }
    DstGap "dst_gap" "what happens to a local time that a clock change leaves out" {
        kind: Kind::Words(DstGap::WORDS),
        role: Role::Timing,
        rules: &[RuleKind::Cron],
        why_not: ONLY_CRON,
        example: r#"dst_gap = "run_after""#,
        aliases: &["gap"],
    }
    DstOverlap "dst_overlap" "what happens to a local time that comes twice" {
        kind: Kind::Words(DstOverlap::WORDS),
        role: Role::Timing,
        rules: &[RuleKind::Cron],
        why_not: ONLY_CRON,
        example: r#"dst_overlap = "first""#,
    }
    Durable "durable" "whether a store keeps the schedule, for all processes together" {
        kind: Kind::Flag,
        default: Some("false"),
        bare: true,
        rules: STORED,
        why_not: |rule| match rule {
            RuleKind::Job => "a job is durable in any case",
            _ => NOT_STORED,
        },
        example: "durable = true",
        aliases: &["persistent", "clustered", "distributed", "stored"],
    }
    OnLost "on_lost" "what becomes of a job whose process died during its run" {
        kind: Kind::Words(OnLost::WORDS),
        default: Some("rerun"),
        rules: JOBS,
        why_not: |_| NOT_STORED,
        example: r#"on_lost = "abandon""#,
        aliases: &["requests_recovery", "on_crash"],
    }
    MisfireWindow "misfire_window" "how old a missed tick may be that still runs" {
        default: Some("1d"),
        off: true,
        rules: &[RuleKind::Cron, RuleKind::FixedRate],
        why_not: |rule| match rule {
            RuleKind::Custom => NOT_STORED,
            RuleKind::FixedDelay => "the delay begins when a run has ended, so that no tick is missed",
            RuleKind::Job => "a job that is late runs late",
            _ => "a one-time task that is late runs late, and no tick is missed",
        },
        example: r#"misfire_window = "1h""#,
        aliases: &["misfire_threshold", "catch_up_window"],
    }
    Expires "expires" "how long after it is due a job may begin" {
        off: true,
        rules: ENQUEUED_ALONE,
        why_not: |rule| match rule {
            RuleKind::Cron | RuleKind::FixedRate => "`misfire_window` says how late a tick may begin",
            _ => "only a `#[job]` expires",
        },
        example: r#"expires = "1h""#,
        aliases: &["ttl", "expires_in", "start_timeout", "expire"],
    }
    Queue "queue" "the queue in which its jobs wait" {
        kind: Kind::Queue,
        default: Some("default"),
        rules: JOBS,
        why_not: |_| NOT_STORED,
        example: r#"queue = "mail""#,
        aliases: &["channel", "topic"],
    }
    Priority "priority" "which of the jobs that are due runs first" {
        kind: Kind::Words(Priority::WORDS),
        default: Some("normal"),
        rules: JOBS,
        why_not: |_| NOT_STORED,
        example: r#"priority = "high""#,
        aliases: &["prio", "importance"],
    }
    LimitRunning "limit.running" "how many of its jobs run at once in all processes together" {
        kind: ANY_NUMBER,
        off: true,
        rules: JOBS,
        why_not: |_| NOT_STORED,
        example: "running = 50",
        aliases: &["max_running", "slots"],
    }
    LimitRate "limit.rate" "how many of its jobs start in any window of a time, in all processes together" {
        kind: Kind::Rate,
        off: true,
        rules: JOBS,
        why_not: |_| NOT_STORED,
        example: r#"rate = "100/1m""#,
        aliases: &["starts", "per"],
    }
    LimitBurst "limit.burst" "how many of those start at once after a rest; a tenth of them unless it is given" {
        kind: ANY_NUMBER,
        off: true,
        rules: JOBS,
        why_not: |_| NOT_STORED,
        example: "burst = 10",
        aliases: &["at_once"],
    }
    LimitWaiting "limit.waiting" "how many of its jobs may be due and wait in a queue before an enqueue is refused" {
        kind: ANY_NUMBER,
        off: true,
        rules: ENQUEUED_ALONE,
        why_not: |_| NOT_STORED,
        example: "waiting = 10000",
        aliases: &["max_waiting", "max_size", "queued"],
    }
    EachRunning "each.running" "how many jobs of each partition run at once in all processes together" {
        kind: ANY_NUMBER,
        off: true,
        rules: ENQUEUED_ALONE,
        why_not: NO_PARTITION,
        example: "running = 5",
        aliases: &["max_running", "slots"],
    }
    EachRate "each.rate" "how many jobs of each partition start in any window of a time, in all processes together" {
        kind: Kind::Rate,
        off: true,
        rules: ENQUEUED_ALONE,
        why_not: NO_PARTITION,
        example: r#"rate = "100/1m""#,
        aliases: &["starts", "per"],
    }
    EachBurst "each.burst" "how many of those start at once after a rest; a tenth of them unless it is given" {
        kind: ANY_NUMBER,
        off: true,
        rules: ENQUEUED_ALONE,
        why_not: NO_PARTITION,
        example: "burst = 10",
        aliases: &["at_once"],
    }
    EachWaiting "each.waiting" "how many jobs of each partition may be due and wait in a queue before an enqueue is refused" {
        kind: ANY_NUMBER,
        off: true,
        rules: ENQUEUED_ALONE,
        why_not: NO_PARTITION,
        example: "waiting = 10000",
        aliases: &["max_waiting", "max_size", "queued"],
    }
    EachOrdered "each.ordered" "whether jobs of a partition start in their order, each after the one before it has ended" {
        kind: Kind::Flag,
        default: Some("false"),
        bare: true,
        rules: ENQUEUED_ALONE,
        why_not: NO_PARTITION,
        example: "ordered = true",
        aliases: &["fifo", "in_order", "sequential", "chain"],
    }
    OnPark "each.on_park" "whether the jobs behind one that is parked go on, or wait until it is retried or deleted" {
        kind: Kind::Words(OnPark::WORDS),
        default: Some("go_on"),
        rules: ENQUEUED_ALONE,
        why_not: NO_PARTITION,
        example: r#"on_park = "hold""#,
        aliases: &["key_strict_fifo", "on_discarded"],
    }
}

impl Attribute {
    /// The row of this attribute.
    #[must_use]
    pub fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }
}
