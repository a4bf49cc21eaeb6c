//! Polls while another transaction holds an old snapshot.

use std::collections::BTreeMap;
use std::time::Duration;

use postgres_server::Server;
use scheduler_postgres::postgres::Client;
use scheduler_store::{
    End, Enqueue, Finish, JobId, Limit, LimitSpec, NewJob, OnPark, Priority, Register, SessionId,
    Store, StoreTime, StoredJob, When,
};
use store_conformance::TestStore;

use crate::support::{END, SECOND, TestPostgres, client, id, open, poll_of, server, uuid};

/// More entries than each poll may read.
const GONE: u128 = 6_000;
/// The clock at the begin.
const START: StoreTime = StoreTime::from_micros(946_720_800_000_000);

/// A store in which so many jobs have run since the snapshot of the client.
struct HeldSnapshot {
    postgres: TestPostgres,
    snapshot: Client,
    session: SessionId,
}

impl HeldSnapshot {
    fn new() -> Option<Self> {
        Some(Self::of(server()?, GONE))
    }

    fn of(server: &Server, gone: u128) -> Self {
        let (postgres, mut snapshot) = (TestPostgres::new(server), client(server));
        postgres.set_now(START);
        let begin = "begin isolation level repeatable read; select count(*) from pg_class";
        snapshot.batch_execute(begin).expect("a snapshot");
        let session = open(postgres.store(), 1);
        let held = Self { postgres, snapshot, session };
        let jobs = (1_000..1_000 + gone).map(|number| NewJob::new(id(number), "a"));
        held.run(&jobs.collect::<Vec<_>>());
        held
    }

    /// One in which so many jobs of two partitions of a task with these limits have run.
    fn of_lanes(server: &Server, all: Limit, each: Limit) -> Self {
        let held = Self::of(server, 0);
        let limits = vec![LimitSpec { task: "a".to_owned(), all, each, ..LimitSpec::default() }];
        let register = Register {
            session: held.session,
            first_opened: StoreTime::from_micros(0),
            definitions: Vec::new(),
            limits,
            not_after: END,
        };
        held.run(&(1_000..1_000 + GONE).map(lane_of).collect::<Vec<_>>());
        held.store().register(&register).expect("an answer");
        held
    }

    /// Runs jobs, and all others.
    fn run(&self, jobs: &[NewJob]) {
        for batch in jobs.chunks(1_000) {
            self.enqueue(batch.to_vec());
        }
        while let claimed @ [_, ..] = &*self.claim(500) {
            self.end(claimed);
        }
    }

    fn end(&self, claimed: &[StoredJob]) {
        let session = self.session;
        let end =
            |job: &StoredJob| Finish { progress: None, session, held: job.held(), end: End::Done };
        self.store().finish(&claimed.iter().map(end).collect::<Vec<_>>()).expect("ends");
    }

    fn store(&self) -> &dyn Store {
        self.postgres.store()
    }

    fn schema(&self) -> String {
        match &self.postgres {
            TestPostgres::Real { store, .. } => store.schema().to_owned(),
            TestPostgres::Skipped(_) => unreachable!("there is a server"),
        }
    }

    fn enqueue(&self, jobs: Vec<NewJob>) {
        self.store().enqueue(&Enqueue { jobs, not_after: END }).expect("they are accepted");
    }

    fn claim(&self, limit: u32) -> Vec<StoredJob> {
        self.store().poll(&poll_of(self.session, "a", limit)).expect("a poll").jobs
    }

    fn claimed(&self) -> Vec<JobId> {
        self.claim(500).iter().map(|job| job.id).collect()
    }

    fn at(&self, after: Duration) {
        self.postgres.set_now(START.after(after));
    }

    /// The number of entries and pages of the index of ready jobs that were read so far.
    fn read(&mut self, server: &Server) -> i64 {
        self.read_of(server, "'job_ready'")
    }

    /// The number of entries and pages of indexes that were read so far.
    fn read_of(&mut self, server: &Server, indexes: &str) -> i64 {
        let sql = format!(
            "select sum(idx_tup_read + idx_blks_read + idx_blks_hit)::bigint
             from pg_stat_user_indexes join pg_statio_user_indexes using (indexrelid, schemaname, indexrelname)
             where schemaname = '{}' and indexrelname in ({indexes})",
            self.schema()
        );
        // A connection reports its counters with a request that comes a second after the last report; those of an index that another
        // one reports just then are left to the next.
        for _ in 0..2 {
            self.snapshot.batch_execute("select pg_sleep(1.2)").expect("a second");
            self.claim(0);
        }
        let mut client = client(server);
        client.query_one(&sql, &[]).expect("the counter").get(0)
    }
}

#[test]
fn jobs_that_are_gone_are_not_walked_by_each_poll() {
    let Some(server) = server() else { return };
    let mut held = HeldSnapshot::of(server, GONE);
    held.at(SECOND * 10);
    assert_eq!(held.claimed(), []);
    assert_idle_polls_read_little(&mut held, server);
    held.snapshot.batch_execute("commit").expect("an end");
}

/// The entries are known to be dead, since no other transaction has a snapshot; but their pages stay until the next vacuum.
#[test]
fn the_pages_of_a_backlog_that_is_gone_are_not_walked_by_each_poll() {
    let Some(server) = Server::start() else { return };
    let mut held = HeldSnapshot::of(&server, 20_000);
    held.snapshot.batch_execute("commit").expect("an end");
    for second in 10..=12 {
        held.at(SECOND * second);
        assert_eq!(held.claimed(), [], "this poll walks the index");
    }
    assert_idle_polls_read_little(&mut held, &server);
}

/// A backlog that was enqueued at once: all of its jobs are due at one instant.
#[test]
fn each_poll_begins_where_the_last_one_has_ended() {
    let Some(server) = server() else { return };
    let mut held = HeldSnapshot::of(server, 0);
    held.enqueue((1_000..4_000).map(|number| NewJob::new(id(number), "a")).collect());
    let before = held.read(server);
    for millis in 0..30 {
        held.at(SECOND * 2 + Duration::from_millis(millis));
        assert_eq!(held.claim(100).len(), 100);
    }
    let read = held.read(server) - before;
    assert!(read < 30_000, "3,000 jobs were claimed with {read} entries and pages");
}

fn assert_idle_polls_read_little(held: &mut HeldSnapshot, server: &Server) {
    let before = held.read(server);
    for _ in 0..50 {
        assert_eq!(held.claimed(), []);
    }
    let read = held.read(server) - before;
    assert!(read < 1_000, "50 idle polls read {read} entries and pages");
}

/// A job of one of two partitions.
fn lane_of(number: u128) -> NewJob {
    let partition = Some(["flood", "other"][usize::from(number.is_multiple_of(10))].to_owned());
    NewJob { partition, ..NewJob::new(id(number), "a") }
}

fn running(running: u32) -> Limit {
    Limit { running: Some(running), ..Limit::default() }
}

#[test]
fn fl19_claims_from_lanes_do_not_walk_jobs_that_are_gone() {
    let Some(server) = server() else { return };
    let none = Limit::default();
    let ordered = Limit { ordered: Some(OnPark::Hold), ..running(1) };
    for (all, each) in
        [(none, none), (none, running(1_000)), (running(1_000), none), (none, ordered)]
    {
        let mut held = HeldSnapshot::of_lanes(server, all, each);
        held.enqueue((20_000..22_000).map(lane_of).collect());
        let indexes = "'job_lane', 'job_partition', 'job_limited', 'job_held'";
        let before = held.read_of(server, indexes);
        let mut count = 0;
        for millis in 0..40 {
            held.at(SECOND * 20 + Duration::from_millis(millis));
            let claimed = held.claim(20);
            count += claimed.len();
            held.end(&claimed);
        }
        let read = held.read_of(server, indexes) - before;
        println!("{read} entries and pages for {count} jobs with {all:?} and {each:?}");
        // In a partition with order one starts at a time, and none while the walk rests.
        assert!(count == 800 || each.ordered.is_some() && (4..20).contains(&count), "{count} jobs");
        assert!(read < 200_000, "{count} jobs were claimed with {read} entries and pages");
    }
}

#[test]
fn fl19_limits_hold_where_jobs_that_are_gone_are_not_walked() {
    let Some(server) = server() else { return };
    for (all, each, most) in [(Limit::default(), running(3), 6), (running(5), running(4), 5)] {
        let held = HeldSnapshot::of_lanes(server, all, each);
        held.enqueue((20_000..20_800).map(lane_of).collect());
        let mut going = Vec::new();
        for millis in 0..40 {
            held.at(SECOND * 20 + Duration::from_millis(millis));
            going.extend(held.claim(500));
            assert_eq!(going.len(), most, "after {millis} ms");
            if millis % 3 == 0 {
                held.end(&going.split_off(if millis % 2 == 0 { 0 } else { 2 }));
            }
        }
    }
}

#[test]
fn fl19_partitions_take_turns_where_jobs_that_are_gone_are_not_walked() {
    let Some(server) = server() else { return };
    let held = HeldSnapshot::of_lanes(server, Limit::default(), Limit::default());
    let partition = |number: u128| Some(format!("tenant {}", number % 50));
    let of =
        |number| NewJob { partition: partition(number), ..NewJob::new(id(20_000 + number), "a") };
    held.enqueue((0..1_000).map(of).collect());
    let mut starts = BTreeMap::<String, u32>::new();
    for millis in 0..200 {
        held.at(SECOND * 20 + Duration::from_millis(millis));
        let [job] = &*held.claim(1) else { panic!("one job after {millis} ms") };
        *starts.entry(job.partition.clone().expect("a partition")).or_default() += 1;
    }
    assert_eq!(starts.len(), 50, "{starts:?}");
}

/// The jobs that ran are counted by each poll, also while none may start.
#[test]
fn fl19_a_limit_that_is_reached_costs_no_walk_over_jobs_that_ran() {
    let Some(server) = server() else { return };
    for (all, each) in [(running(5), Limit::default()), (Limit::default(), running(5))] {
        let mut held = HeldSnapshot::of_lanes(server, all, each);
        held.enqueue((20_001..20_009).map(lane_of).collect());
        held.at(SECOND * 20);
        assert_eq!(held.claim(20).len(), 5);
        let indexes = "'job_lane', 'job_partition', 'job_limited'";
        let before = held.read_of(server, indexes);
        for millis in 0..100 {
            held.at(SECOND * 20 + Duration::from_millis(millis));
            assert_eq!(held.claim(20).len(), 0);
        }
        let read = held.read_of(server, indexes) - before;
        println!("{read} entries and pages with {all:?} and {each:?}");
        assert!(read < 100_000, "100 polls read {read} entries and pages");
    }
}

/// An urgent job, and one of a partition that had none.
#[test]
fn fl19_a_job_before_those_of_the_last_claim_is_claimed_by_the_next_whole_walk() {
    let Some(server) = server() else { return };
    let held = HeldSnapshot::of_lanes(server, Limit::default(), Limit::default());
    held.enqueue((20_000..20_100).map(lane_of).collect());
    let next = |limit| held.claim(limit).iter().map(|job| job.id).collect::<Vec<_>>();
    assert_eq!(next(2), [id(20_000), id(20_001)]);
    held.enqueue(vec![
        NewJob { priority: Priority::High, ..lane_of(1) },
        NewJob { partition: Some("new".to_owned()), ..lane_of(2) },
    ]);
    assert_eq!(next(2), [id(20_010), id(20_002)]);
    held.at(SECOND * 60);
    let mut claimed = next(3);
    claimed.sort_unstable();
    assert_eq!(claimed, [id(1), id(2), id(20_020)]);
}

#[test]
fn a_job_that_is_enqueued_is_claimed_by_the_next_poll() {
    let Some(held) = HeldSnapshot::new() else { return };
    for number in 1..=3 {
        held.at(Duration::from_millis(100) * u32::try_from(number).expect("small"));
        held.enqueue(vec![
            NewJob::new(id(number), "a"),
            NewJob { when: When::After(SECOND * 60), ..NewJob::new(id(10 + number), "a") },
        ]);
        assert_eq!(held.claimed(), [id(number)]);
    }
}

#[test]
fn a_retry_is_claimed_by_the_next_poll() {
    let Some(held) = HeldSnapshot::new() else { return };
    held.enqueue(vec![NewJob::new(id(1), "a")]);
    let [job] = &*held.claim(500) else { panic!("one job") };
    let park = End::Park { error: "no".to_owned() };
    let park = Finish { progress: None, session: held.session, held: job.held(), end: park };
    held.store().finish(&[park]).expect("an answer");
    held.at(Duration::from_millis(100));
    assert_eq!(held.claimed(), []);
    held.store().command(&scheduler_store::Command::Retry { job: id(1) }, END).expect("an answer");
    assert_eq!(held.claimed(), [id(1)]);
}

/// The entry of the job lies before those that most polls look at.
#[test]
fn a_job_of_a_transaction_that_ends_late_is_claimed_by_the_next_whole_walk() {
    let Some(held) = HeldSnapshot::new() else { return };
    let mut late = client(server().expect("a server"));
    let enqueue = format!("begin; select {}.enqueue('a', id => {})", held.schema(), uuid(1));
    late.batch_execute(&enqueue).expect("a request that is not committed");
    held.at(SECOND * 30);
    held.enqueue(vec![NewJob::new(id(2), "a")]);
    assert_eq!(held.claimed(), [id(2)], "this poll walks the index");
    late.batch_execute("commit").expect("a commit");
    assert_eq!(held.claimed(), []);
    held.at(SECOND * 31);
    assert_eq!(held.claimed(), [id(1)]);
}

#[test]
fn a_job_of_a_new_queue_is_claimed_by_the_next_whole_walk() {
    let Some(held) = HeldSnapshot::new() else { return };
    held.enqueue(vec![NewJob { queue: "new".to_owned(), ..NewJob::new(id(1), "a") }]);
    assert_eq!(held.claimed(), [], "this poll walks the index");
    held.at(SECOND);
    assert_eq!(held.claimed(), [id(1)]);
}

/// Other tasks have other lines.
#[test]
fn the_lines_of_one_task_do_not_stand_for_those_of_another() {
    let Some(held) = HeldSnapshot::new() else { return };
    held.enqueue(vec![NewJob::new(id(1), "b")]);
    let polled = held.store().poll(&poll_of(held.session, "b", 500)).expect("a poll");
    assert_eq!(polled.jobs.len(), 1);
}

/// As after a change to another server.
#[test]
fn a_clock_that_goes_back_hides_no_job() {
    let Some(held) = HeldSnapshot::new() else { return };
    for (back, number) in [(SECOND * 10, 1), (SECOND * 3_600, 2)] {
        assert_eq!(held.claimed(), []);
        held.postgres.set_now(START.before(back));
        held.enqueue(vec![NewJob::new(id(number), "a")]);
        assert_eq!(held.claimed(), [id(number)]);
        held.at(SECOND);
    }
}
