//! The progress of runs, as a store keeps it.

use std::time::Duration;

use crate::given::{Given, LEASE, job};
use crate::test_store::TestStore;
use scheduler_store::{
    ClaimRef, Command, CommandOutcome, End, Fence, Finish, Finished, JobProgress, JobState, Key,
    KeyUntil, NewJob, OnConflict, OnLost, Renew, Renewed, SessionId,
};

fn progress(fraction: f64, text: &str) -> JobProgress {
    JobProgress::new(fraction, text).expect("a number")
}

fn renew<T: TestStore>(
    given: &Given<T>,
    session: SessionId,
    progress: &[(ClaimRef, JobProgress)],
) -> Renewed {
    let (progress, not_after) = (progress.to_vec(), given.in_time());
    let renew = Renew { session, lease: LEASE, clock_offset: None, progress, not_after };
    given.ask().renew(&renew).unwrap()
}

fn finish<T: TestStore>(
    given: &Given<T>,
    session: SessionId,
    held: ClaimRef,
    end: End,
    progress: &JobProgress,
) -> Finished {
    let progress = Some(progress.clone());
    given.ask().finish(&[Finish { session, held, end, progress }]).unwrap()[0]
}

/// A renewal writes the progress of the jobs that its session has, and of no others.
pub fn fp_progress_is_written_by_the_owner_alone<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    let other = given.open_for(2, LEASE, None);
    let [one, two] = ["a", "b"].map(|task| {
        given.job_of(if task == "a" { 1 } else { 2 }, task);
        given.claim(if task == "a" { id } else { other }, task).held()
    });
    let (own, of_other) = (progress(0.4, "page 3 of 7"), progress(0.5, "it is not mine"));
    let all = [(one, own.clone()), (two, of_other.clone())];
    let renewed = renew(&given, id, &all);
    assert_eq!((renewed.is_alive, renewed.is_complete), (true, false));
    assert_eq!(given.job(job(1)).progress, Some(own.clone()));
    assert_eq!(given.job(job(2)).progress, None);
    let renewed = renew(&given, other, &all[1..]);
    assert_eq!((renewed.is_alive, renewed.is_complete), (true, true));
    assert_eq!(given.job(job(2)).progress, Some(of_other));
    assert!(renew(&given, id, &[]).is_complete, "there is nothing to write");

    let former = ClaimRef { fence: Fence(one.fence.0 + 1), ..one };
    assert!(!renew(&given, id, &[(former, progress(0.9, "another claim"))]).is_complete);
    assert_eq!(given.job(job(1)).progress, Some(own.clone()));
    given.finish(id, one, End::Snooze { after: Duration::ZERO });
    assert!(!renew(&given, id, &[(one, progress(0.9, "it has ended"))]).is_complete);
    assert_eq!(given.job(job(1)).progress, Some(own), "that of the last run");
    let next = given.open_for(3, LEASE, Some(id));
    let again = given.claim(next, "a").held();
    let renewed = renew(&given, id, &[(again, progress(0.9, "the session has ended"))]);
    assert_eq!((renewed.is_alive, renewed.is_complete), (false, false));
    assert_eq!(given.job(job(1)).progress, None, "a run begins without one");
}

/// Whatever ends a run keeps its last progress, until another run begins.
pub fn fp_the_last_progress_of_a_run_is_kept_at_its_end<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    given.enqueue(NewJob { max_attempts: 9, ..NewJob::new(job(1), "a") });
    let (after, error) = (Duration::ZERO, "no".to_owned());
    let ends = [
        (End::Failed { after, error: error.clone() }, JobState::Ready),
        (End::Snooze { after }, JobState::Ready),
        (End::Lost { after, max_lost: 9 }, JobState::Ready),
        (End::Park { error }, JobState::Parked),
        (End::Cancelled, JobState::Cancelled),
        (End::Done, JobState::Done),
    ];
    for (number, (end, state)) in ends.into_iter().enumerate() {
        let held = given.claim(id, "a");
        assert_eq!(held.progress, None, "a run begins without one");
        let held = held.held();
        assert!(renew(&given, id, &[(held, progress(0.1, "it is early"))]).is_complete);
        let last = progress(0.5, &format!("step {number}: ü\n'"));
        assert_eq!(finish(&given, id, held, end.clone(), &last), Finished::Stored(state));
        assert_eq!(given.job(job(1)).progress, Some(last.clone()), "{end:?}");
        let late = finish(&given, id, held, end, &progress(0.9, "again"));
        assert!(matches!(late, Finished::AlreadyMine(_)), "{late:?}");
        assert_eq!(given.job(job(1)).progress, Some(last));
        if !state.is_unfinished() {
            assert_eq!(given.command(&Command::Retry { job: job(1) }), CommandOutcome::Done);
        }
    }
    let held = given.claim(id, "a").held();
    assert!(renew(&given, id, &[(held, progress(1.0, ""))]).is_complete);
    given.finish(id, held, End::Done);
    assert_eq!(given.job(job(1)).progress, Some(progress(1.0, "")), "the end has no other");
}

/// A lost job shows how far it had come; a late end of one that runs at most once has the last word.
pub fn fp_progress_outlives_the_session_of_its_run<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.enqueue(NewJob { on_lost: OnLost::Abandon, ..NewJob::new(job(1), "a") });
    given.job_of(2, "b");
    let [one, two] = ["a", "b"].map(|task| given.claim(id, task).held());
    let known = progress(0.3, "before");
    renew(&given, id, &[(one, known.clone()), (two, known.clone())]);
    given.wait(LEASE);
    let dead = given.lease_of(id);
    given.reap(vec![dead]);
    assert_eq!([1, 2].map(|it| given.job(job(it)).progress), [Some(known.clone()), Some(known)]);
    let last = progress(1.0, "after");
    assert_eq!(finish(&given, id, two, End::Done, &last), Finished::Lost);
    assert_ne!(given.job(job(2)).progress, Some(last.clone()));
    assert_eq!(finish(&given, id, one, End::Done, &last), Finished::Stored(JobState::Done));
    assert_eq!(given.job(job(1)).progress, Some(last));
}

/// A job that takes the place of another has nothing of its progress.
pub fn fp_a_job_that_replaces_another_has_no_progress<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    let (text, until) = ("k".to_owned(), KeyUntil::End);
    let key = Some(Key { text, until, on_conflict: OnConflict::Replace });
    given.enqueue(NewJob { key: key.clone(), ..NewJob::new(job(1), "a") });
    let held = given.claim(id, "a").held();
    let end = End::Snooze { after: Duration::ZERO };
    finish(&given, id, held, end, &progress(0.5, "half"));
    given.enqueue(NewJob { key, ..NewJob::new(job(2), "a") });
    assert_eq!(given.job(job(1)).progress, None);
}
