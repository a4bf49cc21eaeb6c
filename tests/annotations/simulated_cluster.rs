//! Several simulated processes on one store, killed, frozen and cut off.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use scheduler::store::{AttemptOutcome, JobFilter, JobState, SessionInfo};
use scheduler::testing::*;
use scheduler::{EventKind, Misfire, Outcome, Run, Schedule, StoreEvent, job, scheduled};

#[scheduled(cron = "0 */10 * * * *", zone = "UTC", name = "report", durable)]
fn report() {}

#[scheduled(cron = "0 0 * * * *", zone = "UTC", name = "long", durable)]
fn long() {}

#[job(name = "watch")]
async fn watch(run: Run) {
    run.sleep_async(minutes(1)).await;
}

#[job(name = "count")]
fn count(#[payload] by: u32, sum: &AtomicU32) {
    sum.fetch_add(by, SeqCst);
}

#[job(name = "charge", on_lost = "abandon")]
async fn charge(run: Run, sum: &AtomicU32) {
    run.sleep_async(minutes(2)).await;
    sum.fetch_add(1, SeqCst);
}

const START: &str = "2026-01-01T00:05:00Z";

fn reports(processes: usize) -> Cluster {
    Sim::cluster(START, processes, |sim| sim.task(report))
}

fn store_events(sim: &Sim) -> Vec<StoreEvent> {
    let of_store = |event: scheduler::Event| match event.kind {
        EventKind::Store { what, .. } => Some(what),
        _ => None,
    };
    sim.events().into_iter().filter_map(of_store).collect()
}

fn times(starts: &[(Duration, usize)]) -> Vec<Duration> {
    starts.iter().map(|(at, _)| *at).collect()
}

/// The instants of the ticks of `report`, from the start.
fn ticks(count: u64) -> Vec<Duration> {
    (0..count).map(|tick| minutes(5 + 10 * tick)).collect()
}

/// Rounds to seconds, since a process that is not the first one lets others go first.
fn seconds(starts: &[(Duration, usize)]) -> Vec<Duration> {
    times(starts).into_iter().map(|at| secs(at.as_secs())).collect()
}

#[test]
fn each_tick_runs_once_in_all_processes_together() {
    let mut cluster = reports(3);
    cluster.advance(hours(10));
    let starts = cluster.starts("report");
    assert_eq!(seconds(&starts), ticks(60));
    let by = |process| starts.iter().filter(|(_, by)| *by == process).count();
    assert!((0..3).all(|process| by(process) > 0), "all take part: {starts:?}");
    let jobs = cluster.jobs().list(&JobFilter::default(), 100).expect("it answers");
    assert!(jobs.iter().all(|job| job.state == JobState::Done && job.attempt == 1));
}

#[test]
fn each_tick_runs_once_whatever_happens_to_processes() {
    let mut cluster = reports(3);
    for round in 0..20 {
        let process = round % 3;
        match round % 4 {
            0 => cluster.freeze_for(process, minutes(3)),
            1 => cluster.partition(process),
            2 => cluster.restart(process),
            _ => cluster.schedules().run_now("report").map(drop).expect("nothing is unfinished"),
        }
        cluster.advance(minutes(10));
        if round % 4 == 1 {
            cluster.heal(process);
        }
    }
    // A run by hand is none of a tick.
    let starts = cluster.starts("report");
    let of_ticks: Vec<_> =
        starts.iter().copied().filter(|(at, _)| at.as_secs() % 600 == 300).collect();
    assert_eq!(seconds(&of_ticks), ticks(20));
    assert_eq!(starts.len() - of_ticks.len(), 5, "{starts:?}");
}

#[test]
fn another_process_takes_over_when_one_is_killed_in_its_run() {
    let mut cluster = Sim::cluster("2026-01-01T00:59:59Z", 3, |sim| sim.task(long));
    cluster.takes("long", minutes(1));
    cluster.advance(secs(2));
    let (first, killed) = cluster.starts("long")[0];
    cluster.kill(killed);
    cluster.advance(minutes(3));
    let starts = cluster.starts("long");
    assert_eq!(starts.len(), 2, "{starts:?}");
    let (again, other) = starts[1];
    assert_ne!(other, killed);
    // Its lease of 15 s was renewed at most 5 s before, and was seen unchanged for all of it.
    let gap = again - first;
    assert!(gap > secs(10) && gap < secs(25), "{gap:?}");
    assert_outcomes!(cluster[other], "long", [Success]);
    let job = &cluster.jobs().list(&JobFilter::default(), 10).expect("it answers")[0];
    assert_eq!((job.state, job.attempt, job.lost), (JobState::Done, 2, 0));
    assert_eq!(job.attempts[0].outcome, AttemptOutcome::Lost);
    let mut sessions = cluster.jobs().sessions().expect("it answers");
    sessions.retain(SessionInfo::is_alive);
    assert!(sessions.iter().all(|one| one.label != format!("process-{killed}")), "{sessions:?}");
}

#[test]
fn the_late_outcome_of_a_frozen_process_is_refused() {
    let mut cluster = Sim::cluster("2026-01-01T00:59:59Z", 2, |sim| sim.task(long));
    cluster.takes("long", secs(40));
    cluster.advance(secs(2));
    let frozen = cluster.starts("long")[0].1;
    let other = 1 - frozen;
    cluster.freeze_for(frozen, minutes(5));
    cluster.advance(minutes(4));
    assert_outcomes!(cluster[other], "long", [Success]);
    let stored = |cluster: &Cluster| {
        cluster.jobs().list(&JobFilter::default(), 10).expect("it answers").swap_remove(0)
    };
    let before = stored(&cluster);
    assert_eq!((before.state, before.attempt), (JobState::Done, 2));
    assert_eq!(cluster[frozen].outcomes("long"), [], "it does not even know the time");
    cluster.advance(minutes(2));
    assert_eq!(stored(&cluster), before);
    let events = store_events(&cluster[frozen]);
    let has = |is: fn(&StoreEvent) -> bool| events.iter().any(is);
    assert!(has(|event| matches!(event, StoreEvent::SessionLost { .. })), "{events:?}");
    assert!(has(|event| matches!(event, StoreEvent::FinishRefused { .. })), "{events:?}");
    let opened = events.iter().filter(|event| matches!(event, StoreEvent::SessionOpened { .. }));
    assert_eq!(opened.count(), 2, "it goes on with a session of its own");
}

#[test]
fn a_process_that_is_cut_off_gives_up_at_its_lease_and_goes_on_when_it_is_healed() {
    let mut cluster = Sim::cluster(START, 1, |sim| sim.task(watch));
    cluster.jobs().enqueue(watch::job()).expect("it is stored");
    cluster.advance(secs(3));
    assert_eq!(cluster.starts("watch").len(), 1);
    cluster.partition(0);
    assert!(cluster[0].jobs().depths().expect_err("it is cut off").is_unavailable());
    // 0.85 of the lease of 15 s, which was renewed last when the process started.
    cluster.advance_to("2026-01-01T00:05:12Z");
    assert_eq!(cluster[0].outcomes("watch"), []);
    cluster.advance(secs(1));
    assert_eq!(cluster[0].outcomes("watch"), [Outcome::Lost]);
    cluster.advance(minutes(1));
    assert_eq!(cluster[0].outcomes("watch"), [Outcome::Lost]);
    cluster.heal(0);
    cluster.advance(secs(90));
    assert_eq!(cluster[0].outcomes("watch"), [Outcome::Lost, Outcome::Success]);
    let job = cluster.jobs().list(&JobFilter::default(), 10).expect("it answers").swap_remove(0);
    // The run that was lost is an attempt, and no failure.
    assert_eq!((job.state, job.attempt, job.max_attempts), (JobState::Done, 2, 2));
    assert_eq!((job.lost, job.attempts[0].outcome), (0, AttemptOutcome::Lost));
    let events = store_events(&cluster[0]);
    let is_away = |event: &StoreEvent| matches!(event, StoreEvent::Away { .. });
    assert_eq!(events.iter().filter(|event| is_away(event)).count(), 1, "said once: {events:?}");
}

#[test]
fn a_restart_forgets_all_but_the_store() {
    let mut cluster = Sim::cluster(START, 2, |sim| sim.task(count).manage(AtomicU32::new(0)));
    cluster.jobs().enqueue(count::job(5).after(minutes(1))).expect("it is stored");
    (0..2).for_each(|process| cluster.kill(process));
    cluster.advance(minutes(10));
    assert_eq!(cluster.starts("count"), []);
    cluster.restart(1);
    cluster.advance(secs(5));
    assert_eq!(cluster[1].get::<AtomicU32>().load(SeqCst), 5);
    cluster.restart(1);
    assert_eq!(cluster[1].get::<AtomicU32>().load(SeqCst), 0);
    assert_eq!(cluster[1].starts("count"), []);
    assert_eq!(cluster.starts("count").len(), 1, "the cluster knows earlier lives");
}

#[test]
fn a_schedule_that_is_data_keeps_its_misfire_policy_when_it_gets_another_rule() {
    let mut cluster = Sim::cluster(START, 1, |sim| sim.task(count).manage(AtomicU32::new(0)));
    let schedules = cluster.schedules();
    let skipping = Schedule::cron("0 0 * * * *").zone("UTC").misfire(Misfire::Skip);
    schedules.put("data", skipping, count::job(1)).expect("it is stored");
    cluster.advance(minutes(1));
    schedules
        .reschedule("data", Schedule::cron("0 */30 * * * *").zone("UTC"))
        .expect("it is stored");
    cluster.kill(0);
    cluster.advance(hours(2));
    cluster.restart(0);
    cluster.advance(minutes(1));
    assert_eq!(cluster.starts("count"), [], "what was missed is skipped");
    cluster.advance(minutes(25));
    assert_eq!(cluster.starts("count").len(), 1);
}

#[test]
fn a_process_that_stops_in_order_leaves_no_session() {
    let mut cluster = reports(2);
    cluster.advance(secs(5));
    cluster[0].shutdown().expect("nothing runs");
    let labels = |cluster: &Cluster| -> Vec<String> {
        let sessions = cluster.jobs().sessions().expect("it answers");
        sessions.into_iter().filter(SessionInfo::is_alive).map(|session| session.label).collect()
    };
    assert_eq!(labels(&cluster), ["process-1"]);
    cluster.advance(minutes(20));
    assert_eq!(cluster[1].starts("report").len(), 2);
    cluster.restart(0);
    cluster.advance(secs(5));
    assert_eq!(labels(&cluster).len(), 2);
}

#[test]
fn the_same_seed_gives_the_same_course_and_another_seed_another_one() {
    let course = |seed: u64| {
        let program = move |sim: Sim| {
            sim.seed(seed).tasks(scheduler::tasks![report, count]).manage(AtomicU32::new(0))
        };
        let mut cluster = Sim::cluster(START, 3, program);
        cluster.takes("report", secs(20));
        for by in 0..10 {
            cluster.jobs().enqueue(count::job(by).after(minutes(by.into()))).expect("it is stored");
        }
        cluster.advance(minutes(5));
        cluster.kill(0);
        cluster.freeze_for(1, secs(50));
        cluster.advance(minutes(20));
        cluster.restart(0);
        cluster.advance(minutes(20));
        let jobs = cluster.jobs().list(&JobFilter::default(), 100).expect("it answers");
        (cluster.event_log(), jobs, cluster.jobs().sessions().expect("it answers"))
    };
    assert_eq!(course(7), course(7));
    assert_ne!(course(7).1, course(8).1);
    let log = course(7).0;
    assert!(log.contains("1  2026-01-01 00:10:50"), "{log}");
}

#[test]
#[should_panic(expected = "process 1 was killed\nhelp: cluster.restart(1)")]
fn a_process_that_was_killed_does_not_thaw() {
    let mut cluster = reports(2);
    cluster.kill(1);
    cluster.thaw(1);
}

#[test]
#[should_panic(expected = "task `failing`, in its run 1, panicked: oh")]
fn a_panic_in_any_process_fails_the_test() {
    let fails = |sim: Sim| {
        sim.define("failing", scheduler::Schedule::once("5s"), |run| {
            assert!(run.number() > 1, "oh");
        })
    };
    Sim::cluster(START, 2, fails).advance(secs(10));
}

#[test]
fn a_run_that_may_happen_once_at_most_outlives_an_outage_of_the_store() {
    for is_alone in [true, false] {
        let sum = Arc::new(AtomicU32::new(0));
        let own = Arc::clone(&sum);
        let processes = if is_alone { 1 } else { 2 };
        let program = move |sim: Sim| {
            sim.tasks(scheduler::tasks![charge, watch]).manage_shared(Arc::clone(&own))
        };
        let mut cluster = Sim::cluster(START, processes, program);
        cluster.jobs().enqueue(charge::job()).expect("it is stored");
        cluster.jobs().enqueue(watch::job()).expect("it is stored");
        cluster.advance(secs(2));
        let (_, process) = cluster.starts("charge")[0];
        let watched = cluster.starts("watch")[0].1;
        cluster.partition(process);
        cluster.advance(minutes(1) + secs(30));
        let filter = JobFilter { task: Some("charge".to_owned()), ..JobFilter::default() };
        let state = |cluster: &Cluster| {
            cluster.jobs().list(&filter, 9).expect("it answers").pop().expect("it is kept").state
        };
        let before = if is_alone { JobState::Running } else { JobState::Parked };
        assert_eq!(state(&cluster), before);
        cluster.heal(process);
        cluster.advance(minutes(1));
        assert_eq!(state(&cluster), JobState::Done, "its outcome is stored when the store is back");
        assert_eq!((sum.load(SeqCst), cluster.starts("charge").len()), (1, 1));
        // A job that others may run again is cut off, and runs again.
        if watched == process {
            assert_eq!(cluster.starts("watch").len(), 2);
        }
    }
}

#[job(name = "cuont")]
fn cuont() {}

/// The warnings of a process about tasks that no process has: the number of jobs that are due, and the schedules.
fn unknown(sim: &Sim) -> Vec<(u64, usize)> {
    let of_unknown = |event| match event {
        StoreEvent::TaskUnknown { task, due, schedules, nearest, known, .. } => {
            assert_eq!((&*task, nearest.as_deref()), ("cuont", Some("count")));
            assert_eq!(known.iter().map(|task| &**task).collect::<Vec<_>>(), ["count", "report"]);
            Some((due, schedules.len()))
        }
        _ => None,
    };
    store_events(sim).into_iter().filter_map(of_unknown).collect()
}

#[test]
fn a_schedule_that_was_fired_by_a_clock_ahead_is_told_at_the_start() {
    let mut cluster = reports(1);
    cluster.advance(hours(1));
    cluster[0].jump_wall_forward(days(40));
    cluster.advance(hours(1));
    cluster[0].jump_wall_back(days(40));
    let warnings = |sim: &Sim| {
        sim.messages()
            .into_iter()
            .filter(|message| message.contains("clock that was ahead"))
            .collect::<Vec<_>>()
    };
    cluster.restart(0);
    cluster.advance(minutes(1));
    let expected = "WARN  task `report`: schedule `report` was fired by a clock that was ahead, and does not fire before \
                    2026-02-10 02:00:00 UTC\n      help: Schedules::reschedule with another rule, then \
                    Schedules::reset: each counts from now";
    assert_eq!(warnings(&cluster[0]), [expected]);
    // The remedy that it names.
    let schedules = cluster.schedules();
    schedules.reschedule("report", Schedule::cron("0 */5 * * * *").zone("UTC")).expect("an answer");
    schedules.reset("report").expect("an answer");
    let before = cluster.starts("report").len();
    cluster.advance(hours(1));
    assert_eq!(cluster.starts("report").len() - before, 6);
    cluster.restart(0);
    cluster.advance(minutes(1));
    assert_eq!(warnings(&cluster[0]), [] as [String; 0]);
}

#[test]
fn one_process_warns_once_a_minute_of_due_jobs_that_no_living_process_knows() {
    let mut cluster = Sim::cluster(START, 2, |sim| {
        sim.manage(AtomicU32::new(0)).tasks(scheduler::tasks![report, count])
    });
    cluster.advance(secs(1));
    let jobs = cluster.jobs().clone();
    let later = cuont::job().after(days(1));
    jobs.enqueue_all(vec![cuont::job(), cuont::job(), later, count::job(1)]).expect("an answer");
    cluster.advance(secs(55));
    assert_eq!((unknown(&cluster[0]), unknown(&cluster[1])), (vec![], vec![]), "it is too early");
    // A simulated process that has nothing to do skips time.
    for _ in 0..30 {
        jobs.enqueue(count::job(1)).expect("an answer");
        cluster.advance(secs(20));
    }
    let told = [unknown(&cluster[0]), unknown(&cluster[1])];
    let teller = usize::from(told[0].is_empty());
    assert!((7..=11).contains(&told[teller].len()), "once a minute: {told:?}");
    assert!(
        told[teller].iter().all(|counts| *counts == (2, 0)) && told[1 - teller].is_empty(),
        "{told:?}"
    );
    let messages = cluster[teller].messages();
    let warning =
        messages.iter().find(|message| message.contains("no living process")).expect("a warning");
    assert_eq!(
        warning,
        "WARN  scheduler: no living process has the task `cuont`, and 2 jobs of it are due; nearest name: `count`\n      \
         known tasks: count, report\n      help: start a process that has it; if it is gone for good, scheduler jobs \
         cancel --state ready --task cuont"
    );

    cluster.kill(teller);
    cluster.advance(minutes(5));
    assert!(!unknown(&cluster[1 - teller]).is_empty(), "another process says it");
}

#[test]
fn a_schedule_whose_task_no_living_process_has_is_told() {
    let mut cluster = Sim::cluster(START, 1, |sim| {
        sim.manage(AtomicU32::new(0)).tasks(scheduler::tasks![report, count])
    });
    cluster.advance(secs(1));
    let schedules = cluster[0].schedules().clone();
    schedules.put("tenant-1", Schedule::fixed_rate("30d"), cuont::job()).expect("an answer");
    cluster.advance(minutes(3));
    let told = unknown(&cluster[0]);
    assert!(!told.is_empty() && told.iter().all(|counts| *counts == (0, 1)), "{told:?}");
    let is_told = |text: &String| text.contains("its schedule `tenant-1` does not fire");
    assert!(cluster[0].messages().iter().any(is_told), "{:?}", cluster[0].messages());
    schedules.pause("tenant-1", &scheduler::Pause::new()).expect("an answer");
    cluster.advance(minutes(3));
    assert_eq!(unknown(&cluster[0]).len(), told.len(), "one that is paused is meant to be silent");
}

/// Programs ask for the same, and see it end.
#[test]
fn a_task_is_unknown_until_a_process_has_it_or_what_waits_for_it_is_gone() {
    let is_deployed = Arc::new(AtomicU32::new(0));
    let later = Arc::clone(&is_deployed);
    let mut cluster = Sim::cluster(START, 1, move |sim| {
        let sim = sim.manage(AtomicU32::new(0)).tasks(scheduler::tasks![report, count]);
        if later.load(SeqCst) == 0 { sim } else { sim.tasks(scheduler::tasks![cuont]) }
    });
    cluster.advance(secs(1));
    let unknown = |cluster: &Cluster| {
        let jobs = cluster.jobs();
        let depths = jobs.depths().expect("it answers");
        let sessions = jobs.sessions().expect("it answers");
        let stored = cluster.schedules().list().expect("it answers");
        let found = jobs.unknown_tasks(&depths, &sessions, &stored);
        let row = |it: scheduler::store::UnknownTask| (it.task, it.due, it.schedules, it.nearest);
        found.into_iter().map(row).collect::<Vec<_>>()
    };
    let rate = || Schedule::fixed_rate("30d");
    cluster.jobs().enqueue(cuont::job()).expect("an answer");
    cluster.schedules().put("tenant-1", rate(), cuont::job()).expect("an answer");
    let row = |due, schedules: &[&str]| {
        let schedules: Vec<String> = schedules.iter().map(ToString::to_string).collect();
        [("cuont".to_owned(), due, schedules, Some("count".to_owned()))]
    };
    assert_eq!(unknown(&cluster), row(0, &["tenant-1"]), "the job is due for less than a minute");
    cluster.advance(secs(70));
    assert_eq!(unknown(&cluster), row(1, &["tenant-1"]));
    cluster.schedules().pause("tenant-1", &scheduler::Pause::new()).expect("an answer");
    assert_eq!(unknown(&cluster), row(1, &[]), "one that is paused is meant to be silent");
    cluster.schedules().resume("tenant-1").expect("an answer");

    let all = JobFilter { task: Some("cuont".to_owned()), ..JobFilter::default() };
    assert_eq!(cluster.jobs().cancel_all(&all).expect("an answer"), 1);
    cluster.schedules().remove("tenant-1").expect("an answer");
    assert_eq!(unknown(&cluster), [], "nothing waits");

    cluster.schedules().put("tenant-2", rate(), cuont::job()).expect("an answer");
    assert_eq!(unknown(&cluster), row(0, &["tenant-2"]));
    is_deployed.store(1, SeqCst);
    cluster.restart(0);
    cluster.advance(minutes(1));
    assert_eq!(unknown(&cluster), [], "a process has it");
    cluster.kill(0);
    cluster.advance(minutes(1));
    assert_eq!(unknown(&cluster), [], "without a process no schedule is missed before its tick");
    cluster.advance(minutes(4));
    let late = ("report".to_owned(), 0, vec!["report".to_owned()], None);
    assert_eq!(unknown(&cluster), [late], "its tick is late");
}
