//! The fire times of a schedule, without running it.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use scheduler_core::{Due, Now, Tick, Trigger, TriggerContext, WallTime};

use super::fire_times::SeededJitter;
use super::fire_times::{FireTime, FireTimes, Limit};
use super::fired_intervals::FiredIntervals;
use super::policy::Policy;
use super::rule::Rule;

/// Returns the fire times from `from` on of a task that begins at `start`; each run takes no time.
///
/// # Panics
///
/// When a custom trigger fails.
pub(crate) fn upcoming(
    rule: &Rule,
    policy: &Policy,
    start: DateTime<Utc>,
    from: DateTime<Utc>,
) -> Box<dyn Iterator<Item = DateTime<Utc>>> {
    let is_known = |instant: DateTime<Utc>| WallTime::from(instant).to_utc() == instant;
    let times: Box<dyn Iterator<Item = DateTime<Utc>>> = match rule {
        // No clock of the scheduler goes so far.
        _ if !is_known(start) || !is_known(from) => Box::new(std::iter::empty()),
        Rule::Custom(trigger) => Box::new(by_trigger(Arc::clone(trigger), start)),
        _ => Box::new(by_rule(rule, policy, start, from)),
    };
    let max = policy.max_runs.and_then(|max| usize::try_from(max.get()).ok());
    let until = policy.until.unwrap_or(DateTime::<Utc>::MAX_UTC);
    let times = times.take(max.unwrap_or(usize::MAX));
    Box::new(times.skip_while(move |at| *at < from).take_while(move |at| *at <= until))
}

fn by_rule(
    rule: &Rule,
    policy: &Policy,
    start: DateTime<Utc>,
    from: DateTime<Utc>,
) -> impl Iterator<Item = DateTime<Utc>> + use<> {
    let policy = Policy { jitter: Duration::ZERO, ..policy.clone() };
    let rule = match rule.clone() {
        Rule::FixedDelay { delay: period, initial_delay } => {
            Rule::FixedRate { period, initial_delay }
        }
        other => other,
    };
    let max_runs = policy.max_runs;
    let mut times = FireTimes::new(rule, Arc::new(policy), SeededJitter::new(0, ""));
    let (fired, start) = (FiredIntervals::default(), WallTime::from(start));
    let zero = Now { tick: Tick::ZERO, wall: start };
    // Fire times before `from` are passed over at once, unless they count.
    let wall = if max_runs.is_some() { start } else { start.max(from.into()) };
    let passed = Limit::Before(Now { tick: Tick::ZERO + wall.since(start), wall });
    let first = if times.is_cron() {
        times.first_unfired_after(wall - Duration::from_nanos(1), &fired)
    } else {
        let first = times.first(zero, &fired);
        match first.filter(|first| passed.includes(first.due)) {
            Some(before) => times.take(before, passed, &fired).1,
            None => first,
        }
    };
    let following = move |fire: &FireTime| times.following(*fire);
    let all = std::iter::successors(first, following);
    let known = all.take_while(|fire| fire.at != Due::NEVER).map(move |fire| fire.at.as_wall(zero));
    known.take_while(|at| *at != WallTime::MAX).map(WallTime::to_utc)
}

fn by_trigger(
    trigger: Arc<dyn Trigger>,
    start: DateTime<Utc>,
) -> impl Iterator<Item = DateTime<Utc>> {
    let ask = move |context| match trigger.next_fire_time(&context) {
        Ok(next) => next,
        Err(error) => panic!("the trigger failed: {error}"),
    };
    let first = ask(TriggerContext::first(start));
    std::iter::successors(first, move |at| {
        let next = ask(TriggerContext::after_run(*at, *at, *at, *at));
        next.filter(|next| next > at)
    })
}
