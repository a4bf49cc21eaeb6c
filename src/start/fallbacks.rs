//! The values of settings that are not set, with their sources.

use scheduler_core::trigger::Zone;

use super::builder::Builder;
#[cfg(feature = "durable")]
use super::durable::Durable;
use super::prepared::Prepared;
use crate::define::settings::{Fallback, Source};
use crate::observe;

/// A line for each value, for settings that are not set. `tz` is the value of the variable `TZ`.
pub(super) fn fallbacks(builder: &Builder, values: &Prepared, tz: &str) -> Vec<Fallback> {
    let call = |call: &str| Source::Code { call: format!("builder.{call}") };
    let source = |is_set: bool, by: &str| if is_set { call(by) } else { Source::Default };
    let fallback = |key: &str, text: &str, source: Source| Fallback {
        key: key.to_owned(),
        text: text.to_owned(),
        source,
    };
    let zone = match &builder.zone {
        None if Zone::of_variable(tz).is_some() => {
            Source::Environment { variable: "TZ".to_owned() }
        }
        zone => source(zone.is_some(), "zone(…)"),
    };
    let (pool, limit) = (&builder.pool, &builder.limit);
    let (default, others) = values.pools.split_first().expect("there is a default pool");
    let mut all = vec![
        fallback("zone", values.context.zone.name(), zone),
        fallback(
            "pool.size",
            &default.size.to_string(),
            source(pool.size.is_some(), "pool_size(…)"),
        ),
        fallback(
            "thread-name-prefix",
            &default.prefix,
            source(pool.prefix.is_some(), "thread_name_prefix(…)"),
        ),
        fallback(
            "shutdown.await-termination-period",
            &observe::duration(values.limit),
            source(limit.is_some(), "await_termination(…)"),
        ),
        fallback(
            "keep-ended-tasks",
            &values.keep_ended.to_string(),
            source(builder.keep_ended.is_some(), "keep_ended_tasks(…)"),
        ),
    ];
    #[cfg(feature = "durable")]
    for (key, text, is_set) in Durable::values(builder, &values.specs, &values.pools) {
        all.push(fallback(&format!("node.{key}"), &text, source(is_set, "node(…)")));
    }
    for pool in others {
        let in_code = builder.pools.get(&pool.name);
        let by = format!("pool({:?}, …)", pool.name);
        let size = source(in_code.is_some_and(|in_code| in_code.size.is_some()), &by);
        let prefix = source(in_code.is_some_and(|in_code| in_code.prefix.is_some()), &by);
        let key = |part: &str| format!("pools.{}.{part}", pool.name);
        all.push(fallback(&key("size"), &pool.size.to_string(), size));
        all.push(fallback(&key("thread-name-prefix"), &pool.prefix, prefix));
    }
    all
}
