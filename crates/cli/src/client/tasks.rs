//! Tasks as people read them.

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::api::plain;
use super::table;
use crate::times::{ahead, length};

/// All tasks, those that need a look first.
pub(super) fn list(answer: &Value) -> String {
    let now = instant(&answer["now"]);
    let Some(tasks) = answer["tasks"].as_array() else { return "no tasks\n".to_owned() };
    let mut tasks: Vec<&Value> = tasks.iter().collect();
    tasks.sort_by_key(|task| {
        let is_well = number(task, "streak") == 0;
        let rests = number(task, "running") == 0;
        (is_well, rests, instant(&task["next"]).unwrap_or(DateTime::<Utc>::MAX_UTC))
    });
    let rows: Vec<Vec<String>> = tasks
        .iter()
        .map(|task| {
            vec![
                text(task, "name"),
                state(task, now),
                next(task, now),
                last(task, now),
                schedule(task),
            ]
        })
        .collect();
    let counts = counts(&tasks);
    format!("{}\n{counts}\n", table::of(&["TASK", "STATE", "NEXT", "LAST", "SCHEDULE"], &rows))
}

fn counts(tasks: &[&Value]) -> String {
    let count = |test: &dyn Fn(&Value) -> bool| tasks.iter().filter(|task| test(task)).count();
    let running = count(&|task| number(task, "running") > 0);
    let paused = count(&|task| task["isPaused"] == true);
    let failing = count(&|task| number(task, "streak") > 0);
    let noun = if tasks.len() == 1 { "task" } else { "tasks" };
    format!("{} {noun}, {running} running, {paused} paused, {failing} failing", tasks.len())
}

/// One task with its next fire times and its last runs.
pub(super) fn one(task: &Value) -> String {
    let mut lines = vec![text(task, "name"), String::new()];
    let mut row = |name: &str, value: String| {
        if !value.is_empty() {
            lines.push(format!("  {name:<10} {value}"));
        }
    };
    row("schedule", schedule(task));
    if !text(task, "expression").is_empty() {
        row("cron", text(task, "expression"));
        row("zone", text(task, "zone"));
    }
    row("state", state(task, None));
    row("reason", plain(task["pause"]["note"].as_str().unwrap_or_default()));
    row("until", plain(task["pause"]["untilLocal"].as_str().unwrap_or_default()));
    row("function", text(task, "function"));
    row("source", text(task, "source"));
    row("pool", text(task, "pool"));
    row("trigger", text(task, "triggerFailure"));
    let counters = &task["counters"];
    let (runs, failures) = (number(counters, "runs"), number(counters, "failures"));
    row("runs", format!("{runs}, of which {failures} failed"));
    let millis = |name: &str| task["durations"][name].as_f64().map(took);
    if let (Some(median), Some(most), Some(longest)) =
        (millis("p50Ms"), millis("p95Ms"), millis("maxMs"))
    {
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
    section("next", each(&task["upcoming"], upcoming));
    section("last runs", each(&task["runs"], run));
    lines.join("\n") + "\n"
}

fn each(list: &Value, show: fn(&Value) -> String) -> Vec<String> {
    list.as_array().into_iter().flatten().map(show).collect()
}

fn upcoming(time: &Value) -> String {
    let change = &time["clockChange"];
    let remark = change["isForward"].as_bool().map(|is_forward| {
        let way = if is_forward { "forward" } else { "back" };
        let (before, after) = (text(change, "offsetBefore"), text(change, "offsetAfter"));
        format!("   (clocks go {way}: {before} → {after})")
    });
    format!("{}{}", text(time, "local"), remark.unwrap_or_default())
}

fn run(run: &Value) -> String {
    let number = number(run, "number");
    let took = run["tookMs"].as_f64().map(took).unwrap_or_default();
    let message = plain(run["error"]["message"].as_str().unwrap_or_default());
    let line = format!(
        "#{number:<6} {}   {:<9} {took:>8}   {message}",
        text(run, "startedAtLocal"),
        text(run, "outcome")
    );
    line.trim_end().to_owned()
}

/// What has become of a task by a command.
pub(super) fn sentence(row: &Value, action: &str) -> String {
    let name = text(row, "name");
    match action {
        "run" => format!("{name}: a run was asked for"),
        "pause" => {
            let until = plain(row["pause"]["untilLocal"].as_str().unwrap_or_default());
            let until = if until.is_empty() { String::new() } else { format!(" until {until}") };
            format!("{name}: paused{until}; to let it go on: scheduler resume {name}")
        }
        _ => {
            let next = text(row, "nextLocal");
            let next = if next.is_empty() { String::new() } else { format!("; next {next}") };
            format!("{name}: goes on{next}")
        }
    }
}

pub(super) fn text(value: &Value, name: &str) -> String {
    plain(value[name].as_str().unwrap_or_default())
}

pub(super) fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or(0)
}

fn instant(value: &Value) -> Option<DateTime<Utc>> {
    value.as_str()?.parse().ok()
}

fn schedule(task: &Value) -> String {
    let words = text(task, "words");
    if words.is_empty() { text(task, "rule") } else { words }
}

/// What a task does, and for how long.
fn state(task: &Value, now: Option<DateTime<Utc>>) -> String {
    let since = |name: &str| {
        Some(length((now? - instant(&task[name])?).num_seconds().max(0).unsigned_abs()))
    };
    let mut state = match number(task, "running") {
        0 => text(task, "state"),
        count => {
            let count = if count == 1 { String::new() } else { format!(" {count} times") };
            let since = since("runningSince").map(|since| format!(", {since}")).unwrap_or_default();
            format!("running{count}{since}")
        }
    };
    if task["isPaused"] == true {
        let is_running = number(task, "running") > 0;
        state = if is_running { format!("{state}, paused") } else { "paused".to_owned() };
    }
    let streak = number(task, "streak");
    if streak > 0 { format!("{state}, failed {streak}×") } else { state }
}

/// When the next run is; never a time that has passed.
fn next(task: &Value, now: Option<DateTime<Utc>>) -> String {
    let shown = |at: &str, local: &str| {
        let (now, at) = (now?, instant(&task[at])?);
        Some(match at <= now {
            true => "now".to_owned(),
            false => format!("{} ({})", text(task, local), ahead(now, at)),
        })
    };
    if task["isPaused"] == true {
        let would = shown("wouldRunAt", "wouldRunAtLocal");
        return would.map(|at| format!("if resumed, {at}")).unwrap_or_default();
    }
    shown("next", "nextLocal").unwrap_or_else(|| "-".to_owned())
}

/// How the last run ended, and how long ago.
fn last(task: &Value, now: Option<DateTime<Utc>>) -> String {
    let last = &task["last"];
    let Some(outcome) = last["outcome"].as_str() else { return "never ran".to_owned() };
    let ago = now.zip(instant(&last["endedAt"])).map(|(now, at)| {
        format!(", {} ago", length((now - at).num_seconds().max(0).unsigned_abs()))
    });
    let message = last["message"].as_str().map(|message| format!(": {}", plain(message)));
    format!("{}{}{}", plain(outcome), message.unwrap_or_default(), ago.unwrap_or_default())
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
