//! Tasks that are late, stuck or failing, as snapshots show them.

use scheduler::Schedule;
use scheduler::testing::{Sim, hours, minutes, moment, secs};

fn at(minute: u32, second: u32) -> Option<scheduler::chrono::DateTime<scheduler::chrono::Utc>> {
    Some(moment(format!("2026-01-01T00:{minute:02}:{second:02}Z")).instant())
}

#[test]
fn a_run_that_outlasts_its_next_fire_time_is_stuck_and_the_task_behind_it_is_late() {
    let mut sim = Sim::at("2026-01-01T00:00:00Z")
        .pool_size(1)
        .define("hung", Schedule::cron("0 * * * * *").zone("UTC"), |_| {})
        .define("starved", Schedule::fixed_rate("1m").initial_delay("90s"), |_| {});
    sim.takes("hung", hours(2));
    sim.advance(secs(119));
    assert_eq!(sim.snapshot("hung").stuck_since, None, "its next fire time has not come");
    assert_eq!(sim.snapshot("starved").late_since, at(1, 30));
    sim.advance(minutes(30));
    let hung = sim.snapshot("hung");
    assert_eq!((hung.stuck_since, hung.late_since), (at(2, 0), None));
    let starved = sim.snapshot("starved");
    assert_eq!((starved.stuck_since, starved.late_since), (None, at(1, 30)));
}

#[test]
fn a_run_that_another_one_follows_is_stuck_too_and_its_end_clears_it() {
    let schedule = Schedule::fixed_rate("1m").overlap(scheduler::Overlap::QueueOne);
    let mut sim = Sim::at("2026-01-01T00:00:00Z").define("slow", schedule, |_| {});
    sim.takes_each("slow", [minutes(3), secs(1)]);
    sim.advance(minutes(2));
    assert_eq!(sim.snapshot("slow").stuck_since, at(1, 0));
    sim.advance(minutes(2));
    assert_eq!(sim.snapshot("slow").stuck_since, None);
}

#[test]
fn a_task_on_time_or_paused_is_neither() {
    let mut sim =
        Sim::at("2026-01-01T00:00:00Z").define("tick", Schedule::fixed_rate("1m"), |_| {});
    sim.advance(secs(90));
    sim.pause("tick");
    sim.advance(minutes(5));
    let tick = sim.snapshot("tick");
    assert_eq!((tick.late_since, tick.stuck_since), (None, None));
}

#[test]
fn a_failing_task_shows_since_when_and_its_first_error() {
    let mut sim = Sim::at("2026-01-01T00:00:00Z").define(
        "import",
        Schedule::fixed_rate("1m"),
        |run| match run.number() {
            1 => Ok(()),
            2 => Err("disk full"),
            5 => Ok(()),
            _ => Err("still"),
        },
    );
    sim.advance(minutes(3));
    let import = sim.snapshot("import");
    assert_eq!((import.streak, import.failing_since), (3, at(1, 0)));
    assert_eq!(import.first_failure.expect("a failure").message(), "disk full");
    sim.advance(minutes(1));
    let import = sim.snapshot("import");
    assert_eq!((import.failing_since, import.first_failure), (None, None));
}
