//! Simulated processes that lose their sessions while jobs run.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use scheduler::store::{AttemptOutcome, JobFilter, JobState, StoredJob};
use scheduler::testing::*;
use scheduler::{EventKind, OnLost, Overlap, Run, Schedule, SkipReason, StoreEvent, job};

#[job(name = "transfer")]
async fn transfer(run: Run) {
    run.sleep_async(secs(10)).await;
}

/// The next process dies during its first attempt, and the others fail.
#[job(name = "unlucky", retry(max = 1, base = "20s"))]
async fn unlucky(run: Run) -> Result<(), String> {
    run.sleep_async(secs(3)).await;
    Err(format!("no network in attempt {} of {}", run.attempt(), run.max_attempts()))
}

#[job(name = "watch", retry(max = 9, base = "1m", cap = "1m"))]
async fn watch(run: Run) -> Result<(), &'static str> {
    run.sleep_async(minutes(1)).await;
    Err("there is more to watch")
}

const START: &str = "2026-01-01T00:00:00Z";

fn jobs(cluster: &Cluster) -> Vec<StoredJob> {
    cluster.jobs().list(&JobFilter::default(), 100).expect("it answers")
}

/// The time until 32 jobs of 10 s in each of two processes have ended, with the store away for two leases after 5 s or not.
fn time_to_the_last_end(is_away: bool) -> Duration {
    let mut cluster = Sim::cluster(START, 2, |sim| sim.task(transfer));
    cluster.advance(secs(5));
    let begin = cluster.now();
    cluster
        .jobs()
        .enqueue_all((0..64).map(|_| transfer::job()).collect())
        .expect("they are stored");
    cluster.advance(secs(5));
    for process in 0..2 {
        assert_eq!(cluster[process].starts("transfer").len(), 32);
    }
    if is_away {
        (0..2).for_each(|process| cluster.partition(process));
        cluster.advance(secs(30));
        (0..2).for_each(|process| cluster.heal(process));
    }
    cluster.advance(minutes(20));
    let jobs = jobs(&cluster);
    assert!(jobs.iter().all(|job| (job.state, job.lost) == (JobState::Done, 0)));
    let last = jobs.iter().filter_map(|job| job.finished_at).max().expect("they have ended");
    (last.utc() - begin.instant()).to_std().expect("after the begin")
}

#[test]
fn all_jobs_of_two_processes_come_back_together_after_an_outage() {
    assert!(time_to_the_last_end(false) < secs(11));
    let length = time_to_the_last_end(true);
    // The outage ends after 35 s. A lease is watched for 15 s then, and all run once more.
    assert!(length < secs(35 + 15 + 10 + 5), "{length:?}");
}

#[test]
fn a_job_that_was_lost_fails_as_often_as_its_retries_say() {
    let mut cluster = Sim::cluster(START, 2, |sim| sim.task(unlucky));
    cluster.jobs().enqueue(unlucky::job()).expect("it is stored");
    cluster.advance(secs(2));
    let (_, killed) = cluster.starts("unlucky")[0];
    cluster.kill(killed);
    cluster.advance(minutes(5));
    let job = jobs(&cluster).remove(0);
    let attempts: Vec<_> =
        job.attempts.iter().map(|attempt| (attempt.number, attempt.outcome)).collect();
    let (lost, failed) = (AttemptOutcome::Lost, AttemptOutcome::Failed);
    assert_eq!(attempts, [(1, lost), (2, failed), (3, failed)]);
    assert_eq!((job.state, job.attempt, job.max_attempts), (JobState::Parked, 3, 3));
    assert_eq!(job.error.as_deref(), Some("no network in attempt 3 of 3"));
    // The wait after the first failure is the first one, whatever was lost before.
    let wait = job.attempts[2].started_at.since(job.attempts[1].ended_at);
    assert!(wait >= secs(20) && wait < secs(24), "{wait:?}");
}

#[test]
fn outages_with_an_attempt_between_them_park_nothing() {
    let mut cluster = Sim::cluster(START, 1, |sim| sim.task(watch));
    cluster.jobs().enqueue(watch::job()).expect("it is stored");
    for outage in 1..=4 {
        cluster.advance(secs(10));
        assert_eq!(jobs(&cluster)[0].state, JobState::Running);
        cluster.partition(0);
        cluster.advance(secs(30));
        cluster.heal(0);
        cluster.advance(secs(30));
        let job = jobs(&cluster).remove(0);
        assert_eq!((job.state, job.lost), (JobState::Running, 1), "outage {outage}");
        // Its attempt fails, and the next one begins.
        while jobs(&cluster)[0].attempt == job.attempt {
            cluster.advance(secs(1));
        }
        assert_eq!(jobs(&cluster)[0].lost, 0, "outage {outage}");
    }
}

/// The runs of the tasks named `ledger` in all processes, as their bodies see them.
type Runs = Arc<Mutex<Vec<Run>>>;

const BODY: Duration = Duration::from_secs(200);

/// Processes with a schedule whose plain function takes [`BODY`], whatever it is asked.
fn ledgers(processes: usize, schedule: Schedule, kept: &Runs) -> Cluster {
    let kept = Arc::clone(kept);
    let program = move |sim: Sim| {
        let kept = Arc::clone(&kept);
        let body = move |run: &Run| kept.lock().expect("no run panics").push(run.clone());
        sim.pool_size(4).define("ledger", schedule.clone().durable(), body)
    };
    let mut cluster = Sim::cluster(START, processes, program);
    cluster.takes("ledger", BODY);
    cluster
}

fn events(sim: &Sim) -> Vec<StoreEvent> {
    let of_store = |event: scheduler::Event| match event.kind {
        EventKind::Store { what, .. } => Some(what),
        _ => None,
    };
    sim.events().into_iter().filter_map(of_store).collect()
}

fn overlapped(sim: &Sim) -> u64 {
    let count = |event: scheduler::Event| match event.kind {
        EventKind::Skipped { reason: SkipReason::Overlap, count, .. } => count,
        _ => 0,
    };
    sim.events().into_iter().map(count).sum()
}

#[test]
fn no_tick_begins_beside_a_body_that_its_process_has_lost() {
    let cron = || Schedule::cron("0 * * * * *").zone("UTC");
    let queued = cron().overlap(Overlap::QueueOne);
    for schedule in [cron(), queued, Schedule::fixed_rate("50s"), Schedule::fixed_delay("20s")] {
        for on_lost in [OnLost::Abandon, OnLost::Rerun] {
            let schedule = schedule.clone().on_lost(on_lost);
            let name = format!("{schedule:?}");
            let mut cluster = ledgers(1, schedule, &Runs::default());
            cluster.advance(secs(70));
            let first = cluster.starts("ledger").last().expect("it has begun").0;
            cluster.partition(0);
            cluster.advance(secs(30));
            cluster.heal(0);
            cluster.advance(minutes(20));
            let starts = cluster.starts("ledger").into_iter().filter(|(at, _)| *at >= first);
            let starts: Vec<_> = starts.collect();
            assert!(starts.len() > 3, "it goes on: {name} {starts:?}");
            let is_beside = |pair: &[(Duration, usize)]| pair[1].0 - pair[0].0 < BODY;
            assert!(!starts.windows(2).any(is_beside), "{name} {starts:?}");
        }
    }
}

/// The rule that counts keeps jobs apart, not the one of the code.
#[test]
fn no_tick_of_a_delay_that_was_set_by_hand_begins_beside_a_lost_body() {
    let schedule = Schedule::cron("0 * * * * *").zone("UTC").overlap(Overlap::Allow);
    let mut cluster = ledgers(1, schedule.on_lost(OnLost::Abandon), &Runs::default());
    cluster.advance(secs(1));
    cluster.schedules().reschedule("ledger", Schedule::fixed_delay("20s")).expect("it is stored");
    cluster.advance(secs(70));
    let first = cluster.starts("ledger").last().expect("it has begun").0;
    cluster.partition(0);
    cluster.advance(secs(30));
    cluster.heal(0);
    cluster.advance(minutes(20));
    let starts: Vec<_> =
        cluster.starts("ledger").into_iter().map(|(at, _)| at).filter(|at| *at >= first).collect();
    assert!(starts.len() > 3, "it goes on: {starts:?}");
    assert!(!starts.windows(2).any(|pair| pair[1] - pair[0] < BODY), "{starts:?}");
}

#[test]
fn a_tick_beside_a_body_that_its_process_has_lost_is_skipped_by_overlap() {
    let schedule = Schedule::cron("0 * * * * *").zone("UTC").on_lost(OnLost::Abandon);
    let mut cluster = ledgers(1, schedule, &Runs::default());
    cluster.advance(secs(70));
    cluster.partition(0);
    cluster.advance(secs(30));
    cluster.heal(0);
    // Ticks came at 120, 180 and 240 s, and its body ends at 260 s.
    cluster.advance(secs(155));
    assert_eq!(jobs(&cluster)[0].state, JobState::Parked);
    assert_eq!((overlapped(&cluster[0]), cluster.starts("ledger").len()), (3, 1));
    cluster.advance(secs(50));
    assert_eq!((overlapped(&cluster[0]), cluster.starts("ledger").len()), (3, 2));
}

/// As a person may have it: the parked job is retried while its body goes on, and a job by hand is made.
#[test]
fn no_command_begins_a_body_beside_one_that_its_process_has_lost() {
    let schedule = Schedule::cron("0 0 * * * *").zone("UTC").on_lost(OnLost::Abandon);
    for is_retry in [true, false] {
        let mut cluster = ledgers(1, schedule.clone(), &Runs::default());
        cluster.advance(minutes(60) + secs(10));
        let (first, _) = cluster.starts("ledger")[0];
        cluster.partition(0);
        cluster.advance(secs(20));
        cluster.heal(0);
        cluster.advance(secs(30));
        let parked = jobs(&cluster).remove(0);
        assert_eq!(parked.state, JobState::Parked);
        match is_retry {
            true => cluster.jobs().retry(parked.id).expect("it is stored"),
            false => drop(cluster.schedules().run_now("ledger").expect("it is stored")),
        }
        cluster.advance(minutes(10));
        let starts = cluster.starts("ledger");
        assert_eq!(starts.len(), 2, "{starts:?}");
        let wait = starts[1].0 - first;
        assert!(
            wait >= BODY && wait < BODY + secs(10),
            "it begins when the body has ended: {wait:?}"
        );
    }
}

/// A job without a schedule keeps only itself out.
#[test]
fn a_lost_job_does_not_begin_beside_its_own_body() {
    #[job(name = "count")]
    fn count(#[payload] _number: u32) {}

    let mut cluster = Sim::cluster(START, 1, |sim| sim.pool_size(4).task(count));
    cluster.takes("count", BODY);
    cluster.jobs().enqueue(count::job(1)).expect("it is stored");
    cluster.advance(secs(10));
    cluster.partition(0);
    cluster.advance(secs(20));
    cluster.heal(0);
    cluster.jobs().enqueue(count::job(2)).expect("it is stored");
    cluster.advance(secs(30));
    assert_eq!(cluster.starts("count").len(), 2, "another job begins");
    cluster.advance(minutes(10));
    let starts = cluster.starts("count");
    assert_eq!(starts.len(), 3, "{starts:?}");
    assert!(starts[2].0 - starts[0].0 >= BODY, "{starts:?}");
    assert!(jobs(&cluster).iter().all(|job| job.state == JobState::Done));
}

#[test]
fn a_run_is_told_before_another_process_begins_the_next_tick() {
    for on_lost in [OnLost::Abandon, OnLost::Rerun] {
        for is_frozen in [false, true] {
            let schedule = Schedule::cron("*/5 * * * * *").zone("UTC").on_lost(on_lost);
            let runs = Runs::default();
            let mut cluster = ledgers(2, schedule, &runs);
            cluster.advance(secs(10));
            let (_, owner) = cluster.starts("ledger")[0];
            let run = runs.lock().expect("no run panics")[0].clone();
            cluster.partition(owner);
            if is_frozen {
                cluster.freeze_for(owner, secs(8));
            }
            for _ in 0..40 {
                let is_told = run.is_lost();
                assert_eq!(run.stop_requested(), is_told);
                cluster.advance(secs(1));
                if cluster.starts("ledger").iter().any(|(_, process)| *process != owner) {
                    assert!(is_told, "{on_lost:?}");
                    break;
                }
            }
            assert!(run.is_lost() && cluster.starts("ledger").len() == 2, "{on_lost:?}");
        }
    }
}

/// The process knows better than the store: the run of the parked job goes on.
#[test]
fn a_parked_job_whose_run_goes_on_here_is_told_when_that_fails() {
    for is_good in [true, false] {
        let schedule = Schedule::cron("0 0 * * * *").zone("UTC").on_lost(OnLost::Abandon);
        let program = move |sim: Sim| {
            sim.define_async("ledger", schedule.clone().durable(), move |run: Run| async move {
                run.sleep_async(BODY).await;
                if is_good { Ok(()) } else { Err("no ink") }
            })
        };
        let mut cluster = Sim::cluster(START, 1, program);
        cluster.advance(minutes(60) + secs(10));
        cluster.partition(0);
        cluster.advance(secs(20));
        cluster.heal(0);
        let parked = |cluster: &Cluster| {
            let errors = events(&cluster[0]).into_iter().filter_map(|event| match event {
                StoreEvent::JobParked { job, .. } => Some(job.error.to_string()),
                _ => None,
            });
            errors.collect::<Vec<_>>()
        };
        cluster.advance(minutes(1));
        assert_eq!(jobs(&cluster)[0].state, JobState::Parked);
        assert_eq!(parked(&cluster), [] as [String; 0], "its run goes on");
        cluster.advance(minutes(5));
        let state = if is_good { JobState::Done } else { JobState::Parked };
        assert_eq!(jobs(&cluster)[0].state, state);
        let expected: &[&str] = if is_good { &[] } else { &["no ink"] };
        assert_eq!(parked(&cluster), expected);
    }
}

#[test]
fn a_job_that_another_process_has_parked_is_told_there() {
    let schedule = Schedule::cron("0 0 * * * *").zone("UTC").on_lost(OnLost::Abandon);
    let mut cluster = ledgers(2, schedule, &Runs::default());
    cluster.advance(minutes(60) + secs(10));
    let (_, owner) = cluster.starts("ledger")[0];
    cluster.kill(owner);
    cluster.advance(minutes(1));
    let is_parked = |event: &StoreEvent| matches!(event, StoreEvent::JobParked { .. });
    assert_eq!(events(&cluster[1 - owner]).iter().filter(|event| is_parked(event)).count(), 1);
}
