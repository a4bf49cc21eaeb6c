//! Who is told of events.

use std::sync::Arc;

use super::Event;

/// Is told what happens in a scheduler; any `Fn(&Event) + Send + Sync` is one.
///
/// Listeners are called one after the other on one thread of their own, `scheduler-events`, so that
/// none can slow down a run. Up to 1,024 events wait there; if it falls behind further, events are
/// dropped, and [`Event::Lost`] says how many. The last quarter of the room is for what does not come with
/// every run: failures, ends of tasks, the stop. A panic of a listener is contained and reported once.
///
/// ```
/// use scheduler::{Event, Listener};
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// #[derive(Default)]
/// struct Failures(AtomicU64);
///
/// impl Listener for Failures {
///     fn on_event(&self, event: &Event) {
///         if let Event::RunFinished { outcome, .. } = event {
///             self.0.fetch_add(u64::from(outcome.is_failure()), Ordering::Relaxed);
///         }
///     }
/// }
/// ```
#[doc(alias = "ApplicationListener")]
pub trait Listener: Send + Sync {
    /// Takes note of an event.
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
