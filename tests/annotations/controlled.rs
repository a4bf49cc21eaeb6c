//! Control of a running scheduler by its holder and its own tasks.

use std::sync::{Arc, Weak};
use std::time::Duration;

use scheduler::{Builder, ManualClock, Run, Schedule, Scheduler, Tasks, Until, scheduled, tasks};

const THREADS: usize = 2;

/// Something that tasks keep.
struct Kept(#[expect(dead_code, reason = "it is only kept")] Arc<()>);

#[expect(clippy::needless_pass_by_value, reason = "that is how it is taken")]
#[scheduled(fixed_rate = "10s", name = "watch")]
fn watch(tasks: Tasks, _kept: &Kept) {
    tasks.resume_all().unwrap();
}

#[scheduled(fixed_rate = "10s", name = "guard")]
async fn guard(tasks: Tasks, _kept: &Kept) {
    std::future::ready(()).await;
    tasks.resume_all().unwrap();
}

fn builder() -> (Builder, ManualClock) {
    let clock = ManualClock::at("2026-03-27T07:59:00Z".parse().unwrap());
    let builder = Scheduler::builder()
        .pool_size(THREADS)
        .zone("UTC")
        .environment([("PATH", "")])
        .settings("none.toml", "")
        .clock(Arc::new(clock.clone()))
        .messages(|_| {});
    (builder, clock)
}

/// A scheduler whose tasks keep an end of all tasks, and a value.
fn circle() -> (Scheduler, ManualClock, Weak<()>) {
    let kept = Arc::new(());
    let weak = Arc::downgrade(&kept);
    let (builder, clock) = builder();
    let builder = builder.manage(Kept(Arc::clone(&kept)));
    let scheduler = builder.tasks(tasks![watch, guard]).spawn().unwrap();
    let tasks = scheduler.tasks();
    let added = scheduler.tasks().add("added", Schedule::fixed_rate("10s"), move |_| {
        tasks.resume_all().unwrap();
        assert!(Arc::strong_count(&kept) > 0);
    });
    added.unwrap();
    clock.await_parked(THREADS);
    (scheduler, clock, weak)
}

#[test]
fn values_of_tasks_are_dropped_when_the_scheduler_has_stopped() {
    let (scheduler, _clock, weak) = circle();
    let tasks = scheduler.tasks();
    assert_eq!(tasks.list().len(), 3);
    scheduler.shutdown().unwrap();
    assert!(weak.upgrade().is_none(), "it is still kept");
    assert!(tasks.list().is_empty());
}

#[test]
fn values_of_tasks_are_dropped_with_the_scheduler() {
    let (scheduler, clock, weak) = circle();
    clock.advance(Duration::from_secs(10));
    clock.await_parked(THREADS);
    drop(scheduler);
    assert!(weak.upgrade().is_none(), "it is still kept");
}

#[test]
fn a_stop_that_shall_wait_for_nothing_succeeds_when_nothing_runs() {
    for _ in 0..20 {
        let (builder, clock) = builder();
        let builder = builder.set("shutdown.await-termination", "false");
        let scheduler = builder.tasks(tasks![]).task("idle", Schedule::once("1h"), |_| {}).spawn();
        clock.await_parked(1);
        scheduler.unwrap().shutdown().unwrap();
    }
}

#[test]
fn a_task_that_cannot_be_added_or_rescheduled_is_told_where_and_why() {
    let (builder, _clock) = builder();
    let scheduler = builder
        .tasks(tasks![])
        .task("idle", Schedule::once("1h"), |_| {})
        .set("scheduler.tasks.idle.jitter", "1s")
        .spawn()
        .unwrap();
    let tasks = scheduler.tasks();
    let wrong = Schedule::fixed_rate("5 parsecs").jitter("x");
    let line = line!() + 1;
    let error = tasks.add("new", wrong, |_| {}).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("cannot add the task: 2 faults were found\n"), "{text}");
    assert!(
        text.contains(&format!("tests/annotations/controlled.rs:{line}: `new`: invalid `fix")),
        "{text}"
    );
    assert_eq!((error.faults().len(), error.is_name_taken()), (2, false));
    let taken = tasks.add("idle", Schedule::once("1h"), |_| {}).unwrap_err();
    assert!(taken.is_name_taken());
    let text = "cannot add task `idle`: there is a task of this name\n  help: ";
    assert!(taken.to_string().starts_with(text), "{taken}");
    let off = tasks.add("off", Schedule::cron("-"), |_| {}).unwrap();
    assert_eq!(off.snapshot().state, scheduler::TaskState::Disabled);
    let line = line!() + 1;
    let error = tasks.get("idle").unwrap().reschedule(Schedule::fixed_rate("0s")).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains(&format!("tests/annotations/controlled.rs:{line}: `idle`: invalid `fix")),
        "{text}"
    );
    let error = tasks.get("idle").unwrap().reschedule(Schedule::once("5s").timeout("3s"));
    assert!(error.unwrap_err().to_string().contains("`timeout` is no part of a rule"));
    scheduler.shutdown().unwrap();
    let error = tasks.add("late", Schedule::once("1s"), |_| {}).unwrap_err();
    assert!(error.is_stopping(), "{error}");
}

#[test]
fn a_faulty_task_leaves_the_ended_one_of_its_name_in_the_list() {
    let (builder, _clock) = builder();
    let scheduler =
        builder.tasks(tasks![]).task("once", Schedule::once("0s"), |_| {}).spawn().unwrap();
    scheduler.wait_for("once", Until::runs(1), Duration::from_secs(60)).unwrap();
    let tasks = scheduler.tasks();
    let ended = tasks.get("once").unwrap();
    assert!(ended.wait_for(Until::runs(2), Duration::from_secs(60)).is_err(), "it has ended");
    assert!(tasks.add("once", Schedule::cron("nonsense"), |_| {}).is_err());
    assert_eq!(tasks.get("once").unwrap().snapshot().counters.runs, 1);
    assert_eq!(tasks.list().len(), 1);
    tasks.add("once", Schedule::once("1h"), |_| {}).unwrap();
    assert_eq!(tasks.get("once").unwrap().snapshot().counters.runs, 0);
    assert_eq!(tasks.list().len(), 1);
    assert!(tasks.add("once", Schedule::once("1h"), |_| {}).unwrap_err().is_name_taken());
}

#[test]
fn settings_may_speak_of_tasks_that_are_gone_or_off_when_one_is_added() {
    let (builder, _clock) = builder();
    let toml = "[scheduler.tasks.off]\nenabled = false\n[scheduler.tasks.gone]\njitter = \"1s\"\n";
    let scheduler = builder
        .tasks(tasks![])
        .task("off", Schedule::once("1h"), |_| {})
        .task("gone", Schedule::once("1h"), |_| {})
        .settings("app.toml", toml)
        .spawn()
        .unwrap();
    let tasks = scheduler.tasks();
    tasks.remove("gone").unwrap();
    tasks.add("new", Schedule::once("1h"), |_| {}).unwrap();
    scheduler.shutdown().unwrap();
}

#[test]
fn the_first_run_of_all_finds_every_task() {
    let (builder, clock) = builder();
    let (sender, found) = std::sync::mpsc::channel();
    let scheduler = builder
        .manage(Found(sender))
        .tasks(tasks![looks_around])
        .task("last", Schedule::once("1h"), |_| {})
        .spawn()
        .unwrap();
    clock.await_parked(THREADS);
    assert_eq!(found.try_recv().unwrap(), ["annotations::controlled::looks_around", "last"]);
    scheduler.shutdown().unwrap();
}

struct Found(std::sync::mpsc::Sender<Vec<String>>);

#[expect(clippy::needless_pass_by_value, reason = "that is how it is taken")]
#[scheduled(fixed_rate = "1h")]
fn looks_around(tasks: Tasks, found: &Found) {
    let names = tasks.list().iter().map(|task| task.name().to_owned()).collect();
    let _ = found.0.send(names);
}

#[test]
fn the_last_words_count_a_run_that_ends_after_its_task_was_removed() {
    let (builder, _clock) = builder();
    let (words, heard) = std::sync::mpsc::channel();
    let (begin, begun) = std::sync::mpsc::channel();
    let (finish, finished) = std::sync::mpsc::channel();
    let finished = std::sync::Mutex::new(finished);
    let body = move |_: &Run| {
        begin.send(()).unwrap();
        finished.lock().unwrap().recv().unwrap();
    };
    let scheduler = builder
        .tasks(tasks![])
        .messages(move |text| words.send(text.to_owned()).unwrap())
        .task("work", Schedule::fixed_rate("10s"), body)
        .spawn()
        .unwrap();
    begun.recv().unwrap();
    scheduler.tasks().remove("work").unwrap();
    finish.send(()).unwrap();
    scheduler.shutdown().unwrap();
    let last = heard.try_iter().last().unwrap();
    assert_eq!(last, "INFO  stopped after 0s: 1 run, 0 failures");
}

#[test]
fn settings_may_speak_of_announced_tasks() {
    let (builder, clock) = builder();
    let toml = "[scheduler.tasks.import]\nfixed-rate = \"2h\"\n";
    let scheduler = builder
        .tasks(tasks![])
        .settings("app.toml", toml)
        .allow_later_tasks(["import"])
        .spawn()
        .unwrap();
    let import = scheduler.tasks().add("import", Schedule::fixed_rate("1h"), |_| {}).unwrap();
    clock.await_parked(1);
    assert_eq!(&*import.snapshot().facts.rule, "every 2h");
    scheduler.shutdown().unwrap();
}
