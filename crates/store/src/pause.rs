//! Pauses: of a schedule, of a kind of job, of a queue.

use std::fmt;

use crate::text::storable;
use crate::time::StoreTime;

/// A pause of a schedule, or of jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pause {
    /// When it began.
    pub since: StoreTime,
    /// When it ends, or has ended; none until it is resumed by hand. Ticks in the pause of a schedule are skipped as paused,
    /// also after it (R18). A tick exactly at its end is not in it.
    pub until: Option<StoreTime>,
    /// The person or program that paused it.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// When a [`Pause`] began, and when it ends or has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseSpan {
    /// When it began.
    pub since: StoreTime,
    /// When it ends; none until it is resumed by hand.
    pub until: Option<StoreTime>,
}

impl Pause {
    /// A pause, with texts as a store keeps them.
    #[must_use]
    pub fn new(since: StoreTime, until: Option<StoreTime>, by: &str, reason: &str) -> Self {
        Self { since, until, by: storable(by), reason: storable(reason) }
    }

    /// When it began, and when it ends.
    #[must_use]
    pub fn span(&self) -> PauseSpan {
        PauseSpan { since: self.since, until: self.until }
    }

    /// Returns true if the pause holds at this instant.
    #[must_use]
    pub fn holds(&self, now: StoreTime) -> bool {
        self.until.is_none_or(|until| now < until)
    }

    /// Returns true if a tick falls into the pause.
    #[must_use]
    pub fn contains(&self, tick: StoreTime) -> bool {
        self.since < tick && self.until.is_none_or(|until| tick < until)
    }
}

/// Jobs that are paused together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PauseScope {
    /// The jobs of a task: a kind of job.
    Task(String),
    /// The jobs in a queue.
    Queue(String),
}

impl PauseScope {
    /// The scope from its word and its name.
    #[must_use]
    pub fn of(word: &str, name: String) -> Option<Self> {
        match word {
            "task" => Some(Self::Task(name)),
            "queue" => Some(Self::Queue(name)),
            _ => None,
        }
    }

    /// `task` or `queue`.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Task(_) => "task",
            Self::Queue(_) => "queue",
        }
    }

    /// The name of the task or the queue.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Task(name) | Self::Queue(name) => name,
        }
    }

    /// Returns true if a job of this task in this queue is among them.
    #[must_use]
    pub fn has(&self, task: &str, queue: &str) -> bool {
        match self {
            Self::Task(name) => name == task,
            Self::Queue(name) => name == queue,
        }
    }
}

impl fmt::Display for PauseScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.word(), self.name())
    }
}

/// A pause of jobs, for all processes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobPause {
    /// The jobs.
    pub scope: PauseScope,
    /// The pause.
    pub pause: Pause,
}

impl JobPause {
    /// A pause of these jobs.
    #[must_use]
    pub fn new(scope: PauseScope, pause: Pause) -> Self {
        Self { scope, pause }
    }
}
