//! What is left to do after a timer was armed or disarmed, when the caller has released its locks.

use std::sync::Arc;
use std::{fmt, mem};

use super::locked::Later;
use super::shared_worker::SharedWorker;
use super::shell::Shell;

/// The workers to wake or to start after a timer was armed or disarmed.
///
/// Dropping it performs it, too.
#[must_use = "it is to be performed when no lock is held"]
#[derive(Default)]
pub struct Wake {
    is_refused: bool,
    /// Kept until it is performed, because it may be the last share in the pool.
    shell: Option<Arc<Shell>>,
    shared: Option<Arc<SharedWorker>>,
    rare: Option<Box<Rare>>,
}

/// What few wakes consist of.
#[derive(Default)]
struct Rare {
    later: Option<Box<Later>>,
    others: Vec<Wake>,
}

impl Wake {
    /// Wakes no worker.
    pub fn none() -> Self {
        Self::default()
    }

    /// The answer of a pool that has gone.
    pub(super) fn refused() -> Self {
        Self { is_refused: true, shell: None, shared: None, rare: None }
    }

    pub(super) fn new(shell: Arc<Shell>, later: Option<Later>, is_refused: bool) -> Self {
        let mut wake = Self { is_refused, shell: Some(shell), shared: None, rare: None };
        match later.map(Later::into_only_worker) {
            None => {}
            Some(Ok(shared)) => wake.shared = Some(shared),
            Some(Err(later)) => wake.rare().later = Some(later),
        }
        wake
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Wakes and starts workers, and calls [`Fire::dropped`](crate::Fire::dropped); to be called with no lock held.
    pub fn perform(self) {
        drop(self);
    }

    /// Returns true if the pool has refused to arm a timer; in what was merged, any of them.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// Merges two into one.
    pub fn and(mut self, mut other: Self) -> Self {
        let is_refused = self.is_refused || other.is_refused;
        if self.shell.is_none() {
            mem::swap(&mut self, &mut other);
        }
        self.is_refused = is_refused;
        let Some(shell) = &other.shell else { return self };
        let is_same = self.shell.as_ref().is_some_and(|mine| Arc::ptr_eq(mine, shell));
        if is_same && self.shared.is_none() {
            self.shared = other.shared.take();
        }
        if !is_same || other.shared.is_some() || other.rare.is_some() {
            self.rare().others.push(other);
        }
        self
    }
}

impl Drop for Wake {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.take() {
            shared.gate.open();
        }
        if let Some(rare) = self.rare.take() {
            let Rare { later, others } = *rare;
            if let Some((later, shell)) = later.zip(self.shell.as_ref()) {
                shell.perform_later(*later);
            }
            drop(others);
        }
    }
}

impl fmt::Debug for Wake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wake").field("is_refused", &self.is_refused).finish_non_exhaustive()
    }
}
