//! Tasks as people read them.

use chrono::{DateTime, Utc};
use scheduler_api::{FireTime, Run, Task, Tasks};

use super::api::plain;
use super::table;
use crate::times::{ahead, length};

/// All tasks, those that need a look first.
pub(super) fn list(answer: &Tasks) -> String {
    let now = answer.now.parse().ok();
    let mut tasks: Vec<&Task> = answer.tasks.iter().collect();
    tasks.sort_by_key(|task| {
        let (is_well, rests) = (task.streak == 0, task.running == 0);
        (is_well, rests, instant(&task.next).unwrap_or(DateTime::<Utc>::MAX_UTC))
    });
    let row = |task: &&Task| {
        vec![plain(&task.name), state(task, now), next(task, now), last(task, now), schedule(task)]
    };
    let rows: Vec<Vec<String>> = tasks.iter().map(row).collect();
    let counts = counts(&answer.tasks);
    format!("{}\n{counts}\n", table::of(&["TASK", "STATE", "NEXT", "LAST", "SCHEDULE"], &rows))
}

fn counts(tasks: &[Task]) -> String {
    let count = |test: fn(&&Task) -> bool| tasks.iter().filter(test).count();
    let running = count(|task| task.running > 0);
    let paused = count(|task| task.is_paused);
    let failing = count(|task| task.streak > 0);
    let noun = if tasks.len() == 1 { "task" } else { "tasks" };
    format!("{} {noun}, {running} running, {paused} paused, {failing} failing", tasks.len())
}

/// One task with its next fire times and its last runs.
pub(super) fn one(task: &Task, runs: &[Run]) -> String {
    let mut lines = vec![plain(&task.name), String::new()];
    let mut row = |name: &str, value: String| {
        if !value.is_empty() {
            lines.push(format!("  {name:<10} {value}"));
        }
    };
    row("schedule", schedule(task));
    if let Some(expression) = &task.expression {
        row("cron", plain(expression));
        row("zone", plain(&task.zone));
    }
    row("state", state(task, None));
    let pause = task.pause.clone().unwrap_or_default();
    row("reason", text(&pause.reason));
    row("until", text(&pause.until_local));
    row("function", text(&task.function));
    row("source", text(&task.source));
    row("pool", plain(&task.pool));
    row("trigger", text(&task.trigger_failure));
    let counters = &task.counters;
    row("runs", format!("{}, of which {} failed", counters.runs, counters.failures));
    let durations = task.durations.clone().unwrap_or_default();
    if let (Some(median), Some(most), Some(longest)) =
        (durations.p50_ms, durations.p95_ms, durations.max_ms)
    {
        let [median, most, longest] = [median, most, longest].map(took);
        row(
            "took",
            format!("{median} as a rule, {most} at the 95th percentile, {longest} at most"),
        );
    }
    let mut section = |title: &str, texts: Vec<String>| {
        if !texts.is_empty() {
            lines.push(format!("\n{title}:"));
            lines.extend(texts.into_iter().map(|text| format!("  {text}")));
        }
    };
    section("next", task.upcoming.iter().flatten().map(upcoming).collect());
    section("last runs", runs.iter().map(run).collect());
    lines.join("\n") + "\n"
}

fn upcoming(time: &FireTime) -> String {
    let remark = time.clock_change.as_ref().map(|change| {
        let way = if change.is_forward { "forward" } else { "back" };
        let (before, after) = (plain(&change.offset_before), plain(&change.offset_after));
        format!("   (clocks go {way}: {before} → {after})")
    });
    format!("{}{}", plain(&time.local), remark.unwrap_or_default())
}

fn run(run: &Run) -> String {
    let took = run.took_ms.map(took).unwrap_or_default();
    let message = run.error.as_ref().map(|error| plain(&error.message)).unwrap_or_default();
    let (number, outcome) = (run.number, plain(&run.outcome));
    let line = format!(
        "#{number:<6} {}   {outcome:<9} {took:>8}   {message}",
        plain(&run.started_at_local)
    );
    line.trim_end().to_owned()
}

/// The effect of a command on a task.
pub(super) fn sentence(row: &Task, action: &str) -> String {
    let name = plain(&row.name);
    match action {
        "run" => format!("{name}: a run was asked for"),
        "pause" => {
            let until = row.pause.as_ref().and_then(|pause| pause.until_local.as_deref());
            let until = until.map(|until| format!(" until {}", plain(until))).unwrap_or_default();
            format!("{name}: paused{until}; to let it go on: scheduler resume {name}")
        }
        _ => {
            let next = row.next_local.as_deref().map(|next| format!("; next {}", plain(next)));
            format!("{name}: goes on{}", next.unwrap_or_default())
        }
    }
}

/// A text that may be absent.
pub(super) fn text(text: &Option<String>) -> String {
    plain(text.as_deref().unwrap_or_default())
}

fn instant(text: &Option<String>) -> Option<DateTime<Utc>> {
    text.as_deref()?.parse().ok()
}

fn schedule(task: &Task) -> String {
    plain(task.words.as_deref().unwrap_or(&task.rule))
}

/// The state of a task, and for how long it has run.
fn state(task: &Task, now: Option<DateTime<Utc>>) -> String {
    let since = || {
        let seconds = (now? - instant(&task.running_since)?).num_seconds();
        Some(length(seconds.max(0).unsigned_abs()))
    };
    let mut state = match task.running {
        0 => plain(&task.state),
        count => {
            let count = if count == 1 { String::new() } else { format!(" {count} times") };
            let since = since().map(|since| format!(", {since}")).unwrap_or_default();
            format!("running{count}{since}")
        }
    };
    if task.is_paused {
        state = if task.running > 0 { format!("{state}, paused") } else { "paused".to_owned() };
    }
    if task.streak > 0 { format!("{state}, failed {}×", task.streak) } else { state }
}

/// The time of the next run; never one that has passed.
fn next(task: &Task, now: Option<DateTime<Utc>>) -> String {
    let shown = |at: &Option<String>, local: &Option<String>| {
        let (now, at) = (now?, instant(at)?);
        Some(match at <= now {
            true => "now".to_owned(),
            false => format!("{} ({})", text(local), ahead(now, at)),
        })
    };
    if task.is_paused {
        let would = shown(&task.would_run_at, &task.would_run_at_local);
        return would.map(|at| format!("if resumed, {at}")).unwrap_or_default();
    }
    shown(&task.next, &task.next_local).unwrap_or_else(|| "-".to_owned())
}

/// The outcome of the last run, and its age.
fn last(task: &Task, now: Option<DateTime<Utc>>) -> String {
    let Some(last) = &task.last else { return "never ran".to_owned() };
    let ago = now.zip(last.ended_at.parse::<DateTime<Utc>>().ok()).map(|(now, at)| {
        format!(", {} ago", length((now - at).num_seconds().max(0).unsigned_abs()))
    });
    let message = last.message.as_deref().map(|message| format!(": {}", plain(message)));
    format!("{}{}{}", plain(&last.outcome), message.unwrap_or_default(), ago.unwrap_or_default())
}

/// A number of milliseconds, in the unit that suits it.
pub(super) fn took(millis: f64) -> String {
    match millis {
        ..1.0 => format!("{millis:.2}ms"),
        ..1_000.0 => format!("{millis:.0}ms"),
        ..60_000.0 => format!("{:.1}s", millis / 1_000.0),
        // A run of millions of years is shown as such.
        _ => length((millis / 1_000.0) as u64),
    }
}
