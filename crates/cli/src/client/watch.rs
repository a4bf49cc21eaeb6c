//! The tasks again and again: `watch`.

use std::sync::Arc;
use std::time::Duration;

use scheduler_core::Tick;
use scheduler_core::time::EventCount;

use super::api::Api;
use super::tasks;
use crate::context::Context;
use crate::error::{CliError, NO};
use crate::times;

/// Moves to the top and clears the screen.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Shows the tasks at once and then again and again; without a count, until the process is ended.
pub(super) fn watch(
    api: &Api,
    every: Duration,
    count: Option<u64>,
    ctx: &mut Context<'_>,
) -> Result<(), CliError> {
    // Nobody opens it: only time ends a wait.
    let gate = Arc::new(EventCount::new());
    let mut shown = String::new();
    let mut lost = None;
    for look in 1.. {
        let now = ctx.now();
        let note = match api.get("/tasks") {
            Ok(answer) => {
                shown = tasks::list(&answer);
                lost = None;
                String::new()
            }
            // A refused request is refused the next time as well.
            Err(fault) if look == 1 || fault.code == NO => return Err(fault),
            Err(_) => {
                let since = *lost.get_or_insert(now);
                let seconds = (now - since).num_seconds().max(0).unsigned_abs();
                format!("no answer for {}; what is below is old\n", times::length(seconds))
            }
        };
        let base = api.base();
        let time = now.format("%H:%M:%S UTC");
        ctx.write(&format!("{CLEAR}scheduler  {base}  {time}\n{note}\n{shown}"))?;
        if count.is_some_and(|count| look >= count) {
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

fn nanos(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}
