//! Random faults, checked by the journals and the store.
//!
//! There are kills, freezes, failures of the network and restarts of the database, over four processes, twenty schedules and
//! a stream of jobs. By hand: `ci/durable.sh chaos 1800`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use cluster::{Lab, Process, Run, eventually, pass};
use postgres_server::{Proxy, Server, Way};
use scheduler_store::{Command, JobState, StoredSchedule};

use crate::NODE;
use crate::support::{LIMIT, assert_each_second_decided, assert_one_job_each_tick, schedule};

const PROCESSES: usize = 4;

/// A small generator of random numbers, by xorshift.
struct Draws(u64);

impl Draws {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn index(&mut self, count: usize) -> usize {
        usize::try_from(self.below(count as u64)).expect("small")
    }
}

/// The faults of the cluster.
struct Chaos {
    lab: Lab,
    server: Option<Server>,
    draws: Draws,
    /// Between each process and the server. None with SQLite.
    networks: Vec<Proxy>,
    running: Vec<Process>,
    gone: Vec<Process>,
    generation: u32,
    counts: BTreeMap<&'static str, u32>,
}

impl Chaos {
    fn new(seed: u64) -> Option<Self> {
        let server = if Lab::is_postgres() { Some(Server::start_with(&[])?) } else { None };
        let lab = match &server {
            Some(server) => Lab::postgres(NODE, &server.url()),
            None => Lab::sqlite(NODE),
        };
        let networks = match &server {
            Some(_) => (0..PROCESSES).map(|_| lab.proxy()).collect(),
            None => Vec::new(),
        };
        let mut chaos = Self {
            lab,
            server,
            draws: Draws(seed.max(1)),
            networks,
            running: Vec::new(),
            gone: Vec::new(),
            generation: 0,
            counts: BTreeMap::new(),
        };
        for index in 0..PROCESSES {
            let process = chaos.start(index);
            chaos.running.push(process);
        }
        Some(chaos)
    }

    fn start(&mut self, index: usize) -> Process {
        self.generation += 1;
        let mut process = self.lab.process_with_short_lease(&format!("p{}", self.generation));
        if let Some(network) = self.networks.get(index) {
            process = process.with("store", self.lab.store_at(network.port(), ",deadline=1500"));
        }
        for text in schedules() {
            process = process.with("schedule", text);
        }
        process.with("enqueue-every", 40).start()
    }

    fn replace(&mut self, index: usize) {
        let next = self.start(index);
        self.gone.push(std::mem::replace(&mut self.running[index], next));
    }

    fn step(&mut self) {
        // One that found no store at its start has ended, and is started again, as a supervisor does.
        for index in 0..PROCESSES {
            if self.running[index].status().is_some() {
                self.replace(index);
                self.count("starts without a store");
            }
        }
        // A failure of the network lasts for some steps, beside other faults.
        if self.draws.below(2) == 0 {
            self.networks.iter().for_each(Proxy::heal);
        }
        let index = self.draws.index(PROCESSES);
        match self.draws.below(20) {
            0..5 => {
                self.running[index].kill();
                self.replace(index);
                self.count("kills");
            }
            5..10 => {
                let time = Duration::from_millis(200 + self.draws.below(5_000));
                self.lab.freeze(&self.running[index]);
                pass(time);
                self.running[index].resume();
                self.count("freezes");
            }
            10 => self.restart(),
            11..19 => self.fail_network(index),
            _ => self.count("pauses"),
        }
        pass(Duration::from_millis(500 + self.draws.below(2_500)));
    }

    fn restart(&mut self) {
        let Some(server) = &self.server else { return };
        server.stop();
        pass(Duration::from_millis(500 + self.draws.below(4_000)));
        server.begin();
        self.count("database restarts");
    }

    fn fail_network(&mut self, index: usize) {
        let (what, millis) = (self.draws.below(8), 50 + self.draws.below(400));
        let Some(network) = self.networks.get(index) else { return };
        let what = match what {
            0 | 1 => {
                network.isolate();
                "black holes"
            }
            2 => {
                network.hold(Way::ToServer);
                "requests held"
            }
            3 => {
                network.hold(Way::ToClient);
                "answers held"
            }
            4 => {
                network.delay(Duration::from_millis(millis));
                "delays"
            }
            5 => {
                network.cut();
                "cuts"
            }
            6 => {
                network.strand();
                "half-open connections"
            }
            _ => {
                network.refuse();
                network.cut();
                "cuts that last"
            }
        };
        self.count(what);
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }
}

/// Twenty schedules of each overlap, misfire and timing.
fn schedules() -> Vec<String> {
    let mut schedules = Vec::new();
    for overlap in ["skip", "queue_one", "allow"] {
        for misfire in ["run_once", "skip", "catch_up"] {
            for ms in [5, 1_500] {
                let name = format!("{overlap}-{misfire}-{ms}");
                schedules.push(format!(
                    "name={name};cron=* * * * * *;overlap={overlap};misfire={misfire};ms={ms}"
                ));
            }
        }
    }
    schedules.push("name=rate;rate=700ms;ms=5".to_owned());
    schedules.push("name=delay;delay=500ms;ms=50".to_owned());
    schedules
}

/// Checks what no kill, freeze or restart may bring about. The schedules are as they were at the begin.
fn check(lab: &Lab, before: &[StoredSchedule], runs: &[Run], accepted: &BTreeSet<String>) {
    let store = lab.open();
    for before in before {
        let name = &before.definition.name;
        assert_one_job_each_tick(runs, name);
        if name.contains('-') {
            assert_each_second_decided(before, &schedule(lab, name));
        }
    }
    let mut jobs = Vec::new();
    let mut filter = scheduler_store::JobFilter::default();
    loop {
        let page = store.jobs(&filter, 1_000).expect("an answer");
        let Some(last) = page.last() else { break };
        filter.after = Some(last.id);
        jobs.extend(page);
    }
    let stored: BTreeMap<String, _> = jobs.iter().map(|job| (job.id.to_string(), job)).collect();
    let lost: Vec<&String> = accepted
        .iter()
        .filter(|id| stored.get(*id).is_none_or(|job| job.state != JobState::Done))
        .collect();
    assert!(lost.is_empty(), "{} accepted jobs have not run: {lost:?}", lost.len());
    for run in runs {
        let job = stored.get(&run.job).expect("each job that ran is stored");
        assert!(job.fence.0 >= run.fence, "a late writer: {run:?} {job:?}");
    }
}

#[test]
#[ignore = "it takes TEST_CHAOS_SECONDS"]
fn chaos() {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seconds = number("TEST_CHAOS_SECONDS").unwrap_or(60);
    let seed = number("TEST_CHAOS_SEED").unwrap_or(1);
    let Some(mut chaos) = Chaos::new(seed) else { return };
    let before: Vec<StoredSchedule> = schedules()
        .iter()
        .filter_map(|text| text.strip_prefix("name=")?.split(';').next())
        .map(|name| schedule(&chaos.lab, name))
        .collect();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(seconds) {
        chaos.step();
    }
    for mut process in std::mem::take(&mut chaos.running) {
        process.kill();
        chaos.gone.push(process);
    }
    // No new ticks, so that what there is can end.
    for schedule in chaos.lab.open().schedules().expect("an answer") {
        let (schedule, until) = (schedule.definition.name, None);
        let (by, reason) = ("the test".to_owned(), "the end".to_owned());
        chaos.lab.command(&Command::Pause { schedule, until, by, reason });
    }
    let process = chaos.lab.process("last");
    let mut last =
        schedules().iter().fold(process, |process, text| process.with("schedule", text)).start();
    eventually(LIMIT, "it has opened a session", || last.notes("session_opened").first().cloned());
    chaos.lab.await_all_ended(LIMIT);
    assert!(last.stop(LIMIT).success());
    chaos.gone.push(last);
    let runs: Vec<Run> = chaos.gone.iter().flat_map(Process::runs).collect();
    let accepted: BTreeSet<String> =
        chaos.gone.iter().flat_map(|process| process.notes("accepted")).map(|(_, id)| id).collect();
    check(&chaos.lab, &before, &runs, &accepted);
    let again = runs.iter().filter(|run| run.attempt > 1).count();
    println!(
        "seed {seed}, {seconds} s: {:?}; {} runs, {again} of them again; {} jobs accepted, none lost; \
         no tick twice, no late writer",
        chaos.counts,
        runs.len(),
        accepted.len()
    );
}
