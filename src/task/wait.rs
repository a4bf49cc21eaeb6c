//! Waiting until a task has had its runs: who waits is told at the end of each run, and looks.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Context;
use std::task::Poll;
use std::task::Wake;
use std::task::Waker;
use std::time::Duration;

use scheduler_core::time::Gate;

use super::control::Control;
use super::control_error::ControlError;
use crate::observe::Counters;
use crate::observe::TaskState;

/// What is waited for: see [`runs`], [`successes`] and [`failures`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "it is to be waited for"]
pub struct Until {
    what: What,
    count: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Runs,
    Successes,
    Failures,
}

/// So many runs of a task, since it was added, that are over: for
/// [`TaskControl::wait_for`](crate::TaskControl::wait_for).
///
/// ```rust,standalone_crate
/// use scheduler::{Schedule, Scheduler, runs};
/// use std::time::Duration;
///
/// let scheduler = Scheduler::builder()
///     .task("import", Schedule::fixed_rate("1ms"), |_| {})
///     .spawn()?;
/// scheduler.wait_for("import", runs(3), Duration::from_secs(10))?;
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub const fn runs(count: u64) -> Until {
    Until { what: What::Runs, count }
}

/// So many runs that ended well, since the task was added.
///
/// ```rust,standalone_crate
/// use scheduler::{Schedule, Scheduler, successes};
/// use std::time::Duration;
///
/// let scheduler = Scheduler::builder()
///     .task("import", Schedule::fixed_rate("1ms"), |_| {})
///     .spawn()?;
/// scheduler.wait_for("import", successes(3), Duration::from_secs(10))?;
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub const fn successes(count: u64) -> Until {
    Until { what: What::Successes, count }
}

/// So many runs that failed — by an error, a panic or a timeout — since the task was added.
///
/// ```rust,standalone_crate
/// use scheduler::{Schedule, Scheduler, failures};
/// use std::time::Duration;
///
/// let scheduler = Scheduler::builder()
///     .task("import", Schedule::fixed_rate("1ms"), |_| Err::<(), _>("no"))
///     .spawn()?;
/// scheduler.wait_for("import", failures(3), Duration::from_secs(10))?;
/// scheduler.shutdown()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub const fn failures(count: u64) -> Until {
    Until { what: What::Failures, count }
}

impl Until {
    fn is_reached(self, counters: &Counters) -> bool {
        let had = match self.what {
            What::Runs => counters.runs,
            What::Successes => counters.successes,
            What::Failures => counters.failures(),
        };
        had >= self.count
    }
}

/// `3 runs`
impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (one, many) = match self.what {
            What::Runs => ("run", "runs"),
            What::Successes => ("successful run", "successful runs"),
            What::Failures => ("failed run", "failed runs"),
        };
        write!(f, "{} {}", self.count, if self.count == 1 { one } else { many })
    }
}

/// Wakes a thread that waits at a gate.
struct AtGate(Arc<Gate>);

impl Wake for AtGate {
    fn wake(self: Arc<Self>) {
        self.0.open();
    }
}

/// One who waits until a task has had its runs; when dropped, it leaves no waker behind.
#[must_use = "nobody waits unless it is asked"]
struct Watch {
    control: Control,
    until: Until,
    /// Under which number its waker is kept, once it was.
    number: Option<u64>,
}

impl Watch {
    /// The answer, if there is one; otherwise the waker is called at the end of the next run.
    fn look(&mut self, waker: &Waker) -> Option<Result<(), ControlError>> {
        let (waker, conductor) = (waker.clone(), &self.control.conductor);
        let mut state = conductor.lock();
        if self.until.is_reached(&state.history.counters()) {
            return Some(Ok(()));
        }
        if state.end == Some(TaskState::Disabled) {
            return Some(Err(ControlError::disabled(&conductor.name)));
        }
        if let Some(end) = state.end.filter(|_| state.is_end_told) {
            return Some(Err(ControlError::ended(&conductor.name, end)));
        }
        let old = state.watchers.put(&mut self.number, waker);
        drop(state);
        drop(old);
        None
    }
}

impl Future for Watch {
    type Output = Result<(), ControlError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.look(context.waker()).map_or(Poll::Pending, Poll::Ready)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if self.number.is_some() {
            let left = self.control.conductor.lock().watchers.remove(self.number);
            drop(left);
        }
    }
}

impl Control {
    /// Blocks until the task has had its runs, at most for `limit` on the scheduler's clock.
    pub(crate) fn wait_for(&self, until: Until, limit: Duration) -> Result<(), ControlError> {
        let clock = &self.conductor.clock;
        let deadline = clock.now() + limit;
        let gate = Arc::new(Gate::new());
        let waker = Waker::from(Arc::new(AtGate(Arc::clone(&gate))));
        let mut watch = self.watch(until);
        loop {
            let seen = gate.epoch();
            if let Some(answer) = watch.look(&waker) {
                return answer;
            }
            if clock.now() >= deadline {
                return Err(self.too_late(until, limit));
            }
            clock.wait(&gate, seen, Some(deadline));
        }
    }

    /// Waits until the task has had its runs; holds no thread.
    pub(crate) fn wait_for_async(
        &self,
        until: Until,
    ) -> impl Future<Output = Result<(), ControlError>> + Send + use<> {
        self.watch(until)
    }

    fn watch(&self, until: Until) -> Watch {
        Watch { control: self.clone(), until, number: None }
    }

    fn too_late(&self, until: Until, limit: Duration) -> ControlError {
        let counters = self.conductor.lock().history.counters();
        let (runs, failed) = (counters.runs, counters.failures());
        ControlError::too_late(
            &self.conductor.name,
            limit,
            format!("{until} were waited for; there were {runs}, {failed} of them failed"),
        )
    }
}
