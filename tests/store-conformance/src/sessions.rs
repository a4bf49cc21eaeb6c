//! Sessions and their leases.

use std::time::Duration;

use crate::given::{Given, LEASE, SECOND, session};
use crate::test_store::TestStore;
use scheduler_store::{CLAIM_BYTES_MAX, TEXT_MAX};
use scheduler_store::{
    ClaimRef, Close, Command, End, Fence, Finished, Lease, Open, Poll, Reap, Renew, SessionTask,
};
use scheduler_store::{JobState, NewJob, OnLost, StoredJob};
use scheduler_store::{Refusal, StoreError};

/// A session lives until its lease has run out, and each renewal counts from its own time.
pub fn a_session_lives_as_long_as_it_is_renewed<T: TestStore>() {
    let mut given = Given::<T>::store();
    let id = given.open_for(1, LEASE, None);
    given.wait(LEASE - SECOND);
    assert!(given.renew(id).is_alive);
    given.wait(LEASE - Duration::from_micros(1));
    assert!(given.poll(id, &[]).is_alive);
    given.wait(Duration::from_micros(1));
    assert!(!given.poll(id, &[]).is_alive);
    assert!(given.ask().sessions().unwrap()[0].has_run_out);
}

/// A lease that has run out is never renewed, though no process has reaped it.
pub fn r2_a_session_that_has_lapsed_is_dead_for_ever<T: TestStore>() {
    let mut given = Given::<T>::store();
    let id = given.open_for(1, LEASE, None);
    given.job_of(1, "a");
    given.wait(LEASE);
    assert!(!given.renew(id).is_alive);
    given.open_for(1, LEASE, None);
    assert!(!given.renew(id).is_alive, "an open that came again brought it back");
    assert_eq!(given.poll(id, &["a"]).jobs, []);
}

/// A request that comes after its time changes nothing, whatever it is.
pub fn r2_a_request_that_comes_too_late_changes_nothing<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    given.job_of(1, "a");
    let late = given.now.before(Duration::from_micros(1));
    let too_late = StoreError::Refused(Refusal::TooLate);
    let poll = Poll { not_after: late, ..given.poll_of(id, &["a"]) };
    assert_eq!(given.ask().poll(&poll), Err(too_late.clone()));
    let close = Close { session: id, not_after: late };
    assert_eq!(given.ask().close(&close), Err(too_late.clone()));
    let renew = Renew {
        progress: Vec::new(),
        clock_offset: None,
        session: id,
        lease: LEASE,
        not_after: late,
    };
    assert_eq!(given.ask().renew(&renew), Err(too_late.clone()));
    let open = Open {
        queues: None,
        concurrency: 4,
        id: session(2),
        replaces: Some(id),
        label: String::new(),
        build: String::new(),
        application: String::new(),
        tasks: [].into(),
        lease: LEASE,
        not_after: late,
    };
    assert_eq!(given.ask().open(&open), Err(too_late));
    assert_eq!(given.poll(id, &["a"]).jobs.len(), 1);
    let at_the_last_moment = Renew {
        progress: Vec::new(),
        clock_offset: None,
        session: id,
        lease: LEASE,
        not_after: given.now,
    };
    assert!(given.ask().renew(&at_the_last_moment).unwrap().is_alive);
}

/// A session ends in the transaction that opens the one that replaces it.
pub fn r5_a_session_ends_when_it_is_replaced<T: TestStore>() {
    let (given, former) = Given::<T>::session();
    given.job_of(1, "a");
    let claimed = given.claim(former, "a");
    let id = given.open_for(2, LEASE, Some(former));
    assert!(!given.renew(former).is_alive);
    assert!(given.renew(id).is_alive);
    assert_eq!(given.finish(former, claimed.held(), End::Done), Finished::Lost);
}

/// The jobs of a session at its close are ready again with the attempts that they had, and the session is gone.
pub fn r7_a_close_gives_back_what_never_began<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    let jobs =
        [given.job_of(1, "a"), given.job_of(2, "a"), given.job_of(3, "b"), given.job_of(4, "a")];
    let other = given.open_for(2, LEASE, None);
    given.claim(other, "b");
    let claimed = given.poll(id, &["a"]).jobs;
    given.finish(id, claimed[0].held(), End::Done);
    given.ask().close(&Close { session: id, not_after: given.in_time() }).unwrap();
    let ready = (JobState::Ready, 0);
    let expected = [(JobState::Done, 1), ready, (JobState::Running, 1), ready];
    assert_eq!(jobs.map(|job| (given.state(job), given.job(job).attempt)), expected);
    assert!(!given.renew(id).is_alive);
    assert_eq!(given.ask().sessions().unwrap().iter().filter(|each| each.is_alive()).count(), 1);
}

/// A session that has ended gives nothing back: its runs may be in progress.
pub fn r7_a_close_of_a_session_that_has_ended_does_nothing<T: TestStore>() {
    let (given, former) = Given::<T>::session();
    let job = given.job_of(1, "a");
    given.claim(former, "a");
    given.open_for(2, LEASE, Some(former));
    given.ask().close(&Close { session: former, not_after: given.in_time() }).unwrap();
    assert_eq!(given.state(job), JobState::Running);
}

/// A session that was renewed since it was seen lives on.
pub fn r8_r9_a_reap_ends_only_what_it_saw<T: TestStore>() {
    let mut given = Given::<T>::store();
    let id = given.open_for(1, LEASE, None);
    let seen = given.lease_of(id);
    assert!(!seen.has_run_out);
    assert_eq!(given.reap(vec![seen]).sessions, [], "its lease has not run out");
    assert!(given.renew(id).is_alive);
    given.wait(LEASE);
    assert_eq!(given.reap(vec![seen]).sessions, [], "it was renewed since");
    let seen = given.lease_of(id);
    assert!(seen.has_run_out);
    assert_eq!(given.reap(vec![seen]).sessions, [id]);
    assert_eq!(given.reap(vec![seen]).sessions, [], "it was reaped before");
}

/// A running job whose session is gone is found by each reap, whatever that was asked to end.
pub fn r10_a_reap_finds_jobs_whose_session_is_gone<T: TestStore>() {
    let (given, former) = Given::<T>::session();
    let id = given.job_of(1, "a");
    let claimed = given.claim(former, "a");
    given.open_for(2, LEASE, Some(former));
    let reaped = given.reap(Vec::new());
    assert_eq!(reaped.sessions, []);
    assert_eq!(reaped.jobs, [given.job(id)]);
    assert!(given.job(id).fence > claimed.fence);
}

/// A process dies with more payload in hand than one answer carries.
pub fn a_reap_returns_no_more_payload_than_an_answer_may_carry<T: TestStore>() {
    let (given, former) = Given::<T>::session();
    for (number, bytes) in [(1, 0), (2, CLAIM_BYTES_MAX + 1), (3, CLAIM_BYTES_MAX / 2), (4, 1)] {
        let mut new = NewJob::new(crate::given::job(number), "a");
        new.payload.bytes = vec![1; bytes];
        given.enqueue(new);
    }
    assert_eq!(given.poll(former, &["a"]).jobs.len(), 4);
    given.open_for(2, LEASE, Some(former));
    let reaped = |given: &Given<T>| -> Vec<u128> {
        let jobs = given.reap(Vec::new()).jobs;
        jobs.iter().map(|job| job.id.as_uuid().as_u128()).collect()
    };
    for expected in [&[1][..], &[2], &[3, 4], &[]] {
        assert_eq!(reaped(&given), expected);
    }
}

/// A lost job runs again after a wait, with the attempt counted, until it has been lost too often in a row; then it is parked.
pub fn a_lost_job_runs_again_until_it_has_been_lost_too_often<T: TestStore>() {
    let mut given = Given::<T>::store();
    let id = given.job_of(1, "a");
    for round in 1..=3 {
        let session = given.open_for(round, LEASE, None);
        let claimed = given.claim(session, "a");
        assert_eq!((u128::from(claimed.attempt), u128::from(claimed.lost)), (round, round - 1));
        given.wait(LEASE);
        let lost = given.reap(vec![given.lease_of(session)]);
        assert_eq!(lost.jobs.len(), 1);
        assert!(lost.jobs[0].run_at <= given.now.after(SECOND));
        assert_eq!(lost.jobs[0], given.job(id));
        assert_eq!(u128::from(lost.jobs[0].max_attempts), round + 1);
        given.wait(SECOND);
    }
    assert_eq!(given.state(id), JobState::Parked);
    assert!(given.job(id).error.is_some_and(|error| error.starts_with("lost: ")));
}

/// A job that may run once at most is parked when its process dies.
pub fn an_abandoned_job_does_not_run_again<T: TestStore>() {
    let mut given = Given::<T>::store();
    let session = given.open_for(1, LEASE, None);
    let job = NewJob {
        on_lost: OnLost::Abandon,
        max_attempts: 9,
        ..NewJob::new(crate::given::job(1), "a")
    };
    given.enqueue(job);
    given.claim(session, "a");
    given.wait(LEASE);
    let request = Reap {
        found_by: "finder".to_owned(),
        dead: vec![given.lease_of(session)],
        max_lost: 3,
        spread: SECOND,
        draw: 1,
        not_after: given.in_time(),
    };
    assert_eq!(given.ask().reap(&request).unwrap().jobs[0].state, JobState::Parked);
}

/// A job that may run once at most is ended by its run also when it was parked with its session, and does not become ready.
pub fn r4_the_run_of_an_abandoned_job_ends_it_after_its_session<T: TestStore>() {
    let mut given = Given::<T>::store();
    let session = given.open_for(1, LEASE, None);
    let [done, failed, given_back, retried] = [1, 2, 3, 4].map(|number| {
        let id = crate::given::job(number);
        let new = NewJob { on_lost: OnLost::Abandon, max_attempts: 9, ..NewJob::new(id, "a") };
        given.enqueue(new);
        given.claim(session, "a")
    });
    given.wait(LEASE);
    assert_eq!(given.reap(vec![given.lease_of(session)]).jobs.len(), 4);
    let later = given.open_for(2, LEASE * 9, None);

    assert_eq!(given.finish(later, done.held(), End::Done), Finished::Lost, "another session");
    let older = ClaimRef { fence: Fence(done.fence.0 - 1), ..done.held() };
    assert_eq!(given.finish(session, older, End::Done), Finished::Lost, "another fence");
    let end = |given: &Given<T>, job: &StoredJob, end: &End| {
        given.finish(session, job.held(), end.clone())
    };
    assert_eq!(end(&given, &done, &End::Done), Finished::Stored(JobState::Done));
    assert_eq!(end(&given, &done, &End::Done), Finished::AlreadyMine(JobState::Done));
    let stored = given.job(done.id);
    assert_eq!((stored.state, stored.attempt, stored.lost), (JobState::Done, 1, 0));
    assert_eq!(stored.error, None);

    let error = End::Failed { after: SECOND, error: "no ink".to_owned() };
    assert_eq!(end(&given, &failed, &error), Finished::Stored(JobState::Parked));
    assert_eq!(end(&given, &failed, &error), Finished::AlreadyMine(JobState::Parked));
    assert_eq!(given.job(failed.id).error.as_deref(), Some("no ink"));

    assert_eq!(end(&given, &given_back, &End::GiveBack), Finished::AlreadyMine(JobState::Parked));

    given.command(&Command::Retry { job: retried.id });
    let again = given.claim(later, "a");
    assert_eq!((again.id, again.attempt), (retried.id, 2));
    assert!(again.fence > retried.fence);
    assert_eq!(end(&given, &retried, &End::Done), Finished::Lost, "another one runs it");
    assert_eq!(given.finish(later, again.held(), End::Done), Finished::Stored(JobState::Done));
}

/// A job that may run once at most is ended by its run when its session is gone and no reap has found it; another job is not.
pub fn r4_the_run_of_an_abandoned_job_ends_it_before_a_reap<T: TestStore>() {
    let (given, session) = Given::<T>::session();
    let once = |number| NewJob {
        on_lost: OnLost::Abandon,
        max_attempts: 9,
        ..NewJob::new(crate::given::job(number), "a")
    };
    given.enqueue(once(1));
    let done = given.claim(session, "a");
    given.enqueue(once(2));
    let failed = given.claim(session, "a");
    given.job_of(3, "a");
    let other = given.claim(session, "a");
    given.open_for(2, LEASE, Some(session));
    assert_eq!(given.finish(session, done.held(), End::Done), Finished::Stored(JobState::Done));
    assert_eq!(
        given.finish(session, done.held(), End::Done),
        Finished::AlreadyMine(JobState::Done)
    );
    let error = End::Failed { after: SECOND, error: "no ink".to_owned() };
    assert_eq!(given.finish(session, failed.held(), error), Finished::Stored(JobState::Ready));
    assert_eq!(given.finish(session, other.held(), End::Done), Finished::Lost);
    assert_eq!(given.reap(Vec::new()).jobs.len(), 1);
}

/// The leases of the others come in the order of their identities, with a mark that changes with each renewal.
pub fn a_poll_shows_the_leases_of_the_others<T: TestStore>() {
    let mut given = Given::<T>::store();
    let (long, short) = (given.open_for(3, LEASE * 9, None), given.open_for(2, LEASE, None));
    let own = given.open_for(1, LEASE * 9, None);
    let before = given.leases(own);
    assert_eq!(before.iter().map(|lease| lease.session).collect::<Vec<_>>(), [short, long]);
    given.renew(short);
    given.wait(LEASE);
    let after = given.leases(own);
    let run_out = |lease: &Lease| lease.has_run_out;
    assert_eq!(after.iter().map(run_out).collect::<Vec<_>>(), [true, false]);
    assert_ne!(before[0].mark, after[0].mark);
    assert_eq!(before[1].mark, after[1].mark);
    assert_eq!(given.poll(own, &[]).leases, [], "not asked for");
}

/// A process warns about another application by its name and its tasks.
pub fn a_process_of_another_application_is_a_stranger_unless_a_task_is_shared<T: TestStore>() {
    let mut given = Given::<T>::store();
    let open = |given: &Given<T>, number: u128, application: &str, tasks: &[&str]| {
        let open = Open {
            queues: None,
            concurrency: 4,
            id: session(number),
            replaces: None,
            label: format!("process-{number}"),
            build: String::new(),
            application: application.to_owned(),
            tasks: tasks
                .iter()
                .map(|task| SessionTask { name: (*task).into(), version: 0 })
                .collect(),
            lease: LEASE,
            not_after: given.in_time(),
        };
        let other = given.ask().open(&open).unwrap().other_application;
        other.map(|session| (session.application, session.label))
    };
    let shop = Some(("shop".to_owned(), "process-2".to_owned()));
    assert_eq!(open(&given, 1, "web", &[]), None, "there is no other");
    assert_eq!(open(&given, 2, "shop", &["send", "weigh"]), None, "one that runs nothing is none");
    assert_eq!(open(&given, 3, "web", &[]), None, "nor is it of others");
    assert_eq!(open(&given, 4, "shop", &["other"]), None, "it is the same application");
    assert_eq!(open(&given, 5, "mail", &["weigh"]), None, "a task is shared");
    assert_eq!(open(&given, 6, "bank", &["book"]), shop);
    assert_eq!(open(&given, 6, "bank", &["book"]), shop, "also when it is asked again");
    assert_eq!(open(&given, 7, "bank", &["look"]), None, "it has company");
    given.wait(LEASE + LEASE);
    assert_eq!(open(&given, 8, "cafe", &["cook"]), None, "the others are gone");
}

/// Application and tasks of a process come back, for people and for the search for jobs that no process knows.
pub fn a_session_says_its_application_and_its_tasks<T: TestStore>() {
    let given = Given::<T>::store();
    let open = Open {
        queues: None,
        concurrency: 4,
        id: session(1),
        replaces: None,
        label: "web-1".to_owned(),
        build: "7".to_owned(),
        application: "shop".to_owned(),
        tasks: [("send mail", 0), ("é", 1), ("A", u32::MAX)]
            .map(|(name, version)| SessionTask { name: name.into(), version })
            .into(),
        lease: LEASE,
        not_after: given.in_time(),
    };
    given.ask().open(&open).unwrap();
    given.open(2);
    let sessions = given.ask().sessions().unwrap();
    let [first, second] = &sessions[..] else { panic!("two sessions: {sessions:?}") };
    assert_eq!((&*first.application, &*first.tasks), ("shop", &*open.tasks));
    assert!(second.application.is_empty() && second.tasks.is_empty(), "{second:?}");
}

/// The name of a process is kept as every store can keep it.
pub fn the_label_of_a_session_is_kept_without_nul<T: TestStore>() {
    let given = Given::<T>::store();
    let open = Open {
        queues: None,
        concurrency: 4,
        id: session(1),
        replaces: None,
        label: "web\0".to_owned() + &"x".repeat(TEXT_MAX),
        build: "'; --".to_owned(),
        application: String::new(),
        tasks: [].into(),
        lease: LEASE,
        not_after: given.in_time(),
    };
    given.ask().open(&open).unwrap();
    let kept = given.ask().sessions().unwrap().remove(0);
    assert!(kept.label.starts_with("web\u{FFFD}x"), "{}", &kept.label[..9]);
    assert!(kept.label.len() < open.label.len() + 2);
    assert_eq!((kept.id, kept.build, kept.opened_at), (open.id, open.build, given.now));
}

/// The changes by one process are seen by another, and by one that starts later.
pub fn a_change_by_one_process_is_seen_by_another<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    let job = given.job_of(1, "a");
    let second = given.test.second();
    let claimed = second.poll(&given.poll_of(id, &["a"])).unwrap().jobs;
    assert_eq!(claimed, [given.job(job)]);
    drop(second);
    given.test.reopen();
    assert_eq!(claimed, [given.job(job)]);
    assert_eq!(given.ask().held(id).unwrap(), [claimed[0].held()]);
}
