//! Settings as a whole: many places, one answer, all faults.

use std::io;
use std::path::Path;

use scheduler_expr::Attribute;
use scheduler_expr::parse_period;

use super::globals::Set;
use super::source::Valued;
use super::*;

const REPORT: TaskWords<'_> = task(
    "shop::jobs::report",
    &[(Attribute::Cron, "0 0 9 * * MON-FRI"), (Attribute::Zone, "Europe/Berlin")],
);
const PURGE: TaskWords<'_> =
    task("shop::purge", &[(Attribute::FixedDelay, "5s"), (Attribute::InitialDelay, "1m")]);

const fn task(
    name: &'static str,
    attributes: &'static [(Attribute, &'static str)],
) -> TaskWords<'static> {
    TaskWords { name, place: String::new(), attributes }
}

/// The two tasks, each with a place in the source.
fn tasks() -> [TaskWords<'static>; 2] {
    [
        TaskWords { place: "src/jobs.rs:12".to_owned(), ..REPORT },
        TaskWords { place: "src/purge.rs:3".to_owned(), ..PURGE },
    ]
}

/// The attributes that somebody set.
fn given(task: &Effective) -> Vec<Attribute> {
    Attribute::ALL.iter().copied().filter(|attribute| task.get(*attribute).is_some()).collect()
}

fn missing(_: &Path) -> io::Result<String> {
    Err(io::ErrorKind::NotFound.into())
}

/// Settings from three places, none of which needs a disk.
#[derive(Default)]
struct Places<'a> {
    set: &'a [(&'a str, &'a str)],
    env: &'a [(&'a str, &'a str)],
    toml: &'a str,
}

impl Places<'_> {
    fn load(&self) -> Result<Settings, Vec<Fault>> {
        let set = self.set.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned()));
        Settings::load(Given {
            set: set.collect(),
            environment: self.env.iter().copied().collect(),
            text: Some(("scheduler.toml".to_owned(), self.toml.to_owned())),
            read: missing,
        })
    }

    fn apply(&self) -> Applied {
        let settings = self.load().expect("readable places");
        settings.apply(&Known { tasks: &tasks(), pools: &["io"] })
    }

    fn faults(&self) -> Vec<String> {
        self.apply().faults.iter().map(Fault::to_string).collect()
    }

    #[track_caller]
    fn check_fault(&self, expected: &str) {
        assert_eq!(self.faults(), [expected]);
    }

    fn remarks(&self) -> Vec<String> {
        let applied = self.apply();
        assert_eq!(applied.faults, []);
        applied.remarks.into_iter().map(|remark| remark.text).collect()
    }

    /// The first line of all faults, whose number is given.
    #[track_caller]
    fn check_first_lines(&self, expected: &[&str]) {
        let faults = self.faults();
        let lines: Vec<&str> = faults.iter().filter_map(|fault| fault.lines().next()).collect();
        assert_eq!(lines, expected);
    }
}

fn toml(text: &str) -> Places<'_> {
    Places { toml: text, ..Places::default() }
}

fn env<'a>(env: &'a [(&'a str, &'a str)]) -> Places<'a> {
    Places { env, ..Places::default() }
}

#[track_caller]
fn check_value(task: &Effective, attribute: Attribute, text: &str, source: &str) {
    let valued = task.get(attribute).expect("a value");
    assert_eq!((valued.text.as_str(), valued.source.to_string().as_str()), (text, source));
}

#[test]
fn the_annotation_counts_when_nothing_else_is_said() {
    let applied = Places::default().apply();
    let [report, purge] = applied.tasks.as_slice() else { panic!("two tasks") };
    check_value(report, Attribute::Cron, "0 0 9 * * MON-FRI", "src/jobs.rs:12");
    check_value(report, Attribute::Zone, "Europe/Berlin", "src/jobs.rs:12");
    check_value(purge, Attribute::InitialDelay, "1m", "src/purge.rs:3");
    assert_eq!(given(report).len(), 2);
    assert!(report.is_complete());
    assert!(applied.faults.is_empty() && applied.remarks.is_empty());
}

#[test]
fn higher_places_win_attribute_by_attribute() {
    let mut places = Places {
        set: &[("tasks.purge.jitter", "1s")],
        env: &[("SCHEDULER_TASKS_PURGE_JITTER", "2s"), ("SCHEDULER_TASKS_PURGE_TIMEOUT", "2s")],
        toml: "[scheduler.tasks.purge]\njitter = \"3s\"\ntimeout = \"3s\"\nfixed-delay = \"3s\"\n",
    };
    let applied = places.apply();
    let purge = &applied.tasks[1];
    check_value(purge, Attribute::Jitter, "1s", "builder.set(\"tasks.purge.jitter\")");
    check_value(purge, Attribute::Timeout, "2s", "env SCHEDULER_TASKS_PURGE_TIMEOUT");
    check_value(purge, Attribute::FixedDelay, "3s", "scheduler.toml:4");
    check_value(purge, Attribute::InitialDelay, "1m", "src/purge.rs:3");
    assert_eq!(
        places.remarks(),
        [
            "purge: fixed_delay overridden by scheduler.toml:4 (was \"5s\")",
            "purge: jitter overridden by builder.set(\"tasks.purge.jitter\") (was \"2s\")",
            "purge: timeout overridden by env SCHEDULER_TASKS_PURGE_TIMEOUT (was \"3s\")",
        ]
    );
    places.env = &[];
    assert_eq!(places.remarks()[2], "purge: timeout set by scheduler.toml:3");
}

#[test]
fn a_file_named_in_the_environment_stands_above_the_usual_one() {
    fn read(path: &Path) -> io::Result<String> {
        match path.to_str() {
            Some("/etc/other.toml") => Ok("[scheduler]\npool.size = 1\n".to_owned()),
            Some("scheduler.toml" | "./scheduler.toml") => {
                Ok("[scheduler]\npool.size = 2\nzone = \"UTC\"".to_owned())
            }
            _ => missing(path),
        }
    }
    let load = |path: &'static str| {
        let environment = [(FILE_VARIABLE, path)].into_iter().collect();
        Settings::load(Given { set: Vec::new(), environment, text: None, read })
    };
    let applied =
        load("/etc/other.toml").expect("two files").apply(&Known { tasks: &[], pools: &[] });
    assert_eq!(applied.globals.pool_size.map(|size| size.value), Some(1));
    let zone = applied.globals.zone.expect("a zone");
    assert_eq!(zone.valued.source, Source::File { path: "scheduler.toml".to_owned(), line: 3 });
    assert_eq!(load("./scheduler.toml").expect("one file").files.len(), 1);
    let faults = load("/nowhere.toml").expect_err("a fault");
    assert_eq!(faults.len(), 1);
    let text = faults[0].to_string();
    assert!(text.starts_with("env SCHEDULER_CONFIG: cannot read `/nowhere.toml`: "), "{text}");
}

#[test]
fn a_real_file_is_read() {
    let path = std::env::temp_dir().join(format!("settings-{}.toml", std::process::id()));
    std::fs::write(&path, "[scheduler]\nzone = \"UTC\"\n").expect("a writable folder");
    let environment = [(FILE_VARIABLE, path.to_str().expect("a plain path"))].into_iter().collect();
    let loaded = Settings::load(Given { environment, ..Given::of_process() });
    std::fs::remove_file(&path).expect("the file is there");
    let applied = loaded.expect("a readable file").apply(&Known { tasks: &[], pools: &[] });
    assert_eq!(applied.globals.zone.map(|zone| zone.value).as_deref(), Some("UTC"));
}

#[test]
fn all_broken_places_are_told_together() {
    let places = Places { env: &[(DRY_RUN_VARIABLE, "yes")], toml: "a = [", ..Places::default() };
    let faults = places.load().expect_err("two faults");
    assert!(faults.len() >= 2, "{faults:?}");
}

#[test]
fn another_kind_of_trigger_replaces_the_annotated_one() {
    let places = env(&[("SCHEDULER_TASKS_PURGE_CRON", "@daily")]);
    let applied = places.apply();
    assert_eq!(given(&applied.tasks[1]).len(), 1);
    assert_eq!(
        places.remarks(),
        ["purge: cron overridden by env SCHEDULER_TASKS_PURGE_CRON (was fixed_delay = \"5s\")"]
    );

    let words = [task("once", &[(Attribute::InitialDelay, "5s")])];
    let settings = env(&[("SCHEDULER_TASKS_ONCE_CRON", "-")]).load().expect("readable");
    let applied = settings.apply(&Known { tasks: &words, pools: &[] });
    assert_eq!(
        applied.remarks[0].text,
        "once: cron overridden by env SCHEDULER_TASKS_ONCE_CRON (was initial_delay = \"5s\")"
    );

    let applied = toml("[scheduler.tasks.report]\nfixed-rate = \"1s\"\n").apply();
    assert_eq!(given(&applied.tasks[0]).len(), 1);
    check_value(&applied.tasks[0], Attribute::FixedRate, "1s", "scheduler.toml:2");

    let applied = toml("[scheduler.tasks.report]\ncron = \"-\"\n").apply();
    check_value(&applied.tasks[0], Attribute::Cron, "-", "scheduler.toml:2");
    check_value(&applied.tasks[0], Attribute::Zone, "Europe/Berlin", "src/jobs.rs:12");

    let applied = toml("[scheduler.tasks.purge]\ncron = \"@daily\"\nzone = \"UTC\"\n").apply();
    check_value(&applied.tasks[1], Attribute::Zone, "UTC", "scheduler.toml:3");

    let applied = toml("[scheduler.tasks.purge]\nfixed_rate = \"1s\"\n").apply();
    check_value(&applied.tasks[1], Attribute::InitialDelay, "1m", "src/purge.rs:3");
    assert_eq!(applied.tasks[1].get(Attribute::FixedDelay), None);
}

#[test]
fn the_highest_trigger_replaces_those_of_all_places_below() {
    let places = Places {
        set: &[("tasks.purge.fixed_rate", "1s")],
        env: &[("SCHEDULER_TASKS_PURGE_CRON", "@daily"), ("SCHEDULER_TASKS_PURGE_ZONE", "UTC")],
        toml: "scheduler.tasks.purge.fixed_delay = \"2s\"",
    };
    let applied = places.apply();
    let set: Vec<Attribute> = given(&applied.tasks[1]);
    assert_eq!(set, [Attribute::FixedRate, Attribute::InitialDelay]);
    assert_eq!(applied.remarks[0].level, Level::Note);
    assert_eq!(
        applied.remarks[0].text,
        "purge: fixed_rate overridden by builder.set(\"tasks.purge.fixed_rate\") \
         (was cron = \"@daily\")"
    );
}

#[test]
fn two_triggers_in_one_place_are_refused() {
    toml("[scheduler.tasks.purge]\nfixed_rate = \"1s\"\ncron = \"@daily\"\n").check_fault(
        "scheduler.toml:2: task `shop::purge` has `fixed_rate`, and `cron` (scheduler.toml:3): \
         a task has one trigger\nhelp: remove one of the two",
    );
}

#[test]
fn one_attribute_twice_in_one_place_is_refused() {
    toml("[scheduler.tasks]\npurge.jitter = \"1s\"\n\"shop::purge\".jitter = \"2s\"\n")
        .check_fault(
            "scheduler.toml:3: `jitter` of task `shop::purge` is also set by scheduler.toml:2\n\
         help: remove one of the two",
        );
    toml("[scheduler]\nthread-name-prefix = \"a\"\nthread_name_prefix = \"b\"\n").check_fault(
        "scheduler.toml:3: `scheduler.thread_name_prefix` is also set by scheduler.toml:2\n\
         help: remove one of the two",
    );
    let both = [("SCHEDULER_THREADNAMEPREFIX", "a"), ("SCHEDULER_THREAD_NAME_PREFIX", "b")];
    env(&both).check_first_lines(&["env SCHEDULER_THREADNAMEPREFIX: \
         `scheduler.thread-name-prefix` is also set by env SCHEDULER_THREAD_NAME_PREFIX"]);
}

#[test]
fn numbers_flags_and_parts_of_retry_are_read_from_toml() {
    let applied = toml(
        "[scheduler.tasks.purge]\nenabled = false\nfixed-delay = 5\ntime-unit = \"s\"\n\
         retry = { max = 3, base = \"1s\" }\nretry.cap = \"1m\"",
    );
    assert!(applied.load().is_err(), "TOML closes inline tables");
    let applied = toml(
        "[scheduler.tasks.purge]\nenabled = false\nfixed-delay = 5\ntime-unit = \"s\"\n\
         [scheduler.tasks.purge.retry]\nmax = 3\n",
    )
    .apply();
    let purge = &applied.tasks[1];
    check_value(purge, Attribute::Enabled, "false", "scheduler.toml:2");
    check_value(purge, Attribute::FixedDelay, "5", "scheduler.toml:3");
    check_value(purge, Attribute::RetryMax, "3", "scheduler.toml:6");
    assert_eq!(applied.faults, []);
}

#[test]
fn unknown_keys_of_a_file_are_all_refused_with_what_was_meant() {
    toml(
        "reports.cron = \"-\"\n[scheduler]\nzoen = \"UTC\"\ncolour = 1\n\
         [scheduler.pool]\nsizes = 1\n\
         [scheduler.tasks.reprot]\ncron = \"-\"\nzone = \"UTC\"\n[scheduler.tasks.weekly]\n\
         [scheduler.tasks.purge]\ncorn = \"-\"\nretry = 3\nflavour = \"x\"\n\
         [scheduler.pools.io]\nsize = 1\nsiez = 2\n",
    )
    .check_first_lines(&[
        "scheduler.toml:8: no task named `reprot`; did you mean `report`?",
        "scheduler.toml:10: no task named `weekly`",
        "scheduler.toml:12: unknown attribute `corn` of task `shop::purge`; did you mean `cron`?",
        "scheduler.toml:13: unknown attribute `retry` of task `shop::purge`; \
         did you mean `retry.max`?",
        "scheduler.toml:14: unknown attribute `flavour` of task `shop::purge`",
        "scheduler.toml:3: unknown setting `scheduler.zoen`; did you mean `zone`?",
        "scheduler.toml:4: unknown setting `scheduler.colour`",
        "scheduler.toml:6: unknown setting `scheduler.pool.sizes`; did you mean `pool.size`?",
        "scheduler.toml:17: unknown setting `scheduler.pools.io.siez`; did you mean `size`?",
    ]);
    let faults = toml("[scheduler]\ncolour = 1\n").faults();
    assert!(faults[0].ends_with("pools.<name>, tasks.<name>"), "{}", faults[0]);
}

#[test]
fn a_value_where_a_table_belongs_is_refused() {
    toml("[scheduler]\ntasks = 1\npools = 2\n").check_first_lines(&[
        "scheduler.toml:2: `scheduler.tasks` is the table of the tasks",
        "scheduler.toml:3: `scheduler.pools` is a table, not a value",
    ]);
    toml("scheduler = 1\n")
        .check_first_lines(&["scheduler.toml:1: `scheduler` is a table, not a value"]);
    toml("[scheduler.tasks]\npurge = \"1s\"\n").check_first_lines(&[
        "scheduler.toml:2: task `shop::purge` is set to a value, but it is a table",
    ]);
    toml("[scheduler.tasks.purge]\ncron = [\"-\"]\n[scheduler]\nzone = 1.5\n").check_first_lines(
        &[
            "scheduler.toml:4: `scheduler.zone` is set to a number with a fraction",
            "scheduler.toml:2: `scheduler.tasks.purge.cron` is set to an array",
        ],
    );
    let fine = "[scheduler]\n[scheduler.tasks]\n[scheduler.tasks.purge.retry]\n\
                [scheduler.pools.io]\n\
                [scheduler.pool]\n[scheduler.shutdown]\n";
    toml(fine).check_first_lines(&[]);
}

#[test]
fn keys_of_the_builder_are_as_strict_but_others_are_its_own() {
    let places = Places {
        set: &[("tasks.prge.cron", "-"), ("scheduler.pol.size", "1"), ("reports.x", "1")],
        ..Places::default()
    };
    places.check_first_lines(&[
        "builder.set(\"tasks.prge.cron\"): no task named `prge`; did you mean `purge`?",
        "builder.set(\"scheduler.pol.size\"): unknown setting `scheduler.pol.size`; \
         did you mean `pool.size`?",
    ]);
}

#[test]
fn variables_are_compared_with_those_of_all_keys() {
    let applied = env(&[
        ("SCHEDULER_TASKS_SHOP_JOBS_REPORT_CRON", "@daily"),
        ("SCHEDULER_TASKS_JOBS_REPORT_MISFIRE", "skip"),
        ("SCHEDULER_TASKS_REPORT_DSTGAP", "skip"),
        ("SCHEDULER_TASKS_PURGE_RETRY_MAX", "2"),
        ("SCHEDULER_POOL_SIZE", "3"),
        ("SCHEDULER_THREADNAMEPREFIX", "t-"),
        ("SCHEDULER_SHUTDOWN_AWAIT_TERMINATION", "false"),
        ("SCHEDULER_SHUTDOWN_AWAITTERMINATIONPERIOD", "5s"),
        ("SCHEDULER_POOLS_IO_SIZE", "7"),
    ])
    .apply();
    assert_eq!((applied.faults, applied.remarks.len()), (Vec::new(), 4));
    check_value(
        &applied.tasks[0],
        Attribute::Cron,
        "@daily",
        "env SCHEDULER_TASKS_SHOP_JOBS_REPORT_CRON",
    );
    check_value(&applied.tasks[0], Attribute::DstGap, "skip", "env SCHEDULER_TASKS_REPORT_DSTGAP");
    check_value(&applied.tasks[1], Attribute::RetryMax, "2", "env SCHEDULER_TASKS_PURGE_RETRY_MAX");
    let globals = &applied.globals;
    assert_eq!(globals.pool_size.as_ref().map(|set| set.value), Some(3));
    assert_eq!(globals.thread_name_prefix.as_ref().map(|set| set.value.as_str()), Some("t-"));
    assert_eq!(globals.await_termination.as_ref().map(|set| set.value), Some(false));
    let period = globals.await_termination_period.as_ref().map(|set| set.value);
    assert_eq!(period, Some(std::time::Duration::from_secs(5)));
    let io: &Option<Set<usize>> = &applied.pools[0].size;
    assert_eq!(io.as_ref().map(|set| set.value), Some(7));
}

#[test]
fn a_variable_with_two_meanings_is_refused_only_when_it_is_set() {
    let tasks = [task("a-b", &[]), task("a::b", &[]), task("x::c", &[]), task("y::c", &[])];
    let faults = |variables: &[(&'static str, &'static str)]| {
        let places = Places { env: variables, ..Places::default() };
        let applied = places.load().expect("readable").apply(&Known { tasks: &tasks, pools: &[] });
        applied.faults.iter().map(Fault::to_string).collect::<Vec<String>>()
    };
    assert_eq!(faults(&[]), [""; 0]);
    assert_eq!(
        faults(&[("SCHEDULER_TASKS_A_B_CRON", "-"), ("SCHEDULER_TASKS_C_CRON", "-")]),
        [
            "env SCHEDULER_TASKS_A_B_CRON may mean `cron` of `a-b` or `cron` of `a::b`\n\
             help: use the full name, or a settings file",
            "env SCHEDULER_TASKS_C_CRON may mean `cron` of `x::c` or `cron` of `y::c`\n\
             help: use the full name, or a settings file",
        ]
    );
    let tasks = [task("r", &[]), task("r_dst", &[])];
    let places = env(&[("SCHEDULER_TASKS_R_DST_OVERLAP", "skip")]);
    let applied = places.load().expect("readable").apply(&Known { tasks: &tasks, pools: &[] });
    let text = applied.faults[0].to_string();
    assert!(text.contains("may mean `dst_overlap` of `r` or `overlap` of `r_dst`"), "{text}");
}

#[test]
fn leftover_variables_are_warned_of() {
    let places = env(&[
        ("SCHEDULER_TASKS_REPROT_CRON", "-"),
        ("SCHEDULER_TASKS_PURGE_FIXD_DELAY", "1s"),
        ("SCHEDULER_TASKS_WEEKLY_CRON", "-"),
        ("SCHEDULER_POL_SIZE", "3"),
        ("SCHEDULER_COLOUR", "red"),
        ("SCHEDULER_DRYRUN", "1"),
        ("SCHEDULER_CONFIG_", "x"),
        ("SCHEDULER_SERVICE_HOST", "10.0.0.1"),
        ("SCHEDULER_PORT_80_TCP", "tcp://10.0.0.1:80"),
        ("SCHEDULER_OWN", "-"),
        ("OTHER", "1"),
    ]);
    let places =
        Places { toml: "own = \"${SCHEDULER_OWN}\"\n[scheduler]\nzone = \"${own:UTC}\"", ..places };
    let places = Places { env: &[places.env, &[("SCHEDULER_OWN", "UTC")]].concat(), ..places };
    assert_eq!(
        places.remarks(),
        [
            "env `SCHEDULER_COLOUR` has no effect",
            "env `SCHEDULER_CONFIG_` has no effect; did you mean `SCHEDULER_CONFIG`?",
            "env `SCHEDULER_DRYRUN` has no effect; did you mean `SCHEDULER_DRY_RUN`?",
            "env `SCHEDULER_POL_SIZE` has no effect; did you mean `SCHEDULER_POOL_SIZE`?",
            "env `SCHEDULER_TASKS_PURGE_FIXD_DELAY` has no effect; \
             did you mean `SCHEDULER_TASKS_PURGE_FIXED_DELAY`?",
            "env `SCHEDULER_TASKS_REPROT_CRON` has no effect; \
             did you mean `SCHEDULER_TASKS_REPORT_CRON`?",
            "env `SCHEDULER_TASKS_WEEKLY_CRON` has no effect",
        ]
    );
    let applied = places.apply();
    assert!(applied.remarks.iter().all(|remark| remark.level == Level::Warning));
}

#[test]
fn placeholders_find_values_in_all_places() {
    let places = Places {
        set: &[("tasks.report.cron", "${reports.cron}"), ("first", "1")],
        env: &[("REPORTS_MINUTE", "30"), ("MY_HOUR", "8"), ("FIRST", "2")],
        toml: "third = 3\n[reports]\n\
               cron = \"${first} ${reports.minute} ${MY_HOUR} ${days.of-month} * *\"\n\
               [days]\nof_month = 3\n\
               [scheduler.tasks.purge]\nfixed-delay = \"${PURGE_EVERY:7s}\"\n",
    };
    let applied = places.apply();
    assert_eq!(applied.faults, []);
    let report = &applied.tasks[0];
    check_value(report, Attribute::Cron, "1 30 8 3 * *", "builder.set(\"tasks.report.cron\")");
    let cron: &Valued = report.get(Attribute::Cron).expect("a value");
    assert_eq!(cron.written, "${reports.cron}");
    assert_eq!(
        cron.note().as_deref(),
        Some(
            "note: `${reports.cron}` is `1 30 8 3 * *`; reports.cron: scheduler.toml:3, \
             first: builder.set(\"first\"), reports.minute: env REPORTS_MINUTE, \
             MY_HOUR: env MY_HOUR, days.of-month: scheduler.toml:5"
        )
    );
    check_value(&applied.tasks[1], Attribute::FixedDelay, "7s", "scheduler.toml:7");
}

#[test]
fn a_placeholder_without_value_is_told_with_three_remedies() {
    let words = [TaskWords {
        name: "daily_report",
        place: "src/reports.rs:12".to_owned(),
        attributes: &[(Attribute::Cron, "${reports.cron}"), (Attribute::Timeout, "${a:${b c}}")],
    }];
    let settings = Places::default().load().expect("readable");
    let applied = settings.apply(&Known { tasks: &words, pools: &[] });
    let faults: Vec<String> = applied.faults.iter().map(Fault::to_string).collect();
    assert_eq!(
        faults,
        [
            "`${reports.cron}` in task `daily_report` (src/reports.rs:12) is not set\n\
             help: set REPORTS_CRON or [reports] cron = \"0 0 9 * * *\" in scheduler.toml, \
             or give a default: ${reports.cron:0 0 9 * * *}",
            "`${b c}` in task `daily_report` (src/reports.rs:12) is not set: a -> b c\n\
             help: set it, or give a default behind a colon",
        ]
    );
    assert_eq!(applied.tasks[0].get(Attribute::Cron), None);
    assert!(!applied.tasks[0].is_complete());
}

#[test]
fn f_cf1_placeholder_traps_name_the_key_the_chain_and_the_places() {
    let doubling: String =
        (0..30).map(|n| format!("k{n} = \"${{k{}}}${{k{0}}}\"\n", n + 1)).collect();
    let nested = "${a:".repeat(10_000) + &"}".repeat(10_000);
    let text = format!(
        "{doubling}k30 = \"\"\na = \"${{b}}\"\nb = \"${{a}}\"\nbad = \"${{x\"\n\
         [scheduler.tasks.purge]\njitter = \"${{a}}\"\ntimeout = \"${{k0}}\"\n\
         fixed-delay = \"${{\"\n\
         overlap = \"${{}}\"\nmisfire = \"${{bad}}\"\ninitial-delay = \"{nested}\"\n\
         scheduler = \"${{x:${{y:${{z}}}}}}\""
    );
    let faults = toml(&text).faults();
    let first: Vec<&str> = faults.iter().filter_map(|fault| fault.lines().next()).collect();
    let expected = [
        "scheduler.toml:38: `shop::purge`: `fixed_delay`: the placeholder is not closed",
        "scheduler.toml:41: `shop::purge`: `initial_delay`: placeholders are nested \
         more than 32 levels deep",
        "`${z}` in task `shop::purge` (scheduler.toml:42) is not set: x -> y -> z",
        "scheduler.toml:36: `shop::purge`: `jitter`: `${a}` leads back to itself: a -> b -> a",
        "scheduler.toml:37: `shop::purge`: `timeout`: more than 4096 values are needed",
        "scheduler.toml:39: `shop::purge`: `overlap`: the placeholder has no key",
        "scheduler.toml:40: `shop::purge`: `misfire`: the value of `${bad}`: \
         the placeholder is not closed",
    ];
    assert_eq!(first.len(), expected.len(), "{first:#?}");
    for (line, expected) in first.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line}");
    }
    assert!(
        faults[3].ends_with("\nnote: set by a: scheduler.toml:32, b: scheduler.toml:33"),
        "{}",
        faults[3]
    );
    assert!(faults[4].contains("k0 -> k1 -> k2 -> k3 -> … -> "), "{}", faults[4]);
    assert!(faults[4].contains("note: set by k0: scheduler.toml:1, "), "{}", faults[4]);
    assert!(faults.iter().all(|fault| fault.len() < 1_000));
}

#[test]
fn f_cf2_bad_values_of_settings_name_the_key_the_source_and_an_example() {
    let bad_period =
        ["-5s", "0s", "NaN", "1e400s", "１０s", "18446744073709551616ms", "5 parsecs", "", "5"];
    for text in bad_period {
        let variable = "SCHEDULER_SHUTDOWN_AWAIT_TERMINATION_PERIOD";
        let faults = env(&[(variable, text)]).faults();
        assert_eq!(faults.len(), 1, "{text}: {faults:?}");
        let start = format!("env {variable}: `scheduler.shutdown.await-termination-period`: ");
        assert!(faults[0].starts_with(&start), "{}", faults[0]);
        let end = "for example `shutdown.await-termination-period = \"30s\"`";
        assert!(faults[0].ends_with(end), "{}", faults[0]);
    }
    for text in ["-1", "0", "+4", "NaN", "1e3", "１０", "18446744073709551616", "four", "", " 4"]
    {
        let faults = env(&[("SCHEDULER_POOL_SIZE", text)]).faults();
        assert_eq!(faults.len(), 1, "{text}: {faults:?}");
        assert!(
            faults[0].starts_with("env SCHEDULER_POOL_SIZE: `scheduler.pool.size`: "),
            "{}",
            faults[0]
        );
        assert!(faults[0].ends_with("for example `pool.size = \"4\"`"), "{}", faults[0]);
    }
    for (variable, text) in [
        ("SCHEDULER_ZONE", "Mars/Base"),
        ("SCHEDULER_ZONE", ""),
        ("SCHEDULER_SHUTDOWN_AWAIT_TERMINATION", "yes"),
        ("SCHEDULER_SHUTDOWN_AWAIT_TERMINATION", "１"),
        ("SCHEDULER_THREAD_NAME_PREFIX", ""),
        ("SCHEDULER_THREAD_NAME_PREFIX", "a\u{7}"),
        ("SCHEDULER_POOLS_IO_SIZE", "0"),
    ] {
        let faults = env(&[(variable, text)]).faults();
        assert_eq!(faults.len(), 1, "{variable}={text}: {faults:?}");
        assert!(faults[0].starts_with(&format!("env {variable}: `scheduler.")), "{}", faults[0]);
        assert!(faults[0].contains("for example `"), "{}", faults[0]);
    }
}

#[test]
fn f_cf2_bad_values_of_tasks_name_the_attribute_the_source_and_an_example() {
    let applied = Places {
        env: &[("SCHEDULER_TASKS_PURGE_FIXED_DELAY", "${EVERY}"), ("EVERY", "5 parsecs")],
        ..Places::default()
    }
    .apply();
    let purge = &applied.tasks[1];
    let text = &purge.get(Attribute::FixedDelay).expect("a value").text;
    let error = parse_period(text, None).expect_err("no duration");
    let refusal = Refusal { reason: &error, caret: Some(error.caret()), help: Some("write `5s`") };
    assert_eq!(
        purge.fault(Attribute::FixedDelay, &refusal).to_string(),
        "env SCHEDULER_TASKS_PURGE_FIXED_DELAY: `shop::purge`: `fixed_delay`: \
         `parsecs` is not a unit of time\n5 parsecs\n  ^^^^^^^\n\
         note: `${EVERY}` is `5 parsecs`; EVERY: env EVERY\nhelp: write `5s`"
    );
    let refusal = Refusal { reason: &"none at all", caret: None, help: None };
    assert_eq!(
        purge.fault(Attribute::Jitter, &refusal).to_string(),
        "src/purge.rs:3: `shop::purge`: `jitter`: none at all\nhelp: for example `jitter = \"5s\"`"
    );
}

#[cfg(unix)]
#[test]
fn f_cf2_a_variable_that_is_not_utf_8_matters_only_when_asked_for() {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    let faults = |variable: &str| {
        let broken = OsString::from_vec(vec![0xFF, 0xFE]);
        let settings = Settings::load(Given {
            set: vec![("zone".to_owned(), "${MY_ZONE:UTC}".to_owned())],
            environment: [(variable, broken)].into_iter().collect(),
            text: None,
            read: missing,
        })
        .unwrap_or_else(|faults| panic!("{faults:?}"));
        let applied = settings.apply(&Known { tasks: &tasks(), pools: &[] });
        applied.faults.iter().map(Fault::to_string).collect::<Vec<String>>()
    };
    assert_eq!(faults("UNRELATED"), [""; 0]);
    for variable in ["SCHEDULER_POOL_SIZE", "SCHEDULER_TASKS_PURGE_JITTER", "MY_ZONE"] {
        let faults = faults(variable);
        assert_eq!(faults.len(), 1, "{variable}: {faults:?}");
        let expected = format!("env `{variable}`: the value is not valid UTF-8");
        assert!(faults[0].contains(&expected), "{}", faults[0]);
    }
}

#[test]
fn f_rg2_hostile_names_can_be_set_and_stay_on_one_line() {
    let long = "x".repeat(10 << 10);
    let names = [
        "a\nERROR forged line",
        "a\x1b[2J",
        "a\u{202E}b",
        "<script>alert(1)</script>",
        "'; DROP TABLE task; --",
        "../../x",
        "a/b?c#d",
        "a\"b\\",
        "é",
        "e\u{301}",
        "",
        "::",
        &long,
    ];
    let words =
        names.map(|name| TaskWords { name, place: "src/a.rs:1".to_owned(), attributes: &[] });
    let quoted =
        |name: &str| name.chars().map(|c| format!("\\U{:08X}", u32::from(c))).collect::<String>();
    for (index, name) in names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
        let text = format!("[scheduler.tasks.\"{}\"]\njitter = \"${{x:1s}}\"\n", quoted(name));
        let settings = toml(&text).load().unwrap_or_else(|faults| panic!("{name}: {faults:?}"));
        let applied = settings.apply(&Known { tasks: &words, pools: &[] });
        assert_eq!(applied.faults, [], "{name}");
        assert_eq!(applied.tasks[index].get(Attribute::Jitter).expect("a value").text, "1s");
        assert!(applied.remarks.iter().all(|remark| !remark.text.contains(char::is_control)));
        let report = report(&applied, &[]);
        assert!(!report.contains("\nERROR") && !report.contains(['\x1b', '\u{202E}']), "{report}");
        assert!(report.lines().all(|line| line.chars().count() < 400));
    }
}

#[test]
fn the_report_shows_every_value_and_its_source() {
    let applied = Places {
        set: &[("zone", "${MY_ZONE}")],
        env: &[("SCHEDULER_TASKS_REPORT_CRON", "0 30 8 * * *"), ("MY_ZONE", "UTC")],
        toml: "[scheduler]\npools.io.size = 3\n",
    }
    .apply();
    let fallback = |key: &str, text: &str, source: Source| Fallback {
        key: key.to_owned(),
        text: text.to_owned(),
        source,
    };
    let call = Source::Code { call: "builder.zone(…)".to_owned() };
    let fallbacks = [
        fallback("pool.size", "8", Source::Default),
        fallback("zone", "unused", call.clone()),
        fallback("pools.io.size", "unused", call.clone()),
        fallback("pools.io.thread-name-prefix", "io-", call),
    ];
    assert_eq!(
        report(&applied, &fallbacks),
        "\
settings
  scheduler.pool.size                    8              default
  scheduler.pools.io.size                3              scheduler.toml:2
  scheduler.pools.io.thread-name-prefix  io-            builder.zone(…)
  scheduler.zone                         UTC            builder.set(\"zone\"), written `${MY_ZONE}`; MY_ZONE: env MY_ZONE

task shop::jobs::report (src/jobs.rs:12)
  cron                                   0 30 8 * * *   env SCHEDULER_TASKS_REPORT_CRON
  zone                                   Europe/Berlin  src/jobs.rs:12
  enabled                                true           default
  overlap                                skip           default
  misfire                                run_once       default
  on_error                               continue       default

task shop::purge (src/purge.rs:3)
  fixed_delay                            5s             src/purge.rs:3
  initial_delay                          1m             src/purge.rs:3
  enabled                                true           default
  overlap                                skip           default
  misfire                                run_once       default
  on_error                               continue       default
"
    );
}

#[test]
fn the_dry_run_is_known_before_anything_is_applied() {
    assert!(env(&[(DRY_RUN_VARIABLE, "1")]).load().expect("readable").is_dry_run());
    assert!(!Places::default().load().expect("readable").is_dry_run());
}

#[test]
fn a_thousand_tasks_with_ten_thousand_lines_are_no_burden() {
    let names: Vec<String> = (0..1_000).map(|n| format!("shop::module_{n}::task_{n}")).collect();
    let words: Vec<TaskWords<'_>> = names
        .iter()
        .map(|name| TaskWords {
            name,
            place: "src/a.rs:1".to_owned(),
            attributes: REPORT.attributes,
        })
        .collect();
    let mut text = String::new();
    for name in &names {
        text.push_str(&format!("[scheduler.tasks.\"{name}\"]\n"));
        for attribute in Attribute::ALL.iter().skip(8).take(5) {
            text.push_str(&format!("{attribute} = \"${{own.{name}:1s}}\"\n"));
        }
    }
    let settings = toml(&text).load().expect("readable");
    let applied = settings.apply(&Known { tasks: &words, pools: &[] });
    assert_eq!((applied.faults.len(), applied.remarks.len()), (0, 5_000));
}
