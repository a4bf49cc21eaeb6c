//! The history of a task, and the hours around now.

use scheduler::chrono::{DateTime, TimeDelta, Utc};
use scheduler::{Failure, RunRecord, TaskControl, TaskSnapshot};
use scheduler_api::{
    FailedAttempt, Minutes, QueueMinutes, Run, RunError, Runs, TaskTimeline, Throughput, Timeline,
};

use crate::app::App;
use crate::log::{self, LoggedRun, Minute, OutcomeKind};
use crate::times::{instant, millis, now};
use crate::view::task;

/// The wanted runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    /// At most so many.
    pub(crate) limit: usize,
    /// Only those with a lower number.
    pub(crate) before: u64,
}

/// The runs of a task, the latest first.
pub(crate) fn runs(app: &App, task: &TaskSnapshot, page: Page) -> Runs {
    let logged = app
        .recorder
        .with(task.name(), |log| log.runs.iter().rev().cloned().collect::<Vec<LoggedRun>>());
    let logged = logged.unwrap_or_default();
    let full = task.last_runs.iter().filter(|run| run.number < page.before);
    let full = full
        .map(|run| of_record(app, run, logged.iter().find(|logged| logged.number == run.number)));
    let lowest = task.last_runs.iter().map(|run| run.number).min().unwrap_or(u64::MAX);
    let older = logged.iter().filter(|run| run.number < lowest.min(page.before));
    let older = older.map(|run| of_kept(app, run));
    let mut runs: Vec<Run> = full.chain(older).take(page.limit + 1).collect();
    let has_more = runs.len() > page.limit;
    runs.truncate(page.limit);
    Runs { task: task.name().to_owned(), runs, has_more }
}

fn of_record(app: &App, run: &RunRecord, logged: Option<&LoggedRun>) -> Run {
    let notes = run.notes.iter().map(|note| app.options.redacted(note)).collect();
    Run {
        number: run.number,
        cause: run.cause.name().to_owned(),
        fire_time: instant(run.fire_time),
        started_at: instant(run.started_at),
        attempts: run.attempts,
        outcome: run.outcome.name().to_owned(),
        took_ms: Some(millis(run.took)),
        late_ms: logged.map(|logged| millis(logged.late())),
        error: run.outcome.failure().map(|failure| error(app, failure)),
        failed_attempts: logged.and_then(|logged| failed_attempts(app, logged)),
        notes: Some(notes).filter(|notes: &Vec<String>| !notes.is_empty()),
    }
}

fn of_kept(app: &App, run: &LoggedRun) -> Run {
    let message = run.text.as_deref().map(|text| app.options.redacted(text));
    let outcome = run.outcome.name();
    Run {
        number: run.number,
        cause: run.cause.name().to_owned(),
        fire_time: instant(run.fire_time()),
        started_at: instant(run.started_at()),
        attempts: run.attempts,
        outcome: outcome.to_owned(),
        took_ms: Some(millis(run.took())),
        late_ms: Some(millis(run.late())),
        error: message.map(|message| RunError {
            kind: outcome.to_owned(),
            message,
            ..RunError::default()
        }),
        failed_attempts: failed_attempts(app, run),
        notes: None,
    }
}

fn failed_attempts(app: &App, logged: &LoggedRun) -> Option<Vec<FailedAttempt>> {
    let attempts = logged.failed.as_ref()?.0.iter().map(|attempt| FailedAttempt {
        attempt: attempt.attempt,
        at: instant(attempt.at),
        message: attempt.text.as_deref().map(|text| app.options.redacted(text)),
    });
    Some(attempts.collect())
}

fn error(app: &App, failure: &Failure) -> RunError {
    let causes: Vec<String> = failure.causes().map(|cause| app.options.redacted(cause)).collect();
    RunError {
        kind: failure.kind().to_owned(),
        message: app.options.redacted(failure.message()),
        causes: Some(causes).filter(|causes| !causes.is_empty()),
        place: failure.place().map(|place| place.to_string()),
    }
}

const MINUTES: usize = 60;
/// The number of next fire times that are looked at; those behind them are assumed to go on in the same way.
const FIRE_TIMES_MAX: usize = 60;
/// The least lateness of a start that is shown as late.
const LATE: TimeDelta = TimeDelta::seconds(5);

/// All tasks. In the `past`, the latest minute last: `x` a run failed, `l` a run was late or overdue, `r` a run was in
/// progress that is not over, `o` runs ended without a failure, `p` the pause of now, `?` the runs of then are not kept any more,
/// `.` there was nothing. In the `next`: `n` a run is due. Of several marks of a minute the one of the highest rank shows.
pub(crate) fn timeline(app: &App) -> Timeline {
    let now = now();
    let tasks = app.list();
    let rows = tasks.iter().filter(|task| !task.state.is_ended()).filter_map(|task| {
        let control = app.tasks.get(task.name()).ok()?;
        let next = next(app, &control, task, now);
        let (name, past) = (task.name().to_owned(), past(app, task, now));
        Some(TaskTimeline { name, past, next })
    });
    Timeline { now: instant(now), tasks: rows.collect() }
}

/// The minutes of an hour.
struct HourOfTask {
    start: DateTime<Utc>,
    minutes: [char; MINUTES],
}

impl HourOfTask {
    fn new(start: DateTime<Utc>) -> Self {
        Self { start, minutes: ['.'; MINUTES] }
    }

    /// Marks the minutes from and to these instants, unless they have a mark of a higher rank.
    fn mark(&mut self, from: DateTime<Utc>, to: DateTime<Utc>, mark: char) {
        // By rank, the lowest first.
        let rank = |mark: char| ".?pnorlx".find(mark);
        let minute = |at: DateTime<Utc>| (at - self.start).num_seconds().div_euclid(60);
        let (first, last) = (minute(from).max(0), minute(to).min(59));
        for index in first..=last {
            let kept = usize::try_from(index).ok().and_then(|index| self.minutes.get_mut(index));
            if let Some(kept) = kept.filter(|kept| rank(**kept) < rank(mark)) {
                *kept = mark;
            }
        }
    }

    fn text(&self) -> String {
        self.minutes.iter().collect()
    }
}

fn past(app: &App, task: &TaskSnapshot, now: DateTime<Utc>) -> String {
    let start = now - TimeDelta::minutes(60);
    let mut hour = HourOfTask::new(start);
    let known_from = app.recorder.with(task.name(), |log| {
        for run in &log.runs {
            let (from, to) = (run.started_at(), run.ended_at());
            match run.outcome {
                OutcomeKind::Error | OutcomeKind::Panic | OutcomeKind::Timeout => {
                    hour.mark(from, to, 'x');
                }
                OutcomeKind::Success | OutcomeKind::Cancelled => hour.mark(from, to, 'o'),
            }
            if TimeDelta::from_std(run.late()).is_ok_and(|late| late >= LATE) {
                hour.mark(run.fire_time().max(start), from, 'l');
            }
        }
        let is_full = log.runs.len() >= app.recorder.keeps();
        log.runs.front().filter(|_| is_full).map_or(log.added_at, |run| run.started_at())
    });
    hour.mark(start, known_from.unwrap_or(app.started_at) - TimeDelta::minutes(1), '?');
    if let Some(since) = task.running_since {
        hour.mark(since, now, 'r');
    }
    if let Some(since) = task.late_since.or(task.stuck_since).filter(|since| now - *since >= LATE) {
        hour.mark(since, now, 'l');
    }
    if let Some(since) = task.paused_since.filter(|_| task.is_paused) {
        hour.mark(since, now, 'p');
    }
    hour.text()
}

fn next(app: &App, control: &TaskControl, task: &TaskSnapshot, now: DateTime<Utc>) -> String {
    let mut hour = HourOfTask::new(now);
    let (mut times, _) = task::next_times(app, control, task, FIRE_TIMES_MAX);
    let paused_until = task.paused_until.filter(|_| task.is_paused);
    if task.is_paused && paused_until.is_none() {
        hour.mark(now, now + TimeDelta::minutes(60), 'p');
        return hour.text();
    }
    if let Some(end) = paused_until {
        hour.mark(now, end, 'p');
        times.retain(|at| *at >= end);
    }
    for at in &times {
        hour.mark(*at, *at, 'n');
    }
    if let ([first, .., last], true) = (&*times, times.len() >= FIRE_TIMES_MAX) {
        let gap = (*last - *first) / i32::try_from(times.len() - 1).unwrap_or(1);
        let gap = gap.max(TimeDelta::seconds(30));
        let mut at = *last + gap;
        while at < now + TimeDelta::minutes(60) {
            hour.mark(at, at, 'n');
            at += gap;
        }
    }
    hour.text()
}

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

fn minutes(hour: &log::Hour, now: DateTime<Utc>) -> Minutes {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_keeps_the_mark_of_the_highest_rank() {
        let start = DateTime::UNIX_EPOCH;
        let at = |minute: i64| start + TimeDelta::minutes(minute);
        let mut hour = HourOfTask::new(start);
        hour.mark(at(-5), at(1), 'o');
        hour.mark(at(1), at(2), 'x');
        hour.mark(at(0), at(3), 'l');
        hour.mark(at(58), at(90), 'p');
        hour.mark(at(-9), at(-1), 'x');
        let text = hour.text();
        assert_eq!((&text[..6], &text[56..], text.len()), ("lxxl..", "..pp", MINUTES));
    }
}
