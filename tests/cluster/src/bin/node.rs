//! A process of a cluster, whose schedules and jobs write a journal.
#![expect(clippy::needless_pass_by_value, reason = "a job owns its arguments")]

use std::fs::OpenOptions;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use cluster::{Journal, Line, Outcome};
use rustix::fs::{FlockOperation, flock};
use scheduler::store::OnLost;
use scheduler::{
    Builder, Event, EventKind, Jobs, Misfire, NodeOptions, Overlap, Run, Schedule, Scheduler, job,
};
use serde::{Deserialize, Serialize};

static JOURNAL: OnceLock<Journal> = OnceLock::new();
static REGISTER: OnceLock<PathBuf> = OnceLock::new();

/// The instructions of a job.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Work {
    /// Its length.
    ms: u64,
    /// Attempts up to this one take until they are asked to stop.
    hang: u32,
    /// It fails in attempts up to this one.
    fail: u32,
    /// It uses the processor all the time.
    busy: bool,
    /// It ends the process.
    abort: bool,
    /// It does not stop when it is asked to, and then fails.
    stubborn: bool,
    /// The tenant that it is for.
    tenant: u32,
}

#[job(name = "work", retry(max = 4, base = "200ms", cap = "10s"))]
fn work(#[payload] work: Work, run: Run) -> Result<(), String> {
    perform("work", &work, &run)
}

#[job(name = "twice", retry(max = 2, base = "200ms", cap = "10s"))]
fn twice(#[payload] work: Work, run: Run) -> Result<(), String> {
    perform("twice", &work, &run)
}

#[job(name = "abandoned", on_lost = "abandon")]
fn abandoned(#[payload] work: Work, run: Run) -> Result<(), String> {
    perform("abandoned", &work, &run)
}

#[job(name = "rare")]
fn rare(#[payload] work: Work, run: Run) -> Result<(), String> {
    perform("rare", &work, &run)
}

#[job(name = "limited", limit(running = 6), each(running = 2, rate = "30/5s", burst = 4), partition = work.tenant)]
fn limited(#[payload] work: Work, run: Run) -> Result<(), String> {
    perform("limited", &work, &run)
}

#[job(name = "fair", partition = work.tenant)]
fn fair(#[payload] work: Work, run: Run) -> Result<(), String> {
    perform("fair", &work, &run)
}

fn write(line: &Line) {
    JOURNAL.get().expect("it is set first").write(line);
}

fn note(kind: &str, text: &str) {
    write(&Line::Note { kind: kind.to_owned(), text: text.replace([' ', '\n'], "_") });
}

fn perform(task: &str, work: &Work, run: &Run) -> Result<(), String> {
    let job = run.job_id().map_or_else(|| "-".to_owned(), |id| id.to_string());
    let fence = run.fence().map_or(0, |fence| fence.0);
    write(&Line::Begin {
        task: task.to_owned(),
        job: job.clone(),
        tick: run.tick().map_or(0, |tick| tick.timestamp_micros()),
        attempt: run.attempt(),
        fence,
        missed: run.missed(),
    });
    if work.abort {
        std::process::abort();
    }
    let is_stopped = take_time(work, run, fence);
    let outcome = match () {
        () if is_stopped || run.is_lost() => Outcome::Stopped,
        () if run.attempt() <= work.fail || work.stubborn => Outcome::Failed,
        () => Outcome::Done,
    };
    write(&Line::End { job, fence, outcome });
    match outcome {
        Outcome::Failed => Err(format!("attempt {} fails, as it was told to", run.attempt())),
        _ => Ok(()),
    }
}

/// Takes the time that the work takes. Returns true if it was asked to stop before.
fn take_time(work: &Work, run: &Run, fence: u64) -> bool {
    let length = i64::try_from(work.ms * 1_000).unwrap_or(i64::MAX);
    let until = if run.attempt() <= work.hang { i64::MAX } else { cluster::boot_micros() + length };
    let mut noted = false;
    loop {
        let left = until - cluster::boot_micros();
        if left <= 0 {
            return false;
        }
        if run.is_lost() && !noted {
            note("lost", &fence.to_string());
            noted = true;
        }
        if run.stop_requested() && !work.stubborn {
            return true;
        }
        if let Some(register) = REGISTER.get() {
            let is_taken = register_fence(register, fence);
            note(if is_taken { "written" } else { "refused" }, &fence.to_string());
        }
        if !work.busy {
            let left = Duration::from_micros(u64::try_from(left).unwrap_or(0));
            // A stubborn run waits on, although it was asked to stop.
            let wait = left.min(Duration::from_millis(100));
            if run.sleep(wait).is_err() && work.stubborn {
                #[expect(
                    clippy::disallowed_methods,
                    reason = "the run ignores that it is to stop"
                )]
                std::thread::sleep(wait);
            }
        }
    }
}

/// Writes a fence into a register outside the store, which refuses one that is smaller than the greatest it has seen.
fn register_fence(path: &Path, fence: u64) -> bool {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).open(path);
    let mut file = file.expect("the register can be opened");
    flock(&file, FlockOperation::LockExclusive).expect("the register can be locked");
    let mut text = String::new();
    file.read_to_string(&mut text).expect("the register can be read");
    let greatest: u64 = text.trim().parse().unwrap_or(0);
    if fence < greatest {
        return false;
    }
    file.rewind().expect("the register is a file");
    write!(file, "{fence:020}").expect("the register can be written");
    true
}

/// The options of the command line: pairs of a name and a value, in their order.
struct Options(Vec<(String, String)>);

impl Options {
    fn read() -> Self {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let pairs = words.chunks(2).map(|pair| {
            let name = pair[0].strip_prefix("--").expect("an option begins with --");
            (name.to_owned(), pair.get(1).expect("an option has a value").clone())
        });
        Self(pairs.collect())
    }

    fn all<'a>(&'a self, name: &str) -> Vec<&'a str> {
        self.0.iter().filter(|(known, _)| known == name).map(|(_, value)| &**value).collect()
    }

    fn one(&self, name: &str) -> Option<&str> {
        self.all(name).last().copied()
    }

    fn millis(&self, name: &str, default: u64) -> Duration {
        let given = self.one(name).map(|text| text.parse().expect("a number of milliseconds"));
        Duration::from_millis(given.unwrap_or(default))
    }
}

/// Adds a schedule that is written as `name=tick;cron=* * * * * *;overlap=skip;ms=1`.
fn with_schedule(builder: Builder, text: &str) -> Builder {
    let parts: Vec<(&str, &str)> =
        text.split(';').map(|part| part.split_once('=').expect("a name and a value")).collect();
    let part = |name| parts.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let schedule = match (part("cron"), part("rate"), part("delay")) {
        (Some(cron), ..) => Schedule::cron(cron).zone("UTC"),
        (_, Some(rate), _) => Schedule::fixed_rate(rate),
        (.., delay) => Schedule::fixed_delay(delay.expect("a schedule has a rule")),
    };
    let mut schedule = schedule.durable();
    if let Some(overlap) = part("overlap") {
        schedule = schedule.overlap(overlap.parse::<Overlap>().expect("a policy"));
    }
    if let Some(misfire) = part("misfire") {
        schedule = schedule.misfire(misfire.parse::<Misfire>().expect("a policy"));
    }
    if let Some(window) = part("window") {
        schedule = schedule.misfire_window(window);
    }
    if part("on_lost") == Some("abandon") {
        schedule = schedule.on_lost(OnLost::Abandon);
    }
    let work = Work {
        ms: part("ms").map_or(1, |text| text.parse().expect("a number")),
        busy: part("busy").is_some(),
        ..Work::default()
    };
    let name = part("name").expect("a schedule has a name").to_owned();
    let task = name.clone();
    builder.task(&name, schedule, move |run| perform(&task, &work, run))
}

fn hear(event: &Event) {
    match &event.kind {
        EventKind::Skipped { reason, count, .. } => {
            let task = event.task_name().unwrap_or("-");
            note("skipped", &format!("{task}:{}:{count}", reason.name()));
        }
        EventKind::Store { what, .. } => note(what.name(), &what.to_string()),
        _ => {}
    }
}

/// Enqueues jobs for ever, and notes each after it was accepted.
fn enqueue(jobs: &Jobs, pause: Duration) {
    loop {
        let job = work::job(Work::default());
        let id = job.id();
        match jobs.enqueue(job) {
            Ok(_) => note("accepted", &id.to_string()),
            Err(error) => note("refused-job", &error.to_string()),
        }
        if !pause.is_zero() {
            #[expect(clippy::disallowed_methods, reason = "the stream of jobs is in real time")]
            std::thread::sleep(pause);
        }
    }
}

fn main() {
    let options = Options::read();
    let journal = options.one("journal").expect("--journal is given");
    let journal = Journal::open(Path::new(journal)).expect("the journal opens");
    JOURNAL.set(journal).expect("it is set once");
    if let Some(register) = options.one("register") {
        REGISTER.set(PathBuf::from(register)).expect("it is set once");
    }
    let store = cluster::open(options.one("store").expect("--store is given"));
    let store = store.unwrap_or_else(|error| {
        eprintln!("{error}");
        std::process::exit(2);
    });
    let node = NodeOptions::default()
        .label(options.one("label").expect("--label is given"))
        .lease(options.millis("lease", 15_000))
        .renew_every(options.millis("renew", 1_000))
        .reap_every(options.millis("reap", 500))
        .poll_every(options.millis("poll", 200));
    let threads = options.one("threads").map_or(4, |text| text.parse().expect("a number"));
    let mut builder =
        Scheduler::builder().store_shared(store).node(node).pool_size(threads).listener(hear);
    for text in options.all("schedule") {
        builder = with_schedule(builder, text);
    }
    for name in options.all("without") {
        builder = builder.set(format!("scheduler.tasks.{name}.enabled"), "false");
    }
    let pause = options.one("enqueue-every").map(|text| text.parse().expect("milliseconds"));
    match pause {
        None => builder.start().expect("it runs until it is asked to stop"),
        Some(pause) => {
            let scheduler = builder.spawn().expect("it starts");
            enqueue(&scheduler.jobs().expect("there is a store"), Duration::from_millis(pause));
        }
    }
}
