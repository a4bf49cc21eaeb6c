//! The lives of the simulated processes: a restart begins a new one.

use scheduler_core::Tick;

use crate::base::sync::Mutex;

/// The end of each life's freeze; [`Tick::MAX`] if it has none. A life that has ended is frozen for ever.
#[derive(Debug, Default)]
pub(super) struct Lives(Mutex<Vec<Tick>>);

impl Lives {
    /// A new life.
    pub(super) fn begin(&self) -> usize {
        let mut lives = self.0.lock();
        lives.push(Tick::ZERO);
        lives.len() - 1
    }

    /// Freezes a life until an instant; with one that has come it goes on.
    #[cfg_attr(not(feature = "durable"), expect(dead_code, reason = "there is no cluster"))]
    pub(super) fn freeze(&self, life: usize, until: Tick) {
        if let Some(frozen) = self.0.lock().get_mut(life) {
            *frozen = until;
        }
    }

    /// Returns true if nothing of this life runs now.
    pub(super) fn is_frozen(&self, life: usize, now: Tick) -> bool {
        self.0.lock().get(life).is_some_and(|until| now < *until)
    }

    /// Returns true if nothing of this life runs until the test says so.
    pub(super) fn is_out(&self, life: usize) -> bool {
        self.0.lock().get(life) == Some(&Tick::MAX)
    }

    /// When the next life goes on.
    pub(super) fn next_thaw(&self, now: Tick) -> Option<Tick> {
        let lives = self.0.lock();
        lives.iter().copied().filter(|until| now < *until && *until != Tick::MAX).min()
    }
}
