//! What a handle can request of a task: to end, or to stop its run.

use super::handle::TaskHandle;

impl<T: Send + Sync + 'static> TaskHandle<T> {
    /// Cancels the task: it will not start (again). A run in progress goes on undisturbed.
    ///
    /// Returns true if this call has ended the task; false when the task had ended before, or another
    /// thread is cancelling it. The body of a waiting task is dropped before the end is visible, waiters
    /// are notified, and this returns. While the body runs, waiters are notified at once, and it is dropped
    /// after the run.
    ///
    /// As `cancel(false)` of the JDK.
    #[doc(alias = "cancel(false)")]
    pub fn cancel(&self) -> bool {
        let Some(cancelled) = self.cell.cancel() else { return false };
        let (was_waiting, due) = (cancelled.was_waiting, cancelled.due);
        cancelled.notify();
        if was_waiting && let Some(home) = self.cell.header().home() {
            home.withdraw(&*self.cell, due);
        }
        true
    }

    /// Cancels the task, and asks a run in progress to stop.
    ///
    /// The run sees [`Run::is_cancelled`](crate::Run::is_cancelled), and its interruptible waits end
    /// early. Otherwise as [`cancel`](Self::cancel); as `cancel(true)` of the JDK.
    #[doc(alias = "cancel(true)")]
    #[doc(alias = "interrupt")]
    pub fn cancel_now(&self) -> bool {
        let won = self.cancel();
        if won {
            self.cell.interrupt();
        }
        won
    }

    /// Asks only the present run to stop; the task itself goes on, and its next run begins unasked.
    ///
    /// The run sees [`Run::is_cancelled`](crate::Run::is_cancelled), and its interruptible waits end
    /// early. A future that is pending is polled once more, so that it can look. Without a run in
    /// progress it has no effect.
    pub fn ask_to_stop(&self) {
        self.task().ask_to_stop(None);
    }
}
