//! Firings of timers: asked to stop, panicking, continued as futures, counted.

use std::future::poll_fn;
use std::sync::{Arc, PoisonError};
use std::task::Poll;
use std::time::Duration;

use crate::kit::{HOUR, Journal, ManualPool, Mutex, VirtualPool, await_terminated, eventually, ms};
use crate::timers::{Told, arm, arm_again, begin, due, probe_with, tick, timer_with};
use scheduler_core::{
    Due, Event, Fire, Fired, Now, Run, RunState, ScheduledThreadPool, Stepped, Task, TaskHandle,
    Tick, Timer,
};

#[test]
fn ec_o6_each_firing_is_asked_to_stop_for_itself() {
    let stage = VirtualPool::new(3);
    let runs = Journal::new();
    let noted = runs.clone();
    let timer = timer_with(&stage.pool, move |timer, run| {
        noted.note(run.clone());
        arm_again(timer, run, ms(10));
        Fired::Returned
    });
    arm(&timer, &stage.clock, due(0));
    let begun = [1, 2, 3].map(|worker| {
        let run = begin(&stage, worker);
        stage.run_due();
        stage.clock.advance(ms(10));
        run
    });
    let asked = || runs.entries().iter().map(Run::is_cancelled).collect::<Vec<_>>();
    assert_eq!(asked(), [false, false, false]);
    runs.entries()[1].ask_to_stop();
    assert_eq!(asked(), [false, true, false]);
    let [first, second, third] = begun;
    second.finish();
    runs.entries()[1].ask_to_stop();
    let again = begin(&stage, 2);
    assert_eq!(asked(), [false, false, false, false], "it was for that one, and it is over");
    timer.disarm().perform();
    first.finish();
    drop(stage.pool.shutdown_now());
    assert!(runs.entries()[2].is_cancelled() && runs.entries()[3].is_cancelled());
    third.finish();
    again.finish();
    stage.run_due();
    assert!(stage.pool.is_terminated());
    runs.clear();
}

#[test]
fn ec_o6_a_firing_that_sleeps_is_woken_by_a_request_of_its_own() {
    let stage = ManualPool::new(2);
    let (runs, ended) = (Journal::new(), Journal::new());
    let (noted, noting) = (runs.clone(), ended.clone());
    let timer = timer_with(&stage.pool, move |timer, run| {
        if run.number() == 1 {
            arm_again(timer, run, Duration::ZERO);
        }
        noted.note(run.clone());
        let slept = run.sleep(HOUR);
        noting.note((run.number(), slept.unwrap_err().is_interrupted()));
        Fired::NothingToFinish
    });
    arm(&timer, &stage.clock, due(0));
    runs.await_len(2);
    stage.await_parked(2);
    let mut entries = runs.entries();
    entries.sort_by_key(Run::number);
    entries[1].ask_to_stop();
    ended.await_len(1);
    stage.await_parked(2);
    assert_eq!(ended.entries(), [(2, true)]);
    drop(stage.pool.shutdown_now());
    await_terminated(&stage.pool);
    assert_eq!(ended.entries(), [(2, true), (1, true)]);
    runs.clear();
}

/// A listener that notes all events but those of workers.
fn heard(heard: &Journal<String>) -> impl Fn(&Event<'_>) + Send + Sync + 'static {
    let heard = heard.clone();
    move |event| match event {
        Event::WorkerStarted { .. } | Event::WorkerStopped { .. } => {}
        Event::TimerPanicked { name, call, failure, .. } => {
            heard.note(format!("{name:?} {call}: {}", failure.message()));
        }
        other => heard.note(format!("{other:?}")),
    }
}

/// Panics in each call.
struct Bad;

impl Fire for Bad {
    fn fire(timer: &Arc<Timer<Self>>, run: &Run) -> Fired {
        if &**timer.name() == "finish" {
            return Fired::Returned;
        }
        panic!("fire {}", run.number())
    }

    fn finish(_: &Arc<Timer<Self>>, _: &Run, _: Now) {
        panic!("finish")
    }

    fn clock_set_back(_: &Arc<Timer<Self>>, _: Now) {
        panic!("set back")
    }

    fn dropped(_: &Arc<Timer<Self>>) {
        panic!("dropped")
    }
}

impl Drop for Bad {
    fn drop(&mut self) {
        panic!("destructor");
    }
}

#[test]
fn ec_o7_a_panic_of_a_timer_is_reported_and_hurts_no_other_timer() {
    let told = Journal::new();
    let builder = ScheduledThreadPool::builder().core_size(1).listener(heard(&told));
    let stage = VirtualPool::build(builder);
    let timers = ["fire", "finish"].map(|name| stage.pool.timer(name, Bad));
    let now = || Now::read(&stage.clock);
    for timer in &timers {
        timer.arm(due(0), now()).perform();
    }
    stage.run_due();
    assert_eq!((stage.pool.stats().active, stage.pool.stats().completed), (0, 2));
    let [timer, other] = timers;
    timer.arm(Due::Wall(now().wall + HOUR), now()).perform();
    stage.run_due();
    stage.clock.step_wall(chrono::TimeDelta::hours(-2));
    stage.run_due();
    other.arm(due(50), now()).perform();
    drop((timer, stage.pool.shutdown_now()));
    stage.run_due();
    drop(other);
    let told = told.entries();
    assert_eq!(
        told[..4],
        [
            "Some(\"fire\") fire: fire 1",
            "Some(\"finish\") finish: finish",
            "Some(\"fire\") clock_set_back: set back",
            "Some(\"finish\") dropped: dropped",
        ]
    );
    assert!(
        told.len() == 6 && told[4..].iter().all(|told| told.contains("DropPanicked")),
        "{told:?}"
    );
    assert!(stage.pool.is_terminated());
}

#[test]
fn ec_o7_a_decorator_that_panics_or_forgets_is_reported() {
    let told = Journal::new();
    let builder = ScheduledThreadPool::builder().core_size(1).listener(heard(&told));
    let builder = builder.decorate_task(|_, name| match name {
        Some("forgets") => Box::new(|_| ()),
        Some("panics after") => Box::new(|step| {
            step();
            panic!("after")
        }),
        _ => panic!("at once"),
    });
    let stage = VirtualPool::build(builder);
    let timers = ["forgets", "panics after", "panics at once"].map(|name| {
        let timer = stage.pool.timer(name, probe_with(|_, _| Fired::Returned));
        arm(&timer, &stage.clock, due(0));
        timer
    });
    stage.run_due();
    let fired = [Told::Fired(1, due(0)), Told::Finished(1, Tick::ZERO)];
    let expected = [vec![], fired.to_vec(), fired.to_vec()];
    assert_eq!(timers.map(|timer| timer.told.entries()), expected);
    let told = told.entries();
    assert!(told[0].contains("HookPanicked"), "{told:?}");
    assert_eq!(
        told[1..],
        [
            "Some(\"forgets\") fire: the decorator did not run the task",
            "Some(\"panics after\") fire: after",
        ]
    );
}

/// A future that is pending until it is dropped, and notes that.
fn pending(dropped: &Arc<()>) -> impl Future<Output = ()> + Send + 'static {
    let held = Arc::clone(dropped);
    poll_fn(move |_| {
        let _held = &held;
        Poll::<()>::Pending
    })
}

#[test]
fn ec_o8_a_firing_goes_on_as_a_future_for_which_a_pool_that_shuts_down_waits() {
    let steps = Journal::new();
    let noted = steps.clone();
    let builder = ScheduledThreadPool::builder().core_size(1).decorate_task(move |_, name| {
        let (name, noted) = (name.unwrap_or_default().to_owned(), noted.clone());
        Box::new(move |step| {
            noted.note(name.clone());
            step();
        })
    });
    let stage = VirtualPool::build(builder);
    let (handles, waker) = (Journal::new(), Arc::new(Mutex::new(None)));
    let (kept, woken) = (handles.clone(), Arc::clone(&waker));
    let timer = timer_with(&stage.pool, move |_, run| {
        let (woken, mut polls) = (Arc::clone(&woken), 0);
        let future = poll_fn(move |context| {
            polls += 1;
            *woken.lock().unwrap_or_else(PoisonError::into_inner) = Some(context.waker().clone());
            if polls == 2 { Poll::Ready(()) } else { Poll::Pending }
        });
        kept.note(run.continue_as(Task::once_async(future).name("rest").initial_delay(HOUR)));
        Fired::NothingToFinish
    });
    arm(&timer, &stage.clock, due(10));
    stage.pool.shutdown();
    stage.run_for(ms(10));
    let handle: TaskHandle<()> = handles.entries().remove(0);
    assert_eq!((handle.name(), handle.is_done()), (Some("rest"), false));
    assert_eq!(stage.pool.run_state(), RunState::ShuttingDown);
    let waker = waker.lock().unwrap_or_else(PoisonError::into_inner).take();
    waker.expect("it was polled").wake();
    stage.run_due();
    assert!(handle.result_now().is_ok() && stage.pool.is_terminated());
    assert_eq!(steps.entries(), ["probe", "rest", "rest"]);
    assert_eq!(stage.pool.stats().completed, 2);
}

#[test]
fn ec_o8_what_a_firing_goes_on_as_is_cancelled_when_the_pool_stops() {
    let stage = VirtualPool::new(1);
    let (handles, held) = (Journal::new(), Arc::new(()));
    let (kept, inside) = (handles.clone(), Arc::clone(&held));
    let runs = Journal::new();
    let noted = runs.clone();
    let timer = timer_with(&stage.pool, move |timer, run| {
        noted.note(run.clone());
        let held = Arc::new(());
        let inside = if run.number() == 1 { &inside } else { &held };
        kept.note(run.continue_as(Task::once_async(pending(inside))));
        if run.number() == 1 {
            arm_again(timer, run, ms(10));
        }
        Fired::NothingToFinish
    });
    arm(&timer, &stage.clock, due(0));
    stage.run_due();
    assert_eq!((stage.pool.stats().suspended, Arc::strong_count(&held)), (1, 3));
    // The second one has not been polled yet.
    stage.clock.advance(ms(10));
    assert_eq!(stage.workers.step(1), Stepped::Ran);
    assert!(stage.pool.shutdown_now().is_empty());
    assert!(handles.entries().iter().all(TaskHandle::is_cancelled));
    assert_eq!(Arc::strong_count(&held), 2);
    stage.run_due();
    assert!(stage.pool.is_terminated());
    let refused = runs.entries()[0].continue_as(Task::once_async(pending(&held)));
    assert!(refused.is_cancelled() && Arc::strong_count(&held) == 2);
    let run = runs.entries().remove(0);
    runs.clear();
    drop(stage);
    let refused = run.continue_as(Task::once(|| ()));
    assert!(refused.is_cancelled());
}

#[test]
fn ec_o8_what_a_firing_goes_on_as_is_cancelled_when_its_decorator_panics() {
    let (told, handles) = (Journal::new(), Journal::new());
    let builder = ScheduledThreadPool::builder().core_size(1).listener(heard(&told));
    let builder = builder.decorate_task(|_, name| match name {
        Some("rest") => panic!("at once"),
        _ => Box::new(|step| step()),
    });
    let stage = VirtualPool::build(builder);
    let kept = handles.clone();
    let timer = timer_with(&stage.pool, move |_, run| {
        kept.note(run.continue_as(Task::once(|| unreachable!("it is cancelled")).name("rest")));
        Fired::NothingToFinish
    });
    arm(&timer, &stage.clock, due(0));
    stage.run_due();
    let handle: TaskHandle<()> = handles.entries().remove(0);
    assert!(handle.is_cancelled() && handle.id() > timer.id());
    assert_eq!((stage.pool.stats().queued, stage.pool.stats().tasks), (0, 1));
    let told = told.entries();
    assert!(told.len() == 2 && told[0].contains("HookPanicked"), "{told:?}");
    let end = format!("TaskEnded {{ id: {:?}, name: Some(\"rest\")", handle.id());
    assert!(told[1].contains(&end), "{told:?}");
}

#[test]
fn ec_o9_a_timer_is_counted_but_in_no_view_and_no_listener_is_told() {
    let told = Journal::new();
    let (before, after, decorated) = (told.clone(), told.clone(), told.clone());
    let builder = ScheduledThreadPool::builder()
        .core_size(1)
        .before_run(move |_: &Run| before.note("before".to_owned()))
        .after_run(move |_: &Run, _: &Result<(), _>| after.note("after".to_owned()))
        .listener(heard(&told))
        .decorate_task(move |_, name| {
            assert_eq!(name, Some("probe"));
            let decorated = decorated.clone();
            Box::new(move |step| {
                decorated.note("around".to_owned());
                step();
            })
        });
    let stage = VirtualPool::build(builder);
    let pool = stage.pool.clone();
    let timer = timer_with(&stage.pool, move |_, _| {
        let stats = pool.stats();
        assert_eq!((stats.active, stats.queued, stats.completed, stats.tasks), (1, 0, 0, 1));
        Fired::Returned
    });
    arm(&timer, &stage.clock, due(10));
    let stats = stage.pool.stats();
    assert_eq!((stats.active, stats.queued, stats.completed, stats.tasks), (0, 1, 0, 1));
    assert!(stage.pool.queue().is_empty());
    assert_eq!(stage.workers.next_due(), Some(tick(10)));
    stage.pool.purge();
    stage.run_for(ms(10));
    assert_eq!((stage.pool.stats().active, stage.pool.stats().completed), (0, 1));
    arm(&timer, &stage.clock, due(20));
    drop(stage.pool.shutdown_now());
    stage.run_due();
    assert_eq!(told.entries(), ["around"]);
    assert_eq!(timer.told.len(), 3);
}

#[test]
fn ec_o9_a_wait_that_starves_inside_a_firing_is_reported_with_its_name() {
    let (told, ended) = (Journal::new(), Journal::new());
    let (heard, noted) = (told.clone(), ended.clone());
    let listener = move |event: &Event<'_>| {
        if let Event::WaitStarved { run, .. } = event {
            heard.note(run.task_name().map(str::to_owned));
        }
    };
    let stage = ManualPool::build(ScheduledThreadPool::builder().core_size(1).listener(listener));
    let task = stage.pool.schedule(ms(10), || ()).unwrap();
    let timer = timer_with(&stage.pool, move |_, _| {
        noted.note(task.wait_done().is_err());
        Fired::NothingToFinish
    });
    arm(&timer, &stage.clock, due(0));
    eventually("the firing waits", || stage.pool.stats().active == 1 && stage.clock.parked() == 1);
    stage.clock.advance(ms(2_000));
    told.await_len(1);
    assert_eq!(told.entries(), [Some("probe".to_owned())]);
    drop(stage.pool.shutdown_now());
    ended.await_len(1);
    await_terminated(&stage.pool);
}
