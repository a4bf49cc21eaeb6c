//! Settings outside of `[scheduler]`, and tables with similar names.

use super::places::*;
use crate::define::settings::*;

const WHY: &str = "has no effect: it is not under `[scheduler]`, and no placeholder asks for it";

#[test]
fn settings_outside_of_their_table_are_warned_of_with_the_line_to_paste() {
    let places = toml(
        "pool.size = 8\nzone = \"Europe/Berlin\"\n[shutdown]\nawait_termination = [1]\n\
         [tasks.report]\ncron = \"@daily\"\nmisfire = \"skip\"\n\
         [tasks.\"shop::purge\".retry]\nmax = 3\n[pools.io]\nsize = 3\n[pools.slow]\n",
    );
    assert_eq!(
        places.remarks(),
        [
            format!(
                "scheduler.toml:1: `pool.size` {WHY}; write `pool.size = \"8\"` under `[scheduler]`"
            ),
            format!(
                "scheduler.toml:2: `zone` {WHY}; write `zone = \"Europe/Berlin\"` under `[scheduler]`"
            ),
            format!(
                "scheduler.toml:4: `shutdown.await_termination` {WHY}; \
                 write `shutdown.await-termination = \"true\"` under `[scheduler]`"
            ),
            format!(
                "scheduler.toml:6: `tasks.report.cron` {WHY}; write `[scheduler.tasks.report]`"
            ),
            format!(
                "scheduler.toml:9: `tasks.shop::purge.retry.max` {WHY}; \
                 write `[scheduler.tasks.\"shop::purge\"]`"
            ),
            format!("scheduler.toml:11: `pools.io.size` {WHY}; write `[scheduler.pools.io]`"),
            format!("scheduler.toml:12: `pools.slow` {WHY}; write `[scheduler.pools.slow]`"),
        ]
    );
    assert!(places.apply().remarks.iter().all(|remark| remark.level == Level::Warning));
}

#[test]
fn tables_that_are_almost_called_scheduler_are_warned_of_once() {
    let text = "Scheduler.zone = \"UTC\"\nScheduler.pool.size = 1\n\
                [scheduller.tasks.report]\ncron = \"-\"\n\
                [schedules]\nreport = \"@daily\"\n[schemer]\nzone = \"UTC\"\n";
    assert_eq!(
        toml(text).remarks(),
        [
            "scheduler.toml:1: table `Scheduler` has no effect; did you mean `[scheduler]`?",
            "scheduler.toml:4: table `scheduller` has no effect; did you mean `[scheduler]`?",
        ]
    );
}

#[test]
fn placeholders_read_the_keys_of_the_program() {
    let text = "zone = \"UTC\"\n[tasks.report]\ncron = \"@daily\"\nevery = \"1s\"\n\
                [pool]\nmax-size = 3\n[Scheduler]\nzone = \"UTC\"\n[scheduler]\nzone = \"${zone}\"\n\
                [scheduler.tasks]\nreport.cron = \"${tasks.report.cron}\"\n\
                report.zone = \"${Scheduler.zone}\"\n";
    let remarks = toml(text).remarks();
    assert!(remarks.iter().all(|text| text.starts_with("report: ")), "{remarks:#?}");
}

#[test]
fn f_rg2_hostile_keys_stay_on_one_line() {
    let text = "[tasks.\"a\\nERROR\\u001B[2J\"]\ncron = \"-\"\n\
                [\"scheduler\\n\"]\nzone = \"a\\nb\"\n";
    for remark in toml(text).remarks() {
        assert!(!remark.contains(char::is_control), "{remark}");
    }
    assert_eq!(toml(text).remarks().len(), 2);
}

#[test]
fn a_key_that_is_almost_what_a_placeholder_asks_for_is_warned_of() {
    let text = "[report]\ncrn = \"@daily\"\nother = 1\n[reports]\nzone = \"UTC\"\n[rport]\ncrom = \"-\"\n\
                [scheduler]\nzone = \"${report.zone:UTC}\"\npool.size = \"${report.cron:1}\"\n";
    let why = "no placeholder asks for";
    assert_eq!(
        toml(text).remarks(),
        [
            format!("scheduler.toml:2: {why} `report.crn`; did you mean `report.cron`?"),
            format!("scheduler.toml:5: {why} `reports.zone`; did you mean `report.zone`?"),
        ]
    );
    let both = "[report]\ncrn = 1\ncron = 1\n[scheduler]\npool.size = \"${report.cron:1}\"\n";
    assert!(toml(both).remarks().is_empty(), "the key that is asked for is there");
    for (written, asked) in
        [("retry-min", "retry-max"), ("url1", "url2"), ("a", "b"), ("other", "cron")]
    {
        let two = format!("{written} = 1\n[scheduler]\npool.size = \"${{{asked}:1}}\"\n");
        assert!(toml(&two).remarks().is_empty(), "{written} and {asked} may both be meant");
    }
    let swapped = "rtae-max = 1\n[scheduler]\npool.size = \"${rate-max:1}\"\n";
    assert!(toml(swapped).remarks()[0].ends_with("did you mean `rate-max`?"));
}
