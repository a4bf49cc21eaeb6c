//! Results of bodies, access to values, and the way from a body to its pool.

use std::time::Duration;

use crate::kit::{HOUR, Journal, VirtualPool, ms};
use scheduler_core::{Error, Run, ScheduledThreadPool, Task, TaskHandle, TaskState, fallible};

type Parsed = Result<u32, std::num::ParseIntError>;

fn parse(text: &'static str) -> impl FnOnce() -> Parsed + Send {
    move || text.parse()
}

#[test]
fn a_result_is_a_value_unless_the_body_is_fallible() {
    type Submit<T> = fn(&ScheduledThreadPool, &'static str) -> Result<TaskHandle<T>, Error>;
    const PLAIN: [Submit<Parsed>; 5] = [
        |pool, text| pool.submit(parse(text)),
        |pool, text| pool.schedule(ms(1), parse(text)),
        |pool, text| pool.submit_with_timeout(HOUR, parse(text)),
        |pool, text| pool.schedule_async(ms(1), async move { parse(text)() }),
        |pool, text| pool.submit_task(Task::once(parse(text))),
    ];
    const FALLIBLE: [Submit<u32>; 6] = [
        |pool, text| pool.submit(fallible(parse(text))),
        |pool, text| pool.schedule(ms(1), fallible(parse(text))),
        |pool, text| pool.submit_with_timeout(HOUR, fallible(parse(text))),
        |pool, text| pool.schedule_async(ms(1), fallible(async move { parse(text)() })),
        |pool, text| pool.submit_task(Task::once(fallible(parse(text)))),
        |pool, text| pool.submit_task(Task::once_async(fallible(async move { parse(text)() }))),
    ];
    let stage = VirtualPool::new(1);
    let pool = &stage.pool;
    for submit in PLAIN {
        let bad = submit(pool, "none").unwrap();
        stage.run_for(ms(1));
        assert_eq!((bad.state(), bad.result_now()), (TaskState::Completed, Ok("none".parse())));
    }
    for submit in FALLIBLE {
        let (good, bad) = (submit(pool, "7").unwrap(), submit(pool, "none").unwrap());
        stage.run_for(ms(1));
        assert_eq!(good.result_now(), Ok(7));
        let failure = bad.failure_now().unwrap();
        assert_eq!((bad.state(), failure.is_panic()), (TaskState::Failed, false));
        assert_eq!(failure.message(), "invalid digit found in string");
    }
    let rate = pool.schedule_at_fixed_rate(Duration::ZERO, HOUR, || Err::<(), _>("as planned"));
    let rate = rate.unwrap();
    stage.run_due();
    assert_eq!(rate.state(), TaskState::Failed);
}

#[test]
fn an_error_of_a_fallible_body_is_no_success_of_a_race() {
    let pool = ScheduledThreadPool::new(1);
    let race = |texts: [&'static str; 2]| pool.invoke_any(texts.map(|text| fallible(parse(text))));
    assert_eq!(race(["none", "7"]), Ok(7));
    let error = race(["none", "neither"]).unwrap_err();
    assert_eq!(error.failure().unwrap().message(), "invalid digit found in string");
    let all = pool.invoke_all(["none", "7"].map(|text| fallible(parse(text)))).unwrap();
    assert_eq!(all.iter().map(TaskHandle::state).collect::<Vec<_>>()[0], TaskState::Failed);
    assert_eq!(all[1].wait(), Ok(7));
}

#[test]
fn a_value_that_cannot_be_cloned_is_shown() {
    #[derive(Debug, PartialEq)]
    struct Unique(u8);

    let stage = VirtualPool::new(1);
    let handle = stage.pool.submit(|| Unique(7)).unwrap();
    assert!(handle.wait_done_for(Duration::ZERO).unwrap_err().is_timeout());
    stage.run_due();
    assert_eq!(*handle.wait_ref().unwrap(), Unique(7));
    assert_eq!(*handle.clone().wait_ref().unwrap(), Unique(7));
    assert_eq!(handle.wait_done_for(Duration::ZERO), Ok(()));
    let cancelled = stage.pool.schedule(HOUR, || Unique(8)).unwrap();
    assert!(cancelled.cancel());
    assert!(cancelled.wait_ref().unwrap_err().is_cancelled());
}

#[test]
fn a_body_submits_to_its_pool_and_does_not_keep_it() {
    let stage = VirtualPool::new(1);
    let VirtualPool { pool, clock, workers } = stage;
    let journal = Journal::new();
    let noted = journal.clone();
    let rate = pool.schedule_at_fixed_rate(Duration::ZERO, ms(1), move || {
        let pool = Run::current().and_then(|run| run.pool()).expect("its end lives");
        let inner = noted.clone();
        pool.execute(move || inner.note("follow-up")).map(drop)
    });
    let rate = rate.unwrap();
    workers.run_until_idle();
    assert_eq!(journal.entries(), ["follow-up"]);
    drop(pool);
    assert!(rate.is_cancelled());
    clock.advance(ms(1));
    workers.run_until_idle();
    assert_eq!((journal.len(), workers.numbers()), (1, vec![]));
}

#[test]
fn a_run_whose_pool_has_been_dropped_has_none() {
    let VirtualPool { pool, workers, .. } = VirtualPool::new(1);
    let last = pool.clone();
    let handle = pool.submit(move || {
        let before = Run::current().unwrap().pool().is_some();
        drop(last);
        (before, Run::current().unwrap().pool().is_some())
    });
    drop(pool);
    workers.run_until_idle();
    assert_eq!(handle.unwrap().result_now(), Ok((true, false)));
}

/// As "Dropping" says: to be stopped it has to be shut down.
#[test]
fn a_clone_that_a_recurring_body_has_captured_keeps_the_pool() {
    let VirtualPool { pool, clock, workers } = VirtualPool::new(1);
    let (captured, journal) = (pool.clone(), Journal::new());
    let noted = journal.clone();
    let rate = pool.schedule_at_fixed_rate(Duration::ZERO, ms(1), move || {
        noted.note(captured.core_size());
    });
    let rate = rate.unwrap();
    drop(pool);
    workers.run_until_idle();
    clock.advance(ms(1));
    workers.run_until_idle();
    assert_eq!(journal.entries(), [1, 1]);
    assert!(rate.cancel());
    workers.run_until_idle();
    assert_eq!(workers.numbers(), [0_u64; 0]);
}
