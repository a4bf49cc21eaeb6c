//! The parts of a task are dropped before its end is seen.

use std::future::{pending, ready};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::kit::{HOUR, Journal, VirtualPool, capped};
use scheduler_core::{
    Body, Event, Failure, Run, ScheduledThreadPool, ShutdownPolicy, Task, TaskHandle, TaskState,
    fallible,
};

/// A value that a body captures; when it is dropped it notes how others see its task.
struct Token {
    scene: Arc<Scene>,
}

struct Scene {
    stage: VirtualPool,
    task: OnceLock<TaskHandle<()>>,
    journal: Journal<String>,
}

impl Drop for Token {
    fn drop(&mut self) {
        let Scene { stage, task, journal } = &*self.scene;
        let Some(task) = task.get() else { return journal.note("dropped too early".to_owned()) };
        let (other, pool) = (task.clone(), stage.pool.clone());
        let seen = capped(move || {
            (other.is_done(), other.wait_done_for(Duration::ZERO), pool.stats().completed)
        });
        let (is_done, waited, completed) = seen;
        let is_pending =
            !is_done && waited.is_err_and(|error| error.is_timeout()) && completed == 0;
        let waits_here = task.wait_done().unwrap_err();
        let is_fine = is_pending && waits_here.is_deadlock() && !stage.pool.is_terminated();
        journal.note(if is_fine { "dropped" } else { "dropped too late" }.to_owned());
    }
}

type Submit = fn(&ScheduledThreadPool, Token) -> TaskHandle<()>;
type End = fn(&Arc<Scene>);

/// Submits a task that keeps a token, ends it, and looks at the order of what is seen.
fn check(name: &str, submit: Submit, end: End) {
    let journal = Journal::new();
    let heard = journal.clone();
    let builder = ScheduledThreadPool::builder()
        .core_size(1)
        .decorate_task(|_, _| Box::new(|step: &mut dyn FnMut()| step()))
        .listener(move |event: &Event<'_>| {
            if let Event::TaskEnded { state, .. } = event {
                heard.note(format!("{state:?}"));
            }
        });
    let scene = Arc::new(Scene {
        stage: VirtualPool::build(builder),
        task: OnceLock::new(),
        journal: journal.clone(),
    });
    let handle = submit(&scene.stage.pool, Token { scene: Arc::clone(&scene) });
    let told = journal.clone();
    handle.on_done(move |state| told.note(format!("told {state:?}")));
    assert!(scene.task.set(handle.clone()).is_ok());
    end(&scene);
    let state = handle.state();
    assert!(state.is_done(), "{name}: {state:?}");
    let expected = ["dropped".to_owned(), format!("told {state:?}"), format!("{state:?}")];
    assert_eq!(journal.entries(), expected, "{name}");
}

fn run(scene: &Arc<Scene>) {
    scene.stage.run_due();
}

#[test]
fn a_body_is_dropped_before_a_run_ends_its_task() {
    let kinds: [(&str, Submit); 9] = [
        ("closure", |pool, token| pool.submit(move || drop(token)).unwrap()),
        ("boxed closure", |pool, token| pool.submit_task(Task::once(move || drop(token))).unwrap()),
        ("panic", |pool, token| {
            pool.submit(move || {
                let _kept = token;
                panic!("as planned")
            })
            .unwrap()
        }),
        ("fallible", |pool, token| {
            pool.submit_task(Task::once(fallible(work(token, true)))).unwrap()
        }),
        ("fallible that fails", |pool, token| {
            pool.submit_task(Task::once(fallible(work(token, false)))).unwrap()
        }),
        ("future", |pool, token| {
            let kept = async move {
                ready(&token).await;
            };
            pool.schedule_async(Duration::ZERO, kept).unwrap()
        }),
        ("failing rate", |pool, token| {
            pool.submit_task(Task::at_fixed_rate(HOUR, body(token, false))).unwrap()
        }),
        ("failing future", |pool, token| {
            let body = Body::new_async(move || {
                let _kept = &token;
                ready(Err::<(), _>("as planned"))
            });
            pool.submit_task(Task::with_fixed_delay(HOUR, body)).unwrap()
        }),
        ("panicking rate", |pool, token| {
            let body = Body::new(move || -> () {
                let _kept = &token;
                panic!("as planned");
            });
            pool.submit_task(Task::at_fixed_rate(HOUR, body)).unwrap()
        }),
    ];
    for (name, submit) in kinds {
        check(name, submit, run);
    }
}

fn body(token: Token, succeeds: bool) -> Body {
    Body::new(work(token, succeeds))
}

fn work(token: Token, succeeds: bool) -> impl FnMut() -> Result<(), &'static str> + Send {
    move || {
        let _kept = &token;
        if succeeds { Ok(()) } else { Err("as planned") }
    }
}

const WAITING: [(&str, Submit); 5] = [
    ("closure", |pool, token| pool.schedule(HOUR, move || drop(token)).unwrap()),
    ("boxed closure", |pool, token| {
        pool.submit_task(Task::once(move || drop(token)).initial_delay(HOUR)).unwrap()
    }),
    ("rate", |pool, token| {
        pool.submit_task(Task::at_fixed_rate(HOUR, body(token, true)).initial_delay(HOUR)).unwrap()
    }),
    ("future", |pool, token| {
        let kept = async move {
            ready(&token).await;
        };
        pool.schedule_async(HOUR, kept).unwrap()
    }),
    ("pending future", |pool, token| {
        let kept = async move {
            pending::<()>().await;
            drop(token);
        };
        pool.schedule_async(Duration::ZERO, kept).unwrap()
    }),
];

/// All ways in which a task ends that waits. A worker that may leave, does so while the token is dropped.
#[test]
fn a_body_is_dropped_before_a_cancellation_ends_its_task() {
    let ends: [(&str, End); 6] = [
        ("cancel", |scene| {
            run(scene);
            assert!(scene.task.get().unwrap().cancel());
        }),
        ("cancel now", |scene| {
            run(scene);
            assert!(scene.task.get().unwrap().cancel_now());
        }),
        ("shutdown now", |scene| {
            run(scene);
            drop(scene.stage.pool.shutdown_now());
        }),
        ("shutdown", |scene| {
            run(scene);
            let policy = ShutdownPolicy { execute_delayed: false, continue_recurring: false };
            scene.stage.pool.set_shutdown_policy(policy);
            scene.stage.pool.shutdown();
            drop(scene.stage.pool.shutdown_now());
        }),
        ("remove", |scene| {
            run(scene);
            let handle = scene.task.get().unwrap();
            drop(scene.stage.pool.remove(handle));
            handle.cancel();
        }),
        ("close", |scene| {
            run(scene);
            drop(scene.stage.pool.shutdown_now());
            scene.stage.run_due();
            assert!(scene.stage.pool.is_terminated());
        }),
    ];
    for (end_name, end) in ends {
        for (name, submit) in WAITING {
            check(&format!("{end_name}, {name}"), submit, end);
        }
    }
}

/// The worker leaves while the body is dropped that the shutdown cancels.
#[test]
fn a_pool_does_not_terminate_before_the_bodies_are_dropped_that_its_shutdown_cancels() {
    struct Leaves(Arc<VirtualPool>, Journal<(bool, bool)>);
    impl Drop for Leaves {
        fn drop(&mut self) {
            self.0.workers.run_until_idle();
            let closed = self.0.pool.close();
            let is_refused = closed.is_err_and(|error| error.is_deadlock());
            self.1.note((self.0.pool.is_terminated(), is_refused));
        }
    }
    let policy = ShutdownPolicy { execute_delayed: false, continue_recurring: false };
    let builder = ScheduledThreadPool::builder().core_size(1).shutdown_policy(policy);
    let (stage, journal) = (Arc::new(VirtualPool::build(builder)), Journal::new());
    for _ in 0..2 {
        let kept = Leaves(Arc::clone(&stage), journal.clone());
        stage.pool.schedule(HOUR, move || drop(kept)).unwrap();
    }
    stage.pool.shutdown();
    assert_eq!(journal.entries(), [(false, true); 2]);
    assert!(stage.pool.is_terminated() && stage.workers.numbers().is_empty());
}

/// A callback of one task may wait for another that the same shutdown cancels; a destructor gets the error that it cannot.
#[test]
fn tasks_that_one_shutdown_cancels_do_not_wait_for_each_other() {
    struct Waits(Arc<OnceLock<TaskHandle<()>>>, Journal<String>);
    impl Drop for Waits {
        fn drop(&mut self) {
            let waited = self.0.get().unwrap().wait();
            self.1.note(waited.unwrap_err().is_deadlock().to_string());
        }
    }
    let policy = ShutdownPolicy { execute_delayed: false, continue_recurring: false };
    let stage = VirtualPool::build(ScheduledThreadPool::builder().shutdown_policy(policy));
    let (other, journal) = (Arc::new(OnceLock::new()), Journal::new());
    let waits = Waits(Arc::clone(&other), journal.clone());
    let handle = stage.pool.schedule(HOUR, move || drop(waits)).unwrap();
    let (awaited, heard) = (Arc::clone(&other), journal.clone());
    handle.on_done(move |_| heard.note(format!("{:?}", awaited.get().unwrap().wait())));
    other.set(stage.pool.schedule(HOUR, || ()).unwrap()).unwrap();
    stage.pool.shutdown();
    assert_eq!(journal.entries(), ["true", "Err(the task was cancelled)"]);
}

#[test]
fn a_value_shared_with_a_task_is_the_callers_alone_after_the_wait() {
    for _ in 0..200 {
        let pool = ScheduledThreadPool::new(1);
        let shared = Arc::new(());
        let inside = Arc::clone(&shared);
        let body = move || {
            let _kept = &inside;
            Err::<(), _>("as planned")
        };
        let handle = pool.schedule_at_fixed_rate(Duration::ZERO, HOUR, body).unwrap();
        assert!(handle.wait().unwrap_err().is_failed());
        assert!(Arc::try_unwrap(shared).is_ok());
        pool.close().unwrap();
    }
}

/// The destructor of a body is part of the run, and the task can still be cancelled meanwhile.
#[test]
fn a_destructor_that_cancels_or_panics_ends_its_task_once() {
    struct Cancels(Arc<OnceLock<TaskHandle<()>>>);
    impl Drop for Cancels {
        fn drop(&mut self) {
            assert!(Run::current().is_some());
            assert!(self.0.get().unwrap().cancel());
            panic!("contained");
        }
    }
    let journal = Journal::new();
    let (events, told) = (journal.clone(), journal.clone());
    let listener = move |event: &Event<'_>| match event {
        Event::DropPanicked { failure, .. } => events.note(Failure::message(failure).to_owned()),
        Event::TaskEnded { state, .. } => events.note(format!("{state:?}")),
        _ => {}
    };
    let stage = VirtualPool::build(ScheduledThreadPool::builder().listener(listener));
    let own = Arc::new(OnceLock::new());
    let cancels = Cancels(Arc::clone(&own));
    let body = Body::new(move || {
        let _kept = &cancels;
        Err::<(), _>("as planned")
    });
    let handle = stage.pool.submit_task(Task::at_fixed_rate(HOUR, body)).unwrap();
    handle.on_done(move |state| told.note(format!("told {state:?}")));
    own.set(handle.clone()).unwrap();
    stage.run_due();
    assert_eq!(handle.state(), TaskState::Cancelled);
    assert_eq!(journal.entries(), ["told Cancelled", "contained", "Cancelled"]);
}
