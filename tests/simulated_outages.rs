//! Simulated processes that lose their sessions while jobs run.

use std::time::Duration;

use scheduler::store::{AttemptOutcome, JobFilter, JobState, StoredJob};
use scheduler::testing::*;
use scheduler::{Run, job};

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
    (last - begin.instant()).to_std().expect("after the begin")
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
    let wait = job.attempts[2].started_at - job.attempts[1].ended_at;
    let wait = wait.to_std().expect("it is later");
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
