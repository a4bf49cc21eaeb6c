//! Commands of people.

use crate::enqueues::with_key;
use crate::given::{Given, SECOND, cron, job};
use crate::test_store::TestStore;
use scheduler_store::JobId;
use scheduler_store::Refusal;
use scheduler_store::{
    BulkOutcome, Command, CommandAll, CommandOutcome, End, Finished, JobAction, JobFilter,
};
use scheduler_store::{Enqueued, JobState, OnConflict, PAYLOAD_MAX, Payload, StoreError};
use scheduler_store::{FINISHED_SCHEDULE_RETENTION, Next, Overlap, Rule, ScheduleSpec, Timing};

/// A job that another one keeps out stays as it is, and the other one is named.
pub fn r13_a_retry_that_would_collide_changes_nothing<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    given.enqueue(with_key(1, "a", OnConflict::Keep));
    let claimed = given.claim(id, "a");
    given.finish(id, claimed.held(), End::Park { error: "no".to_owned() });
    assert_eq!(given.enqueue(with_key(2, "a", OnConflict::Keep)), Enqueued::Accepted(job(2)));
    let retry = Command::Retry { job: job(1) };
    assert_eq!(given.command(&retry), CommandOutcome::Conflict(job(2)));
    assert_eq!(given.state(job(1)), JobState::Parked);
    assert_eq!(given.command(&Command::Delete { job: job(2) }), CommandOutcome::Done);
    assert_eq!(given.command(&retry), CommandOutcome::Done);
    assert_eq!(given.claim(id, "a").max_attempts, 2);
}

/// The same of two jobs of a schedule.
pub fn r13_a_retry_beside_another_job_of_the_schedule_changes_nothing<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.register(id, &cron("s", Overlap::Skip));
    given.wait(SECOND);
    given.fire(&given.fire_of(id, "s", 1));
    let claimed = given.claim(id, "tick");
    given.finish(id, claimed.held(), End::Park { error: "no".to_owned() });
    given.wait(SECOND);
    given.fire(&given.fire_of(id, "s", 2));
    assert_eq!(given.command(&Command::Retry { job: job(1) }), CommandOutcome::Conflict(job(2)));
}

/// A job that waits is cancelled at once; a running one is asked to stop, and is cancelled when it fails.
pub fn a_job_is_cancelled_at_once_or_asked_to_stop<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    let waiting = given.job_of(1, "a");
    assert_eq!(given.command(&Command::Cancel { job: waiting }), CommandOutcome::Done);
    assert_eq!(given.state(waiting), JobState::Cancelled);
    let again = given.command(&Command::Cancel { job: waiting });
    assert_eq!(again, CommandOutcome::NotInState(JobState::Cancelled));
    let running = given.job_of(2, "a");
    let claimed = given.claim(id, "a");
    assert_eq!(given.poll(id, &[]).cancels, []);
    assert_eq!(given.command(&Command::Cancel { job: running }), CommandOutcome::Done);
    assert_eq!(given.poll(id, &[]).cancels, [claimed.held()]);
    let other = given.open(2);
    assert_eq!(given.poll(other, &[]).cancels, []);
    let failed = End::Failed { after: SECOND, error: "stopped".to_owned() };
    let stored = given.finish(id, claimed.held(), failed);
    assert_eq!(stored, Finished::Stored(JobState::Cancelled));
    assert_eq!(given.poll(id, &[]).cancels, []);
}

/// A running job is neither deleted nor retried.
pub fn a_running_job_is_not_deleted<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    let running = given.job_of(1, "a");
    given.claim(id, "a");
    let wanted = CommandOutcome::NotInState(JobState::Running);
    assert_eq!(given.command(&Command::Delete { job: running }), wanted);
    assert_eq!(given.command(&Command::Retry { job: running }), wanted);
    assert_eq!(given.command(&Command::Delete { job: job(2) }), CommandOutcome::NotFound);
}

/// A job that waits or is parked gets another payload, and stays as it is otherwise. A running one and one that has ended do not.
pub fn a_job_that_waits_or_is_parked_is_edited<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    let edited = given.job_of(1, "a");
    let edit = |fence, text: &[u8]| {
        let payload = Payload { version: 2, bytes: text.to_vec() };
        given.command(&Command::Edit { job: edited, fence, payload })
    };
    let before = given.job(edited);
    assert_eq!(edit(Some(before.fence), b"1"), CommandOutcome::Done);
    let payload = Payload { version: 2, bytes: b"1".to_vec() };
    let mut expected = before;
    expected.payload = payload.clone();
    assert_eq!(given.job(edited), expected);
    let claimed = given.claim(id, "a");
    assert_eq!(claimed.payload, payload);
    assert_eq!(edit(Some(claimed.fence), b"2"), CommandOutcome::NotInState(JobState::Running));
    let (error, after, limit) = ("no".to_owned(), SECOND, 3);
    given.finish(id, claimed.held(), End::Undecodable { error: error.clone(), after, limit });
    assert_eq!(given.job(edited).undecoded, 1);
    assert_eq!(edit(None, b"3"), CommandOutcome::Done);
    assert_eq!(given.job(edited).undecoded, 0, "another payload has no failures");
    assert_eq!(given.command(&Command::Retry { job: edited }), CommandOutcome::Done);
    let claimed = given.claim(id, "a");
    given.finish(id, claimed.held(), End::Park { error });
    assert_eq!(edit(Some(claimed.fence), b"4"), CommandOutcome::Done);
    let parked = given.job(edited);
    assert_eq!((parked.state, &*parked.payload.bytes), (JobState::Parked, &b"4"[..]));
    assert_eq!(given.command(&Command::Retry { job: edited }), CommandOutcome::Done);
    let claimed = given.claim(id, "a");
    given.finish(id, claimed.held(), End::Done);
    assert_eq!(edit(None, b"5"), CommandOutcome::NotInState(JobState::Done));
    assert_eq!(&*given.job(edited).payload.bytes, b"4");
    let none = Command::Edit { job: job(9), fence: None, payload };
    assert_eq!(given.command(&none), CommandOutcome::NotFound);
}

/// An edit of a job that was claimed since it was read is refused.
pub fn r4_a_job_that_was_claimed_since_it_was_read_is_not_edited<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    let edited = given.job_of(1, "a");
    let read = given.job(edited);
    let claimed = given.claim(id, "a");
    given.finish(id, claimed.held(), End::GiveBack);
    let ready = given.job(edited);
    let payload = Payload { version: 1, bytes: b"1".to_vec() };
    let edit = |fence| Command::Edit { job: edited, fence, payload: payload.clone() };
    assert_eq!(given.command(&edit(Some(read.fence))), CommandOutcome::Changed);
    assert_eq!(given.job(edited), ready);
    assert_eq!(given.command(&edit(Some(ready.fence))), CommandOutcome::Done);
    let late = given.ask().command(&edit(None), given.now.before(SECOND));
    assert_eq!(late, Err(Refusal::TooLate.into()));
    let long = Payload { version: 1, bytes: vec![b' '; PAYLOAD_MAX + 1] };
    let long = Command::Edit { job: edited, fence: None, payload: long };
    let refused = given.ask().command(&long, given.in_time());
    assert!(matches!(refused, Err(StoreError::Refused(Refusal::Unstorable { .. }))), "{refused:?}");
    assert_eq!(given.job(edited).payload, payload);
}

fn all<T: TestStore>(
    given: &Given<T>,
    action: JobAction,
    state: Option<JobState>,
    (after, limit): (Option<JobId>, u32),
) -> (u64, Option<JobId>) {
    let filter = JobFilter { task: Some("a".to_owned()), state, after, ..JobFilter::default() };
    let request = CommandAll { action, filter, limit, signature: None, not_after: given.in_time() };
    let BulkOutcome { done, last } = given.ask().command_all(&request).unwrap();
    (done, last)
}

/// All jobs that a filter selects are cancelled, retried and deleted; those for which it is not possible are left alone.
pub fn all_selected_jobs_are_cancelled_retried_and_deleted<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    let running = given.job_of(1, "a");
    let claimed = given.claim(id, "a");
    let (waiting, other) = ([given.job_of(2, "a"), given.job_of(3, "a")], given.job_of(4, "b"));
    let everything = (None, 10);
    assert_eq!(all(&given, JobAction::Cancel, Some(JobState::Ready), everything), (2, None));
    assert_eq!(waiting.map(|job| given.state(job)), [JobState::Cancelled; 2]);
    assert_eq!((given.state(running), given.state(other)), (JobState::Running, JobState::Ready));
    assert_eq!(given.poll(id, &[]).cancels, []);
    assert_eq!(all(&given, JobAction::Retry, None, everything), (2, None));
    assert_eq!(waiting.map(|job| given.state(job)), [JobState::Ready; 2]);
    assert_eq!(all(&given, JobAction::Cancel, None, everything), (3, None));
    assert_eq!(given.poll(id, &[]).cancels, [claimed.held()]);
    assert_eq!(all(&given, JobAction::Delete, None, everything), (2, None));
    assert_eq!(given.state(running), JobState::Running);
    assert_eq!(given.state(other), JobState::Ready);
    assert_eq!(all(&given, JobAction::Delete, None, everything), (0, None));
}

/// A batch has the newest jobs up to its limit, and the next one begins after its oldest job.
pub fn all_selected_jobs_come_in_batches<T: TestStore>() {
    let given = Given::<T>::store();
    let jobs = [1, 2, 3, 4].map(|number| given.job_of(number, "a"));
    assert_eq!(all(&given, JobAction::Cancel, None, (None, 2)), (2, Some(jobs[2])));
    assert_eq!(jobs.map(|id| given.state(id) == JobState::Ready), [true, true, false, false]);
    assert_eq!(all(&given, JobAction::Cancel, None, (Some(jobs[2]), 2)), (2, Some(jobs[0])));
    assert_eq!(all(&given, JobAction::Cancel, None, (Some(jobs[0]), 2)), (0, None));
}

/// Of several that have one key, one becomes ready, and the others are left as they are.
pub fn r13_of_all_jobs_of_a_key_one_is_retried<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    for number in [1, 2] {
        given.enqueue(with_key(number, "a", OnConflict::Keep));
        let claimed = given.claim(id, "a");
        given.finish(id, claimed.held(), End::Park { error: "no".to_owned() });
    }
    let retried = all(&given, JobAction::Retry, Some(JobState::Parked), (None, 10));
    assert_eq!(retried, (1, None));
    assert_eq!([1, 2].map(|number| given.state(job(number))), [JobState::Ready, JobState::Parked]);
}

/// One that comes too late changes nothing, also if it selects nothing.
pub fn r2_all_selected_jobs_are_left_alone_when_it_is_too_late<T: TestStore>() {
    let given = Given::<T>::store();
    let id = given.job_of(1, "a");
    for task in ["a", "none"] {
        let filter = JobFilter { task: Some(task.to_owned()), ..JobFilter::default() };
        let not_after = given.now.before(SECOND);
        let late =
            CommandAll { action: JobAction::Cancel, filter, limit: 10, signature: None, not_after };
        assert_eq!(given.ask().command_all(&late), Err(Refusal::TooLate.into()));
    }
    assert_eq!(given.state(id), JobState::Ready);
}

/// A schedule made while programs run is changed by the same command, and one of the code is not.
pub fn a_dynamic_schedule_is_made_changed_and_removed<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    given.register(id, &cron("code", Overlap::Skip));
    let put = |name: &str, text: &str| {
        let mut definition = cron(name, Overlap::Skip);
        definition.rule = Rule { text: text.to_owned(), timing: Timing::Computed };
        given.command(&Command::Put { definition: Box::new(definition) })
    };
    assert_eq!(put("code", "x"), CommandOutcome::InCode);
    assert_eq!(put("tenant", "x"), CommandOutcome::Done);
    assert_eq!(put("tenant", "y"), CommandOutcome::Done);
    let schedule = given.schedule("tenant");
    assert_eq!((schedule.definition.is_dynamic, &*schedule.rule().text), (true, "y"));
    let remove = Command::Remove { schedule: "tenant".to_owned() };
    assert_eq!(given.command(&remove), CommandOutcome::Done);
    assert_eq!(given.command(&remove), CommandOutcome::NotFound);
}

/// The row of a tick that has fired may have been deleted.
pub fn a_single_tick_of_long_ago_does_not_fire_when_it_is_put_again<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    let put = |name: &str, at| {
        let rule = Rule { text: "once".to_owned(), timing: Timing::Once(at) };
        let definition = Box::new(ScheduleSpec { rule, ..cron(name, Overlap::Skip) });
        assert_eq!(given.command(&Command::Put { definition }), CommandOutcome::Done);
        given.schedule(name).next
    };
    let (late, over) = (
        given.now.before(FINISHED_SCHEDULE_RETENTION - SECOND),
        given.now.before(FINISHED_SCHEDULE_RETENTION),
    );
    assert_eq!(put("late", late), Next::At(late));
    assert_eq!(put("over", over), Next::Never);
    assert_eq!(given.poll(id, &["tick"]).due.len(), 1);
}

/// A command that comes too late changes nothing.
pub fn r2_a_command_that_comes_too_late_changes_nothing<T: TestStore>() {
    let given = Given::<T>::store();
    let id = given.job_of(1, "a");
    let late = given.now.before(SECOND);
    let answer = given.ask().command(&Command::Cancel { job: id }, late);
    assert_eq!(answer, Err(Refusal::TooLate.into()));
    assert_eq!(given.state(id), JobState::Ready);
}
