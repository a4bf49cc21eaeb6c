//! The arguments of scheduled functions and methods.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use scheduler::{
    Builder, Clock, ManualClock, Run, Schedule, Scheduler, Shutdown, State, Until, scheduled, tasks,
};

/// The steps of the tasks, in order.
#[derive(Clone, Default)]
struct Diary(Arc<Mutex<Vec<String>>>);

impl Diary {
    fn write(&self, line: impl Into<String>) {
        self.lines().push(line.into());
    }

    fn lines(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap()
    }

    fn sorted(&self) -> Vec<String> {
        let mut lines = self.lines().clone();
        lines.sort();
        lines
    }
}

struct Database(&'static str);
struct Cache;

trait Mail: Send + Sync {
    fn address(&self) -> String;
}

struct Fake;

impl Mail for Fake {
    fn address(&self) -> String {
        "fake@example.org".to_owned()
    }
}

#[scheduled(fixed_rate = "1m")]
fn plain(diary: &Diary, database: &Database, cache: Option<&Cache>) {
    diary.write(format!("plain {} {}", database.0, cache.is_some()));
}

#[scheduled(fixed_rate = "1m")]
async fn future(diary: &Diary, mail: &dyn Mail, run: Run) -> Result<(), String> {
    std::future::ready(()).await;
    diary.write(format!("future {} {} {}", mail.address(), run.number(), run.task_name()));
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "that is how these are taken")]
#[scheduled(fixed_rate = "1m")]
fn values(
    diary: State<Diary>,
    shutdown: Shutdown,
    clock: Arc<dyn Clock>,
    cache: Option<State<Cache>>,
) {
    let now = clock.wall();
    diary.write(format!("values {} {now} {}", shutdown.stop_requested(), cache.is_some()));
}

struct Reports {
    region: &'static str,
}

#[scheduled]
impl Reports {
    #[scheduled(fixed_rate = "1m")]
    fn sweep(&self, diary: &Diary) {
        diary.write(format!("sweep {}", self.region));
    }

    #[scheduled(fixed_rate = "1m")]
    async fn send(&self, diary: State<Diary>) {
        std::future::ready(()).await;
        diary.write(format!("send {}", self.region));
    }
}

const THREADS: usize = 2;

fn builder() -> (Builder, ManualClock, Diary) {
    let clock = ManualClock::at("2026-03-27T07:59:00Z".parse().unwrap());
    let builder = Scheduler::builder()
        .pool_size(THREADS)
        .zone("UTC")
        .environment([("PATH", "")])
        .clock(Arc::new(clock.clone()))
        .messages(|_| {});
    let diary = Diary::default();
    (builder.manage(diary.clone()), clock, diary)
}

#[test]
fn functions_get_managed_values_and_what_the_scheduler_has() {
    let (builder, clock, diary) = builder();
    let scheduler = builder
        .manage(Database("db"))
        .manage_shared::<dyn Mail>(Arc::new(Fake))
        .tasks(tasks![plain, future, values])
        .spawn()
        .unwrap();
    clock.await_parked(THREADS);
    assert_eq!(
        diary.sorted(),
        [
            "future fake@example.org 1 annotations::injected::future",
            "plain db false",
            "values false 2026-03-27 07:59:00 UTC false",
        ]
    );
    clock.advance(Duration::from_secs(60));
    clock.await_parked(THREADS);
    assert!(
        diary
            .lines()
            .contains(&"future fake@example.org 2 annotations::injected::future".to_owned())
    );
    scheduler.shutdown().unwrap();
}

#[test]
fn a_method_runs_on_the_managed_value_of_its_type() {
    let (builder, clock, diary) = builder();
    let scheduler = builder
        .manage(Reports { region: "here" })
        .tasks(tasks![Reports::sweep, Reports::send])
        .spawn()
        .unwrap();
    clock.await_parked(THREADS);
    assert_eq!(diary.sorted(), ["send here", "sweep here"]);
    scheduler.shutdown().unwrap();
}

#[test]
fn a_method_runs_once_for_each_named_value_as_a_task_of_its_own() {
    let (builder, clock, diary) = builder();
    let scheduler = builder
        .manage_named("eu", Reports { region: "eu" })
        .manage_named("us", Reports { region: "us" })
        .tasks(tasks![Reports::sweep])
        .expect_tasks(["annotations::injected::Reports::sweep[eu]", "sweep[us]"])
        .spawn()
        .unwrap();
    clock.await_parked(THREADS);
    assert_eq!(diary.sorted(), ["sweep eu", "sweep us"]);
    scheduler.shutdown().unwrap();
}

#[test]
fn everything_that_is_missing_is_said_at_once_and_nothing_runs() {
    let (builder, _clock, diary) = builder();
    let error = builder
        .manage(Arc::new(Database("wrapped")))
        .tasks(tasks![plain, future, Reports::sweep])
        .spawn()
        .unwrap_err();
    let text = error.to_string();
    assert_eq!(error.faults().len(), 3, "{text}");
    for part in [
        "cannot start: 3 faults were found, and nothing has run",
        "`annotations::injected::plain` wants `&annotations::injected::Database`, which is not managed",
        "note: `Arc<annotations::injected::Database>` is: give the `annotations::injected::Database` itself",
        "`annotations::injected::future` wants `&dyn annotations::injected::Mail`, which is not managed",
        "`annotations::injected::Reports::sweep` wants `&annotations::injected::Reports`, which is not managed",
        "tests/annotations/injected.rs:",
        "help: before the start, .manage_shared::<dyn annotations::injected::Mail>(Arc::new(…))",
        "help: before the start, .manage::<annotations::injected::Reports>(…)",
    ] {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
    assert!(diary.lines().is_empty());
}

#[scheduled(fixed_rate = "10s")]
fn lent(run: &Run, diary: &Diary) {
    diary.write(format!("run {}", run.number()));
}

#[scheduled(fixed_rate = "10s")]
async fn lent_for_a_while(diary: &Diary, run: &scheduler::Run) {
    std::future::ready(()).await;
    diary.write(format!("async run {}", run.number()));
}

mod race {
    /// A type of the program's own with the name of the scheduler's.
    pub(super) struct Run(pub(super) &'static str);
}

#[scheduled(fixed_rate = "10s")]
fn of_its_own(run: &race::Run, diary: &Diary) {
    diary.write(run.0);
}

#[scheduled(fixed_rate = "10s")]
async fn of_its_own_for_a_while(run: &race::Run, diary: &Diary) {
    diary.write(run.0);
}

#[test]
fn the_run_is_lent_too_and_is_not_mistaken_for_a_type_of_that_name() {
    let (builder, clock, diary) = builder();
    let scheduler = builder
        .manage(race::Run("marathon"))
        .tasks(tasks![lent, lent_for_a_while, of_its_own, of_its_own_for_a_while])
        .spawn()
        .unwrap();
    clock.await_parked(THREADS);
    assert_eq!(diary.sorted(), ["async run 1", "marathon", "marathon", "run 1"]);
    scheduler.shutdown().unwrap();
    let (builder, ..) = self::builder();
    let text = builder.tasks(tasks![of_its_own]).spawn().unwrap_err().to_string();
    assert!(
        text.contains("wants `&annotations::injected::race::Run`, which is not managed"),
        "{text}"
    );
}

#[test]
fn two_values_of_one_type_need_names() {
    let (builder, _clock, _diary) = builder();
    let builder = builder.manage(Database("one")).manage(Database("two"));
    let text = builder.tasks(tasks![]).spawn().unwrap_err().to_string();
    assert!(text.contains("two values of `annotations::injected::Database` are managed"), "{text}");
    assert!(text.contains("manage_named"), "{text}");
}

#[test]
fn tasks_are_closures_too() {
    let (builder, clock, diary) = builder();
    let (first, second) = (diary.clone(), diary.clone());
    let scheduler = builder
        .tasks(tasks![])
        .task("tick", Schedule::fixed_rate("10s"), move |run| {
            first.write(format!("{} {}", run.task_name(), run.number()));
        })
        .configure(move |tasks| {
            tasks.add_async("tock", Schedule::once(Duration::from_secs(10)), move |run| {
                let diary = second.clone();
                async move {
                    diary.write(run.task_name());
                    Ok::<(), std::io::Error>(())
                }
            });
        })
        .spawn()
        .unwrap();
    clock.await_parked(THREADS);
    clock.advance(Duration::from_secs(10));
    clock.await_parked(THREADS);
    assert_eq!(diary.sorted(), ["tick 1", "tick 2", "tock"]);
    scheduler.shutdown().unwrap();
}

#[test]
fn a_listed_function_without_an_annotation_is_a_fault() {
    let (builder, _clock, _diary) = builder();
    let text = builder.tasks(tasks![builder_of_nothing]).spawn().unwrap_err().to_string();
    assert!(text.contains("`builder_of_nothing` has no `#[scheduled(…)]`"), "{text}");
}

fn builder_of_nothing() {}

#[test]
fn a_task_that_is_expected_and_not_there_is_a_fault() {
    let (builder, _clock, _diary) = builder();
    let builder = builder.manage(Database("db")).tasks(tasks![plain]);
    let text = builder.expect_tasks(["plian", "plain"]).spawn().unwrap_err().to_string();
    assert!(text.contains("no task named `plian`; did you mean `plain`?"), "{text}");
    assert!(text.contains("use"), "{text}");
}

/// Writes when it is dropped.
struct Guard(&'static str, Diary);

impl Drop for Guard {
    fn drop(&mut self) {
        self.1.write(format!("{} is dropped", self.0));
        assert_ne!(self.0, "faulty", "this guard is faulty");
    }
}

struct Faulty(#[expect(dead_code, reason = "it is there to be dropped")] Guard);
struct Other(#[expect(dead_code, reason = "it is there to be dropped")] Guard);

#[scheduled(fixed_rate = "1h")]
fn guarded(guard: &Guard) {
    guard.1.write("a run");
}

#[test]
fn a_value_lives_until_the_stop_also_if_no_task_takes_it() {
    let diary = Diary::default();
    let guard = |name| Guard(name, diary.clone());
    let said = diary.clone();
    let scheduler = Scheduler::builder()
        .messages(move |text| said.write(text))
        .manage(guard("taken"))
        .manage_named("eu", guard("named"))
        .manage(Other(guard("untaken")))
        .manage(Faulty(guard("faulty")))
        .tasks(tasks![guarded])
        .spawn()
        .unwrap();
    scheduler.wait_for("guarded", Until::runs(1), Duration::from_secs(60)).unwrap();
    let is_dropped = |diary: &Diary| diary.lines().iter().any(|line| line.ends_with("dropped"));
    assert!(!is_dropped(&diary), "{:?}", diary.lines());
    scheduler.tasks().remove("guarded").unwrap();
    assert!(!is_dropped(&diary), "{:?}", diary.lines());
    scheduler.shutdown().unwrap();
    let lines = diary.lines().clone();
    let at = |text: &str| lines.iter().position(|line| line.starts_with(text));
    let stopped = at("INFO  stopped after").expect("the message of the stop");
    for name in ["taken", "named", "untaken", "faulty"] {
        let dropped = at(&format!("{name} is dropped")).expect(name);
        assert!(dropped > stopped, "{name}: {lines:?}");
    }
    assert!(at("ERROR scheduler: a destructor panicked").is_some(), "{lines:?}");
}
