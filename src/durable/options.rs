//! The options of a task's jobs.

use scheduler_expr::Attribute;
use scheduler_store::{OnLost, Priority};

use crate::define::entry::Entry;

/// The options of a task's jobs, from its annotation and settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobOptions {
    pub(crate) queue: String,
    pub(crate) priority: Priority,
    pub(crate) max_attempts: u32,
    pub(crate) on_lost: OnLost,
}

impl JobOptions {
    /// The options as the annotation has them. A text with a placeholder has to wait for the settings.
    pub(super) fn of_entry(entry: &Entry) -> Self {
        let text = |attribute: Attribute| {
            entry.attribute(attribute).filter(|text| attribute.check(text, None).is_ok())
        };
        let retries = text(Attribute::RetryMax).and_then(|text| text.parse::<u32>().ok());
        let queue = text(Attribute::Queue).unwrap_or(scheduler_store::DEFAULT_QUEUE);
        let priority = text(Attribute::Priority).and_then(|text| text.parse().ok());
        let on_lost = text(Attribute::OnLost).and_then(|text| text.parse().ok());
        Self {
            queue: queue.to_owned(),
            priority: priority.unwrap_or_default(),
            max_attempts: retries.unwrap_or_default().saturating_add(1),
            on_lost: on_lost.unwrap_or_default(),
        }
    }
}
