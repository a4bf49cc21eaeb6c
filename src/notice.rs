//! Something that happens once, and that threads and futures can wait for.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::PoisonError;
use std::task::Context;
use std::task::Poll;
use std::task::Waker;

use crate::sync::Condvar;
use crate::sync::Mutex;
use crate::sync::MutexGuard;

/// A value that is given once; clones share it.
#[derive(Debug)]
pub(crate) struct Notice<T> {
    shared: Arc<(Mutex<State<T>>, Condvar)>,
    /// Under which number this end has left its waker.
    number: Option<u64>,
}

#[derive(Debug)]
struct State<T> {
    value: Option<T>,
    wakers: BTreeMap<u64, Waker>,
    last: u64,
}

impl<T> Notice<T> {
    pub(crate) fn new() -> Self {
        let state = State { value: None, wakers: BTreeMap::new(), last: 0 };
        Self { shared: Arc::new((Mutex::new(state), Condvar::new())), number: None }
    }

    /// Gives the value, and says whether this was the first time; later values are dropped.
    pub(crate) fn give(&self, value: T) -> bool {
        let mut state = self.lock();
        if state.value.is_some() {
            return false;
        }
        state.value = Some(value);
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        self.shared.1.notify_all();
        wakers.into_values().for_each(Waker::wake);
        true
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone> Notice<T> {
    /// Blocks until the value is given.
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

impl<T> Clone for Notice<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), number: None }
    }
}

/// An end that is no longer awaited leaves no waker behind.
impl<T> Drop for Notice<T> {
    fn drop(&mut self) {
        let left = self.number.and_then(|number| self.lock().wakers.remove(&number));
        drop(left);
    }
}

impl<T: Clone> Future for Notice<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let waker = context.waker().clone();
        let mut state = self.lock();
        if let Some(value) = &state.value {
            return Poll::Ready(value.clone());
        }
        let number = self.number.unwrap_or(state.last + 1);
        state.last = state.last.max(number);
        let old = state.wakers.insert(number, waker);
        drop(state);
        drop(old);
        self.number = Some(number);
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::Notice;
    use std::future::Future;
    use std::pin::pin;
    use std::task::Context;
    use std::task::Poll;
    use std::task::Waker;

    #[test]
    fn a_notice_is_given_once_and_kept() {
        let notice = Notice::new();
        let mut future = pin!(notice.clone());
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(future.as_mut().poll(&mut context), Poll::Pending);
        assert_eq!(future.as_mut().poll(&mut context), Poll::Pending);
        assert_eq!(notice.lock().wakers.len(), 1, "one for each end, however often it polls");
        assert!(notice.give(1));
        assert!(!notice.give(2));
        assert_eq!(future.poll(&mut context), Poll::Ready(1));
        assert_eq!(notice.wait(), 1);
    }

    #[test]
    fn an_end_that_is_dropped_leaves_no_waker_behind() {
        let notice = Notice::<()>::new();
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..3 {
            let mut end = Box::pin(notice.clone());
            assert_eq!(end.as_mut().poll(&mut context), Poll::Pending);
        }
        assert!(notice.lock().wakers.is_empty());
    }
}
