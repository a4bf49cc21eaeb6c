//! Two tasks, and settings from several places without a disk.

use std::io;
use std::path::Path;

use scheduler_expr::Attribute;

use crate::base::metadata::Location;
use crate::define::entry::Definition;
use crate::define::schedule::Schedule;
use crate::define::settings::*;
use crate::run::inject::Call;

pub(super) type Attributes = [(Attribute, &'static str); 2];

pub(super) const REPORT: Attributes =
    [(Attribute::Cron, "0 0 9 * * MON-FRI"), (Attribute::Zone, "Europe/Berlin")];

const PURGE: Attributes = [(Attribute::FixedDelay, "5s"), (Attribute::InitialDelay, "1m")];

pub(super) fn task(name: &str, attributes: &[(Attribute, &str)]) -> Definition {
    let texts = attributes.iter().map(|(attribute, text)| (*attribute, (*text).to_owned()));
    Definition {
        attributes: texts.collect(),
        ..Definition::in_code(name, Schedule::default(), Call::noop(), Location::new("src/a.rs", 1))
    }
}

/// The two tasks, each with a place in the source.
pub(super) fn tasks() -> [Definition; 2] {
    let (report, purge) = (Location::new("src/jobs.rs", 12), Location::new("src/purge.rs", 3));
    [
        Definition { location: report, ..task("shop::jobs::report", &REPORT) },
        Definition { location: purge, ..task("shop::purge", &PURGE) },
    ]
}

/// The effective settings of all tasks.
pub(super) struct Outcome {
    pub(super) applied: Applied,
    pub(super) pools: Vec<(String, PoolSettings)>,
    pub(super) tasks: Vec<ResolvedAttributes>,
}

impl std::ops::Deref for Outcome {
    type Target = Applied;

    fn deref(&self) -> &Applied {
        &self.applied
    }
}

pub(super) fn apply(settings: &Settings, tasks: &[Definition], pools: &[&str]) -> Outcome {
    let mut names = settings.names();
    for (number, task) in tasks.iter().enumerate() {
        names.insert(&task.name, number);
    }
    let mut application = settings.apply(&names, pools);
    let each = tasks.iter().enumerate();
    let tasks = each.map(|(number, task)| application.task(number, task)).collect();
    let pools = application.pools.clone();
    Outcome { applied: application.finish(), pools, tasks }
}

/// The attributes that are set.
pub(super) fn set_attributes(task: &ResolvedAttributes) -> Vec<Attribute> {
    Attribute::ALL.iter().copied().filter(|attribute| task.get(*attribute).is_some()).collect()
}

pub(super) fn missing(_: &Path) -> io::Result<String> {
    Err(io::ErrorKind::NotFound.into())
}

/// Settings from three places without a disk.
#[derive(Default)]
pub(super) struct Places<'a> {
    pub(super) set: &'a [(&'a str, &'a str)],
    pub(super) env: &'a [(&'a str, &'a str)],
    pub(super) toml: &'a str,
}

impl Places<'_> {
    pub(super) fn load(&self) -> Result<Settings, Vec<SettingsError>> {
        let set = self.set.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned()));
        Settings::load(SettingsInput {
            set: set.collect(),
            environment: self.env.iter().copied().collect(),
            text: Some(("scheduler.toml".to_owned(), self.toml.to_owned())),
            read: missing,
            defaults: Vec::new(),
            secrets: vec!["db.url".to_owned()],
        })
    }

    pub(super) fn apply(&self) -> Outcome {
        apply(&self.load().expect("readable places"), &tasks(), &["io"])
    }

    pub(super) fn faults(&self) -> Vec<String> {
        self.apply().faults.iter().map(SettingsError::to_string).collect()
    }

    #[track_caller]
    pub(super) fn check_fault(&self, expected: &str) {
        assert_eq!(self.faults(), [expected]);
    }

    pub(super) fn remarks(&self) -> Vec<String> {
        let applied = self.apply();
        assert_eq!(applied.faults, []);
        applied.remarks.iter().map(|remark| remark.text.clone()).collect()
    }

    /// The first line of all faults, whose number is given.
    #[track_caller]
    pub(super) fn check_first_lines(&self, expected: &[&str]) {
        let faults = self.faults();
        let lines: Vec<&str> = faults.iter().filter_map(|fault| fault.lines().next()).collect();
        assert_eq!(lines, expected);
    }
}

pub(super) fn toml(text: &str) -> Places<'_> {
    Places { toml: text, ..Places::default() }
}

pub(super) fn env<'a>(env: &'a [(&'a str, &'a str)]) -> Places<'a> {
    Places { env, ..Places::default() }
}

#[track_caller]
pub(super) fn check_value(
    task: &ResolvedAttributes,
    attribute: Attribute,
    text: &str,
    source: &str,
) {
    let resolved = task.get(attribute).expect("a value");
    assert_eq!((resolved.text.as_str(), resolved.source.to_string().as_str()), (text, source));
}
