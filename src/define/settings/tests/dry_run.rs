//! The dry run: every value with its source, and its size.

use scheduler_expr::Attribute;

use super::places::*;
use crate::define::entry::Definition;
use crate::define::settings::key::DRY_RUN_VARIABLE;
use crate::define::settings::*;

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
        report(&applied, &applied.tasks, &fallbacks),
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
fn a_stop_that_does_not_wait_is_shown_with_who_said_so() {
    let period = "shutdown.await-termination-period";
    let fallback = Fallback {
        key: period.to_owned(),
        text: "0ns".to_owned(),
        source: Source::Code { call: "builder.await_termination(…)".to_owned() },
    };
    for more in ["", "await-termination-period = \"9s\"\n"] {
        let text = format!("[scheduler.shutdown]\nawait-termination = false\n{more}");
        let applied = toml(&text).apply();
        let report = report(&applied, &applied.tasks, std::slice::from_ref(&fallback));
        let lines: Vec<&str> = report.lines().filter(|line| line.contains(period)).collect();
        let [line] = lines.as_slice() else { panic!("{report}") };
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(
            words.join(" "),
            format!("scheduler.{period} 0s scheduler.toml:2, shutdown.await-termination = false")
        );
    }
}

#[test]
fn the_dry_run_is_known_before_anything_is_applied() {
    assert!(env(&[(DRY_RUN_VARIABLE, "1")]).load().expect("readable").is_dry_run());
    assert!(!Places::default().load().expect("readable").is_dry_run());
}

#[test]
fn a_thousand_tasks_with_ten_thousand_lines_are_no_burden() {
    let names: Vec<String> = (0..1_000).map(|n| format!("shop::module_{n}::task_{n}")).collect();
    let words: Vec<Definition> = names.iter().map(|name| task(name, &REPORT)).collect();
    let mut text = String::new();
    for name in &names {
        text.push_str(&format!("[scheduler.tasks.\"{name}\"]\n"));
        for attribute in Attribute::ALL.iter().skip(8).take(5) {
            text.push_str(&format!("{attribute} = \"${{own.{name}:1s}}\"\n"));
        }
    }
    let settings = toml(&text).load().expect("readable");
    let applied = apply(&settings, &words, &[]);
    assert_eq!((applied.faults.len(), applied.remarks.len()), (0, 5_000));
}
