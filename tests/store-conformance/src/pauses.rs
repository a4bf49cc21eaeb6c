//! Pauses of kinds of jobs and of queues.

use std::time::Duration;

use crate::given::{Given, SECOND, cron, job};
use crate::test_store::TestStore;
use scheduler_store::{
    Command, CommandOutcome, End, Enqueued, Fired, JobPause, JobState, NewJob, Overlap, Pause,
    PauseScope, Polled, SessionId, StoreTime,
};

fn task(name: &str) -> PauseScope {
    PauseScope::Task(name.to_owned())
}

fn queue(name: &str) -> PauseScope {
    PauseScope::Queue(name.to_owned())
}

fn pause<T: TestStore>(given: &Given<T>, scope: PauseScope, until: Option<StoreTime>) {
    let (by, reason) = ("ada".to_owned(), "the mail server is down".to_owned());
    let pause = Command::PauseJobs { scope, until, by, reason };
    assert_eq!(given.command(&pause), CommandOutcome::Done);
}

fn resume<T: TestStore>(given: &Given<T>, scope: PauseScope) {
    assert_eq!(given.command(&Command::ResumeJobs { scope }), CommandOutcome::Done);
}

/// The numbers of the jobs that a poll claims.
fn claimed<T: TestStore>(given: &Given<T>, session: SessionId) -> Vec<u128> {
    let jobs = given.poll(session, &["mail", "other"]).jobs;
    jobs.iter().map(|job| job.id.as_uuid().as_u128()).collect()
}

fn in_queue(number: u128, task: &str, queue: &str) -> NewJob {
    NewJob { queue: queue.to_owned(), ..NewJob::new(job(number), task) }
}

/// Nothing of a paused task is claimed, in any queue; others are, and all of it is once it is resumed.
pub fn r21_a_paused_kind_of_job_waits<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    given.job_of(1, "mail");
    pause(&given, task("mail"), None);
    assert_eq!(given.enqueue(in_queue(2, "mail", "slow")), Enqueued::Accepted(job(2)));
    given.job_of(3, "other");
    let polled = given.poll(id, &["mail", "other"]);
    assert_eq!(polled.jobs.iter().map(|job| job.id).collect::<Vec<_>>(), [job(3)]);
    assert_eq!((polled.paused, polled.next_job), (vec![task("mail")], None));
    assert_eq!(given.state(job(1)), JobState::Ready);
    resume(&given, task("mail"));
    assert_eq!(claimed(&given, id), [1, 2]);
    assert_eq!(given.poll(id, &[]).paused, []);
}

/// The same of a queue, whatever the task.
pub fn r21_a_paused_queue_waits<T: TestStore>() {
    let (given, id) = Given::<T>::session();
    pause(&given, queue("slow"), None);
    given.enqueue(in_queue(1, "mail", "slow"));
    given.enqueue(in_queue(2, "other", "slow"));
    given.job_of(3, "mail");
    assert_eq!(claimed(&given, id), [3]);
    // A task of the same name is something else.
    resume(&given, task("slow"));
    assert_eq!(claimed(&given, id), [0; 0]);
    resume(&given, queue("slow"));
    assert_eq!(claimed(&given, id), [1, 2]);
}

/// A pause ends by the clock of the store. A poll says when.
pub fn a_pause_of_jobs_ends_by_itself<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    given.job_of(1, "mail");
    let until = given.now.after(SECOND * 5);
    pause(&given, task("mail"), Some(until));
    assert_eq!(given.poll(id, &["mail"]).next_job, Some(until));
    given.wait(Duration::from_micros(4_999_999));
    assert_eq!(claimed(&given, id), [0; 0]);
    assert_eq!(given.ask().pauses().unwrap().len(), 1);
    given.wait(Duration::from_micros(1));
    assert_eq!(given.ask().pauses().unwrap(), []);
    assert_eq!(claimed(&given, id), [1]);
}

/// A pause says who, why, since when and until when; a second one has another end and reason, and the same begin.
pub fn a_pause_of_jobs_comes_back_as_it_was<T: TestStore>() {
    let mut given = Given::<T>::store();
    let (since, until) = (given.now, Some(given.now.after(SECOND * 9)));
    pause(&given, queue("mail"), None);
    pause(&given, task("mail"), until);
    given.wait(SECOND);
    pause(&given, queue("mail"), until);
    let of = |scope| {
        let pause = Pause::new(since, until, "ada", "the mail server is down");
        JobPause::new(scope, pause)
    };
    let partition = PauseScope::Partition("mail".to_owned(), "x".to_owned());
    let since_then = JobPause::new(
        partition.clone(),
        Pause::new(given.now, until, "ada", "the mail server is down"),
    );
    pause(&given, partition, until);
    assert_eq!(given.ask().pauses().unwrap(), [of(task("mail")), of(queue("mail")), since_then]);
    given.wait(SECOND * 10);
    pause(&given, task("mail"), None);
    let pauses = given.ask().pauses().unwrap();
    assert_eq!((pauses.len(), pauses[0].pause.since), (1, given.now));
}

/// Running jobs go on and are finished; those that are to run again wait, also one that is retried by hand.
pub fn what_runs_when_its_kind_is_paused_goes_on<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    let [one, two] = [given.job_of(1, "mail"), given.job_of(2, "mail")];
    let running = given.poll(id, &["mail"]).jobs;
    pause(&given, task("mail"), None);
    given.finish(id, running[0].held(), End::Done);
    given.finish(id, running[1].held(), End::GiveBack);
    assert_eq!((given.state(one), given.state(two)), (JobState::Done, JobState::Ready));
    assert_eq!(given.command(&Command::Retry { job: one }), CommandOutcome::Done);
    given.wait(SECOND);
    assert_eq!(claimed(&given, id), [0; 0]);
    resume(&given, task("mail"));
    assert_eq!(claimed(&given, id), [1, 2]);
}

/// A tick fires, and its job waits.
pub fn r21_a_tick_of_a_paused_kind_is_not_claimed_as_it_fires<T: TestStore>() {
    for scope in [task("tick"), queue("default")] {
        let (mut given, id) = Given::<T>::session();
        given.register(id, &cron("s", Overlap::Skip));
        pause(&given, scope.clone(), None);
        given.wait(SECOND);
        let mut fire = given.fire_of(id, "s", 1);
        fire.claim = Some(u32::MAX);
        assert_eq!(given.fire(&fire), Fired::Moved(None));
        assert_eq!(given.state(job(1)), JobState::Ready);
        resume(&given, scope);
        assert_eq!(given.claim(id, "tick").id, job(1));
    }
}

/// The jobs of one partition wait, in any queue; those of others and of other tasks go on. Lists and polls name no such pause.
pub fn fl_a_paused_partition_waits_and_says_so<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    let of = |task: &str, partition: &str, number| {
        let partition = Some(partition.to_owned());
        given.enqueue(NewJob { partition, ..NewJob::new(job(number), task) });
    };
    for (number, partition) in [(1, "x"), (2, "y"), (4, "x")] {
        of("mail", partition, number);
    }
    of("other", "x", 3);
    let scope = PauseScope::Partition("mail".to_owned(), "x".to_owned());
    let until = given.now.after(SECOND * 30);
    pause(&given, scope.clone(), Some(until));
    let polled = given.poll(id, &["mail", "other"]);
    let numbers = |polled: &Polled| -> Vec<u128> {
        polled.jobs.iter().map(|job| job.id.as_uuid().as_u128()).collect()
    };
    assert_eq!((numbers(&polled), &polled.paused), (vec![2, 3], &Vec::new()));
    assert_eq!(given.poll(id, &["mail", "other"]).next_job, Some(until), "then it is due");
    let held = Pause::new(given.now, Some(until), "ada", "the mail server is down");
    assert_eq!(given.ask().pauses().unwrap(), [JobPause::new(scope.clone(), held.clone())]);
    let depths = given.ask().partitions("mail", 9).unwrap();
    let shown: Vec<_> = depths.iter().map(|each| (&*each.partition, each.pause.as_ref())).collect();
    assert_eq!(shown, [("x", Some(&held)), ("y", None)]);
    given.wait(SECOND * 30);
    assert_eq!(claimed(&given, id), [1, 4], "the pause is over");
    pause(&given, scope.clone(), None);
    let partition = Some("x".to_owned());
    given.enqueue(NewJob { partition, ..NewJob::new(job(5), "mail") });
    assert_eq!(claimed(&given, id), []);
    resume(&given, scope);
    assert_eq!(claimed(&given, id), [5]);
}
