//! Tasks as people read them, once or again and again.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use scheduler_api::{
    Actions, ActionsQuery, FireTime, Limit, Run, Schedule, SkippedTicks, Task, Tasks,
};
use scheduler_core::Tick;
use scheduler_core::time::EventCount;
use scheduler_core::trigger::Zone;
use serde_json::Value;

use crate::client::api::{
    Api, ClientArgs, TimeFormat, duration, instant, local, plain, query, time, zone_of,
};
use crate::client::limits;
use crate::client::table::{self, Cell, Tone};
use crate::context::{Context, Look};
use crate::error::{CliError, NO};
use crate::times::{ahead, length};

/// A lateness below this is no problem; of a durable task, three times as much.
const LATE: TimeDelta = TimeDelta::seconds(5);

/// The number of late tasks that a list explains.
const EXPLAINED: usize = 3;

/// All tasks, those that need a look first.
pub(super) fn list(answer: &Tasks, look: Look, api: &Api) -> String {
    let now = answer.now.parse().ok();
    let mut tasks: Vec<&Task> = answer.tasks.iter().collect();
    tasks.sort_by_key(|task| {
        (rank(task, now), instant(&task.next).unwrap_or(DateTime::<Utc>::MAX_UTC))
    });
    let store_now = answer.store_now.as_deref().and_then(|at| at.parse().ok());
    let row = |task: &&Task| {
        let of_store = task.is_durable.and(store_now).or(now);
        let next =
            Cell::new(next(task, of_store), if task.is_paused { Tone::Faint } else { Tone::Plain });
        vec![
            plain(&task.name).into(),
            state(task, now),
            next,
            last(task, now, of_store),
            format!("{}{}", schedule(task), if is_by_hand(task) { " (by hand)" } else { "" })
                .into(),
        ]
    };
    let rows: Vec<Vec<Cell>> = tasks.iter().map(row).collect();
    let table = table::of(&["TASK", "STATE", "NEXT", "LAST", "SCHEDULE"], &rows, look);
    let hung = tasks.iter().filter(|task| TaskProblem::of(task, now) == Some(TaskProblem::Hung));
    let stops = hung.take(EXPLAINED).filter_map(|task| {
        Some(format!(
            "{} was {}, and still runs\n",
            plain(&task.name),
            asked_to_stop(api, task, now)?
        ))
    });
    let explained = waits(&answer.tasks, now) + &stops.collect::<String>();
    format!("{table}\n{}\n{explained}", counts(&answer.tasks, now))
}

/// The place of a task in a list: first critical ones with a problem, then others with one, then those that run.
fn rank(task: &Task, now: Option<DateTime<Utc>>) -> u8 {
    let is_critical = task.tags.iter().any(|tag| tag == "critical");
    match TaskProblem::of(task, now) {
        Some(_) => u8::from(!is_critical),
        None if task.running > 0 => 2,
        None => 3,
    }
}

/// The trouble of a task, as the dashboard names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskProblem {
    /// A run in progress holds up its own schedule, and takes much longer than others did.
    Hung,
    /// A run waits for a thread.
    Late(TimeDelta),
    Failing,
}

impl TaskProblem {
    pub(super) fn of(task: &Task, now: Option<DateTime<Utc>>) -> Option<Self> {
        let age = |at: &Option<String>| Some(now? - instant(at)?);
        let late = if task.is_durable == Some(true) { LATE * 3 } else { LATE };
        let longest = task.recent.took_ms.iter().copied().fold(0.0, f64::max);
        if age(&task.stuck_since).is_some_and(|stuck| stuck > late) {
            let took = age(&task.running_since).unwrap_or_default();
            if took.num_milliseconds() as f64 > 2.0 * longest {
                return Some(Self::Hung);
            }
        }
        match age(&task.late_since).filter(|waited| *waited > late && task.running == 0) {
            Some(waited) => Some(Self::Late(waited)),
            None => (task.streak > 0).then_some(Self::Failing),
        }
    }
}

fn counts(tasks: &[Task], now: Option<DateTime<Utc>>) -> String {
    let count = |test: &dyn Fn(&Task) -> bool| tasks.iter().filter(|task| test(task)).count();
    let noun = if tasks.len() == 1 { "task" } else { "tasks" };
    let running = count(&|task| task.running > 0);
    let paused = count(&|task| task.is_paused);
    let failing = count(&|task| task.streak > 0);
    let mut text =
        format!("{} {noun}, {running} running, {paused} paused, {failing} failing", tasks.len());
    let late = count(&|task| matches!(TaskProblem::of(task, now), Some(TaskProblem::Late(_))));
    let hung = count(&|task| TaskProblem::of(task, now) == Some(TaskProblem::Hung));
    for (count, word) in [(late, "late"), (hung, "hung")] {
        if count > 0 {
            text.push_str(&format!(", {count} {word}"));
        }
    }
    text
}

/// A line for each of the first late tasks: the run that has held a thread of their pool for longest.
fn waits(tasks: &[Task], now: Option<DateTime<Utc>>) -> String {
    let line = |task: &Task| {
        let Some(TaskProblem::Late(waited)) = TaskProblem::of(task, now) else { return None };
        let by = holder(tasks, task).map(|(since, holder)| {
            let since = age(now.unwrap_or(since) - since);
            format!(", held by {} for {since}", plain(&holder.name))
        });
        let (name, pool, by) = (plain(&task.name), plain(&task.pool), by.unwrap_or_default());
        Some(format!("{name} has waited {} for a thread of pool {pool}{by}\n", age(waited)))
    };
    tasks.iter().filter_map(line).take(EXPLAINED).collect()
}

/// The task with the run that has held a thread of the pool of a late task for longest, and since when.
pub(super) fn holder<'a>(tasks: &'a [Task], late: &Task) -> Option<(DateTime<Utc>, &'a Task)> {
    // A run of an async function that waits holds no thread.
    let holds = |task: &&Task| task.pool == late.pool && task.running > 0 && !task.is_async;
    let held = tasks.iter().filter(holds);
    held.filter_map(|task| Some((instant(&task.running_since)?, task))).min_by_key(|(at, _)| *at)
}

/// The person who has asked the present run of a task to stop, and how long ago: `asked to stop by ada 2m ago`.
pub(super) fn asked_to_stop(api: &Api, task: &Task, now: Option<DateTime<Utc>>) -> Option<String> {
    let since = instant(&task.running_since)?;
    let query = query(&ActionsQuery { task: Some(task.name.clone()), ..ActionsQuery::default() });
    let answer: Actions = api.find(&format!("/actions?{query}")).ok()??;
    let stops = answer.actions.iter().filter(|action| action.action == "cancel");
    let mut stops = stops.filter_map(|action| Some((action.at.parse().ok()?, action)));
    let (at, stop) = stops.find(|(at, _): &(DateTime<Utc>, _)| *at >= since)?;
    Some(format!("asked to stop by {} {} ago", plain(&stop.who), age(now? - at)))
}

pub(super) fn age(length_of_time: TimeDelta) -> String {
    length(length_of_time.num_seconds().max(0).unsigned_abs())
}

/// One task with its next fire times and its last runs.
pub(super) fn one(
    (task, stop): (&Task, Option<String>),
    limits: &[Limit],
    runs: &[Run],
    now: DateTime<Utc>,
    look: Look,
) -> String {
    let zone = zone_of(&task.zone);
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
    let durable = task.schedule.clone().unwrap_or_default();
    row("by hand", by_hand(&durable, zone, now));
    row("state", state(task, Some(now)).shown(look));
    let pause = task.pause.clone().unwrap_or_default();
    row("stop", stop.unwrap_or_default());
    row("since", since(&pause.since, zone, now));
    row("reason", text(&pause.reason));
    row("until", time(&pause.until, zone));
    for limit in limits {
        row("limit", limits::with_author(limit));
    }
    row("failing", since(&task.failing_since, zone, now));
    row(
        "at first",
        task.failing_since.as_ref().map(|_| text(&task.first_failure)).unwrap_or_default(),
    );
    row("succeeded", since(&task.last_success, zone, now));
    row("function", text(&task.function));
    row("source", text(&task.source));
    row("pool", plain(&task.pool));
    row("trigger", text(&task.trigger_failure));
    if task.schedule.is_some() {
        let last = since(&durable.last_tick, zone, now);
        let last = if last.is_empty() { last } else { format!(", the last {last}") };
        row("ticks", format!("{} in all processes{last}", durable.fired));
        row("skipped", skipped(&durable.skipped));
    }
    let counters = &task.counters;
    let is_durable = task.is_durable == Some(true);
    let here = if is_durable { " in this process" } else { "" };
    row("runs", format!("{}, {} failed{here}", counters.runs, counters.failures));
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
    section(
        next_title(task, now),
        task.upcoming.iter().flatten().map(|time| upcoming(time, zone)).collect(),
    );
    let times = TimeFormat::of(zone, runs.iter().map(|past| &*past.started_at));
    section(&format!("last runs{here}"), runs.iter().map(|past| run(past, times)).collect());
    lines.join("\n") + "\n"
}

/// The heading of the next fire times, which a pause or a run that hangs may leave out.
fn next_title(task: &Task, now: DateTime<Utc>) -> &'static str {
    let pause_end = task.pause.as_ref().and_then(|pause| instant(&pause.until));
    let first = task.upcoming.iter().flatten().next().and_then(|time| time.at.parse().ok());
    let is_over = pause_end.zip(first).is_some_and(|(end, first): (_, DateTime<Utc>)| end <= first);
    if TaskProblem::of(task, Some(now)) == Some(TaskProblem::Hung) {
        "next; none starts before the present run ends"
    } else if task.is_paused && !is_over {
        "next, if it is resumed before"
    } else {
        "next"
    }
}

fn is_by_hand(task: &Task) -> bool {
    task.schedule.as_ref().is_some_and(|schedule| schedule.is_overridden)
}

/// The author of a rule that was set by hand, and the rule before.
fn by_hand(schedule: &Schedule, zone: Zone, now: DateTime<Utc>) -> String {
    if !schedule.is_overridden {
        return String::new();
    }
    let by = schedule.overridden_by.as_deref().map(|by| format!(" by {}", plain(by)));
    let at = since(&schedule.overridden_at, zone, now);
    let before = schedule.rule_before.as_deref().map(|rule| format!("; before: {}", plain(rule)));
    let [by, before] = [by, before].map(Option::unwrap_or_default);
    format!("the rule was set{by}, {at}{before}")
}

/// Ticks that became no jobs, by reason.
fn skipped(ticks: &SkippedTicks) -> String {
    let SkippedTicks { overlap, limit, missed, paused } = ticks.clone();
    let parts = [
        (overlap, "the job before was unfinished"),
        (limit, "the job before waited for a limit"),
        (missed, "missed"),
        (paused, "paused"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    parts.map(|(count, reason)| format!("{count} {reason}")).collect::<Vec<_>>().join(", ")
}

pub(super) fn upcoming(time: &FireTime, zone: Zone) -> String {
    let remark = time.clock_change.as_ref().map(|change| {
        let way = if change.is_forward { "forward" } else { "back" };
        let (before, after) = (plain(&change.offset_before), plain(&change.offset_after));
        format!("   (clocks go {way}: {before} → {after})")
    });
    format!("{}{}", local(&time.at, zone), remark.unwrap_or_default())
}

fn run(run: &Run, times: TimeFormat) -> String {
    let took = run.took_ms.map(took).unwrap_or_default();
    let message = run.error.as_ref().map(|error| plain(&error.message)).unwrap_or_default();
    let (number, outcome) = (run.number, plain(&run.outcome));
    let line = format!(
        "#{number:<6} {}   {outcome:<9} {took:>8}   {message}",
        times.local(&run.started_at)
    );
    line.trim_end().to_owned()
}

/// An instant, and how long ago it was.
fn since(at: &Option<String>, zone: Zone, now: DateTime<Utc>) -> String {
    let ago = |past| format!("{}, {} ago", time(at, zone), age(now - past));
    instant(at).map(ago).unwrap_or_default()
}

/// The effect of a command on a task.
pub(super) fn sentence(row: &Task, action: &str) -> String {
    let name = plain(&row.name);
    match action {
        "run" => format!("{name}: a run was asked for"),
        "pause" => {
            let until = row.pause.as_ref().and_then(|pause| pause.until.as_deref());
            let until = until
                .map(|until| format!(" until {}", local(until, zone_of(&row.zone))))
                .unwrap_or_default();
            format!("{name}: paused{until}; to let it go on: scheduler resume {name}")
        }
        "cancel" => format!("{name}: its run is asked to stop"),
        "enable" => format!("{name}: enabled{}", next_run(row)),
        "reschedule" => format!("{name}: {}{}", schedule(row), next_run(row)),
        _ => format!("{name}: goes on{}", next_run(row)),
    }
}

fn next_run(row: &Task) -> String {
    let next =
        row.next.as_deref().map(|next| format!("; next {}", local(next, zone_of(&row.zone))));
    next.unwrap_or_default()
}

/// A text that may be absent.
pub(super) fn text(text: &Option<String>) -> String {
    plain(text.as_deref().unwrap_or_default())
}

fn schedule(task: &Task) -> String {
    plain(task.words.as_deref().unwrap_or(&task.rule))
}

/// The state of a task: its problem first, and for how long it has run.
fn state(task: &Task, now: Option<DateTime<Utc>>) -> Cell {
    let problem = TaskProblem::of(task, now);
    let mut words = Vec::new();
    if let Some(TaskProblem::Late(waited)) = problem {
        words.push(format!("late {}", age(waited)));
    }
    let since = now.zip(instant(&task.running_since)).map(|(now, at)| age(now - at));
    let word = if problem == Some(TaskProblem::Hung) { "hung" } else { "running" };
    match (task.running, since) {
        (0, _) if words.is_empty() && !task.is_paused => words.push(plain(&task.state)),
        (0, _) => {}
        (1, since) => words.extend([word.to_owned()].into_iter().chain(since)),
        (count, since) => words.extend([format!("{word} {count} times")].into_iter().chain(since)),
    }
    if task.is_paused {
        let pause = task.pause.clone().unwrap_or_default();
        let by = pause.by.map(|by| format!(" by {}", plain(&by))).unwrap_or_default();
        let why = pause.reason.map(|why| format!(": {}", plain(&why))).unwrap_or_default();
        words.push(format!("paused{by}{why}"));
    }
    if task.streak > 0 {
        words.push(format!("failed {}×", task.streak));
    }
    let tone = match problem {
        Some(_) => Tone::Bad,
        None if task.is_paused => Tone::Paused,
        None if task.running > 0 => Tone::Busy,
        None => Tone::Plain,
    };
    Cell::new(words.join(", "), tone)
}

/// The time of the next run; never one that has passed.
fn next(task: &Task, now: Option<DateTime<Utc>>) -> String {
    let shown = |text: &Option<String>| {
        let (now, at) = (now?, instant(text)?);
        Some(match at <= now {
            true => "now".to_owned(),
            false => format!("{}, {}", ahead(now, at), time(text, zone_of(&task.zone))),
        })
    };
    if !task.is_paused {
        let none = if task.store_failure.is_some() { "unknown" } else { "-" };
        return shown(&task.next).unwrap_or_else(|| none.to_owned());
    }
    let end = task.pause.clone().unwrap_or_default();
    match shown(&end.until) {
        Some(end) => format!("resumes {end}"),
        None => "when resumed".to_owned(),
    }
}

/// The process that answers has run none; of a durable task others may have.
fn not_here(task: &Task, now: Option<DateTime<Utc>>) -> String {
    let tick = task.schedule.as_ref().and_then(|schedule| instant(&schedule.last_tick));
    match (task.is_durable, now.zip(tick)) {
        (Some(true), Some((now, tick))) => format!("ticked {} ago", age(now - tick)),
        (Some(true), None) => "none in this process".to_owned(),
        _ => "never ran".to_owned(),
    }
}

/// The age of the last run, and its outcome.
fn last(task: &Task, now: Option<DateTime<Utc>>, of_store: Option<DateTime<Utc>>) -> Cell {
    let Some(last) = &task.last else { return Cell::new(not_here(task, of_store), Tone::Faint) };
    let at = now.zip(last.ended_at.parse::<DateTime<Utc>>().ok());
    let ago = at.map(|(now, at)| format!(" {} ago", age(now - at))).unwrap_or_default();
    let message = last.message.as_deref().map(|message| format!(": {}", plain(message)));
    let tone = match &*last.outcome {
        "error" | "panic" | "timeout" | "lost" => Tone::Bad,
        _ => Tone::Plain,
    };
    Cell::new(format!("{}{ago}{}", plain(&last.outcome), message.unwrap_or_default()), tone)
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

/// Moves to the top and clears the screen.
const CLEAR: &str = "\x1b[H\x1b[2J";

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct WatchArgs {
    /// The time between two looks
    #[arg(long, value_name = "LENGTH", default_value = "2s")]
    every: String,
    /// Stop after so many looks
    #[arg(long, value_name = "NUMBER")]
    count: Option<u64>,
    #[command(flatten)]
    client: ClientArgs,
}

/// Shows the tasks at once and then again and again; without a count, until the process is ended.
pub(super) fn watch(args: &WatchArgs, ctx: &mut Context<'_>) -> Result<(), CliError> {
    let (api, every) = (Api::new(&args.client.server, ctx)?, duration(&args.every)?);
    // Nothing opens it: only time ends a wait.
    let gate = Arc::new(EventCount::new());
    let mut screen = Screen::default();
    for look in 1.. {
        let answer: Result<Value, _> = api.get("/tasks");
        match answer {
            // A refused request is refused the next time as well.
            Err(fault) if look == 1 || fault.code == NO => return Err(fault),
            Ok(answer) if args.client.json => ctx.say(answer)?,
            Err(_) if args.client.json => {}
            answer => screen.show(&api, answer.ok(), ctx)?,
        }
        if args.count.is_some_and(|count| look >= count) {
            break;
        }
        let end = ctx.clock.now().as_nanos().saturating_add(nanos(every));
        let end = Tick::from_nanos(end);
        while ctx.clock.now() < end {
            ctx.clock.wait(&gate, gate.epoch(), Some(end));
        }
    }
    Ok(())
}

/// The last list, and since when there has been no newer one.
#[derive(Debug, Default)]
struct Screen {
    list: String,
    lost: Option<DateTime<Utc>>,
}

impl Screen {
    fn show(
        &mut self,
        api: &Api,
        answer: Option<Value>,
        ctx: &mut Context<'_>,
    ) -> Result<(), CliError> {
        let now = ctx.now();
        let note = match answer {
            Some(answer) => {
                self.list = list(&api.typed(answer)?, ctx.look(), api);
                self.lost = None;
                String::new()
            }
            None => {
                let since = *self.lost.get_or_insert(now);
                let seconds = (now - since).num_seconds().max(0).unsigned_abs();
                format!("no answer for {}; what is below is old\n", length(seconds))
            }
        };
        let (base, time) = (api.base(), now.format("%H:%M:%S UTC"));
        let clear = if ctx.terminal.is_some() { CLEAR } else { "" };
        ctx.write(&format!("{clear}scheduler  {base}  {time}\n{note}\n{}\n", self.list))
    }
}

fn nanos(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}
