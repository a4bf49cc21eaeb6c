//! The problems of a running program and of its cluster, the worst first.

use std::collections::BTreeSet;

use scheduler_api::{
    EndedNode, Info, JobErrors, Nodes, Pause, Queue, QueueTask, Queues, Task, Tasks, UnknownTask,
};
use serde::Serialize;

use crate::client::api::{Api, ClientArgs, plain};
use crate::client::jobs::as_of;
use crate::client::table::{Cell, Tone};
use crate::client::tasks::{TaskProblem, age, took};
use crate::context::{Context, Look};
use crate::error::CliError;

/// So many jobs that fail in the same way, and will be tried again, are no accident.
const OUTAGE: u64 = 10;
/// A due job that has waited for longer is a problem.
const WAIT_MAX_MS: f64 = 60_000.0;
/// A job of a task with few known runs that takes longer is a problem.
const RUN_MAX_MS: f64 = 600_000.0;
/// The number of known runs from which their lengths say what is usual.
const KNOWN_RUNS: usize = 5;
/// The most groups of errors, and the most queues, that are listed.
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
    let mut items = items.0;
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
struct StatusItems(Vec<StatusItem>);

impl StatusItems {
    fn problem(&mut self, what: impl Into<String>, text: impl Into<String>) {
        self.add(true, what, text);
    }

    fn add(&mut self, is_problem: bool, what: impl Into<String>, text: impl Into<String>) {
        self.0.push(StatusItem { is_problem, what: what.into(), text: text.into() });
    }

    fn ask(&mut self, api: &Api) -> Result<(), CliError> {
        let info: Info = api.get("/info")?;
        let tasks: Tasks = api.get("/tasks")?;
        for name in &info.down {
            self.problem("DOWN", format!("critical: {}", plain(name)));
        }
        self.of_tasks(&tasks);
        if let Some(why) = &info.store_failure {
            self.problem("store away", plain(why));
        }
        if info.sections.iter().any(|section| section == "jobs") {
            match api.get::<Queues>("/queues") {
                Ok(answer) => self.of_jobs(&answer, &tasks.tasks, api)?,
                Err(error) if info.store_failure.is_none() => {
                    self.problem("store away", error.what());
                }
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn of_tasks(&mut self, answer: &Tasks) {
        let now = answer.now.parse().ok();
        for task in &answer.tasks {
            let name = plain(&task.name);
            match TaskProblem::of(task, now) {
                Some(TaskProblem::Hung) => self.problem("hung", name),
                Some(TaskProblem::Late(waited)) => {
                    self.problem("late", format!("{name}, by {}", age(waited)));
                }
                Some(TaskProblem::Failing) => {
                    let error = task.first_failure.as_deref().map(plain).unwrap_or_default();
                    let text = format!("{name}, {} in a row: {error}", task.streak);
                    self.problem("failing", text.trim_end_matches(": "));
                }
                None => {}
            }
        }
        let paused = answer.tasks.iter().filter(|task| task.is_paused).count();
        if paused > 0 {
            self.add(false, format!("{paused} paused"), "");
        }
    }

    fn of_jobs(&mut self, answer: &Queues, tasks: &[Task], api: &Api) -> Result<(), CliError> {
        let queues = &answer.queues;
        if let Some(counted) = as_of(answer) {
            self.add(false, "jobs", counted);
        }
        let sum = |count: fn(&Queue) -> u64| queues.iter().map(count).sum::<u64>();
        let parked = sum(|queue| queue.depth.parked);
        if parked > 0 {
            self.problem(format!("{} parked", jobs(parked)), "");
            self.errors("parked", 1, api)?;
        }
        let retrying = sum(|queue| queue.depth.retrying);
        if retrying > 0 {
            self.add(false, format!("{} to be tried again", jobs(retrying)), "");
            self.errors("ready", OUTAGE, api)?;
        }
        for queue in queues {
            for job in &queue.tasks {
                let Some(ran) = runs_long(job, tasks) else { continue };
                let text = format!("for {} in queue {}", took(ran), plain(&queue.queue));
                self.problem(format!("a job of {} runs", plain(&job.task)), text);
            }
        }
        self.of_queues(queues);
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

    /// The errors that most jobs in a state have. Those of fewer jobs than `least` are no problem.
    fn errors(&mut self, state: &str, least: u64, api: &Api) -> Result<(), CliError> {
        let found: JobErrors = api.get(&format!("/jobs:errors?state={state}"))?;
        for group in found.errors.iter().take(LISTED_MAX) {
            let what = format!("{} × {}", group.count, plain(&group.task));
            self.add(group.count >= least, what, plain(&group.error));
        }
        Ok(())
    }

    fn of_queues(&mut self, queues: &[Queue]) {
        let is_slow = |queue: &&Queue| {
            let waits = |task: &QueueTask| {
                task.pause.is_none() && task.depth.oldest_ms.is_some_and(|ms| ms > WAIT_MAX_MS)
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
            let text = decided(pause);
            self.add(false, format!("queue {} paused{text}", plain(&queue.queue)), "");
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
            format!("{} lost{held}, found by {found_by}", plain(&node.label))
        };
        let away: Vec<&EndedNode> = lost().filter(|node| !node.is_back).collect();
        if !away.is_empty() {
            let living = nodes.nodes.iter().filter(|node| !node.has_run_out).count();
            let names: BTreeSet<&str> = away.iter().map(|node| &*node.label).collect();
            let listed: Vec<_> = away.iter().take(LISTED_MAX).map(|node| text(node)).collect();
            let what = format!("{living} of {} processes", living + names.len());
            self.problem(what, listed.join("; "));
        }
        for node in lost().filter(|node| node.is_back).take(LISTED_MAX) {
            self.add(false, format!("node {}", plain(&node.label)), "was lost, and is back");
        }
    }

    fn of_nodes(&mut self, nodes: &Nodes) {
        for node in nodes.nodes.iter().filter(|node| node.has_run_out) {
            self.problem(format!("node {}", plain(&node.label)), "does not renew its lease");
        }
        for node in nodes.nodes.iter().filter(|node| node.is_clock_off) {
            let what = format!("clock of {}", plain(&node.label));
            self.problem(what, clock(node.clock_offset_ms.unwrap_or_default()));
        }
        self.of_lost(nodes);
        for node in &nodes.nodes {
            let Some(pause) = &node.pause else { continue };
            let text = decided(pause);
            self.add(false, format!("node {} paused{text}", plain(&node.label)), "");
        }
        if !nodes.orphans.is_empty() {
            let count = jobs(nodes.orphans.len() as u64);
            self.problem(count, "of processes that are gone");
        }
    }
}

/// The person who has paused something, and why.
fn decided(pause: &Pause) -> String {
    let by = pause.by.as_deref().map(|by| format!(" by {}", plain(by)));
    let reason = pause.reason.as_deref().map(|reason| format!(", {}", plain(reason)));
    format!("{}{}", by.unwrap_or_default(), reason.unwrap_or_default())
}

/// By how much a clock is off.
pub(super) fn clock(offset_ms: f64) -> String {
    let side = if offset_ms > 0.0 { "ahead of" } else { "behind" };
    format!("{} {side} the store's", took(offset_ms.abs()))
}

fn jobs(count: u64) -> String {
    format!("{count} {}", if count == 1 { "job" } else { "jobs" })
}

/// The time for which the oldest running job has run, if that is long.
fn runs_long(job: &QueueTask, tasks: &[Task]) -> Option<f64> {
    let known = tasks.iter().find(|task| task.name == job.task).map(|task| &task.recent.took_ms);
    let known = known.filter(|took| took.len() >= KNOWN_RUNS);
    let most = known.map_or(RUN_MAX_MS, |took| {
        let longest = took.iter().copied().fold(0.0, f64::max);
        (10.0 * longest).max(WAIT_MAX_MS)
    });
    job.depth.oldest_running_ms.filter(|ran| *ran > most)
}
