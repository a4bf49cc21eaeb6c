//! The tasks again and again: `watch`.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_core::Tick;
use scheduler_core::time::EventCount;
use serde_json::Value;

use super::api::Api;
use super::args::{ClientArgs, length};
use super::tasks;
use crate::context::Context;
use crate::error::{CliError, NO};
use crate::times;

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
    let (api, every) = (Api::new(&args.client.server, ctx)?, length(&args.every)?);
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
                self.list = tasks::list(&api.typed(answer)?, ctx.look());
                self.lost = None;
                String::new()
            }
            None => {
                let since = *self.lost.get_or_insert(now);
                let seconds = (now - since).num_seconds().max(0).unsigned_abs();
                format!("no answer for {}; what is below is old\n", times::length(seconds))
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
