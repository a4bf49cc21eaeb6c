//! The order in which tasks are taken, whichever way they come.

use std::sync::{Arc, Mutex};

use loom::thread;

use crate::kit::{Latch, builder, models, ms, occupy, pool_at_rest, staged, stop};

models! {
    l17_a_task_that_became_due_before_is_taken_before: due_before;
    l17_a_task_that_came_before_is_taken_before: came_before;
}

/// The names of tasks, in the order of their runs.
#[derive(Clone, Default)]
struct Ran(Arc<Mutex<Vec<&'static str>>>);

impl Ran {
    fn noting(&self, name: &'static str) -> impl FnOnce() + Send + use<> {
        let ran = self.clone();
        move || ran.0.lock().unwrap().push(name)
    }

    fn check(&self) {
        assert_eq!(*self.0.lock().unwrap(), ["first", "second"], "tasks run in order");
    }
}

/// A worker is at a task. One is in the queue that becomes due meanwhile, and another one comes that is due since
/// then.
fn due_before() {
    let (pool, clock) = pool_at_rest(1, builder(1));
    let (ran, free) = (Ran::default(), Latch::default());
    let handles = staged(|| {
        occupy(&pool, &free);
        let first = pool.schedule(ms(1), ran.noting("first")).unwrap();
        assert_eq!(pool.stats().queued, 1);
        clock.advance(ms(2));
        let second = pool.submit(ran.noting("second")).unwrap();
        assert_eq!(pool.stats().queued, 2);
        [first, second]
    });
    free.open();
    handles.iter().for_each(|handle| handle.wait().unwrap());
    ran.check();
    stop(&pool);
}

/// A worker is at a task. One is in the inbox that has become due; while another thread moves it to the queue, one comes
/// that is due at the same time.
fn came_before() {
    let (pool, clock) = pool_at_rest(1, builder(1));
    let (ran, free) = (Ran::default(), Latch::default());
    let first = staged(|| {
        occupy(&pool, &free);
        let first = pool.schedule(ms(2), ran.noting("first")).unwrap();
        clock.advance(ms(2));
        free.open();
        first
    });
    let onlooker = {
        let pool = pool.clone();
        thread::spawn(move || drop(pool.queue()))
    };
    let second = pool.submit(ran.noting("second")).unwrap();
    [first, second].iter().for_each(|handle| handle.wait().unwrap());
    ran.check();
    onlooker.join().unwrap();
    stop(&pool);
}
