//! Cancels a task: takes its body out, and ends it.

use super::block::TaskBlock;
use super::header::MaybeOptions;
use super::spec::Steps;
use super::state::{Cancel, Slot, TaskEnd, TaskPhase};
use super::{Cancelled, Interruptible, run};
use crate::sync::MutexGuard;

impl<T: Send + Sync + 'static, B: Send + 'static, X: MaybeOptions> TaskBlock<T, B, X>
where
    Option<B>: Steps<T>,
{
    /// Returns true if the task has nothing to drop and no waiter to notify.
    #[inline(always)]
    pub(super) fn is_bare(&self, slot: &Slot<T, B>) -> bool {
        // A suspended run is kept among what is rare.
        !std::mem::needs_drop::<B>() && slot.extras.is_none() && !self.header.link.has_kept()
    }

    /// Cancels a task that is bare; returns whether it was waiting, or none if it is over.
    #[inline(always)]
    pub(super) fn cancel_bare(&self, mut slot: MutexGuard<'_, Slot<T, B>>) -> Option<bool> {
        let (was_waiting, died) = match slot.phase {
            TaskPhase::Waiting { is_queued, .. } => (true, is_queued),
            TaskPhase::Running { .. } | TaskPhase::Held { .. } => (false, false),
            TaskPhase::Suspended { .. } | TaskPhase::Leaving { .. } | TaskPhase::Over { .. } => {
                return None;
            }
        };
        self.header.try_end(TaskEnd::Cancelled)?;
        if was_waiting {
            let over = TaskPhase::Over { is_queued: false, value: None };
            // A bare body has no destructor.
            std::mem::forget(std::mem::replace(&mut slot.phase, over));
        }
        drop(slot);
        self.announce_dead(died);
        Some(was_waiting)
    }

    /// Cancels the task; none when it had ended before, or another thread is cancelling it.
    pub(super) fn cancel_silently(&self) -> Option<Cancelled> {
        let slot = self.slot.lock();
        if !self.is_bare(&slot) {
            return self.cancel_fully(slot);
        }
        let was_waiting = self.cancel_bare(slot)?;
        Some(Cancelled { waiters: Vec::new(), was_waiting, was_suspended: false })
    }

    /// Cancels any other task.
    #[inline(never)]
    pub(super) fn cancel_fully(&self, mut slot: MutexGuard<'_, Slot<T, B>>) -> Option<Cancelled> {
        if self.header.end().is_some() {
            return None;
        }
        let keeps_place = self.header.link.keeps_cancelled() && !self.is_call();
        match slot.phase.cancel(keeps_place) {
            Cancel::IsOver => None,
            Cancel::Leaves { body, died, was_suspended } => {
                Some(self.leave(slot, body, died, was_suspended))
            }
            Cancel::IsRunning => {
                self.header.try_end(TaskEnd::Cancelled)?;
                let waiters = slot.take_waiters();
                Some(Cancelled { waiters, was_waiting: false, was_suspended: false })
            }
        }
    }

    /// Returns true if the entry of a task that has ended still stands for it.
    #[cold]
    pub(super) fn keeps_place(&self) -> bool {
        self.slot.lock().phase.is_queued()
    }

    /// Announces that the entry that stood for the task is dead, if there was one.
    #[inline]
    fn announce_dead(&self, died: bool) {
        if died {
            self.header.link.entry_died(self.is_call());
        }
    }

    /// Drops the body of a task that leaves, and ends it as cancelled.
    fn leave<'a>(
        &'a self,
        mut slot: MutexGuard<'a, Slot<T, B>>,
        body: B,
        died: bool,
        was_suspended: bool,
    ) -> Cancelled {
        if std::mem::needs_drop::<B>() {
            drop(slot);
            let ends = [(self.header.link.address(), Some(self.header.id()))];
            run::hold_up(&ends, || self.discard(body));
            slot = self.slot.lock();
        }
        slot.phase.left();
        // No other thread ends a task that is leaving.
        self.header.try_end(TaskEnd::Cancelled);
        let waiters = slot.take_waiters();
        let suspended = slot.extras.as_mut().and_then(|extras| extras.suspended.take());
        drop(slot);
        drop(suspended);
        self.announce_dead(died);
        Cancelled { waiters, was_waiting: true, was_suspended }
    }
}
