//! Keys and variables: which there are, and which were meant.

use scheduler_expr::Attribute;

use super::places::*;
use crate::define::settings::*;

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
fn a_word_of_another_scheduler_leads_to_the_attribute() {
    toml("[scheduler.tasks.purge]\nbackoff = \"5s\"\nmax-retries = 3\nevery = \"5s\"\n").check_first_lines(&[
        "scheduler.toml:2: unknown attribute `backoff` of task `shop::purge`; did you mean `retry.base`?",
        "scheduler.toml:3: unknown attribute `max-retries` of task `shop::purge`; did you mean `retry.max`?",
        "scheduler.toml:4: unknown attribute `every` of task `shop::purge`; did you mean `fixed-rate`?",
    ]);
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
        "scheduler.toml:3: unknown setting `scheduler.zoen`; did you mean `scheduler.zone`?",
        "scheduler.toml:4: unknown setting `scheduler.colour`",
        "scheduler.toml:6: unknown setting `scheduler.pool.sizes`; \
         did you mean `scheduler.pool.size`?",
        "scheduler.toml:17: unknown setting `scheduler.pools.io.siez`; \
         did you mean `scheduler.pools.io.size`?",
    ]);
    let faults = toml("[scheduler]\ncolour = 1\n").faults();
    assert!(
        faults[0].contains("\nhelp: the settings under `[scheduler]` are zone, "),
        "{}",
        faults[0]
    );
    assert!(faults[0].ends_with("pools.<name>, tasks.<name>"), "{}", faults[0]);
    toml("[scheduler]\nscheduler.zone = \"UTC\"\n")
        .check_first_lines(&["scheduler.toml:2: unknown setting `scheduler.scheduler.zone`; \
         did you mean `scheduler.zone`?"]);
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
fn an_empty_table_where_a_value_belongs_is_refused() {
    let text = "[scheduler.zone]\n[scheduler.pools.io.size]\n[scheduler.tasks.purge.cron]\n";
    toml(text).check_first_lines(&[
        "scheduler.toml:1: `scheduler.zone` is set to an empty table",
        "scheduler.toml:2: `scheduler.pools.io.size` is set to an empty table",
        "scheduler.toml:3: `scheduler.tasks.purge.cron` is set to an empty table",
    ]);
}

#[test]
fn an_empty_table_makes_a_pool() {
    let applied = toml("[scheduler.pools.slow]\n[scheduler.pools]\nbig = {}\n").apply();
    assert_eq!(applied.faults, []);
    let names: Vec<&str> = applied.pools.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["io", "slow", "big"]);
    assert!(applied.pools.iter().all(|(_, pool)| pool.size.is_none()));
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
         did you mean `scheduler.pool.size`?",
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
    assert_eq!((applied.faults.as_slice(), applied.remarks.len()), (&[][..], 4));
    check_value(
        &applied.tasks[0],
        Attribute::Cron,
        "@daily",
        "env SCHEDULER_TASKS_SHOP_JOBS_REPORT_CRON",
    );
    check_value(&applied.tasks[0], Attribute::DstGap, "skip", "env SCHEDULER_TASKS_REPORT_DSTGAP");
    check_value(&applied.tasks[1], Attribute::RetryMax, "2", "env SCHEDULER_TASKS_PURGE_RETRY_MAX");
    let globals = &applied.globals;
    assert_eq!(globals.pool_size, Some(3));
    assert_eq!(globals.thread_name_prefix.as_deref(), Some("t-"));
    assert_eq!(globals.await_termination, Some(false));
    assert_eq!(globals.await_termination_period, Some(std::time::Duration::from_secs(5)));
    assert_eq!(applied.pools[0].1.size, Some(7));
}

#[test]
fn a_variable_with_two_meanings_is_refused_only_when_it_is_set() {
    let tasks = [task("a-b", &[]), task("a::b", &[]), task("x::c", &[]), task("y::c", &[])];
    let faults = |variables: &[(&'static str, &'static str)]| {
        let places = Places { env: variables, ..Places::default() };
        let applied = apply(&places.load().expect("readable"), &tasks, &[]);
        applied.faults.iter().map(SettingsError::to_string).collect::<Vec<String>>()
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
    let applied = apply(&places.load().expect("readable"), &tasks, &[]);
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
        ("SCHEDULER_URL", "http://127.0.0.1:9095"),
        ("SCHEDULER_TOKEN", "0123456789abcdef"),
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
            "env `SCHEDULER_TASKS_REPROT_CRON` has no effect as yet: \
             there is no task of this name; did you mean `SCHEDULER_TASKS_REPORT_CRON`?",
            "env `SCHEDULER_TASKS_WEEKLY_CRON` has no effect as yet: there is no task of this name",
        ]
    );
    let applied = places.apply();
    assert!(applied.remarks.iter().all(|remark| remark.level == Level::Warning));
}
