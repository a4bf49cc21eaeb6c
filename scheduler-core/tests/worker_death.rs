//! A worker whose thread dies is replaced.
//!
//! Of all user code only a clock that panics can kill one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use scheduler_core::time::{Epoch, EventCount};
use scheduler_core::{
    Clock, Due, Event, Fire, Fired, ManualClock, Now, Run, ScheduledThreadPool, Tick, Timer,
    VirtualWorkers,
};

use crate::kit::HOUR;
use crate::timers::{Told, arm, probe_with};

/// A clock that panics once: at a wait, or when it is asked what time it is.
#[derive(Debug, Default)]
struct Trap {
    clock: ManualClock,
    is_set: AtomicBool,
    /// Panics when it is asked for the time for the so manieth time; zero for never.
    set_for: AtomicUsize,
}

impl Trap {
    fn spring(&self) -> bool {
        let one_less = |left: usize| left.checked_sub(1);
        self.set_for.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less) == Ok(1)
    }
}

impl Clock for Trap {
    fn now(&self) -> Tick {
        assert!(!self.spring(), "the trap");
        self.clock.now()
    }

    fn wall(&self) -> DateTime<Utc> {
        self.clock.wall()
    }

    fn wait(&self, gate: &Arc<EventCount>, seen: Epoch, until: Option<Tick>) {
        assert!(!self.is_set.swap(false, Ordering::SeqCst), "the trap");
        self.clock.wait(gate, seen, until);
    }
}

/// A pool with one worker, its clock, and the numbers of the workers that started and died.
fn stage() -> (ScheduledThreadPool, Arc<Trap>, mpsc::Receiver<(&'static str, u64)>) {
    let (trap, (tell, told)) = (Arc::new(Trap::default()), mpsc::channel());
    let builder = ScheduledThreadPool::builder().core_size(1).clock(Arc::clone(&trap) as Arc<_>);
    let pool = builder.listener(move |event: &Event<'_>| match event {
        Event::WorkerStarted { worker } => drop(tell.send(("started", *worker))),
        Event::WorkerRefused { worker, reason } => {
            let dead = if *reason == "the worker's thread has died" { "died" } else { "refused" };
            let _ = tell.send((dead, *worker));
        }
        _ => {}
    });
    (pool.build().unwrap(), trap, told)
}

fn next(told: &mpsc::Receiver<(&'static str, u64)>) -> (&'static str, u64) {
    told.recv_timeout(Duration::from_secs(60)).expect("something becomes of a worker")
}

/// Waits until the first worker has died; another may have begun before it tells of that.
fn await_death(told: &mpsc::Receiver<(&'static str, u64)>) {
    while next(told) != ("died", 1) {}
}

#[test]
fn a_worker_that_dies_is_replaced_and_the_tasks_run_on() {
    let (pool, trap, told) = stage();
    trap.is_set.store(true, Ordering::SeqCst);
    let handle = pool.schedule(Duration::from_millis(10), || 42).unwrap();
    trap.clock.await_parked(1);
    assert_eq!(pool.stats().pool_size, 1);
    trap.clock.advance(Duration::from_millis(10));
    assert_eq!(handle.wait_for(Duration::from_secs(10)).unwrap(), 42);
    pool.close().unwrap();
    // The one that dies tells of it when the other may have begun.
    let mut became = [next(&told), next(&told), next(&told)];
    became.sort_unstable();
    assert_eq!(became, [("died", 1), ("started", 1), ("started", 2)]);
}

#[test]
fn a_worker_that_dies_when_nothing_waits_is_replaced_when_something_comes() {
    let (pool, trap, told) = stage();
    trap.is_set.store(true, Ordering::SeqCst);
    assert!(pool.prestart());
    assert_eq!([next(&told), next(&told)], [("started", 1), ("died", 1)]);
    assert_eq!(pool.stats().pool_size, 0);
    assert!(told.try_recv().is_err(), "there is nothing to do for another");
    assert_eq!(pool.submit(|| 42).unwrap().wait().unwrap(), 42);
    assert_eq!(next(&told), ("started", 2));
}

#[test]
fn a_run_whose_worker_dies_is_over() {
    let (pool, trap, told) = stage();
    let set = Arc::clone(&trap);
    let handle = pool.submit(move || set.set_for.store(1, Ordering::SeqCst)).unwrap();
    assert_eq!([next(&told), next(&told)], [("started", 1), ("died", 1)]);
    assert!(handle.is_cancelled());
    assert_eq!(pool.stats().active, 0);
    assert_eq!(pool.submit(|| 42).unwrap().wait().unwrap(), 42);
    pool.close().unwrap();
    assert_eq!((pool.stats().active, pool.stats().tasks), (0, 1));
}

/// The clock tells when the run is over.
#[test]
fn a_recurring_task_whose_worker_dies_after_its_run_is_cancelled() {
    let (pool, trap, told) = stage();
    let set = Arc::clone(&trap);
    let body = move || set.set_for.store(1, Ordering::SeqCst);
    let handle = pool.schedule_at_fixed_rate(Duration::ZERO, HOUR, body).unwrap();
    assert_eq!([next(&told), next(&told)], [("started", 1), ("died", 1)]);
    assert!(handle.is_cancelled());
    assert_eq!((pool.stats().active, pool.stats().queued), (0, 0));
    assert_eq!(pool.submit(|| 42).unwrap().wait().unwrap(), 42);
    pool.close().unwrap();
}

/// Then the clock tells its worker how long to wait.
#[test]
fn a_recurring_task_whose_worker_dies_as_it_is_about_to_wait_goes_on() {
    let (pool, trap, told) = stage();
    let (set, (tell, ran)) = (Arc::clone(&trap), mpsc::channel());
    let mut readings = 2;
    let body = move || {
        set.set_for.store(std::mem::take(&mut readings), Ordering::SeqCst);
        tell.send(()).unwrap();
    };
    let handle = pool.schedule_at_fixed_rate(Duration::ZERO, HOUR, body).unwrap();
    await_death(&told);
    trap.clock.await_parked(1);
    assert_eq!((pool.stats().active, pool.stats().queued), (0, 1));
    trap.clock.advance(HOUR);
    assert_eq!([ran.recv(), ran.recv()], [Ok(()), Ok(())]);
    assert!(!handle.is_done());
    pool.close().unwrap();
}

#[test]
fn the_call_of_an_alarm_whose_worker_dies_is_over() {
    let (pool, trap, told) = stage();
    let set = Arc::clone(&trap);
    let call = move || set.set_for.store(1, Ordering::SeqCst);
    let _alarm = pool.call_at(Tick::ZERO, call);
    assert_eq!([next(&told), next(&told)], [("started", 1), ("died", 1)]);
    assert_eq!((pool.stats().active, pool.stats().pool_size), (0, 0));
    assert_eq!(pool.submit(|| 42).unwrap().wait().unwrap(), 42);
    pool.close().unwrap();
    assert_eq!(pool.stats().active, 0);
}

/// The clock tells when the poll begins, and when the future is put back.
#[test]
fn a_pending_future_whose_worker_dies_is_cancelled() {
    let (pool, trap, told) = stage();
    let set = Arc::clone(&trap);
    let future = std::future::poll_fn(move |context| {
        set.set_for.store(1, Ordering::SeqCst);
        context.waker().wake_by_ref();
        std::task::Poll::<()>::Pending
    });
    let handle = pool.schedule_async(Duration::ZERO, future).unwrap();
    await_death(&told);
    assert!(handle.is_cancelled());
    let stats = pool.stats();
    assert_eq!((stats.active, stats.queued, stats.suspended), (0, 0, 0));
    pool.close().unwrap();
}

/// The clock is asked before each timer is notified that it was set back.
#[test]
fn the_rest_of_notified_timers_is_dropped_when_their_worker_dies() {
    let (pool, trap, told) = stage();
    let timers: Vec<_> = [(); 2]
        .iter()
        .map(|()| {
            let mut probe = probe_with(|_, _| Fired::NothingToFinish);
            let set = Arc::clone(&trap);
            probe.on_set_back = Box::new(move |_, _| set.set_for.store(1, Ordering::SeqCst));
            let timer = pool.timer("springs", probe);
            arm(&timer, &trap.clock, Due::Wall(Now::read(&trap.clock).wall + HOUR));
            timer
        })
        .collect();
    trap.clock.await_parked(1);
    trap.clock.step_wall(TimeDelta::seconds(-60));
    trap.clock.advance(Duration::from_millis(500));
    await_death(&told);
    pool.shutdown();
    pool.close().unwrap();
    let mut told: Vec<Told> = timers.iter().flat_map(|timer| timer.told.entries()).collect();
    told.sort_by_key(|told| *told == Told::Dropped);
    assert!(matches!(told[..], [Told::SetBack(_), Told::Dropped]), "{told:?}");
    assert_eq!((pool.stats().queued, pool.is_terminated()), (0, true));
}

/// A virtual worker is on the thread that steps it, and that one lives on.
#[test]
fn a_thread_on_which_a_worker_died_in_a_run_is_in_no_run() {
    let (workers, trap) = (VirtualWorkers::new(), Arc::new(Trap::default()));
    let builder = ScheduledThreadPool::builder().clock(Arc::clone(&trap) as Arc<_>);
    let pool = builder.virtual_workers(&workers).build().unwrap();
    let set = Arc::clone(&trap);
    let body = move || set.set_for.store(1, Ordering::SeqCst);
    pool.schedule_at_fixed_rate(Duration::ZERO, Duration::from_secs(3_600), body).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| workers.step(1))).is_err());
    assert!(Run::current().is_none());
}

/// Arms itself again, sets the trap, and leaves something in progress.
struct Deadly {
    trap: Arc<Trap>,
    tell: mpsc::Sender<(&'static str, u64)>,
}

impl Fire for Deadly {
    fn fire(timer: &Arc<Timer<Self>>, run: &Run) -> Fired {
        let _ = timer.tell.send(("fired", run.number()));
        if run.number() == 1 {
            timer.arm(Due::Tick(run.started().tick), run.started()).perform();
            timer.trap.set_for.store(1, Ordering::SeqCst);
        }
        Fired::Returned
    }

    fn finish(timer: &Arc<Timer<Self>>, run: &Run, _: Now) {
        let _ = timer.tell.send(("finished", run.number()));
    }

    fn dropped(timer: &Arc<Timer<Self>>) {
        let _ = timer.tell.send(("dropped", 0));
    }
}

/// The clock is asked when the firing is to be finished.
#[test]
fn a_firing_whose_worker_dies_is_finished_and_its_timer_fires_on() {
    let (pool, trap, _) = stage();
    let (tell, told) = mpsc::channel();
    let timer = pool.timer("deadly", Deadly { trap: Arc::clone(&trap), tell });
    let now = Now::read(&trap.clock);
    timer.arm(Due::Tick(now.tick), now).perform();
    let became = [next(&told), next(&told), next(&told), next(&told)];
    assert_eq!(became, [("fired", 1), ("finished", 1), ("fired", 2), ("finished", 2)]);
    assert_eq!(pool.submit(|| 42).unwrap().wait().unwrap(), 42);
    pool.close().unwrap();
    assert!(told.try_recv().is_err(), "it was not armed at the end");
}

/// A worker asks the clock when timers have to learn that the wall clock was set back.
#[test]
fn a_timer_that_is_not_told_of_the_clock_because_a_worker_dies_is_dropped() {
    let (pool, trap, _) = stage();
    let (tell, told) = mpsc::channel();
    let timer = pool.timer("deadly", Deadly { trap: Arc::clone(&trap), tell });
    let now = Now::read(&trap.clock);
    timer.arm(Due::Wall(now.wall + Duration::from_secs(3_600)), now).perform();
    trap.clock.await_parked(1);
    trap.clock.step_wall(TimeDelta::hours(-1));
    // The worker asks once when it looks, and then for those that are notified.
    trap.set_for.store(2, Ordering::SeqCst);
    trap.clock.advance(Duration::from_millis(500));
    assert_eq!(next(&told), ("dropped", 0));
    assert_eq!(timer.due(), None);
    pool.close().unwrap();
}
