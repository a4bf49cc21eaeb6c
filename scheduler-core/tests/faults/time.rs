//! Faults of time (F-TI): the limits of all numeric arguments.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::kit::{
    HOUR, Journal, ManualPool, Pending, VirtualPool, capped, close, eventually, on_wall, value_of,
};
use chrono::{DateTime, TimeDelta, Utc};
use scheduler_core::time::EventCount;
use scheduler_core::trigger::{CronTrigger, Zone};
use scheduler_core::{
    Begun, Body, Clock, ManualClock, Run, ScheduledThreadPool, Stepped, SystemClock, Task, Tick,
    WallTime,
};
use scheduler_expr::CronExpression;

const DURATIONS: [Duration; 12] = [
    Duration::ZERO,
    Duration::from_nanos(1),
    Duration::from_nanos(999_999),
    Duration::from_nanos(i64::MAX as u64 - 1),
    Duration::from_nanos(i64::MAX as u64),
    Duration::from_nanos(i64::MAX as u64 + 1),
    Duration::from_nanos(u64::MAX - 1),
    Duration::from_nanos(u64::MAX),
    Duration::from_nanos(u64::MAX).saturating_add(Duration::from_nanos(1)),
    Duration::from_secs(i64::MAX as u64),
    Duration::from_secs(u64::MAX),
    Duration::MAX,
];

/// Later than anything that is reached: what is due then counts as never.
const FAR: Duration = Duration::from_nanos(i64::MAX as u64 - 1);

/// A start of the clock, near the beginning or the end of its range.
fn starts() -> [Tick; 5] {
    [0, 1, i64::MAX as u64, u64::MAX - 1_000_000, u64::MAX].map(Tick::from_nanos)
}

fn stage_at(start: Tick) -> VirtualPool {
    let stage = VirtualPool::new(2);
    stage.clock.advance_to(start);
    stage
}

/// Makes a call with every edge, on a clock at every edge.
fn at_every_edge(mut call: impl FnMut(&VirtualPool, Duration)) {
    for start in starts() {
        for duration in DURATIONS {
            call(&stage_at(start), duration);
        }
    }
}

#[test]
fn f_ti1_one_shots_at_every_edge() {
    at_every_edge(|stage, delay| {
        let handle = stage.pool.schedule(delay, || 7).unwrap();
        let future = stage.pool.schedule_async(delay, async { 7 }).unwrap();
        let left = stage.clock.now() + delay;
        assert_eq!(handle.delay(), left.since(stage.clock.now()));
        assert_eq!(stage.pool.queue()[0].delay, handle.delay());
        stage.run_due();
        // The end of time is never reached.
        let is_due = left <= stage.clock.now() && left != Tick::MAX;
        assert_eq!(handle.is_done(), is_due, "{delay:?} from {:?}", stage.clock.now());
        assert_eq!(future.is_done(), is_due, "{delay:?} from {:?}", stage.clock.now());
        stage.clock.advance(Duration::MAX);
        stage.run_due();
        assert_eq!(handle.is_done(), left != Tick::MAX);
        assert_eq!(future.is_done(), left != Tick::MAX);
        drop((handle.compare(&handle), stage.pool.shutdown_now()));
    });
}

#[test]
fn f_ti1_slack_at_every_edge() {
    at_every_edge(|at, slack| {
        let stage = VirtualPool::build(ScheduledThreadPool::builder().core_size(1).slack(slack));
        stage.clock.advance_to(at.clock.now());
        let handle = stage.pool.schedule(Duration::from_nanos(1), || 7).unwrap();
        stage.run_due();
        assert!(!handle.is_done(), "it is not due");
        stage.clock.advance(Duration::MAX);
        stage.run_due();
        assert_eq!(handle.is_done(), at.clock.now() + Duration::from_nanos(1) != Tick::MAX);
    });
}

#[test]
fn f_ti1_alarms_at_every_edge() {
    at_every_edge(|stage, after| {
        let rang = Journal::new();
        let at = stage.clock.now() + after;
        let _alarm = stage.pool.call_at(at, rang.noting(()));
        stage.run_due();
        assert_eq!(rang.len(), usize::from(after.is_zero() && at != Tick::MAX), "{after:?}");
        stage.clock.advance(Duration::MAX);
        stage.run_due();
        assert_eq!(rang.len(), usize::from(at != Tick::MAX), "{after:?}");
    });
}

#[test]
fn f_ti1_workers_of_any_number_and_refusals_of_any_count() {
    for number in [0, 1, u64::MAX - 1, u64::MAX] {
        let workers = scheduler_core::VirtualWorkers::new();
        let builder = ScheduledThreadPool::builder().core_size(1).virtual_workers(&workers);
        let pool = builder.clock(Arc::new(ManualClock::new())).build().unwrap();
        workers.refuse(number);
        let first = pool.submit(|| 7);
        assert_eq!(first.is_err_and(|error| error.is_no_thread()), number > 0, "{number} refusals");
        assert_eq!(pool.stats().pool_size, usize::from(number == 0), "{number} refusals");
        // None of these is there: the first worker has the number 1, and is refused here.
        assert!(!workers.is_woken(number));
        assert!(matches!(workers.step(number), Stepped::Left));
        assert!(matches!(workers.begin(number), Begun::Left));
        workers.refuse(0);
        let handle = pool.submit(|| 7).unwrap();
        workers.run_until_idle();
        assert!(handle.is_done(), "{number} refusals");
    }
}

#[test]
fn f_ti1_recurring_tasks_at_every_edge() {
    at_every_edge(|stage, duration| {
        let ran = Journal::new();
        let rate = Task::at_fixed_rate(duration, Body::new(ran.noting(())));
        let delay = Task::with_fixed_delay(duration, Body::new(ran.noting(())));
        for task in [rate.initial_delay(duration), delay] {
            match stage.pool.submit_task(task) {
                Ok(_) => assert!(!duration.is_zero()),
                Err(error) => assert!(error.is_argument() && duration.is_zero()),
            }
        }
        stage.run_due();
        // Short periods would have a whole clock to catch up with.
        stage.clock.advance(if duration < HOUR { duration } else { Duration::MAX });
        stage.run_due();
        assert!(ran.len() <= 4);
    });
}

#[test]
fn f_ti1_settings_at_every_edge() {
    at_every_edge(|stage, duration| {
        let pool = &stage.pool;
        pool.set_keep_alive(duration).unwrap();
        assert_eq!(pool.keep_alive(), duration);
        assert_eq!(pool.set_core_may_time_out(true).is_ok(), !duration.is_zero());
        pool.prestart_all();
        stage.run_due();
        stage.clock.advance(Duration::from_nanos(1));
        stage.run_due();
        let built =
            ScheduledThreadPool::builder().keep_alive(duration).core_may_time_out(true).build();
        assert_eq!(built.is_ok(), !duration.is_zero());
    });
    for size in [0, 1, usize::MAX - 1, usize::MAX] {
        let stage = VirtualPool::build(ScheduledThreadPool::builder().core_size(size));
        stage.pool.schedule(HOUR, || ()).unwrap();
        for next in [usize::MAX, 0, size, 1] {
            stage.pool.set_core_size(next);
            assert_eq!(stage.pool.core_size(), next);
            stage.pool.submit(|| ()).unwrap();
            stage.run_due();
        }
        assert!(stage.pool.stats().pool_size <= 10);
    }
}

#[test]
fn f_ti1_a_stack_of_any_size_is_given_or_refused() {
    for size in [0, 1, usize::MAX / 2, usize::MAX - 4095, usize::MAX - 1, usize::MAX] {
        let refusals = Journal::new();
        let noted = refusals.clone();
        let builder = ScheduledThreadPool::builder().core_size(1).stack_size(size).listener(
            move |event: &scheduler_core::Event<'_>| {
                if let scheduler_core::Event::WorkerRefused { reason, .. } = event {
                    noted.note((*reason).to_owned());
                }
            },
        );
        match builder.build() {
            Err(error) => assert!(error.is_argument(), "{size}: {error}"),
            Ok(pool) if pool.prestart() => {
                assert!(size <= 1, "{size}");
                assert_eq!(value_of(&pool.submit(|| 7).unwrap()), 7);
                close(&pool);
            }
            Ok(_) => {
                assert_eq!(refusals.len(), 1);
                assert!(
                    !refusals.entries()[0].contains("panicked"),
                    "{size}: {:?}",
                    refusals.entries()
                );
            }
        }
    }
}

#[test]
fn f_ti1_waits_at_every_edge() {
    for start in starts() {
        for limit in DURATIONS {
            let ManualPool { pool, clock } = ManualPool::new(1);
            clock.advance_to(start);
            let handle = pool.schedule(Duration::MAX, || 7).unwrap();
            let (waiting, ending) = (handle.clone(), pool.clone());
            let wait =
                Pending::start(move || (waiting.wait_for(limit), waiting.wait_done_for(limit)));
            let end = Pending::start(move || ending.await_termination(limit));
            let until = clock.now() + limit;
            if until > clock.now() {
                // No thread goes on before the limit, however far away that is.
                crate::kit::await_parked(&clock, 3);
                assert!(wait.is_blocked() && end.is_blocked());
            }
            clock.advance(Duration::MAX);
            if until != Tick::MAX || start == Tick::MAX {
                eventually("the wait is over", || !end.is_blocked());
            }
            handle.cancel();
            drop(pool.shutdown_now());
            let (first, _) = wait.join();
            assert!(first.unwrap_err().to_string().contains("the task was"));
            end.join();
        }
    }
}

#[test]
fn f_ti1_limits_at_every_edge() {
    for limit in DURATIONS {
        let ManualPool { pool, .. } = ManualPool::new(2);
        let calling = pool.clone();
        let all = capped(move || calling.invoke_all_for([|| 1, || 2], limit)).unwrap();
        assert!(all.iter().all(scheduler_core::TaskHandle::is_done));
        let calling = pool.clone();
        match capped(move || calling.invoke_any_for([|| 1, || 2], limit)) {
            Ok(value) => assert!([1, 2].contains(&value)),
            Err(error) => assert!(error.is_timeout() && limit.is_zero(), "{limit:?}: {error}"),
        }
        let limited = pool.submit_with_timeout(limit, || 7).unwrap();
        let waiting = limited.clone();
        match capped(move || waiting.wait()) {
            Ok(value) => assert!(value == 7 && !limit.is_zero()),
            Err(error) => assert!(error.is_cancelled() && limit.is_zero(), "{limit:?}: {error}"),
        }
        let sleeping = pool.submit(move || Run::current().expect("a run").sleep(limit)).unwrap();
        let asleep = sleeping.clone();
        if limit.is_zero() {
            assert!(capped(move || asleep.wait()).unwrap().is_ok());
        } else {
            assert!(sleeping.wait_for(Duration::ZERO).is_err() && sleeping.cancel_now());
        }
        close(&pool);
    }
}

#[test]
fn f_ti1_waits_on_the_clock_of_the_system_at_every_edge() {
    let clock = SystemClock::new();
    for limit in DURATIONS {
        let gate = Arc::new(EventCount::new());
        let (seen, waiting) = (gate.epoch(), Arc::clone(&gate));
        let wait = Pending::start(move || clock.wait(&waiting, seen, Some(clock.now() + limit)));
        gate.open();
        wait.join();
    }
    let pool = ScheduledThreadPool::new(1);
    for delay in DURATIONS.into_iter().filter(|delay| *delay >= FAR) {
        let handle = pool.schedule(delay, || ()).unwrap();
        let waiting = handle.clone();
        let wait = Pending::start(move || waiting.wait_for(delay));
        assert!(handle.delay() > Duration::from_secs(100 * 365 * 86_400));
        assert!(handle.cancel());
        assert!(wait.join().unwrap_err().is_cancelled());
    }
    close(&pool);
}

/// The edges of the wall clock, first to last.
fn instants() -> Vec<DateTime<Utc>> {
    let at = |seconds| DateTime::from_timestamp(seconds, 0).expect("in range");
    let (first, last) = (DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC);
    let (min, max) = (WallTime::MIN.to_utc(), WallTime::MAX.to_utc());
    let nano = TimeDelta::nanoseconds(1);
    vec![first, min + nano, at(-1), at(0), at(1), max - nano, max, last]
}

#[test]
fn f_ti1_instants_of_timers_and_of_the_wall_clock_at_every_edge() {
    for wall in instants() {
        for start in starts() {
            let clock = ManualClock::at(wall);
            clock.advance_to(start);
            check_timers(&clock);
        }
    }
}

#[test]
fn f_ti1_zones_at_every_edge() {
    for zone in [Zone::UTC, "America/New_York".parse().unwrap()] {
        let expression: CronExpression = "0 30 1,2 * * *".parse().unwrap();
        let trigger = CronTrigger::new(expression, zone);
        for from in instants() {
            let offset = zone.offset_at(from).local_minus_utc();
            assert!(offset.abs() <= 16 * 3_600, "{from}: {offset}");
            assert_eq!(zone.local(from), from);
            for until in instants() {
                let clash = trigger.clash_between(from, until);
                assert!(clash.is_none_or(|clash| from <= clash.at() && clash.at() <= until));
                assert!(clash.is_none() || zone != Zone::UTC);
            }
        }
    }
}

/// Returns true if a clock at `wall` has reached an instant; the end of time, and what lies beyond, is never reached.
fn is_reached(at: DateTime<Utc>, wall: DateTime<Utc>) -> bool {
    let at = WallTime::from(at);
    at != WallTime::MAX && at <= WallTime::from(wall)
}

/// Instants are served one after the other, as far as the clock has come, and none is lost when it is set.
fn check_timers(clock: &ManualClock) {
    let workers = scheduler_core::VirtualWorkers::new();
    let builder = ScheduledThreadPool::builder().core_size(1).clock(Arc::new(clock.clone()));
    let pool = builder.virtual_workers(&workers).build().unwrap();
    let ran = Journal::new();
    let next = |_, last: Option<DateTime<Utc>>| {
        instants().into_iter().find(|at| last.is_none_or(|last| WallTime::from(*at) > last.into()))
    };
    let timer = on_wall(&pool, clock, next, ran.noting(()));
    let other = pool.schedule(HOUR, || ()).unwrap();
    let reached: BTreeSet<WallTime> =
        instants().into_iter().filter(|at| is_reached(*at, clock.wall())).map(Into::into).collect();
    workers.run_until_idle();
    assert_eq!(ran.len(), reached.len(), "at {}", clock.wall());
    assert!(timer.due().is_some(), "the end of time is never reached");
    for step in [TimeDelta::MIN, TimeDelta::MAX, TimeDelta::zero()] {
        clock.step_wall(step);
        workers.run_until_idle();
        drop((other.delay(), pool.queue(), timer.due()));
    }
    clock.suspend(Duration::MAX);
    clock.advance(Duration::MAX);
    workers.run_until_idle();
    drop(pool.shutdown_now());
}

#[test]
fn f_ti1_clocks_and_ticks_at_every_edge() {
    for wall in instants() {
        for duration in DURATIONS {
            let clock = ManualClock::at(wall);
            for _ in 0..3 {
                clock.advance(duration);
                clock.suspend(duration);
            }
            let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
            assert_eq!(clock.now().as_nanos(), nanos.saturating_mul(3));
            assert!(WallTime::from(clock.wall()) >= WallTime::from(wall));
        }
    }
}
