//! Calls at a time, and futures that wait on the pool's clock.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::time::Duration;

use crate::kit::{HOUR, Journal, Mutex, VirtualPool, ms};
use scheduler_core::{Begun, Event, Run, ScheduledThreadPool, Stepped, TaskState, Tick};

fn tick(millis: u64) -> Tick {
    Tick::ZERO + ms(millis)
}

/// A pool that notes all that its owner could hear.
fn stage(told: &Journal<String>) -> VirtualPool {
    let (heard, before, after, decorated) =
        (told.clone(), told.clone(), told.clone(), told.clone());
    let builder = ScheduledThreadPool::builder()
        .core_size(2)
        .before_run(move |_: &Run| before.note("before".to_owned()))
        .after_run(move |_: &Run, _: &Result<(), _>| after.note("after".to_owned()))
        .decorate_task(move |_, _| {
            decorated.note("decorated".to_owned());
            Box::new(|step| step())
        })
        .listener(move |event: &Event<'_>| {
            if !matches!(event, Event::WorkerStarted { .. } | Event::WorkerStopped { .. }) {
                heard.note(format!("{event:?}"));
            }
        });
    VirtualPool::build(builder)
}

#[test]
fn a_call_is_made_at_its_time_and_no_listener_is_told() {
    let (told, rung) = (Journal::new(), Journal::new());
    let stage = stage(&told);
    let before = stage.pool.stats();
    let clock = stage.clock.clone();
    let (noted, pool) = (rung.clone(), stage.pool.clone());
    let alarm = stage.pool.call_at(tick(10), move || {
        let stats = pool.stats();
        noted.note((scheduler_core::Clock::now(&clock), stats.active, stats.tasks));
        panic!("contained");
    });
    assert_eq!((stage.pool.stats().queued, stage.pool.stats().tasks), (0, 0));
    assert!(stage.pool.queue().is_empty());
    assert_eq!(stage.run_due(), Some(tick(10)));
    stage.run_for(ms(10));
    assert_eq!(rung.entries(), [(tick(10), 0, 0)]);
    assert_eq!(told.entries(), Vec::<String>::new());
    let after = stage.pool.stats();
    assert_eq!((after.completed, after.active, after.tasks), (0, 0, before.tasks));
    drop(alarm);
    assert_eq!(told.entries(), Vec::<String>::new());
}

#[test]
fn an_alarm_that_is_dropped_is_taken_back_with_all_it_holds() {
    let (told, held) = (Journal::new(), Arc::new(()));
    let stage = stage(&told);
    stage.pool.set_remove_on_cancel(false);
    let inside = Arc::clone(&held);
    let alarm = stage.pool.call_at(tick(10), move || drop(inside));
    drop(alarm);
    assert_eq!(Arc::strong_count(&held), 1);
    assert_eq!(stage.run_due(), None, "no worker wakes up for it");
    assert_eq!(told.entries(), Vec::<String>::new());
}

#[test]
fn an_alarm_that_was_taken_back_is_not_counted_against_the_tasks() {
    let stage = VirtualPool::new(1);
    drop(stage.pool.call_at(tick(10), || ()));
    stage.pool.schedule(HOUR, || ()).unwrap();
    assert_eq!(stage.pool.stats().queued, 1);
}

#[test]
fn an_alarm_that_is_dropped_during_its_call_is_made_all_the_same() {
    let (told, rung) = (Journal::new(), Journal::new());
    let stage = stage(&told);
    let alarm = stage.pool.call_at(tick(0), rung.noting(()));
    let Begun::Run(run) = stage.workers.begin(1) else { panic!("it is due") };
    drop(alarm);
    run.finish();
    assert_eq!(rung.len(), 1);
    stage.run_due();
    assert_eq!(stage.pool.stats().active, 0);
    assert_eq!(told.entries(), Vec::<String>::new());
}

#[test]
fn alarms_and_tasks_take_turns_in_one_order() {
    let (stage, order) = (VirtualPool::new(1), Journal::new());
    let _alarms: Vec<_> = [5, 3].map(|at| stage.pool.call_at(tick(at), order.noting(at))).into();
    stage.pool.schedule(ms(3), order.noting(33)).unwrap();
    stage.pool.schedule(ms(4), order.noting(4)).unwrap();
    stage.run_for(ms(10));
    assert_eq!(order.entries(), [3, 33, 4, 5]);
}

#[test]
fn an_alarm_rings_while_the_pool_shuts_down_as_long_as_there_is_a_run_or_a_task() {
    let (stage, rung) = (VirtualPool::new(2), Journal::new());
    stage.pool.submit(|| ()).unwrap();
    let _during_run = stage.pool.call_at(tick(10), rung.noting("run"));
    let Begun::Run(run) = stage.workers.begin(1) else { panic!("the task is due") };
    stage.pool.schedule(ms(30), || ()).unwrap();
    stage.pool.shutdown();
    let _too_late = stage.pool.call_at(tick(31), rung.noting("never"));
    let _shutting_down = stage.pool.call_at(tick(20), rung.noting("delayed"));
    let _after = stage.pool.call_at(tick(50), rung.noting("never"));
    stage.clock.advance(ms(10));
    assert_eq!(stage.workers.step(2), Stepped::Ran);
    assert_eq!(rung.entries(), ["run"]);
    run.finish();
    stage.run_for(ms(10));
    assert_eq!(rung.entries(), ["run", "delayed"]);
    assert!(!stage.pool.is_terminated());
    stage.run_for(ms(10));
    assert!(stage.pool.is_terminated(), "no end waits for alarms");
    assert_eq!(stage.workers.numbers(), [0_u64; 0]);
    stage.run_for(ms(50));
    assert_eq!(rung.entries(), ["run", "delayed"]);
}

/// An idle worker stays for an alarm that may be for the run in progress.
#[test]
fn a_worker_stays_for_an_alarm_while_another_is_busy() {
    let (stage, rung) = (VirtualPool::new(2), Journal::new());
    stage.pool.submit(|| ()).unwrap();
    let _alarm = stage.pool.call_at(tick(10), rung.noting(()));
    let Begun::Run(run) = stage.workers.begin(1) else { panic!("the task is due") };
    stage.pool.shutdown();
    assert_eq!(stage.workers.step(2), Stepped::Waits(Some(tick(10))));
    run.finish();
    stage.run_due();
    assert!(stage.pool.is_terminated() && rung.len() == 0);
}

#[test]
fn a_pool_that_has_ended_drops_the_call() {
    let held = Arc::new(());
    let call = || {
        let inside = Arc::clone(&held);
        move || drop(inside)
    };
    let stage = VirtualPool::new(1);
    let early = stage.pool.call_at(tick(10), call());
    drop(stage.pool.shutdown_now());
    assert_eq!(Arc::strong_count(&held), 1);
    let late = stage.pool.call_at(tick(10), call());
    stage.run_due();
    assert!(stage.pool.is_terminated());
    let latest = stage.pool.call_at(tick(0), call());
    assert_eq!(Arc::strong_count(&held), 1);
    drop((early, late, latest));

    let stage = VirtualPool::new(1);
    let left = stage.pool.call_at(tick(10), call());
    stage.pool.shutdown();
    stage.run_due();
    assert!(stage.pool.is_terminated());
    assert_eq!(Arc::strong_count(&held), 1);
    drop(left);
}

#[test]
fn an_alarm_that_is_set_at_the_very_end_starts_no_worker() {
    let (own, held) = (Arc::new(Mutex::new(None)), Arc::new(()));
    let (mine, inside) = (Arc::clone(&own), Arc::clone(&held));
    let alarm = Arc::new(Mutex::new(None));
    let kept = Arc::clone(&alarm);
    let builder = ScheduledThreadPool::builder().core_size(1).on_terminated(move || {
        let pool: ScheduledThreadPool = mine.lock().unwrap().take().unwrap();
        let inside = Arc::clone(&inside);
        *kept.lock().unwrap() = Some(pool.call_at(Tick::ZERO, move || drop(inside)));
    });
    let stage = VirtualPool::build(builder);
    *own.lock().unwrap() = Some(stage.pool.clone());
    stage.pool.shutdown();
    assert!(stage.pool.is_terminated());
    assert_eq!((stage.workers.numbers(), Arc::strong_count(&held)), (vec![], 2));
    assert!(alarm.lock().unwrap().is_some());
}

#[test]
fn the_last_worker_stays_for_an_alarm_and_one_is_started_for_it() {
    let builder = ScheduledThreadPool::builder().core_size(0).keep_alive(ms(1));
    let (stage, rung) = (VirtualPool::build(builder), Journal::new());
    let _alarm = stage.pool.call_at(tick(100), rung.noting(()));
    stage.run_for(ms(100));
    assert_eq!(rung.len(), 1);
    stage.run_for(ms(1));
    assert_eq!(stage.workers.numbers(), [0_u64; 0]);
}

struct Bell(Journal<()>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.note(());
    }
}

#[test]
fn a_sleep_ends_at_its_time_and_wakes_the_task_that_polled_it_last() {
    let stage = VirtualPool::new(1);
    let (first, last) = (Journal::new(), Journal::new());
    let mut sleep = pin!(stage.pool.sleep(ms(10)));
    let wakers = [&first, &last].map(|bell| Arc::new(Bell(bell.clone())).into());
    for waker in &wakers {
        assert!(sleep.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
    }
    stage.run_for(ms(9));
    assert_eq!((first.len(), last.len()), (0, 0));
    stage.run_for(ms(1));
    assert_eq!((first.len(), last.len()), (0, 1));
    assert_eq!(sleep.poll(&mut Context::from_waker(&wakers[0])), Poll::Ready(()));
}

#[test]
fn a_task_that_sleeps_holds_no_worker_and_is_finished_while_the_pool_shuts_down() {
    let stage = VirtualPool::new(1);
    let pool = stage.pool.clone();
    let sleeps = async move {
        for _ in 0..3 {
            pool.sleep(ms(10)).await;
        }
        7
    };
    let handle = stage.pool.schedule_async(Duration::ZERO, sleeps).unwrap();
    stage.run_due();
    let stats = stage.pool.stats();
    assert_eq!((stats.active, stats.suspended, stats.queued), (0, 1, 0));
    stage.pool.shutdown();
    stage.run_for(ms(29));
    assert_eq!(handle.state(), TaskState::Running);
    stage.run_for(ms(1));
    assert_eq!(handle.result_now(), Ok(7));
    assert!(stage.pool.is_terminated());
}

#[test]
fn a_sleep_that_is_dropped_leaves_nothing_and_one_in_a_pool_that_stops_is_over() {
    let stage = VirtualPool::new(1);
    drop(stage.pool.sleep(HOUR));
    assert_eq!(stage.run_due(), None);
    let bell = Journal::new();
    let waker = Arc::new(Bell(bell.clone())).into();
    let mut sleep = pin!(stage.pool.sleep(HOUR));
    assert!(sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    drop(stage.pool.shutdown_now());
    assert_eq!(bell.len(), 1);
    assert_eq!(sleep.poll(&mut Context::from_waker(&waker)), Poll::Ready(()));
}
