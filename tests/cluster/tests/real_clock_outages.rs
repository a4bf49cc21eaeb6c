//! Outages of the store: its file is locked, or its server stops.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use cluster::{Lab, Process, eventually, is_full, length, pass, runs};
use postgres_server::Server;
use scheduler::store::{JobFilter, JobState, Postgres};
use scheduler::{NodeOptions, Run, Scheduler, Stopped, job, tasks};
use scheduler_sqlite::rusqlite::TransactionBehavior;

use crate::NODE;
use crate::support::{
    LIMIT, assert_accepted_have_run, assert_one_job_each_tick, await_accepted, await_runs,
    each_second, schedule,
};

/// Checks both stores, while an outage takes place. It has this length at least, and lasts until the processes have noticed it.
fn outlive(lab: &Lab, all: &mut [Process; 2], time: Duration, outage: impl FnOnce(&dyn Fn())) {
    await_runs(&[&all[0], &all[1]], 30);
    lab.enqueue("work", r#"{"ms": 5000}"#, 1);
    let used = |all: &[Process; 2]| all.iter().map(Process::processor_ticks).sum::<u64>();
    let count = |all: &[Process; 2], kind: &str| -> usize {
        all.iter().map(|process| process.notes(kind).len()).sum()
    };
    let (before, begun) = (used(all), Instant::now());
    let skipped = || schedule(lab, "tick").skips.total();
    let (refused, missed) = (count(all, "refused-job"), skipped());
    outage(&|| {
        pass(time);
        eventually(LIMIT, "it is an event, and an enqueue ends with an error", || {
            // SQLite waits for the lock for as long as a request may take.
            let is_refused =
                !Lab::is_postgres() && !is_full() || count(all, "refused-job") > refused;
            (is_refused && count(all, "away") > 0).then_some(())
        });
    });
    let (used, taken) = (used(all) - before, begun.elapsed());
    // A tick of the processor's time is 10 ms: both together use less than a tenth of a processor.
    assert!(used < (taken.as_secs() + 1) * 10, "{used} ticks in {taken:?}");
    let (back, last) = (Instant::now(), runs(&[&all[0], &all[1]]).iter().map(|run| run.tick).max());
    await_accepted(&all[0], 10);
    await_accepted(&all[1], 10);
    eventually(LIMIT, "ticks run again", || {
        runs(&[&all[0], &all[1]]).iter().any(|run| Some(run.tick) > last).then_some(())
    });
    println!("all goes on {:?} after the outage of {taken:?}", back.elapsed());
    eventually(LIMIT, "the end of it is an event", || (count(all, "back") > 0).then_some(()));
    assert!(all.iter_mut().all(|process| process.status().is_none()), "no process has ended");
    // Of the ticks in the outage each but the latest is skipped, and counted.
    let missed = skipped() - missed;
    assert!(missed + 3 >= time.as_secs(), "{missed} ticks are counted as skipped");
    assert_accepted_have_run(lab, all);
    assert_one_job_each_tick(&runs(&[&all[0], &all[1]]), "tick");
}

#[test]
fn d20_the_store_goes_away_and_comes_back() {
    if Lab::is_postgres() {
        return;
    }
    let lab = Lab::sqlite(NODE);
    let mut all = ["a", "b"].map(|label| start(&lab, label, lab.store()));
    let mut connection = lab.connection();
    let time = length(20, 6);
    outlive(&lab, &mut all, time, |last| {
        let away = connection.transaction_with_behavior(TransactionBehavior::Exclusive);
        let away = away.expect("the file is locked");
        last();
        drop(away);
    });
}

#[test]
fn d20_the_server_stops_and_starts_again() {
    if !Lab::is_postgres() {
        return;
    }
    // One of its own, which keeps what was committed.
    let Some(server) = Server::start_with(&["fsync=off"]) else { return };
    let lab = Lab::postgres(NODE, &server.url());
    let proxies = ["a", "b"].map(|_| lab.proxy());
    let mut all = [("a", &proxies[0]), ("b", &proxies[1])]
        .map(|(label, proxy)| start(&lab, label, &lab.store_at(proxy.port(), "")));
    let time = length(20, 6);
    outlive(&lab, &mut all, time, |last| {
        let (begun, before) = (Instant::now(), proxies.each_ref().map(|proxy| proxy.connects()));
        server.stop();
        last();
        for (proxy, before) in proxies.iter().zip(before) {
            let connects = proxy.connects() - before;
            let most = 2 * (u32::try_from(begun.elapsed().as_secs()).expect("seconds") + 1);
            println!("{connects} connects in {:?}", begun.elapsed());
            assert!(connects <= most, "{connects} connects, {most} at most");
        }
        server.begin();
    });
}

/// The time to the last end of 64 jobs of 10 s, undisturbed and with the server away for two leases.
#[test]
#[ignore = "a measurement: `ci/durable.sh outage`"]
fn how_long_the_jobs_of_two_processes_take_through_an_outage() {
    for is_away in [false, true] {
        let Some(server) = Server::start_with(&["fsync=off"]) else { return };
        let lab = Lab::postgres(NODE, &server.url());
        let wide = |label| lab.process(label).with("threads", 32).with("lease", 6_000).start();
        let all = ["a", "b"].map(wide);
        lab.enqueue("work", r#"{"ms": 10000}"#, 64);
        let started = || (runs(&[&all[0], &all[1]]).len() == 64).then_some(());
        eventually(LIMIT, "all run", started);
        let begun = Instant::now();
        if is_away {
            pass(Duration::from_secs(3));
            server.stop();
            pass(Duration::from_secs(12));
            server.begin();
        }
        lab.await_task_ended("work", LIMIT * 3);
        let ends = runs(&[&all[0], &all[1]]).len();
        println!("away: {is_away}; {ends} runs, the last one ended after {:?}", begun.elapsed());
    }
}

fn start(lab: &Lab, label: &str, store: &str) -> Process {
    let process = lab.process_with_short_lease(label).with("store", store);
    let process = process.with("enqueue-every", 100);
    process.with("schedule", each_second("tick", ";misfire=skip")).start()
}

#[job(name = "waited-for")]
fn waited_for() {}

/// More callers than connections, while the server takes connections and says nothing.
#[test]
fn each_caller_of_jobs_asks_again_after_an_outage() {
    let Some(lab) = Lab::on_postgres(NODE) else { return };
    let (proxy, (_, schema)) = (lab.proxy(), lab.client());
    let url = format!("postgres://test@127.0.0.1:{}/postgres", proxy.port());
    let store = Postgres::builder(&url).schema(schema).caller_connections(2);
    let store = store.deadline(Duration::from_secs(1)).connect().expect("a store");
    let builder = Scheduler::builder().environment([("PATH", "")]).messages(|_| {});
    let scheduler = builder.store(store).enqueue_only().spawn().expect("it starts");
    let jobs = scheduler.jobs().expect("a store");
    let id = jobs.enqueue(waited_for::job()).expect("accepted").id();
    proxy.isolate();
    std::thread::scope(|scope| {
        let waiting: Vec<_> = (0..20).map(|_| scope.spawn(|| jobs.wait(id, LIMIT))).collect();
        let asking: Vec<_> = (0..20)
            .map(|number| {
                let jobs = &jobs;
                scope.spawn(move || match number % 2 {
                    0 => jobs.get(id).map(drop),
                    _ => jobs.list(&JobFilter::default(), 10).map(drop),
                })
            })
            .collect();
        for asked in asking {
            let error = asked.join().expect("no panic").expect_err("no answer");
            assert!(error.is_unavailable(), "{error}");
        }
        let waited = jobs.wait(id, Duration::from_secs(3)).expect_err("the limit is over");
        assert!(waited.is_unavailable(), "{waited}");
        proxy.heal();
        eventually(LIMIT, "the job is cancelled", || {
            // Its answer may be lost.
            let is_cancelled = || jobs.get(id).ok()??.state.eq(&JobState::Cancelled).then_some(());
            jobs.cancel(id).ok().or_else(is_cancelled)
        });
        for waited in waiting {
            let job = waited.join().expect("no panic").expect("an answer after the outage");
            assert_eq!(job.state, JobState::Cancelled);
        }
    });
    scheduler.shutdown().expect("it stops");
}

static BEGUN: AtomicBool = AtomicBool::new(false);
static WAS_LOST: AtomicBool = AtomicBool::new(false);

#[job(name = "waits", on_lost = "abandon")]
#[expect(clippy::needless_pass_by_value, reason = "a run is given by value")]
fn waits(run: Run) -> Result<(), Stopped> {
    BEGUN.store(true, SeqCst);
    let waited = run.sleep(Duration::from_secs(3_600));
    WAS_LOST.store(run.is_lost(), SeqCst);
    waited
}

/// Nothing asks such a run to stop, so that its wait has to look.
#[test]
fn a_wait_ends_when_the_session_of_a_run_is_lost_that_may_outlive_it() {
    let Some(lab) = Lab::on_postgres(NODE) else { return };
    let (proxy, (_, schema)) = (lab.proxy(), lab.client());
    let url = format!("postgres://test@127.0.0.1:{}/postgres", proxy.port());
    let store = Postgres::builder(&url).schema(schema).deadline(Duration::from_secs(1));
    let builder = Scheduler::builder().environment([("PATH", "")]).messages(|_| {});
    let node = NodeOptions::default().lease(Duration::from_secs(3));
    let builder = builder.tasks(tasks![waits]).node(node);
    let scheduler = builder.store(store.connect().expect("a store")).spawn().expect("it starts");
    scheduler.jobs().expect("a store").enqueue(waits::job()).expect("accepted");
    eventually(LIMIT, "it has begun", || BEGUN.load(SeqCst).then_some(()));
    proxy.isolate();
    eventually(LIMIT, "it is told", || WAS_LOST.load(SeqCst).then_some(()));
    proxy.heal();
    scheduler.shutdown().expect("it stops");
}
