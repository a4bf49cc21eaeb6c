//! A message reports a pool that is too small, and its holder.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use scheduler::{Builder, ManualClock, Schedule, Scheduler};

/// The part of the message about a future that blocks its thread.
const BLOCKS: &str = if cfg!(feature = "tokio") {
    "`fetch` is async and blocks its thread: call what blocks by `tokio::task::spawn_blocking`, \
     or make the function a plain `fn`"
} else {
    "`fetch` is async and blocks its thread: call what blocks on another thread (`spawn_blocking` \
     of a runtime), or make the function a plain `fn`"
};

/// Keeps the thread that calls it.
type Block = Arc<dyn Fn() + Send + Sync>;

/// The messages of a scheduler with so many threads. A task keeps one of them for 12 seconds.
fn messages(threads: usize, tasks: impl FnOnce(Builder, Block) -> Builder) -> Vec<String> {
    let clock = ManualClock::at("2026-03-27T08:00:00Z".parse().unwrap());
    let said = Arc::new(Mutex::new(Vec::new()));
    let lines = Arc::clone(&said);
    let (begun, started) = mpsc::channel();
    let (release, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let builder =
        Scheduler::builder().pool_size(threads).zone("UTC").clock(Arc::new(clock.clone()));
    let builder = builder.messages(move |text| lines.lock().unwrap().push(text.to_owned()));
    let block = move || {
        begun.send(()).unwrap();
        let _ = gate.lock().unwrap().recv();
    };
    let scheduler = tasks(builder, Arc::new(block)).spawn().unwrap();
    started.recv().unwrap();
    clock.advance(Duration::from_secs(12));
    clock.await_parked(threads - 1);
    drop(release);
    clock.await_parked(1);
    scheduler.shutdown().unwrap();
    let said = said.lock().unwrap();
    said.clone()
}

fn warnings(threads: usize, tasks: impl FnOnce(Builder, Block) -> Builder) -> Vec<String> {
    messages(threads, tasks).into_iter().filter(|text| text.starts_with("WARN")).collect()
}

/// Adds the async task `fetch`, which blocks its thread.
fn fetch(builder: Builder, schedule: Schedule, block: Block) -> Builder {
    builder.task_async("fetch", schedule, move |_| {
        let block = Arc::clone(&block);
        async move { block() }
    })
}

fn once(seconds: u64) -> Schedule {
    Schedule::once(Duration::from_secs(seconds))
}

#[test]
fn a_late_start_names_the_task_that_held_the_only_thread() {
    let warnings = warnings(1, |builder, block| {
        let builder = builder.task("import", once(0), move |_| block());
        builder.task("tick", once(2), |_| ())
    });
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let expected = "WARN  task `tick` started 10s late: the only thread of pool `default` is busy, \
                    longest: `import` (tests/facade/starved.rs:";
    assert!(warnings[0].starts_with(expected), "{warnings:?}");
    assert!(
        warnings[0].ends_with(") for 12s; raise `scheduler.pool.size` (now 1)"),
        "{warnings:?}"
    );
}

#[test]
fn a_late_start_names_the_future_that_blocked_its_thread() {
    let warnings =
        warnings(1, |builder, block| fetch(builder, once(0), block).task("tick", once(2), |_| ()));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let expected = "WARN  task `tick` started 10s late: the only thread of pool `default` is busy, \
                    longest: `fetch` (tests/facade/starved.rs:";
    assert!(warnings[0].starts_with(expected), "{warnings:?}");
    assert!(warnings[0].ends_with(BLOCKS), "{warnings:?}");
}

#[test]
fn skipped_runs_name_the_future_that_blocked_the_thread_they_waited_for() {
    let warnings = warnings(1, |builder, block| {
        let often = Schedule::fixed_rate("1s").initial_delay("2s");
        fetch(builder, once(0), block).task("tick", often, |_| ())
    });
    let [late, skipped] = &*warnings else { panic!("{warnings:?}") };
    assert!(late.contains("`tick` started 10s late") && late.ends_with(BLOCKS), "{warnings:?}");
    let expected = "WARN  task `tick` skipped 10 runs, from Fri 2026-03-27 08:00:02 +00:00 to \
                    Fri 2026-03-27 08:00:11 +00:00: its time had passed before it could run: all threads were busy, \
                    longest: `fetch` (tests/facade/starved.rs:";
    assert!(skipped.starts_with(expected) && skipped.ends_with(BLOCKS), "{warnings:?}");
}

#[test]
fn skipped_runs_of_a_future_that_blocks_its_own_thread_say_so() {
    let warnings = warnings(1, |builder, block| fetch(builder, Schedule::fixed_rate("5s"), block));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let expected = "WARN  task `fetch` skipped 2 runs, from Fri 2026-03-27 08:00:05 +00:00 to \
                    Fri 2026-03-27 08:00:10 +00:00: the run before was still in progress\n";
    assert!(warnings[0].starts_with(expected) && warnings[0].ends_with(BLOCKS), "{warnings:?}");
}

#[test]
fn a_timeout_of_a_future_that_blocks_its_thread_says_so() {
    let messages = messages(1, |builder, block| fetch(builder, once(0).timeout("3s"), block));
    let failure = messages.iter().find(|text| text.starts_with("ERROR")).expect("a failure");
    let expected = format!(
        "timed out after 12s: it did not end within 3s; {}",
        BLOCKS.replace("`fetch`", "it")
    );
    assert!(failure.contains(&expected), "{failure}");
}

#[test]
fn a_timeout_that_another_thread_notices_says_that_the_future_blocks() {
    let warnings = warnings(2, |builder, block| {
        let builder = builder.task("tick", Schedule::once("1h"), |_| ());
        fetch(builder, once(0).timeout("3s"), block)
    });
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with("WARN  task `fetch`: run 1 is asked to stop"), "{warnings:?}");
    assert!(warnings[0].ends_with(BLOCKS), "{warnings:?}");
}

#[test]
fn a_task_that_waits_for_a_thread_is_named_while_it_waits_and_skips_are_counted() {
    let clock = ManualClock::at("2026-03-27T08:00:00Z".parse().unwrap());
    let (say, said) = mpsc::channel();
    let (begun, started) = mpsc::channel();
    let (release, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let scheduler = Scheduler::builder()
        .pool_size(1)
        .zone("UTC")
        .clock(Arc::new(clock.clone()))
        .messages(move |text| say.send(text.to_owned()).unwrap())
        .task("hung", Schedule::fixed_rate("30s"), move |_| {
            begun.send(()).unwrap();
            let _ = gate.lock().unwrap().recv();
        })
        .task("starved", Schedule::fixed_rate("20s").initial_delay("20s"), |_| ())
        .spawn()
        .unwrap();
    started.recv().unwrap();
    clock.advance(Duration::from_secs(3_600));
    // The task that holds the thread goes on for ever, and no command touches the other one.
    let warned = |what: &str| loop {
        let text = said.recv_timeout(Duration::from_secs(60)).expect(what);
        if text.contains(what) {
            return text;
        }
    };
    let text = warned("`starved` has waited");
    let expected = "WARN  task `starved` has waited 59m 40s for a thread: the only thread of pool `default` is busy, \
                    longest: `hung` (tests/facade/starved.rs:";
    assert!(
        text.starts_with(expected) && text.contains(") for 1h; raise `scheduler.pool.size`"),
        "{text}"
    );
    let hung = scheduler.tasks().get("hung").unwrap().snapshot();
    assert_eq!((hung.running, hung.counters.skipped_overlap), (1, 120), "while it runs");
    drop(release);
    scheduler.shutdown().unwrap();
}
