//! Placeholders: their values, and the faults of missing ones.

use scheduler_expr::Attribute;

use super::places::*;
use crate::base::metadata::Location;
use crate::define::entry::Definition;
use crate::define::settings::source::ResolvedValue;
use crate::define::settings::*;

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
    let cron: &ResolvedValue = report.get(Attribute::Cron).expect("a value");
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
    let texts = [(Attribute::Cron, "${reports.cron}"), (Attribute::Timeout, "${a:${b c}}")];
    let location = Location::new("src/reports.rs", 12);
    let words = [Definition { location, ..task("daily_report", &texts) }];
    let settings = Places::default().load().expect("readable");
    let applied = apply(&settings, &words, &[]);
    let faults: Vec<String> = applied.faults.iter().map(SettingsError::to_string).collect();
    assert_eq!(
        faults,
        [
            "`${reports.cron}` in task `daily_report` (src/reports.rs:12) is not set\n\
             help: set REPORTS_CRON or [reports] cron = \"0 0 9 * * MON-FRI\" in scheduler.toml, \
             or give a default: ${reports.cron:0 0 9 * * MON-FRI}",
            "`${b c}` in task `daily_report` (src/reports.rs:12) is not set: a -> b c\n\
             help: set it, or give a default behind a colon",
        ]
    );
    assert_eq!(applied.tasks[0].get(Attribute::Cron), None);
    assert!(!applied.tasks[0].is_complete);
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
         pool = \"${{x:${{y:${{z}}}}}}\""
    );
    let faults = toml(&text).faults();
    let first: Vec<&str> = faults.iter().filter_map(|fault| fault.lines().next()).collect();
    let expected = [
        "scheduler.toml:38: `shop::purge`: `fixed-delay`: the placeholder is not closed",
        "scheduler.toml:41: `shop::purge`: `initial-delay`: placeholders are nested \
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
