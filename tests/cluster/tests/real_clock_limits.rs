//! Limits and turns of four processes under kills and freezes, judged in the database at each commit.
//!
//! By hand: `ci/durable.sh limits 600`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cluster::{Lab, Process, Run, length, pass};
use scheduler::store::postgres::Client;
use scheduler_store::{Enqueue, JobId, NewJob, Payload, Store, StoreTime, Uuid};

use crate::NODE;
use crate::support::await_opened;

const PROCESSES: u32 = 4;
/// The limits of the kind `limited` in the program.
const ALL: i64 = 6;
const EACH: i64 = 2;
const RATE: (usize, Duration) = (30, Duration::from_secs(5));
/// The tenants of the kind `fair`, and those among them that always have jobs.
const TENANTS: u32 = 100;
const BUSY: u32 = 10;

/// Writes down each start, and fails a commit after which too many run. The lock puts commits in a row: a look that has waited for it
/// sees the jobs of all commits before.
const JUDGE: &str = "
create table public.{s}_starts (number bigint generated always as identity, task text, partition text, at timestamptz);
create table public.{s}_faults (at timestamptz, what text);
create function public.{s}_judge() returns trigger language plpgsql as $$
declare
  v_all bigint;
  v_each bigint;
begin
  perform pg_advisory_xact_lock(4711);
  insert into public.{s}_starts (task, partition, at) values (new.task, new.partition, new.started_at);
  if new.task = 'limited' then
    select count(*), count(*) filter (where j.partition = new.partition) into v_all, v_each
    from {s}.job j where j.state = 'running' and j.task = 'limited';
    if v_all > 6 or v_each > 2 then
      insert into public.{s}_faults values (clock_timestamp(), format('%s run, %s of %s', v_all, v_each, new.partition));
    end if;
  end if;
  return null;
end $$;
create constraint trigger judge after update on {s}.job deferrable initially deferred for each row
  when (new.state = 'running' and old.state <> 'running') execute function public.{s}_judge();";

struct Stage {
    lab: Lab,
    store: std::sync::Arc<dyn Store>,
    client: Client,
    schema: String,
    running: Vec<Process>,
    gone: Vec<Process>,
    number: u128,
    random: u64,
}

impl Stage {
    fn new() -> Option<Self> {
        let lab = Lab::on_postgres(NODE)?;
        let store = lab.open();
        let (mut client, schema) = lab.client();
        client.batch_execute(&JUDGE.replace("{s}", &schema)).expect("the trigger");
        let (running, gone) = (Vec::new(), Vec::new());
        let mut stage =
            Self { lab, store, client, schema, running, gone, number: 0, random: 0x9E37_79B9 };
        for _ in 0..PROCESSES {
            let process = stage.start();
            stage.running.push(process);
        }
        stage.running.iter().for_each(|process| await_opened(process, 1));
        Some(stage)
    }

    fn start(&self) -> Process {
        let number = self.running.len() + self.gone.len();
        let process = self.lab.process_with_short_lease(&format!("p{number}"));
        process.with("poll", 50).with("threads", 8).start()
    }

    fn below(&mut self, limit: u32) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random % u64::from(limit)) as u32
    }

    fn add(&mut self, task: &str, tenant: u32, count: usize, millis: u32) {
        let jobs = (0..count).map(|_| {
            self.number += 1;
            let bytes = format!("{{\"ms\": {millis}, \"tenant\": {tenant}}}").into_bytes();
            NewJob {
                payload: Payload { version: 1, bytes },
                partition: Some(tenant.to_string()),
                ..NewJob::new(JobId::from_uuid(Uuid::from_u128(self.number)), task)
            }
        });
        let request = Enqueue { jobs: jobs.collect(), not_after: StoreTime::MAX };
        self.store.enqueue(&request).expect("they are accepted");
    }

    /// The busy tenants always have jobs, the last one ten times as many as the first; of the others one gets some now and then.
    fn feed(&mut self) {
        for tenant in 0..BUSY {
            let wanted = 1_000 * (1 + i64::from(tenant));
            if self.waiting("fair", tenant) < wanted {
                self.add("fair", tenant, 1_000, 1);
            }
            if self.waiting("limited", tenant) < 20 {
                self.add("limited", tenant, 20, 20);
            }
        }
        let tenant = BUSY + self.below(TENANTS - BUSY);
        self.add("fair", tenant, 5, 1);
    }

    fn fault(&mut self) {
        let index = self.below(PROCESSES) as usize;
        match self.below(4) {
            0 => {
                self.running[index].kill();
                let next = self.start();
                self.gone.push(std::mem::replace(&mut self.running[index], next));
            }
            1 => {
                let millis = u64::from(self.below(4_000));
                self.lab.freeze(&self.running[index]);
                pass(Duration::from_millis(millis));
                self.running[index].resume();
            }
            _ => {}
        }
    }

    fn waiting(&mut self, task: &str, tenant: u32) -> i64 {
        let sql = format!(
            "select count(*) from {}.job where task = $1 and partition = $2 and state = 'ready'",
            self.schema
        );
        self.client.query_one(&sql, &[&task, &tenant.to_string()]).expect("a count").get(0)
    }

    /// The starts of a task: partition and microseconds, in the order of their commits.
    fn starts(&mut self, task: &str) -> Vec<(String, i64)> {
        let sql = format!(
            "select partition, (extract(epoch from at) * 1000000)::bigint from {}_starts where task = $1 order by number",
            self.schema
        );
        let rows = self.client.query(&sql, &[&task]).expect("the starts");
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    }

    fn faults(&mut self) -> Vec<String> {
        let sql = format!("select what from {}_faults", self.schema);
        let rows = self.client.query(&sql, &[]).expect("the faults");
        rows.iter().map(|row| row.get(0)).collect()
    }
}

/// The most starts of one partition in any window.
fn most_in_a_window(starts: &[(String, i64)], window: Duration) -> usize {
    let mut by_partition = BTreeMap::<&str, Vec<i64>>::new();
    for (partition, at) in starts {
        by_partition.entry(partition).or_default().push(*at);
    }
    let window = i64::try_from(window.as_micros()).expect("short");
    let mut most = 0;
    for times in by_partition.values_mut() {
        times.sort_unstable();
        for (first, at) in times.iter().enumerate() {
            let end = times.partition_point(|other| *other < at + window);
            most = most.max(end - first);
        }
    }
    most
}

/// The least and the greatest number of starts of the busy tenants in any thousand starts that follow each other.
fn shares(starts: &[(String, i64)]) -> Vec<(usize, usize)> {
    let busy: Vec<String> = (0..BUSY).map(|tenant| tenant.to_string()).collect();
    // While the first ones are enqueued, not all of them have jobs.
    let windows = starts.chunks_exact(1_000).skip(1).map(|window| {
        let counts = busy.iter().map(|tenant| window.iter().filter(|(of, _)| of == tenant).count());
        let counts: Vec<usize> = counts.collect();
        let least = counts.iter().min().copied().unwrap_or_default();
        (least, counts.iter().max().copied().unwrap_or_default())
    });
    windows.collect()
}

/// The most bodies of a partition at once, without those that never ended: their process was killed or lost its session.
fn most_at_once(runs: &[Run], partition_of: &BTreeMap<String, String>) -> usize {
    let mut changes = BTreeMap::<&str, Vec<(i64, i32)>>::new();
    for run in runs.iter().filter(|run| run.task == "limited") {
        let (Some((end, cluster::Outcome::Done)), Some(partition)) =
            (run.end, partition_of.get(&run.job))
        else {
            continue;
        };
        changes.entry(partition).or_default().extend([(run.began, 1), (end, -1)]);
    }
    let mut most = 0;
    for changes in changes.values_mut() {
        changes.sort_unstable();
        let mut now = 0;
        for (_, by) in changes {
            now += *by;
            most = most.max(now);
        }
    }
    usize::try_from(most).unwrap_or_default()
}

#[test]
#[ignore = "it floods the server that the other tests use"]
fn limits_and_turns_of_four_processes_hold_at_each_commit_under_kills_and_freezes() {
    let Some(mut stage) = Stage::new() else { return };
    let seconds = std::env::var("TEST_LIMITS_SECONDS").ok().and_then(|text| text.parse().ok());
    let time = seconds.map_or_else(|| length(60, 8), Duration::from_secs);
    let begun = Instant::now();
    while begun.elapsed() < time {
        stage.feed();
        stage.fault();
        pass(Duration::from_millis(300));
    }
    stage.running.iter_mut().for_each(Process::kill);
    let (limited, fair) = (stage.starts("limited"), stage.starts("fair"));
    assert_eq!(stage.faults(), Vec::<String>::new(), "after {} starts", limited.len());
    let most = most_in_a_window(&limited, RATE.1);
    assert!(most <= RATE.0, "{most} starts of a partition in {:?}", RATE.1);
    let partitions: BTreeMap<String, String> = {
        let sql =
            format!("select id::text, partition from {}.jobs where task = 'limited'", stage.schema);
        let rows = stage.client.query(&sql, &[]).expect("the jobs");
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    };
    let runs: Vec<Run> = stage.gone.iter().chain(&stage.running).flat_map(Process::runs).collect();
    let at_once = most_at_once(&runs, &partitions);
    assert!(
        at_once <= usize::try_from(EACH).expect("small"),
        "{at_once} bodies of a partition at once"
    );
    let shares = shares(&fair);
    println!(
        "{} starts within limits of {ALL} and {EACH}, at most {most} in a window, {at_once} bodies at once; {} fair starts; \
         least and most of {BUSY} busy tenants in each thousand: {shares:?}",
        limited.len(),
        fair.len()
    );
    for (least, most) in &shares {
        assert!(*most * 10 <= *least * 12 + 10, "{least} and {most} of a thousand: {shares:?}");
    }
    assert!(!limited.is_empty() && !fair.is_empty());
}
