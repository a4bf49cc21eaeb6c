//! Starts that are refused, and names that cannot be read.
//!
//! `fixtures/programs` tests that one of two starts is refused: whole programs have signals.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Waker};
use std::time::Duration;

use crate::hostile_names;
use scheduler::{Builder, ManualClock, Schedule, Scheduler, scheduled, tasks};

const THREADS: usize = 2;

static RUNS: AtomicU32 = AtomicU32::new(0);

#[scheduled(fixed_rate = "10s", name = "count")]
fn count() {
    RUNS.fetch_add(1, Ordering::SeqCst);
}

#[scheduled(fixed_rate = "1h", name = "report")]
fn report() {}

#[scheduled(fixed_rate = "1h", name = "sweep")]
fn sweep() {}

type Said = Arc<Mutex<Vec<String>>>;

fn builder() -> (Builder, ManualClock, Said) {
    let clock = ManualClock::at("2026-03-27T07:59:00Z".parse().unwrap());
    let said = Said::default();
    let heard = Arc::clone(&said);
    let builder = Scheduler::builder()
        .pool_size(THREADS)
        .zone("UTC")
        .environment([("PATH", "")])
        .settings("none.toml", "")
        .clock(Arc::new(clock.clone()))
        .messages(move |text| heard.lock().unwrap().push(text.to_owned()));
    (builder, clock, said)
}

/// A hundred good tasks that count their runs, and others.
fn hundred(others: &[(&str, Schedule)], runs: &Arc<AtomicU32>) -> Builder {
    let (mut builder, ..) = builder();
    builder = builder.tasks(tasks![]);
    for number in 0..100 {
        let runs = Arc::clone(runs);
        builder = builder.task(&format!("good-{number}"), Schedule::fixed_rate("1s"), move |_| {
            runs.fetch_add(1, Ordering::SeqCst);
        });
    }
    for (name, schedule) in others {
        builder = builder.task(name, schedule.clone(), |_| {});
    }
    builder
}

#[test]
fn f_rg1_with_bad_tasks_among_good_ones_nothing_runs_and_all_are_told() {
    let runs = Arc::default();
    let one = [("bad", Schedule::cron("0 0 25 * * *"))];
    let error = hundred(&one, &runs).spawn().unwrap_err();
    assert_eq!(error.faults().len(), 1, "{error}");
    let three = [
        ("bad", Schedule::cron("0 0 25 * * *")),
        ("worse", Schedule::fixed_rate("0s")),
        ("worst", Schedule::once("1s").pool("nowhere")),
    ];
    let error = hundred(&three, &runs).spawn().unwrap_err();
    assert_eq!(error.faults().len(), 3, "{error}");
    for (fault, (name, _)) in error.faults().iter().zip(&three) {
        assert!(fault.starts_with("tests/annotations/starting.rs:"), "{fault}");
        assert!(fault.contains(&format!("`{name}`")), "{fault}");
    }
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

/// Starts with good tasks beside placeholders that cannot be resolved.
#[test]
fn f_cf1_with_placeholder_traps_nothing_is_scheduled() {
    let runs = Arc::new(AtomicU32::new(0));
    let told = Said::default();
    for trap in ["${", "${}", "${a", "${a:${b:${c}}}", "${cycle}", "${k0}"] {
        let (builder, clock, said) = builder();
        let doubling: String =
            (0..30).map(|n| format!("k{n} = \"${{k{}}}${{k{0}}}\"\n", n + 1)).collect();
        let text =
            format!("{doubling}k30 = \"1s\"\ncycle = \"${{back}}\"\nback = \"${{cycle}}\"\n");
        let heard = Arc::clone(&told);
        let mut builder = builder
            .tasks(tasks![])
            .settings("traps.toml", &text)
            .set("scheduler.tasks.trapped.fixed-rate", trap)
            .listener(move |event: &scheduler::Event| {
                heard.lock().unwrap().push(format!("{event:?}"));
            });
        for name in ["good", "trapped"] {
            let runs = Arc::clone(&runs);
            builder = builder.task(name, Schedule::fixed_rate("1s"), move |_| {
                runs.fetch_add(1, Ordering::SeqCst);
            });
        }
        let error = builder.spawn().expect_err(trap);
        assert_eq!(error.faults().len(), 1, "{error}");
        assert!(error.faults()[0].contains("trapped"), "{error}");
        clock.advance(Duration::from_secs(3_600));
        assert_eq!(clock.parked(), 0, "no worker waits");
        assert_eq!(*said.lock().unwrap(), [""; 0]);
    }
    assert_eq!(*told.lock().unwrap(), [""; 0]);
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

#[test]
fn f_rg1_what_is_listed_twice_is_there_once() {
    let (builder, clock, _said) = builder();
    let scheduler = builder.tasks(tasks![count, count]).tasks(tasks![count]).spawn().unwrap();
    assert_eq!(scheduler.tasks().list().len(), 1);
    clock.await_parked(THREADS);
    assert_eq!(RUNS.load(Ordering::SeqCst), 1);
    scheduler.shutdown().unwrap();
}

#[test]
fn f_rg1_inside_a_task_only_a_start_that_waits_is_refused() {
    let (builder, clock, _said) = builder();
    let found = Said::default();
    let (plain, future) = (Arc::clone(&found), Arc::clone(&found));
    let inner = || self::builder().0.tasks(tasks![]);
    let scheduler = builder
        .tasks(tasks![])
        .task("plain", Schedule::once("1s"), move |_| {
            plain.lock().unwrap().push(inner().start().unwrap_err().to_string());
            inner().spawn().unwrap().shutdown().unwrap();
        })
        .task_async("future", Schedule::once("1s"), move |_| {
            let found = Arc::clone(&future);
            async move {
                let error = inner().start_async().await.unwrap_err();
                found.lock().unwrap().push(error.to_string());
            }
        })
        .spawn()
        .unwrap();
    clock.await_parked(1);
    clock.advance(Duration::from_secs(1));
    clock.await_parked(THREADS);
    scheduler.shutdown().unwrap();
    let found = found.lock().unwrap();
    assert_eq!(found.len(), 2, "{found:?}");
    for text in &*found {
        assert!(text.starts_with("cannot start: `start` was called inside a task"), "{text}");
        assert!(text.ends_with("help: call it in main"), "{text}");
    }
}

#[test]
fn f_rg1_after_a_shutdown_another_can_be_started() {
    for _ in 0..2 {
        let (builder, clock, _said) = builder();
        let runs = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&runs);
        let scheduler = builder
            .tasks(tasks![])
            .task("once", Schedule::once("0s"), move |_| {
                counted.fetch_add(1, Ordering::SeqCst);
            })
            .spawn()
            .unwrap();
        clock.await_parked(1);
        scheduler.shutdown().unwrap();
        assert_eq!(runs.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn f_rg2_hostile_names_are_refused_or_work_everywhere() {
    let long = hostile_names::long();
    let refused = [&["", " ", &*long][..], &hostile_names::FORGING].concat();
    let (mut builder, ..) = builder();
    builder = builder.tasks(tasks![]);
    for name in refused.iter().copied() {
        builder = builder.task(name, Schedule::once("1h"), |_| {}).task(
            name,
            Schedule::once("1h"),
            |_| {},
        );
    }
    let error = builder.spawn().unwrap_err();
    assert_eq!(error.faults().len(), 2 * refused.len(), "{error}");
    let text = error.to_string();
    assert!(!text.contains('\x1b') && !text.contains('\u{202E}'), "{text}");
    assert!(!text.lines().any(|line| line.trim_start().starts_with("ERROR")), "{text}");
    assert!(text.lines().all(|line| line.chars().count() < 300), "{text}");

    let accepted = hostile_names::ODD;
    let (mut builder, clock, said) = self::builder();
    builder = builder.tasks(tasks![]).expect_tasks(accepted);
    for name in accepted {
        builder =
            builder.task(name, Schedule::once("1s"), |_| Err::<(), String>("failed".to_owned()));
    }
    let scheduler = builder.spawn().unwrap();
    for name in accepted {
        assert_eq!(scheduler.tasks().get(name).unwrap().name(), name);
    }
    clock.await_parked(1);
    clock.advance(Duration::from_secs(1));
    clock.await_parked(THREADS);
    scheduler.shutdown().unwrap();
    let said = said.lock().unwrap().join("\n");
    for name in accepted {
        let told = said.lines().filter(|line| line.contains(&format!("task `{name}` failed")));
        assert_eq!(told.count(), 1, "{name}: {said}");
    }
}

/// One after the other, because the second gives the process a thread that looks like one of Tokio's.
#[test]
fn a_start_says_what_async_tasks_need_of_tokio() {
    a_start_in_async_code_says_what_async_tasks_need_of_tokio();
    #[cfg(target_os = "linux")]
    a_start_beside_a_runtime_warns_where_async_tasks_cannot_use_it();
}

fn a_start_in_async_code_says_what_async_tasks_need_of_tokio() {
    let (builder, ..) = builder();
    let (say, said) = mpsc::channel();
    let builder = builder.tasks(tasks![]).messages(move |text| drop(say.send(text.to_owned())));
    let hourly = Schedule::fixed_rate("1h").initial_delay("1h");
    let mut start = pin!(builder.task_async("fetch", hourly, |_| async {}).start_async());
    assert!(start.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let before: Vec<String> = said.iter().take_while(|text| !text.contains("1 task")).collect();
    let text = "INFO  async tasks run on the built-in executor; Tokio's timers and sockets need a feature\n      \
                help: cargo add scheduler-rs --features tokio";
    assert_eq!(before.contains(&text.to_owned()), !cfg!(feature = "tokio"), "{before:?}");
}

#[cfg(target_os = "linux")]
fn a_start_beside_a_runtime_warns_where_async_tasks_cannot_use_it() {
    let ((begin, begun), (end, ended)) = (mpsc::channel(), mpsc::channel::<()>());
    let worker = std::thread::Builder::new().name("tokio-rt-worker".to_owned());
    let worker =
        worker.spawn(move || (begin.send(()).unwrap(), ended.recv().unwrap_err())).unwrap();
    begun.recv().unwrap();
    let warnings = |builder: Builder| {
        let (say, said) = mpsc::channel();
        let builder = builder.messages(move |text| drop(say.send(text.to_owned())));
        builder.spawn().unwrap().shutdown().unwrap();
        said.iter().filter(|text| text.starts_with("WARN  a Tokio runtime is running")).count()
    };
    let hourly = || Schedule::fixed_rate("1h").initial_delay("1h");
    let plain = || builder().0.tasks(tasks![]).task("plain", hourly(), |_| {});
    let with_async = plain().task_async("fetch", hourly(), |_| async {});
    assert_eq!(warnings(with_async), usize::from(!cfg!(feature = "tokio")));
    assert_eq!(warnings(plain()), 0, "there is no async task");
    drop(end);
    worker.join().unwrap();
}

#[test]
fn a_scheduler_that_runs_the_annotated_tasks_of_another_one_warns() {
    let plain = || builder().0.task("report", Schedule::fixed_rate("1h"), |_| {}).tasks(tasks![]);
    let start = |builder: Builder| {
        let (say, said) = mpsc::channel();
        let scheduler = builder.messages(move |text| drop(say.send(text.to_owned())));
        (scheduler.spawn().unwrap(), said)
    };
    let warning = |(scheduler, said): (Scheduler, mpsc::Receiver<String>)| {
        scheduler.shutdown().unwrap();
        said.iter().find(|text| text.starts_with("WARN"))
    };
    let first = start(builder().0.tasks(tasks![report, sweep]));
    let others =
        [builder().0.tasks(tasks![report]), plain(), builder().0.tasks(tasks![sweep, report])];
    let others = others.map(|other| warning(start(other)));
    assert_eq!(warning(first), None, "there was no other");
    let [one, none, both] = others;
    let help = "\n      help: Scheduler::builder().tasks(tasks![…]) names the annotated tasks of a scheduler; tasks![] is none";
    let same = "WARN  another scheduler of this process runs the same";
    let so = "so that each runs more than once";
    assert_eq!(one, Some(format!("{same} 1 annotated task, {so}: `report`{help}")));
    assert_eq!(none, None, "it is annotated in one of them only");
    assert_eq!(both, Some(format!("{same} 2 annotated tasks, {so}: `report`, `sweep`{help}")));
    assert_eq!(warning(start(builder().0.tasks(tasks![sweep]))), None, "the first has ended");
}
