//! Runs and waits of the last hour, a number for each minute.

use scheduler::chrono::{DateTime, Utc};
use scheduler_api::{Minutes, QueueMinutes, Throughput};

use crate::app::App;
use crate::log::{Hour, Minute};
use crate::times::{instant, millis, now};

/// All tasks of this process, and the queues of its jobs, by name.
pub(crate) fn throughput(app: &App) -> Throughput {
    let (now, hour) = (now(), app.recorder.hour());
    let queues = hour.queues.iter().map(|(queue, hour)| QueueMinutes {
        queue: queue.to_string(),
        minutes: minutes(hour, now),
    });
    let mut queues: Vec<QueueMinutes> = queues.collect();
    queues.sort_by(|one, other| one.queue.cmp(&other.queue));
    Throughput {
        now: instant(now),
        known_since: instant(hour.known_since.unwrap_or(now)),
        all: minutes(&hour.all, now),
        queues,
    }
}

fn minutes(hour: &Hour, now: DateTime<Utc>) -> Minutes {
    let minutes = hour.until(now);
    let counts = |read: fn(&Minute) -> u64| minutes.iter().map(read).collect();
    let mean = |minute: &Minute| millis(minute.waited) / (minute.started.max(1) as f64);
    Minutes {
        started: counts(|minute| minute.started),
        succeeded: counts(|minute| minute.succeeded),
        failed: counts(|minute| minute.failed),
        wait_ms: minutes.iter().map(mean).collect(),
        longest_wait_ms: minutes.iter().map(|minute| millis(minute.longest_wait)).collect(),
    }
}
