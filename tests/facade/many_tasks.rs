//! Very many tasks, ended ones and removed ones: costs, list, names.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use chrono::TimeDelta;
use scheduler::engine::{NextFireTime, Trigger, TriggerContext};
use scheduler::testing::Sim;
use scheduler::{
    AddError, Builder, Event, EventKind, ManualClock, Run, Schedule, Scheduler, TaskControl,
    TaskState, Tasks, Until, tasks,
};

fn builder() -> Builder {
    let clock = ManualClock::at("2026-03-27T08:00:00Z".parse().unwrap());
    Scheduler::builder()
        .pool_size(2)
        .zone("UTC")
        .environment([("PATH", "")])
        .settings("none.toml", "")
        .clock(Arc::new(clock))
        .messages(|_| {})
        .tasks(tasks![])
}

/// A simulated scheduler.
fn sim(change: impl FnOnce(Builder) -> Builder) -> Sim {
    Sim::at("2026-03-27T08:00:00Z").builder(change)
}

/// Adds a one-time task, and lets it run.
fn run_once(sim: &mut Sim, name: &str, result: Result<(), &'static str>) -> TaskControl {
    let task = sim.running_tasks().add(name, Schedule::once("0s"), move |_| result).unwrap();
    sim.advance(Duration::ZERO);
    assert_eq!(task.snapshot().counters.runs, 1);
    task
}

fn names(tasks: &Tasks) -> Vec<String> {
    tasks.list().iter().map(|task| task.name().to_owned()).collect()
}

/// The processor time of this thread, without anything else that the machine does.
#[cfg(target_os = "linux")]
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("a Linux system");
    let nanos = text.split_whitespace().next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanos.expect("nanoseconds come first"))
}

/// The bound is generous: before, it took some 20 times as long.
#[test]
#[cfg(target_os = "linux")]
fn adding_a_task_takes_no_longer_beside_many_others() {
    const ADDED: usize = 1_000;
    let scheduler =
        builder().environment([("SCHEDULER_TASKS_FEED_7_JITTER", "1s")]).spawn().unwrap();
    let tasks = scheduler.tasks();
    let add = |from: usize, count: usize| {
        let before = processor_time();
        for number in from..from + count {
            let hourly = Schedule::fixed_rate("1h").initial_delay("1h");
            tasks.add(&format!("shop::feed_{number}"), hourly, |_| {}).unwrap();
            assert!(tasks.get(&format!("feed-{number}")).is_ok());
        }
        processor_time() - before
    };
    let few = add(0, ADDED).min(add(ADDED, ADDED));
    add(2 * ADDED, 18 * ADDED);
    let many = add(20 * ADDED, ADDED).min(add(21 * ADDED, ADDED));
    assert!(many < few * 10, "{few:?} beside few, {many:?} beside many");
    assert_eq!(tasks.list().len(), 22 * ADDED);
    scheduler.shutdown().unwrap();
}

#[test]
fn the_list_keeps_the_one_time_tasks_that_completed_last() {
    let (words, heard) = mpsc::channel();
    let words = Mutex::new(words);
    let say = move |text: &str| drop(words.lock().unwrap().send(text.to_owned()));
    let mut sim = sim(|builder| builder.keep_ended_tasks(2).messages(say));
    let tasks = sim.running_tasks();
    tasks.add("hourly", Schedule::fixed_rate("1h").initial_delay("1h"), |_| {}).unwrap();
    let first = run_once(&mut sim, "mail-1", Ok(()));
    run_once(&mut sim, "bill", Err("no paper"));
    for number in 2..=9 {
        run_once(&mut sim, &format!("mail-{number}"), Ok(()));
    }
    assert_eq!(names(&tasks), ["hourly", "bill", "mail-8", "mail-9"]);
    assert!(tasks.get("mail-1").unwrap_err().is_unknown());
    assert!(tasks.remove("mail-1").unwrap_err().is_unknown());
    assert_eq!(first.snapshot().state, TaskState::Completed, "its end knows it still");
    tasks.remove("mail-8").unwrap();
    run_once(&mut sim, "mail-1", Ok(()));
    assert_eq!(names(&tasks), ["hourly", "bill", "mail-9", "mail-1"]);
    sim.shutdown().unwrap();
    let last = heard.try_iter().last().unwrap();
    assert!(last.ends_with(": 11 runs, 1 failure"), "{last}");
}

#[test]
fn tasks_that_ended_in_failure_are_counted_apart() {
    let mut sim = sim(|builder| builder.keep_ended_tasks(0));
    let tasks = sim.running_tasks();
    for number in 0..103 {
        run_once(&mut sim, &format!("bad-{number}"), Err("no"));
        run_once(&mut sim, "good", Ok(()));
    }
    let cancelled = tasks.add("never", Schedule::once("1h"), |_| {}).unwrap();
    cancelled.cancel().unwrap();
    sim.advance(Duration::ZERO);
    let names = names(&tasks);
    assert_eq!((names.len(), names[0].as_str()), (100, "bad-3"));
}

#[test]
fn a_setting_says_how_many_ended_tasks_are_kept() {
    let toml = "[scheduler]\nkeep-ended-tasks = 1\n";
    let mut sim = sim(|builder| builder.keep_ended_tasks(50).settings("app.toml", toml));
    run_once(&mut sim, "a", Ok(()));
    run_once(&mut sim, "b", Ok(()));
    assert_eq!(names(&sim.running_tasks()), ["b"]);
    let error = builder().set("keep-ended-tasks", "many").spawn().unwrap_err();
    assert!(error.faults()[0].contains("`many` is not a whole number of tasks"), "{error}");
}

#[test]
fn the_name_of_a_task_that_has_ended_is_free() {
    let scheduler = builder().spawn().unwrap();
    let tasks = scheduler.tasks();
    let (begin, begun) = mpsc::channel();
    let (finish, finished) = mpsc::channel();
    let finished = Mutex::new(finished);
    let body = move |_: &Run| {
        begin.send(()).unwrap();
        finished.lock().unwrap().recv().unwrap();
    };
    let first = tasks.add("mail", Schedule::once("0s"), body).unwrap();
    begun.recv().unwrap();
    let error: AddError = tasks.add("mail", Schedule::once("1h"), |_| {}).unwrap_err();
    assert!(error.is_name_taken(), "its run is in progress: {error}");
    finish.send(()).unwrap();
    first.wait_for(Until::runs(1), Duration::from_secs(60)).unwrap();
    let second = tasks.add("mail", Schedule::once("1h"), |_| {}).unwrap();
    assert_eq!(names(&tasks), ["mail"]);
    assert_eq!(tasks.get("mail").unwrap().snapshot().state, TaskState::Waiting);
    second.cancel().unwrap();
    tasks.add("mail", Schedule::once("2h"), |_| {}).unwrap();
    assert_eq!(names(&tasks), ["mail"]);
    scheduler.shutdown().unwrap();
}

#[test]
fn settings_reach_an_added_task_and_no_other() {
    let toml = "[scheduler.tasks.\"shop::feed\"]\nfixed-rate = \"3h\"\n";
    let scheduler = builder()
        .settings("app.toml", toml)
        .allow_later_tasks(["shop::feed"])
        .environment([("SCHEDULER_TASKS_MAILS_FIXED_RATE", "2h")])
        .spawn()
        .unwrap();
    let tasks = scheduler.tasks();
    let rule = |name: &str| {
        let task = tasks.add(name, Schedule::fixed_rate("1h"), |_| {}).unwrap();
        task.snapshot().facts.rule.to_string()
    };
    assert_eq!(rule("shop::mails"), "every 2h");
    assert_eq!(rule("shop::feed"), "every 3h");
    assert_eq!(rule("shop::feeds"), "every 1h");
    let error = tasks.add("other::mails", Schedule::fixed_rate("1h"), |_| {}).unwrap_err();
    let text = "env SCHEDULER_TASKS_MAILS_FIXED_RATE may mean `fixed_rate` of `shop::mails` or";
    assert!(error.faults()[0].starts_with(text), "{error}");
    tasks.remove("shop::mails").unwrap();
    assert_eq!(rule("other::mails"), "every 2h");
    scheduler.shutdown().unwrap();
}

/// A trigger that waits until the scheduler takes no tasks any more.
#[derive(Debug)]
struct Slow(TaskControl);

impl Trigger for Slow {
    fn next_fire_time(&self, context: &TriggerContext) -> NextFireTime {
        while !self.0.run_now().unwrap_err().is_stopping() {
            std::thread::yield_now();
        }
        Ok(Some(context.now() + TimeDelta::hours(1)))
    }
}

#[test]
fn a_task_that_a_stopping_scheduler_refuses_is_told_as_ended() {
    let (sender, events) = mpsc::channel();
    let sender = Mutex::new(sender);
    let (begin, begun) = mpsc::channel();
    let (finish, finished) = mpsc::channel();
    let finished = Mutex::new(finished);
    let scheduler = builder()
        .listener(move |event: &Event| {
            let told = match &event.kind {
                EventKind::TaskAdded { .. } if event.task_name() == Some("late") => "added",
                EventKind::TaskEnded { .. } if event.task_name() == Some("late") => "ended",
                _ => return,
            };
            sender.lock().unwrap().send(told).unwrap();
        })
        .task("busy", Schedule::fixed_rate("1h"), move |_| {
            begin.send(()).unwrap();
            finished.lock().unwrap().recv().unwrap();
        })
        .spawn()
        .unwrap();
    begun.recv().unwrap();
    let tasks = scheduler.tasks();
    let slow = Slow(tasks.get("busy").unwrap());
    let (error, names) = std::thread::scope(|scope| {
        let adding = scope.spawn(move || {
            let late = tasks.add("late", Schedule::on_trigger(slow), |_| {});
            finish.send(()).unwrap();
            (late.unwrap_err(), names(&tasks))
        });
        assert_eq!(events.recv().unwrap(), "added");
        scheduler.shutdown().unwrap();
        adding.join().unwrap()
    });
    assert!(error.is_stopping(), "{error}");
    assert!(!names.contains(&"late".to_owned()), "{names:?}");
    assert_eq!(events.try_iter().collect::<Vec<&str>>(), ["ended"]);
}

#[test]
fn a_builder_that_is_shown_keeps_the_values_of_settings_to_itself() {
    let builder = builder().set("db.password", "hunter2");
    let text = format!("{builder:?}");
    assert!(text.contains("db.password") && !text.contains("hunter2"), "{text}");
}
