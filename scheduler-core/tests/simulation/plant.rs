//! Planted bugs: each makes one part lie, so that the simulation fails.

/// A part that lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plant {
    /// The clock that the pool is given runs twice as fast as the true time.
    FastClock,
    /// Each look at the clock counts as twenty.
    RestlessClock,
    /// A task is cancelled behind the client's back.
    LosingPool,
    /// A body runs twice in one run.
    DoubleBody,
    /// The pool gets a delay that is a nanosecond too long.
    LateSubmit,
    /// A cancellation always claims to have won.
    LyingCancel,
    /// The pool gets a period that is a nanosecond too long.
    DriftingGrid,
    /// A wake-up is lost.
    DeafWorker,
    /// A body is never dropped.
    LeakyBody,
    /// All runs and firings claim the same fire time.
    LateDiary,
    /// A timer does not hear that the clock was set back.
    DeafTimer,
    /// A handle forgets that its task has ended.
    ForgetfulHandle,
    /// Cancelled tasks stay in the queue.
    HoardingQueue,
    /// An event is lost.
    DeafListener,
    /// The pool gets a slack that is a nanosecond too long.
    LazyPool,
}
