//! The program of the browser tests, run by `ci/browser.sh`.
//!
//! The first argument is the scene, the second the address.
//!
//! It prints `ready <link>`. Then it reads commands: `stop` stops the server, `start` starts it again at the same address,
//! `mend` lets jobs succeed that failed and a run end that hears nothing, and the end of the input ends the program.

use std::io::BufRead;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use axum::Router;
use scheduler::store::{Model, Store, StoreTime};
use scheduler::{
    Builder, Clock, Jobs, NodeOptions, Pause, Pool, Run, Schedule, Scheduler, SystemClock, job,
    tasks,
};
use scheduler_dashboard::{Dashboard, DashboardServer};
use scheduler_store::{Enqueue, NewJob, Open, Poll, TaskRoom};

const TOKEN: &str = "operator-0123456789";

fn hourly() -> Schedule {
    Schedule::fixed_rate("1h").initial_delay("1h")
}

/// Runs until it is cancelled, for at most a minute.
fn slow(run: &Run) {
    for _ in 0..6_000 {
        if run.stop_requested() {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

#[job(name = "shop::mail")]
fn mail(#[payload] letter: serde_json::Value, run: &Run) -> Result<(), String> {
    let serde_json::Value::Object(letter) = letter else { return Ok(()) };
    match letter.get("to").and_then(|to| to.as_str()) {
        Some("slow") => slow(run),
        Some("full") => return Err("the mailbox <b>full</b> is full".to_owned()),
        _ => {}
    }
    Ok(())
}

/// No process has it: it is not among the tasks of any scene.
#[job(name = "shop::maill")]
fn maill() {}

/// True once images can be decoded, and the deaf task ends.
static IS_MENDED: AtomicBool = AtomicBool::new(false);

#[job(name = "shop::image")]
fn image(#[payload] number: u32) -> Result<(), String> {
    if IS_MENDED.load(Ordering::Relaxed) {
        return Ok(());
    }
    Err(format!("cannot decode image {number}.png"))
}

/// A dead API: its jobs fail, and have attempts left.
#[job(name = "shop::charge", retry(max = 10, base = "1h", cap = "2h"))]
fn charge(#[payload] number: u32) -> Result<(), String> {
    if IS_MENDED.load(Ordering::Relaxed) {
        return Ok(());
    }
    Err(format!("POST /charges/{number}: Service Unavailable"))
}

/// A job of another process has run for 20 minutes, as long as none before.
fn with_outage(builder: Builder) -> Builder {
    let now = Arc::new(AtomicI64::new(StoreTime::from(SystemClock::new().wall()).as_micros()));
    let clock = Arc::clone(&now);
    let store = Model::with_clock(move || StoreTime::from_micros(clock.load(Ordering::Relaxed)));
    let (lease, not_after) = (Duration::from_secs(86_400), StoreTime::MAX);
    let id = "00000000-0000-4000-8000-000000000002".parse().expect("an identity");
    let [label, build, application] = ["web-2", "1.2.3", ""].map(ToOwned::to_owned);
    let tasks = [].into();
    let open = Open {
        queues: None,
        concurrency: 4,
        id,
        replaces: None,
        label,
        build,
        application,
        tasks,
        lease,
        not_after,
    };
    store.open(&open).expect("a store in memory");
    let job = NewJob::new(
        "00000000-0000-4000-8000-000000000003".parse().expect("an identity"),
        "shop::crawl",
    );
    store.enqueue(&Enqueue { jobs: vec![job], not_after }).expect("a job");
    let task = TaskRoom { task: "shop::crawl".into(), room: 1, version: 0 };
    let (tasks, queues, with_leases) = ([task].into(), None, false);
    let (limit, abandon_limit, lost_limit) = (1, 0, 0);
    let poll = Poll {
        session: id,
        tasks,
        queues,
        limit,
        abandon_limit,
        lost_limit,
        with_leases,
        not_after,
    };
    assert_eq!(store.poll(&poll).expect("a claim").jobs.len(), 1);
    let offset = Duration::from_secs(1_200);
    let shift = move || {
        loop {
            let later = StoreTime::from(SystemClock::new().wall()).after(offset);
            now.store(later.as_micros(), Ordering::Relaxed);
            std::thread::park_timeout(Duration::from_millis(10));
        }
    };
    std::thread::Builder::new().spawn(shift).expect("a thread");
    builder.tasks(tasks![charge]).store(store).node(NodeOptions::default().label("web-1"))
}

/// An outage: a task that hangs and the one it starves, a critical one that fails, a hundred parked jobs, a node that
/// died.
fn with_trouble(builder: Builder) -> Builder {
    let store = Model::with_clock(|| StoreTime::from(SystemClock::new().wall()));
    let dead = Open {
        queues: None,
        concurrency: 4,
        id: "00000000-0000-4000-8000-000000000002".parse().expect("an identity"),
        replaces: None,
        label: "web-2".to_owned(),
        build: "1.2.3".to_owned(),
        application: String::new(),
        tasks: [].into(),
        lease: Duration::from_secs(4),
        not_after: StoreTime::MAX,
    };
    store.open(&dead).expect("a store in memory");
    let is_first = AtomicBool::new(true);
    let hang = move |run: &Run| {
        if is_first.swap(false, Ordering::Relaxed) {
            slow(run);
        }
    };
    let reports = |schedule: Schedule| schedule.pool("reports");
    let node = NodeOptions::default().label("web-1").build("1.2.3").lease(Duration::from_secs(2));
    builder
        .tasks(tasks![image])
        .store(store)
        .node(node)
        .pool("reports", Pool::new().size(1))
        .task("hung", reports(Schedule::fixed_rate("3s")), hang)
        .task("starved", reports(Schedule::fixed_rate("2s").initial_delay("500ms")), |_| {})
        .task("export", Schedule::once("10ms").tags(["critical"]), |_| Err::<(), _>("disk full"))
        .task("import", hourly(), |_| {})
}

/// Jobs in all states.
fn enqueue(jobs: &Jobs) -> Result<(), Box<dyn std::error::Error>> {
    let letter =
        |to: &str| mail::job(serde_json::json!({ "to": to, "iban": "DE02 1203", "lines": [1, 2] }));
    let later = (0..60).map(|_| letter("later").after(Duration::from_secs(3_600)).queue("letters"));
    jobs.enqueue_all(later.collect())?;
    jobs.enqueue(letter("full").key("letter-17"))?;
    jobs.enqueue(letter("slow").priority(scheduler::Priority::High))?;
    jobs.enqueue(letter("ada"))?;
    Ok(())
}

fn with_store(builder: Builder) -> Builder {
    let store = Model::with_clock(|| StoreTime::from(SystemClock::new().wall()));
    let nightly = Schedule::cron("0 0 3 * * *").zone("Europe/Berlin").durable();
    let node = NodeOptions::default().label("web-1").build("1.2.3");
    builder.tasks(tasks![mail]).store(store).node(node).task("nightly", nightly, |_| {})
}

fn scene(scene: &str) -> Builder {
    let builder = Scheduler::builder().pool_size(4).environment([("PATH", "")]).tasks(tasks![]);
    let builder = builder.settings("none.toml", "").zone("Europe/Berlin").messages(|_| {});
    let builder = builder.await_termination(Duration::ZERO);
    match scene {
        "many" => (0..1_000).fold(builder, |builder, number| {
            let schedule = Schedule::fixed_rate("2s").tags([format!("group-{}", number % 7)]);
            builder.task(&format!("shop::jobs::task_{number:04}"), schedule, |_| {})
        }),
        "hostile" => {
            let markup = "<script>window.pwned=1</script><img src=x onerror='window.pwned=1'>";
            let body = move |run: &Run| {
                run.note(format!("{markup} note"));
                Err::<(), _>(format!("{markup} \u{202e}desrever {}", "x".repeat(10 * 1_024)))
            };
            let long = "a_very_long_name_without_any_place_to_break_".repeat(4);
            let at_once = || Schedule::fixed_rate("1h").tags(["a.very-long_tag.".repeat(4)]);
            builder
                .task("odd [name] / with % signs & \"quotes\"", at_once(), body)
                .task(&long, hourly(), |_| {})
                .task("\u{5e9}\u{5dc}\u{5d5}\u{5dd}", hourly(), |_| {})
        }
        "trouble" => (0..20).fold(with_trouble(builder), |builder, number| {
            let schedule = hourly().tags(["shop"]);
            builder.task(&format!("shop::reports::task_{number:02}"), schedule, |_| {})
        }),
        "failing" => (0..6).fold(builder, |builder, number| {
            let schedule = Schedule::fixed_rate(format!("{}ms", 300 + 70 * number));
            builder.task(&format!("failing_{number}"), schedule, |_| Err::<(), _>("disk full"))
        }),
        "deaf" => builder.task("deaf", Schedule::fixed_rate("3s"), |_| {
            while !IS_MENDED.load(Ordering::Relaxed) {
                std::thread::park_timeout(Duration::from_millis(10));
            }
        }),
        "outage" => with_outage(builder).task("import", hourly(), |_| {}),
        "jobs" | "unknown" => with_store(builder).task("import", hourly(), |_| {}),
        _ => builder
            .task("tick", Schedule::fixed_rate("300ms"), |_| {})
            .task("import", hourly().tags(["shop"]), |run| run.note("17 rows"))
            .task("export", hourly().tags(["shop"]), |_| Err::<(), _>("disk full"))
            .task("slow", hourly(), slow)
            .task("report", Schedule::cron("0 0 9 * * *").zone("Europe/Berlin"), |_| {})
            .task("old", hourly().set(scheduler::Attribute::Enabled, "false"), |_| {}),
    }
}

/// A server of the program's own, for the scene `mounted`.
fn mount(router: Router, address: SocketAddr) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let listener = runtime.block_on(tokio::net::TcpListener::bind(address))?;
    println!("ready http://{}/admin/jobs#token={TOKEN}", listener.local_addr()?);
    let app = Router::new().nest_service("/admin/jobs", router);
    let thread = std::thread::Builder::new();
    thread.spawn(move || runtime.block_on(axum::serve(listener, app).into_future()))?;
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let dashboard = Dashboard::new().title("test shop").operator("ops", TOKEN);
    let dashboard = dashboard.viewer("wall", "viewer-0123456789ab");
    let dashboard = match &*name {
        "read-only" => dashboard.read_only(),
        "proxied" => dashboard.allow_host("localhost"),
        _ => dashboard,
    };
    let scheduler = scene(&name).listener(dashboard.listener()).spawn()?;
    if name == "trouble" {
        scheduler.jobs()?.enqueue_all((0..100).map(image::job).collect())?;
        scheduler.tasks().get("import")?.pause_with(&Pause::new().by("night shift"))?;
    } else if name == "outage" {
        scheduler.jobs()?.enqueue_all((0..50).map(charge::job).collect())?;
    } else if let Ok(jobs) = scheduler.jobs() {
        enqueue(&jobs)?;
        if name == "unknown" {
            let hour_ago = SystemClock::new().wall() - Duration::from_secs(3_600);
            jobs.enqueue(maill::job().at(hour_ago))?;
        }
    }
    let mut server: Option<DashboardServer> = None;
    let mut address: SocketAddr = address.parse()?;
    if name == "mounted" {
        mount(dashboard.router(scheduler.tasks())?, address)?;
    } else {
        let served = dashboard.serve(scheduler.tasks(), address)?;
        println!("ready {}#token={TOKEN}", served.link());
        address = served.address();
        server = Some(served);
    }
    for command in std::io::stdin().lock().lines() {
        match &*command? {
            "stop" => drop(server.take()),
            "mend" => IS_MENDED.store(true, Ordering::Relaxed),
            "start" => server = Some(dashboard.serve(scheduler.tasks(), address)?),
            other => println!("unknown: {other}"),
        }
        println!("done");
    }
    drop(server);
    // A run that is still in progress is cancelled; that is no fault here.
    drop(scheduler.shutdown());
    Ok(())
}
