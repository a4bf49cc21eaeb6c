//! A task's due times as decided from outside the engine.

use crate::error::Failure;
use crate::time::Due;
use crate::time::Now;

/// Decides from outside the engine when a task is due next.
///
/// It is asked when the task is submitted, after each run, and when the task waits and is to be asked
/// anew; [`Occasion`] says which. Its answer is the next due instant:
///
/// * `None` ends the task as completed; at submission it is an error.
/// * [`Due::NEVER`] parks the task: nobody wakes up for it until it is renewed or cancelled.
/// * An instant that has passed means at once.
///
/// A task keeps its pace as long as there is a handle to it, beyond its end: a pace that holds a handle
/// to its own task, even through others, has to let go of it, or neither is ever freed.
///
/// A pace is called on the thread that submits, runs or renews the task, never under a lock of the
/// engine. After a run that is the worker's thread, after the after-run hook and before the event
/// [`RunFinished`](crate::Event::RunFinished). A panic of it ends the task as failed. A run that fails
/// does not end the task: its pace is asked, and decides. A run that is cancelled while its future is
/// pending is over without a question.
///
/// ```
/// use scheduler_core::{Asked, Body, Due, Occasion, Pace, ScheduledThreadPool, Task};
/// use std::time::Duration;
///
/// /// At once, and again one millisecond after each run that failed.
/// struct UntilItWorks;
///
/// impl Pace for UntilItWorks {
///     fn next(&self, asked: &Asked<'_>) -> Option<Due> {
///         match asked.occasion {
///             Occasion::RunEnded { outcome: Ok(()), .. } => None,
///             Occasion::RunEnded { .. } => {
///                 Some(Due::Tick(asked.now.tick + Duration::from_millis(1)))
///             }
///             Occasion::First | Occasion::Renewed => Some(Due::Tick(asked.now.tick)),
///         }
///     }
/// }
///
/// let pool = ScheduledThreadPool::new(1);
/// let mut tries = 0;
/// let body = Body::new(move || {
///     tries += 1;
///     if tries < 3 { Err("not yet") } else { Ok(()) }
/// });
/// pool.submit_task(Task::paced(UntilItWorks, body))?.wait()?;
/// # Ok::<(), scheduler_core::Error>(())
/// ```
pub trait Pace: Send + Sync {
    /// Says when the task is due next, or that it is over.
    fn next(&self, asked: &Asked<'_>) -> Option<Due>;

    /// Called once when the task has ended, for whatever reason, after its waiters are woken. By default
    /// it does nothing.
    ///
    /// As [`TaskHandle::on_done`](crate::TaskHandle::on_done), without memory for a callback. A run of a task that
    /// was cancelled may be in progress still. A panic is contained.
    fn ended(&self) {}
}

/// A question to a [`Pace`].
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Why it is asked.
    pub occasion: Occasion<'a>,
    /// What time it is.
    pub now: Now,
}

/// Why a [`Pace`] is asked.
#[derive(Clone, Copy, Debug)]
pub enum Occasion<'a> {
    /// The task is being submitted.
    First,
    /// A run of the task has just ended.
    RunEnded {
        /// When the run was due: the answer that was given for it.
        due: Due,
        /// When it started.
        started: Now,
        /// What came of it.
        outcome: &'a Result<(), Failure>,
    },
    /// The task waits, and is asked anew: by [`TaskHandle::renew`](crate::TaskHandle::renew), or
    /// because it waits for a time of the wall clock, and that was set back.
    Renewed,
}
