//! Runs and waits of the last hour, minute by minute, of all tasks and of each queue.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use scheduler::chrono::{DateTime, Utc};
use scheduler::{EventKind, RunInfo};

use super::tally::Ended;

pub(crate) const MINUTES: usize = 60;
/// The greatest number of queues that are counted by themselves.
const QUEUES_MAX: usize = 50;

/// The figures of one minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Minute {
    /// Its number since 1970, by which an old one is known.
    number: i64,
    pub(crate) started: u64,
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
    /// From the due time to the start, of all that have started, in sum.
    pub(crate) waited: Duration,
    pub(crate) longest_wait: Duration,
}

/// The last 60 minutes, each in the place of its number.
#[derive(Clone, Debug)]
pub(crate) struct Hour(Box<[Minute; MINUTES]>);

impl Hour {
    fn new() -> Self {
        Self(Box::new([Minute::default(); MINUTES]))
    }

    /// The minute of an instant, which is empty if the place has an older one.
    fn at(&mut self, at: DateTime<Utc>) -> Option<&mut Minute> {
        let number = number(at);
        let minute = self.0.get_mut(place(number))?;
        if minute.number != number {
            *minute = Minute { number, ..Minute::default() };
        }
        Some(minute)
    }

    /// The minutes that end with the one of an instant, the latest last.
    pub(crate) fn until(&self, at: DateTime<Utc>) -> Vec<Minute> {
        let last = number(at);
        let kept = |number: i64| {
            let minute = self.0.get(place(number)).filter(|minute| minute.number == number);
            minute.copied().unwrap_or_default()
        };
        (last - MINUTES as i64 + 1..=last).map(kept).collect()
    }

    /// True if nothing in it belongs to the hour before an instant.
    fn is_over(&self, at: DateTime<Utc>) -> bool {
        self.until(at).iter().all(|minute| minute.number == 0)
    }

    fn started(&mut self, at: DateTime<Utc>, waited: Duration) {
        let Some(minute) = self.at(at) else { return };
        minute.started += 1;
        minute.waited = minute.waited.saturating_add(waited);
        minute.longest_wait = minute.longest_wait.max(waited);
    }

    fn ended(&mut self, at: DateTime<Utc>, ended: Ended) {
        let Some(minute) = self.at(at) else { return };
        match ended {
            Ended::Success => minute.succeeded += 1,
            Ended::Error | Ended::Panic | Ended::Timeout => minute.failed += 1,
            Ended::Cancelled => {}
        }
    }
}

fn number(at: DateTime<Utc>) -> i64 {
    at.timestamp().div_euclid(60)
}

fn place(number: i64) -> usize {
    usize::try_from(number.rem_euclid(MINUTES as i64)).unwrap_or_default()
}

/// The last hour of all tasks, and of the jobs of each queue.
#[derive(Clone, Debug)]
pub(crate) struct LastHour {
    /// When the first event came.
    pub(crate) known_since: Option<DateTime<Utc>>,
    pub(crate) all: Hour,
    pub(crate) queues: HashMap<Arc<str>, Hour>,
}

impl Default for LastHour {
    fn default() -> Self {
        Self { known_since: None, all: Hour::new(), queues: HashMap::new() }
    }
}

impl LastHour {
    /// Counts an event. The wait of a later attempt of a run in memory is its own, and no lateness.
    pub(super) fn on_event(&mut self, kind: &EventKind, at: DateTime<Utc>) {
        self.known_since.get_or_insert(at);
        match kind {
            EventKind::RunStarted { run, late, .. } if run.attempt == 1 || run.job.is_some() => {
                self.each(run, at, |hour| hour.started(at, *late));
            }
            EventKind::RunFinished { run, outcome, .. } => {
                if let Some(ended) = Ended::of(outcome) {
                    self.each(run, at, |hour| hour.ended(at, ended));
                }
            }
            _ => {}
        }
    }

    /// Calls a function with the hour of all, and with the hour of the queue if the run is of a job.
    fn each(&mut self, run: &RunInfo, at: DateTime<Utc>, count: impl Fn(&mut Hour)) {
        count(&mut self.all);
        if let Some(job) = &run.job
            && self.has_room(&job.queue, at)
        {
            count(self.queues.entry(Arc::clone(&job.queue)).or_insert_with(Hour::new));
        }
    }

    fn has_room(&mut self, queue: &str, at: DateTime<Utc>) -> bool {
        if self.queues.len() >= QUEUES_MAX && !self.queues.contains_key(queue) {
            self.queues.retain(|_, hour| !hour.is_over(at));
        }
        self.queues.len() < QUEUES_MAX || self.queues.contains_key(queue)
    }
}

#[cfg(test)]
mod tests {
    use scheduler::chrono::TimeDelta;

    use super::*;

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::minutes(1_000 + minute)
    }

    #[test]
    fn a_minute_is_kept_for_an_hour_and_counts_again_from_zero() {
        let mut hour = Hour::new();
        hour.started(at(0), Duration::from_secs(3));
        hour.started(at(0), Duration::from_secs(1));
        hour.ended(at(0), Ended::Success);
        hour.ended(at(1), Ended::Panic);
        hour.ended(at(1), Ended::Cancelled);
        let minutes = hour.until(at(1));
        assert_eq!((minutes.len(), minutes[59].failed, minutes[59].succeeded), (MINUTES, 1, 0));
        let first = minutes[58];
        assert_eq!((first.started, first.succeeded, first.failed), (2, 1, 0));
        assert_eq!((first.waited.as_secs(), first.longest_wait.as_secs()), (4, 3));
        assert!(minutes[..58].iter().all(|minute| minute.started == 0));
        assert_eq!(hour.until(at(59))[0].started, 2);
        assert!(hour.until(at(60)).iter().all(|minute| minute.started == 0));
        hour.started(at(60), Duration::ZERO);
        assert_eq!(hour.until(at(60))[59].started, 1, "the place was taken by another minute");
        // A clock that is set back.
        hour.started(at(-30), Duration::ZERO);
        assert_eq!(hour.until(at(-30))[59].started, 1);
    }

    #[test]
    fn queues_are_bounded_and_those_that_rest_make_room() {
        let mut hour = LastHour::default();
        for number in 0..QUEUES_MAX {
            let queue = number.to_string();
            assert!(hour.has_room(&queue, at(0)));
            hour.queues.entry(queue.into()).or_insert_with(Hour::new).ended(at(0), Ended::Success);
        }
        assert!(!hour.has_room("one more", at(59)) && hour.has_room("7", at(59)));
        assert!(hour.has_room("one more", at(60)));
        assert!(hour.queues.is_empty());
    }
}
