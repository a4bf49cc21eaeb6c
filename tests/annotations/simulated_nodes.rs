//! The processes of a simulated cluster: lost ones, paused ones, and those whose clock is off.

use scheduler::chrono::{DateTime, TimeDelta, Utc};
use scheduler::store::{Model, SessionEnd, SessionInfo};
use scheduler::testing::*;
use scheduler::{EventKind, Jobs, Pause, Run, StoreEvent, job, scheduled};

#[scheduled(fixed_rate = "10s", name = "report", durable, overlap = "skip")]
fn report() {}

#[job(name = "watch")]
async fn watch(run: Run) {
    run.sleep_async(hours(3)).await;
}

#[job(name = "geo", queue = "geo")]
fn geo() {}

const START: &str = "2026-01-01T00:00:00Z";

fn cluster(processes: usize) -> Cluster {
    Sim::cluster(START, processes, |sim| sim.task(report).task(watch).task(geo))
}

fn events(sim: &Sim) -> Vec<StoreEvent> {
    let of_store = |event: scheduler::Event| match event.kind {
        EventKind::Store { what, .. } => Some(what),
        _ => None,
    };
    sim.events().into_iter().filter_map(of_store).collect()
}

fn lost(jobs: &Jobs) -> Vec<(String, SessionEnd)> {
    let sessions = jobs.sessions().expect("it answers").into_iter();
    let ended = sessions.filter_map(|session| Some((session.label, session.ended?)));
    ended.filter(|(_, end)| end.is_lost).collect()
}

fn living(jobs: &Jobs) -> Vec<SessionInfo> {
    jobs.sessions().expect("it answers").into_iter().filter(SessionInfo::is_alive).collect()
}

/// The process that has the job `watch`.
fn with_watch(cluster: &mut Cluster) -> usize {
    cluster.advance(secs(5));
    cluster.jobs().enqueue(watch::job()).expect("it is stored");
    cluster.advance(secs(5));
    cluster.starts("watch")[0].1
}

/// Takes a process away.
type Loss = fn(&mut Cluster, usize);

#[test]
fn a_lost_process_is_listed_on_every_other_for_an_hour_however_it_was_lost() {
    let losses: [(&str, Loss); 3] = [
        ("killed", |cluster, process| cluster.kill(process)),
        ("frozen for a minute", |cluster, process| cluster.freeze_for(process, minutes(1))),
        ("cut off for a minute", |cluster, process| {
            cluster.partition(process);
            cluster.advance(minutes(1));
            cluster.heal(process);
        }),
    ];
    for (what, lose) in losses {
        let mut cluster = cluster(3);
        let process = with_watch(&mut cluster);
        let label = living(&cluster.jobs())
            .into_iter()
            .map(|session| session.label)
            .find(|label| label.ends_with(&process.to_string()))
            .expect("its name");
        lose(&mut cluster, process);
        cluster.advance(minutes(2));
        for other in (0..3).filter(|other| *other != process) {
            let jobs = cluster[other].jobs();
            let found = lost(&jobs);
            assert_eq!(found.len(), 1, "{what}: {found:?}");
            let (name, end) = &found[0];
            assert_eq!((name, end.jobs), (&label, 1), "{what}");
            assert_ne!(end.found_by, label, "{what}: others are first");
        }
        cluster.advance(minutes(59));
        assert_eq!(lost(&cluster.jobs()), [], "{what}");
    }
}

#[test]
fn a_process_that_is_lost_alone_is_listed_by_itself() {
    let mut cluster = cluster(1);
    with_watch(&mut cluster);
    cluster.freeze_for(0, minutes(1));
    cluster.advance(minutes(2));
    let found = lost(&cluster.jobs());
    assert_eq!(found.len(), 1);
    assert_eq!((&found[0].1.found_by, found[0].1.jobs), (&found[0].0, 1));
}

#[test]
fn a_process_that_stops_is_no_loss() {
    let mut cluster = cluster(2);
    cluster.advance(minutes(1));
    cluster[0].shutdown().expect("nothing runs");
    cluster.advance(minutes(1));
    let ended: Vec<_> = cluster.jobs().sessions().expect("it answers");
    let ended: Vec<_> = ended.into_iter().filter_map(|session| session.ended).collect();
    assert_eq!(ended.iter().map(|end| end.is_lost).collect::<Vec<_>>(), [false]);
}

#[test]
fn a_paused_process_leaves_jobs_and_ticks_to_the_others() {
    let mut cluster = cluster(2);
    cluster.advance(secs(5));
    let session = |label_end: &str, jobs: &Jobs| {
        living(jobs)
            .into_iter()
            .find(|session| session.label.ends_with(label_end))
            .expect("it lives")
    };
    let paused = session("0", &cluster.jobs());
    let by = Pause::new().by("ada").reason("a disk is replaced");
    cluster.jobs().pause_node(paused.id, &by).expect("it is there");
    cluster.advance(secs(2));
    let before = cluster.starts("report").len();
    cluster.advance(minutes(5));
    let after = cluster.starts("report").split_off(before);
    assert_eq!(after.len(), 30, "no tick is missing");
    assert!(after.iter().all(|(_, process)| *process == 1), "{after:?}");
    let shown = session("0", &cluster.jobs()).pause.expect("a pause");
    assert_eq!((&*shown.by, &*shown.reason), ("ada", "a disk is replaced"));
    let told = |sim: &Sim| {
        let paused = events(sim).into_iter().filter_map(|event| match event {
            StoreEvent::NodePaused { is_paused, .. } => Some(is_paused),
            _ => None,
        });
        paused.collect::<Vec<_>>()
    };
    assert_eq!((told(&cluster[0]), told(&cluster[1])), (vec![true], vec![]));
    cluster.jobs().resume_node(paused.id).expect("it is there");
    cluster.advance(minutes(10));
    assert!(cluster.starts("report").iter().skip(before + 30).any(|(_, process)| *process == 0));
    assert_eq!(told(&cluster[0]), [true, false]);
    let gone = "00000000-0000-0000-0000-000000000001".parse().expect("an identity");
    assert!(cluster.jobs().resume_node(gone).expect_err("there is none").is_not_found());
}

/// The clock of the process is 59 minutes ahead of the store's.
#[test]
fn a_clock_that_is_off_is_said_of_the_process_once() {
    let start: DateTime<Utc> = START.parse().expect("an instant");
    let store = Model::new();
    let its_clock = |seconds: u64| start - TimeDelta::minutes(59) + secs(seconds);
    store.set_now(its_clock(0).into());
    let used = store.clone();
    let mut sim = Sim::at(START).task(report).builder(|builder| builder.store(used));
    for second in 1..600 {
        sim.advance(secs(1));
        store.set_now(its_clock(second).into());
    }
    let offset = sim.jobs().clock_offset();
    assert!((offset.num_seconds() - 59 * 60).abs() <= 1, "{offset}");
    let kept = living(&sim.jobs())[0].clock_offset.expect("it is known");
    assert_eq!(kept / 60_000_000, 59);
    let mut of_clock = sim.messages();
    of_clock.retain(|message| message.contains("clock of this process"));
    let expected = "WARN  scheduler: the clock of this process is 59m ahead of the store's\n      help: let a time server set the clock of \
                    this machine: timedatectl set-ntp true";
    assert_eq!(of_clock, [expected]);
}

/// A process counts for a job only if it serves the queue of the job.
#[test]
fn a_task_whose_queue_no_process_with_it_serves_is_unknown_there() {
    let mut cluster = Sim::cluster(START, 2, |sim| {
        sim.task(report).task(watch).task(geo).set("scheduler.node.queues", "mail, default")
    });
    cluster.advance(secs(5));
    cluster.jobs().enqueue(geo::job()).expect("it is stored");
    cluster.jobs().enqueue(watch::job().queue("slow")).expect("it is stored");
    cluster.jobs().enqueue(watch::job()).expect("it is stored");
    cluster.advance(minutes(3));
    let jobs = cluster.jobs();
    let (depths, sessions) = (jobs.depths().expect("numbers"), jobs.sessions().expect("sessions"));
    let found = jobs.unknown_tasks(&depths, &sessions, &[]);
    let found: Vec<_> = found.iter().map(|it| (&*it.task, it.due, it.elsewhere.clone())).collect();
    let first = living(&cluster.jobs()).into_iter().next().map(|session| session.label);
    let elsewhere = first.map(|label| format!("{label} has it, but serves only mail, default"));
    assert_eq!(found, [("geo", 1, elsewhere.clone()), ("watch", 1, elsewhere.clone())]);
    let warned = [0, 1].map(|process| {
        let of_geo = |message: &String| message.contains("no living process runs `geo`");
        cluster[process].messages().into_iter().find(of_geo)
    });
    let warned = warned.into_iter().flatten().next().expect("a warning");
    assert!(warned.contains(&elsewhere.expect("a process")), "{warned}");
}
