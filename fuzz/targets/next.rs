//! Asks any expression, in any zone, from any instant: fire times increase, and no question takes
//! long.
//!
//! Input: eight bytes of seconds, two that choose a zone, one for the policies, and the expression.
#![cfg_attr(fuzzing, no_main)]

use std::sync::LazyLock;

use chrono::DateTime;
use scheduler_core::trigger::{CronTrigger, DstGap, DstOverlap, Zone};
use scheduler_expr::{CronExpression, zone_names};

static ZONES: LazyLock<Vec<Zone>> = LazyLock::new(|| {
    zone_names().map(|name| name.parse().expect("a listed zone is known")).collect()
});

pub fn check(data: &[u8]) {
    let Some((head, text)) = data.split_first_chunk::<11>() else { return };
    let Ok(expression) = std::str::from_utf8(text)
        .map_err(drop)
        .and_then(|text| CronExpression::parse(text).map_err(drop))
    else {
        return;
    };
    let [a, b, c, d, e, f, g, h, zone_low, zone_high, policy] = *head;
    let seconds = i64::from_le_bytes([a, b, c, d, e, f, g, h]);
    let Some(from) = DateTime::from_timestamp(seconds, 0) else { return };
    let zone = ZONES[usize::from(u16::from_le_bytes([zone_low, zone_high])) % ZONES.len()];
    let gap = if policy % 2 == 0 { DstGap::Skip } else { DstGap::RunAfter };
    let overlap =
        [DstOverlap::Both, DstOverlap::First, DstOverlap::Last][usize::from(policy / 2 % 3)];
    let trigger = CronTrigger::new(expression, zone).dst_gap(gap).dst_overlap(overlap);
    let mut previous = from;
    for at in trigger.upcoming(from).take(4) {
        assert!(at > previous, "{at} is not after {previous}");
        previous = at;
    }
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| check(data));
