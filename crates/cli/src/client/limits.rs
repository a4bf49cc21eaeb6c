//! Limits of kinds of jobs, their partitions, and why a job waits.

use chrono::{DateTime, Utc};
use scheduler_api::{
    Job, Limit, LimitRequest, LimitValue, Limits, Partition, PartitionRequest, Pause, PauseRequest,
    TaskLimits,
};
use scheduler_core::trigger::Zone;
use serde_json::Value;

use crate::client::api::{Api, ClientArgs, TaskArgs, TimeFormat, ask, escaped, local, plain, time};
use crate::client::table::{self, Cell, Tone};
use crate::context::{Context, Look};
use crate::error::CliError;

#[derive(Clone, Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("which").args(["all", "each", "reset"]).required(true))]
pub(crate) struct LimitArgs {
    #[command(flatten)]
    task: TaskArgs,
    /// Limit all jobs of the kind together
    #[arg(long)]
    all: bool,
    /// Limit the jobs of each partition
    #[arg(long)]
    each: bool,
    /// Restore the limits in the code
    #[arg(long, conflicts_with_all = ["running", "rate", "burst", "waiting", "ordered"])]
    reset: bool,
    /// At most so many jobs run at once
    #[arg(long, value_name = "NUMBER", required_unless_present_any = ["rate", "waiting", "reset"])]
    running: Option<u32>,
    /// At most so many jobs start in any window of a time: `100/1m`
    #[arg(long, value_name = "NUMBER/LENGTH")]
    rate: Option<String>,
    /// So many of those start at once after a rest; by default a tenth of them
    #[arg(long, value_name = "NUMBER", requires = "rate")]
    burst: Option<u32>,
    /// The jobs of a partition start in their order, each after the one before it has ended: behind a parked one they go on, or hold
    #[arg(long, value_name = "ON_PARK", value_parser = ["go_on", "hold"], num_args = 0..=1, default_missing_value = "go_on", requires = "running", conflicts_with = "all")]
    ordered: Option<String>,
    /// An enqueue is refused while so many due jobs wait
    #[arg(long, value_name = "NUMBER")]
    waiting: Option<u32>,
    /// Why, for others to read
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

#[derive(Clone, Debug, clap::Args)]
pub(super) struct WhyArgs {
    /// The identities of the jobs
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    #[command(flatten)]
    client: ClientArgs,
}

/// Sets a limit, or restores those in the code, and says how it is then.
pub(super) fn change(args: &LimitArgs, ctx: &mut Context<'_>) -> Result<(), CliError> {
    let scope = args.all.then_some("all").or(args.each.then_some("each"));
    let request = LimitRequest {
        scope: scope.map(str::to_owned),
        running: args.running,
        rate: args.rate.clone(),
        burst: args.burst,
        ordered: args.ordered.clone(),
        waiting: args.waiting,
        reason: args.reason.clone(),
        reset: args.reset.then_some(true),
    };
    let TaskArgs { name, client } = &args.task;
    let api = Api::new(&client.server, ctx)?;
    let answer: Value = api.post(&format!("/tasks/{}/limit", escaped(name)), &request)?;
    if client.json {
        return ctx.say(answer);
    }
    let answer: TaskLimits = api.typed(answer)?;
    let name = plain(&answer.task);
    let limits: Vec<String> = answer.limits.iter().map(in_words).collect();
    let limits = if limits.is_empty() { "no limit".to_owned() } else { limits.join("; ") };
    let by_hand = answer.limits.iter().any(|limit| limit.by_hand.is_some());
    let restore = if by_hand {
        format!("; to restore those in the code: scheduler limit {name} --reset")
    } else {
        String::new()
    };
    ctx.say(format!("{name}: {limits}{restore}"))
}

/// The limit that counts: `each partition: 2 running`.
fn in_words(limit: &Limit) -> String {
    let by_hand = limit.by_hand.as_ref().map(|hand| &hand.limit);
    format!("{}: {}", of(limit), value(by_hand.or(limit.code.as_ref())))
}

/// The limits of a task, as they are answered.
pub(super) fn of_task(api: &Api, task: &Value) -> Result<Vec<Value>, CliError> {
    let mut answer: Value = api.get("/limits")?;
    let all = answer["limits"].as_array_mut().map(std::mem::take).unwrap_or_default();
    Ok(all.into_iter().filter(|limit| limit["task"] == *task).collect())
}

/// A limit as the page of a task shows it: `each partition: 2 running, by hand by ada: slow; in the code: 5 running`.
pub(super) fn with_author(limit: &Limit) -> String {
    let set = limit.by_hand.as_ref().map(|hand| {
        let [by, reason] = [&hand.by, &hand.reason].map(|text| plain(text));
        let by = if by.is_empty() { by } else { format!(" by {by}") };
        let reason = if reason.is_empty() { reason } else { format!(": {reason}") };
        format!(", by hand{by}{reason}; in the code: {}", value(limit.code.as_ref()))
    });
    in_words(limit) + &set.unwrap_or_default()
}

fn of(limit: &Limit) -> &'static str {
    if limit.scope == "each" { "each partition" } else { "all jobs" }
}

fn value(limit: Option<&LimitValue>) -> String {
    limit.map_or_else(|| "none".to_owned(), |limit| plain(&limit.text))
}

/// `scheduler limits`
pub(super) fn list(answer: &Limits, look: Look) -> String {
    if answer.limits.is_empty() {
        return "no limits\n".to_owned();
    }
    let row = |limit: &Limit| {
        let hand = limit.by_hand.as_ref();
        let by = hand.map(|hand| plain(&hand.by)).unwrap_or_default();
        let reason = hand.map(|hand| plain(&hand.reason)).unwrap_or_default();
        let set = hand.map(|hand| Cell::new(plain(&hand.limit.text), Tone::Paused));
        vec![
            plain(&limit.task).into(),
            of(limit).to_owned().into(),
            value(limit.code.as_ref()).into(),
            set.unwrap_or_default(),
            by.into(),
            reason.into(),
        ]
    };
    let rows: Vec<Vec<Cell>> = answer.limits.iter().map(row).collect();
    table::of(&["TASK", "OF", "IN THE CODE", "BY HAND", "WHO", "REASON"], &rows, look)
}

/// `scheduler partitions KIND`
pub(super) fn partitions(args: &TaskArgs, ctx: &mut Context<'_>) -> Result<(), CliError> {
    let path = format!("/tasks/{}/limits", escaped(&args.name));
    let shown = |answer: &TaskLimits, look, api: &Api| {
        if answer.partitions.is_empty() {
            return Ok("no job with a partition is due or runs\n".to_owned());
        }
        let opening = answer.partitions.iter().filter_map(|each| each.opens_at.as_deref());
        let zone = if opening.clone().next().is_some() { api.zone()? } else { Zone::UTC };
        let times = TimeFormat::of(zone, opening);
        let row = |each: &Partition| {
            let name = if each.partition.is_empty() { "-" } else { &each.partition };
            let counts = [each.due, each.running].map(|count| count.to_string());
            let texts = [plain(name)].into_iter().chain(counts).chain([times.time(&each.opens_at)]);
            let paused = each.pause.as_ref().map(|pause| Cell::new(paused(pause), Tone::Paused));
            texts.map(Cell::from).chain([paused.unwrap_or_default()]).collect()
        };
        let rows: Vec<Vec<Cell>> = answer.partitions.iter().map(row).collect();
        Ok(table::of(&["PARTITION", "DUE", "RUNNING", "OPENS", "PAUSED"], &rows, look))
    };
    ask(&path, &args.client, shown, ctx)
}

/// By whom, and why.
fn paused(pause: &Pause) -> String {
    let words =
        [&pause.by, &pause.reason].map(|text| text.as_deref().map(plain).unwrap_or_default());
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(": ")
}

/// Pauses a partition of a kind, or resumes it.
pub(super) fn on_partition(
    (kind, partition): (&str, &str),
    client: &ClientArgs,
    action: &str,
    request: PauseRequest,
    ctx: &mut Context<'_>,
) -> Result<(), CliError> {
    let PauseRequest { reason, until, for_ms, .. } = request;
    let request = PartitionRequest { partition: Some(partition.to_owned()), reason, until, for_ms };
    let api = Api::new(&client.server, ctx)?;
    let path = format!("/tasks/{}/partitions/{action}", escaped(kind));
    let answer: Value = api.post(&path, &request)?;
    if client.json {
        return ctx.say(answer);
    }
    let answer: TaskLimits = api.typed(answer)?;
    let (kind, partition) = (plain(&answer.task), plain(partition));
    ctx.say(match action {
        "pause" => format!(
            "partition {partition} of {kind}: paused; to let it go on: scheduler resume {kind} --partition {partition}"
        ),
        _ => format!("partition {partition} of {kind}: goes on"),
    })
}

/// `scheduler jobs why ID…`
pub(super) fn why(args: &WhyArgs, ctx: &mut Context<'_>) -> Result<(), CliError> {
    let api = Api::new(&args.client.server, ctx)?;
    let mut zone = None;
    for id in &args.ids {
        let answer: Value = api.get(&format!("/jobs/{}", escaped(id)))?;
        if args.client.json {
            let (id, waits) = (&answer["id"], &answer["waits"]);
            let state = &answer["state"];
            ctx.say(serde_json::json!({ "id": id, "state": state, "waits": waits }))?;
            continue;
        }
        let job: Job = api.typed(answer)?;
        let zone = match zone {
            Some(zone) => zone,
            None => *zone.insert(api.zone()?),
        };
        let (id, task) = (plain(&job.id), plain(&job.task));
        ctx.say(format!("{id} of {task}: {}", reason(&job, zone)))?;
    }
    Ok(())
}

/// Why a job does not run, or its state if it does not wait.
pub(super) fn reason(job: &Job, zone: Zone) -> String {
    if let Some(waits) = &job.waits {
        return with_times(&waits.text, zone);
    }
    match &*job.state {
        "running" => format!("it runs, since {}", time(&job.started_at, zone)),
        "parked" => "it is parked: it runs once it is retried".to_owned(),
        "ready" => format!("it is due {}", time(&job.run_at, zone)),
        state => format!("it has ended: {}", plain(state)),
    }
}

/// A text with its instants as people read them.
fn with_times(text: &str, zone: Zone) -> String {
    let words = text.split(' ').map(|word| match word.parse::<DateTime<Utc>>() {
        Ok(_) => local(word, zone),
        Err(_) => plain(word),
    });
    words.collect::<Vec<_>>().join(" ")
}
