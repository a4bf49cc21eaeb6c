//! A task that left its pool before it was run.

use std::fmt;
use std::sync::Arc;

use super::pool_state::PoolState;
use super::worker;
use crate::task::{AnyTask, TaskHandle, TaskId, TaskPool};

/// A task that left its pool before it could run: drained, removed or rejected.
///
/// While it is held, its handle is neither done nor cancelled. It can be run by hand, once. Dropping
/// it cancels the task, so that its waiters go on. (The JDK leaves such futures pending for ever.)
///
/// ```
/// use scheduler_core::ScheduledThreadPool;
/// use std::time::Duration;
///
/// let pool = ScheduledThreadPool::new(1);
/// let later = pool.schedule(Duration::from_secs(3_600), || 6 * 7)?;
/// let mut unstarted = pool.shutdown_now();
/// unstarted.remove(0).run();
/// assert_eq!(later.wait()?, 42);
/// # Ok::<(), scheduler_core::Error>(())
/// ```
#[must_use = "dropping a task that has not been run cancels it"]
pub struct UnstartedTask {
    task: Arc<dyn AnyTask>,
    state: Arc<PoolState>,
}

impl UnstartedTask {
    pub(super) fn new(task: Arc<dyn AnyTask>, state: Arc<PoolState>) -> Self {
        Self { task, state }
    }

    /// The number of the task.
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.task.id()
    }

    /// The name of the task, where it has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.task.name()
    }

    /// Returns true if `handle` is a handle of this task.
    #[must_use]
    pub fn belongs_to<T: Send + Sync + 'static>(&self, handle: &TaskHandle<T>) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.task), Arc::as_ptr(&handle.task()))
    }

    /// Runs the task once, here and now, on the calling thread.
    ///
    /// A one-shot delivers its value. A recurring task is run once and then cancelled, because it has
    /// no pool to come back to; so is one whose future is pending after the first poll.
    pub fn run(self) {
        worker::run_outside(&self.state, &self.task);
    }

    /// The task's name in messages.
    pub(super) fn label(&self) -> String {
        self.task.label()
    }
}

impl Drop for UnstartedTask {
    fn drop(&mut self) {
        self.state.cancel(Arc::<dyn AnyTask>::clone(&self.task));
    }
}

impl fmt::Debug for UnstartedTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("UnstartedTask").field(&self.label()).finish()
    }
}
