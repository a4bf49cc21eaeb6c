//! The attempts of a job that did not succeed, as a store keeps them.

use std::time::Duration;

use crate::enqueues::with_key;
use crate::given::{Given, LEASE, SECOND, job};
use crate::test_store::TestStore;
use scheduler_store::{
    ATTEMPT_TEXT_MAX, ATTEMPTS_MAX, AttemptOutcome, Command, CommandOutcome, End, JobAttempt,
    JobState, NewJob, OnConflict, OnLost, SessionId,
};

/// An end that is stored at once after so many seconds.
fn ended<T: TestStore>(given: &mut Given<T>, session: SessionId, end: End) {
    let claimed = given.claim(session, "a");
    given.wait(SECOND);
    given.finish(session, claimed.held(), end);
}

fn failed(error: &str) -> End {
    End::Failed { after: Duration::ZERO, error: error.to_owned() }
}

/// A job keeps when, where and why its attempts failed; those that succeeded or were no attempts leave nothing.
pub fn a_job_keeps_its_attempts_that_did_not_succeed<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.enqueue(NewJob { max_attempts: 9, ..NewJob::new(job(1), "a") });
    let start = given.now;
    ended(&mut given, id, failed("no\nnetwork"));
    ended(&mut given, id, End::Snooze { after: Duration::ZERO });
    ended(&mut given, id, End::GiveBack);
    let (after, limit) = (Duration::ZERO, 5);
    ended(&mut given, id, End::Undecodable { after, error: "no JSON".to_owned(), limit });
    ended(&mut given, id, End::Lost { after, max_lost: 3 });
    ended(&mut given, id, End::Park { error: "never".to_owned() });
    let parked = given.job(job(1));
    let attempt = |number, begun: u32, outcome, error: &str| {
        let (began, ended) = (start.after(SECOND * begun), start.after(SECOND * (begun + 1)));
        let mut attempt = JobAttempt::new(number, began, ended, outcome);
        (attempt.node, attempt.error) = ("node".to_owned(), error.to_owned());
        attempt
    };
    let lost = "lost: the session of attempt 2 ended before its outcome was stored";
    let expected = [
        attempt(1, 0, AttemptOutcome::Failed, "no\nnetwork"),
        attempt(2, 3, AttemptOutcome::Undecodable, "no JSON"),
        attempt(2, 4, AttemptOutcome::Lost, lost),
        attempt(3, 5, AttemptOutcome::GaveUp, "never"),
    ];
    assert_eq!((parked.state, parked.attempts), (JobState::Parked, expected.to_vec()));
    let retry = Command::Retry { job: job(1) };
    assert_eq!(given.command(&retry), CommandOutcome::Done);
    ended(&mut given, id, End::Done);
    let done = given.job(job(1));
    assert_eq!((done.state, done.attempts), (JobState::Done, expected.to_vec()));
    assert_eq!(given.command(&retry), CommandOutcome::Done);
    assert_eq!(given.claim(id, "a").attempts, expected, "also of one that was done");
}

/// The last attempts are kept, with the beginning of their errors. Separators of a column are no part of a text.
pub fn the_attempts_of_a_job_are_bounded<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.enqueue(NewJob { max_attempts: 99, ..NewJob::new(job(1), "a") });
    for number in 1..=ATTEMPTS_MAX + 3 {
        ended(&mut given, id, failed(&format!("{number}\u{1E}\u{1F}\0{}", "é".repeat(9_000))));
    }
    let attempts = given.job(job(1)).attempts;
    assert_eq!(attempts.len(), ATTEMPTS_MAX);
    let numbers: Vec<u32> = attempts.iter().map(|attempt| attempt.number).collect();
    assert_eq!(numbers, (4..=13).collect::<Vec<u32>>());
    for attempt in &attempts {
        let begin = format!("{}  \u{FFFD}éé", attempt.number);
        assert!(attempt.error.starts_with(&begin), "{}", attempt.error);
        assert_eq!(attempt.error.chars().count(), ATTEMPT_TEXT_MAX);
    }
}

/// The process that died is named, unless its session had ended before.
pub fn a_lost_attempt_names_its_process<T: TestStore>() {
    let mut given = Given::<T>::store();
    let id = given.open_for(1, LEASE, None);
    let lost = given.job_of(1, "a");
    given.claim(id, "a");
    given.wait(LEASE);
    let dead = given.lease_of(id);
    let reaped = given.reap(vec![dead]);
    assert_eq!(reaped.jobs[0].attempts, given.job(lost).attempts, "the answer is what is kept");
    given.wait(SECOND);
    let second = given.open(2);
    given.claim(second, "a");
    given.open_for(3, LEASE, Some(second));
    given.reap(Vec::new());
    let attempts = given.job(lost).attempts;
    let named: Vec<_> =
        attempts.iter().map(|attempt| (attempt.number, attempt.outcome, &*attempt.node)).collect();
    let outcome = AttemptOutcome::Lost;
    assert_eq!(named, [(1, outcome, "node"), (2, outcome, "")]);
    assert_eq!(attempts[0].ended_at, attempts[0].started_at.after(LEASE));
}

/// The run of a job that was parked as lost says later how it failed.
pub fn r4_a_late_failure_is_an_attempt<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.enqueue(NewJob { on_lost: OnLost::Abandon, ..NewJob::new(job(1), "a") });
    let claimed = given.claim(id, "a");
    given.wait(SECOND * 100_000);
    given.reap(vec![given.lease_of(id)]);
    given.finish(id, claimed.held(), failed("no card"));
    let attempts = given.job(job(1)).attempts;
    let told: Vec<_> =
        attempts.iter().map(|attempt| (attempt.number, attempt.outcome, &*attempt.error)).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(
        (told[0].1, told[1]),
        (AttemptOutcome::Lost, (1, AttemptOutcome::Failed, "no card"))
    );
}

/// A job that replaces another has none of the other's attempts.
pub fn a_job_that_replaces_another_has_no_attempts<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.enqueue(NewJob { max_attempts: 3, ..with_key(1, "a", OnConflict::Keep) });
    ended(&mut given, id, failed("no"));
    assert_eq!(given.job(job(1)).attempts.len(), 1);
    given.enqueue(with_key(2, "a", OnConflict::Replace));
    assert_eq!(given.job(job(1)).attempts, []);
}
