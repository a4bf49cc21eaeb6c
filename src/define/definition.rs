//! A task as an annotation or code defines it.

use std::sync::Arc;

use scheduler_core::Trigger;
use scheduler_expr::{Attribute, RuleKind};

use crate::base::metadata::Location;
use crate::define::entry::{Entry, JobFacts};
use crate::define::schedule::Schedule;
use crate::run::inject::Call;

/// A task as it is written, before settings are applied.
#[derive(Clone)]
pub(crate) struct Definition {
    pub(crate) name: Arc<str>,
    /// The path of the function; `None` for a closure.
    pub(crate) function: Option<Arc<str>>,
    pub(crate) location: Location,
    /// The texts of its attributes, with placeholders.
    pub(crate) attributes: Vec<(Attribute, String)>,
    pub(crate) trigger: Option<Arc<dyn Trigger>>,
    /// The version and the former names of a `#[job]`.
    pub(crate) job: Option<JobFacts>,
    pub(crate) call: Call,
    /// The faults of arguments that are not managed. They keep the task from running.
    pub(crate) missing: Vec<String>,
}

impl Definition {
    /// The task of an annotation, with its arguments in the call.
    pub(crate) fn of_entry(entry: &Entry, call: Call) -> Self {
        let attributes = entry.attributes.iter();
        Self {
            name: entry.name.into(),
            function: Some(format!("{}::{}", entry.module_path, entry.function).into()),
            location: entry.location,
            attributes: attributes
                .map(|(attribute, text)| (*attribute, (*text).to_owned()))
                .collect(),
            trigger: None,
            job: entry.job,
            call,
            missing: Vec::new(),
        }
    }

    pub(crate) fn in_code(name: &str, schedule: Schedule, call: Call, location: Location) -> Self {
        let (attributes, trigger) = schedule.into_parts();
        Self {
            name: name.into(),
            function: None,
            location,
            attributes,
            trigger,
            job: None,
            call,
            missing: Vec::new(),
        }
    }

    /// The kind of its rule, if no attribute is a rule.
    pub(crate) fn rule_alone(&self) -> RuleKind {
        match self.trigger {
            _ if self.job.is_some() => RuleKind::Job,
            Some(_) => RuleKind::Custom,
            None => RuleKind::Once,
        }
    }
}

crate::base::opaque::opaque! { Definition { name, location, attributes } }
