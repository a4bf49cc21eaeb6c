//! Plans of entries that no macro would let through, and of names that clash.

use scheduler_core::trigger::Zone;

use std::sync::Arc;

use scheduler_core::Clock;
use scheduler_core::ManualClock;
use scheduler_expr::Attribute;

use super::Given;
use super::Plan;
use crate::entry::Entry;
use crate::entry::FunctionId;
use crate::entry::Location;
use crate::entry::Origin;
use crate::error::StartError;
use crate::inject::Call;
use crate::inject::States;
use crate::run::Shutdown;

type Words = &'static [(Attribute, &'static str)];

const fn entry(name: &'static str, function: &'static str, line: u32, words: Words) -> Entry {
    let location = Location { file: "src/jobs.rs", line };
    let origin = Origin::new(function, "shop::jobs", location, || FunctionId::of(&()));
    Entry::new(name, origin, words, |_| Some(Call::Sync(Arc::new(|_| Ok(())))))
}

const RATE: Words = &[(Attribute::FixedRate, "1s")];

fn plan(entries: &[&'static Entry], zone: Zone) -> Result<Plan, StartError> {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new());
    let given =
        Given { states: &States::default(), clock: &clock, shutdown: &Shutdown::new(), zone };
    super::plan(entries, given)
}

fn check(entries: &[&'static Entry], expected: &str) {
    let error = plan(entries, Zone::UTC).expect_err("the plan is refused");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn good_entries_are_planned_in_their_order() {
    static ENTRIES: [Entry; 2] = [entry("b", "b", 1, RATE), entry("a", "a", 2, RATE)];
    let plan = plan(&[&ENTRIES[0], &ENTRIES[1]], Zone::UTC).expect("a plan");
    let names: Vec<&str> = plan.tasks.iter().map(|task| task.name).collect();
    assert_eq!(names, ["b", "a"]);
}

#[test]
fn two_tasks_of_one_name_are_refused_with_both_places() {
    static ENTRIES: [Entry; 3] = [
        entry("report", "billing", 10, RATE),
        entry("other", "other", 11, RATE),
        entry("report", "sales", 22, RATE),
    ];
    check(
        &[&ENTRIES[0], &ENTRIES[1], &ENTRIES[2]],
        "cannot start: 1 fault was found, and nothing has run
  - 2 tasks are named `report`
      shop::jobs::billing (src/jobs.rs:10)
      shop::jobs::sales (src/jobs.rs:22)
    help: give one another name: #[scheduled(name = \"…\", …)]",
    );
}

#[test]
fn all_bad_entries_are_reported_together_each_with_its_place() {
    static ENTRIES: [Entry; 4] = [
        entry("one", "one", 1, &[(Attribute::FixedRate, "0s")]),
        entry("two", "two", 2, &[(Attribute::Cron, "0 0 25 * * *")]),
        entry("three", "three", 3, RATE),
        entry("four", "four", 4, &[(Attribute::Cron, "@daily"), (Attribute::Zone, "Mars/Base")]),
    ];
    let all: Vec<&'static Entry> = ENTRIES.iter().collect();
    let text = plan(&all, Zone::UTC).expect_err("the plan is refused").to_string();
    assert!(text.starts_with("cannot start: 3 faults were found, and nothing has run\n"));
    for part in [
        "- src/jobs.rs:1: `one`: `fixed_rate`: `0s` must be longer than zero",
        "- src/jobs.rs:2: `two`: `cron`: ",
        "^^",
        "- src/jobs.rs:4: `four`: `zone`: ",
    ] {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
    assert!(!text.contains("three"));
}

#[test]
fn a_cron_expression_that_never_fires_is_refused() {
    static ENTRY: Entry = entry("never", "never", 1, &[(Attribute::Cron, "0 0 0 30 2 *")]);
    let text = plan(&[&ENTRY], Zone::UTC).expect_err("the plan is refused").to_string();
    assert!(text.contains("February"), "{text}");
}
