//! Tests of scheduled tasks: `cargo test -p examples --example testing`.
//!
//! The program is what such a crate looks like; its tests are below.

use std::sync::atomic::{AtomicU64, Ordering};

use scheduler::{Scheduler, scheduled};

/// Keeps the sessions of users.
#[derive(Debug, Default)]
struct Sessions {
    purges: AtomicU64,
}

impl Sessions {
    fn purge(&self) {
        self.purges.fetch_add(1, Ordering::Relaxed);
    }

    fn purges(&self) -> u64 {
        self.purges.load(Ordering::Relaxed)
    }
}

#[scheduled(fixed_delay = "5s")]
fn purge(sessions: &Sessions) {
    sessions.purge();
    println!("purged {} times", sessions.purges());
}

#[scheduled(cron = "0 0 9 * * MON-FRI", zone = "Europe/Berlin")]
fn daily_report() -> Result<(), std::io::Error> {
    std::fs::write(std::env::temp_dir().join("report.txt"), "all good")
}

fn main() -> Result<(), scheduler::StartError> {
    builder().start()
}

fn builder() -> scheduler::Builder {
    Scheduler::builder().manage(Sessions::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use scheduler::testing::*;

    #[test]
    fn the_report_is_written_at_nine_on_weekdays_also_when_summer_time_begins() {
        let runs = schedule_of(daily_report)
            .between("2026-03-27T00:00[Europe/Berlin]", "2026-03-31T00:00[Europe/Berlin]");
        assert_eq!(runs.local(), ["Fri 2026-03-27 09:00+01:00", "Mon 2026-03-30 09:00+02:00"]);
    }

    #[test]
    fn sessions_are_purged_five_seconds_after_the_end_of_each_purge() {
        let mut sim = Sim::at("2026-01-01T00:00:00Z").manage(Sessions::default()).task(purge);
        sim.takes("purge", secs(3));
        sim.advance(secs(20));
        assert_eq!(sim.starts("purge"), [0, 8, 16].map(secs));
        assert_eq!(sim.get::<Sessions>().purges(), 3);
    }

    #[test]
    fn a_report_that_fails_is_written_again_on_the_next_weekday() {
        let mut sim = Sim::at("2026-03-27T08:59:59[Europe/Berlin]").task(daily_report);
        sim.fail_next("daily_report", "disk full");
        sim.run_until_idle_or(hours(1));
        assert_outcomes!(sim, "daily_report", [Error("disk full")]);
        assert_eq!(
            sim.next("daily_report").to_string(),
            "2026-03-30T09:00:00+02:00[Europe/Berlin]"
        );
    }

    #[test]
    fn everything_the_tasks_need_is_there() -> Result<(), scheduler::StartError> {
        check_wiring(builder())
    }

    #[test]
    fn the_plan_is_as_it_was_reviewed() -> Result<(), scheduler::StartError> {
        let expected = "\
testing::daily_report  pool default  0 0 9 * * MON-FRI (09:00, Monday to Friday) in Europe/Berlin
                       Fri 2026-03-27 09:00+01:00
                       Mon 2026-03-30 09:00+02:00
                       Tue 2026-03-31 09:00+02:00
                       Wed 2026-04-01 09:00+02:00
                       Thu 2026-04-02 09:00+02:00
testing::purge         pool default  5s after each run
                       Fri 2026-03-27 00:00+00:00
                       Fri 2026-03-27 00:00:05+00:00
                       Fri 2026-03-27 00:00:10+00:00
                       Fri 2026-03-27 00:00:15+00:00
                       Fri 2026-03-27 00:00:20+00:00
";
        assert_eq!(plan(builder(), "2026-03-27T00:00:00Z")?, expected);
        Ok(())
    }
}
