//! The number of workers: they are hired up to the core size, and idle ones learn of new limits.

use super::core::Core;
use super::shutdown::RunState;
use super::step::{Effects, Item};

impl<I: Item> Core<I> {
    /// Starts workers up to the core size, at most `limit`.
    ///
    /// A pool that is shut down starts none that would leave at once.
    pub(crate) fn prestart(&mut self, limit: usize, effects: &mut Effects<I>) {
        let has_work = match self.state {
            RunState::Running => true,
            RunState::ShuttingDown => !self.is_exhausted(),
            RunState::Stopping | RunState::Terminated => false,
        };
        let missing = self.workers.core_size.saturating_sub(self.workers.live());
        let hired = if has_work { missing.min(limit) } else { 0 };
        for _ in 0..hired {
            self.hire(effects);
        }
    }

    pub(crate) fn set_core_size(&mut self, core_size: usize, effects: &mut Effects<I>) {
        let grows_by = core_size.saturating_sub(self.workers.core_size);
        self.workers.core_size = core_size;
        self.prestart(grows_by.min(self.queues.len()), effects);
        self.reconsider_idle(effects);
    }

    /// Wakes idle workers, so that they see new limits.
    pub(crate) fn reconsider_idle(&mut self, effects: &mut Effects<I>) {
        if self.workers.is_timed() {
            effects.wake.extend(self.workers.everyone_waiting());
        }
    }

    pub(super) fn hire_if_missing(&mut self, effects: &mut Effects<I>) {
        if self.workers.live() < self.workers.core_size.max(1) {
            self.hire(effects);
        }
    }

    /// Hires one more worker. One that had to stay because it was the only one may leave now, and is
    /// woken: it waits without a limit.
    pub(super) fn hire(&mut self, effects: &mut Effects<I>) {
        effects.rare().start.push(self.workers.hire());
        self.reconsider_idle(effects);
    }
}
