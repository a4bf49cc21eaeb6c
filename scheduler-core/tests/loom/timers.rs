//! Timers armed, disarmed and fired at once, and their pool's end.

use std::sync::Arc;
use std::time::Duration;

use loom::thread;
use scheduler_core::{Due, Fire, Fired, Now, Run, ScheduledThreadPool, Tick, Timer};

use crate::kit::{Counter, HOUR, Latch, builder, models, ms, pool_at_rest, staged, stop};
use crate::times::Hand;

models! {
    l16_a_timer_that_is_armed_while_a_worker_goes_to_sleep_fires: armed;
    l16_a_timer_that_is_armed_by_the_wall_clock_fires: armed_by_the_wall;
    l16_a_timer_that_is_armed_anew_fires_at_its_new_time: armed_anew;
    l16_a_timer_that_is_disarmed_is_not_waited_for: disarmed;
    l16_a_timer_fires_beside_itself: beside_itself;
    l16_a_timer_that_is_armed_while_the_pool_closes_fires_or_is_refused: while_it_closes;
    l16_a_timer_that_is_armed_while_the_pool_stops_is_dropped_or_refused: while_it_stops;
}

/// The calls that a timer has got.
struct Bell {
    clock: Hand,
    fired: Counter,
    dropped: Counter,
    /// Opened when it fires for the time that was armed last.
    rung: Latch,
    last: Due,
    /// The first firing arms it anew, and goes on when the second one has begun.
    rings_beside_itself: bool,
}

impl Fire for Bell {
    fn fire(timer: &Arc<Timer<Self>>, run: &Run) -> Fired {
        let now = Now::read(&timer.clock);
        assert!(run.due().is_reached(now), "a timer fires early");
        timer.fired.add();
        if timer.rings_beside_itself && run.number() == 1 {
            timer.arm(timer.last, now).perform();
            timer.rung.wait();
        } else if run.due() == timer.last {
            timer.rung.open();
        }
        Fired::NothingToFinish
    }

    fn dropped(timer: &Arc<Timer<Self>>) {
        timer.dropped.add();
    }
}

fn at(millis: u64) -> Due {
    Due::Tick(Tick::ZERO + ms(millis))
}

/// A pool whose workers sleep, with a timer that is to be armed for this time in the end.
fn stage(workers: usize, last: Due) -> (ScheduledThreadPool, Hand, Arc<Timer<Bell>>) {
    let (pool, clock) = pool_at_rest(workers, builder(workers));
    let bell = Bell {
        clock: clock.clone(),
        fired: Counter::default(),
        dropped: Counter::default(),
        rung: Latch::default(),
        last,
        rings_beside_itself: workers > 1,
    };
    let timer = pool.timer("bell", bell);
    (pool, clock, timer)
}

/// Arms a timer on another thread, for the last time; returns whether it was refused.
fn arm(timer: &Arc<Timer<Bell>>) -> thread::JoinHandle<bool> {
    let timer = Arc::clone(timer);
    thread::spawn(move || {
        let wake = timer.arm(timer.last, Now::read(&timer.clock));
        let is_refused = wake.is_refused();
        wake.perform();
        is_refused
    })
}

/// Ends a pool in which no timer is armed, and where each firing is counted.
fn end(pool: &ScheduledThreadPool, timer: &Timer<Bell>) {
    loom::stop_exploring();
    pool.shutdown();
    assert!(pool.await_termination(Duration::MAX));
    let completed = pool.stats().completed;
    assert_eq!((completed, pool.stats().queued), (timer.fired.get() as u64, 0), "each is counted");
}

/// Its time comes while it is armed, and the worker looks for something else.
fn armed() {
    let (pool, clock, timer) = stage(1, at(10));
    staged(|| {
        pool.schedule(ms(10), || ()).unwrap();
        clock.await_watch(ms(10));
    });
    let armer = arm(&timer);
    clock.advance(ms(10));
    timer.rung.wait();
    assert!(!armer.join().unwrap());
    stop(&pool);
}

/// The same for a time on the wall clock.
fn armed_by_the_wall() {
    let last = Due::Wall(Now::read(&Hand::new()).wall + ms(10));
    let (pool, clock, timer) = stage(1, last);
    let armer = arm(&timer);
    clock.advance(ms(10));
    timer.rung.wait();
    assert!(!armer.join().unwrap());
    stop(&pool);
}

/// The time of a timer comes while it is armed for a later one.
fn armed_anew() {
    let (pool, clock, timer) = stage(1, at(20));
    staged(|| {
        timer.arm(at(10), Now::read(&clock)).perform();
        clock.await_watch(ms(10));
    });
    let armer = arm(&timer);
    clock.advance(ms(10));
    assert!(!armer.join().unwrap());
    staged(|| {
        clock.advance(ms(10));
        timer.rung.wait();
    });
    assert!((1..=2).contains(&timer.fired.get()), "a timer fires once for each time");
    end(&pool, &timer);
}

/// The time of a timer comes while it is disarmed.
fn disarmed() {
    let (pool, clock, timer) = stage(1, at(10));
    staged(|| {
        timer.arm(at(10), Now::read(&clock)).perform();
        clock.await_watch(ms(10));
    });
    let other = {
        let timer = Arc::clone(&timer);
        thread::spawn(move || timer.disarm().perform())
    };
    clock.advance(ms(10));
    other.join().unwrap();
    assert_eq!(
        (timer.due(), pool.stats().queued),
        (None, 0),
        "a timer that is disarmed is counted"
    );
    end(&pool, &timer);
    assert!(timer.fired.get() <= 1, "a timer fires once for each time");
}

/// Two workers: one is at a firing when the next one is due.
fn beside_itself() {
    let (pool, clock, timer) = stage(2, at(1));
    timer.arm(at(0), Now::read(&clock)).perform();
    clock.advance(ms(1));
    timer.rung.wait();
    end(&pool, &timer);
    assert_eq!(timer.fired.get(), 2, "a timer fires once for each time");
}

/// A timer that is due is armed while the only worker leaves a pool that is shut down.
fn while_it_closes() {
    let (pool, _clock, timer) = stage(1, at(0));
    let armer = arm(&timer);
    pool.shutdown();
    assert!(pool.await_termination(Duration::MAX));
    let sides = [timer.fired.get(), timer.dropped.get()];
    let is_refused = armer.join().unwrap();
    assert_eq!(sides.iter().sum::<usize>() + usize::from(is_refused), 1, "one of three");
    assert_eq!(sides, [timer.fired.get(), timer.dropped.get()], "a timer is called after the end");
}

/// A timer for a later time is armed while the pool is stopped.
fn while_it_stops() {
    let (pool, _clock, timer) = stage(1, Due::Tick(Tick::ZERO + HOUR));
    let armer = arm(&timer);
    assert!(pool.shutdown_now().is_empty(), "no timer is handed out");
    assert!(pool.await_termination(Duration::MAX));
    let dropped = timer.dropped.get();
    let is_refused = armer.join().unwrap();
    assert_eq!(dropped + usize::from(is_refused), 1, "one of two");
    assert_eq!(timer.dropped.get(), dropped, "a timer is called after the end");
}
