//! A value that is set once and awaited by threads and futures.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use scheduler_core::Clock;
use scheduler_core::time::EventCount;

use super::sync::{Condvar, Mutex, MutexGuard};
use super::wake_all;

/// A value that is set once; clones share it.
#[derive(Debug)]
pub(crate) struct SetOnce<T> {
    shared: Arc<(Mutex<SetOnceInner<T>>, Condvar)>,
    /// The id of this clone's waker.
    waker_id: Option<u64>,
}

#[derive(Debug)]
struct SetOnceInner<T> {
    value: Option<T>,
    wakers: Wakers,
}

/// Wakers by their ids.
///
/// INVARIANT: a returned waker runs user code when it is woken or dropped. Release the lock before.
#[derive(Debug, Default)]
pub(crate) struct Wakers {
    wakers: BTreeMap<u64, Waker>,
    last: u64,
}

impl Wakers {
    pub(crate) const fn new() -> Self {
        Self { wakers: BTreeMap::new(), last: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.wakers.is_empty()
    }

    /// Stores a waker under its id, which is assigned if there is none. Returns the waker that it replaces.
    pub(crate) fn register(&mut self, waker_id: &mut Option<u64>, waker: Waker) -> Option<Waker> {
        let id = *waker_id.get_or_insert(self.last + 1);
        self.last = self.last.max(id);
        self.wakers.insert(id, waker)
    }

    /// Removes a waker.
    #[must_use = "dropping a waker runs user code, which must not happen under a lock"]
    pub(crate) fn remove(&mut self, waker_id: Option<u64>) -> Option<Waker> {
        self.wakers.remove(&waker_id?)
    }

    /// Removes all wakers, in the order of their ids.
    #[must_use = "the wakers must be woken"]
    pub(crate) fn take(&mut self) -> impl Iterator<Item = Waker> + use<> {
        std::mem::take(&mut self.wakers).into_values()
    }
}

impl<T> SetOnce<T> {
    pub(crate) fn new() -> Self {
        let state = SetOnceInner { value: None, wakers: Wakers::default() };
        Self { shared: Arc::new((Mutex::new(state), Condvar::new())), waker_id: None }
    }

    /// Sets the value. Returns false, and drops it, if one was set before.
    pub(crate) fn set(&self, value: T) -> bool {
        let mut state = self.lock();
        if state.value.is_some() {
            return false;
        }
        state.value = Some(value);
        let wakers = state.wakers.take();
        drop(state);
        self.shared.1.notify_all();
        wake_all(wakers);
        true
    }

    /// Returns true if the value is set.
    pub(crate) fn is_set(&self) -> bool {
        self.lock().value.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, SetOnceInner<T>> {
        self.shared.0.lock()
    }
}

impl<T: Clone> SetOnce<T> {
    /// Blocks until the value is set.
    pub(crate) fn wait(&self) -> T {
        let mut state = self.lock();
        loop {
            if let Some(value) = &state.value {
                return value.clone();
            }
            state = self.shared.1.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<T> Clone for SetOnce<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), waker_id: None }
    }
}

/// Removes the waker of this clone.
impl<T> Drop for SetOnce<T> {
    fn drop(&mut self) {
        if self.waker_id.is_some() {
            let left = self.lock().wakers.remove(self.waker_id);
            drop(left);
        }
    }
}

impl<T: Clone> Future for SetOnce<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let (waker, mut waker_id) = (context.waker().clone(), self.waker_id);
        let mut state = self.lock();
        if let Some(value) = &state.value {
            return Poll::Ready(value.clone());
        }
        let old = state.wakers.register(&mut waker_id, waker);
        drop(state);
        self.waker_id = waker_id;
        drop(old);
        Poll::Pending
    }
}

/// Notifies the event count on which a thread waits.
struct NotifyEventCount(Arc<EventCount>);

impl Wake for NotifyEventCount {
    fn wake(self: Arc<Self>) {
        self.0.open();
    }
}

/// Blocks until a future is ready, at most for `limit` on the clock; `None` if it is not by then.
pub(crate) fn block_on<F: Future + Unpin>(
    mut future: F,
    clock: &dyn Clock,
    limit: Duration,
) -> Option<F::Output> {
    let deadline = clock.now() + limit;
    let event_count = Arc::new(EventCount::new());
    let waker = Waker::from(Arc::new(NotifyEventCount(Arc::clone(&event_count))));
    loop {
        let seen = event_count.epoch();
        if let Poll::Ready(answer) = Pin::new(&mut future).poll(&mut Context::from_waker(&waker)) {
            return Some(answer);
        }
        if clock.now() >= deadline {
            return None;
        }
        clock.wait(&event_count, seen, Some(deadline));
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::SetOnce;
    use std::future::Future;
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;
    use std::sync::atomic::Ordering::Relaxed;
    use std::task::{Context, Poll, Wake, Waker};

    #[test]
    fn a_value_is_set_once_and_kept() {
        let set_once = SetOnce::new();
        let mut future = pin!(set_once.clone());
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(future.as_mut().poll(&mut context), Poll::Pending);
        assert_eq!(future.as_mut().poll(&mut context), Poll::Pending);
        assert_eq!(
            set_once.lock().wakers.wakers.len(),
            1,
            "one for each clone, however often it polls"
        );
        assert!(set_once.set(1));
        assert!(!set_once.set(2));
        assert_eq!(future.poll(&mut context), Poll::Ready(1));
        assert_eq!(set_once.wait(), 1);
    }

    #[test]
    fn a_dropped_clone_leaves_no_waker() {
        let set_once = SetOnce::<()>::new();
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..3 {
            let mut end = Box::pin(set_once.clone());
            assert_eq!(end.as_mut().poll(&mut context), Poll::Pending);
        }
        assert!(set_once.lock().wakers.is_empty());
    }

    /// A waker that counts its calls, and may panic.
    pub(crate) struct CountingWaker {
        pub(crate) wakes: AtomicU64,
        pub(crate) panics: bool,
    }

    impl Wake for CountingWaker {
        fn wake(self: Arc<Self>) {
            self.wakes.fetch_add(1, Relaxed);
            assert!(!self.panics, "the waker");
        }
    }

    #[test]
    fn a_waker_that_panics_stops_no_other() {
        let set_once = SetOnce::new();
        let counters = [true, false, true, false].map(|panics| {
            let counter = Arc::new(CountingWaker { wakes: AtomicU64::new(0), panics });
            let (waker, mut end) = (Waker::from(Arc::clone(&counter)), Box::pin(set_once.clone()));
            assert!(end.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            (counter, end)
        });
        assert!(set_once.set(()));
        assert!(counters.iter().all(|(counter, _)| counter.wakes.load(Relaxed) == 1));
    }
}
