//! Limits of jobs, their partitions and their turns, on a virtual clock.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use scheduler::store::{JobFilter, JobState, StoredJob};
use scheduler::testing::*;
use scheduler::{
    EnqueueError, EventKind, Job, Limit, OnPark, Pause, Run, SkipReason, job, scheduled,
};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Order {
    tenant: String,
    region: u8,
}

fn order(tenant: &str) -> Order {
    Order { tenant: tenant.to_owned(), region: 1 }
}

/// The runs of each partition in progress, and the most that there ever were.
#[derive(Default)]
struct Running(Mutex<BTreeMap<String, (u32, u32)>>);

impl Running {
    async fn run(&self, partition: &str, run: &Run, seconds: u64) {
        let change = |by: i32| {
            let mut all = self.0.lock().expect("no run panics");
            let (now, most) = all.entry(partition.to_owned()).or_default();
            *now = now.saturating_add_signed(by);
            *most = (*most).max(*now);
        };
        change(1);
        run.sleep_async(secs(seconds)).await;
        change(-1);
    }

    fn most(&self, partition: &str) -> u32 {
        self.0.lock().expect("no run panics").get(partition).map_or(0, |(_, most)| *most)
    }
}

#[job(name = "send", each(running = 2), partition = order.tenant)]
async fn send(#[payload] order: Order, run: Run, running: &Running) {
    running.run(&order.tenant, &run, 30).await;
}

#[job(name = "call", limit(rate = "6/1m", burst = 2))]
fn call() {}

#[job(name = "export", limit(running = 1))]
async fn export(run: Run, running: &Running) {
    running.run("export", &run, 10).await;
}

#[job(name = "mail", alias = "letter", partition = (&order.tenant, order.region))]
fn mail(#[payload] order: Order) {
    assert!(!order.tenant.is_empty());
    drop(order);
}

#[scheduled(cron = "0 * * * * *", zone = "UTC", name = "report", durable, limit(running = 1))]
fn report() {}

#[scheduled(fixed_rate = "10s", name = "rated", durable, limit(rate = "1/57s"))]
fn rated() {}

#[job(name = "text", each(running = 2, rate = "3/1s", burst = 2), partition = tenant)]
fn text(#[payload] tenant: u8) {
    assert!(tenant > 0);
}

/// The numbers of the bookings of each account, as their runs have ended.
#[derive(Default)]
struct Books(Mutex<BTreeMap<String, Vec<u32>>>);

#[job(name = "book", each(running = 1, ordered), partition = of.0, retry(max = 9, base = "20s"))]
fn book(#[payload] of: (String, u32), run: &Run, books: &Books) -> Result<(), String> {
    if of.1 % 3 == 1 && run.attempt() < 3 {
        return Err("locked".to_owned());
    }
    books.0.lock().expect("no run panics").entry(of.0).or_default().push(of.1);
    Ok(())
}

#[job(name = "ship", each(running = 1, ordered, on_park = "hold"), partition = of.0)]
fn ship(#[payload] of: (String, u32), books: &Books) -> Result<(), String> {
    let mut books = books.0.lock().expect("no run panics");
    let shipped = books.entry(of.0).or_default();
    let is_mended = shipped.contains(&0);
    shipped.push(of.1);
    if of.1 == 1 && !is_mended { Err("no such street".to_owned()) } else { Ok(()) }
}

#[job(name = "code", expires = "1m", max_concurrent = 1)]
async fn code(run: Run) {
    run.sleep_async(secs(50)).await;
}

#[job(name = "index")]
fn index(#[payload] page: u32) {
    assert!(page > 0);
}

#[job(name = "bounded", limit(running = 1, waiting = 5), each(waiting = 3), partition = tenant)]
fn bounded(#[payload] tenant: u8) {
    assert!(tenant > 0);
}

fn program(sim: Sim) -> Sim {
    sim.tasks(scheduler::tasks![
        send, call, export, mail, report, rated, text, code, index, bounded, book, ship
    ])
}

fn cluster() -> (Cluster, Arc<Running>) {
    let running = Arc::new(Running::default());
    let shared = Arc::clone(&running);
    let cluster = Sim::cluster("2026-01-01T00:00:00Z", 3, move |sim| {
        program(sim).manage_shared(Arc::clone(&shared)).manage(Books::default())
    });
    (cluster, running)
}

fn sim() -> Sim {
    program(Sim::at("2026-01-01T00:00:00Z").with_store())
        .manage(Running::default())
        .manage(Books::default())
}

fn enqueue(cluster: &Cluster, job: impl Fn() -> Job, count: usize) {
    let jobs = (0..count).map(|_| job()).collect();
    cluster.jobs().enqueue_all(jobs).expect("they are stored");
}

/// All jobs of a task, the oldest first.
fn jobs_of(jobs: &scheduler::Jobs, task: &str) -> Vec<StoredJob> {
    let filter = JobFilter { task: Some(task.to_owned()), ..JobFilter::default() };
    let mut list = jobs.list(&filter, 1_000).expect("it answers");
    list.reverse();
    list
}

fn done(jobs: &scheduler::Jobs, task: &str) -> usize {
    jobs_of(jobs, task).iter().filter(|job| job.state == JobState::Done).count()
}

#[test]
fn so_many_jobs_of_a_tenant_run_at_once_in_all_processes_together() {
    let (mut cluster, running) = cluster();
    for tenant in ["ada", "bob"] {
        enqueue(&cluster, || send::job(order(tenant)), 12);
    }
    cluster.advance(minutes(10));
    assert_eq!(done(&cluster.jobs(), "send"), 24);
    assert_eq!(["ada", "bob"].map(|tenant| running.most(tenant)), [2, 2]);
}

/// A killed process keeps its places until its lease is over, and no longer.
#[test]
fn a_limit_is_kept_and_given_back_when_processes_die() {
    let (mut cluster, _running) = cluster();
    enqueue(&cluster, export::job, 4);
    cluster.advance(secs(5));
    let (_, process) = cluster.starts("export")[0];
    cluster.kill(process);
    cluster.advance(secs(5));
    assert_eq!(cluster.starts("export").len(), 1);
    cluster.advance(minutes(5));
    assert_eq!(done(&cluster.jobs(), "export"), 4);
}

#[test]
fn no_window_has_more_starts_than_the_rate() {
    let (mut cluster, _) = cluster();
    enqueue(&cluster, call::job, 20);
    cluster.advance(minutes(5));
    let starts: Vec<_> = cluster.starts("call").into_iter().map(|(at, _)| at).collect();
    assert_eq!(starts.len(), 20);
    for (index, first) in starts.iter().enumerate() {
        let window = starts[index..].iter().take_while(|at| **at < *first + minutes(1)).count();
        assert!(window <= 6, "{window} in the minute from {first:?}");
    }
    assert_eq!(starts[0], starts[1], "two at once after a rest");
    assert!(starts[2] - starts[0] >= secs(1), "and no third");
}

#[test]
fn each_partition_has_a_rate_of_its_own() {
    let mut sim = sim();
    for tenant in [1, 2] {
        let jobs = (0..6).map(|_| text::job(tenant)).collect();
        sim.jobs().enqueue_all(jobs).expect("they are stored");
    }
    sim.advance(millis(100));
    assert_eq!(done(&sim.jobs(), "text"), 4, "two of each at once");
    sim.advance(secs(20));
    assert_eq!(done(&sim.jobs(), "text"), 12);
}

#[test]
fn a_plan_has_the_limits_of_code_and_settings() {
    let builder = scheduler::Scheduler::builder()
        .tasks(scheduler::tasks![call, text])
        .settings("prod.toml", "scheduler.tasks.text.each.running = 7")
        .store(scheduler::store::Model::new());
    let plan = plan(builder, "2026-01-01T00:00:00Z").expect("it could start");
    let lines: Vec<&str> = plan.lines().map(str::trim).collect();
    assert_eq!(
        (lines[1], lines[3]),
        (
            "limit.rate = 6/1m, limit.burst = 2",
            "each.running = 7, each.rate = 3/1s, each.burst = 2"
        )
    );
}

/// The job of a tick waits for its turn, and the ticks after it are skipped.
#[test]
fn ticks_that_are_skipped_because_of_a_limit_are_counted_apart() {
    let mut sim = sim();
    sim.advance(minutes(9));
    let schedules = sim.schedules().list().expect("it answers");
    let rated = schedules.iter().find(|schedule| schedule.definition.name == "rated");
    let skips = rated.expect("it is registered").skips;
    let counters = sim.snapshot("rated").counters;
    assert_eq!((skips.limit, skips.overlap), (counters.skipped_limit, counters.skipped_overlap));
    assert_eq!((counters.runs, skips.limit, skips.overlap), (10, 44, 0));
    let limit = sim
        .events()
        .iter()
        .any(|event| matches!(event.kind, EventKind::Skipped { reason: SkipReason::Limit, .. }));
    assert!(limit, "an event says so");
}

/// Two of each three bookings fail at first; those behind them wait, and other accounts go on. So they do when a process dies.
#[test]
fn jobs_of_a_partition_start_in_order_also_after_failures_and_kills() {
    let books = Arc::new(Books::default());
    let shared = Arc::clone(&books);
    let mut cluster = Sim::cluster("2026-01-01T00:00:00Z", 3, move |sim| {
        program(sim).manage(Running::default()).manage_shared(Arc::clone(&shared))
    });
    cluster.takes("book", secs(2));
    for number in 0..9 {
        for account in ["ada", "bob"] {
            cluster.jobs().enqueue(book::job((account.to_owned(), number))).expect("it is stored");
        }
    }
    for process in 0..3 {
        cluster.advance(secs(15));
        cluster.kill(process);
        cluster.advance(secs(5));
        cluster.restart(process);
    }
    cluster.advance(minutes(30));
    let books = books.0.lock().expect("no run panics");
    for account in ["ada", "bob"] {
        let mut ended = books[account].clone();
        // A run whose process dies at its end ends again in the next one.
        ended.dedup();
        assert_eq!(ended, (0..9).collect::<Vec<_>>(), "{account}");
    }
}

#[test]
fn jobs_behind_a_parked_one_wait_until_it_is_retried() {
    let books = Arc::new(Books::default());
    let sim = program(Sim::at("2026-01-01T00:00:00Z").with_store()).manage(Running::default());
    let mut sim = sim.manage_shared(Arc::clone(&books));
    let jobs: Vec<Job> =
        [1, 2].into_iter().map(|number| ship::job(("ada".to_owned(), number))).collect();
    let ids: Vec<_> = jobs.iter().map(Job::id).collect();
    sim.jobs().enqueue_all(jobs).expect("they are stored");
    sim.advance(minutes(1));
    assert_eq!(done(&sim.jobs(), "ship"), 0);
    let why = sim.jobs().why(ids[1]).expect("it answers").expect("it waits").to_string();
    assert_eq!(
        why,
        format!("job {} of its partition is parked, and holds those behind it", ids[0])
    );
    books.0.lock().expect("no run panics").entry("ada".to_owned()).or_default().push(0);
    sim.jobs().retry(ids[0]).expect("it answers");
    sim.advance(secs(1));
    assert_eq!(done(&sim.jobs(), "ship"), 2);
}

/// A partition alone has no limit: its jobs take turns with those of others.
#[test]
fn a_tenant_with_many_jobs_does_not_starve_others() {
    let mut sim = sim().set("tasks.mail.max-concurrent", "1");
    sim.takes("mail", secs(1));
    for (tenant, count) in [("flood", 200), ("ada", 5), ("bob", 5)] {
        for _ in 0..count {
            sim.jobs().enqueue(mail::job(order(tenant))).expect("it is stored");
        }
    }
    sim.advance(secs(60));
    let done_of = |partition: &str| {
        let jobs = jobs_of(&sim.jobs(), "mail");
        let is_done = |job: &&StoredJob| job.state == JobState::Done;
        let done = jobs.iter().filter(is_done);
        done.filter(|job| job.partition.as_deref() == Some(partition)).count()
    };
    assert_eq!((done_of("ada/1"), done_of("bob/1")), (5, 5));
    assert!(done_of("flood/1") > 5);
}

#[test]
fn a_job_has_the_partition_of_its_payload_unless_the_code_gives_another() {
    let mut sim = sim();
    let slash = mail::job(order("a/b"));
    let other = mail::job(order("a")).partition(("b", 2));
    let ids = [slash.id(), other.id()];
    sim.jobs()
        .enqueue_all(vec![slash, other, call::job(), send::job(order("ada"))])
        .expect("stored");
    let partition = |id| sim.jobs().get(id).expect("it answers").expect("a job").partition;
    assert_eq!(ids.map(partition), [r"a\/b/1", "b/2"].map(|text| Some(text.to_owned())));
    let of = |sim: &Sim, task: &str| jobs_of(&sim.jobs(), task)[0].partition.clone();
    assert_eq!(of(&sim, "send"), Some("ada".to_owned()));
    assert_eq!(of(&sim, "call"), Some(String::new()), "a limit, and no partition");
    sim.advance(minutes(2));
    assert_eq!(of(&sim, "report"), Some(String::new()), "of a tick");
    assert!(done(&sim.jobs(), "report") > 0);
}

#[test]
fn settings_replace_limits_and_switch_them_off() {
    let mut sim = sim()
        .set("tasks.call.limit.rate", "-")
        .set("tasks.export.limit.running", "3")
        .set("tasks.send.each.rate", "100/1m");
    sim.advance(secs(1));
    let limits = sim.jobs().limits().expect("it answers");
    let shown: Vec<String> = limits
        .iter()
        .map(|row| format!("{} {}: {}", row.task, row.scope.word(), row.limit()))
        .collect();
    assert_eq!(
        shown,
        [
            "book each: 1 running, in order",
            "bounded all: 1 running, 5 waiting",
            "bounded each: 3 waiting",
            "export all: 3 running",
            "rated all: 1 starts in 57s",
            "report all: 1 running",
            "send each: 2 running, 100 starts in 60s, 10 at once",
            "ship each: 1 running, in order, none behind a parked one",
            "text each: 2 running, 3 starts in 1s, 2 at once",
        ]
    );
    sim.jobs().enqueue(call::job()).expect("it is stored");
    assert_eq!(jobs_of(&sim.jobs(), "call")[0].partition, None, "it has no limit any more");
}

#[test]
fn a_limit_by_hand_holds_in_all_processes_after_restarts_until_it_is_reset() {
    let (mut cluster, running) = cluster();
    cluster.advance(secs(1));
    let limit = Limit::each().running(1).by("ada").reason("their API is slow");
    cluster.jobs().set_limit("send", limit).expect("it answers");
    cluster.restart(1);
    cluster.advance(secs(2));
    enqueue(&cluster, || send::job(order("ada")), 4);
    cluster.advance(minutes(4));
    assert_eq!((done(&cluster.jobs(), "send"), running.most("ada")), (4, 1));
    let hand = |cluster: &Cluster| {
        let limits = cluster.jobs().limits().expect("it answers");
        limits.into_iter().find(|row| row.task == "send").and_then(|row| row.by_hand)
    };
    let by_hand = hand(&cluster).expect("a limit by hand");
    assert_eq!((&*by_hand.by, &*by_hand.reason), ("ada", "their API is slow"));
    cluster.jobs().reset_limit("send").expect("it answers");
    assert_eq!(hand(&cluster), None);
    enqueue(&cluster, || send::job(order("ada")), 4);
    cluster.advance(minutes(4));
    assert_eq!((done(&cluster.jobs(), "send"), running.most("ada")), (8, 2));
}

#[test]
fn a_limit_by_hand_is_of_the_task_that_had_the_name_and_is_checked() {
    let mut sim = sim();
    sim.advance(secs(1));
    sim.jobs().set_limit("letter", Limit::all().rate("10/1m")).expect("it answers");
    let limits = sim.jobs().limits().expect("it answers");
    assert!(limits.iter().any(|row| row.task == "mail" && row.by_hand.is_some()), "{limits:?}");
    sim.jobs().reset_limit("letter").expect("it answers");
    let limits = sim.jobs().limits().expect("it answers");
    assert!(limits.iter().all(|row| row.by_hand.is_none()), "{limits:?}");
    for (limit, expected) in [
        (Limit::all(), "it limits nothing\nhelp: add `.running(…)`"),
        (Limit::each().running(0), "invalid `each.running`: `0` is too few"),
        (Limit::all().rate("10 per minute"), "help: write `rate = \"10/1m\"`"),
        (Limit::all().rate("10/1m").burst(11), "invalid `limit.burst`: it is more than"),
        (Limit::each().running(2).ordered(), "`each.ordered` needs `running = 1`"),
        (Limit::each().running(1).on_park(OnPark::Hold), "of no use without `each.ordered`"),
        (Limit::all().running(1).ordered(), "`ordered` is of the jobs of each partition"),
    ] {
        let error = sim.jobs().set_limit("mail", limit).expect_err("a fault").to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn faulty_limits_in_settings_are_errors_of_the_start() {
    let faults = |settings: &'static str| {
        let builder = scheduler::Scheduler::builder()
            .environment([("PATH", "")])
            .settings("scheduler.toml", settings)
            .store(scheduler::store::Model::new())
            .manage(Running::default())
            .tasks(scheduler::tasks![send, call, export, mail, report]);
        builder.spawn().expect_err("a fault").to_string()
    };
    for (settings, expected) in [
        ("export.limit.running = 0", ["scheduler.toml:2: `export`", "`0` is too few"]),
        (
            "call.limit.rate = \"6 per minute\"",
            ["scheduler.toml:2: `call`", "`limit.rate = \"6/1m\"`"],
        ),
        ("call.limit.burst = 7", ["`limit.burst`", "which is `6/1m`"]),
        (
            "export.each.running = 1",
            ["`each.running` is of no use without a partition", "#[job(…, partition = …)]"],
        ),
        (
            "report.each.running = 1",
            ["`each.running` is of no use beside `cron`", "only a `#[job]`"],
        ),
        (
            "send.each.ordered = true",
            ["`each.ordered` needs `each.running = 1`", "write `each.running = 1`"],
        ),
        ("send.each.on-park = \"hold\"", ["of no use without `each.ordered`", "add"]),
        ("send.each.on-park = \"stay\"", ["invalid `each.on-park`", "unknown word `stay`"]),
        ("send.each.waiting = 0", ["invalid `each.waiting`", "`0` is too few"]),
        ("export.limit.burst = 1", ["`limit.burst` is of no use without `limit.rate`", "10"]),
    ] {
        let settings = Box::leak(format!("[scheduler.tasks]\n{settings}\n").into_boxed_str());
        let faults = faults(settings);
        assert!(expected.iter().all(|part| faults.contains(part)), "{faults}");
    }
}

#[test]
fn an_enqueue_is_refused_while_as_many_jobs_wait_as_may() {
    let mut sim = sim();
    sim.advance(secs(1));
    let jobs = sim.jobs();
    let send = |tenant: u8| jobs.enqueue(bounded::job(tenant)).map(drop);
    let full = |answer: Result<(), EnqueueError>| match answer {
        Err(EnqueueError::Full { unsent, task, partition, waiting, .. }) => {
            assert_eq!((unsent.jobs.len(), &*task), (1, "bounded"));
            Some((partition, waiting))
        }
        other => other.map(|()| None).expect("no other error"),
    };
    jobs.pause_task("bounded", &Pause::new()).expect("it answers");
    (0..3).for_each(|_| send(1).expect("there is room"));
    assert_eq!(full(send(1)), Some((Some("1".to_owned()), 3)));
    let error = send(1).expect_err("it is full").to_string();
    assert!(error.contains("3 jobs of partition `1` wait") && error.contains("help: "), "{error}");
    (0..2).for_each(|_| send(2).expect("another partition"));
    assert_eq!(full(send(2)), Some((None, 5)), "of all partitions together");
    jobs.set_limit("bounded", Limit::all().running(1).waiting(7)).expect("it is set");
    assert_eq!(full(send(2)), None);
    let unguarded = jobs.set_limit("send", Limit::each().waiting(7)).expect_err("it has none");
    assert!(unguarded.to_string().contains("no `waiting` in its code"), "{unguarded}");
    jobs.resume_task("bounded").expect("it answers");
    sim.advance(minutes(1));
    assert_eq!((done(&sim.jobs(), "bounded"), full(send(1))), (6, None));
}

#[test]
fn a_job_that_waits_says_why() {
    let mut sim = sim();
    sim.advance(secs(1));
    let jobs = sim.jobs();
    let accepted = |job: Job| jobs.enqueue(job).expect("it is stored").id();
    let ids: Vec<_> = (0..3).map(|_| accepted(send::job(order("ada")))).collect();
    let later = accepted(send::job(order("bob")).after(hours(1)));
    sim.advance(secs(1));
    let why = |id| sim.jobs().why(id).expect("it answers").map(|why| why.to_string());
    assert_eq!(why(ids[0]), None, "it runs");
    assert_eq!(why(ids[2]).as_deref(), Some("2 of 2 jobs of its partition run"));
    assert_eq!(why(later).as_deref(), Some("due at 2026-01-01T01:00:01Z"));
    let partitions = jobs.partitions("send", 10).expect("it answers");
    let shown: Vec<_> =
        partitions.iter().map(|each| (&*each.partition, each.due, each.running)).collect();
    assert_eq!(shown, [("ada", 1, 2)]);
}

#[test]
fn a_job_that_has_not_begun_in_time_is_cancelled() {
    let mut sim = sim();
    sim.advance(secs(1));
    let jobs = sim.jobs();
    let sent = [
        code::job(),
        code::job(),
        code::job(),
        code::job().expires(hours(1)),
        code::job().expires_at(chrono::DateTime::UNIX_EPOCH),
    ];
    let ids = sent.each_ref().map(Job::id);
    jobs.enqueue_all(sent.into()).expect("they are stored");
    sim.advance(minutes(5));
    let states = ids.map(|id| jobs.get(id).expect("it answers").expect("a job").state);
    let (done, over) = (JobState::Done, JobState::Cancelled);
    assert_eq!(states, [done, done, over, done, over]);
    let error = jobs.get(ids[2]).expect("it answers").expect("a job").error;
    assert_eq!(error.as_deref(), Some("it expired before it began"));
}

#[test]
fn a_page_that_is_saved_again_and_again_is_indexed_once() {
    let mut sim = sim();
    sim.advance(secs(1));
    for _ in 0..10 {
        let job = index::job(17).debounce("page-17", secs(5), secs(30));
        sim.jobs().enqueue(job).expect("it is stored");
        sim.advance(secs(4));
    }
    assert_eq!(done(&sim.jobs(), "index"), 1, "half a minute after the first");
    sim.advance(secs(10));
    assert_eq!(done(&sim.jobs(), "index"), 2, "the last ones wait for no more");
}
