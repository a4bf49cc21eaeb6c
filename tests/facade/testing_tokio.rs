//! Tokio's time in a simulation.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use scheduler::Schedule;
use scheduler::testing::*;

#[test]
fn tokio_sleeps_go_by_virtual_time() {
    let mut sim = Sim::at("2026-01-01T00:00:00Z")
        .pool_size(1)
        .define_async("nap", Schedule::fixed_delay("1m"), |_| async {
            tokio::time::sleep(Duration::from_secs(90)).await;
        })
        .define("other", Schedule::fixed_rate("1h"), |_| {});
    sim.advance(secs(570));
    assert_eq!(sim.starts("nap").len(), 4, "{}", sim.event_log());
    let late = sim.starts("nap")[3] - secs(3 * 150);
    assert!(late <= millis(3), "at most a millisecond for each sleep, but {late:?}");
    assert_eq!(sim.elapsed(), secs(570));
}

#[test]
fn spawned_tasks_timeouts_and_channels_work() {
    let mut sim = Sim::at("2026-01-01T00:00:00Z").define_async(
        "work",
        Schedule::once("5s"),
        |run| async move {
            let (tell, told) = tokio::sync::oneshot::channel();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(3)).await;
                tell.send("done")
            });
            let told = tokio::time::timeout(Duration::from_secs(10), told).await;
            run.note(told.expect("in time").expect("it is sent"));
            let none = std::future::pending::<()>();
            tokio::time::timeout(Duration::from_secs(7), none).await.map_err(|_| "seven")
        },
    );
    sim.run_until_idle();
    assert_outcomes!(sim, "work", [Error("seven")]);
    let record = sim.snapshot("work").last_runs[0].clone();
    assert_eq!(record.notes, ["done".into()]);
    assert!(record.took >= secs(10) && record.took <= secs(10) + millis(2), "{:?}", record.took);
}

#[test]
fn the_clocks_of_the_simulation_and_of_tokio_agree() {
    let seen: Arc<Mutex<Vec<(Duration, Duration)>>> = Arc::default();
    let (noted, zero) = (Arc::clone(&seen), Mutex::new(None));
    let zero = Arc::new(zero);
    let mut sim = Sim::at("2026-01-01T00:00:00Z").define_async(
        "look",
        Schedule::fixed_rate("1h"),
        move |run| {
            let (noted, zero) = (Arc::clone(&noted), Arc::clone(&zero));
            async move {
                let now = tokio::time::Instant::now();
                let zero = *zero.lock().unwrap().get_or_insert(now);
                let fired = (run.fire_time() - moment("2026-01-01T00:00Z").instant()).to_std();
                noted.lock().unwrap().push((now - zero, fired.unwrap()));
            }
        },
    );
    sim.advance(days(2));
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 49);
    for (tokio, ours) in &*seen {
        assert!(tokio.abs_diff(*ours) <= millis(1), "{tokio:?} {ours:?}");
    }
}

#[test]
fn a_task_that_waits_for_what_never_comes_ends_with_the_test() {
    let mut sim =
        Sim::at("2026-01-01T00:00:00Z")
            .define_async("stuck", Schedule::once("0s"), |_| std::future::pending::<()>());
    sim.advance(days(400));
    assert_eq!(sim.snapshot("stuck").running, 1);
    sim.run_until_idle();
    assert_outcomes!(sim, "stuck", []);
}

#[tokio::test]
#[should_panic(expected = "write `#[test] fn`, not `#[tokio::test] async fn`")]
async fn a_simulation_is_not_played_inside_a_runtime() {
    Sim::at("2026-01-01T00:00:00Z").advance(secs(1));
}
