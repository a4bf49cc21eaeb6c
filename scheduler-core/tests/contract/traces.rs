//! A run leaves nothing behind on its thread and in its task.

use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::kit::{Journal, Mutex, VirtualPool, ms};
use chrono::{DateTime, Utc};
use scheduler_core::time::{Epoch, EventCount};
use scheduler_core::{
    Begun, Body, Clock, ManualClock, Run, ScheduledThreadPool, Task, TaskId, Tick, VirtualWorkers,
};

fn number() -> Option<TaskId> {
    Run::with_current(Run::task_id)
}

#[test]
fn a_thread_executes_no_run_when_its_run_is_over() {
    let (stage, seen) = (VirtualPool::new(1), Journal::new());
    for _ in 0..2 {
        let noted = seen.clone();
        stage.pool.execute(move || noted.note(number().is_some())).unwrap();
        assert_eq!(number(), None);
        let Begun::Run(run) = stage.workers.begin(1) else { panic!("the task is due") };
        assert_eq!(number(), None, "its body is over");
        run.finish();
        assert_eq!(number(), None);
    }
    assert_eq!(seen.entries(), [true, true]);
}

#[test]
fn a_thread_executes_no_run_when_one_that_it_ran_by_hand_is_over() {
    let (stage, seen) = (VirtualPool::new(1), Journal::new());
    for _ in 0..2 {
        let noted = seen.clone();
        let handle = stage.pool.schedule(ms(10), move || noted.note(number())).unwrap();
        stage.pool.remove(&handle).unwrap().run();
        assert_eq!(seen.entries().last(), Some(&Some(handle.id())));
        assert_eq!(number(), None);
    }
}

/// A clock on which a wait lasts as long as it is to last, and that knows what was waited at.
#[derive(Clone, Debug)]
struct Hasty {
    clock: ManualClock,
    gates: Arc<Mutex<Vec<Weak<EventCount>>>>,
}

impl Clock for Hasty {
    fn now(&self) -> Tick {
        self.clock.now()
    }

    fn wall(&self) -> DateTime<Utc> {
        self.clock.wall()
    }

    fn wait(&self, gate: &Arc<EventCount>, _: Epoch, until: Option<Tick>) {
        self.gates.lock().unwrap().push(Arc::downgrade(gate));
        self.clock.advance_to(until.expect("this wait has an end"));
    }
}

/// A recurring task may wait in each of its runs, for as long as the process lives.
#[test]
fn a_wait_inside_a_run_leaves_nothing_in_the_task() {
    let clock = Hasty { clock: ManualClock::new(), gates: Arc::default() };
    let workers = VirtualWorkers::new();
    let builder = ScheduledThreadPool::builder().core_size(1).clock(Arc::new(clock.clone()));
    let pool = builder.virtual_workers(&workers).build().unwrap();
    let never = pool.schedule(Duration::from_secs(3600), || ()).unwrap();
    let body = Body::new(move || {
        Run::current().unwrap().sleep(ms(1)).unwrap();
        assert!(never.wait_for(ms(1)).unwrap_err().is_timeout());
    });
    let handle = pool.submit_task(Task::with_fixed_delay(ms(1), body)).unwrap();
    for _ in 0..10 {
        workers.run_until_idle();
        clock.clock.advance(ms(1));
    }
    assert!(!handle.is_done());
    let gates = clock.gates.lock().unwrap();
    assert_eq!(gates.len(), 20);
    assert_eq!(gates.iter().filter(|gate| gate.strong_count() > 0).count(), 0);
}
