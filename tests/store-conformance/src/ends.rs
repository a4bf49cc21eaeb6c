//! The ends of claims, and the rows that they leave.

use std::time::Duration;

use crate::enqueues::with_key;
use crate::given::{Given, LEASE, SECOND, cron, held, job};
use crate::test_store::TestStore;
use scheduler_store::{
    CLAIM_BYTES_MAX, ClaimRef, Command, CommandOutcome, End, Enqueued, Failing, Fence, Finish,
    Finished, Fire, JobFilter, JobState, NewJob, Next, OnConflict, OnLost, Overlap, Priority,
    Prune, QueueDepth, Rule, RunEnd, StoredJob, Timing, VersionDepth, When,
};

/// The same end twice is stored once, and answered so.
pub fn r4_an_end_that_comes_twice_is_stored_once<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.job_of(1, "a");
    let claimed = given.claim(id, "a");
    let parked = End::Park { error: "first".to_owned() };
    let stored = given.finish(id, claimed.held(), parked);
    assert_eq!(stored, Finished::Stored(JobState::Parked));
    given.wait(SECOND);
    let before = given.job(job(1));
    let again = given.finish(id, claimed.held(), End::Done);
    assert_eq!(again, Finished::AlreadyMine(JobState::Parked));
    assert_eq!(given.job(job(1)), before);
}

/// Another session, another fence, or a session that has ended changes nothing.
pub fn an_end_by_one_who_is_not_the_holder_changes_nothing<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    let other = given.open(2);
    given.job_of(1, "a");
    let claimed = given.claim(id, "a");
    let before = given.job(job(1));
    let fence = claimed.fence.0;
    for (session, held) in [
        (other, claimed.held()),
        (id, held(1, fence + 1)),
        (id, held(1, fence - 1)),
        (id, held(1, u64::MAX)),
        (id, ClaimRef { job: job(2), fence: Fence(fence) }),
        (crate::given::session(9), claimed.held()),
    ] {
        assert_eq!(given.finish(session, held, End::Done), Finished::Lost, "{session} {held:?}");
    }
    assert_eq!(given.job(job(1)), before);
    assert_eq!(given.finish(id, claimed.held(), End::Done), Finished::Stored(JobState::Done));
}

/// Ends that come together are each by itself.
pub fn ends_that_come_together_are_each_by_itself<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    for number in 1..=3 {
        given.job_of(number, "a");
    }
    let claimed = given.poll(id, &["a"]).jobs;
    let finish =
        |job: &StoredJob| Finish { progress: None, session: id, held: job.held(), end: End::Done };
    let mut requests: Vec<_> = claimed.iter().map(finish).collect();
    requests[1].held.fence = Fence(77);
    requests.push(finish(&claimed[0]));
    let done = JobState::Done;
    let wanted = [
        Finished::Stored(done),
        Finished::Lost,
        Finished::Stored(done),
        Finished::AlreadyMine(done),
    ];
    assert_eq!(given.ask().finish(&requests).unwrap(), wanted);
    assert_eq!(given.ask().finish(&[]).unwrap(), []);
}

/// Lists do not show a job that is gone, and a request that is sent again finds it until a prune.
pub fn r3_r4_of_a_job_that_is_gone_its_identity_is_left<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    let new = with_key(1, "a", OnConflict::Keep);
    given.enqueue(new.clone());
    given.job_of(2, "a");
    let claimed = given.poll(id, &["a"]).jobs;
    let ends = [(0, End::Gone), (1, End::Done), (0, End::Gone)];
    let finish = |(job, end): &(usize, End)| {
        let held = claimed[*job].held();
        Finish { progress: None, session: id, held, end: end.clone() }
    };
    let wanted = [false, false, true].map(|is_second| match is_second {
        false => Finished::Stored(JobState::Done),
        true => Finished::AlreadyMine(JobState::Done),
    });
    let requests: Vec<_> = ends.iter().map(finish).collect();
    assert_eq!(given.ask().finish(&requests).unwrap(), wanted);
    given.test.reopen();
    let again = given.finish(id, claimed[0].held(), End::Gone);
    assert_eq!(again, Finished::AlreadyMine(JobState::Done));
    let other = ClaimRef { fence: Fence(77), ..claimed[0].held() };
    assert_eq!(given.finish(id, other, End::Gone), Finished::Lost);

    let seen = |given: &Given<T>| {
        let jobs = given.ask().jobs(&JobFilter::default(), 10).unwrap();
        jobs.iter().map(|job| job.id).collect::<Vec<_>>()
    };
    assert_eq!((given.ask().job(job(1)).unwrap(), seen(&given)), (None, vec![job(2)]));
    for command in [
        Command::Retry { job: job(1) },
        Command::Cancel { job: job(1) },
        Command::Delete { job: job(1) },
    ] {
        assert_eq!(given.command(&command), CommandOutcome::NotFound, "{command:?}");
    }
    let resent = NewJob { is_resent: true, ..new };
    assert_eq!(given.enqueue(resent.clone()), Enqueued::Accepted(job(1)));
    assert_eq!((given.poll(id, &["a"]).jobs.len(), seen(&given)), (0, vec![job(2)]));
    let next = given.enqueue(with_key(3, "a", OnConflict::Keep));
    assert_eq!(next, Enqueued::Accepted(job(3)), "its key is free");
    assert_eq!(given.command(&Command::Delete { job: job(3) }), CommandOutcome::Done);

    given.wait(SECOND * 200);
    given.ask().prune(&given.prune_of()).unwrap();
    assert_eq!(given.enqueue(resent), Enqueued::Accepted(job(1)));
    assert_eq!(seen(&given), [job(1)], "it is another job");
}

/// The run of a job that runs at most once ends after the job was parked as lost.
pub fn r4_a_late_end_may_let_a_job_go<T: TestStore>() {
    let (given, session) = Given::<T>::session();
    given.enqueue(NewJob { on_lost: OnLost::Abandon, ..NewJob::new(job(1), "a") });
    let claimed = given.claim(session, "a");
    given.open_for(2, LEASE, Some(session));
    assert_eq!(given.reap(Vec::new()).jobs.len(), 1);
    assert_eq!(given.state(job(1)), JobState::Parked);
    let end = || given.finish(session, claimed.held(), End::Gone);
    assert_eq!(end(), Finished::Stored(JobState::Done));
    assert_eq!(given.ask().job(job(1)).unwrap(), None);
    assert_eq!(end(), Finished::AlreadyMine(JobState::Done));
}

/// A job that fails is due again after its wait, until its attempts are used up.
pub fn a_failed_job_is_parked_after_its_last_attempt<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.enqueue(NewJob { max_attempts: 2, ..NewJob::new(job(1), "a") });
    let failed = || End::Failed { after: SECOND, error: "no\0".to_owned() };
    let first = given.claim(id, "a");
    let stored = given.finish(id, first.held(), failed());
    assert_eq!(stored, Finished::Stored(JobState::Ready));
    assert_eq!(given.finish(id, first.held(), failed()), Finished::AlreadyMine(JobState::Ready));
    assert_eq!(given.job(job(1)).run_at, given.now.after(SECOND));
    assert_eq!(given.job(job(1)).error.as_deref(), Some("no\u{FFFD}"));
    assert_eq!(given.poll(id, &["a"]).jobs, []);
    given.wait(SECOND);
    let second = given.claim(id, "a");
    assert_eq!(second.attempt, 2);
    assert_eq!(given.finish(id, second.held(), failed()), Finished::Stored(JobState::Parked));
    assert_eq!(given.job(job(1)).finished_at, Some(given.now));
}

/// Claims that were no attempt do not count as one.
pub fn snoozed_and_given_back_and_undecodable_jobs_use_no_attempt<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.job_of(1, "a");
    let undecodable = || End::Undecodable { after: SECOND, error: "what?".to_owned(), limit: 2 };
    for (end, state) in [
        (End::Snooze { after: SECOND }, JobState::Ready),
        (End::GiveBack, JobState::Ready),
        (undecodable(), JobState::Ready),
        (undecodable(), JobState::Parked),
    ] {
        let claimed = given.claim(id, "a");
        assert_eq!(claimed.attempt, 1);
        assert_eq!(given.finish(id, claimed.held(), end), Finished::Stored(state));
        assert_eq!(given.job(job(1)).attempt, 0);
        given.wait(SECOND);
    }
    assert_eq!(given.job(job(1)).undecoded, 2);
}

/// A start that happened is an attempt, and a loss that counts.
pub fn a_run_that_its_own_process_lost_counts_as_a_loss<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.enqueue(NewJob { max_attempts: 9, ..NewJob::new(job(1), "a") });
    let lost = || End::Lost { after: SECOND, max_lost: 3 };
    for (number, state) in (1..).zip([JobState::Ready, JobState::Ready, JobState::Parked]) {
        let claimed = given.claim(id, "a");
        assert_eq!(given.finish(id, claimed.held(), lost()), Finished::Stored(state));
        let after = given.job(job(1));
        assert_eq!((after.attempt, after.lost), (number, number));
        assert_eq!(after.error, Some(after.lost_error()));
        assert_eq!(given.poll(id, &["a"]).jobs, []);
        given.wait(SECOND);
    }
    let once = NewJob { on_lost: OnLost::Abandon, ..NewJob::new(job(2), "a") };
    given.enqueue(once);
    let claimed = given.claim(id, "a");
    assert_eq!(given.finish(id, claimed.held(), lost()), Finished::Stored(JobState::Parked));
}

/// Losses in a row park a job. An end that says nothing about the attempt leaves them.
pub fn each_attempt_that_ends_otherwise_forgets_the_losses_before_it<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.enqueue(NewJob { max_attempts: 99, ..NewJob::new(job(1), "a") });
    let (after, error) = (Duration::ZERO, || "no".to_owned());
    let lost = || End::Lost { after, max_lost: 3 };
    let end = |given: &mut Given<T>, end: End| {
        let claimed = given.claim(id, "a");
        given.finish(id, claimed.held(), end);
        given.wait(SECOND);
        (given.state(job(1)), given.job(job(1)).lost)
    };
    for (other, losses) in [
        (End::Failed { after, error: error() }, 0),
        (End::Snooze { after }, 0),
        (End::Undecodable { after, error: error(), limit: 9 }, 2),
        (End::Failed { after, error: error() }, 0),
        (End::GiveBack, 2),
    ] {
        assert_eq!(end(&mut given, lost()), (JobState::Ready, 1));
        assert_eq!(end(&mut given, lost()), (JobState::Ready, 2));
        assert_eq!(end(&mut given, other.clone()), (JobState::Ready, losses), "{other:?}");
        if losses > 0 {
            assert_eq!(end(&mut given, End::Snooze { after }), (JobState::Ready, 0));
        }
    }
    for (other, state) in [
        (End::Park { error: error() }, JobState::Parked),
        (End::Cancelled, JobState::Cancelled),
        (End::Done, JobState::Done),
    ] {
        assert_eq!(end(&mut given, lost()), (JobState::Ready, 1));
        assert_eq!(end(&mut given, other), (state, 0));
        assert_eq!(given.command(&Command::Retry { job: job(1) }), CommandOutcome::Done);
    }
}

/// As many failures as a job was given park it, however many of its attempts were lost.
pub fn losses_use_up_no_failure_of_a_job<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.enqueue(NewJob { max_attempts: 2, ..NewJob::new(job(1), "a") });
    let (after, error) = (Duration::ZERO, "no".to_owned());
    let failed = End::Failed { after, error };
    for (number, end) in [(1, false), (2, false), (3, true), (4, false), (5, false), (6, true)] {
        assert_eq!(given.state(job(1)), JobState::Ready, "before attempt {number}");
        let claimed = given.claim(id, "a");
        assert_eq!(claimed.attempt, number);
        let lost = End::Lost { after, max_lost: 3 };
        given.finish(id, claimed.held(), if end { failed.clone() } else { lost });
        given.wait(SECOND);
    }
    let parked = given.job(job(1));
    assert_eq!((parked.state, parked.attempt, parked.max_attempts), (JobState::Parked, 6, 6));
}

/// A job whose attempts are lost and fail in turn ends all the same.
pub fn losses_between_failures_end_with_the_failures<T: TestStore>() {
    let mut given = Given::<T>::store();
    given.enqueue(NewJob { max_attempts: 3, ..NewJob::new(job(1), "a") });
    let mut starts = 0;
    for round in 1.. {
        let session = given.open_for(round, LEASE, None);
        let claimed = given.claim(session, "a");
        starts += 1;
        if starts % 2 == 0 {
            let failed = End::Failed { after: Duration::ZERO, error: "no".to_owned() };
            given.finish(session, claimed.held(), failed);
        }
        given.wait(LEASE);
        given.reap(vec![given.lease_of(session)]);
        given.wait(SECOND);
        if given.state(job(1)) != JobState::Ready {
            break;
        }
    }
    assert_eq!((given.state(job(1)), starts), (JobState::Parked, 6));
}

/// The run of a job that was parked as lost has an end: it was not lost.
pub fn a_late_end_takes_the_loss_back<T: TestStore>() {
    let given = Given::<T>::store();
    for (number, end) in
        [(1, End::Done), (2, End::Cancelled), (3, End::Park { error: "no".to_owned() })]
    {
        let once = NewJob { on_lost: OnLost::Abandon, ..NewJob::new(job(number), "a") };
        given.enqueue(NewJob { max_attempts: 4, ..once });
        let own = given.open(number);
        let claimed = given.claim(own, "a");
        given.open_for(number + 10, LEASE, Some(own));
        given.reap(Vec::new());
        let lost = given.job(job(number));
        assert_eq!((lost.state, lost.lost, lost.max_attempts), (JobState::Parked, 1, 5));
        given.finish(own, claimed.held(), end);
        let ended = given.job(job(number));
        assert_eq!((ended.attempt, ended.lost, ended.max_attempts), (1, 0, 4));
    }
}

/// An answer is bounded in bytes, but for one long job, which keeps no others back.
pub fn a_poll_claims_no_more_payload_than_an_answer_may_carry<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    for number in 1..=7 {
        let mut new = NewJob::new(job(number), "a");
        new.payload.bytes =
            vec![1; if number <= 2 { CLAIM_BYTES_MAX + 1 } else { CLAIM_BYTES_MAX / 2 }];
        given.enqueue(new);
    }
    let claimed = |given: &Given<T>| -> Vec<u128> {
        let jobs = given.poll(id, &["a"]).jobs;
        jobs.iter().map(|job| job.id.as_uuid().as_u128()).collect()
    };
    assert_eq!(claimed(&given), [1, 3, 4]);
    assert_eq!(claimed(&given), [2, 5, 6]);
    assert_eq!(claimed(&given), [7]);
}

/// Also where they are of several tasks.
pub fn a_poll_claims_one_long_job<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    for (number, task, is_long) in
        [(1, "b", true), (2, "a", true), (3, "a", false), (4, "b", false)]
    {
        let mut new = NewJob::new(job(number), task);
        new.payload.bytes = vec![1; if is_long { CLAIM_BYTES_MAX + 1 } else { 1 }];
        given.enqueue(new);
    }
    let claimed = |given: &Given<T>| -> Vec<u128> {
        let jobs = given.poll(id, &["a", "b"]).jobs;
        jobs.iter().map(|job| job.id.as_uuid().as_u128()).collect()
    };
    assert_eq!(claimed(&given), [1, 3, 4]);
    assert_eq!(claimed(&given), [2]);
}

/// Ended jobs go after their time, the oldest first, and no others.
pub fn jobs_that_ended_long_ago_are_deleted<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    let park = || End::Park { error: "no".to_owned() };
    for (number, end) in [(1, End::Done), (2, park()), (3, End::Cancelled), (4, End::Done)] {
        given.job_of(number, "a");
        let claimed = given.claim(id, "a");
        given.finish(id, claimed.held(), end);
        given.wait(SECOND);
    }
    given.job_of(5, "a");
    let prune = |given: &Given<T>, limit| {
        let request = Prune { limit, keep_done: SECOND * 2, ..given.prune_of() };
        given.ask().prune(&request).unwrap()
    };
    let left = |given: &Given<T>| -> Vec<u128> {
        let jobs = given.ask().jobs(&JobFilter::default(), 10).unwrap();
        jobs.iter().map(|job| job.id.as_uuid().as_u128()).collect()
    };
    assert_eq!((prune(&given, 1), left(&given)), (1, vec![5, 4, 3, 2]));
    assert_eq!((prune(&given, 10), left(&given)), (1, vec![5, 4, 2]));
    given.wait(SECOND * 100);
    assert_eq!((prune(&given, 10), left(&given)), (2, vec![5]));
}

/// A schedule made while programs run goes some time after its last tick; its jobs stay.
pub fn dynamic_schedules_that_are_over_are_deleted<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.register(id, &cron("code", Overlap::Allow));
    for name in ["a", "b", "goes on", "by hand"] {
        let definition = Box::new(cron(name, Overlap::Allow));
        given.command(&Command::Put { definition });
    }
    let rule = Rule { text: "by hand".to_owned(), timing: Timing::Computed };
    let schedule = "by hand".to_owned();
    given.command(&Command::Reschedule { schedule, rule: Some(rule) });
    given.wait(SECOND);
    for (number, name) in (1..).zip(["code", "a", "b", "by hand"]) {
        given.fire(&Fire { next: Next::Never, ..given.fire_of(id, name, number) });
    }
    let prune = |given: &Given<T>, limit| {
        given.ask().prune(&Prune { limit, keep_over: SECOND, ..given.prune_of() }).unwrap()
    };
    let left = |given: &Given<T>| -> Vec<String> {
        let all = given.ask().schedules().unwrap();
        all.into_iter().map(|row| row.definition.name).collect()
    };
    assert_eq!((prune(&given, 10), left(&given).len()), (0, 5));
    given.wait(SECOND);
    assert_eq!((prune(&given, 1), left(&given).len()), (1, 4));
    assert_eq!((prune(&given, 10), prune(&given, 10)), (1, 0));
    assert_eq!(left(&given), ["by hand", "code", "goes on"]);
    assert_eq!(given.poll(id, &["tick"]).jobs.len(), 4);
}

/// Depths are by queue, task and version of the payload, and finished jobs do not count. One that has failed is tried again until it
/// runs: also while it is due, as in a paused queue.
pub fn depths_count_what_is_unfinished_or_parked<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    for number in 1..=4 {
        given.job_of(number, "a");
        given.job_of(number + 10, "b");
    }
    for number in 15..=16 {
        given.enqueue(NewJob { max_attempts: 9, ..given.of_version(number, "b", 0) });
    }
    let claimed = given.poll(id, &["b"]).jobs;
    let parked = RunEnd::parked(given.now, Some(given.now), Some("no".to_owned()));
    let failing = Some(Failing::new(1, given.now, parked));
    for (job, after) in [(4, SECOND * 3), (5, SECOND)] {
        let end = End::Failed { after, error: "no".to_owned() };
        given.finish(id, claimed[job].held(), end);
    }
    given.finish(id, claimed[0].held(), End::Done);
    given.finish(id, claimed[1].held(), End::Park { error: "no".to_owned() });
    given.finish(id, claimed[2].held(), End::Snooze { after: SECOND * 3 });
    given.wait(SECOND * 2);
    let none = QueueDepth::empty("default".to_owned(), "a".to_owned());
    given.versioned(5, "a", 3);
    given.enqueue(NewJob { priority: Priority::High, ..given.of_version(6, "a", 3) });
    given.enqueue(NewJob { when: When::After(SECOND), ..given.of_version(7, "a", 2) });
    given.wait(SECOND / 2);
    let of = |version, due, oldest| VersionDepth { version, due, oldest };
    let versions = vec![of(0, 4, SECOND * 5 / 2), of(3, 2, SECOND / 2)];
    let a = QueueDepth { due: 6, later: 1, oldest: Some(SECOND * 5 / 2), versions, ..none.clone() };
    let mut b =
        QueueDepth { task: "b".to_owned(), later: 2, retrying: 2, running: 1, parked: 1, ..none };
    b.add_due(0, 1, SECOND * 3 / 2);
    (b.oldest_running, b.failing) = (Some(SECOND * 5 / 2), failing);
    assert_eq!(given.ask().depths().unwrap(), [a, b]);
    assert_eq!(given.poll(id, &["b"]).jobs.len(), 1);
    let depths = given.ask().depths().unwrap();
    let counts = (depths[1].due, depths[1].later, depths[1].retrying, depths[1].running);
    assert_eq!(counts, (0, 2, 1, 2), "one of them runs again");
}

/// A task has the number of its jobs that were parked in a row, in any process. A job that is done ends the row; a cancelled one does not.
pub fn a_task_keeps_its_failures_in_a_row<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    // One stays, so that there is a depth.
    given.enqueue(NewJob { when: When::After(SECOND * 600), ..given.of_version(99, "a", 0) });
    for number in 1..=9 {
        given.job_of(number, "a");
    }
    given.job_of(10, "b");
    let failing = |given: &Given<T>| {
        let depths = given.ask().depths().unwrap();
        depths.into_iter().find(|depth| depth.task == "a").unwrap().failing
    };
    let park = |error: &str| End::Park { error: error.to_owned() };
    let started = given.now;
    let end = |at, error: &str| RunEnd::parked(at, Some(started), Some(error.to_owned()));
    let ends = |given: &Given<T>, ends: Vec<(u128, End)>| {
        let finish = |(number, end)| Finish {
            session: id,
            held: given.job(job(number)).held(),
            end,
            progress: None,
        };
        let requests: Vec<Finish> = ends.into_iter().map(finish).collect();
        given.ask().finish(&requests).unwrap();
    };
    let long = "é".repeat(600);
    assert_eq!(given.poll(id, &["a", "b"]).jobs.len(), 10);
    ends(&given, vec![(1, End::Done), (10, park("of another"))]);
    assert_eq!(failing(&given), None);
    ends(&given, vec![(2, park("first"))]);
    given.wait(SECOND);
    let last = end(given.now, &"é".repeat(500));
    ends(&given, vec![(3, End::Cancelled), (4, park(&long))]);
    assert_eq!(failing(&given), Some(Failing::new(2, started, last)));
    // Of those that come together each counts by itself.
    let last = end(given.now, "sixth");
    ends(&given, vec![(5, End::Done), (6, park("sixth"))]);
    assert_eq!(failing(&given), Some(Failing::new(1, given.now, last)));
    ends(&given, vec![(7, park("seventh")), (8, End::Done)]);
    assert_eq!(failing(&given), None);
    ends(&given, vec![(9, park("ninth"))]);
    assert_eq!(given.command(&Command::Delete { job: job(9) }), CommandOutcome::Done);
    assert_eq!(failing(&given).unwrap().failures, 1, "a job that is deleted is no success");
}
