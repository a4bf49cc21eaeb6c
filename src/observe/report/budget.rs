//! Limits the messages of all tasks together, for many tasks that fail at once.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use scheduler_core::trigger::Zone;

use super::Message;
use crate::observe::{Level, instant, plural};

/// The most errors, warnings and news in a minute.
pub(super) const MESSAGES: u32 = 1_000;

/// The most news among them, so that there is room for errors.
const NEWS: u32 = MESSAGES / 2;

/// Counts the messages of a minute, by the times of the events.
#[derive(Debug, Default)]
pub(super) struct Budget {
    since: DateTime<Utc>,
    shown: u32,
    /// Those of them that are news.
    news: u32,
    hidden: Option<Hidden>,
}

/// The messages that were not shown.
#[derive(Debug)]
struct Hidden {
    count: u64,
    tasks: BTreeSet<Box<str>>,
    last: (DateTime<Utc>, Zone),
}

impl Budget {
    /// Whether there is room for a message of this level, about this task.
    pub(super) fn has_room(
        &mut self,
        (at, zone): (DateTime<Utc>, Zone),
        level: Level,
        task: Option<&str>,
    ) -> bool {
        // The log was configured for each success.
        if level == Level::Debug {
            return true;
        }
        let is_news = level == Level::Info;
        if self.shown < MESSAGES && !(is_news && self.news == NEWS) {
            self.shown += 1;
            self.news += u32::from(is_news);
            return true;
        }
        let nothing = || Hidden { count: 0, tasks: BTreeSet::new(), last: (at, zone) };
        let hidden = self.hidden.get_or_insert_with(nothing);
        hidden.count += 1;
        hidden.last = (at, zone);
        if let Some(task) = task.filter(|task| !hidden.tasks.contains(*task)) {
            hidden.tasks.insert(task.into());
        }
        false
    }

    /// Begins another minute if this one is over. Returns the message about what was hidden in it.
    ///
    /// A clock that was set back begins another minute, too.
    pub(super) fn begin(&mut self, at: DateTime<Utc>) -> Option<Message> {
        if at >= self.since && at - self.since < TimeDelta::minutes(1) {
            return None;
        }
        (self.since, self.shown, self.news) = (at, 0, 0);
        self.take_hidden()
    }

    /// The message about what was hidden, once.
    pub(super) fn take_hidden(&mut self) -> Option<Message> {
        let Hidden { count, tasks, last: (at, zone) } = self.hidden.take()?;
        let about = match tasks.len() as u64 {
            0 => String::new(),
            tasks => format!(" about {}", plural(tasks, "task")),
        };
        let (count, last) = (plural(count, "further message"), instant(at, zone));
        let text = format!("{count}{about} not printed, the last of {last}");
        Some(Message::warn(text).note(format!(
            "no more than {MESSAGES} are in a minute, of which {NEWS} may be news; \
             a listener gets each event"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::sample::at;

    fn ask(budget: &mut Budget, second: u64, level: Level, task: u32) -> bool {
        let task = task.to_string();
        budget.has_room((at(second * 1_000), Zone::UTC), level, Some(&task))
    }

    #[test]
    fn what_is_beyond_the_bound_is_counted_with_its_tasks() {
        let mut budget = Budget::default();
        assert_eq!(budget.begin(at(0)), None);
        let shown = (0..3_000).filter(|task| ask(&mut budget, 1, Level::Error, task % 1_500));
        assert_eq!(shown.count(), 1_000);
        assert_eq!(budget.begin(at(59_999)), None);
        let hidden = budget.begin(at(60_000)).expect("some were hidden").to_string();
        let head = "WARN  2000 further messages about 1500 tasks not printed, \
                    the last of Fri 2026-03-27 08:00:01 +00:00\n";
        assert!(hidden.starts_with(head), "{hidden}");
        assert!(ask(&mut budget, 60, Level::Error, 0), "another minute");
        assert_eq!(budget.take_hidden(), None, "only once");
    }

    #[test]
    fn news_leave_room_for_errors_and_debug_messages_need_none() {
        let mut budget = Budget::default();
        budget.begin(at(0));
        let count = |budget: &mut Budget, level| {
            (0..2_000).filter(|task| ask(budget, 0, level, *task)).count()
        };
        assert_eq!(count(&mut budget, Level::Info), 500);
        assert_eq!(count(&mut budget, Level::Warn), 500);
        assert_eq!(count(&mut budget, Level::Error), 0);
        assert_eq!(count(&mut budget, Level::Debug), 2_000);
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_silence_it() {
        let mut budget = Budget::default();
        budget.begin(at(3_600_000));
        while ask(&mut budget, 3_600, Level::Error, 7) {}
        assert!(budget.begin(at(0)).is_some());
        assert!(ask(&mut budget, 0, Level::Error, 7));
    }
}
