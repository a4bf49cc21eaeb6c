//! The trait for code that gets events.

use std::sync::Arc;

use super::Event;

/// Code that gets events; any `Fn(&Event) + Send + Sync` is one.
///
/// Listeners run one after the other on a thread of their own, `scheduler-events`, so that none slows down a run. Up to
/// 1,024 events wait for it. When more come they are dropped, and [`Lost`](crate::EventKind::Lost) counts them. A quarter
/// of the queue is reserved for failures and rare kinds, such as the end of a task. A panic of a listener is contained
/// and reported once. Events are plain data: one that is kept keeps nothing else alive.
///
/// ```
/// use scheduler::{Event, EventKind, Listener};
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// #[derive(Default)]
/// struct Failures(AtomicU64);
///
/// impl Listener for Failures {
///     fn on_event(&self, event: &Event) {
///         if let EventKind::RunFinished { outcome, .. } = &event.kind {
///             self.0.fetch_add(u64::from(outcome.is_failure()), Ordering::Relaxed);
///         }
///     }
/// }
/// ```
#[doc(alias = "ApplicationListener")]
pub trait Listener: Send + Sync {
    /// Called for each event.
    fn on_event(&self, event: &Event);
}

impl<F: Fn(&Event) + Send + Sync> Listener for F {
    fn on_event(&self, event: &Event) {
        self(event);
    }
}

impl<L: Listener + ?Sized> Listener for Arc<L> {
    fn on_event(&self, event: &Event) {
        (**self).on_event(event);
    }
}
