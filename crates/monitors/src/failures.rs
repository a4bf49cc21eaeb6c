//! Messages about a monitor that does not take pings.

use std::time::Duration;

/// The shortest time between two messages.
const INTERVAL: Duration = Duration::from_secs(60);

/// Problems since the last message.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    pub(crate) dropped: u64,
    failed: u64,
    /// The reason of the last failure.
    last: Option<String>,
    /// The time of the last summary.
    summed_up_at: Option<Duration>,
    /// The time of the last message that the monitor is away.
    away_at: Option<Duration>,
    is_away: bool,
}

impl Failures {
    pub(crate) fn failed(&mut self, reason: String) {
        self.failed += 1;
        self.last = Some(reason);
    }

    /// The message of the first refusal that may pass.
    pub(crate) fn is_away(&mut self, name: &str, reason: &str, now: Duration) -> Option<String> {
        let may_say = self.away_at.is_none_or(|at| now >= at + INTERVAL);
        if self.is_away || !may_say {
            return None;
        }
        (self.is_away, self.away_at) = (true, Some(now));
        Some(format!("{name} is away: {reason}; pings are tried again"))
    }

    /// The message of the first ping that is taken afterwards.
    pub(crate) fn is_back(&mut self, name: &str) -> Option<String> {
        std::mem::take(&mut self.is_away).then(|| format!("{name} takes pings again"))
    }

    /// The time at which there is a summary.
    pub(crate) fn due(&self) -> Option<Duration> {
        let is_trouble = self.dropped > 0 || self.failed > 0;
        is_trouble.then(|| self.summed_up_at.map_or(Duration::ZERO, |at| at + INTERVAL))
    }

    /// The summary if it is due; `at_once` does not wait.
    pub(crate) fn message(&mut self, name: &str, now: Duration, at_once: bool) -> Option<String> {
        if now < self.due()? && !at_once {
            return None;
        }
        let mut texts = Vec::new();
        if self.failed > 0 {
            let last = self.last.take().map(|reason| format!("; the last time {name}: {reason}"));
            let last = last.unwrap_or_default();
            texts.push(format!("{} could not be sent{last}", pings(self.failed)));
        }
        if self.dropped > 0 {
            texts.push(format!("{} did not fit into the queue", pings(self.dropped)));
        }
        (self.failed, self.dropped, self.summed_up_at) = (0, 0, Some(now));
        Some(texts.join(", and "))
    }
}

fn pings(count: u64) -> String {
    if count == 1 { "1 ping".to_owned() } else { format!("{count} pings") }
}
