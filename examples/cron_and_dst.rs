//! Cron follows the wall clock, also when the clocks change.
//!
//! ```sh
//! cargo run -p examples --example cron_and_dst
//! ```
//!
//! Nothing is waited for: the testing kit reads the annotations below and says when they fire. In
//! Berlin 02:30 does not exist on 2026-03-29 and comes twice on 2026-10-25. Look at what becomes of
//! the nightly tasks then, and that the report stays at nine.
//!
//! ```text
//! report, every weekday at nine
//!   Fri 2026-03-27 09:00+01:00
//!   Mon 2026-03-30 09:00+02:00
//! nightly
//!   Sat 2026-03-28 02:30+01:00
//!   Mon 2026-03-30 02:30+02:00
//!   Sun 2026-10-25 02:30+02:00
//!   Sun 2026-10-25 02:30+01:00
//! nightly, each night once
//!   Sat 2026-03-28 02:30+01:00
//!   Sun 2026-03-29 03:00+02:00
//!   Mon 2026-03-30 02:30+02:00
//!   Sun 2026-10-25 02:30+02:00
//! ```

use scheduler::scheduled;
use scheduler::testing::{ScheduleOf, schedule_of};

#[scheduled(cron = "0 0 9 * * MON-FRI", zone = "Europe/Berlin")]
fn report() {}

#[scheduled(cron = "0 30 2 * * *", zone = "Europe/Berlin")]
fn nightly() {}

#[scheduled(
    cron = "0 30 2 * * *",
    zone = "Europe/Berlin",
    dst_gap = "run_after",
    dst_overlap = "first"
)]
fn once_each_night() {}

fn main() {
    show("report, every weekday at nine", &schedule_of(report), &[SPRING]);
    show("nightly", &schedule_of(nightly), &[SPRING, AUTUMN]);
    show("nightly, each night once", &schedule_of(once_each_night), &[SPRING, AUTUMN]);
}

/// From when until when.
type Days = [&'static str; 2];

const SPRING: Days = ["2026-03-27T04:00[Europe/Berlin]", "2026-03-30T12:00[Europe/Berlin]"];
const AUTUMN: Days = ["2026-10-24T04:00[Europe/Berlin]", "2026-10-25T12:00[Europe/Berlin]"];

fn show(title: &str, schedule: &ScheduleOf, days: &[Days]) {
    println!("{title}");
    for [from, until] in days {
        for local in schedule.between(*from, *until).local() {
            println!("  {local}");
        }
    }
}
