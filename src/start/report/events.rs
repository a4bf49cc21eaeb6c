//! Messages about other events than ends of runs, and first warnings.

use chrono::{DateTime, Utc};

use crate::observe::{
    Event, EventKind, Failure, Level, Longest, Outcome, RuleKind, SkipReason, StopReason,
    StoreEvent, TaskState, UNBLOCK, duration, instant, on_one_line, plural,
};
use crate::start::report::Message;
use crate::start::report::reporter::{Count, MessageLimit, Show};

/// The number of messages of one kind about a task that are shown in full before they are summed up.
const NEWS_IN_FULL: u32 = 10;

/// The messages shown lately about a task, a pool or a hook, by kind of event and, for skips, by reason.
#[derive(Debug, Default)]
pub(super) struct Shown(Vec<((&'static str, &'static str), MessageLimit)>);

impl Shown {
    /// The message about an event, if one is due. `holder` is who held the threads of its pool lately.
    pub(super) fn report(&mut self, event: &Event, holder: Option<&Longest>) -> Option<Message> {
        match &event.kind {
            EventKind::Skipped { reason, first, last, count, at_least, .. } => {
                let why = why(event, holder)?;
                let count = Count { number: *count, at_least: *at_least };
                self.limited(event, reason.name(), count, |count, within| {
                    skipped(event, (*first, *last), count, within.as_deref(), &why)
                })
            }
            _ => {
                let message = message(event)?;
                let which = match &event.kind {
                    EventKind::Store { what } => what.name(),
                    EventKind::Starved { is_waiting: true, .. } => "waiting",
                    _ => "",
                };
                self.limited(event, which, Count::ONE, |count, within| match within {
                    None => message,
                    Some(within) => message.note(often(event, count.number, &within)),
                })
            }
        }
    }

    /// Shows the message in full, or once a minute with how often it occurred and in which time.
    fn limited(
        &mut self,
        event: &Event,
        which: &'static str,
        count: Count,
        message: impl FnOnce(Count, Option<String>) -> Message,
    ) -> Option<Message> {
        let kind = (event.kind.name(), which);
        let index = self.0.iter().position(|(known, _)| *known == kind).unwrap_or_else(|| {
            self.0.push((kind, MessageLimit::new(in_full(event), 1)));
            self.0.len() - 1
        });
        match self.0[index].1.ask(event.at, count) {
            Show::InFull { hidden, .. } => {
                let hidden = hidden.map_or_else(String::new, |hidden| hidden.note(event.zone()));
                Some(message(count, None).note(hidden))
            }
            Show::Summed { count, since } => {
                let within = duration((event.at - since).to_std().unwrap_or_default());
                Some(message(count, Some(within)))
            }
            Show::Nothing => None,
        }
    }
}

fn often(event: &Event, count: u64, within: &str) -> String {
    match event.kind {
        // Not every late start is explained.
        EventKind::Starved { is_waiting: false, .. } => {
            format!("at least {count} runs of this pool started late within {within}")
        }
        _ => format!("{count} times within {within}"),
    }
}

/// The number of messages of this kind that are shown in full: one for a warning.
fn in_full(event: &Event) -> u32 {
    match event.kind {
        EventKind::Paused { .. }
        | EventKind::Resumed { .. }
        | EventKind::Rescheduled { .. }
        | EventKind::RunFinished { .. }
        | EventKind::Store { what: StoreEvent::JobParked { .. } } => NEWS_IN_FULL,
        // Each author is to be found later.
        EventKind::Action { .. } => u32::MAX,
        _ => 1,
    }
}

/// The pool or the hook that an event is about, if its messages are limited by that.
pub(super) fn place(event: &Event) -> Option<&str> {
    match &event.kind {
        EventKind::Starved { pool, is_waiting: false, .. }
        | EventKind::WorkerRefused { pool, .. } => Some(pool),
        EventKind::HookFailed { hook, .. } => Some(hook),
        EventKind::Store { what: StoreEvent::TaskUnknown { task, .. } } => Some(task),
        _ => None,
    }
}

/// The level of a message about the store, if there is one.
fn level_of(what: &StoreEvent) -> Option<Level> {
    match what {
        StoreEvent::SessionOpened { .. }
        | StoreEvent::ScheduleOlder { .. }
        | StoreEvent::ScheduleRegistered { .. }
        | StoreEvent::NodePaused { .. }
        | StoreEvent::Back { .. } => Some(Level::Info),
        // A pause is reported itself.
        StoreEvent::ClaimReturned { .. }
        | StoreEvent::TicksSkipped { reason: SkipReason::Paused, .. } => None,
        StoreEvent::JobParked { .. } | StoreEvent::Damaged { .. } => Some(Level::Error),
        _ => Some(Level::Warn),
    }
}

/// More about an event of the store; empty if there is nothing.
fn more_of(what: &StoreEvent) -> String {
    match what {
        StoreEvent::TaskUnknown { version: Some(_), .. }
        | StoreEvent::TaskUnknown { elsewhere: Some(_), .. } => String::new(),
        StoreEvent::TaskUnknown { known, .. } if known.is_empty() => "no task is known".to_owned(),
        StoreEvent::TaskUnknown { known, .. } => format!("known tasks: {}", known.join(", ")),
        _ => String::new(),
    }
}

/// The remedy for an event of the store; empty if there is none.
fn help_of(what: &StoreEvent) -> String {
    match what {
        StoreEvent::JobParked { job } => {
            format!("it is kept for a retry by hand: scheduler jobs retry {}", job.id)
        }
        StoreEvent::OtherApplication { application, other, help, .. } => format!(
            "help: {help}; or, if `{application}` and `{other}` are one application, \
             .application(\"{other}\") in the NodeOptions of both"
        ),
        StoreEvent::ScheduleAhead { .. } => {
            "help: Schedules::reschedule with another rule, then Schedules::reset: each counts from now".to_owned()
        }
        StoreEvent::TaskUnknown { version: Some(version), .. } => format!(
            "help: start a process of the build that knows version {version}: they wait for it; if that build is gone for good, \
             give each of them an older payload or cancel it: scheduler jobs edit, scheduler jobs cancel"
        ),
        StoreEvent::TaskUnknown { elsewhere: Some(_), .. } => {
            "help: start a process that has the task and serves the queue, or add the queue to `node.queues` of one that has it".to_owned()
        }
        StoreEvent::ClockOff { .. } => {
            "help: let a time server set the clock of this machine: timedatectl set-ntp true".to_owned()
        }
        StoreEvent::TaskUnknown { task, due, .. } => {
            let gone = match due {
                0 => "Schedules::remove".to_owned(),
                _ => format!("scheduler jobs cancel --state ready --task {task}"),
            };
            format!("help: start a process that has it; if it is gone for good, {gone}")
        }
        _ => String::new(),
    }
}

fn message(event: &Event) -> Option<Message> {
    let message = match &event.kind {
        EventKind::Paused { .. }
        | EventKind::Resumed { .. }
        | EventKind::Rescheduled { .. }
        | EventKind::Enabled { .. }
        | EventKind::Action { .. }
        | EventKind::RunFinished { outcome: Outcome::Cancelled | Outcome::Snoozed(_), .. } => {
            Message::about(event, Level::Info)
        }
        EventKind::Store { what } => {
            Message::about(event, level_of(what)?).note(more_of(what)).note(help_of(what))
        }
        EventKind::Starved { .. } => starved(event)?,
        EventKind::WorkerRefused { .. } => Message::about(event, Level::Warn)
            .note("the pool continues with its threads, and tries again with the next task"),
        EventKind::DropPanicked { failure } | EventKind::HookFailed { failure, .. } => {
            Message::about(event, Level::Error)
                .note(place_of(failure))
                .note("the scheduler continues")
        }
        EventKind::TriggerFailed { failure, .. } => Message::about(event, Level::Error)
            .note(place_of(failure))
            .note("no run starts before the trigger answers"),
        EventKind::WaitStarved { pool, .. } => Message::about(event, Level::Warn).note(format!(
            "help: let one task not wait for another, or raise `{}`",
            size_key(pool)
        )),
        EventKind::RunFinished { outcome: Outcome::Lost, .. } => Message::about(event, Level::Warn)
            .note("this process could not reach the store for too long"),
        EventKind::StopRequested { reason: StopReason::Timeout, blocked, .. } => {
            let message =
                Message::about(event, Level::Warn).note("it runs longer than its `timeout`");
            if event.task.as_ref().is_some_and(|task| task.is_async) {
                let blocking = blocking(event.task_name()?, blocked.is_some());
                let message = message.note("its future is dropped at the next `.await`");
                return Some(message.note(blocking));
            }
            message
                .note("it holds its thread until it returns")
                .note("help: let it ask `run.stop_requested()` now and then")
        }
        _ => return None,
    };
    Some(message)
}

fn starved(event: &Event) -> Option<Message> {
    let EventKind::Starved { pool, late, is_waiting, busy, longest } = &event.kind else {
        return None;
    };
    let (task, late, key) = (event.task_name()?, duration(*late), size_key(pool));
    let threads = match busy {
        1 => format!("the only thread of pool `{pool}`"),
        _ => format!("all {busy} threads of pool `{pool}`"),
    };
    let are = if *busy == 1 { "is" } else { "are" };
    let verb = match is_waiting {
        true => format!("has waited {late} for a thread"),
        false => format!("started {late} late"),
    };
    let message = Message::warn(format!(
        "task `{task}` {verb}: {threads} {are} busy, longest: {}; raise `{key}` (now {busy})",
        held_by(longest)
    ));
    Some(message.with_fields(event).note(blocking(&longest.task, longest.is_async)))
}

/// `import` (src/jobs.rs:7) for 12s
fn held_by(longest: &Longest) -> String {
    let Longest { task, location, running_for, .. } = longest;
    let place = location.map_or_else(String::new, |location| format!(" ({location})"));
    format!("`{task}`{place} for {}", duration(*running_for))
}

/// The remedy for a future that blocks its thread; empty for a plain function.
fn blocking(task: &str, is_async: bool) -> String {
    let help = || format!("`{task}` is async and blocks its thread: {UNBLOCK}");
    is_async.then(help).unwrap_or_default()
}

/// The reason for skipped runs, and the remedy.
struct Why {
    reason: String,
    note: String,
}

fn skipped(
    event: &Event,
    (first, last): (DateTime<Utc>, DateTime<Utc>),
    count: Count,
    within: Option<&str>,
    why: &Why,
) -> Message {
    let time = |at| instant(at, event.zone());
    let what = match within {
        None if count == Count::ONE => format!("its run of {}", time(last)),
        None if first < last => format!("{count} runs, from {} to {}", time(first), time(last)),
        None => format!("{count} runs, the last one for {}", time(last)),
        Some(within) => {
            format!("{count} runs within {within}, the last one for {}", time(last))
        }
    };
    let task = event.task_name().unwrap_or_default();
    let Why { reason, note } = why;
    Message::warn(format!("task `{task}` skipped {what}: {reason}")).with_fields(event).note(note)
}

/// Why runs were skipped; `None` if that was intended.
fn why(event: &Event, holder: Option<&Longest>) -> Option<Why> {
    let EventKind::Skipped { reason, blocked, .. } = &event.kind else { return None };
    let (busy, note) = match (reason, holder) {
        (SkipReason::Overlap, _) => {
            let note = blocking(event.task_name().unwrap_or_default(), blocked.is_some());
            return Some(Why { reason: "the run before was still in progress".to_owned(), note });
        }
        (SkipReason::Limit, _) => {
            let reason = "the job before waited for its turn: the task has a limit".to_owned();
            return Some(Why { reason, note: String::new() });
        }
        (SkipReason::Misfire, _) if event.task.as_ref().is_some_and(|task| task.is_durable) => {
            ("no process was there, or all of them were busy".to_owned(), String::new())
        }
        (SkipReason::Misfire, None) => {
            ("all threads were busy, or the process stood still".to_owned(), String::new())
        }
        (SkipReason::Misfire, Some(longest)) => (
            format!("all threads were busy, longest: {}", held_by(longest)),
            blocking(&longest.task, longest.is_async),
        ),
        (SkipReason::Paused | SkipReason::Rescheduled | SkipReason::Refused, _) => return None,
    };
    Some(Why { reason: format!("its time had passed before it could run: {busy}"), note })
}

/// The message about the end of a task; none for a one-time task that has run.
pub(super) fn ended(event: &Event) -> Option<Message> {
    let EventKind::TaskEnded { state } = event.kind else { return None };
    match (state, event.task.as_ref()?.kind) {
        (TaskState::Completed, RuleKind::Once) => None,
        (TaskState::Completed, kind) => {
            let rule = match kind {
                RuleKind::Custom => "trigger",
                RuleKind::Cron => "cron expression",
                _ => "schedule",
            };
            Some(
                Message::about(event, Level::Info)
                    .note(format!("its {rule} has no further fire time")),
            )
        }
        (TaskState::Failed, _) => Some(
            Message::about(event, Level::Error)
                .note("by `on_error = \"stop\"`; with `on_error = \"continue\"` it runs on"),
        ),
        _ => Some(Message::about(event, Level::Info)),
    }
}

/// The setting for the size of a pool, as it is written in a file.
fn size_key(pool: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    match pool {
        "default" => "scheduler.pool.size".to_owned(),
        _ if pool.chars().all(is_bare) => format!("scheduler.pools.{pool}.size"),
        _ => format!("scheduler.pools.{pool:?}.size"),
    }
}

fn place_of(failure: &Failure) -> String {
    failure.place().map_or_else(String::new, |place| format!("at {place}"))
}

/// The most names in a warning.
const NAMES_MAX: usize = 5;

/// The warning for a build in which no panic can be caught.
pub(crate) fn panics_abort() -> Option<Message> {
    cfg!(panic = "abort").then(|| {
        Message::warn("this build aborts on panic: a panicking task will end the process")
            .note("help: remove `panic = \"abort\"` from the profile in Cargo.toml")
    })
}

/// The first names, and the number of the others.
fn first_names(names: &[&str]) -> String {
    let first = names.iter().take(NAMES_MAX).map(|name| format!("`{}`", on_one_line(name)));
    let first = first.collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMES_MAX) {
        0 => first,
        more => format!("{first}, and {more} more"),
    }
}

/// The warning for durable tasks whose runs may last for ever.
pub(crate) fn durable_without_timeout(tasks: &[&str]) -> Option<Message> {
    let (count, names) = (plural(tasks.len() as u64, "durable task"), first_names(tasks));
    let text = format!(
        "{count} without `timeout`, so that a run that hangs keeps its worker and its key for ever: {names}"
    );
    let help =
        "help: #[job(timeout = \"10m\")], or `scheduler.defaults.timeout = \"10m\"` for all tasks";
    (!tasks.is_empty()).then(|| Message::warn(text).note(help))
}

/// The warning for annotated tasks that another scheduler of the process runs, too.
pub(crate) fn tasks_shared_with_other_schedulers(tasks: &[&str]) -> Message {
    let (count, names) = (plural(tasks.len() as u64, "annotated task"), first_names(tasks));
    Message::warn(format!(
        "another scheduler of this process runs the same {count}, so that each runs more than once: {names}"
    ))
    .note("help: Scheduler::builder().tasks(tasks![…]) names the annotated tasks of a scheduler; tasks![] is none")
}

/// The warning for a scheduler without tasks.
pub(crate) fn no_tasks() -> Message {
    Message::warn("no scheduled tasks found")
        .note(
            "note: tasks in another crate are linked only if the crate is mentioned: \
             add `use jobs as _;` to main.rs",
        )
        .note("note: a file is compiled only if it is declared: is there a `mod jobs;`?")
        .note("help: annotate a function: #[scheduled(fixed_rate = \"1s\")] fn tick() {}")
}
