//! Decides when a ping is sent: plain data and arithmetic, without a clock.
//!
//! At most one *report* of a task begins in thirty seconds: a start with the end of the same run, or an end alone. The end
//! that belongs to a sent start follows at once. The first failure after a success is sent at once, too. Any other end that
//! comes too early is held back until its time; a newer one takes its place.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use crate::services::{Phase, Ping};

/// The time between the beginnings of two reports of a task.
const INTERVAL: Duration = Duration::from_secs(30);

/// The most runs of a task in progress whose start was sent.
const OPEN_MAX: usize = 64;

/// Decides for all tasks of a scheduler. Times count from any epoch.
#[derive(Debug, Default)]
pub(crate) struct Pacing {
    tasks: HashMap<Arc<str>, ReportLog>,
    /// Pings that another one made superfluous.
    coalesced: u64,
}

/// The reports of a task so far.
#[derive(Debug, Default)]
struct ReportLog {
    /// When the last report began.
    last: Option<Duration>,
    /// The runs whose start was sent, and whose end was not.
    open: HashSet<Uuid>,
    /// The end that waits for its time.
    held: Option<Ping>,
    /// The last end that was sent is a failure.
    is_failing: bool,
    /// True if the task has ended: nothing comes but the ends of its last runs.
    is_ended: bool,
}

impl ReportLog {
    fn free_at(&self) -> Duration {
        self.last.map_or(Duration::ZERO, |last| last + INTERVAL)
    }
}

impl Pacing {
    /// Takes a ping, and returns it if it is sent now.
    pub(crate) fn take(&mut self, ping: Ping, now: Duration) -> Option<Ping> {
        let name = Arc::clone(&ping.task.name);
        let taken = self.decide(ping, now);
        self.forget(&name);
        taken
    }

    fn decide(&mut self, ping: Ping, now: Duration) -> Option<Ping> {
        let task = self.tasks.entry(Arc::clone(&ping.task.name)).or_default();
        let is_free = now >= task.free_at();
        match ping.phase {
            Phase::Started => {
                let is_sent = is_free && task.held.is_none() && task.open.len() < OPEN_MAX;
                if !is_sent {
                    self.coalesced += 1;
                    return None;
                }
                task.open.insert(ping.run);
                task.last = Some(now);
            }
            Phase::Succeeded | Phase::Failed => {
                let is_failure = ping.phase == Phase::Failed;
                let is_open = task.open.remove(&ping.run);
                let is_news = is_failure && !task.is_failing;
                if !(is_open || is_free || is_news) {
                    self.coalesced += u64::from(task.held.replace(ping).is_some());
                    return None;
                }
                self.coalesced += u64::from(task.held.take().is_some());
                task.is_failing = is_failure;
                if !is_open {
                    task.last = Some(now);
                }
            }
            Phase::Cancelled => {
                if !task.open.remove(&ping.run) {
                    self.coalesced += 1;
                    return None;
                }
            }
        }
        Some(ping)
    }

    /// The pings that were held back and are due; with `all`, also those that are not.
    pub(crate) fn due(&mut self, now: Duration, all: bool) -> Vec<Ping> {
        let mut due = Vec::new();
        for task in self.tasks.values_mut() {
            if (all || now >= task.free_at())
                && let Some(ping) = task.held.take()
            {
                task.last = Some(now);
                task.is_failing = ping.phase == Phase::Failed;
                due.push(ping);
            }
        }
        due.sort_by_key(|ping| ping.at);
        due
    }

    /// The number of superfluous pings since the last call.
    pub(crate) fn take_coalesced(&mut self) -> u64 {
        std::mem::take(&mut self.coalesced)
    }

    /// The time at which the next of them is due.
    pub(crate) fn next(&self) -> Option<Duration> {
        let holding = self.tasks.values().filter(|task| task.held.is_some());
        holding.map(ReportLog::free_at).min()
    }

    /// Notes that a task has ended, and returns its end that was held back.
    pub(crate) fn end(&mut self, name: &str) -> Option<Ping> {
        let task = self.tasks.get_mut(name)?;
        task.is_ended = true;
        let held = task.held.take();
        self.forget(name);
        held
    }

    /// Forgets a task that has ended, once nothing of it is to come.
    fn forget(&mut self, name: &str) {
        let is_over =
            |task: &ReportLog| task.is_ended && task.open.is_empty() && task.held.is_none();
        if self.tasks.get(name).is_some_and(is_over) {
            self.tasks.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use scheduler::testing::sample_events;

    use super::*;

    /// A ping of a run of the task that sample events are about.
    fn ping(run: u128, phase: Phase) -> Ping {
        let task = sample_events().into_iter().find_map(|event| event.task).expect("a task");
        let (at, run) = (scheduler::chrono::DateTime::UNIX_EPOCH, Uuid::from_u128(run));
        Ping { task, run, phase, message: None, took: None, at }
    }

    /// The pings that are sent, each with its second, run and phase.
    fn sent(pings: &[(u64, u128, Phase)]) -> Vec<(u64, u128, Phase)> {
        let mut pacing = Pacing::default();
        let mut sent = Vec::new();
        for (second, run, phase) in pings {
            let now = Duration::from_secs(*second);
            let due = pacing.due(now, false);
            let taken = pacing.take(ping(*run, *phase), now);
            let pings = due.into_iter().chain(taken);
            sent.extend(pings.map(|ping| (*second, ping.run.as_u128(), ping.phase)));
        }
        sent
    }

    use Phase::{Cancelled, Failed, Started, Succeeded};

    #[test]
    fn a_run_now_and_then_is_sent_from_start_to_end() {
        let runs = [
            (0, 1, Started),
            (5, 1, Succeeded),
            (60, 2, Started),
            (100, 2, Succeeded),
            (120, 3, Started),
        ];
        assert_eq!(sent(&runs), runs);
    }

    #[test]
    fn a_task_of_every_second_is_sent_twice_in_a_minute() {
        let runs: Vec<_> = (0..60)
            .flat_map(|second| {
                [(second, second.into(), Started), (second, second.into(), Succeeded)]
            })
            .collect();
        let expected = [(0, 0, Started), (0, 0, Succeeded), (30, 29, Succeeded)];
        assert_eq!(sent(&runs), expected);
    }

    #[test]
    fn the_first_failure_is_sent_at_once_and_what_follows_it_later() {
        let runs = [
            (0, 1, Started),
            (0, 1, Succeeded),
            (1, 2, Started),
            (1, 2, Failed),
            (2, 3, Started),
            (2, 3, Failed),
            (3, 4, Started),
            (3, 4, Succeeded),
            (40, 5, Started),
        ];
        let expected = [(0, 1, Started), (0, 1, Succeeded), (1, 2, Failed), (40, 4, Succeeded)];
        assert_eq!(sent(&runs), expected);
    }

    #[test]
    fn a_task_that_fails_each_second_is_sent_twice_in_a_minute() {
        let runs: Vec<_> = (0..60).map(|second| (second, second.into(), Failed)).collect();
        assert_eq!(sent(&runs), [(0, 0, Failed), (30, 29, Failed)]);
    }

    #[test]
    fn a_cancelled_run_is_sent_if_its_start_was() {
        let runs = [(0, 1, Started), (1, 2, Started), (2, 2, Cancelled), (3, 1, Cancelled)];
        assert_eq!(sent(&runs), [(0, 1, Started), (3, 1, Cancelled)]);
    }

    #[test]
    fn nothing_is_kept_of_a_task_that_has_ended() {
        let mut pacing = Pacing::default();
        let name = ping(0, Started).task.name.to_string();
        assert!(pacing.take(ping(1, Started), Duration::ZERO).is_some());
        assert!(pacing.end(&name).is_none());
        assert!(pacing.take(ping(1, Cancelled), Duration::ZERO).is_some());
        assert!(pacing.tasks.is_empty());
        assert!(pacing.take(ping(2, Succeeded), Duration::ZERO).is_some());
        assert!(pacing.take(ping(3, Succeeded), Duration::ZERO).is_none());
        assert_eq!(pacing.next(), Some(INTERVAL));
        assert_eq!(pacing.end(&name).map(|ping| ping.run), Some(Uuid::from_u128(3)));
        assert!(pacing.tasks.is_empty());
    }
}
