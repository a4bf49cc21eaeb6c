//! The runs of claimed jobs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use scheduler_store::{
    End, Fence, JobId, JobState, NewJob, OnLost, Origin, StoreTime, StoredJob, Uuid,
};

use super::stage::*;
use crate::base::sync::Mutex;
use crate::run::inject::Call;
use crate::run::{Cause, ClaimedJob, JobErrorKind, Run, TaskError};
use crate::task::{Control, Policy, Rule};

/// The jobs that were made, and how each ended.
#[derive(Clone, Default)]
struct Node {
    ended: Arc<Mutex<Vec<(u128, End)>>>,
    has_lease: Arc<AtomicBool>,
}

fn job(number: u128) -> StoredJob {
    let new = NewJob::new(JobId::from_uuid(Uuid::from_u128(number)), "task");
    let mut job = StoredJob::new(&new, start().into(), StoreTime::default());
    (job.state, job.attempt, job.max_attempts) = (JobState::Running, 3, 5);
    (job.on_lost, job.fence) = (OnLost::Abandon, Fence(17));
    job
}

fn job_of(number: u128, origin: Origin) -> StoredJob {
    let mut job = job(number);
    job.origin = Some(origin);
    job
}

impl Node {
    fn new() -> Self {
        let node = Self::default();
        node.has_lease.store(true, Ordering::SeqCst);
        node
    }

    fn claim(&self, job: StoredJob) -> Arc<ClaimedJob> {
        let (ended, number) = (Arc::clone(&self.ended), job.id.as_uuid().as_u128());
        let on_end = Box::new(move |_: &StoredJob, end| ended.lock().push((number, end)));
        let has_lease = Arc::clone(&self.has_lease);
        ClaimedJob::new(
            job,
            RETRY_AFTER,
            Box::new(move || has_lease.load(Ordering::SeqCst)),
            on_end,
        )
    }

    fn start(&self, control: &Control, number: u128) -> Arc<ClaimedJob> {
        let job = self.claim(job(number));
        assert!(control.start_job(&job));
        job
    }

    /// The ends of jobs since the last call.
    fn ended(&self) -> Vec<(u128, End)> {
        std::mem::take(&mut *self.ended.lock())
    }

    fn sole_end(&self) -> End {
        let mut ended = self.ended();
        assert_eq!(ended.len(), 1, "{ended:?}");
        ended.remove(0).1
    }
}

const RETRY_AFTER: Duration = Duration::from_secs(7);

fn failed(error: &str) -> End {
    End::Failed { after: RETRY_AFTER, error: error.to_owned() }
}

/// The reason for which a job is parked.
fn reason(end: End) -> String {
    match end {
        End::Park { error } => error,
        other => panic!("{other:?}"),
    }
}

fn policy() -> Policy {
    Policy { timeout: Some(s(10)), ..Policy::default() }.for_jobs()
}

fn asks(kind: Option<JobErrorKind>) -> Call {
    Call::Sync(Arc::new(move |_: &Run| {
        let error = TaskError::from_display("no luck");
        Err(match kind {
            Some(kind) => error.of_kind(kind),
            None => error,
        })
    }))
}

#[test]
fn a_task_of_jobs_runs_only_those_it_is_given_and_several_at_once() {
    let (mut stage, node) = (Stage::with_workers(2), Node::new());
    let control = stage.task(Rule::Job, policy(), |_| ok(1_000));
    stage.until(5_000);
    assert_eq!(control.snapshot().next, None);
    assert!(!control.has_ended());
    let _jobs: Vec<Arc<ClaimedJob>> = (1..=3).map(|number| node.start(&control, number)).collect();
    stage.until(5_500);
    assert_eq!((control.snapshot().running, node.ended()), (2, vec![]));
    stage.until(8_000);
    let ended = [1, 2, 3].map(|number| (number, End::Done));
    assert_eq!(node.ended(), ended);
    assert_eq!(control.snapshot().counters.successes, 3);
    assert!(!control.has_ended());
}

#[test]
fn a_run_knows_its_job() {
    let (mut stage, node) = (Stage::new(), Node::new());
    let seen: Arc<Mutex<Vec<Run>>> = Arc::default();
    let kept = Arc::clone(&seen);
    let control = stage.task(Rule::Job, policy(), move |run| {
        kept.lock().push(run.clone());
        ok(0)
    });
    let _plain = node.start(&control, 1);
    let tick = StoreTime::from_micros(start().timestamp_micros() - 1);
    let origin = Origin::new("task".to_owned(), Some(tick), 4);
    let ticked = node.claim(job_of(2, origin));
    assert!(control.start_job(&ticked));
    let by_hand = node.claim(job_of(3, Origin::new("task".to_owned(), None, 0)));
    assert!(control.start_job(&by_hand));
    stage.until(1);
    let runs = seen.lock();
    let causes: Vec<Cause> = runs.iter().map(Run::cause).collect();
    assert_eq!(causes, [Cause::Job, Cause::Schedule, Cause::Manual]);
    assert_eq!((runs[0].attempt(), runs[0].fence(), runs[0].tick()), (3, Some(Fence(17)), None));
    assert_eq!(runs[0].job_id(), Some(job(1).id));
    let before = start() - chrono::TimeDelta::microseconds(1);
    assert_eq!((runs[1].tick(), runs[1].fire_time(), runs[1].missed()), (Some(before), before, 4));
    assert_eq!((runs[1].due(), runs[2].tick()), (start(), None));
    let other = Run::detached("other");
    assert_eq!((other.job_id(), other.fence(), other.is_lost()), (None, None, false));
}

#[test]
fn a_job_ends_as_its_run_asks_and_is_not_tried_again_here() {
    let snooze = JobErrorKind::Snooze(s(60));
    for (kind, expected) in [
        (None, failed("no luck")),
        (Some(JobErrorKind::GiveUp), End::Park { error: "no luck".to_owned() }),
        (
            Some(JobErrorKind::Undecodable),
            End::Undecodable { after: s(60), error: "no luck".to_owned(), limit: 5 },
        ),
        (Some(snooze), End::Snooze { after: s(60) }),
    ] {
        let (mut stage, node) = (Stage::new(), Node::new());
        let control = stage.start(Rule::Job, policy(), asks(kind));
        let _job = node.start(&control, 1);
        stage.until(5_000);
        assert_eq!(node.sole_end(), expected);
        let snapshot = control.snapshot();
        let outcome = snapshot.last_runs.first().map(|run| run.outcome.name());
        // A job that is tried again has not ended: this is no run that counts.
        let (ended, streak) = match kind {
            None | Some(JobErrorKind::Undecodable) => (None, 0),
            Some(JobErrorKind::GiveUp) => (Some("error"), 1),
            Some(JobErrorKind::Snooze(_)) => (Some("snoozed"), 0),
        };
        assert_eq!((outcome, snapshot.streak), (ended, streak));
        assert_eq!(snapshot.counters.runs, u64::from(ended.is_some()));
        assert_eq!(snapshot.counters.attempts, 1);
        assert_eq!(snapshot.counters.snoozed, u64::from(kind == Some(snooze)));
    }
}

#[test]
fn a_panic_and_a_timeout_are_told_with_their_texts() {
    let (mut stage, node) = (Stage::new(), Node::new());
    let control = stage.start(Rule::Job, policy(), Call::of(|_| -> () { panic!("out of paper") }));
    let _job = node.start(&control, 1);
    stage.until(1);
    assert_eq!(node.sole_end(), failed("out of paper"));

    let (mut stage, node) = (Stage::new(), Node::new());
    let control = stage.task(Rule::Job, policy(), |_| ok(20_000));
    let _job = node.start(&control, 1);
    stage.until(30_000);
    assert!(matches!(node.sole_end(), End::Failed { error, .. } if error.contains("10s")));
}

#[test]
fn a_job_begins_or_is_withdrawn_and_is_told_once() {
    let (mut stage, node) = (Stage::with_workers(1), Node::new());
    let control = stage.task(Rule::Job, policy(), |_| ok(1_000));
    let begun = node.start(&control, 1);
    let waits = node.start(&control, 2);
    let later = node.start(&control, 3);
    stage.until(500);
    assert!(!begun.withdraw());
    assert!(waits.withdraw() && waits.withdraw());
    stage.until(3_000);
    let unrun = (2, End::GiveBack);
    assert_eq!(node.ended(), [(1, End::Done), unrun, (3, End::Done)]);
    drop((begun, waits, later));
    assert_eq!(node.ended(), []);
}

#[test]
fn r20_no_job_begins_after_the_lease_on_this_machine() {
    let (mut stage, node) = (Stage::with_workers(1), Node::new());
    let control = stage.task(Rule::Job, policy(), |_| ok(1_000));
    let _jobs = [node.start(&control, 1), node.start(&control, 2)];
    stage.until(500);
    node.has_lease.store(false, Ordering::SeqCst);
    stage.until(3_000);
    assert_eq!(node.ended(), [(1, End::Done), (2, End::GiveBack)]);
    assert_eq!(control.snapshot().counters.runs, 1);
}

#[test]
fn a_lost_run_is_asked_to_stop_and_is_neither_a_success_nor_a_failure() {
    let (mut stage, node) = (Stage::new(), Node::new());
    let seen: Arc<Mutex<Option<Run>>> = Arc::default();
    let kept = Arc::clone(&seen);
    let control = stage.task(Rule::Job, policy(), move |run| {
        *kept.lock() = Some(run.clone());
        fails(2_000)
    });
    let job = node.start(&control, 1);
    stage.until(1_000);
    job.set_lost();
    let run = seen.lock().clone().unwrap();
    assert!(run.is_lost() && run.stop_requested());
    stage.until(3_000);
    assert!(matches!(node.sole_end(), End::Lost { after: Duration::ZERO, .. }));
    assert_eq!(stage.heard(), "again 0 #3 | stop 1 | lost 2");
    let snapshot = control.snapshot();
    assert_eq!((snapshot.counters.lost, snapshot.counters.failures(), snapshot.streak), (1, 0, 0));
}

#[test]
fn a_cancelled_job_is_asked_to_stop_or_never_begins() {
    let (mut stage, node) = (Stage::with_workers(1), Node::new());
    let control = stage.task(Rule::Job, policy(), |_| ok(2_000));
    let (runs, waits) = (node.start(&control, 1), node.start(&control, 2));
    stage.until(1_000);
    runs.cancel();
    waits.cancel();
    stage.until(3_000);
    assert_eq!(node.ended(), [(1, End::Cancelled), (2, End::GiveBack)]);
}

#[test]
fn a_stop_gives_back_what_waits_and_interrupts_what_runs() {
    let (mut stage, node) = (Stage::with_workers(1), Node::new());
    let control = stage.task(Rule::Job, policy(), |_| fails(5_000));
    let _jobs = [node.start(&control, 1), node.start(&control, 2)];
    stage.until(1_000);
    control.shut_down();
    assert_eq!(node.sole_end(), End::GiveBack);
    stage.pool.shutdown_now();
    stage.until(6_000);
    assert!(reason(node.sole_end()).starts_with("interrupted: its process stopped"));
    let late = node.claim(job(3));
    assert!(!control.start_job(&late));
    assert_eq!(node.sole_end(), End::GiveBack);
}

#[test]
fn an_interrupted_job_that_may_run_again_does_at_once() {
    let (mut stage, node) = (Stage::new(), Node::new());
    let control = stage.task(Rule::Job, policy(), |_| fails(5_000));
    let mut job = job(1);
    job.on_lost = OnLost::Rerun;
    let job = node.claim(job);
    assert!(control.start_job(&job));
    stage.until(1_000);
    stage.pool.shutdown_now();
    stage.until(6_000);
    assert_eq!(node.sole_end(), End::Snooze { after: Duration::ZERO });
}

#[test]
fn a_job_that_returns_ok_when_it_is_asked_to_stop_is_done() {
    let (mut stage, node) = (Stage::new(), Node::new());
    let control = stage.task(Rule::Job, policy(), |_| ok(5_000));
    let _job = node.start(&control, 1);
    stage.until(1_000);
    stage.pool.shutdown_now();
    stage.until(6_000);
    assert_eq!(node.sole_end(), End::Done);
}

#[test]
fn a_future_that_the_pool_drops_is_interrupted() {
    let (mut stage, node) = (Stage::new(), Node::new());
    let call = Call::of_async(|_| std::future::pending::<()>());
    let control = stage.start(Rule::Job, policy(), call);
    let _job = node.start(&control, 1);
    stage.until(1);
    assert_eq!(node.ended(), []);
    stage.pool.shutdown_now();
    stage.until(1_000);
    assert!(reason(node.sole_end()).starts_with("interrupted: its process stopped"));
}

#[test]
fn a_task_of_jobs_is_controlled_in_the_store() {
    let (mut stage, node) = (Stage::new(), Node::new());
    let control = stage.task(Rule::Job, policy(), |_| ok(0));
    let errors = [
        control.run_now().map(drop).unwrap_err(),
        control.pause(&Pause::new()).unwrap_err(),
        control.resume().unwrap_err(),
        control.reschedule(rate(1_000)).unwrap_err(),
    ];
    for error in errors {
        assert!(error.to_string().contains("in the store: see `Schedules::run_now`"), "{error}");
    }
    stage.until(2_000);
    assert_eq!(stage.heard(), "");
    let other = stage.task(rate(1_000), Policy::default(), |_| ok(0));
    assert!(!other.start_job(&node.claim(job(1))));
    assert_eq!(node.sole_end(), End::GiveBack);
}

/// Nothing else may still report it: not even a node that drops the job.
#[test]
fn a_job_that_no_worker_starts_is_given_back() {
    let node = Node::new();
    drop(node.claim(job(1)));
    assert_eq!(node.sole_end(), End::GiveBack);
}
