//! Processes of an older and of a newer build on one store: jobs with newer payloads wait for the newer build.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use scheduler::store::{JobFilter, JobState, StoredJob};
use scheduler::testing::*;
use scheduler::{EventKind, Overlap, Schedule, StoreEvent};

mod v1 {
    use scheduler::job;

    #[job(name = "deliver")]
    pub(super) fn deliver(#[payload] to: String) {
        assert!(!to.is_empty());
        drop(to);
    }

    #[job(name = "count")]
    pub(super) fn count() {}
}

mod v2 {
    use scheduler::job;
    use serde_json::Value;

    #[job(name = "deliver", version = 2, upgrade = from_v1)]
    pub(super) fn deliver(#[payload] (to, copies): (String, u32)) {
        assert!(!to.is_empty() && copies > 0);
    }

    #[expect(clippy::needless_pass_by_value, reason = "an upgrade owns what it reads")]
    fn from_v1(to: Value) -> Result<(String, u32), String> {
        Ok((to.as_str().ok_or("no receiver")?.to_owned(), 1))
    }

    #[job(name = "count")]
    pub(super) fn count(#[payload] _by: u32) {}
}

/// Processes of the older build. Those that start once the value is true have the newer one.
fn cluster(processes: usize) -> (Cluster, Arc<AtomicBool>) {
    let is_deployed = Arc::new(AtomicBool::new(false));
    let deployed = Arc::clone(&is_deployed);
    let cluster =
        Sim::cluster("2026-01-01T00:05:00Z", processes, move |sim| match deployed.load(SeqCst) {
            false => sim.tasks(scheduler::tasks![v1::deliver, v1::count]),
            true => sim.tasks(scheduler::tasks![v2::deliver, v2::count]),
        });
    (cluster, is_deployed)
}

fn jobs_of(cluster: &Cluster, task: &str) -> Vec<StoredJob> {
    let filter = JobFilter { task: Some(task.to_owned()), ..JobFilter::default() };
    let mut jobs = cluster.jobs().list(&filter, 1_000).expect("it answers");
    jobs.sort_by_key(|job| job.payload.version);
    jobs
}

fn newer() -> scheduler::Job {
    v2::deliver::job(("ada".to_owned(), 2))
}

/// The warnings of a process: of the task, the number of due jobs, and the versions.
fn warnings(sim: &Sim) -> Vec<(String, u64, Option<u32>, Option<u32>)> {
    let of_unknown = |event: scheduler::Event| match event.kind {
        EventKind::Store {
            what: StoreEvent::TaskUnknown { task, due, version, known_version, .. },
            ..
        } => Some((task.to_string(), due, version, known_version)),
        _ => None,
    };
    sim.events().into_iter().filter_map(of_unknown).collect()
}

#[test]
fn r24_newer_jobs_wait_for_the_newer_build_and_none_is_parked() {
    let (mut cluster, is_deployed) = cluster(2);
    cluster.advance(secs(1));
    let jobs = cluster.jobs();
    jobs.enqueue_all(vec![newer(), newer(), newer()]).expect("an answer");
    // Longer than five tries of a minute.
    for _ in 0..30 {
        jobs.enqueue(v1::deliver::job("bob".to_owned())).expect("an answer");
        cluster.advance(secs(20));
    }
    let kept = jobs_of(&cluster, "deliver");
    let is_of = |version| move |job: &&StoredJob| job.payload.version == version;
    assert!(kept.iter().filter(is_of(1)).all(|job| job.state == JobState::Done));
    let waiting: Vec<_> = kept.iter().filter(is_of(2)).collect();
    assert_eq!(waiting.len(), 3);
    assert!(waiting.iter().all(|job| (job.state, job.attempt) == (JobState::Ready, 0)));
    assert!(waiting.iter().all(|job| job.undecoded == 0));

    let told = [warnings(&cluster[0]), warnings(&cluster[1])];
    let teller = usize::from(told[0].is_empty());
    assert!(told[1 - teller].is_empty(), "one process says it: {told:?}");
    assert!((7..=11).contains(&told[teller].len()), "once a minute: {told:?}");
    let expected = ("deliver".to_owned(), 3, Some(2), Some(1));
    assert!(told[teller].iter().all(|warning| *warning == expected), "{told:?}");
    let messages = cluster[teller].messages();
    let warning = messages.iter().find(|message| message.contains("payload")).expect("a warning");
    assert_eq!(
        warning,
        "WARN  scheduler: 3 due jobs of `deliver` have payloads up to version 2, and no living process knows more than \
         version 1\n      help: start a process of the build that knows version 2: they wait for it; if that build is gone for \
         good, give each of them an older payload or cancel it: scheduler jobs edit, scheduler jobs cancel"
    );

    is_deployed.store(true, SeqCst);
    cluster.restart(1 - teller);
    cluster.advance(minutes(1));
    assert!(jobs_of(&cluster, "deliver").iter().all(|job| job.state == JobState::Done));
    let before = warnings(&cluster[teller]).len();
    jobs.enqueue(newer()).expect("an answer");
    cluster.advance(minutes(5));
    assert_eq!(warnings(&cluster[teller]).len(), before, "a living process knows it");
    assert!(jobs_of(&cluster, "deliver").iter().all(|job| job.attempt == 1));
}

/// The order of a deploy is of no matter: older jobs in the table run in the newer build, too.
#[test]
fn r24_older_jobs_run_in_the_newer_build() {
    let (mut cluster, is_deployed) = cluster(1);
    is_deployed.store(true, SeqCst);
    cluster.restart(0);
    let jobs = cluster.jobs();
    jobs.enqueue(v1::deliver::job("bob".to_owned())).expect("an answer");
    cluster.advance(minutes(1));
    assert_eq!(jobs_of(&cluster, "deliver")[0].state, JobState::Done);
}

#[test]
fn r24_a_schedule_with_a_newer_payload_fires_and_its_jobs_wait_for_the_newer_build() {
    let (mut cluster, is_deployed) = cluster(2);
    cluster.advance(secs(1));
    let rule = Schedule::fixed_rate("1m").overlap(Overlap::Allow);
    cluster.schedules().put("tenant-1", rule, newer()).expect("an answer");
    cluster.advance(minutes(10));
    let made = jobs_of(&cluster, "deliver");
    assert!((9..=11).contains(&made.len()), "{} ticks", made.len());
    assert!(made.iter().all(|job| (job.state, job.attempt) == (JobState::Ready, 0)));
    is_deployed.store(true, SeqCst);
    cluster.restart(1);
    cluster.advance(secs(30));
    assert!(jobs_of(&cluster, "deliver").iter().all(|job| job.state == JobState::Done));
}

/// A function without a payload reads none, and so knows each version.
#[test]
fn a_function_without_a_payload_runs_jobs_of_every_version() {
    let (mut cluster, _) = cluster(1);
    cluster.jobs().enqueue(v2::count::job(17)).expect("an answer");
    cluster.advance(secs(5));
    let job = jobs_of(&cluster, "count").pop().expect("it is kept");
    assert_eq!((job.payload.version, job.state), (1, JobState::Done));
}

/// Programs ask for the same, and see it end.
#[test]
fn a_version_is_unknown_until_a_process_knows_it() {
    let (mut cluster, is_deployed) = cluster(1);
    cluster.advance(secs(1));
    let jobs = cluster.jobs();
    jobs.enqueue_all(vec![newer(), v1::deliver::job("bob".to_owned())]).expect("an answer");
    let unknown = |cluster: &Cluster| {
        let jobs = cluster.jobs();
        let (depths, sessions) = (jobs.depths().expect("an answer"), jobs.sessions());
        let found = jobs.unknown_tasks(&depths, &sessions.expect("an answer"), &[]);
        let row =
            |it: scheduler::store::UnknownTask| (it.task, it.due, it.version, it.known_version);
        found.into_iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(unknown(&cluster), [], "it is due for less than a minute");
    cluster.advance(secs(70));
    assert_eq!(unknown(&cluster), [("deliver".to_owned(), 1, Some(2), Some(1))]);
    is_deployed.store(true, SeqCst);
    cluster.restart(0);
    cluster.advance(minutes(1));
    assert_eq!(unknown(&cluster), []);
    cluster.kill(0);
    jobs.enqueue(newer()).expect("an answer");
    cluster.advance(minutes(3));
    assert_eq!(
        unknown(&cluster),
        [("deliver".to_owned(), 1, None, None)],
        "no process has the task"
    );
}
