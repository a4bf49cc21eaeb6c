//! The scheduler's request to stop, as tasks see it.

use std::fmt;

use crate::base::set_once::SetOnce;

/// Shows a task that the scheduler is stopping: no new runs begin, and it waits for this one.
///
/// A task that takes long asks now and then, or lets it end a wait; a task that does not ask is
/// waited for all the same.
///
/// ```rust,no_run,standalone_crate
/// use scheduler::{Shutdown, scheduled};
///
/// #[scheduled(fixed_delay = "1m")]
/// fn import(shutdown: Shutdown) {
///     for part in 0..1_000 {
///         if shutdown.stop_requested() {
///             return; // the rest comes with the next run
///         }
///         println!("part {part}");
///     }
/// }
/// ```
#[derive(Clone)]
pub struct Shutdown {
    requested: SetOnce<()>,
}

impl Shutdown {
    pub(crate) fn new() -> Self {
        Self { requested: SetOnce::new() }
    }

    /// Returns true if the scheduler is stopping.
    #[must_use]
    pub fn stop_requested(&self) -> bool {
        self.requested.is_set()
    }

    /// Waits, without holding a thread, until the scheduler is stopping.
    pub async fn requested(&self) {
        self.requested.clone().await;
    }

    pub(crate) fn request(&self) {
        self.requested.set(());
    }
}

impl fmt::Debug for Shutdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shutdown").field("is_requested", &self.stop_requested()).finish()
    }
}
