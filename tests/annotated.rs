//! The entries that `#[scheduled]` leaves in a binary and in linked crates.

mod surroundings;

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};

use hostile as _;
use jobs as _;
use scheduler::__private::{Call, Entry, TaskResult, entries};
use scheduler::{Attribute, scheduled};

static TICKS: AtomicU32 = AtomicU32::new(0);
static WAITS: AtomicU32 = AtomicU32::new(0);

#[scheduled(fixed_rate = "1s")]
fn tick() {
    TICKS.fetch_add(1, Ordering::Relaxed);
}

#[scheduled(fixed_rate = 250, initial_delay = 5, time_unit = "milliseconds")]
fn with_unit() {}

#[scheduled(fixed_rate = "1s")]
#[scheduled(cron = "0 0 6 * * *")]
#[scheduler::scheduled(fixed_delay = "1m", name = "slowly")]
#[cfg_attr(not(any()), scheduled(initial_delay = "3s"))]
#[cfg_attr(any(), scheduled(initial_delay = "4s"))]
#[cfg_attr(not(any()), cfg_attr(not(any()), scheduled(initial_delay = "5s")))]
fn often() {}

#[scheduled(fixed_rate = "1s")]
#[cfg(any())]
fn absent() {}

#[scheduled(fixed_rate = "1s")]
#[cfg_attr(not(any()), cfg(any()))]
fn absent_too() {}

/// Keeps its documentation, its visibility and its other attributes.
#[deprecated = "kept"]
#[scheduled(fixed_rate = "1s")]
#[must_use = "kept too"]
pub(crate) fn fails() -> Result<(), Outer> {
    Err(Outer)
}

#[scheduled(fixed_rate = "1s")]
fn boxed() -> Result<(), Box<dyn Error + Send + Sync>> {
    Err(Box::new(Outer))
}

#[scheduled(fixed_rate = "1s")]
fn shown() -> Result<(), &'static str> {
    Err("x")
}

#[scheduled(fixed_rate = "1s")]
fn circular() -> Result<(), Circular> {
    Err(Circular)
}

#[scheduled(fixed_rate = "1s")]
async fn waits() -> Result<(), Outer> {
    std::future::ready(()).await;
    WAITS.fetch_add(1, Ordering::Relaxed);
    Err(Outer)
}

macro_rules! every {
    ($period:expr, $(#[$attr:meta])* $name:ident -> $output:ty) => {
        #[scheduled(fixed_rate = $period)]
        $(#[$attr])*
        fn $name() -> $output {
            Ok(())
        }
    };
    ($options:meta, $function:item) => {
        #[$options]
        $function
    };
}
every!("2s", #[inline(never)] from_macro -> Result<(), fmt::Error>);
every!(scheduled(fixed_rate = "3s"), fn from_meta() {});

mod inner {
    pub(super) mod deeper {
        use scheduler::scheduled;

        #[scheduled(fixed_rate = "1s")]
        pub(in super::super) fn tick() {}
    }
}

#[derive(Debug)]
pub(crate) struct Outer;

impl fmt::Display for Outer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("outer")
    }
}

impl Error for Outer {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&fmt::Error)
    }
}

#[derive(Debug)]
struct Circular;

impl fmt::Display for Circular {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("round")
    }
}

impl Error for Circular {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&Self)
    }
}

#[track_caller]
fn entry(module_path: &str, name: &str) -> &'static Entry {
    let full = format!("{module_path}::{name}");
    let mut found = entries().into_iter().filter(|entry| {
        entry.module_path == module_path && (entry.name == name || entry.name == full)
    });
    let entry = found.next().unwrap_or_else(|| panic!("no entry `{module_path}::{name}`"));
    assert!(found.next().is_none(), "`{module_path}::{name}` is there twice");
    entry
}

/// Runs the body to its end; the futures here never wait.
fn run(entry: &Entry) -> TaskResult {
    let (call, run) = scheduler::__private::resolve_for_test(entry);
    match call.expect("it takes no arguments") {
        Call::Sync(call) => call(&run),
        Call::Async(begin) => {
            match begin(&run).as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(result) => result,
                Poll::Pending => panic!("`{}` waits", entry.name),
            }
        }
    }
}

/// The text of the error and of its causes.
fn chain(entry: &Entry) -> Vec<String> {
    let error = run(entry).expect_err("the function fails");
    let links = std::iter::successors(Some(&error as &dyn Error), |&link| link.source());
    links.map(ToString::to_string).collect()
}

#[test]
fn all_entries_are_found_in_a_fixed_order() {
    // Those of `surroundings.rs` are in other editions of `hostile`.
    let is_wanted = |entry: &&Entry| !entry.module_path.starts_with("hostile_20");
    let found: Vec<&str> =
        entries().into_iter().filter(is_wanted).map(|entry| entry.name).collect();
    let expected = [
        "annotated::tick",
        "annotated::with_unit",
        "annotated::often",
        "annotated::often-2",
        "slowly",
        "annotated::often-4",
        "annotated::often-5",
        "annotated::fails",
        "annotated::boxed",
        "annotated::shown",
        "annotated::circular",
        "annotated::waits",
        "annotated::from_macro",
        "annotated::from_meta",
        "annotated::inner::deeper::tick",
        "hostile::type",
        "hostile::main2",
        "hostile::__x",
        "hostile::__ctor",
        "hostile::value",
        "hostile::settle",
        "hostile::checked",
        "hostile::new_year",
        "hostile::arguments",
        "hostile::a0",
        "hostile::Cache::sweep",
        "hostile::Cache::flush",
        "warm-up",
        "jobs::report",
        "jobs::nested::sweep",
    ];
    assert_eq!(found, expected);
}

#[test]
fn an_entry_keeps_the_words_of_the_annotation() {
    let texts = |module: &str, name: &str| entry(module, name).attributes;
    assert_eq!(texts("annotated", "tick"), [(Attribute::FixedRate, "1s")]);
    assert_eq!(
        texts("annotated", "with_unit"),
        [
            (Attribute::FixedRate, "250"),
            (Attribute::InitialDelay, "5"),
            (Attribute::TimeUnit, "milliseconds"),
        ]
    );
    assert_eq!(
        texts("jobs", "report"),
        [(Attribute::Cron, "0 0 9 * * MON-FRI"), (Attribute::Zone, "Europe/Berlin")]
    );
    assert_eq!(
        texts("jobs::nested", "sweep"),
        [(Attribute::FixedDelay, "30s"), (Attribute::InitialDelay, "1m")]
    );
    let warm_up = entry("jobs", "warm-up");
    assert_eq!(warm_up.attributes, [(Attribute::InitialDelay, "5s")]);
    assert_eq!(warm_up.attribute(Attribute::Cron), None);
    assert_eq!(warm_up.function, "warm_cache");
}

#[test]
fn an_entry_knows_where_its_annotation_stands() {
    let source = include_str!("annotated.rs");
    let line_of = |text: &str| {
        let line = source.lines().position(|line| line.trim_start() == text);
        u32::try_from(line.expect("the line is there") + 1).expect("a short file")
    };
    let often = entry("annotated", "often-2");
    assert_eq!(often.location.file, file!());
    assert_eq!(often.location.line, line_of(r##"#[scheduled(cron = "0 0 6 * * *")]"##));
    assert_eq!(often.function, "often");
    let from_macro = entry("annotated", "from_macro");
    let invocation = r#"every!("2s", #[inline(never)] from_macro -> Result<(), fmt::Error>);"#;
    assert_eq!(from_macro.location.line, line_of(invocation));
    let sweep = entry("jobs::nested", "sweep").location.to_string();
    assert_eq!(sweep.replace('\\', "/"), "tests/fixtures/jobs/src/nested.rs:5");
}

#[test]
fn a_plain_function_runs_when_it_is_called() {
    assert_eq!(run(entry("annotated", "tick")), Ok(()));
    tick();
    assert_eq!(TICKS.load(Ordering::Relaxed), 2);
    assert_eq!(run(entry("annotated", "from_macro")), Ok(()));
}

#[test]
fn an_async_function_runs_when_it_is_polled() {
    let (call, run) = scheduler::__private::resolve_for_test(entry("annotated", "waits"));
    let Some(Call::Async(begin)) = call else {
        panic!("`waits` is async");
    };
    drop(begin(&run));
    assert_eq!(WAITS.load(Ordering::Relaxed), 0);
    assert_eq!(chain(entry("annotated", "waits")), ["outer", &fmt::Error.to_string()]);
    assert_eq!(WAITS.load(Ordering::Relaxed), 1);
}

#[test]
fn an_error_keeps_its_text_and_its_causes() {
    let cause = fmt::Error.to_string();
    assert_eq!(chain(entry("annotated", "fails")), ["outer", &cause]);
    assert_eq!(chain(entry("annotated", "boxed")), ["outer", &cause]);
    assert_eq!(chain(entry("annotated", "shown")), ["x"]);
    assert_eq!(chain(entry("jobs::nested", "sweep")), ["nothing to sweep"]);
    assert_eq!(chain(entry("jobs", "report")), ["the printer is out of paper"]);
    assert_eq!(chain(entry("hostile", "settle")), ["no prelude here"]);
}

#[test]
fn a_circle_of_causes_ends() {
    assert_eq!(chain(entry("annotated", "circular")).len(), 33);
}
