//! Jobs that are claimed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::given::{Given, LEASE, SECOND, job};
use crate::test_store::TestStore;
use scheduler_store::{Command, CommandOutcome, JobState, NewJob, OnLost, Payload, Priority, When};
use scheduler_store::{End, Enqueue, Poll, TaskRoom};

/// Over tasks and queues: priority, then due time, then identity.
pub fn jobs_are_claimed_by_priority_and_due_time_and_identity<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    let add = |number: u128, task: &str, queue: &str, priority, seconds| {
        let when = When::At(given.now.before(SECOND * seconds));
        let (queue, new) = (queue.to_owned(), NewJob::new(job(number), task));
        given.enqueue(NewJob { queue, priority, when, ..new });
    };
    add(1, "a", "default", Priority::Low, 90);
    add(2, "b", "default", Priority::Normal, 5);
    add(4, "a", "mail", Priority::Normal, 5);
    add(3, "c", "default", Priority::Normal, 5);
    add(5, "a", "default", Priority::Normal, 6);
    add(6, "b", "default", Priority::Urgent, 0);
    add(7, "a", "default", Priority::High, 1);
    let poll = Poll { limit: 6, ..given.poll_of(id, &["a", "b", "c"]) };
    let claimed = given.ask().poll(&poll).unwrap().jobs;
    let numbers: Vec<_> = claimed.iter().map(|job| job.id.as_uuid().as_u128()).collect();
    assert_eq!(numbers, [6, 7, 5, 2, 3, 4]);
    let fences: Vec<_> = claimed.iter().map(|job| job.fence.0).collect();
    assert!(fences.is_sorted(), "{fences:?}");
    assert!(claimed.iter().all(|job| job.attempt == 1 && job.started_at == Some(given.now)));
    assert_eq!(claimed[0], given.job(job(6)));
}

/// A job of a task that the process does not know is left alone, and is no reason to wake.
pub fn an_unknown_task_is_never_claimed<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    let unknown = given.job_of(1, "unknown");
    given.job_of(2, "known");
    let later = When::After(SECOND);
    given.enqueue(NewJob { when: later, ..NewJob::new(job(3), "unknown") });
    given.enqueue(NewJob { when: When::After(SECOND * 2), ..NewJob::new(job(4), "known") });
    let polled = given.poll(id, &["known"]);
    assert_eq!(polled.jobs.len(), 1);
    assert_eq!(polled.next_job, Some(given.now.after(SECOND * 2)));
    assert_eq!((given.state(unknown), given.job(unknown).attempt), (JobState::Ready, 0));
}

/// A job with a payload that is newer than the process knows is left alone, and is no reason to wake. A process that knows it
/// claims it, and all older ones.
pub fn r24_a_payload_of_an_unknown_version_is_never_claimed<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    given.enqueue(NewJob { priority: Priority::Urgent, ..given.of_version(1, "a", 3) });
    for (number, version) in [(2, 2), (3, 1), (4, 0), (5, 3), (6, u32::MAX)] {
        given.versioned(number, "a", version);
    }
    let later = |number, version, seconds| {
        let when = When::After(SECOND * seconds);
        given.enqueue(NewJob { when, ..given.of_version(number, "a", version) });
    };
    later(7, 3, 1);
    later(8, 2, 2);
    let claim = |version| {
        let polled = given.ask().poll(&given.poll_up_to(id, "a", version)).unwrap();
        let ids = polled.jobs.iter().map(|job| job.id.as_uuid().as_u128());
        (ids.collect::<Vec<_>>(), polled.next_job)
    };
    assert_eq!(claim(2), (vec![2, 3, 4], Some(given.now.after(SECOND * 2))));
    assert_eq!((given.state(job(1)), given.job(job(1)).attempt), (JobState::Ready, 0));
    assert_eq!(claim(2), (vec![], Some(given.now.after(SECOND * 2))));
    assert_eq!(claim(3), (vec![1, 5], Some(given.now.after(SECOND))));
    assert_eq!(claim(u32::MAX).0, [6]);
}

/// Each task has its own version, and of one that a poll names twice the last one counts, as its room does.
pub fn r24_the_known_versions_are_those_of_each_task<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    for (number, task) in [(1, "a"), (2, "b"), (3, "c")] {
        given.versioned(number, task, 2);
    }
    let of = |task: &str, version| TaskRoom { task: task.into(), room: 9, version };
    let tasks = Arc::from([of("a", 1), of("b", 2), of("c", 3), of("c", 1)]);
    let poll = Poll { tasks, ..given.poll_of(id, &[]) };
    let claimed = given.ask().poll(&poll).unwrap().jobs;
    assert_eq!(claimed.iter().map(|job| &*job.task).collect::<Vec<_>>(), ["b"]);
}

/// Jobs of several versions are claimed in the order of priority, due time and identity, within the room of their task.
pub fn r24_versions_do_not_change_the_order_of_claims<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    for (number, version, seconds) in [(1, 2, 1), (2, 0, 2), (3, 1, 3), (4, 2, 4), (5, 9, 9)] {
        let when = When::At(given.now.before(SECOND * seconds));
        given.enqueue(NewJob { when, ..given.of_version(number, "a", version) });
    }
    let numbers = |limit| {
        let poll = Poll { limit, ..given.poll_up_to(id, "a", 2) };
        let claimed = given.ask().poll(&poll).unwrap().jobs;
        claimed.iter().map(|job| job.id.as_uuid().as_u128()).collect::<Vec<_>>()
    };
    assert_eq!(numbers(3), [4, 3, 2]);
    assert_eq!(numbers(3), [1]);
}

/// An edit by hand changes what is known.
pub fn an_edited_payload_has_the_version_of_the_edit<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    let newer = given.versioned(1, "a", 3);
    let poll = given.poll_up_to(id, "a", 2);
    assert_eq!(given.ask().poll(&poll).unwrap().jobs, []);
    let payload = Payload { version: 2, bytes: b"{}".to_vec() };
    let edit = Command::Edit { job: newer, fence: None, payload };
    assert_eq!(given.command(&edit), CommandOutcome::Done);
    assert_eq!(given.ask().poll(&poll).unwrap().jobs.len(), 1);
}

/// Only the queues that the process serves.
pub fn only_the_queues_of_the_process_are_served<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    for (number, queue) in [(1, "default"), (2, "mail"), (3, "Mail")] {
        given.enqueue(NewJob { queue: queue.to_owned(), ..NewJob::new(job(number), "a") });
    }
    let queues: Arc<[Arc<str>]> =
        Arc::from([Arc::from("mail"), Arc::from("mail"), Arc::from("none")]);
    let poll = Poll { queues: Some(queues), ..given.poll_of(id, &["a"]) };
    let claimed = given.ask().poll(&poll).unwrap().jobs;
    assert_eq!(claimed.iter().map(|job| &*job.queue).collect::<Vec<_>>(), ["mail"]);
    let none = Poll { queues: Some(Arc::from([])), ..given.poll_of(id, &["a"]) };
    assert_eq!(given.ask().poll(&none).unwrap().jobs, []);
}

/// No more of a task than its room allows; others of lower priority take the rest.
pub fn no_more_of_a_task_is_claimed_than_it_has_room<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    for number in 1..=5 {
        given.enqueue(NewJob { priority: Priority::High, ..NewJob::new(job(number), "a") });
        given.job_of(number + 10, "b");
    }
    let room = |task: &str, room| TaskRoom { task: task.into(), room, version: 0 };
    let tasks = Arc::from([room("a", 2), room("b", 9)]);
    let poll = Poll { tasks, limit: 4, ..given.poll_of(id, &[]) };
    let claimed = given.ask().poll(&poll).unwrap().jobs;
    let numbers: Vec<_> = claimed.iter().map(|job| job.id.as_uuid().as_u128()).collect();
    assert_eq!(numbers, [1, 2, 11, 12]);
}

/// A job that is due later is not claimed, and the poll returns the next due time.
pub fn a_job_is_not_claimed_before_it_is_due<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    let micro = Duration::from_micros(1);
    given.enqueue(NewJob { when: When::After(SECOND), ..NewJob::new(job(1), "a") });
    given.wait(SECOND - micro);
    let polled = given.poll(id, &["a"]);
    assert_eq!((polled.jobs.len(), polled.next_job), (0, Some(given.now.after(micro))));
    given.wait(micro);
    let polled = given.poll(id, &["a"]);
    assert_eq!((polled.jobs.len(), polled.next_job), (1, None));
}

/// Jobs that were lost once come back together; one that was lost again comes alone.
pub fn r14_jobs_that_were_lost_twice_in_a_row_are_claimed_within_their_limit<T: TestStore>() {
    let mut given = Given::<T>::store();
    for number in 1..=3 {
        given.job_of(number, "a");
    }
    for loss in 0..2 {
        let session = given.open_for(loss + 1, LEASE, None);
        let poll = Poll { lost_limit: 1, ..given.poll_of(session, &["a"]) };
        assert_eq!(given.ask().poll(&poll).unwrap().jobs.len(), 3, "after {loss} losses");
        given.wait(LEASE);
        given.reap(vec![given.lease_of(session)]);
        given.wait(SECOND);
    }
    given.job_of(4, "a");
    let id = given.open(3);
    for expected in [2, 1, 1] {
        let poll = Poll { lost_limit: 1, ..given.poll_of(id, &["a"]) };
        let claimed = given.ask().poll(&poll).unwrap().jobs;
        assert_eq!(claimed.len(), expected);
        assert_eq!(claimed.iter().filter(|job| job.lost == 2).count(), 1);
        for job in claimed {
            given.finish(id, job.held(), End::Done);
        }
    }
}

/// A job that may run once at most is not claimed ahead of its start.
pub fn r14_jobs_that_run_once_at_most_are_claimed_within_their_limit<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    for number in 1..=3 {
        let new = NewJob { on_lost: OnLost::Abandon, ..NewJob::new(job(number), "a") };
        given.enqueue(new);
    }
    given.job_of(4, "a");
    let poll = Poll { abandon_limit: 1, ..given.poll_of(id, &["a"]) };
    let claimed = given.ask().poll(&poll).unwrap().jobs;
    let numbers: Vec<_> = claimed.iter().map(|job| job.id.as_uuid().as_u128()).collect();
    assert_eq!(numbers, [1, 4]);
}

/// Each change of hands has a greater fence than all before it, over all jobs.
pub fn fences_grow_over_all_jobs<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    let mut last = 0;
    for number in 1..=5 {
        given.job_of(number, "a");
        let claimed = given.claim(id, "a");
        assert!(claimed.fence.0 > last);
        last = claimed.fence.0;
        given.finish(id, claimed.held(), End::Done);
        given.test.reopen();
    }
}

/// Several threads and two processes that claim at once have each job once.
pub fn no_job_is_claimed_twice_by_processes_that_race<T: TestStore>() {
    const JOBS: u128 = 120;
    let given = Given::<T>::store();
    let jobs = (1..=JOBS).map(|number| NewJob::new(job(number), "a")).collect();
    given.ask().enqueue(&Enqueue { jobs, not_after: given.in_time() }).unwrap();
    let stores = [given.test.second(), given.test.second()];
    let polls: Vec<Poll> = (0..4)
        .map(|number| Poll { limit: 7, ..given.poll_of(given.open(number + 1), &["a"]) })
        .collect();
    let claimed: Vec<_> = std::thread::scope(|scope| {
        let run = |number: usize| {
            let (store, poll) = (&*stores[number % 2], &polls[number]);
            scope.spawn(move || {
                let mut claimed = Vec::new();
                loop {
                    let jobs = store.poll(poll).unwrap().jobs;
                    if jobs.is_empty() {
                        return claimed;
                    }
                    claimed.extend(jobs.into_iter().map(|job| (job.id, job.fence)));
                }
            })
        };
        let threads: Vec<_> = (0..polls.len()).map(run).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let ids: BTreeSet<_> = claimed.iter().map(|(id, _)| *id).collect();
    let fences: BTreeSet<_> = claimed.iter().map(|(_, fence)| *fence).collect();
    assert_eq!((claimed.len(), ids.len(), fences.len()), (120, 120, 120));
}
