//! A value that is set once and awaited by threads and futures.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use scheduler_core::Clock;
use scheduler_core::time::EventCount;

use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::unwind::wake_all;

/// A value that is set once; clones share it.
#[derive(Debug)]
pub(crate) struct OneShot<T> {
    shared: Arc<(Mutex<OneShotInner<T>>, Condvar)>,
    /// The number of this clone's waker.
    number: Option<u64>,
}

#[derive(Debug)]
struct OneShotInner<T> {
    value: Option<T>,
    wakers: Wakers,
}

/// Wakers by number.
///
/// INVARIANT: a returned waker runs user code when it is woken or dropped. Release the lock before.
#[derive(Debug, Default)]
pub(crate) struct Wakers {
    wakers: BTreeMap<u64, Waker>,
    last: u64,
}

impl Wakers {
    pub(crate) fn is_empty(&self) -> bool {
        self.wakers.is_empty()
    }

    /// Stores a waker under its number, which is assigned if it has none. Returns the waker that it replaces.
    pub(crate) fn put(&mut self, number: &mut Option<u64>, waker: Waker) -> Option<Waker> {
        let number = *number.get_or_insert(self.last + 1);
        self.last = self.last.max(number);
        self.wakers.insert(number, waker)
    }

    /// Removes a waker.
    #[must_use = "dropping a waker runs user code, which must not happen under a lock"]
    pub(crate) fn remove(&mut self, number: Option<u64>) -> Option<Waker> {
        self.wakers.remove(&number?)
    }

    /// Removes all wakers, in the order of their numbers.
    #[must_use = "the wakers must be woken"]
    pub(crate) fn take(&mut self) -> impl Iterator<Item = Waker> + use<> {
        std::mem::take(&mut self.wakers).into_values()
    }
}

impl<T> OneShot<T> {
    pub(crate) fn new() -> Self {
        let state = OneShotInner { value: None, wakers: Wakers::default() };
        Self { shared: Arc::new((Mutex::new(state), Condvar::new())), number: None }
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

    fn lock(&self) -> MutexGuard<'_, OneShotInner<T>> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone> OneShot<T> {
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

impl<T> Clone for OneShot<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), number: None }
    }
}

/// Removes the waker of this clone.
impl<T> Drop for OneShot<T> {
    fn drop(&mut self) {
        if self.number.is_some() {
            let left = self.lock().wakers.remove(self.number);
            drop(left);
        }
    }
}

impl<T: Clone> Future for OneShot<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let (waker, mut number) = (context.waker().clone(), self.number);
        let mut state = self.lock();
        if let Some(value) = &state.value {
            return Poll::Ready(value.clone());
        }
        let old = state.wakers.put(&mut number, waker);
        drop(state);
        self.number = number;
        drop(old);
        Poll::Pending
    }
}

/// Wakes a thread that waits at a gate.
struct AtGate(Arc<EventCount>);

impl Wake for AtGate {
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
    let gate = Arc::new(EventCount::new());
    let waker = Waker::from(Arc::new(AtGate(Arc::clone(&gate))));
    loop {
        let seen = gate.epoch();
        if let Poll::Ready(answer) = Pin::new(&mut future).poll(&mut Context::from_waker(&waker)) {
            return Some(answer);
        }
        if clock.now() >= deadline {
            return None;
        }
        clock.wait(&gate, seen, Some(deadline));
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::OneShot;
    use std::future::Future;
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;
    use std::sync::atomic::Ordering::Relaxed;
    use std::task::{Context, Poll, Wake, Waker};

    #[test]
    fn a_value_is_set_once_and_kept() {
        let one_shot = OneShot::new();
        let mut future = pin!(one_shot.clone());
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(future.as_mut().poll(&mut context), Poll::Pending);
        assert_eq!(future.as_mut().poll(&mut context), Poll::Pending);
        assert_eq!(
            one_shot.lock().wakers.wakers.len(),
            1,
            "one for each clone, however often it polls"
        );
        assert!(one_shot.set(1));
        assert!(!one_shot.set(2));
        assert_eq!(future.poll(&mut context), Poll::Ready(1));
        assert_eq!(one_shot.wait(), 1);
    }

    #[test]
    fn a_dropped_clone_leaves_no_waker() {
        let one_shot = OneShot::<()>::new();
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..3 {
            let mut end = Box::pin(one_shot.clone());
            assert_eq!(end.as_mut().poll(&mut context), Poll::Pending);
        }
        assert!(one_shot.lock().wakers.is_empty());
    }

    /// A waker that counts its calls, and may panic.
    pub(crate) struct Bell {
        pub(crate) rung: AtomicU64,
        pub(crate) panics: bool,
    }

    impl Wake for Bell {
        fn wake(self: Arc<Self>) {
            self.rung.fetch_add(1, Relaxed);
            assert!(!self.panics, "the bell");
        }
    }

    #[test]
    fn a_waker_that_panics_stops_no_other() {
        let one_shot = OneShot::new();
        let bells = [true, false, true, false].map(|panics| {
            let bell = Arc::new(Bell { rung: AtomicU64::new(0), panics });
            let (waker, mut end) = (Waker::from(Arc::clone(&bell)), Box::pin(one_shot.clone()));
            assert!(end.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            (bell, end)
        });
        assert!(one_shot.set(()));
        assert!(bells.iter().all(|(bell, _)| bell.rung.load(Relaxed) == 1));
    }
}
