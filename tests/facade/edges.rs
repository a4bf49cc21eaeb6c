//! The edges of every number that a public function takes (F-TI1).
//!
//! Expected values are computed in numbers that are wide enough: a result that wraps, as it would without overflow checks,
//! is another value.

use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use crate::panics::panics;
use chrono::{DateTime, TimeDelta, Utc};
use scheduler::testing::*;
use scheduler::{
    ControlError, ManualClock, Pause, Pool, Run, Schedule, Scheduler, TaskState, Until,
};

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

/// The longest wait for another thread.
const CAP: Duration = Duration::from_secs(60);

/// The reading of a monotonic clock after this time since zero: it ends with its range.
fn ticked(length: Duration) -> Duration {
    length.min(Duration::from_nanos(u64::MAX))
}

/// The time that passes in a simulation whose last task is due after an hour: its end is never reached.
fn passed(length: Duration) -> Duration {
    if ticked(length) == ticked(Duration::MAX) { hours(1) } else { length }
}

/// The edges of the wall clock, which counts nanoseconds, and of `chrono`, first to last.
fn instants() -> [DateTime<Utc>; 9] {
    let nano = TimeDelta::nanoseconds(1);
    let (first, last) = (wall(i128::MIN), wall(i128::MAX));
    let (min, max) = (DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC);
    [min, first, first + nano, wall(-1), wall(0), wall(1), last - nano, last, max]
}

/// The reading of the wall clock after so many nanoseconds: it ends with its range.
fn wall(nanos: i128) -> DateTime<Utc> {
    let nanos = nanos.clamp(i64::MIN.into(), i64::MAX.into());
    DateTime::from_timestamp_nanos(i64::try_from(nanos).expect("clamped"))
}

fn nanos(instant: DateTime<Utc>) -> i128 {
    i128::from(instant.timestamp()) * 1_000_000_000 + i128::from(instant.timestamp_subsec_nanos())
}

fn length(duration: Duration) -> i128 {
    i128::try_from(duration.as_nanos()).expect("fewer than 2^127")
}

fn sim(start: DateTime<Utc>, schedule: Schedule) -> Sim {
    Sim::at(start).define("work", schedule, |_| {})
}

fn today() -> DateTime<Utc> {
    moment("2026-01-01T00:00:00Z").instant()
}

#[test]
fn f_ti1_time_of_a_simulation_at_every_edge() {
    for start in instants() {
        for by in DURATIONS {
            let mut sim = sim(start, Schedule::once("1h"));
            let begin = nanos(wall(nanos(start)));
            sim.advance(by);
            let passed = passed(by);
            assert_eq!(sim.elapsed(), passed, "{by:?} from {start}");
            assert_eq!(sim.now().instant(), wall(begin + length(passed)), "{by:?} from {start}");
            sim.jump_wall_forward(by);
            sim.suspend(by);
            sim.jump_wall_back(by);
            sim.run_until_idle_or(by);
            assert!(sim.elapsed() >= passed && sim.starts("work").len() <= 1);
        }
    }
}

#[test]
fn f_ti1_the_wall_clock_of_a_simulation_is_set_at_every_edge() {
    for start in instants() {
        for by in DURATIONS {
            // A jump is a `TimeDelta`, whose range is wider than the clock's.
            let begin = nanos(wall(nanos(start)));
            let stage = || sim(start, Schedule::once("1h"));
            let mut forward = stage();
            forward.jump_wall_forward(by);
            assert_eq!(forward.now().instant(), wall(begin + length(by)), "{by:?} from {start}");
            let mut suspended = stage();
            suspended.suspend(by);
            assert_eq!(suspended.now(), forward.now());
            assert_eq!(suspended.elapsed(), Duration::ZERO);
            let mut back = stage();
            back.jump_wall_back(by);
            assert_eq!(back.now().instant(), wall(begin - length(by)), "{by:?} before {start}");
        }
        for to in instants() {
            let mut sim = sim(start, Schedule::once("1h"));
            let now = sim.now().instant();
            if to < now {
                panics("is past", || sim.advance_to(to));
            } else {
                sim.advance_to(to);
                let left = (to - now).to_std().expect("it is not past");
                assert_eq!(sim.elapsed(), passed(left), "from {now} to {to}");
            }
        }
    }
}

#[test]
fn f_ti1_lengths_of_runs_and_of_sleeps_at_every_edge() {
    for takes in DURATIONS {
        let mut sim = sim(today(), Schedule::once("0s"));
        sim.takes("work", takes);
        sim.takes_each("work", [takes]);
        sim.advance(hours(1));
        assert_eq!(sim.outcomes("work").len(), usize::from(takes < hours(1)), "{takes:?}");

        let body = move |run: Run| run.sleep_async(takes);
        let sim = Sim::at(today()).define_async("sleeps", Schedule::once("0s"), body);
        let mut sim = sim.pool_size(1).seed(u64::MAX);
        sim.advance(takes.saturating_sub(Duration::from_nanos(1)));
        assert_eq!(sim.outcomes("sleeps").len(), usize::from(takes.is_zero()), "{takes:?}");
        sim.advance(Duration::from_nanos(1));
        // The end of time is never reached.
        let is_over = takes < Duration::from_nanos(u64::MAX);
        assert_eq!(sim.outcomes("sleeps").len(), usize::from(is_over), "{takes:?}");
    }
    assert_eq!([minutes, hours, days].map(|of| of(u64::MAX)), [secs(u64::MAX); 3]);
    assert_eq!(millis(u64::MAX), Duration::from_millis(u64::MAX));
}

#[test]
fn f_ti1_lengths_of_schedules_at_every_edge() {
    let check = |schedule: Schedule, first: Option<Duration>, text: &str| {
        let builder =
            Scheduler::builder().tasks(scheduler::tasks![]).task("work", schedule.clone(), |_| {});
        match (check_wiring(builder), first) {
            (Ok(()), Some(first)) => {
                let expected = nanos(today()) + length(ticked(first));
                match sim(today(), schedule).snapshot("work").next {
                    Some(next) => assert_eq!(next, wall(expected), "{text}"),
                    // A time beyond the clock's range is never reached.
                    None => assert!(expected > i64::MAX.into(), "{text}"),
                }
            }
            (Ok(()), None) => {}
            (Err(error), _) => assert!(error.to_string().contains("`work`"), "{text}: {error}"),
        }
    };
    for length in DURATIONS {
        let text = format!("{length:?}");
        check(Schedule::once(length), Some(length), &text);
        check(Schedule::fixed_rate(length), Some(Duration::ZERO), &text);
        check(Schedule::fixed_delay(length), Some(Duration::ZERO), &text);
        check(Schedule::fixed_rate("1s").initial_delay(length), Some(length), &text);
        check(Schedule::fixed_rate("1h").jitter(length), None, &text);
        check(Schedule::fixed_rate("1h").timeout(length), Some(Duration::ZERO), &text);
        let retried = Schedule::fixed_rate("1h").retry(u32::MAX, length, length);
        check(retried, Some(Duration::ZERO), &text);
    }
}

#[test]
fn f_ti1_fire_times_are_asked_for_at_every_edge() {
    let rate = schedule_of(Schedule::fixed_rate("1h"));
    let yearly = schedule("0 0 0 1 1 *");
    let once = schedule_of(Schedule::once("1h"));
    for from in instants() {
        // The next fire time, or the panic of a schedule that has none.
        let next = |of: &ScheduleOf| {
            let asked = std::panic::AssertUnwindSafe(|| of.next_after(from).instant());
            std::panic::catch_unwind(asked)
                .map_err(|payload| *payload.downcast::<String>().expect("it says what is wrong"))
        };
        for of in [&rate, &yearly, &once] {
            match next(of) {
                Ok(at) => assert!(at > from, "{at} after {from}"),
                Err(said) => assert!(said.contains("has no fire time after"), "{said}"),
            }
        }
        let hour = from.checked_add_signed(TimeDelta::hours(1));
        let first = once.clone().from(from).take(usize::MAX);
        assert!(first.instants().into_iter().all(|at| Some(at) == hour), "{first:?} from {from}");
        assert_eq!(rate.clone().from(from).take(0).len(), 0);
        let few = rate.clone().from(from).take(2).instants();
        assert!(few.first().is_none_or(|first| *first == from), "{few:?} from {from}");
        for until in instants() {
            let between = once.between(from, until).instants();
            assert!(between.iter().all(|at| Some(*at) == hour && *at < until), "{between:?}");
            let yearly = yearly.clone().from(until).between(from, from);
            assert_eq!(yearly.len(), 0);
        }
    }
    for number in [0, 2, usize::MAX] {
        panics("there are 1 annotations", || drop(rate.clone().annotation(number)));
    }
}

#[test]
fn f_ti1_a_pause_ends_at_every_edge() {
    for until in instants() {
        let mut sim = sim(today(), Schedule::fixed_rate("1000d"));
        sim.advance(secs(1));
        sim.control("work").pause_with(&Pause::new().until(until)).unwrap();
        sim.advance(secs(1));
        let is_paused = |sim: &Sim| matches!(sim.snapshot("work").state, TaskState::Paused);
        let now = sim.now().instant();
        assert_eq!(is_paused(&sim), until > now, "until {until}");
        sim.advance(days(100 * 365));
        assert_eq!(is_paused(&sim), until > sim.now().instant(), "until {until}, a century later");
    }
}

/// A scheduler of one worker that rests, beside which a task has run once and runs no more for a while.
fn resting() -> (Scheduler, ManualClock) {
    let clock = ManualClock::new();
    let builder = Scheduler::builder().tasks(scheduler::tasks![]).pool_size(1).seed(u64::MAX);
    let builder = builder.clock(Arc::new(clock.clone())).zone("UTC").messages(|_| {});
    let scheduler = builder.task("work", Schedule::fixed_rate("36525d"), |_| {}).spawn().unwrap();
    clock.await_parked(1);
    (scheduler, clock)
}

#[test]
fn f_ti1_waits_for_runs_at_every_edge() {
    for limit in DURATIONS {
        let (scheduler, clock) = resting();
        for count in [0, 1] {
            scheduler.wait_for("work", Until::runs(count), limit).unwrap();
            scheduler.tasks().get("work").unwrap().wait_for(Until::runs(count), limit).unwrap();
        }
        let (tell, told) = mpsc::channel();
        let tasks = scheduler.tasks();
        let waiting = thread::Builder::new().spawn(move || {
            let waited: Result<(), ControlError> =
                tasks.wait_for("work", Until::runs(u64::MAX), limit);
            tell.send(waited).unwrap();
        });
        if !limit.is_zero() {
            clock.await_parked(2);
            clock.advance(ticked(limit) - Duration::from_nanos(1));
            clock.await_parked(2);
            assert!(told.try_recv().is_err(), "it waits until {limit:?} are over");
        }
        if ticked(limit) == ticked(Duration::MAX) {
            scheduler.tasks().get("work").unwrap().cancel().unwrap();
            assert!(told.recv_timeout(CAP).unwrap().unwrap_err().is_ended());
        } else {
            clock.advance(Duration::from_nanos(1));
            let error = told.recv_timeout(CAP).unwrap().unwrap_err();
            assert!(error.is_too_late() && error.to_string().contains("18446744073709551615"));
        }
        waiting.unwrap().join().unwrap();
        scheduler.shutdown().unwrap();
    }
}

#[test]
fn f_ti1_settings_of_a_scheduler_at_every_edge() {
    for size in [0, 1, usize::MAX - 1, usize::MAX] {
        for pool in [None, Some(Pool::new().size(size))] {
            let said = Arc::new(Mutex::new(Vec::new()));
            let lines = Arc::clone(&said);
            let builder = Scheduler::builder().tasks(scheduler::tasks![]);
            let builder = builder.messages(move |text| lines.lock().unwrap().push(text.to_owned()));
            let builder = match pool {
                None => builder.pool_size(size),
                Some(pool) => builder.pool("other", pool),
            };
            // Started it would start as many threads.
            match check_wiring(builder) {
                Ok(()) => assert_ne!(size, 0),
                Err(error) => assert!(error.to_string().contains(&size.to_string()), "{error}"),
            }
        }
    }
    for limit in DURATIONS {
        let clock = ManualClock::new();
        let builder = Scheduler::builder().tasks(scheduler::tasks![]).clock(Arc::new(clock));
        let builder = builder.messages(|_| {}).await_termination(limit).seed(0);
        let scheduler = builder.task("later", Schedule::once("1h"), |_| {}).spawn().unwrap();
        // Its threads may not have ended yet when the time is over; that is no fault.
        scheduler.shutdown().unwrap();
    }
}
