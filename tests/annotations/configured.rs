//! Settings and pools, as a user of the builder meets them.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use chrono::TimeDelta;
use scheduler::engine::{NextFireTime, Trigger, TriggerContext};
use scheduler::{Attribute, Builder, ManualClock, Pool, Schedule, Scheduler, scheduled, tasks};

type Said = Arc<Mutex<Vec<String>>>;

#[scheduled(fixed_rate = "${report.every:10s}", name = "report")]
fn report(runs: &Runs) {
    runs.note();
}

#[scheduled(cron = "${nightly.cron:-}")]
fn nightly(runs: &Runs) {
    runs.note();
}

#[scheduled(fixed_delay = "5s", pool = "io", enabled = "${import.enabled:true}")]
fn import(runs: &Runs) {
    runs.note();
}

/// The names of the threads that have run a task, in order.
#[derive(Clone, Default)]
struct Runs(Arc<Mutex<Vec<String>>>);

impl Runs {
    fn note(&self) {
        let name = thread::current().name().unwrap_or_default().to_owned();
        self.0.lock().unwrap().push(name);
    }

    fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

fn builder() -> (Builder, ManualClock, Runs, Said) {
    let clock = ManualClock::at("2026-03-27T07:59:00Z".parse().unwrap());
    let (runs, said) = (Runs::default(), Said::default());
    let heard = Arc::clone(&said);
    let builder = Scheduler::builder()
        .pool_size(1)
        .zone("UTC")
        .environment([("HOME", "/")])
        .settings("none.toml", "")
        .manage(runs.clone())
        .clock(Arc::new(clock.clone()))
        .messages(move |text| heard.lock().unwrap().push(text.to_owned()));
    (builder, clock, runs, said)
}

#[track_caller]
fn fault_of(builder: Builder, parts: &[&str]) {
    let text = builder.spawn().expect_err("it is refused").to_string();
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
}

#[test]
fn a_task_runs_on_the_pool_it_names() {
    let (builder, clock, runs, _said) = builder();
    let scheduler = builder
        .pool("io", Pool::new().size(1).thread_name_prefix("disk-"))
        .tasks(tasks![import])
        .task("here", Schedule::once("0s"), {
            let runs = runs.clone();
            move |_| runs.note()
        })
        .spawn()
        .unwrap();
    clock.await_parked(2);
    let mut names = runs.0.lock().unwrap().clone();
    names.sort();
    assert_eq!(names, ["disk-1", "scheduling-1"]);
    scheduler.shutdown().unwrap();
}

#[test]
fn a_pool_that_no_setting_configures_is_refused() {
    let (builder, ..) = builder();
    let builder = builder.pool("IO", Pool::new()).tasks(tasks![import]);
    fault_of(
        builder,
        &[
            "tests/annotations/configured.rs:",
            "there is no pool `io`; the pools are `default`, `IO`",
            "help: did you mean `IO`?\n",
            "or configure it: Scheduler::builder().pool(\"io\", Pool::new())\n",
            "or in settings:\n        [scheduler.pools.io]\n        size = 4",
        ],
    );
    let (builder, ..) = self::builder();
    fault_of(
        builder.tasks(tasks![import]),
        &[
            "there is no pool `io`; the only one is `default`\n",
            "help: configure it: Scheduler::builder().pool(\"io\", Pool::new())\n",
        ],
    );
}

#[scheduled(fixed_delay = "1h", initial_delay = "1h", scheduler = "io")]
fn as_in_spring() {}

#[test]
fn springs_name_for_the_pool_means_the_same() {
    let (builder, ..) = builder();
    let builder = builder.tasks(tasks![as_in_spring]).pool("io", Pool::new().size(1));
    let scheduler = builder.spawn().unwrap();
    assert_eq!(&*scheduler.tasks().list()[0].facts.pool, "io");
    scheduler.shutdown().unwrap();
}

#[test]
fn the_settings_of_a_pool_that_is_not_there_can_be_pasted() {
    let toml = "[scheduler.tasks.import]\npool = \"disk & net\"\n";
    let (builder, ..) = builder();
    let builder = builder.tasks(tasks![import]).settings("app.toml", toml);
    fault_of(builder, &["[scheduler.pools.\"disk & net\"]\n"]);

    let (builder, ..) = self::builder();
    let long = "x".repeat(10 << 10);
    let builder = builder.tasks(tasks![import]).set("tasks.import.pool", &long);
    let text = builder.spawn().expect_err("it is refused").to_string();
    assert!(text.contains("help: write the name of one of them"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() < 400), "{text}");
}

#[scheduled(cron = "${audit.cron:@daily}", zone = "${audit.zone:UTC}", pool = "ledger")]
fn audit(_books: &Books) {}

/// A value that no builder manages.
struct Books;

#[test]
fn one_fault_of_a_task_does_not_hide_the_others() {
    let toml = "[audit]\ncron = \"0 0 25 * * *\"\nzone = \"Europe/Berlln\"\n";
    let builder = builder().0.tasks(tasks![audit]).settings("app.toml", toml);
    fault_of(
        builder,
        &[
            "4 faults were found",
            "wants `&annotations::configured::Books`, which is not managed",
            "hour `25` is out of range 0-23",
            "unknown time zone `Europe/Berlln`",
            "there is no pool `ledger`",
        ],
    );
}

#[test]
fn settings_of_a_task_that_misses_its_state_are_judged() {
    let toml = "[scheduler.tasks.audit]\npool = \"default\"\nmisfire = \"never\"\n";
    let builder = builder().0.tasks(tasks![audit]).settings("app.toml", toml);
    let error = builder.spawn().expect_err("it is refused");
    assert_eq!(error.faults().len(), 2, "{error}");
    assert!(
        error.faults()[1].contains("app.toml:3: `annotations::configured::audit`: "),
        "{error}"
    );
}

#[test]
fn pools_that_cannot_be_are_refused_together() {
    let (builder, ..) = builder();
    let builder = builder
        .tasks(tasks![])
        .pool_size(0)
        .pool("default", Pool::new().size(7))
        .pool("a\nb", Pool::new())
        .pool("", Pool::new().size(0))
        .pool("io", Pool::new().thread_name_prefix("a\0b"));
    fault_of(
        builder,
        &[
            "6 faults were found",
            "the pool `default` has `0` threads",
            "the pool `default` is the one of tasks that name none",
            "the name `a\\nb` of a pool has a control character in it",
            "the name `` of a pool is empty",
            "the pool `` has `0` threads",
            "the thread-name prefix `a\\0b` of the pool `io` has a control character in it",
        ],
    );
    let toml = "[scheduler.pools.default]\nsize = 7\n";
    let builder = self::builder().0.tasks(tasks![]).settings("app.toml", toml);
    fault_of(builder, &["1 fault was found", "the pool `default` is the one"]);
}

#[test]
fn settings_make_and_size_pools() {
    let (builder, ..) = builder();
    let toml = "[scheduler]\npool.size = 3\n[scheduler.pools.io]\nsize = 7\n";
    let report =
        builder.settings("app.toml", toml).tasks(tasks![import]).dry_run().unwrap().to_string();
    for part in ["scheduler.pool.size", "3", "app.toml:2", "scheduler.pools.io.size", "7"] {
        assert!(report.contains(part), "`{part}` is not in:\n{report}");
    }
}

#[test]
fn a_table_without_a_word_is_a_pool() {
    let (builder, ..) = builder();
    let builder = builder.settings("app.toml", "[scheduler.pools.io]\n").tasks(tasks![import]);
    let report = builder.dry_run().unwrap().to_string();
    assert!(report.contains("scheduler.pools.io.thread-name-prefix"), "{report}");
}

#[test]
fn settings_outside_of_their_table_are_a_warning() {
    let (builder, _clock, _runs, said) = builder();
    let toml = "pool.size = 8\n[tasks.report]\ncron = \"@daily\"\n[report]\nevery = \"1m\"\n";
    let scheduler = builder.settings("app.toml", toml).tasks(tasks![report]).spawn().unwrap();
    scheduler.shutdown().unwrap();
    let said = said.lock().unwrap();
    // Other tests run the same tasks meanwhile, which is a warning too.
    let is_meant = |text: &&String| text.starts_with("WARN") && text.contains("has no effect");
    let [size, cron] = said.iter().filter(is_meant).collect::<Vec<_>>()[..] else {
        panic!("{said:#?}")
    };
    assert!(
        size.contains("app.toml:1: `pool.size` has no effect") && size.contains("`[scheduler]`")
    );
    assert!(cron.contains("write `[scheduler.tasks.report]`"), "{cron}");
}

#[test]
fn a_variable_of_a_task_that_is_added_later_is_not_said_to_be_lost() {
    let (builder, _clock, _runs, said) = builder();
    let builder = builder.environment([("SCHEDULER_TASKS_FEED_7_FIXED_RATE", "3h")]);
    let scheduler = builder.tasks(tasks![]).spawn().unwrap();
    let warning = said.lock().unwrap().iter().find(|text| text.starts_with("WARN")).cloned();
    let warning = warning.unwrap_or_default();
    assert!(warning.contains("has no effect as yet: there is no task of this name"), "{warning}");
    let feed = scheduler.tasks().add("feed-7", Schedule::fixed_rate("1h"), |_| {}).unwrap();
    assert_eq!(&*feed.snapshot().facts.rule, "every 3h");
    scheduler.shutdown().unwrap();
}

#[test]
fn the_dry_run_names_what_the_program_says() {
    let check = |builder: Builder, expected: &[(&str, &str, &str)]| {
        let report = builder.tasks(tasks![]).dry_run().unwrap().to_string();
        let lines = report.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let lines: Vec<_> = lines.map(|words| words.join(" ")).collect();
        for (key, value, source) in expected {
            let line = format!("scheduler.{key} {value} {source}");
            assert!(lines.contains(&line), "`{line}` is not in:\n{report}");
        }
    };
    let limit = "shutdown.await-termination-period";
    let plain = || Scheduler::builder().environment([("TZ", "Asia/Tokyo")]);
    check(
        plain(),
        &[
            ("zone", "Asia/Tokyo", "env TZ"),
            ("thread-name-prefix", "scheduling-", "default"),
            (limit, "30s", "default"),
        ],
    );
    let builder = plain()
        .zone("UTC")
        .pool_size(7)
        .thread_name_prefix("t-")
        .await_termination(Duration::from_secs(5))
        .pool("io", Pool::new().size(3));
    check(
        builder,
        &[
            ("zone", "UTC", "builder.zone(…)"),
            ("pool.size", "7", "builder.pool_size(…)"),
            ("thread-name-prefix", "t-", "builder.thread_name_prefix(…)"),
            (limit, "5s", "builder.await_termination(…)"),
            ("pools.io.size", "3", "builder.pool(\"io\", …)"),
            ("pools.io.thread-name-prefix", "io-", "default"),
        ],
    );
    let at_once = plain().await_termination(Duration::from_secs(9));
    let source = "builder.set(\"shutdown.await-termination\"), shutdown.await-termination = false";
    check(at_once.set("shutdown.await-termination", "false"), &[(limit, "0s", source)]);
    let set = plain().zone("UTC").pool_size(7).set("pool.size", "2");
    let expected = ("pool.size", "2", "builder.set(\"pool.size\")");
    check(
        set.set("zone", "Asia/Tokyo"),
        &[expected, ("zone", "Asia/Tokyo", "builder.set(\"zone\")")],
    );
}

/// A scheduler that finds no zone, and what it says of that.
fn without_zone(schedule: Schedule) -> (Scheduler, impl Fn() -> usize) {
    let said = Said::default();
    let heard = Arc::clone(&said);
    let scheduler = Scheduler::builder()
        .tasks(tasks![])
        .environment([("TZ", "Nowhere/Land")])
        .messages(move |text| heard.lock().unwrap().push(text.to_owned()))
        .task("first", schedule, |_| {})
        .spawn()
        .unwrap();
    let doubts = move || {
        let text = "cron expressions without a zone go by UTC";
        said.lock().unwrap().iter().filter(|line| line.contains(text)).count()
    };
    (scheduler, doubts)
}

#[test]
fn a_missing_zone_is_told_of_where_a_cron_expression_goes_by_it() {
    let (scheduler, doubts) = without_zone(Schedule::cron("0 0 9 * * *"));
    assert_eq!(doubts(), 1);
    scheduler.shutdown().unwrap();
}

#[test]
fn a_missing_zone_is_told_of_once_some_task_goes_by_it() {
    let cron = || Schedule::cron("0 0 9 * * *");
    let (scheduler, doubts) = without_zone(cron().zone("Europe/Berlin"));
    let tasks = scheduler.tasks();
    tasks.add("second", Schedule::fixed_rate("1h").initial_delay("1h"), |_| {}).unwrap();
    tasks.add("third", cron().zone("UTC"), |_| {}).unwrap();
    tasks.get("second").unwrap().reschedule(cron()).unwrap();
    tasks.add("fourth", cron(), |_| {}).unwrap();
    scheduler.shutdown().unwrap();
    assert_eq!(doubts(), 1);
    let (scheduler, doubts) = without_zone(cron().zone("Europe/Berlin"));
    scheduler.tasks().add("second", Schedule::fixed_rate("1h"), |_| {}).unwrap();
    scheduler.shutdown().unwrap();
    assert_eq!(doubts(), 0, "every cron expression has a zone");
}

#[test]
fn no_error_shows_the_value_of_a_secret() {
    let secret = || Schedule::cron("${db.password}").zone("UTC");
    let with = |builder: Builder| builder.environment([("DB_PASSWORD", "hunter2 * *")]);
    let (builder, ..) = builder();
    let error = with(builder).tasks(tasks![]).task("sync", secret(), |_| {}).spawn().unwrap_err();
    let (text, debug) = (error.to_string(), format!("{error:?}"));
    assert!(
        text.contains("`cron`: its value is refused, and not shown: `db.password` is a secret")
    );
    assert!(text.contains("db.password: env DB_PASSWORD"), "{text}");
    assert!(!text.contains("hunter2") && !debug.contains("hunter2"), "{text} {debug}");
    // A task that is added or rescheduled later shows none either.
    let (builder, ..) = self::builder();
    let scheduler = with(builder).tasks(tasks![]).spawn().unwrap();
    let tasks = scheduler.tasks();
    let added = tasks.add("sync", secret(), |_| {}).unwrap_err().to_string();
    tasks.add("other", Schedule::fixed_rate("1h"), |_| {}).unwrap();
    let changed = tasks.get("other").unwrap().reschedule(secret()).unwrap_err().to_string();
    for text in [added, changed] {
        assert!(text.contains("`db.password` is a secret") && !text.contains("hunter2"), "{text}");
    }
    scheduler.shutdown().unwrap();
    // A file that is no TOML.
    let (builder, ..) = self::builder();
    let broken = builder.settings("app.toml", "[db]\npassword = hunter2\n").tasks(tasks![]);
    let text = broken.spawn().unwrap_err().to_string();
    assert!(text.contains("app.toml:2: not valid TOML") && !text.contains("hunter2"), "{text}");
}

#[test]
fn the_higher_setting_wins() {
    let toml = "[scheduler.tasks.report]\nfixed-rate = \"20s\"\n";
    let check = |builder: Builder, source: &str, value: &str| {
        let report = builder.tasks(tasks![report]).dry_run().unwrap().to_string();
        let line = report.lines().find(|line| line.contains("fixed_rate")).unwrap().to_owned();
        assert!(line.contains(value) && line.contains(source), "{line}");
    };
    check(builder().0, "tests/annotations/configured.rs:", "10s");
    check(builder().0.set("report.every", "15s"), "tests/annotations/configured.rs:", "15s");
    let placeholder = builder().0.environment([("REPORT_EVERY", "16s")]);
    check(placeholder, "written `${report.every:10s}`; report.every: env REPORT_EVERY", "16s");
    check(builder().0.settings("app.toml", toml), "app.toml:2", "20s");
    let environment = [("SCHEDULER_TASKS_REPORT_FIXED_RATE", "30s")];
    let with_environment = || builder().0.settings("app.toml", toml).environment(environment);
    check(with_environment(), "env SCHEDULER_TASKS_REPORT_FIXED_RATE", "30s");
    let set = with_environment().set("scheduler.tasks.report.fixed-rate", "40s");
    check(set, "builder.set", "40s");
}

#[test]
fn an_override_has_its_effect_and_is_told() {
    let (builder, clock, runs, said) = builder();
    let scheduler = builder
        .environment([("SCHEDULER_TASKS_REPORT_CRON", "0 0 8 * * *")])
        .tasks(tasks![report])
        .spawn()
        .unwrap();
    clock.await_parked(1);
    assert_eq!(runs.count(), 0, "not at a fixed rate");
    clock.advance(Duration::from_secs(60));
    clock.await_parked(1);
    assert_eq!(runs.count(), 1, "at eight");
    scheduler.shutdown().unwrap();
    let said = said.lock().unwrap();
    let note = "cron overridden by env SCHEDULER_TASKS_REPORT_CRON (was fixed_rate = ";
    assert!(said.iter().any(|text| text.contains(note)), "{said:#?}");
}

#[derive(Debug)]
struct Hourly;

impl Trigger for Hourly {
    fn next_fire_time(&self, context: &TriggerContext) -> NextFireTime {
        Ok(Some(context.now() + TimeDelta::hours(1)))
    }
}

#[test]
fn a_task_in_code_has_exactly_one_trigger() {
    let (builder, ..) = builder();
    let own = || Schedule::on_trigger(Hourly);
    let builder = builder
        .tasks(tasks![])
        .task("two", Schedule::cron("@daily").set(Attribute::FixedRate, "1s"), |_| {})
        .task("own", own().set(Attribute::FixedDelay, "1s"), |_| {})
        .task("late", own().initial_delay("1s"), |_| {})
        .task("far", own().zone("UTC"), |_| {});
    fault_of(
        builder,
        &[
            "4 faults were found",
            "`two`: `fixed_rate` conflicts with `cron`: a task has exactly one trigger",
            "`own`: `fixed_delay` conflicts with a trigger of its own",
            "`late`: `initial_delay` is of no use beside a trigger of its own",
            "`far`: `zone` is of no use beside a trigger of its own",
            "help: remove `zone`",
        ],
    );
}

#[test]
fn settings_replace_a_trigger_of_the_tasks_own() {
    let (builder, clock, runs, _said) = builder();
    let noted = runs.clone();
    let scheduler = builder
        .tasks(tasks![])
        .task("own", Schedule::on_trigger(Hourly), move |_| noted.note())
        .set("tasks.own.fixed_rate", "10s")
        .spawn()
        .unwrap();
    clock.await_parked(1);
    assert_eq!(runs.count(), 1);
    clock.advance(Duration::from_secs(10));
    clock.await_parked(1);
    assert_eq!(runs.count(), 2);
    scheduler.shutdown().unwrap();
}

#[test]
fn a_jitter_has_to_be_shorter_than_the_rate_that_counts() {
    let schedule = || Schedule::fixed_rate("1h").jitter("5m").set(Attribute::Overlap, "allow");
    let task = |builder: Builder| builder.tasks(tasks![]).task("jittery", schedule(), |_| {});
    let builder = task(self::builder().0).set("tasks.jittery.fixed_rate", "1m");
    fault_of(builder, &["1 fault was found", "invalid `jitter`: it has to be shorter", "`1m`"]);
    let builder = task(self::builder().0).set("tasks.jittery.fixed_delay", "1m");
    builder.spawn().unwrap().shutdown().unwrap();
}

#[test]
fn tasks_can_be_switched_off() {
    let (builder, clock, runs, said) = builder();
    let scheduler = builder
        .set("import.enabled", "false")
        .pool("io", Pool::new().size(1))
        .tasks(tasks![nightly, import])
        .spawn()
        .unwrap();
    clock.advance(Duration::from_secs(3_600));
    assert_eq!(runs.count(), 0);
    scheduler.shutdown().unwrap();
    let banner = said.lock().unwrap()[0].clone();
    assert!(
        banner.contains(
            "disabled: annotations::configured::nightly, annotations::configured::import"
        ),
        "{banner}"
    );
    assert!(!said.lock().unwrap().iter().any(|text| text.contains("no scheduled tasks")));
}

#[test]
fn all_mistakes_in_settings_are_told_together() {
    let (builder, ..) = builder();
    let toml = "[scheduler]\npool.sise = 3\n[scheduler.tasks.reprot]\ncron = \"@daily\"\n";
    let builder = builder
        .settings("app.toml", toml)
        .environment([("SCHEDULER_TASKS_REPORT_FIXED_RATE", "5 parsecs")])
        .tasks(tasks![report]);
    fault_of(
        builder,
        &[
            "3 faults were found",
            "app.toml:2",
            "did you mean `scheduler.pool.size`",
            "app.toml:4: no task named `reprot`; did you mean `report`?",
            "env SCHEDULER_TASKS_REPORT_FIXED_RATE: `report`: invalid `fixed_rate`: ",
        ],
    );
}

#[test]
fn f_cf2_a_rate_that_is_hardly_meant_is_told_with_its_source_and_an_example() {
    let values = [
        "-5s",
        "0s",
        "NaN",
        "1e400s",
        "１０s",
        "18446744073709551616ms",
        "99999999999d",
        "5 parsecs",
        "",
        "5",
    ];
    for value in values {
        let (builder, ..) = builder();
        let builder = builder.environment([("SCHEDULER_TASKS_REPORT_FIXED_RATE", value)]);
        let source = "env SCHEDULER_TASKS_REPORT_FIXED_RATE: `report`: invalid `fixed_rate`: ";
        fault_of(builder.tasks(tasks![report]), &[source, "help: "]);
    }
}

#[scheduled(fixed_rate = "10s", name = "slow", timeout = "1s", jitter = "5s", retry(max = 3))]
fn slow(runs: &Runs) -> Result<(), String> {
    runs.note();
    Err("it is slow".to_owned())
}

#[scheduled(fixed_rate = "10s", timeout = "${t:-}", jitter = "${j:-}", retry(max = "${m:-}"))]
fn without(runs: &Runs) -> Result<(), String> {
    slow(runs)
}

#[test]
fn settings_switch_off_what_a_task_can_do_without() {
    let (builder, clock, runs, said) = builder();
    let toml = "[scheduler]\nshutdown.await-termination-period = \"0s\"\n[scheduler.tasks.slow]\n\
                timeout = \"-\"\njitter = \"-\"\nretry.max = \"-\"\n";
    let scheduler =
        builder.settings("app.toml", toml).tasks(tasks![slow, without]).spawn().unwrap();
    for runs_so_far in [2, 4] {
        clock.await_parked(1);
        assert_eq!(runs.count(), runs_so_far, "neither late nor again");
        clock.advance(Duration::from_secs(10));
    }
    clock.await_parked(1);
    scheduler.shutdown().unwrap();
    let said = said.lock().unwrap().join("\n");
    assert!(said.contains("timeout overridden by app.toml:4 (was \"1s\")"), "{said}");
    let (builder, ..) = self::builder();
    let zero = [("SCHEDULER_TASKS_SLOW_TIMEOUT", "0s"), ("SCHEDULER_TASKS_SLOW_JITTER", "0s")];
    fault_of(
        builder.environment(zero).tasks(tasks![slow]),
        &["1 fault", "help: for no limit, write `SCHEDULER_TASKS_SLOW_TIMEOUT=-`"],
    );
}

#[test]
fn faults_of_a_file_come_in_the_order_of_its_lines() {
    let (builder, ..) = builder();
    let toml = "[scheduler.tasks.slow]\nfixed-rate = \"5 parsecs\"\n[scheduler.tasks.reprot]\n\
                cron = \"@daily\"\n[scheduler.tasks.report]\ntimeout = 30\n[scheduler]\nzoen = 1\n";
    let error = builder.settings("app.toml", toml).tasks(tasks![report, slow]).spawn().unwrap_err();
    let places: Vec<&str> =
        error.faults().iter().map(|fault| &fault[.."app.toml:n".len()]).collect();
    assert_eq!(places, ["app.toml:2", "app.toml:4", "app.toml:6", "app.toml:8"], "{error}");
    assert!(error.faults()[0].contains("`slow`: invalid `fixed-rate`: "), "{error}");
    assert!(error.faults()[2].contains("write `timeout = \"30s\"` or"), "{error}");
}

#[test]
fn settings_without_effect_are_reported_beside_faults() {
    let (builder, _clock, _runs, said) = builder();
    let variables = [("SCHEDULER_TASKS_REPROT_CRON", "-"), ("SCHEDULER_POOL_SIZE", "0")];
    let error = builder.environment(variables).tasks(tasks![report]).spawn().unwrap_err();
    assert_eq!(error.faults().len(), 1, "{error}");
    let said = said.lock().unwrap();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("WARN") && said[0].contains("SCHEDULER_TASKS_REPROT_CRON"));
}

#[test]
fn a_variable_that_nothing_reads_is_a_warning() {
    let (builder, _clock, _runs, said) = builder();
    let builder = builder.environment([("SCHEDULER_TASKS_REPROT_CRON", "-")]);
    let scheduler = builder.tasks(tasks![report]).spawn().unwrap();
    scheduler.shutdown().unwrap();
    let said = said.lock().unwrap();
    let warning = said.iter().find(|text| text.contains("SCHEDULER_TASKS_REPROT_CRON"));
    let warning = warning.expect("it is told");
    assert!(warning.starts_with("WARN") && warning.contains("SCHEDULER_TASKS_REPORT_CRON"));
}
