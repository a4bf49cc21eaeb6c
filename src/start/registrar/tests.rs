//! Tests of entries that no macro allows, and of clashing names.

use scheduler_core::trigger::Zone;

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::Arc;

use scheduler_core::{Clock, ManualClock};
use scheduler_expr::Attribute;

use super::{Crons, ResolveContext, collect_definitions, name_faults, resolve};
use crate::base::metadata::Location;
use crate::define::entry::Definition;
use crate::define::entry::{Entry, TaskList};
use crate::define::settings::names::Names;
use crate::define::settings::{Environment, Settings, SettingsInput};
use crate::run::Shutdown;
use crate::run::inject::{Call, Resolver, States};
use crate::start::StartError;
use crate::task::TaskSpec;

type Words = &'static [(Attribute, &'static str)];

const fn entry(name: &'static str, function: &'static str, line: u32, words: Words) -> Entry {
    Entry {
        name,
        function,
        module_path: "shop::jobs",
        location: Location { file: "src/jobs.rs", line },
        id: TypeId::of::<()>,
        attributes: words,
        receiver: None,
        job: None,
        resolve: |_| Some(Call::Sync(Arc::new(|_| Ok(())))),
    }
}

const RATE: Words = &[(Attribute::FixedRate, "1s")];

/// Resolves entries as a start does, without settings.
fn plan(entries: &'static [Entry]) -> Result<Vec<TaskSpec>, StartError> {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new());
    let (states, shutdown) = (States::default(), Shutdown::new());
    let resolver = Resolver::new(&states, &clock, &shutdown);
    let list = TaskList { entries: entries.iter().collect(), unannotated: Vec::new() };
    let mut faults = Vec::new();
    let definitions = collect_definitions(Some(&list), Vec::new(), &resolver, &mut faults);
    let input = SettingsInput {
        environment: Environment::default(),
        text: Some(("none".to_owned(), String::new())),
        ..SettingsInput::of_process()
    };
    let settings = Settings::load(input).expect("there are none");
    let names = Names::from_iter(definitions.iter().map(|task| &*task.name));
    let mut application = settings.apply(&names, &[]);
    let context = ResolveContext {
        zone: Zone::UTC,
        pools: vec!["default".into()],
        calendars: BTreeMap::new(),
        crons: Crons::default(),
        seed: 0,
        has_store: false,
    };
    let mut specs = Vec::new();
    for (number, definition) in definitions.iter().enumerate() {
        match resolve(definition, &application.task(number, definition), &context) {
            Ok(spec) => specs.push(spec),
            Err(errors) => faults.extend(errors.iter().map(ToString::to_string)),
        }
    }
    if faults.is_empty() { Ok(specs) } else { Err(StartError::of_faults(faults)) }
}

fn check(entries: &'static [Entry], expected: &str) {
    assert_eq!(plan(entries).expect_err("the plan is refused").to_string(), expected);
}

#[test]
fn good_entries_are_planned_in_their_order() {
    const ENTRIES: &[Entry] = &[entry("b", "b", 1, RATE), entry("a", "a", 2, RATE)];
    let plan = plan(ENTRIES).expect("a plan");
    let names: Vec<&str> = plan.iter().map(|task| &**task.name()).collect();
    assert_eq!(names, ["b", "a"]);
}

#[test]
fn two_tasks_of_one_name_are_refused_with_both_places() {
    const ENTRIES: &[Entry] = &[
        entry("report", "billing", 10, RATE),
        entry("other", "other", 11, RATE),
        entry("report", "sales", 22, RATE),
    ];
    check(
        ENTRIES,
        "cannot start: 1 fault was found, and nothing has run
  - 2 tasks are named `report`
      shop::jobs::billing (src/jobs.rs:10)
      shop::jobs::sales (src/jobs.rs:22)
    help: give one another name: #[scheduled(name = \"…\", …)]",
    );
}

#[test]
fn the_remedy_for_a_name_given_twice_is_for_where_it_was_given() {
    let call = || Call::Sync(Arc::new(|_| Ok(())));
    let location = Location { file: "src/main.rs", line: 7 };
    let define = |function: Option<&str>| Definition {
        name: "import".into(),
        function: function.map(Arc::from),
        location,
        attributes: Vec::new(),
        trigger: None,
        job: None,
        call: call(),
        missing: Vec::new(),
    };
    let help = |definitions: &[Definition]| {
        let faults = name_faults(definitions);
        assert_eq!(faults.len(), 1, "{faults:?}");
        faults[0].lines().last().map(str::to_owned).expect("a line")
    };
    assert_eq!(
        help(&[define(None), define(None)]),
        "help: give one another name: .task(\"import-2\", …)"
    );
    assert_eq!(
        help(&[define(Some("shop::import")), define(None)]),
        "help: give one another name: .task(\"import-2\", …) or #[scheduled(name = \"…\", …)]"
    );
}

#[test]
fn all_bad_entries_are_reported_together_each_with_its_place() {
    const ENTRIES: &[Entry] = &[
        entry("one", "one", 1, &[(Attribute::FixedRate, "0s")]),
        entry("two", "two", 2, &[(Attribute::Cron, "0 0 25 * * *")]),
        entry("three", "three", 3, RATE),
        entry("four", "four", 4, &[(Attribute::Cron, "@daily"), (Attribute::Zone, "Mars/Base")]),
    ];
    let text = plan(ENTRIES).expect_err("the plan is refused").to_string();
    assert!(text.starts_with("cannot start: 3 faults were found, and nothing has run\n"));
    for part in [
        "- src/jobs.rs:1: `one`: invalid `fixed_rate`: `0s` must be longer than zero",
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
    const ENTRIES: &[Entry] = &[entry("never", "never", 1, &[(Attribute::Cron, "0 0 0 30 2 *")])];
    let text = plan(ENTRIES).expect_err("the plan is refused").to_string();
    assert!(text.contains("February"), "{text}");
}
