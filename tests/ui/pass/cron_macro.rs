//! `cron!` makes a schedule wherever its crate is named otherwise.

use ::scheduler as other;

fn main() {
    let schedules: [other::Schedule; 3] = [
        other::cron!("0 0 9 * * MON-FRI").zone("Europe/Berlin"),
        other::cron!("${report.cron:@daily}",),
        other::cron!("-"),
    ];
    assert_eq!(schedules.len(), 3);
}
