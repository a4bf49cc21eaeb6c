//! A panic hook that calls the pool (F-PA2), in its own process.

use std::panic;
use std::sync::Arc;

use crate::kit::{self, ManualPool, Mutex, capped, check_healthy};
use scheduler_core::TaskHandle;

#[test]
fn f_pa2_a_panic_hook_may_call_the_pool() {
    if !kit::is_in_own_process(f_pa2_a_panic_hook_may_call_the_pool) {
        return;
    }
    let ManualPool { pool, .. } = ManualPool::new(2);
    let submitted: Arc<Mutex<Vec<TaskHandle<u64>>>> = Arc::default();
    let (inside, kept) = (pool.clone(), Arc::clone(&submitted));
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |_| {
        let active = inside.stats().active;
        drop(inside.queue());
        let handle = inside.submit(move || active as u64).expect("the pool takes tasks");
        kept.lock().unwrap().push(handle);
    }));
    for _ in 0..100 {
        let handle: TaskHandle<()> = pool.submit(|| panic!("as planned")).unwrap();
        let waiting = handle.clone();
        assert!(capped(move || waiting.wait()).unwrap_err().is_failed());
    }
    panic::set_hook(before);
    let submitted: Vec<TaskHandle<u64>> = submitted.lock().unwrap().drain(..).collect();
    assert_eq!(submitted.len(), 100);
    for handle in &submitted {
        assert!(kit::value_of(handle) >= 1, "the task that panicked was active");
    }
    check_healthy(&pool);
}
