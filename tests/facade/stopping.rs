//! Stops by the scheduler's own tasks, and drops at the end.

use std::fmt;
use std::fmt::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use crate::said::builder;
use scheduler::{Event, EventKind, Pool, Run, Schedule, Scheduler, TaskControl, Tasks, Until};

/// Far longer than anything takes here.
const LIMIT: Duration = Duration::from_secs(60);

/// A body that says that it has begun, and ends when it is asked to.
fn until(begun: mpsc::Sender<()>, end: Receiver<()>) -> impl Fn(&Run) + Send + Sync + 'static {
    let end = Mutex::new(end);
    move |_: &Run| {
        begun.send(()).unwrap();
        end.lock().unwrap().recv().unwrap();
    }
}

#[test]
fn a_task_that_shuts_its_scheduler_down_is_told_so_and_the_others_end_by_themselves() {
    for limit in [LIMIT, Duration::MAX] {
        let (builder, said) = builder();
        let ((begin, begun), (end, ending)) = (mpsc::channel(), mpsc::channel());
        let (tell, told) = mpsc::channel();
        let (events, heard) = mpsc::channel();
        let place = Arc::new(Mutex::new(None::<Scheduler>));
        let own = Arc::clone(&place);
        let never = || Schedule::fixed_rate("1h").initial_delay("1h");
        let scheduler = builder
            .await_termination(limit)
            .listener(move |event: &Event| drop(events.send(event.clone())))
            .task("other", Schedule::once("0s"), until(begin, ending))
            .task("ends it", never(), move |_| {
                let scheduler = own.lock().unwrap().take().unwrap();
                tell.send(scheduler.shutdown().unwrap_err()).unwrap();
            })
            .spawn()
            .unwrap();
        begun.recv_timeout(LIMIT).unwrap();
        let ends_it = scheduler.tasks().get("ends it").unwrap();
        *place.lock().unwrap() = Some(scheduler);
        ends_it.run_now().unwrap();
        let error = told.recv_timeout(LIMIT).unwrap();
        assert!(error.is_inside_task(), "{error}");
        assert_eq!(error.running(), ["ends it"]);
        assert!(error.to_string().contains("shut it down in main"), "{error}");
        end.send(()).unwrap();
        let outcomes: Vec<_> = heard
            .iter()
            .take_while(|event| !matches!(event.kind, EventKind::SchedulerStopped { .. }))
            .filter_map(|event| match &event.kind {
                EventKind::RunFinished { outcome, .. } => Some(outcome.name().to_owned()),
                _ => None,
            })
            .collect();
        assert_eq!(outcomes, ["success", "success"]);
        assert!(said.lock().unwrap().len() < 20, "{said:?}");
    }
}

#[test]
fn a_run_that_the_stop_cuts_off_is_named_in_a_warning() {
    let (builder, said) = builder();
    let (begin, begun) = mpsc::channel();
    let scheduler = builder
        .await_termination(Duration::ZERO)
        .task_async("poll", Schedule::once("0s"), move |_| {
            let begin = begin.clone();
            async move {
                begin.send(()).unwrap();
                std::future::pending::<()>().await;
            }
        })
        .spawn()
        .unwrap();
    begun.recv_timeout(LIMIT).unwrap();
    let error = scheduler.shutdown().unwrap_err();
    assert_eq!(error.running(), ["poll"]);
    let said = said.lock().unwrap().join("\n");
    assert!(
        said.contains("WARN  did not finish within 0s and was cancelled: 1 running task (`poll`, "),
        "{said}"
    );
    assert!(!said.contains("ERROR"), "{said}");
}

/// Begins a run, once, when it is woken.
struct Begins {
    task: Mutex<Option<TaskControl>>,
    begun: Mutex<Receiver<()>>,
}

impl Wake for Begins {
    fn wake(self: Arc<Self>) {
        let Some(task) = self.task.lock().unwrap().take() else { return };
        task.run_now().unwrap();
        self.begun.lock().unwrap().recv_timeout(LIMIT).unwrap();
    }
}

/// The task of the first pool ends with its pool, and wakes its waiter then: the second pool still runs.
#[test]
fn the_end_of_a_run_that_begins_while_its_scheduler_is_dropped_is_heard() {
    let (builder, _said) = builder();
    let ((begin, begun), (end, ending)) = (mpsc::channel(), mpsc::channel());
    let (events, heard) = mpsc::channel();
    let hourly = |pool| Schedule::fixed_rate("1h").initial_delay("1h").pool(pool);
    let scheduler = builder
        .pool("a", Pool::new().size(1))
        .pool("z", Pool::new().size(1))
        .listener(move |event: &Event| drop(events.send(event.clone())))
        .task("first", hourly("a"), |_| {})
        .task("late", hourly("z"), until(begin, ending))
        .spawn()
        .unwrap();
    let first = scheduler.tasks().get("first").unwrap();
    let late = Mutex::new(Some(scheduler.tasks().get("late").unwrap()));
    let waker = Waker::from(Arc::new(Begins { task: late, begun: Mutex::new(begun) }));
    let mut waiting = Box::pin(first.wait_for_async(Until::runs(1)));
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    drop(scheduler);
    end.send(()).unwrap();
    let is_end = |event: Event| {
        matches!(event.kind, EventKind::RunFinished { .. }) && event.task_name() == Some("late")
    };
    assert!(heard.iter().any(is_end), "the listener hears the end of the run");
}

#[test]
fn a_removed_task_whose_run_is_cut_off_is_heard_to_end() {
    let (builder, _said) = builder();
    let ((begin, begun), (events, heard)) = (mpsc::channel(), mpsc::channel());
    let scheduler = builder
        .await_termination(Duration::ZERO)
        .listener(move |event: &Event| drop(events.send(event.clone())))
        .task_async("poll", Schedule::once("0s"), move |_| {
            let begin = begin.clone();
            async move {
                begin.send(()).unwrap();
                std::future::pending::<()>().await;
            }
        })
        .spawn()
        .unwrap();
    begun.recv_timeout(LIMIT).unwrap();
    scheduler.tasks().remove("poll").unwrap();
    drop(scheduler);
    let ends = heard.iter().filter(|event| matches!(event.kind, EventKind::TaskEnded { .. }));
    assert_eq!(ends.count(), 1);
}

#[test]
fn listeners_are_dropped_when_the_scheduler_is_over_although_its_tasks_are_still_held() {
    let (builder, _said) = builder();
    let (events, heard) = mpsc::channel();
    let scheduler = builder
        .listener(move |event: &Event| drop(events.send(event.clone())))
        .task("hourly", Schedule::fixed_rate("1h").initial_delay("1h"), |_| {})
        .spawn()
        .unwrap();
    let (tasks, task) = (scheduler.tasks(), scheduler.tasks().get("hourly").unwrap());
    scheduler.shutdown().unwrap();
    let last = loop {
        match heard.recv_timeout(LIMIT) {
            Ok(_) => {}
            Err(why) => break why,
        }
    };
    assert_eq!(last, RecvTimeoutError::Disconnected);
    assert!(task.snapshot().state.is_ended());
    assert!(tasks.list().is_empty());
    let error = tasks.add("late", Schedule::fixed_rate("1h"), |_| {}).unwrap_err();
    assert!(error.is_stopping(), "{error}");
}

#[test]
fn a_listener_that_keeps_the_tasks_keeps_no_thread_when_the_scheduler_is_over() {
    let (builder, _said) = builder();
    let kept = Arc::new(Mutex::new(None::<Tasks>));
    let (alive, over) = mpsc::channel::<()>();
    let keeping = Arc::clone(&kept);
    let listener = move |_: &Event| {
        let _ = (&keeping, &alive);
    };
    let scheduler = builder.listener(listener).spawn().unwrap();
    *kept.lock().unwrap() = Some(scheduler.tasks());
    drop(kept);
    scheduler.shutdown().unwrap();
    assert_eq!(over.recv_timeout(LIMIT), Err(RecvTimeoutError::Disconnected));
}

#[test]
fn a_scheduler_that_is_dropped_during_its_first_run_has_run_something() {
    let (builder, said) = builder();
    let ((begin, begun), (end, ending)) = (mpsc::channel(), mpsc::channel());
    let scheduler = builder.task("x", Schedule::once("0s"), until(begin, ending)).spawn().unwrap();
    begun.recv_timeout(LIMIT).unwrap();
    drop(scheduler);
    end.send(()).unwrap();
    let said = said.lock().unwrap().join("\n");
    assert!(!said.contains("before any task ran"), "{said}");
}

/// Looks at the tasks whenever something is written.
struct Curious<'a>(&'a Tasks, usize);

impl Write for Curious<'_> {
    fn write_str(&mut self, _: &str) -> fmt::Result {
        self.1 += self.0.list().len();
        Ok(())
    }
}

#[test]
fn whoever_writes_the_tasks_down_may_look_at_them() {
    let (builder, _said) = builder();
    let hourly = Schedule::fixed_rate("1h").initial_delay("1h");
    let scheduler = builder.task("hourly", hourly, |_| {}).spawn().unwrap();
    let tasks = scheduler.tasks();
    let mut curious = Curious(&tasks, 0);
    write!(curious, "{tasks:?}").unwrap();
    assert!(curious.1 > 0);
    scheduler.shutdown().unwrap();
}
