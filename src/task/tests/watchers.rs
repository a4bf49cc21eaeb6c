//! A wait that is given up leaves no waker behind.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use super::stage::*;
use crate::task::{Control, Policy, Until};

#[derive(Default)]
struct Count(AtomicU64);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

fn is_watched(control: &Control) -> bool {
    !control.task.lock().watchers.is_empty()
}

#[test]
fn a_future_that_is_dropped_leaves_no_waker_behind() {
    let stage = Stage::new();
    let control = stage.task(once(1_000), Policy::default(), |_| ok(0));
    for _ in 0..3 {
        let waker = Waker::from(Arc::<Count>::default());
        let mut future = Box::pin(control.wait_for_async(Until::runs(1)));
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert!(is_watched(&control));
        drop(future);
        assert!(!is_watched(&control));
    }
}

#[test]
fn a_thread_whose_time_is_over_leaves_no_waker_behind() {
    let stage = Stage::new();
    let control = stage.task(once(1_000), Policy::default(), |_| ok(0));
    let waited = control.wait_for(Until::runs(1), Duration::ZERO);
    assert!(waited.unwrap_err().is_too_late());
    assert!(!is_watched(&control));
}

#[test]
fn a_future_that_moves_to_another_waker_wakes_that_one_only() {
    let mut stage = Stage::new();
    let control = stage.task(rate(1_000), Policy::default(), |_| ok(100));
    let (old, new) = (Arc::<Count>::default(), Arc::<Count>::default());
    let mut future = Box::pin(control.wait_for_async(Until::runs(2)));
    for count in [&old, &new, &new] {
        let waker = Waker::from(Arc::clone(count));
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    stage.until(500);
    assert_eq!((old.0.load(Relaxed), new.0.load(Relaxed)), (0, 1));
    let waker = Waker::from(Arc::clone(&new));
    assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    stage.until(1_500);
    assert_eq!(new.0.load(Relaxed), 2);
    assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
    assert!(!is_watched(&control));
}
