//! What counts where no setting says anything, and who says that: the program, `TZ`, or nobody.

use std::time::Duration;

use scheduler_core::trigger::Zone;

use super::builder::Builder;
use super::pools::PoolPlan;
use super::zone::name_in_variable;
use crate::observe;
use crate::settings::Fallback;
use crate::settings::Source;

/// What the scheduler's own values have come to be.
pub(super) struct Values<'a> {
    pub(super) zone: Zone,
    /// The value of `TZ`.
    pub(super) variable: &'a str,
    /// The default pool, and then the others.
    pub(super) pools: &'a [PoolPlan],
    pub(super) limit: Duration,
    pub(super) keep_ended: usize,
}

/// A line for each value, for those settings that are not set.
pub(super) fn fallbacks(builder: &Builder, values: &Values<'_>) -> Vec<Fallback> {
    let call = |call: &str| Source::Code { call: format!("builder.{call}") };
    let said = |is_said: bool, by: &str| if is_said { call(by) } else { Source::Default };
    let fallback = |key: &str, text: &str, source| Fallback {
        key: key.to_owned(),
        text: text.to_owned(),
        source,
    };
    let zone = match &builder.zone {
        None if name_in_variable(values.variable).is_some() => {
            Source::Environment { variable: "TZ".to_owned() }
        }
        zone => said(zone.is_some(), "zone(…)"),
    };
    let (pool, limit) = (&builder.pool, &builder.limit);
    let (default, others) = values.pools.split_first().expect("there is a default pool");
    let mut all = vec![
        fallback("zone", values.zone.name(), zone),
        fallback("pool.size", &default.size.to_string(), said(pool.size.is_some(), "pool_size(…)")),
        fallback(
            "thread-name-prefix",
            &default.prefix,
            said(pool.prefix.is_some(), "thread_name_prefix(…)"),
        ),
        fallback(
            "shutdown.await-termination-period",
            &observe::duration(values.limit),
            said(limit.is_some(), "await_termination(…)"),
        ),
        fallback(
            "keep-ended-tasks",
            &values.keep_ended.to_string(),
            said(builder.keep_ended.is_some(), "keep_ended_tasks(…)"),
        ),
    ];
    for pool in others {
        let given = builder.pools.get(&pool.name);
        let by = format!("pool({:?}, …)", pool.name);
        let size = said(given.is_some_and(|given| given.size.is_some()), &by);
        let prefix = said(given.is_some_and(|given| given.prefix.is_some()), &by);
        let key = |part: &str| format!("pools.{}.{part}", pool.name);
        all.push(fallback(&key("size"), &pool.size.to_string(), size));
        all.push(fallback(&key("thread-name-prefix"), &pool.prefix, prefix));
    }
    all
}
