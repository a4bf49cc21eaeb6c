//! Runs and messages of annotated functions on a manual clock.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use scheduler::{Builder, ManualClock, Scheduler, scheduled};

static TICKS: AtomicU32 = AtomicU32::new(0);
static SWEEPS: AtomicU32 = AtomicU32::new(0);
static WARM_UPS: AtomicU32 = AtomicU32::new(0);
static REPORTS: AtomicU32 = AtomicU32::new(0);

#[scheduled(fixed_rate = "10s")]
fn tick() {
    TICKS.fetch_add(1, Ordering::SeqCst);
}

#[scheduled(fixed_delay = "1m", initial_delay = "5s")]
async fn sweep() -> Result<(), String> {
    std::future::ready(()).await;
    let runs = SWEEPS.fetch_add(1, Ordering::SeqCst);
    if runs == 0 { Err("nothing\nto sweep".to_owned()) } else { Ok(()) }
}

#[scheduled(initial_delay = "30s", name = "warm-up")]
fn warm_up() {
    WARM_UPS.fetch_add(1, Ordering::SeqCst);
}

#[scheduled(cron = "0 0 9 * * MON-FRI", zone = "Europe/Berlin")]
fn report() {
    REPORTS.fetch_add(1, Ordering::SeqCst);
}

/// The messages of the scheduler.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<String>>>);

impl Said {
    fn texts(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

const THREADS: usize = 2;

/// A builder on a clock that stands at 2026-03-27 (a Friday) 07:59:00 UTC, before the summer time.
fn builder() -> (Builder, ManualClock, Said) {
    let clock = ManualClock::at("2026-03-27T07:59:00Z".parse().unwrap());
    let said = Said::default();
    let (heard, hands) = (said.clone(), clock.clone());
    let builder = Scheduler::builder()
        .pool_size(THREADS)
        .zone("UTC")
        .clock(Arc::new(clock.clone()))
        .messages(move |text| {
            heard.0.lock().unwrap().push(text.to_owned());
            if text.contains("no new runs") {
                // The message has to be true, however long it takes.
                hands.advance(Duration::from_secs(120));
            }
        });
    (builder, clock, said)
}

/// Lets time pass in steps of a second, with the workers at rest after each.
fn pass(clock: &ManualClock, seconds: u64) {
    for _ in 0..seconds {
        clock.advance(Duration::from_secs(1));
        clock.await_parked(THREADS);
    }
}

fn counts() -> [u32; 4] {
    [&TICKS, &SWEEPS, &WARM_UPS, &REPORTS].map(|count| count.load(Ordering::SeqCst))
}

/// One test, because the counters belong to the process.
#[test]
fn the_annotated_functions_run_at_their_times() {
    let (builder, clock, said) = builder();
    let scheduler = builder.spawn().unwrap();
    clock.await_parked(THREADS);
    assert_eq!(counts(), [1, 0, 0, 0], "only `tick` runs at once");
    pass(&clock, 4);
    assert_eq!(counts(), [1, 0, 0, 0]);
    pass(&clock, 1);
    assert_eq!(counts(), [1, 1, 0, 0], "`sweep` after its initial delay of 5s");
    pass(&clock, 25);
    assert_eq!(counts(), [4, 1, 1, 0], "`warm-up` once after 30s, `tick` at 0, 10, 20, 30");
    pass(&clock, 29);
    assert_eq!(counts(), [6, 1, 1, 0]);
    pass(&clock, 1);
    assert_eq!(counts(), [7, 1, 1, 1], "`report` at nine in Berlin");
    pass(&clock, 5);
    assert_eq!(counts(), [7, 2, 1, 1], "`sweep` a minute after its failure");

    scheduler.shutdown().unwrap();
    assert_eq!(clock.parked(), 0, "no worker is left");
    let texts = said.texts();
    let executor = if cfg!(feature = "tokio") {
        "Tokio (own runtime)"
    } else {
        "built-in executor (no Tokio)"
    };
    let expected = format!("scheduler 0.1.0  4 tasks · 2 threads (scheduling-1 … scheduling-2) · zone UTC (UTC+00:00) · async tasks: {executor}
  running::tick    every 10s                                                          next: now
  running::sweep   1m after each run, first after 5s                                  next: Fri 2026-03-27 07:59:05 +00:00, in 5s
  warm-up          once, after 30s                                                    next: Fri 2026-03-27 07:59:30 +00:00, in 30s
  running::report  0 0 9 * * MON-FRI (09:00, Monday to Friday) in Europe/Berlin       next: Fri 2026-03-27 09:00:00 +01:00, in 1m");
    assert_eq!(squeeze(&texts[0]), squeeze(&expected));
    let line = line_of("async fn sweep()") - 1;
    let failure = format!(
        r"ERROR task `running::sweep` failed after 0s: nothing\nto sweep
      at tests/running.rs:{line}   next run Fri 2026-03-27 08:00:05 +00:00"
    );
    let first = |task: &str, how: &str| format!("INFO  task `{task}` {how}");
    let expected = [
        first("running::tick", "finished its first run in 0s; further successes are not reported"),
        failure,
        first("warm-up", "finished its run in 0s"),
        first(
            "running::report",
            "finished its first run in 0s; further successes are not reported",
        ),
        first(
            "running::sweep",
            "succeeded for the first time, in 0s; further successes are not reported",
        ),
    ];
    assert_eq!(texts[1..6], expected);
    let [stopping, stopped] = &texts[6..] else { panic!("{texts:#?}") };
    assert_eq!(stopping, "INFO  stopping: no new runs");
    assert!(
        stopped.starts_with("INFO  stopped after ") && stopped.ends_with(": 11 runs, 1 failure")
    );
}

#[test]
fn a_zone_that_does_not_exist_is_refused() {
    let (builder, _clock, said) = builder();
    let error = builder.zone("europe/berlin").spawn().unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot start: 1 fault was found, and nothing has run
  - the scheduler's zone: unknown time zone `europe/berlin`
    help: did you mean `Europe/Berlin`?"
    );
    assert_eq!(format!("{error:?}"), error.to_string());
    assert_eq!(said.texts(), Vec::<String>::new());
}

#[test]
fn a_thread_name_that_no_thread_can_have_is_refused() {
    let (builder, _clock, _said) = builder();
    let error = builder.thread_name_prefix("a\0b").spawn().unwrap_err();
    assert!(error.to_string().contains("the thread-name prefix `a\\0b`"), "{error}");
}

/// The text with runs of blanks as one, so that a column may grow.
fn squeeze(text: &str) -> String {
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n")
}

fn line_of(text: &str) -> usize {
    let source = include_str!("running.rs");
    source.lines().position(|line| line.starts_with(text)).expect("the line is there") + 1
}
