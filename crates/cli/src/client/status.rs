//! The problems of a running program and of its cluster, the worst first.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use scheduler_api::{
    Depth, EndedNode, Info, JobError, JobErrors, Nodes, Pause, PausedPartition, Queue, QueueTask,
    Queues, Task, Tasks, UnknownTask,
};
use serde::Serialize;

use crate::client::api::{Api, ClientArgs, instant, plain};
use crate::client::jobs::as_of;
use crate::client::table::{Cell, Tone};
use crate::client::tasks::{TaskProblem, age, asked_to_stop, holder, took};
use crate::context::{Context, Look};
use crate::error::CliError;

/// So many jobs that fail in the same way, and will be tried again, are no accident.
const OUTAGE: u64 = 10;
/// A due job that has waited for longer is a problem.
const WAIT_MAX_MS: f64 = 60_000.0;
/// A lost process is news for so long.
const NEWS: TimeDelta = TimeDelta::minutes(10);
/// The most groups of errors, queues, lost processes and paused tasks that are listed.
const LISTED_MAX: usize = 3;

/// A line: a problem, or what a person has decided.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusItem {
    is_problem: bool,
    what: String,
    text: String,
}

/// The answer of `--json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusAnswer<'a> {
    is_well: bool,
    items: &'a [StatusItem],
}

pub(super) fn run(args: &ClientArgs, ctx: &mut Context<'_>) -> Result<(), CliError> {
    let api = Api::new(&args.server, ctx)?;
    let mut items = StatusItems::default();
    items.ask(&api)?;
    let mut items = items.items;
    items.sort_by_key(|item| !item.is_problem);
    let problems = items.iter().filter(|item| item.is_problem).count();
    if args.json {
        // The answer can always be written.
        let answer = StatusAnswer { is_well: problems == 0, items: &items };
        ctx.say(serde_json::to_string(&answer).unwrap_or_default())?;
    } else {
        ctx.write(&shown(&items, ctx.look()))?;
    }
    match problems {
        0 => Ok(()),
        1 => Err(CliError::no("1 problem")),
        count => Err(CliError::no(format!("{count} problems"))),
    }
}

fn shown(items: &[StatusItem], look: Look) -> String {
    let mut text = String::new();
    if items.iter().all(|item| !item.is_problem) {
        text.push_str("nothing is wrong\n");
    }
    for StatusItem { is_problem, what, text: more } in items {
        let (sign, tone) = if *is_problem { ("✖", Tone::Bad) } else { ("‖", Tone::Faint) };
        let head = Cell::new(format!("{sign} {what}"), tone).shown(look);
        let gap = if more.is_empty() { "" } else { ": " };
        text.push_str(&format!("{head}{gap}{more}\n"));
    }
    text
}

#[derive(Default)]
struct StatusItems {
    items: Vec<StatusItem>,
    /// By the clock of the process that answers.
    now: Option<DateTime<Utc>>,
    /// By the clock of the store, as the instants of what it has.
    store_now: Option<DateTime<Utc>>,
}

impl StatusItems {
    fn problem(&mut self, what: impl Into<String>, text: impl Into<String>) {
        self.add(true, what, text);
    }

    fn add(&mut self, is_problem: bool, what: impl Into<String>, text: impl Into<String>) {
        self.items.push(StatusItem { is_problem, what: what.into(), text: text.into() });
    }

    /// The time since an instant, between these words; nothing if the instant is not known.
    fn age(&self, before: &str, at: &Option<String>, after: &str) -> String {
        age_by(self.now, before, at, after)
    }

    fn ask(&mut self, api: &Api) -> Result<(), CliError> {
        let info: Info = api.get("/info")?;
        self.now = info.now.parse().ok();
        let tasks: Tasks = api.get("/tasks")?;
        self.store_now = instant(&tasks.store_now).or(self.now);
        let has_jobs = info.sections.iter().any(|section| section == "jobs");
        let queues = has_jobs.then(|| api.get::<Queues>("/queues"));
        for name in &info.down {
            self.problem("DOWN", format!("critical: {}", plain(name)));
        }
        let jobs = queues.iter().flatten().flat_map(|answer| &answer.queues);
        let jobs = jobs.flat_map(|queue| &queue.tasks).filter(|job| job.has_long_run);
        self.of_tasks(&tasks, api, &jobs.map(|job| &*job.task).collect());
        if let Some(why) = &info.store_failure {
            let since = self.age(" for ", &info.store_down_since, "");
            match info.store_is_opening {
                Some(true) => self.add(false, "store opening", plain(why)),
                _ => self.problem(format!("store down{since}"), plain(why)),
            }
        }
        match queues {
            Some(Ok(answer)) => self.of_jobs(&answer, api)?,
            Some(Err(error)) if info.store_failure.is_none() => {
                self.problem("store down", error.what());
            }
            _ => {}
        }
        Ok(())
    }

    /// The tasks of the process that answers. A run that is long among those of the whole cluster stands there.
    fn of_tasks(&mut self, answer: &Tasks, api: &Api, long_runs: &BTreeSet<&str>) {
        let now = answer.now.parse().ok();
        for task in &answer.tasks {
            let name = plain(&task.name);
            match TaskProblem::of(task, now) {
                Some(TaskProblem::Hung) if long_runs.contains(&*task.name) => {}
                Some(TaskProblem::Hung) => {
                    let since = self.age(", running for ", &task.running_since, "");
                    let stop = asked_to_stop(api, task, now).map(|stop| format!(", {stop}"));
                    self.problem("hung", format!("{name}{since}{}", stop.unwrap_or_default()));
                }
                Some(TaskProblem::Late(waited)) => {
                    let by = holder(&answer.tasks, task).map(|(_, by)| {
                        format!(", pool {} held by {}", plain(&task.pool), plain(&by.name))
                    });
                    let text = format!("{name}, by {}{}", age(waited), by.unwrap_or_default());
                    self.problem("late", text);
                }
                Some(TaskProblem::Failing) => {
                    let error = task.first_failure.as_deref().map(plain).unwrap_or_default();
                    let since = self.age(" for ", &task.failing_since, "");
                    let text = format!("{name}, {} in a row{since}: {error}", task.streak);
                    self.problem("failing", text.trim_end_matches(": "));
                }
                None => {}
            }
        }
        let paused: Vec<&Task> = answer.tasks.iter().filter(|task| task.is_paused).collect();
        if !paused.is_empty() {
            let pause = |task: &Task| {
                let of_store = task.is_durable.and(self.store_now);
                decided(of_store.or(self.now), &task.pause.clone().unwrap_or_default())
            };
            let text = |task: &&Task| format!("{}{}", plain(&task.name), pause(task));
            let listed: Vec<String> = paused.iter().take(LISTED_MAX).map(text).collect();
            self.add(false, format!("{} paused", paused.len()), listed.join("; "));
        }
    }

    fn of_jobs(&mut self, answer: &Queues, api: &Api) -> Result<(), CliError> {
        let queues = &answer.queues;
        if let Some(counted) = as_of(&answer.now, &answer.as_of, answer.count_failure.as_deref()) {
            self.add(false, "jobs", counted);
        }
        let sum = |count: fn(&Queue) -> u64| queues.iter().map(count).sum::<u64>();
        let parked = sum(|queue| queue.depth.parked);
        if parked > 0 {
            self.errors(("parked", 1), parked, "parked", api)?;
        }
        let retrying = sum(|queue| queue.depth.retrying);
        if retrying > 0 {
            self.errors(("ready", OUTAGE), retrying, "to be tried again", api)?;
        }
        for queue in queues {
            for job in queue.tasks.iter().filter(|job| job.has_long_run) {
                let ran = took(job.depth.oldest_running_ms.unwrap_or_default());
                let text = format!("for {ran} in queue {}", plain(&queue.queue));
                self.problem(format!("a job of {} runs", plain(&job.task)), text);
            }
        }
        self.of_queues(queues);
        for PausedPartition { partition, task, pause } in
            answer.paused_partitions.iter().take(LISTED_MAX)
        {
            let of = format!("partition {} of {}", plain(partition), plain(task));
            self.add(false, format!("{of} paused{}", decided(self.store_now, pause)), "");
        }
        let more = answer.paused_partitions.len().saturating_sub(LISTED_MAX);
        if more > 0 {
            self.add(false, format!("{more} more partitions paused"), "");
        }
        self.of_nodes(&api.get("/nodes")?);
        for task in &answer.unknown_tasks {
            self.of_unknown(task);
        }
        Ok(())
    }

    /// A task that no process runs, or not with such payloads.
    fn of_unknown(&mut self, task: &UnknownTask) {
        let due = (task.due > 0).then(|| format!("{} due", jobs(task.due)));
        let nearest = task.nearest.as_deref().map(|near| format!("nearest name: {}", plain(near)));
        let elsewhere = task.elsewhere.as_deref().map(plain);
        let name = plain(&task.task);
        let (what, why) = match (task.version, task.known_version, elsewhere) {
            (Some(version), Some(known), _) => {
                let why = format!("none knows more than version {known}");
                (format!("no process knows version {version} of {name}"), Some(why))
            }
            (_, _, Some(elsewhere)) => (format!("no process runs {name}"), Some(elsewhere)),
            _ => (format!("no process has {name}"), nearest),
        };
        let text: Vec<String> = due.into_iter().chain(why).collect();
        self.problem(what, text.join("; "));
    }

    /// The jobs in a state, and the errors that most of them have. They are a problem if so many have one.
    fn errors(
        &mut self,
        (state, least): (&str, u64),
        all: u64,
        what: &str,
        api: &Api,
    ) -> Result<(), CliError> {
        let found: JobErrors = api.get(&format!("/jobs:errors?state={state}"))?;
        let is_problem = |group: &JobError| group.count >= least;
        let is_any = least == 1 || found.errors.iter().any(is_problem);
        self.add(is_any, format!("{} {what}", jobs(all)), "");
        for group in found.errors.iter().take(LISTED_MAX) {
            // Both numbers change, and were not asked for at once.
            let what = format!("{} × {}", group.count.min(all), plain(&group.task));
            let since = self.age(", for ", &group.first_at, "");
            self.add(is_problem(group), what, plain(&group.error) + &since);
        }
        Ok(())
    }

    fn of_queues(&mut self, queues: &[Queue]) {
        let is_slow = |queue: &&Queue| {
            let waits = |task: &QueueTask| {
                // Jobs of a task with a limit may wait for others, and for no process.
                let oldest =
                    if task.held.is_some() { task.oldest_open_ms } else { task.depth.oldest_ms };
                oldest.is_some_and(|ms| ms > WAIT_MAX_MS) && task.pause.is_none()
            };
            queue.pause.is_none() && queue.tasks.iter().any(waits)
        };
        let mut slow: Vec<&Queue> = queues.iter().filter(is_slow).collect();
        let oldest = |queue: &Queue| queue.depth.oldest_ms.unwrap_or_default();
        slow.sort_by(|a, b| oldest(b).total_cmp(&oldest(a)));
        for queue in slow.into_iter().take(LISTED_MAX) {
            let text = format!("for {} in queue {}", took(oldest(queue)), plain(&queue.queue));
            self.problem(format!("{} due", jobs(queue.depth.due)), text);
        }
        for queue in queues {
            let Some(pause) = &queue.pause else { continue };
            let what =
                format!("queue {} paused{}", plain(&queue.queue), decided(self.store_now, pause));
            self.add(false, what, waiting(&queue.depth));
        }
    }

    /// Processes that were lost within the last hour: those that are not back, and those that are.
    fn of_lost(&mut self, nodes: &Nodes) {
        let lost = || nodes.ended.iter().filter(|node| node.is_lost);
        let text = |node: &EndedNode| {
            let held = match node.jobs {
                0 => String::new(),
                count => format!(" with {}", jobs(count.into())),
            };
            let found_by = node.found_by.as_deref().map(plain).unwrap_or_default();
            let ago = age_by(self.store_now, " ", &Some(node.at.clone()), " ago");
            format!("{} lost{ago}{held}, found by {found_by}", plain(&node.label))
        };
        let away: Vec<&EndedNode> = lost().filter(|node| !node.is_back).collect();
        if !away.is_empty() {
            let living = nodes.nodes.iter().filter(|node| !node.has_run_out).count();
            let names: BTreeSet<&str> = away.iter().map(|node| &*node.label).collect();
            let listed: Vec<_> = away.iter().take(LISTED_MAX).map(|node| text(node)).collect();
            let what = format!("{living} of {} processes", living + names.len());
            self.add(away.iter().any(|node| self.is_news(node)), what, listed.join("; "));
        }
        let back: Vec<&EndedNode> = lost().filter(|node| node.is_back).collect();
        let mut seen = BTreeSet::new();
        let last = back.iter().filter(|node| seen.insert(&*node.label));
        for node in last.take(LISTED_MAX) {
            let news = back.iter().filter(|other| other.label == node.label && self.is_news(other));
            let times = match news.count() {
                times @ 2.. => format!(" {times} times in 10m, the last"),
                _ => String::new(),
            };
            let ago = age_by(self.store_now, " ", &Some(node.at.clone()), " ago");
            let text = format!("was lost{times}{ago}, and is back");
            self.add(!times.is_empty(), format!("node {}", plain(&node.label)), text);
        }
    }

    fn is_news(&self, node: &EndedNode) -> bool {
        let at = node.at.parse::<DateTime<Utc>>().ok();
        self.store_now.zip(at).is_none_or(|(now, at)| now - at < NEWS)
    }

    fn of_nodes(&mut self, nodes: &Nodes) {
        // A process that is back has a session before, which runs out.
        let lives =
            |label: &str| nodes.nodes.iter().any(|node| node.label == label && !node.has_run_out);
        let run_out = nodes.nodes.iter().filter(|node| node.has_run_out);
        for node in run_out.filter(|node| !lives(&node.label)) {
            self.problem(format!("node {}", plain(&node.label)), "does not renew its lease");
        }
        for node in nodes.nodes.iter().filter(|node| node.is_clock_off) {
            let what = format!("clock of {}", plain(&node.label));
            self.problem(what, clock(node.clock_offset_ms.unwrap_or_default()));
        }
        self.of_lost(nodes);
        for node in &nodes.nodes {
            let Some(pause) = &node.pause else { continue };
            let text = decided(self.store_now, pause);
            self.add(false, format!("node {} paused{text}", plain(&node.label)), "");
        }
        if !nodes.orphans.is_empty() {
            let count = jobs(nodes.orphans.len() as u64);
            self.problem(count, "of processes that are gone");
        }
    }
}

fn age_by(now: Option<DateTime<Utc>>, before: &str, at: &Option<String>, after: &str) -> String {
    let age = now.zip(instant(at)).map(|(now, at)| age(now - at));
    age.map(|age| format!("{before}{age}{after}")).unwrap_or_default()
}

/// The person who has paused something, how long ago, and why.
fn decided(now: Option<DateTime<Utc>>, pause: &Pause) -> String {
    let by = pause.by.as_deref().map(|by| format!(" by {}", plain(by)));
    let since = age_by(now, " for ", &pause.since, "");
    let reason = pause.reason.as_deref().map(|reason| format!(", {}", plain(reason)));
    format!("{}{since}{}", by.unwrap_or_default(), reason.unwrap_or_default())
}

/// The jobs of a paused queue.
fn waiting(depth: &Depth) -> String {
    let count = depth.due + depth.later;
    let wait = if count == 1 { "1 job waits".to_owned() } else { format!("{count} jobs wait") };
    match (count, depth.retrying) {
        (0, _) => String::new(),
        (_, 0) => wait,
        (_, retrying) => format!("{wait}, {retrying} of them with an error"),
    }
}

/// By how much a clock is off.
pub(super) fn clock(offset_ms: f64) -> String {
    let side = if offset_ms > 0.0 { "ahead of" } else { "behind" };
    format!("{} {side} the store's", took(offset_ms.abs()))
}

fn jobs(count: u64) -> String {
    format!("{count} {}", if count == 1 { "job" } else { "jobs" })
}
