//! Events as lines of text, for people and for snapshot tests.

use chrono::{DateTime, Utc};
use scheduler_core::trigger::Zone;

use crate::define::settings::names::Names;
use crate::observe::{Event, describe, on_one_line};

/// Writes events with local times and the shortest names of tasks.
pub(super) struct EventText {
    zone: Zone,
    names: Names,
    width: usize,
}

impl EventText {
    pub(super) fn new(zone: Zone, tasks: &[&str]) -> Self {
        let names = Names::from_iter(tasks.iter().copied());
        let widths = tasks.iter().map(|task| names.shortest(task).chars().count());
        let width = widths.chain(["scheduler".len()]).max().unwrap_or_default();
        Self { zone, names, width }
    }

    /// One line: the time, the task or `scheduler`, and what happened.
    pub(super) fn line(&self, event: &Event) -> String {
        let (at, what) = (self.time(event.at), describe(event, &|at| self.time(at)));
        let task = event.task_name().map(|task| on_one_line(self.names.shortest(task)));
        let task = task.unwrap_or_else(|| "scheduler".to_owned());
        format!("{at}  {task:width$}  {what}", width = self.width)
    }

    /// `2026-03-27 09:00:00 +01:00`, with milliseconds where there are some.
    fn time(&self, at: DateTime<Utc>) -> String {
        let format = match at.timestamp_subsec_millis() {
            0 => "%Y-%m-%d %H:%M:%S %:z",
            _ => "%Y-%m-%d %H:%M:%S%.3f %:z",
        };
        self.zone.local(at).format(format).to_string()
    }
}
