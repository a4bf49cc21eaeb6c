//! Something that happens once, and that threads and futures can wait for.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::Condvar;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::task::Context;
use std::task::Poll;
use std::task::Waker;

/// A value that is given once; clones share it.
#[derive(Debug)]
pub(crate) struct Notice<T> {
    state: Arc<(Mutex<State<T>>, Condvar)>,
}

#[derive(Debug)]
struct State<T> {
    value: Option<T>,
    wakers: Vec<Waker>,
}

impl<T: Clone> Notice<T> {
    pub(crate) fn new() -> Self {
        let state = State { value: None, wakers: Vec::new() };
        Self { state: Arc::new((Mutex::new(state), Condvar::new())) }
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
        self.state.1.notify_all();
        wakers.into_iter().for_each(Waker::wake);
        true
    }

    /// Blocks until the value is given.
    pub(crate) fn wait(&self) -> T {
        let mut state = self.lock();
        loop {
            if let Some(value) = &state.value {
                return value.clone();
            }
            state = self.state.1.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Clone for Notice<T> {
    fn clone(&self) -> Self {
        Self { state: Arc::clone(&self.state) }
    }
}

impl<T: Clone> Future for Notice<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let waker = context.waker().clone();
        let mut state = self.lock();
        if let Some(value) = &state.value {
            return Poll::Ready(value.clone());
        }
        // Polled often, as beside other futures in a `select!`, it keeps one waker of each task.
        if !state.wakers.iter().any(|known| known.will_wake(&waker)) {
            state.wakers.push(waker);
        }
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
        assert_eq!(notice.lock().wakers.len(), 1, "one for each task, however often it polls");
        assert!(notice.give(1));
        assert!(!notice.give(2));
        assert_eq!(future.poll(&mut context), Poll::Ready(1));
        assert_eq!(notice.wait(), 1);
    }
}
