//! Partitions in which jobs start in their order.

use crate::given::{Given, LEASE, SECOND, job, session};
use crate::limits::{limits, numbers};
use crate::test_store::TestStore;
use scheduler_store::{
    Command, End, JobState, Limit, NewJob, OnPark, Open, Priority, SessionId, SessionTask,
    TaskRoom, WaitReason,
};

fn in_order(on_park: OnPark) -> Limit {
    Limit { running: Some(1), ordered: Some(on_park), ..Limit::default() }
}

/// A store whose task `a` has this limit of each partition, with two jobs of `x`.
fn ordered<T: TestStore>(on_park: OnPark) -> (Given<T>, SessionId) {
    let (given, id) = Given::<T>::limited(Limit::default(), in_order(on_park));
    for number in 1..=2 {
        given.add(number, "x");
    }
    (given, id)
}

fn failed() -> End {
    End::Failed { after: SECOND * 10, error: "no".to_owned() }
}

impl<T: TestStore> Given<T> {
    fn claimed(&self, id: SessionId) -> Vec<u128> {
        numbers(&self.poll_for(id, 9).jobs)
    }

    fn ends(&self, id: SessionId, number: u128, end: End) {
        self.finish(id, self.job(job(number)).held(), end);
    }

    fn reason(&self, number: u128) -> WaitReason {
        let waits = self.ask().waits(&[job(number)]).unwrap();
        waits.into_iter().next().expect("it is ready").reason
    }

    /// A process that could run the jobs, so that only their order is in the way.
    fn is_known(&self) {
        let request = Open {
            id: session(9),
            replaces: None,
            label: "web-1".to_owned(),
            build: String::new(),
            lease: SECOND * 3_600,
            application: String::new(),
            tasks: [SessionTask { name: "a".into(), version: 1 }].into(),
            queues: None,
            concurrency: 4,
            not_after: self.in_time(),
        };
        self.ask().open(&request).unwrap();
    }

    fn has_attempts(&self, number: u128, partition: &str, priority: Priority) {
        let partition = Some(partition.to_owned());
        let new = NewJob { partition, priority, max_attempts: 9, ..NewJob::new(job(number), "a") };
        self.enqueue(new);
    }
}

/// A job that is tried again, snoozes, is given back or was lost keeps its place, and none starts before it.
pub fn fl_jobs_of_a_partition_start_in_order_whatever_their_attempts_come_to<T: TestStore>() {
    let (mut given, id) = Given::<T>::limited(Limit::default(), in_order(OnPark::GoOn));
    given.is_known();
    for number in 1..=3 {
        given.has_attempts(number, "x", Priority::Normal);
    }
    given.has_attempts(11, "y", Priority::Normal);
    let place = given.job(job(1)).run_at;
    assert_eq!(given.claimed(id), [1, 11]);
    let undecodable = End::Undecodable { error: "no".into(), after: SECOND * 10, limit: 5 };
    for end in [failed(), End::Snooze { after: SECOND * 10 }, undecodable] {
        given.ends(id, 1, end);
        let due_at = given.now.after(SECOND * 10);
        let waiting = given.poll_for(id, 9);
        assert_eq!((numbers(&waiting.jobs), waiting.is_partial), (vec![], false));
        assert_eq!(waiting.next_job, Some(due_at), "then the next poll finds it");
        assert_eq!(given.reason(1), WaitReason::Later { due_at });
        assert_eq!(given.reason(2), WaitReason::Behind { job: job(1), is_parked: false });
        let waiting = given.job(job(1));
        assert_eq!((waiting.run_at, waiting.due_at()), (place, due_at));
        given.wait(SECOND * 10);
        assert_eq!(given.claimed(id), [1]);
    }
    given.ends(id, 1, End::GiveBack);
    assert_eq!(given.claimed(id), [1]);
    given.ends(id, 1, End::Done);
    let dying = given.open_for(2, LEASE, None);
    assert_eq!(given.claimed(dying), [2]);
    given.wait(LEASE + SECOND);
    given.reap(vec![given.lease_of(session(2))]);
    assert_eq!(given.claimed(id), [], "the lost one waits, and holds the others");
    given.wait(SECOND);
    assert_eq!(given.claimed(id), [2]);
    given.ends(id, 2, failed());
    given.command(&Command::Retry { job: job(2) });
    assert_eq!(given.claimed(id), [2], "retried by hand, it begins at once");
    given.ends(id, 2, failed());
    given.has_attempts(4, "x", Priority::Urgent);
    assert_eq!(given.reason(4), WaitReason::Behind { job: job(2), is_parked: false });
    assert_eq!(given.claimed(id), [], "none begins before one that has begun");
    given.command(&Command::Cancel { job: job(2) });
    assert_eq!(given.claimed(id), [4], "of the others priority counts before the time");
    given.ends(id, 4, End::Done);
    assert_eq!(given.claimed(id), [3]);
}

/// Behind a parked job the others go on, or wait until a person retries or deletes it.
pub fn fl_a_parked_job_holds_those_behind_it_where_the_limit_says_so<T: TestStore>() {
    let parked = || End::Park { error: "no".to_owned() };
    let (given, id) = ordered::<T>(OnPark::GoOn);
    assert_eq!(given.claimed(id), [1]);
    given.ends(id, 1, parked());
    assert_eq!(given.claimed(id), [2]);

    let (given, id) = ordered::<T>(OnPark::Hold);
    given.is_known();
    given.add(11, "y");
    assert_eq!(given.claimed(id), [1, 11]);
    given.ends(id, 1, parked());
    let held = given.poll_for(id, 9);
    assert_eq!((numbers(&held.jobs), held.is_partial, held.next_job), (vec![], false, None));
    assert_eq!(given.reason(2), WaitReason::Behind { job: job(1), is_parked: true });
    let depths = given.ask().limit_depths().unwrap();
    assert_eq!((depths[0].open, depths[0].held), (0, 1));
    given.command(&Command::Retry { job: job(1) });
    assert_eq!(given.claimed(id), [1], "it goes first");
    given.ends(id, 1, parked());
    given.command(&Command::Delete { job: job(1) });
    assert_eq!(given.claimed(id), [2]);
}

/// A partition has one order in all queues and versions, also where a process may not run its first job; and that process does not
/// poll again at once.
pub fn fl_order_counts_over_queues_versions_and_former_names<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    let mut spec = limits("a", Limit::default(), in_order(OnPark::GoOn));
    spec.former_names.push("old".to_owned());
    given.limit(id, spec, given.now);
    let of = |new: NewJob| NewJob { partition: Some("x".to_owned()), ..new };
    given.enqueue(of(NewJob { queue: "mail".to_owned(), ..NewJob::new(job(1), "a") }));
    given.wait(SECOND);
    given.enqueue(of(NewJob { ..NewJob::new(job(2), "old") }));
    given.wait(SECOND);
    given.enqueue(of(given.of_version(3, "a", 2)));
    given.wait(SECOND);
    given.add(4, "x");
    let poll = |version, queues: &[&str]| {
        let mut request = given.poll_of(id, &["a", "old"]);
        let tasks = request.tasks.iter().cloned();
        request.tasks = tasks.map(|task| TaskRoom { version, ..task }).collect();
        request.queues = Some(queues.iter().map(|queue| (*queue).into()).collect());
        let polled = given.ask().poll(&request).unwrap();
        assert!(!polled.jobs.is_empty() || !polled.is_partial);
        numbers(&polled.jobs)
    };
    let none: [u128; 0] = [];
    assert_eq!(poll(2, &["default"]), none);
    assert_eq!(poll(2, &["default", "mail"]), [1]);
    given.ends(id, 1, End::Done);
    assert_eq!(poll(2, &["mail"]), none);
    assert_eq!(poll(1, &["default"]), [2]);
    given.ends(id, 2, End::Done);
    assert_eq!(poll(1, &["default"]), none, "the first is of a newer version");
    assert_eq!(poll(2, &["default"]), [3]);
    given.ends(id, 3, End::Done);
    assert_eq!(poll(1, &["default"]), [4]);
}

/// Once the order no longer counts, a job waits for its next attempt, and the others go on.
pub fn fl_a_job_that_was_in_order_keeps_its_wait_without_the_order<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.limit(id, limits("a", Limit::default(), in_order(OnPark::GoOn)), given.now);
    for number in 1..=3 {
        given.has_attempts(number, "x", Priority::Normal);
    }
    assert_eq!(given.claimed(id), [1]);
    given.ends(id, 1, failed());
    given.wait(SECOND);
    given.limit(id, limits("a", Limit::default(), Limit::default()), given.now);
    assert_eq!(given.claimed(id), [2, 3]);
    given.ends(id, 2, failed());
    assert!(given.job(job(2)).run_at > given.now, "it has lost its place");
    given.wait(SECOND * 9);
    assert_eq!(given.claimed(id), [1]);
    assert_eq!(given.state(job(1)), JobState::Running);
}
