//! Jobs that are enqueued.

use std::time::Duration;

use crate::given::{Given, SECOND, job};
use crate::test_store::TestStore;
use scheduler_store::StoreTime;
use scheduler_store::{
    Command, CommandAll, CommandOutcome, End, Enqueue, Finish, Finished, JobAction, JobFilter,
    Prune,
};
use scheduler_store::{
    Enqueued, JobState, Key, KeyUntil, NewJob, OnConflict, Payload, Priority, StoredJob, When,
};
use scheduler_store::{NAME_MAX, PAYLOAD_MAX};
use scheduler_store::{Refusal, StoreError};

/// A job that was sent twice is one job, also after it has ended, and the identity counts before the key.
pub fn r3_the_same_job_sent_twice_is_accepted_once<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    let new = with_key(1, "a", OnConflict::Replace);
    assert_eq!(given.enqueue(new.clone()), Enqueued::Accepted(job(1)));
    assert_eq!(given.enqueue(new.clone()), Enqueued::Accepted(job(1)));
    let claimed = given.claim(id, "a");
    given.finish(id, claimed.held(), End::Done);
    let resent = NewJob { is_resent: true, ..new };
    assert_eq!(given.enqueue(resent), Enqueued::Accepted(job(1)));
    assert_eq!(given.state(job(1)), JobState::Done);
    assert_eq!(given.ask().jobs(&JobFilter::default(), 10).unwrap().len(), 1);
}

/// All jobs of a request are accepted, or none.
pub fn a_request_is_accepted_as_a_whole<T: TestStore>() {
    let given = Given::<T>::store();
    let good = NewJob::new(job(1), "a");
    for bad in unstorable() {
        let request = Enqueue { jobs: vec![good.clone(), bad.clone()], not_after: given.in_time() };
        let answer = given.ask().enqueue(&request);
        assert!(
            matches!(answer, Err(StoreError::Refused(Refusal::Unstorable { .. }))),
            "{:?}: {answer:?}",
            (&bad.task, &bad.queue, &bad.key, bad.payload.bytes.len()),
        );
    }
    assert_eq!(given.ask().jobs(&JobFilter::default(), 10).unwrap(), []);
    let late = Enqueue { jobs: vec![good], not_after: given.now.before(SECOND) };
    assert_eq!(given.ask().enqueue(&late), Err(Refusal::TooLate.into()));
    assert_eq!(given.ask().jobs(&JobFilter::default(), 10).unwrap(), []);
}

fn unstorable() -> Vec<NewJob> {
    let plain = || NewJob::new(job(2), "a");
    let mut long = plain();
    long.payload.bytes = vec![0; PAYLOAD_MAX + 1];
    let mut queue = plain();
    queue.queue = "q\0".to_owned();
    let mut key = with_key(2, "a", OnConflict::Keep);
    key.key.as_mut().expect("it has a key").text = String::new();
    let long_name = "x".repeat(NAME_MAX + 1);
    let traced = NewJob { traceparent: Some(long_name.clone()), ..plain() };
    let partitioned = NewJob { partition: Some(long_name.clone()), ..plain() };
    vec![
        traced,
        partitioned,
        NewJob::new(job(2), ""),
        NewJob::new(job(2), "a\0"),
        NewJob::new(job(2), long_name),
        long,
        queue,
        key,
    ]
}

/// A job keeps the trace context of the code that enqueued it, through all attempts and after its end; a job that is replaced
/// gets the new one.
pub fn a_job_keeps_its_trace_context<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    let traced = |number: u128, text: &str| NewJob {
        traceparent: Some(text.to_owned()),
        ..with_key(number, "a", OnConflict::Replace)
    };
    given.enqueue(traced(1, "00-one"));
    assert_eq!(given.enqueue(traced(2, "00-two")), Enqueued::Replaced(job(1)));
    let context = || given.ask().job(job(1)).unwrap().and_then(|job| job.traceparent);
    assert_eq!(context().as_deref(), Some("00-two"));
    let claimed = given.claim(id, "a");
    assert_eq!(claimed.traceparent.as_deref(), Some("00-two"));
    given.finish(id, claimed.held(), End::Done);
    assert_eq!(context().as_deref(), Some("00-two"), "it is done");
    given.command(&Command::Retry { job: job(1) });
    assert_eq!(given.claim(id, "a").traceparent.as_deref(), Some("00-two"), "it runs again");
    given.enqueue(NewJob::new(job(3), "a"));
    assert_eq!(given.claim(id, "a").traceparent, None);
}

/// A job keeps its partition through all attempts, after its end and through an edit; a job that is replaced gets the new one, and
/// those of a schedule have its own.
pub fn a_job_keeps_its_partition<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    let of = |number: u128, text: &str| NewJob {
        partition: Some(text.to_owned()),
        ..with_key(number, "a", OnConflict::Replace)
    };
    given.enqueue(of(1, "one"));
    assert_eq!(given.enqueue(of(2, "two")), Enqueued::Replaced(job(1)));
    let partition = || given.ask().job(job(1)).unwrap().and_then(|job| job.partition);
    assert_eq!(partition().as_deref(), Some("two"));
    given.command(&Command::Edit { job: job(1), fence: None, payload: Payload::default() });
    let claimed = given.claim(id, "a");
    assert_eq!(claimed.partition.as_deref(), Some("two"));
    given.finish(id, claimed.held(), End::Done);
    assert_eq!(partition().as_deref(), Some("two"), "it is done");
    given.command(&Command::Retry { job: job(1) });
    assert_eq!(given.claim(id, "a").partition.as_deref(), Some("two"), "it runs again");
    given.enqueue(NewJob { partition: Some(String::new()), ..NewJob::new(job(3), "a") });
    assert_eq!(given.claim(id, "a").partition.as_deref(), Some(""), "empty is not none");
}

/// A key keeps others of its task out until the job has ended.
pub fn a_key_is_had_by_one_unfinished_job_of_a_task<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    given.enqueue(with_key(1, "a", OnConflict::Keep));
    assert_eq!(given.enqueue(with_key(2, "a", OnConflict::Keep)), Enqueued::Kept(job(1)));
    assert_eq!(given.enqueue(with_key(3, "b", OnConflict::Keep)), Enqueued::Accepted(job(3)));
    let claimed = given.claim(id, "a");
    assert_eq!(given.enqueue(with_key(2, "a", OnConflict::Keep)), Enqueued::Kept(job(1)));
    given.finish(id, claimed.held(), End::Done);
    assert_eq!(given.enqueue(with_key(2, "a", OnConflict::Keep)), Enqueued::Accepted(job(2)));
    assert_eq!(given.ask().job(job(2)).unwrap().map(|job| job.state), Some(JobState::Ready));
}

/// A job that waits gets payload, priority and due time of the one that replaces it; a running one stays.
pub fn a_job_that_waits_is_replaced_and_a_running_one_is_not<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    given.enqueue(with_key(1, "a", OnConflict::Keep));
    let mut other = with_key(2, "a", OnConflict::Replace);
    other.payload = Payload { version: 7, bytes: vec![0, 255, b'\''] };
    (other.priority, other.when) = (Priority::Urgent, When::At(given.now.before(SECOND)));
    assert_eq!(given.enqueue(other.clone()), Enqueued::Replaced(job(1)));
    let replaced = given.job(job(1));
    assert_eq!((replaced.payload, replaced.priority), (other.payload.clone(), Priority::Urgent));
    assert_eq!(replaced.run_at, given.now.before(SECOND));
    given.claim(id, "a");
    assert_eq!(given.enqueue(other), Enqueued::Kept(job(1)));
}

/// The history of a job is not handed on to the job that replaces it.
pub fn a_job_that_replaces_another_begins_with_its_first_attempt<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    let new = NewJob { max_attempts: 3, ..with_key(1, "a", OnConflict::Keep) };
    given.enqueue(new);
    let ends = [
        End::Failed { after: SECOND, error: "no".to_owned() },
        End::Undecodable { after: SECOND, error: "what".to_owned(), limit: 5 },
        End::Lost { after: SECOND, max_lost: 3 },
    ];
    for end in ends {
        let claimed = given.claim(id, "a");
        given.finish(id, claimed.held(), end);
        given.wait(SECOND);
        let before = given.job(job(1));
        assert!(before.attempt + before.undecoded > 0 && before.error.is_some(), "{before:?}");
        let other = NewJob { max_attempts: 4, ..with_key(2, "a", OnConflict::Replace) };
        assert_eq!(given.enqueue(other), Enqueued::Replaced(job(1)));
        let replaced = given.job(job(1));
        assert_eq!((replaced.attempt, replaced.undecoded, replaced.error), (0, 0, None));
        assert_eq!((replaced.lost, replaced.max_attempts), (0, 4));
    }
}

/// A key that counts until the start is free once the job runs.
pub fn a_key_until_the_start_is_free_once_the_job_runs<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    let mut new = with_key(1, "a", OnConflict::Keep);
    new.key.as_mut().expect("it has a key").until = KeyUntil::Start;
    given.enqueue(new);
    assert_eq!(given.enqueue(with_key(2, "a", OnConflict::Keep)), Enqueued::Kept(job(1)));
    assert_eq!(given.claim(id, "a").key, None);
    assert_eq!(given.enqueue(with_key(2, "a", OnConflict::Keep)), Enqueued::Accepted(job(2)));
}

/// A key that counts for a time keeps others out after the end of its job, and longer than that while the job is unfinished.
pub fn a_key_for_a_time_outlives_its_job<T: TestStore>() {
    let minute = SECOND * 60;
    let ends = [
        (End::Done, JobState::Done),
        (End::Cancelled, JobState::Cancelled),
        (End::Park { error: "no".to_owned() }, JobState::Parked),
    ];
    for (end, state) in ends {
        let (mut given, id) = Given::<T>::session();
        let mut new = with_key(1, "a", OnConflict::Keep);
        new.key.as_mut().expect("it has a key").until = KeyUntil::For(minute);
        assert_eq!(given.enqueue(new.clone()), Enqueued::Accepted(job(1)));
        let claimed = given.claim(id, "a");
        assert_eq!(given.finish(id, claimed.held(), end), Finished::Stored(state));
        given.wait(minute - Duration::from_micros(1));
        let other = |number, on_conflict| with_key(number, "a", on_conflict);
        for on_conflict in [OnConflict::Keep, OnConflict::Replace] {
            assert_eq!(given.enqueue(other(2, on_conflict)), Enqueued::Kept(job(1)), "{state:?}");
        }
        assert_eq!(given.enqueue(with_key(3, "b", OnConflict::Keep)), Enqueued::Accepted(job(3)));
        new.is_resent = true;
        assert_eq!(given.enqueue(new.clone()), Enqueued::Accepted(job(1)), "it is the same job");
        prune(&given);
        assert_eq!(given.ask().job(job(1)).unwrap(), None);
        assert_eq!(given.enqueue(other(2, OnConflict::Keep)), Enqueued::Kept(job(1)));
        assert_eq!(given.enqueue(new), Enqueued::Accepted(job(1)), "its key remembers it");
        assert_eq!(given.ask().job(job(1)).unwrap(), None);
        given.wait(Duration::from_micros(1));
        assert_eq!(given.enqueue(other(2, OnConflict::Keep)), Enqueued::Accepted(job(2)));
        prune(&given);
        assert_eq!(given.enqueue(other(4, OnConflict::Keep)), Enqueued::Kept(job(2)));
    }
}

/// The time of a key is over before the job is: the key is free when the job has ended.
pub fn a_key_for_a_time_is_kept_while_its_job_is_unfinished<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    let mut new = with_key(1, "a", OnConflict::Keep);
    new.key.as_mut().expect("it has a key").until = KeyUntil::For(SECOND);
    given.enqueue(new);
    given.wait(SECOND * 60);
    prune(&given);
    assert_eq!(given.enqueue(with_key(2, "a", OnConflict::Keep)), Enqueued::Kept(job(1)));
    let claimed = given.claim(id, "a");
    given.finish(id, claimed.held(), End::Done);
    assert_eq!(given.enqueue(with_key(2, "a", OnConflict::Keep)), Enqueued::Accepted(job(2)));
}

/// A job takes its own key again, and none that another keeps; deleting the job frees the key.
pub fn r13_a_retry_takes_its_own_key_and_a_deletion_frees_it<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    let key_for = |number, time| {
        let mut new = with_key(number, "a", OnConflict::Keep);
        new.key.as_mut().expect("it has a key").until = KeyUntil::For(time);
        new
    };
    given.enqueue(key_for(1, SECOND * 60));
    let claimed = given.claim(id, "a");
    given.finish(id, claimed.held(), End::Done);
    let command = |given: &Given<T>, command| given.ask().command(&command, given.in_time());
    assert_eq!(command(&given, Command::Retry { job: job(1) }), Ok(CommandOutcome::Done));
    assert_eq!(given.enqueue(key_for(2, SECOND * 60)), Enqueued::Kept(job(1)));
    let claimed = given.claim(id, "a");
    given.finish(id, claimed.held(), End::Done);
    given.wait(SECOND * 60);
    assert_eq!(given.enqueue(key_for(2, SECOND * 60)), Enqueued::Accepted(job(2)));
    let claimed = given.claim(id, "a");
    given.finish(id, claimed.held(), End::Done);
    let conflict = Ok(CommandOutcome::Conflict(job(2)));
    assert_eq!(command(&given, Command::Retry { job: job(1) }), conflict, "another keeps the key");
    assert_eq!(command(&given, Command::Delete { job: job(2) }), Ok(CommandOutcome::Done));
    assert_eq!(command(&given, Command::Retry { job: job(1) }), Ok(CommandOutcome::Done));
    assert_eq!(given.enqueue(key_for(3, SECOND * 60)), Enqueued::Kept(job(1)));
}

/// Names and keys that differ in case, a blank, or the form of a character are different.
pub fn names_that_look_alike_are_different<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    let (composed, decomposed) = ("\u{e9}".to_owned(), "e\u{301}".to_owned());
    let long = "x".repeat(NAME_MAX - 1);
    let names = ["a", "A", "a ", " a", "a\t", "%", "_", "\\", &composed, &decomposed];
    let ends = [format!("{long}y"), format!("{long}z")];
    let names: Vec<&str> = names.into_iter().chain(ends.iter().map(String::as_str)).collect();
    for (number, name) in (1..).zip(&names) {
        let mut new = with_key(number, "task", OnConflict::Keep);
        new.key.as_mut().expect("it has a key").text = (*name).to_owned();
        assert_eq!(given.enqueue(new), Enqueued::Accepted(job(number)), "the key {name:?}");
        given.job_of(number + 1_000, name);
        let filter = JobFilter { task: Some((*name).to_owned()), ..JobFilter::default() };
        assert_eq!(given.ask().jobs(&filter, 10).unwrap().len(), 1, "the task {name:?}");
    }
    for (number, name) in (1..).zip(&names) {
        assert_eq!(given.claim(id, name).id, job(number + 1_000), "the task {name:?}");
    }
}

/// Texts come back byte for byte, and are never read as part of a statement.
pub fn texts_that_look_like_sql_come_back_as_they_were<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    let text = "Robert'); DROP TABLE job;-- %_\\ \" ? ?1 :a $1 \u{1F980} \r\n";
    let mut new = with_key(1, text, OnConflict::Keep);
    new.key.as_mut().expect("it has a key").text = text.to_owned();
    text.clone_into(&mut new.queue);
    new.payload = Payload { version: u32::MAX, bytes: (0..=255).cycle().take(1 << 20).collect() };
    given.enqueue(new.clone());
    let error = "x".repeat(100) + text;
    let claimed = given.claim(id, text);
    given.finish(id, claimed.held(), End::Park { error: error.clone() });
    let kept = given.job(job(1));
    assert_eq!((&kept.task, &kept.queue, kept.key.as_deref()), (&new.task, &new.queue, Some(text)));
    assert_eq!((kept.payload, kept.error), (new.payload, Some(error)));
    for filter in ["%", "_", "Robert%", "' OR 1=1 --"] {
        let filter = JobFilter { task: Some(filter.to_owned()), ..JobFilter::default() };
        assert_eq!(given.ask().jobs(&filter, 10).unwrap(), []);
    }
    let filter = JobFilter {
        task: Some(text.to_owned()),
        queue: Some(text.to_owned()),
        key: Some(text.to_owned()),
        ..JobFilter::default()
    };
    assert_eq!(given.ask().jobs(&filter, 10).unwrap().len(), 1);
    assert_eq!(given.command(&Command::Retry { job: job(1) }), CommandOutcome::Done);
    assert_eq!(given.command(&Command::Cancel { job: job(1) }), CommandOutcome::Done);
}

/// The time when a job is due is kept to the microsecond, and put into the range of a store.
pub fn a_due_time_is_kept_to_the_microsecond<T: TestStore>() {
    let given = Given::<T>::store();
    let due = |number, when| {
        given.enqueue(NewJob { when, ..NewJob::new(job(number), "a") });
        given.job(job(number)).run_at
    };
    assert_eq!(due(1, When::Now), given.now);
    let micro = Duration::from_micros(1);
    assert_eq!(due(2, When::After(Duration::from_nanos(1))), given.now.after(micro));
    assert_eq!(due(3, When::After(Duration::MAX)), StoreTime::MAX);
    assert_eq!(due(4, When::At(StoreTime::MIN)), StoreTime::MIN);
}

/// A job listed by filter is one that meets all conditions. The newest come first, and a page begins after the last.
pub fn jobs_are_listed_by_filter_and_by_page<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    for number in [5, 3, 1, 4, 2] {
        given.job_of(number, if number % 2 == 0 { "even" } else { "odd" });
    }
    let claimed = given.poll(id, &["even"]).jobs;
    given.finish(id, claimed[0].held(), End::Done);
    let list = |filter: &JobFilter, limit| -> Vec<u128> {
        let jobs = given.ask().jobs(filter, limit).unwrap();
        jobs.iter().map(|job| job.id.as_uuid().as_u128()).collect()
    };
    assert_eq!(list(&JobFilter::default(), 10), [5, 4, 3, 2, 1]);
    assert_eq!(list(&JobFilter { after: Some(job(4)), ..JobFilter::default() }, 2), [3, 2]);
    assert_eq!(list(&JobFilter { after: Some(job(2)), ..JobFilter::default() }, 2), [1]);
    let odd = JobFilter { task: Some("odd".to_owned()), ..JobFilter::default() };
    assert_eq!(list(&odd, 2), [5, 3]);
    assert_eq!(list(&JobFilter { after: Some(job(3)), ..odd.clone() }, 2), [1]);
    let running = JobFilter { state: Some(JobState::Running), ..JobFilter::default() };
    assert_eq!(list(&running, 10), [4]);
    assert_eq!(list(&JobFilter { queue: Some("mail".to_owned()), ..odd }, 10), [0; 0]);
}

/// Jobs that ended together have identities between those of others, and are listed among them.
pub fn jobs_that_ended_are_listed_among_the_others<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    for number in 1..=12 {
        given.job_of(number, if number % 3 == 0 { "third" } else { "other" });
    }
    let polled = given.poll(id, &["third"]).jobs;
    let of = |numbers: &[u128]| -> Vec<_> {
        let is_of = |row: &&StoredJob| numbers.iter().any(|number| row.id == job(*number));
        let of = polled.iter().filter(is_of);
        of.map(|row| Finish { progress: None, session: id, held: row.held(), end: End::Done })
            .collect()
    };
    for batch in [of(&[3, 12]), of(&[6, 9])] {
        given.ask().finish(&batch).unwrap();
    }
    given.command(&Command::Cancel { job: job(7) });
    let list = |filter: &JobFilter| -> Vec<u128> {
        let (mut filter, mut all) = (filter.clone(), Vec::new());
        loop {
            let page = given.ask().jobs(&filter, 2).unwrap();
            let Some(last) = page.last() else { return all };
            filter.after = Some(last.id);
            all.extend(page.iter().map(|job| job.id.as_uuid().as_u128()));
        }
    };
    let every: Vec<u128> = (1..=12).rev().collect();
    assert_eq!(list(&JobFilter::default()), every);
    let done = JobFilter { state: Some(JobState::Done), ..JobFilter::default() };
    assert_eq!(list(&done), [12, 9, 6, 3]);
    let other = JobFilter { task: Some("other".to_owned()), ..JobFilter::default() };
    assert_eq!(list(&other), [11, 10, 8, 7, 5, 4, 2, 1]);
    let ready = JobFilter { state: Some(JobState::Ready), ..other };
    assert_eq!(list(&ready), [11, 10, 8, 5, 4, 2, 1]);
}

/// Those with an error are found among others in each state, page by page, and a change of them leaves the others as they are.
pub fn jobs_with_an_error_are_listed_and_changed_apart<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    for number in 1..=9 {
        given.enqueue(NewJob { max_attempts: 2, ..NewJob::new(job(number), "a") });
    }
    let error = || "no".to_owned();
    for (number, job) in (1..).zip(given.poll(id, &["a"]).jobs) {
        let end = match number {
            1 | 2 => End::Park { error: error() },
            3..=6 => End::Failed { after: SECOND * number, error: error() },
            7 => End::Done,
            _ => End::GiveBack,
        };
        given.finish(id, job.held(), end);
    }
    given.wait(SECOND * 3);
    given.job_of(12, "b");
    let with_error = JobFilter { has_error: true, ..JobFilter::default() };
    let list = |filter: &JobFilter, limit| -> Vec<u128> {
        let jobs = given.ask().jobs(filter, limit).unwrap();
        jobs.iter().map(|job| job.id.as_uuid().as_u128()).collect()
    };
    assert_eq!(list(&with_error, 10), [6, 5, 4, 3, 2, 1]);
    let of = |state| JobFilter { state: Some(state), ..with_error.clone() };
    assert_eq!(list(&of(JobState::Ready), 3), [6, 5, 4], "due or not");
    let next = JobFilter { after: Some(job(4)), ..of(JobState::Ready) };
    assert_eq!(list(&next, 3), [3]);
    assert_eq!(list(&JobFilter { task: Some("b".to_owned()), ..of(JobState::Ready) }, 3), [0; 0]);
    assert_eq!(list(&of(JobState::Parked), 10), [2, 1]);
    assert_eq!(list(&of(JobState::Done), 10), [0; 0]);
    let cancel = CommandAll {
        action: JobAction::Cancel,
        filter: of(JobState::Ready),
        limit: 10,
        signature: None,
        not_after: given.in_time(),
    };
    assert_eq!(given.ask().command_all(&cancel).unwrap().done, 4);
    assert_eq!(list(&of(JobState::Cancelled), 10), [6, 5, 4, 3]);
    let ready = JobFilter { state: Some(JobState::Ready), ..JobFilter::default() };
    assert_eq!(list(&ready, 10), [12, 9, 8]);
}

/// Those of one partition, of any task and in any state, beside others.
pub fn fl_jobs_of_a_partition_are_listed_and_changed<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    let add = |number, task: &str, partition: Option<&str>| {
        let partition = partition.map(str::to_owned);
        given.enqueue(NewJob { partition, ..NewJob::new(job(number), task) });
    };
    for number in 1..=4 {
        add(number, "a", Some("x"));
    }
    for (number, claimed) in (1..).zip(given.poll(id, &["a"]).jobs) {
        let end = match number {
            1 => End::Done,
            2 => End::Park { error: "no".to_owned() },
            3 => End::GiveBack,
            _ => continue,
        };
        given.finish(id, claimed.held(), end);
    }
    for (number, task, partition) in [(5, "a", Some("y")), (6, "b", Some("x")), (7, "a", None)] {
        add(number, task, partition);
    }
    given.wait(SECOND);
    let of = JobFilter { partition: Some("x".to_owned()), ..JobFilter::default() };
    let list = |filter: &JobFilter, limit| -> Vec<u128> {
        let jobs = given.ask().jobs(filter, limit).unwrap();
        jobs.iter().map(|job| job.id.as_uuid().as_u128()).collect()
    };
    let state = |state| JobFilter { state: Some(state), ..of.clone() };
    assert_eq!(list(&of, 9), [6, 4, 3, 2, 1]);
    assert_eq!(
        (list(&of, 2), list(&JobFilter { after: Some(job(4)), ..of.clone() }, 2)),
        (vec![6, 4], vec![3, 2])
    );
    let states = JobState::ALL.map(|each| list(&state(each), 9));
    let wanted = |each| match each {
        JobState::Ready => vec![6, 3],
        JobState::Running => vec![4],
        JobState::Parked => vec![2],
        JobState::Done => vec![1],
        JobState::Cancelled => vec![],
    };
    assert_eq!(states, JobState::ALL.map(wanted));
    let of_a = JobFilter { task: Some("a".to_owned()), ..of.clone() };
    assert_eq!(list(&of_a, 9), [4, 3, 2, 1]);
    let in_none = JobFilter { queue: Some("none".to_owned()), ..of.clone() };
    assert_eq!(list(&in_none, 9), [0; 0]);
    assert_eq!(list(&JobFilter { has_error: true, ..of.clone() }, 9), [2]);
    let all = |action, filter: &JobFilter| {
        let (filter, signature, not_after) = (filter.clone(), None, given.in_time());
        let request = CommandAll { action, filter, limit: 9, signature, not_after };
        given.ask().command_all(&request).unwrap().done
    };
    assert_eq!(all(JobAction::Cancel, &state(JobState::Ready)), 2);
    assert_eq!(all(JobAction::Delete, &state(JobState::Parked)), 1);
    assert_eq!(all(JobAction::Delete, &state(JobState::Done)), 1);
    assert_eq!(list(&of, 9), [6, 4, 3]);
    assert_eq!([given.state(job(5)), given.state(job(7))], [JobState::Ready; 2]);
}

/// Deletes what has ended, and keys whose time is over.
fn prune<T: TestStore>(given: &Given<T>) {
    let none = Duration::ZERO;
    let request = Prune { keep_done: none, keep_parked: none, ..given.prune_of() };
    given.ask().prune(&request).unwrap();
}

pub(crate) fn with_key(number: u128, task: &str, on_conflict: OnConflict) -> NewJob {
    let key = Key { text: "k".to_owned(), until: KeyUntil::End, on_conflict };
    NewJob { key: Some(key), ..NewJob::new(job(number), task) }
}
