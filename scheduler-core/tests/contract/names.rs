//! Names and numbers of tasks, runs, workers and pools.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::kit::{HOUR, Journal, VirtualPool, ms};
use scheduler_core::{
    Body, ManualClock, Run, ScheduledThreadPool, Task, VirtualWorkers, WorkerThread,
};

#[test]
fn a_handle_and_what_is_drained_tell_the_name_that_was_given() {
    let stage = VirtualPool::new(1);
    let named = Task::once(|| ()).name("report").initial_delay(HOUR);
    let named = stage.pool.submit_task(named).unwrap();
    let nameless = stage.pool.schedule(HOUR, || ()).unwrap();
    assert_eq!((named.name(), nameless.name()), (Some("report"), None));
    let drained = stage.pool.shutdown_now();
    let name_of = |id| drained.iter().find(|task| task.id() == id).expect("is drained").name();
    assert_eq!((name_of(named.id()), name_of(nameless.id())), (Some("report"), None));
}

#[test]
fn a_look_at_the_present_run_sees_what_a_share_in_it_does() {
    let (stage, seen) = (VirtualPool::new(1), Journal::new());
    let noted = seen.clone();
    let body = Body::new(move || {
        let shared = Run::current().expect("this is a task");
        let looked = Run::with_current(|run| (run.task_id(), run.number()));
        noted.note(looked == Some((shared.task_id(), shared.number())));
    });
    stage.pool.submit_task(Task::at_fixed_rate(ms(10), body)).unwrap();
    stage.run_for(ms(10));
    assert_eq!(seen.entries(), [true, true]);
    assert!(Run::with_current(|_| ()).is_none());
}

#[test]
fn a_run_that_is_asked_to_stop_by_itself_is_the_only_one() {
    let (stage, seen) = (VirtualPool::new(1), Journal::new());
    let noted = seen.clone();
    let body = Body::new(move || {
        let run = Run::current().expect("this is a task");
        let before = run.is_cancelled();
        if run.number() == 1 {
            run.ask_to_stop();
        }
        noted.note((before, run.is_cancelled()));
    });
    stage.pool.submit_task(Task::at_fixed_rate(ms(10), body)).unwrap();
    stage.run_for(ms(10));
    assert_eq!(seen.entries(), [(false, true), (false, false)]);
}

#[test]
fn a_run_inside_another_is_the_present_one_until_it_ends() {
    let (stage, seen) = (VirtualPool::new(1), Journal::new());
    let (pool, noted) = (stage.pool.clone(), seen.clone());
    let present = || Run::current().map(|run| run.task_id());
    let outer = stage.pool.submit(move || {
        let before = present();
        let drained = pool.shutdown_now();
        let noted_inside = noted.clone();
        let inner: Vec<_> = drained.iter().map(|task| task.id()).collect();
        drained.into_iter().for_each(|task| task.run());
        noted_inside.note((before, inner, present()));
    });
    let inner_seen = Journal::new();
    let noted = inner_seen.clone();
    let inner = stage.pool.schedule(HOUR, move || noted.note(present())).unwrap();
    let outer = outer.unwrap();
    stage.run_due();
    let id = Some(outer.id());
    assert_eq!(seen.entries(), [(id, vec![inner.id()], id)]);
    assert_eq!(inner_seen.entries(), [Some(inner.id())]);
    assert_eq!(present(), None);
}

#[test]
fn workers_are_numbered_from_one_and_named_after_their_pool() {
    let started = Journal::new();
    let pool = |prefix: Option<&str>| {
        let noted = started.clone();
        let builder = ScheduledThreadPool::builder().core_size(2).thread_factory(
            move |worker: WorkerThread| -> io::Result<()> {
                noted.note((worker.number(), worker.name().to_owned()));
                std::thread::Builder::new().spawn(move || worker.run()).map(drop)
            },
        );
        let builder = match prefix {
            Some(prefix) => builder.thread_name_prefix(prefix),
            None => builder,
        };
        let pool = builder.build().unwrap();
        pool.prestart_all();
        pool.shutdown();
        assert!(pool.await_termination(Duration::from_secs(60)));
    };
    pool(Some("io-"));
    assert_eq!(started.entries(), [(1, "io-1".to_owned()), (2, "io-2".to_owned())]);
    pool(None);
    pool(None);
    let names: Vec<String> = started.entries().into_iter().skip(2).map(|(_, name)| name).collect();
    let is_default = |name: &&String| {
        let number = name.strip_prefix("pool-").and_then(|rest| rest.split_once("-worker-"));
        number.is_some_and(|(pool, _)| pool.parse::<u64>().is_ok())
    };
    assert_eq!(names.iter().filter(is_default).count(), 4, "{names:?}");
    assert_ne!(names[0], names[2], "each pool has its own number");
}

#[test]
fn virtual_workers_count_their_steps() {
    let workers = VirtualWorkers::new();
    let clock = Arc::new(ManualClock::new());
    let pool = ScheduledThreadPool::builder().core_size(1).clock(clock).virtual_workers(&workers);
    let pool = pool.build().unwrap();
    assert_eq!(workers.steps(), 0);
    pool.submit(|| ()).unwrap();
    let worker = workers.numbers()[0];
    for step in 1..=3 {
        let _ = workers.step(worker);
        assert_eq!(workers.steps(), step);
    }
}

#[test]
fn a_run_that_is_copied_onto_another_is_the_same_run() {
    let (stage, runs) = (VirtualPool::new(1), Journal::new());
    for name in ["one", "other"] {
        let noted = runs.clone();
        let body = Body::new(move || noted.note(Run::current().expect("this is a task")));
        stage.pool.submit_task(Task::at_fixed_rate(ms(10), body).name(name)).unwrap();
    }
    stage.run_for(ms(10));
    let what = |run: &Run| (run.task_name().map(str::to_owned), run.number(), run.due());
    let runs = runs.entries();
    for from in &runs {
        for onto in &runs {
            let mut copy = onto.clone();
            copy.clone_from(from);
            assert_eq!((what(&copy), copy.task_id()), (what(from), from.task_id()));
        }
    }
}
