//! Tasks: identity, body, rhythm, states, and the handle that the caller keeps.
//!
//! A [`Task`] describes what is to be run; a [`TaskHandle`] watches it while it lives, and cancels it.
//!
//! # States
//!
//! A task is `Scheduled` until a worker begins it, `Running` during a run (and while the run's future
//! is pending), then either `Scheduled` again or ended: `Completed`, `Failed` or `Cancelled`. It ends
//! once, and then its waiters are notified.
//
// # Where it is
//
// A task is kept in `cell` while it lives, and changes in `state`. The pool above decides which task
// runs when and on which worker; it knows tasks only as `AnyTask`, without their value type.
//
// # What it must never do
//
// Know a queue or a pool: a task leaves its pool, or comes back into its queue,
// through `Home`. Run user code — bodies, destructors, wakers, callbacks — while its lock is held;
// transitions return what to notify and to drop, which is done after unlocking.
//
// # The races, one by one
//
// * *Cancel against a look*: a task that waits is *leaving* first, until its body has been dropped outside
//   the lock. It cannot be begun then, and does not look ended yet. A destructor that waits for the task, or
//   for the end of a pool that waits for it, would wait for itself: the thread knows what it drops (`current`).
// * *Cancel against begin*: both take the lock; the first wins. A cancelled task that a worker has
//   already taken from the queue answers `begin` with none.
// * *Cancel against the end of a run*: the first wins. If the cancel does, waiters are notified at once
//   and the outcome of the run is dropped by its worker.
// * *Cancel against re-queue*: the state becomes `Scheduled` before the pool puts the task into its
//   queue. A cancel in between finds nothing to take out of the queue, so the pool looks at the
//   state again, under its own lock, when it puts the task in.
// * *Wake against suspend*: a wake during a poll is noted and answers the suspend.
// * *Asking anew against cancel*: a task whose trigger is asked, because the wall clock was set back, is in no
//   queue. The cancel changes its state and finds nothing to take out; the pool sees it when the task comes
//   back, as with the end of a run.

pub(crate) mod arena;
pub(crate) mod cell;
mod conclusion;
mod control;
pub(crate) mod current;
mod firings;
pub(crate) mod handle;
mod header;
mod once;
mod rhythm;
pub(crate) mod run;
pub(crate) mod slot;
mod spec;
pub(crate) mod state;
pub(crate) mod steps;
mod timer;
pub(crate) mod waiters;

use std::any::Any;
use std::sync::{Arc, Weak};

pub use handle::TaskHandle;
pub use header::TaskId;
pub(crate) use header::{Header, Traits};
pub use once::{Fallible, OnceBody, OnceFutureBody, fallible};
pub(crate) use rhythm::Rhythm;
pub(crate) use run::AnyTask;
pub use run::Run;
pub use spec::{Body, OnError, Task};
pub use state::TaskState;
pub use steps::TaskReturn;
pub use timer::{Fire, Fired, Timer};

use crate::error::Failure;
use crate::time::{Clock, Due};

/// The way from a task to its pool, while that exists. Tasks share it; its count of shares has a cache
/// line of its own.
#[repr(align(128))]
pub(crate) struct Link(pub(crate) Weak<dyn Home>);

/// What a task needs of the pool it lives in.
pub(crate) trait Home: Any + Send + Sync {
    /// The clock by which the pool and the waits of its handles go.
    fn clock(&self) -> &Arc<dyn Clock>;

    /// Takes a task that has been cancelled, and was due then, out of the queue, where it is still in there.
    fn withdraw(&self, task: &dyn AnyTask, due: Due);

    /// Reports that a destructor of something that belonged to a task has panicked.
    fn drop_panicked(&self, header: &Header, failure: &Failure);

    /// Reports that a call of a timer has panicked.
    fn timer_panicked(&self, header: &Header, call: &'static str, failure: &Failure);

    /// Reports that `run` waits for a task of its own pool that is due and finds no worker.
    fn wait_starves(&self, run: &Run, awaited: &Header);

    /// Puts a suspended run back into the queue, to be polled on.
    fn resume(&self, task: Arc<dyn AnyTask>);
}
