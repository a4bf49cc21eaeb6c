//! Limits of tasks, and partitions that take turns.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::given::{Given, LEASE, SECOND, job, session};
use crate::test_store::TestStore;
use scheduler_store::{
    Command, CommandOutcome, EXPIRED, End, Enqueue, Enqueued, Expiry, JobId, JobState, Key,
    KeyUntil, Limit, LimitDepth, LimitOverride, LimitScope, LimitSpec, NewJob, OnConflict, OnLost,
    Open, PartitionDepth, Pause, PauseScope, Payload, Poll, Polled, Priority, Rate, Refusal,
    Register, SessionId, SessionTask, StoreError, StoreTime, StoredJob, WaitReason, When,
};

const MINUTE: Duration = Duration::from_secs(60);

fn running(running: u32) -> Limit {
    Limit { running: Some(running), ..Limit::default() }
}

fn rate(starts: u32, period: Duration) -> Limit {
    Limit { rate: Some(Rate { starts, period, burst: 1 }), ..Limit::default() }
}

pub(crate) fn limits(task: &str, all: Limit, each: Limit) -> LimitSpec {
    LimitSpec { task: task.to_owned(), former_names: Vec::new(), all, each }
}

impl<T: TestStore> Given<T> {
    pub(crate) fn limit(&self, id: SessionId, spec: LimitSpec, first_opened: StoreTime) {
        let (definitions, limits, not_after) = (Vec::new(), vec![spec], self.in_time());
        let request = Register { session: id, first_opened, definitions, limits, not_after };
        assert!(self.ask().register(&request).unwrap().is_alive);
    }

    /// A store whose task `a` has these limits.
    pub(crate) fn limited(all: Limit, each: Limit) -> (Self, SessionId) {
        let (given, id) = Self::session();
        given.limit(id, limits("a", all, each), given.now);
        (given, id)
    }

    fn by_hand(&self, scope: LimitScope, limit: Option<Limit>) {
        let by_hand =
            |limit| LimitOverride { limit, by: "ada".into(), reason: "their API is slow".into() };
        let limit = limit.map(by_hand);
        self.command(&Command::SetLimit { task: "a".to_owned(), scope, limit });
    }

    pub(crate) fn add(&self, number: u128, partition: &str) -> JobId {
        let partition = Some(partition.to_owned());
        self.enqueue(NewJob { partition, ..NewJob::new(job(number), "a") });
        job(number)
    }

    pub(crate) fn poll_for(&self, id: SessionId, limit: u32) -> Polled {
        self.ask().poll(&Poll { limit, ..self.poll_of(id, &["a"]) }).unwrap()
    }
}

fn end_all<T: TestStore>(given: &Given<T>, id: SessionId, jobs: &[StoredJob]) {
    for job in jobs {
        given.finish(id, job.held(), End::Done);
    }
}

pub(crate) fn numbers(jobs: &[StoredJob]) -> Vec<u128> {
    jobs.iter().map(|job| job.id.as_uuid().as_u128()).collect()
}

fn partitions(jobs: &[StoredJob]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for job in jobs {
        *counts.entry(job.partition.as_deref().unwrap_or("none")).or_default() += 1;
    }
    counts
}

/// A running job takes a place, in any process, and each end of it frees the place.
pub fn fl_no_more_jobs_run_than_the_limit_of_a_partition<T: TestStore>() {
    let (given, id) = Given::<T>::limited(Limit::default(), running(2));
    for number in 1..=4 {
        given.add(number, "x");
        given.add(number + 10, "y");
    }
    let first = given.poll_for(id, 100);
    assert_eq!(partitions(&first.jobs), [("x", 2), ("y", 2)].into());
    assert!(first.is_full, "the end of one makes room");
    let other = given.open(2);
    assert_eq!(numbers(&given.poll_for(other, 100).jobs), []);
    let ends = [End::Done, End::Cancelled, End::GiveBack];
    for (end, held) in ends.into_iter().zip(&first.jobs) {
        given.finish(id, held.held(), end);
    }
    let next = given.poll_for(other, 100).jobs;
    assert_eq!(next.len(), 3, "{:?}", partitions(&next));
    assert_eq!(numbers(&given.poll_for(id, 100).jobs), []);
}

fn waiting(waiting: u32) -> Limit {
    Limit { waiting: Some(waiting), ..Limit::default() }
}

/// An enqueue of a guarded job is refused, with all of its batch, while as many due jobs wait as may: of its partition, and of its task in the
/// queue. A job that the store has is no new one.
pub fn fl_a_job_of_what_is_full_is_refused<T: TestStore>() {
    let (mut given, id) = Given::<T>::limited(waiting(4), waiting(2));
    let new = |number: u128, partition: &str| NewJob {
        partition: Some(partition.to_owned()),
        is_guarded: true,
        ..NewJob::new(job(number), "a")
    };
    let send = |given: &Given<T>, jobs: Vec<NewJob>| {
        let count = jobs.len();
        let answer = given.ask().enqueue(&Enqueue { jobs, not_after: given.in_time() });
        answer.map(|answers| assert_eq!(answers.len(), count))
    };
    let full = |partition: Option<&str>, waiting| {
        let partition = partition.map(str::to_owned);
        Err(StoreError::Refused(Refusal::Full { task: "a".to_owned(), partition, waiting }))
    };
    let later = NewJob { when: When::After(SECOND), ..new(9, "x") };
    assert_eq!(send(&given, vec![later, new(1, "x"), new(2, "x")]), Ok(()));
    assert_eq!(send(&given, vec![new(3, "y"), new(4, "x")]), full(Some("x"), 2));
    assert_eq!(given.ask().job(job(3)), Ok(None), "none of the batch");
    assert_eq!(send(&given, vec![NewJob { is_resent: true, ..new(2, "x") }]), Ok(()), "again");
    assert_eq!(send(&given, vec![NewJob { is_guarded: false, ..new(5, "x") }]), Ok(()));
    let in_mail = NewJob { queue: "mail".to_owned(), ..new(6, "x") };
    assert_eq!(send(&given, vec![in_mail]), Ok(()), "another queue");
    assert_eq!(send(&given, vec![new(7, "y"), new(8, "y")]), Ok(()), "it goes beyond by its batch");
    assert_eq!(send(&given, vec![new(10, "z")]), full(None, 4));
    let claimed = given.poll_for(id, 3).jobs;
    assert_eq!(claimed.len(), 3);
    assert_eq!(send(&given, vec![new(10, "z")]), Ok(()), "what runs does not wait");
    for held in claimed {
        given.finish(id, held.held(), End::Done);
        let again = NewJob { is_resent: true, ..new(held.id.as_uuid().as_u128(), "x") };
        assert_eq!(send(&given, vec![again]), Ok(()), "it was sent before");
    }
    given.wait(SECOND);
    given.by_hand(LimitScope::All, Some(waiting(1)));
    assert_eq!(send(&given, vec![new(11, "w")]), full(None, 1));
    given.by_hand(LimitScope::All, Some(waiting(99)));
    assert_eq!(send(&given, vec![new(11, "w")]), Ok(()));
}

/// All jobs of a task, those without a partition among them, also of another queue and by a former name.
pub fn fl_no_more_jobs_run_than_the_limit_of_a_task<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    let former_names = vec!["old".to_owned()];
    given.limit(
        id,
        LimitSpec { former_names, ..limits("a", running(3), Limit::default()) },
        given.now,
    );
    given.enqueue(NewJob { queue: "mail".to_owned(), ..NewJob::new(job(1), "a") });
    given.job_of(2, "old");
    given.add(3, "x");
    given.add(4, "x");
    given.job_of(5, "a");
    let claimed = given.poll(id, &["a", "old"]);
    assert_eq!((claimed.jobs.len(), claimed.is_full), (3, true));
    assert_eq!(given.poll(id, &["a", "old"]).jobs, []);
    given.finish(id, claimed.jobs[0].held(), End::Done);
    let next = given.poll(id, &["a", "old"]).jobs;
    assert_eq!(next.len(), 1);
    assert!(next[0].partition.is_some(), "it has got one");
}

/// A job counts until its session is reaped, and then its place is free.
pub fn fl_a_lost_job_keeps_its_place_until_it_is_reaped<T: TestStore>() {
    let (mut given, id) = Given::<T>::limited(Limit::default(), running(1));
    let dying = given.open_for(2, LEASE, None);
    given.add(1, "x");
    given.add(2, "x");
    assert_eq!(numbers(&given.poll_for(dying, 10).jobs), [1]);
    given.wait(LEASE + SECOND);
    assert_eq!(numbers(&given.poll_for(id, 10).jobs), []);
    given.reap(vec![given.lease_of(session(2))]);
    assert_eq!(numbers(&given.poll_for(id, 10).jobs), [2]);
    given.wait(SECOND);
    assert_eq!(numbers(&given.poll_for(id, 10).jobs), [], "the lost one waits for its place");
    given.finish(id, given.job(job(2)).held(), End::Done);
    assert_eq!(numbers(&given.poll_for(id, 10).jobs), [1]);
}

/// One with a million jobs does not starve the others.
pub fn fl_partitions_take_turns<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    for number in 0..60 {
        given.add(number, "flood");
    }
    for number in 0..4 {
        given.add(100 + number, "a");
        given.add(200 + number, "b");
    }
    let mut taken = Vec::new();
    for _ in 0..4 {
        let jobs = given.poll_for(id, 3).jobs;
        assert_eq!(partitions(&jobs), [("a", 1), ("b", 1), ("flood", 1)].into());
        taken.extend(jobs);
    }
    let jobs = given.poll_for(id, 4).jobs;
    assert_eq!(partitions(&jobs), [("flood", 4)].into(), "the others have none left");
    // Where a poll has room for fewer than there are, the next one goes on.
    for number in 0..2 {
        for (at, name) in ["a", "b", "c", "d", "e"].into_iter().enumerate() {
            given.add(300 + 10 * number + at as u128, name);
        }
    }
    let mut turns = Vec::new();
    for _ in 0..6 {
        let polled = given.poll_for(id, 2);
        assert!(polled.is_partial);
        turns.extend(polled.jobs.into_iter().filter_map(|job| job.partition));
    }
    turns.sort();
    let wanted: Vec<_> =
        ["a", "b", "c", "d", "e", "flood"].iter().flat_map(|name| [*name; 2]).collect();
    assert_eq!(turns, wanted);
}

/// By priority, due time and identity.
pub fn fl_a_partition_has_the_order_of_other_jobs<T: TestStore>() {
    let (given, id) = Given::<T>::limited(Limit::default(), running(1));
    let of = |number: u128, priority, seconds| NewJob {
        partition: Some("x".to_owned()),
        priority,
        when: When::At(given.now.before(SECOND * seconds)),
        ..NewJob::new(job(number), "a")
    };
    given.enqueue(of(4, Priority::Normal, 5));
    given.enqueue(of(3, Priority::Normal, 5));
    given.enqueue(of(5, Priority::Low, 90));
    given.enqueue(of(2, Priority::Normal, 6));
    given.enqueue(of(1, Priority::Urgent, 0));
    let order: Vec<_> = (0..5)
        .flat_map(|_| {
            let jobs = given.poll_for(id, 10).jobs;
            end_all(&given, id, &jobs);
            numbers(&jobs)
        })
        .collect();
    assert_eq!(order, [1, 2, 3, 4, 5]);
}

/// A job that is due later comes into its partition when it is due, and is a reason to wake.
pub fn fl_a_job_of_later_is_not_in_its_partition_yet<T: TestStore>() {
    let (mut given, id) = Given::<T>::limited(Limit::default(), running(1));
    let when = When::After(SECOND * 5);
    let partition = Some("x".to_owned());
    given.enqueue(NewJob {
        partition,
        when,
        priority: Priority::Urgent,
        ..NewJob::new(job(1), "a")
    });
    given.add(2, "x");
    let polled = given.poll_for(id, 10);
    assert_eq!(
        (numbers(&polled.jobs), polled.next_job),
        (vec![2], Some(given.now.after(SECOND * 5)))
    );
    given.wait(SECOND * 5);
    assert_eq!(numbers(&given.poll_for(id, 10).jobs), [], "one runs");
    given.finish(id, given.job(job(2)).held(), End::Failed { after: SECOND, error: "no".into() });
    assert_eq!(numbers(&given.poll_for(id, 10).jobs), [1]);
}

/// By the clock of the store: in any window of the period no more start than the rate says.
pub fn fl_starts_of_a_partition_keep_its_rate<T: TestStore>() {
    let (mut given, id) = Given::<T>::limited(Limit::default(), rate(6, MINUTE));
    for number in 0..40 {
        given.add(number, "x");
    }
    given.add(100, "y");
    let start = given.now;
    let first = given.poll_for(id, 10);
    assert_eq!(partitions(&first.jobs), [("x", 1), ("y", 1)].into());
    assert_eq!(first.next_job, Some(start.after(SECOND * 10)), "the partition opens");
    let mut starts = vec![start];
    while given.now < start.after(MINUTE * 3) {
        given.wait(SECOND * 2);
        let polled = given.poll_for(id, 10);
        starts.extend(polled.jobs.iter().map(|_| given.now));
        end_all(&given, id, &polled.jobs);
    }
    let window = |at: &StoreTime| {
        starts.iter().filter(|each| *at <= **each && **each < at.after(MINUTE)).count()
    };
    assert_eq!(starts.iter().map(window).max(), Some(6), "{starts:?}");
    assert!(starts.len() >= 16, "{}", starts.len());
}

/// The rate of all partitions together.
pub fn fl_starts_of_a_task_keep_its_rate<T: TestStore>() {
    let (mut given, id) = Given::<T>::limited(rate(60, MINUTE), Limit::default());
    for number in 0..10 {
        given.add(number, if number < 5 { "x" } else { "y" });
    }
    let polled = given.poll_for(id, 10);
    assert_eq!((polled.jobs.len(), polled.next_job), (1, Some(given.now.after(SECOND))));
    given.wait(SECOND);
    let next = given.poll_for(id, 10).jobs;
    assert_ne!(next[0].partition, polled.jobs[0].partition, "they take turns");
    assert_eq!(next.len(), 1);
}

/// A tick of such a task waits in its partition.
pub fn fl_a_tick_is_claimed_from_its_partition<T: TestStore>() {
    let (given, id) = Given::<T>::limited(Limit::default(), running(1));
    let partition = Some("x".to_owned());
    given.register(
        id,
        &scheduler_store::ScheduleSpec { partition, ..crate::given::definition("s", "a") },
    );
    given.add(1, "x");
    assert_eq!(numbers(&given.poll_for(id, 10).jobs), [1]);
    let fire = scheduler_store::Fire { claim: Some(u32::MAX), ..given.fire_of(id, "s", 2) };
    assert_eq!(given.fire(&fire), scheduler_store::Fired::Moved(None));
    assert_eq!(numbers(&given.poll_for(id, 10).jobs), []);
    given.finish(id, given.job(job(1)).held(), End::Done);
    assert_eq!(numbers(&given.poll_for(id, 10).jobs), [2]);
}

/// A limit by hand stays in a deploy, and counts at once.
pub fn fl_a_limit_by_hand_counts_at_once_and_survives_a_deploy<T: TestStore>() {
    let (given, id) = Given::<T>::limited(Limit::default(), running(5));
    for number in 0..9 {
        given.add(number, "x");
    }
    let set = |limit| given.by_hand(LimitScope::Each, limit);
    set(Some(running(2)));
    let first = given.poll_for(id, 100).jobs;
    assert_eq!(first.len(), 2);
    given.limit(id, limits("a", Limit::default(), running(5)), given.now.after(SECOND));
    assert_eq!(given.poll_for(id, 100).jobs.len(), 0, "the same in the code");
    let stored = given.ask().limits().unwrap().remove(0);
    assert_eq!((stored.limit(), stored.code), (running(2), Some(running(5))));
    assert_eq!(
        stored.by_hand.map(|hand| (hand.by, hand.reason)),
        Some(("ada".into(), "their API is slow".into()))
    );
    set(Some(running(1)));
    given.finish(id, first[0].held(), End::Done);
    assert_eq!(given.poll_for(id, 100).jobs.len(), 0, "one runs, and goes on");
    set(None);
    assert_eq!(given.poll_for(id, 100).jobs.len(), 4);
    given.limit(id, limits("a", Limit::default(), Limit::default()), given.now.before(SECOND));
    assert_eq!(given.poll_for(id, 100).jobs.len(), 0, "an older process has none");
    given.limit(id, limits("a", Limit::default(), Limit::default()), given.now.after(MINUTE));
    assert_eq!(given.poll_for(id, 100).jobs.len(), 3, "a newer one has none");
}

/// As of lines: a paused task, an unknown version, one lost twice, one long payload, and no more than begin at once.
pub fn fl_what_holds_for_a_poll_holds_for_its_partitions<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    let of = |number: u128, version, on_lost| NewJob {
        partition: Some(format!("p{number}")),
        on_lost,
        payload: Payload { version, bytes: b"1".to_vec() },
        ..NewJob::new(job(number), "a")
    };
    for number in 1..=4 {
        given.enqueue(of(number, 1, OnLost::Rerun));
    }
    given.enqueue(of(5, 7, OnLost::Rerun));
    let poll = |limit, abandon_limit| {
        let poll = Poll { limit, abandon_limit, ..given.poll_up_to(id, "a", 1) };
        numbers(&given.ask().poll(&poll).unwrap().jobs)
    };
    assert_eq!(poll(100, 1), [1], "no more than begin at once");
    let scope = scheduler_store::PauseScope::Task("a".to_owned());
    let (by, reason) = ("me".to_owned(), String::new());
    given.command(&Command::PauseJobs { scope: scope.clone(), until: None, by, reason });
    assert_eq!(poll(100, 100), []);
    given.command(&Command::ResumeJobs { scope });
    assert_eq!(poll(100, 100), [2, 3, 4], "a newer payload is left");
    let long = Payload { version: 1, bytes: vec![b' '; scheduler_store::CLAIM_BYTES_MAX + 1] };
    for number in 6..=7 {
        given.enqueue(NewJob { payload: long.clone(), ..of(number, 1, OnLost::Rerun) });
    }
    assert_eq!((poll(100, 100), poll(100, 100)), (vec![6], vec![7]));
}

/// Nothing is gained by a poll that comes at once: the room of such jobs is full until a run ends.
pub fn fl_a_poll_without_room_for_lost_jobs_is_complete<T: TestStore>() {
    let (given, id) = Given::<T>::limited(Limit::default(), running(1));
    given.add(1, "x");
    for _ in 0..2 {
        let held = given.poll_for(id, 1).jobs[0].held();
        given.finish(id, held, End::Lost { after: Duration::ZERO, max_lost: 9 });
    }
    let poll = |lost_limit| {
        let polled = given.ask().poll(&Poll { lost_limit, ..given.poll_of(id, &["a"]) }).unwrap();
        (numbers(&polled.jobs), polled.is_partial)
    };
    assert_eq!(poll(0), (vec![], false));
    assert_eq!(poll(1).0, [1]);
}

/// Cancelled, deleted and parked jobs take no place.
pub fn fl_jobs_that_do_not_run_take_no_place<T: TestStore>() {
    let (given, id) = Given::<T>::limited(running(1), running(1));
    for number in 1..=4 {
        given.add(number, "x");
    }
    given.command(&Command::Cancel { job: job(1) });
    given.command(&Command::Delete { job: job(2) });
    assert_eq!(numbers(&given.poll_for(id, 10).jobs), [3]);
    given.finish(id, given.job(job(3)).held(), End::Park { error: "no".into() });
    assert_eq!(numbers(&given.poll_for(id, 10).jobs), [4]);
    given.command(&Command::Retry { job: job(3) });
    assert_eq!(numbers(&given.poll_for(id, 10).jobs), []);
    given.finish(id, given.job(job(4)).held(), End::Done);
    assert_eq!(numbers(&given.poll_for(id, 10).jobs), [3]);
    assert_eq!(given.state(job(3)), JobState::Running);
}

/// Each job that is ready has the first reason that stands in its way, with the numbers that the claim counts.
pub fn fl_the_reason_why_a_job_does_not_run_is_the_one_by_which_it_is_not_claimed<T: TestStore>() {
    let mut given = Given::<T>::store();
    let id = session(1);
    let request = Open {
        id,
        replaces: None,
        label: "web-1".to_owned(),
        build: String::new(),
        lease: LEASE,
        application: String::new(),
        tasks: [SessionTask { name: "a".into(), version: 1 }].into(),
        queues: Some(["default".into()].into()),
        concurrency: 4,
        not_after: given.in_time(),
    };
    given.ask().open(&request).unwrap();
    given.limit(id, limits("a", running(3), rate(1, MINUTE)), given.now);
    for number in 1..=2 {
        for (at, partition) in [(0, "x"), (10, "y"), (20, "z")] {
            given.add(number + at, partition);
        }
    }
    let slow = NewJob { queue: "slow".to_owned(), ..NewJob::new(job(30), "a") };
    let newer = Payload { version: 2, ..Payload::default() };
    let newer = NewJob { payload: newer, ..NewJob::new(job(31), "a") };
    let later = NewJob { when: When::After(MINUTE), ..NewJob::new(job(32), "a") };
    for job in [slow, newer, later] {
        given.enqueue(job);
    }
    let waits = |given: &Given<T>, number: u128| {
        let waits = given.ask().waits(&[job(number), job(99), job(number)]).unwrap();
        assert!(waits.iter().all(|wait| wait.id == job(number)) && waits.len() < 2);
        waits.into_iter().next().map(|wait| wait.reason)
    };
    for number in [30, 31] {
        assert_eq!(waits(&given, number), Some(WaitReason::NoProcess));
        given.command(&Command::Delete { job: job(number) });
    }
    let due_at = given.now.after(MINUTE);
    assert_eq!(waits(&given, 32), Some(WaitReason::Later { due_at }));
    assert_eq!(waits(&given, 1), Some(WaitReason::Turn));
    let first = given.poll_for(id, 2).jobs;
    assert_eq!(partitions(&first), [("x", 1), ("y", 1)].into());
    assert_eq!(waits(&given, 1), None, "it runs");
    let opens_at = given.now.after(MINUTE);
    let (each, all) = (LimitScope::Each, LimitScope::All);
    assert_eq!(waits(&given, 2), Some(WaitReason::Rate { scope: each, opens_at }));
    assert_eq!(waits(&given, 21), Some(WaitReason::Turn), "another partition is open");
    let depth = |partition: &str, due, running, opens_at| {
        PartitionDepth::new(partition.to_owned(), due, running, opens_at)
    };
    let depths = given.ask().partitions("a", 9).unwrap();
    let (open, closed) = (None, Some(opens_at));
    let expected = [depth("z", 2, 0, open), depth("x", 1, 1, closed), depth("y", 1, 1, closed)];
    assert_eq!(depths, expected);
    assert_eq!(given.ask().partitions("a", 1).unwrap(), [depth("z", 2, 0, open)]);
    assert_eq!(given.ask().partitions("b", 9).unwrap(), []);
    given.poll_for(id, 1);
    assert_eq!(waits(&given, 22), Some(WaitReason::Full { scope: all, running: 3, limit: 3 }));
    let until = None;
    let (by, reason) = ("ada".to_owned(), "slow".to_owned());
    let scope = PauseScope::Queue("default".to_owned());
    let pause = Command::PauseJobs { scope: scope.clone(), until, by, reason };
    given.command(&pause);
    let pause = Pause::new(given.now, None, "ada", "slow");
    assert_eq!(waits(&given, 22), Some(WaitReason::Paused { scope, pause }));
    assert_eq!(waits(&given, 32), Some(WaitReason::Later { due_at }));
    given.wait(LEASE * 2);
    given.command(&Command::ResumeJobs { scope: PauseScope::Queue("default".to_owned()) });
    assert_eq!(waits(&given, 22), Some(WaitReason::NoProcess), "its lease has run out");
}

/// A job that no process has taken by its time is cancelled by the next poll, also one that a limit or a pause holds back; one that
/// was taken is not.
pub fn fx_a_job_that_has_not_begun_by_its_time_is_cancelled<T: TestStore>() {
    let (mut given, id) = Given::<T>::limited(running(1), Limit::default());
    let new = |number: u128, task: &str, expires| NewJob {
        key: Some(Key {
            text: number.to_string(),
            until: KeyUntil::End,
            on_conflict: OnConflict::Keep,
        }),
        expires: Some(expires),
        max_attempts: 2,
        ..NewJob::new(job(number), task)
    };
    let at = given.now.after(MINUTE);
    for job in [
        new(1, "a", Expiry::After(MINUTE)),
        new(2, "a", Expiry::After(MINUTE)),
        new(3, "b", Expiry::At(at)),
        NewJob { when: When::After(MINUTE), ..new(4, "b", Expiry::After(MINUTE)) },
        NewJob {
            payload: Payload { version: 1, bytes: vec![b'1'; 5 << 20] },
            ..new(5, "c", Expiry::At(at))
        },
    ] {
        given.enqueue(job);
    }
    let first = given.poll_for(id, 9);
    assert_eq!((numbers(&first.jobs), first.expired), (vec![1], BTreeMap::new()));
    given.finish(id, first.jobs[0].held(), End::Failed { after: MINUTE, error: "no".to_owned() });
    given.wait(MINUTE - Duration::from_micros(1));
    assert_eq!(given.poll_for(id, 0).expired, BTreeMap::new());
    given.wait(Duration::from_micros(1));
    let polled = given.poll_for(id, 0);
    let counts: Vec<_> = polled.expired.iter().map(|(task, count)| (&**task, *count)).collect();
    assert_eq!(
        (counts, polled.is_partial),
        (vec![("a", 1), ("b", 1)], true),
        "the long one is next"
    );
    assert_eq!(given.poll_for(id, 0).expired, [("c".to_owned(), 1)].into());
    let states = [1, 2, 3, 4, 5].map(|number| given.state(job(number)));
    let over = JobState::Cancelled;
    assert_eq!(states, [JobState::Ready, over, over, JobState::Ready, over]);
    let expired = given.job(job(2));
    assert_eq!(expired.error.as_deref(), Some(EXPIRED));
    assert_eq!((expired.finished_at, expired.expires_at), (Some(given.now), Some(at)));
    let mut again = new(7, "b", Expiry::After(MINUTE));
    again.key =
        Some(Key { text: "3".to_owned(), until: KeyUntil::End, on_conflict: OnConflict::Keep });
    assert_eq!(given.enqueue(again), Enqueued::Accepted(job(7)), "its key is free");
    assert_eq!(given.command(&Command::Retry { job: job(2) }), CommandOutcome::Done);
    given.wait(MINUTE * 9);
    assert_eq!(given.poll_for(id, 0).expired, [("b".to_owned(), 2)].into());
    assert_eq!(given.state(job(2)), JobState::Ready, "retried by hand, it does not expire");
    assert_eq!(given.state(job(1)), JobState::Ready, "it has begun");
}

/// While jobs of a key come, the one that waits has the payload of the latest, and is due when none has come for a time, or at most so
/// long after the first.
pub fn fx_a_job_that_is_asked_for_again_and_again_waits_for_the_last_but_not_for_ever<
    T: TestStore,
>() {
    let (mut given, id) = Given::<T>::session();
    let ask = |given: &Given<T>, number: u128, version| {
        let debounce = OnConflict::Debounce(SECOND * 10);
        given.enqueue(NewJob {
            key: Some(Key { text: "k".to_owned(), until: KeyUntil::Start, on_conflict: debounce }),
            when: When::After(SECOND * 3),
            ..given.of_version(number, "a", version)
        })
    };
    let first = given.now;
    assert_eq!(ask(&given, 1, 1), Enqueued::Accepted(job(1)));
    for (second, due) in [(2, 5), (4, 7), (6, 9), (8, 10), (9, 10)] {
        given.wait(first.after(SECOND * second).since(given.now));
        assert_eq!(ask(&given, 100 + u128::from(second), second), Enqueued::Replaced(job(1)));
        let waiting = given.job(job(1));
        assert_eq!((waiting.run_at, waiting.payload.version), (first.after(SECOND * due), second));
        assert!(given.poll(id, &["a"]).jobs.is_empty());
    }
    given.wait(SECOND);
    assert_eq!(numbers(&given.poll(id, &["a"]).jobs), [1]);
    assert_eq!(
        ask(&given, 2, 3),
        Enqueued::Accepted(job(2)),
        "what changes during a run is seen by the next"
    );
}

/// Of each task that has a limit: the due jobs that may start, no more than it has room for, and those that a limit holds back.
pub fn fl_due_jobs_are_counted_by_whether_a_limit_holds_them_back<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.limit(id, limits("a", running(3), rate(1, MINUTE)), given.now);
    for number in 1..=2 {
        for (at, partition) in [(0, "x"), (10, "y"), (20, "z")] {
            given.add(number + at, partition);
        }
    }
    given.enqueue(NewJob { partition: Some("x".to_owned()), ..NewJob::new(job(30), "b") });
    given.poll_for(id, 2);
    given.wait(SECOND);
    given.add(40, "z");
    let mut expected = LimitDepth::empty("default".to_owned(), "a".to_owned());
    (expected.open, expected.open_partitions, expected.oldest_open) = (1, 1, Some(SECOND));
    (expected.held, expected.held_partitions) = (4, 2);
    assert_eq!(given.ask().limit_depths().unwrap(), [expected.clone()], "`b` has no limit");
    given.poll_for(id, 1);
    (expected.open, expected.open_partitions, expected.oldest_open) = (0, 0, None);
    (expected.held, expected.held_partitions) = (4, 3);
    assert_eq!(given.ask().limit_depths().unwrap(), [expected], "the limit of all is full");
}
