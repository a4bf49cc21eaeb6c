//! The processes behind sessions: what they serve, how they ended, and their pauses.

use std::time::Duration;

use crate::given::{Given, LEASE, SECOND, session};
use crate::test_store::TestStore;
use scheduler_store::{
    Close, Command, CommandOutcome, ENDED_SESSION_RETENTION, End, JobState, NewJob, Open, Pause,
    Prune, Renew, SessionEnd, SessionId, SessionInfo, SessionTask, StoreTime,
};

fn sessions<T: TestStore>(given: &Given<T>) -> Vec<SessionInfo> {
    given.ask().sessions().unwrap()
}

fn ends<T: TestStore>(given: &Given<T>) -> Vec<(SessionId, SessionEnd)> {
    let sessions = sessions(given).into_iter();
    sessions.filter_map(|session| Some((session.id, session.ended?))).collect()
}

fn pause<T: TestStore>(given: &Given<T>, node: SessionId, until: Option<StoreTime>) {
    let (by, reason) = ("ada".to_owned(), "a disk is replaced".to_owned());
    let pause = Command::PauseNode { session: node, until, by, reason };
    assert_eq!(given.command(&pause), CommandOutcome::Done);
}

/// The facts of a process, and how far its clock is off, come back as they were.
pub fn a_session_has_the_facts_of_its_process<T: TestStore>() {
    let given = Given::<T>::store();
    let queues = [None, Some(Vec::new()), Some(vec!["mail".to_owned(), "a b".to_owned()])];
    for (number, queues) in (1..).zip(&queues) {
        let request = Open {
            id: session(number),
            replaces: None,
            label: "web-1".to_owned(),
            build: "7".to_owned(),
            application: "shop".to_owned(),
            tasks: [SessionTask { name: "send".to_owned(), version: u32::MAX }].into(),
            queues: queues
                .as_ref()
                .map(|queues| queues.iter().map(|queue| (**queue).into()).collect()),
            concurrency: u32::MAX,
            lease: LEASE,
            not_after: given.in_time(),
        };
        given.ask().open(&request).unwrap();
        let offset = [None, Some(-3_600_000_000), Some(i64::MAX)][number as usize - 1];
        let renew = Renew {
            progress: Vec::new(),
            session: session(number),
            lease: LEASE,
            clock_offset: offset,
            not_after: given.in_time(),
        };
        assert!(given.ask().renew(&renew).unwrap().is_alive);
        let mut expected = SessionInfo::new(session(number), given.now);
        (expected.label, expected.build) = (request.label, request.build);
        (expected.application, expected.tasks) = (request.application, request.tasks.to_vec());
        (expected.queues, expected.concurrency) = (queues.clone(), request.concurrency);
        expected.clock_offset = offset;
        assert_eq!(sessions(&given)[number as usize - 1], expected);
    }
}

/// A session that was closed, reaped or replaced is kept with its cause, and goes after an hour.
pub fn a_session_that_has_ended_is_kept_for_an_hour_with_its_cause<T: TestStore>() {
    let mut given = Given::<T>::store();
    let [closed, killed, frozen] = [1, 2, 3].map(|number| given.open_for(number, LEASE, None));
    given.job_of(1, "a");
    given.claim(closed, "a");
    for number in 2..=3 {
        given.job_of(number, "a");
        given.claim(killed, "a");
    }
    given.ask().close(&Close { session: closed, not_after: given.in_time() }).unwrap();
    let closed_at = given.now;
    given.wait(LEASE);
    let lost_at = given.now;
    given.open_for(4, LEASE, Some(frozen));
    given.wait(SECOND);
    let dead = given.lease_of(killed);
    assert_eq!(given.reap(vec![dead]).sessions, [killed]);
    let by_finder = SessionEnd::new(given.now, Some("finder"), 2);
    let expected = [
        (killed, by_finder),
        (frozen, SessionEnd::new(lost_at, Some("node"), 0)),
        (closed, SessionEnd::new(closed_at, None, 0)),
    ];
    assert_eq!(ends(&given), expected);
    let open: Vec<_> = sessions(&given).into_iter().filter(SessionInfo::is_alive).collect();
    assert_eq!(open.iter().map(|session| session.id).collect::<Vec<_>>(), [session(4)]);
    // A reap or a close that comes again changes nothing.
    given.reap(vec![dead]);
    given.ask().close(&Close { session: closed, not_after: given.in_time() }).unwrap();
    assert_eq!(ends(&given), expected);
    given.wait(ENDED_SESSION_RETENTION - SECOND);
    assert_eq!(ends(&given), expected[..1], "an hour for each");
    given.wait(SECOND);
    assert_eq!(ends(&given), []);
}

/// Sessions that ended long ago are deleted, those that ended first before others, and no more than a slice at once.
pub fn sessions_that_ended_long_ago_are_deleted_in_slices<T: TestStore>() {
    let mut given = Given::<T>::store();
    let start = given.now;
    for number in 1..=5 {
        let id = given.open(number);
        given.ask().close(&Close { session: id, not_after: given.in_time() }).unwrap();
        given.wait(SECOND);
    }
    given.wait(ENDED_SESSION_RETENTION);
    let prune = Prune {
        keep_done: Duration::MAX,
        keep_parked: Duration::MAX,
        keep_over: Duration::MAX,
        keep_actions: Duration::MAX,
        limit: 3,
        not_after: given.in_time(),
    };
    given.ask().prune(&prune).unwrap();
    // By a clock that was set back the others are there.
    given.now = start;
    given.wait(SECOND * 5);
    let left: Vec<_> = ends(&given).into_iter().map(|(id, _)| id).collect();
    assert_eq!(left, [session(5), session(4)]);
    given.wait(ENDED_SESSION_RETENTION + SECOND);
    given.ask().prune(&prune).unwrap();
    given.now = start;
    given.wait(SECOND * 5);
    assert_eq!(ends(&given), []);
}

/// A process that is paused claims nothing, others do, and what it runs goes on.
pub fn a_paused_process_claims_nothing<T: TestStore>() {
    let (mut given, id) = Given::<T>::session();
    let other = given.open(2);
    given.job_of(1, "a");
    let running = given.claim(id, "a");
    let until = given.now.after(SECOND * 60);
    pause(&given, id, Some(until));
    given.job_of(2, "a");
    let polled = given.poll(id, &["a"]);
    assert_eq!((polled.is_alive, polled.is_paused, polled.jobs), (true, true, Vec::new()));
    assert_eq!(
        sessions(&given)[0].pause,
        Some(Pause::new(given.now, Some(until), "ada", "a disk is replaced"))
    );
    assert_eq!(
        given.finish(id, running.held(), End::Done),
        scheduler_store::Finished::Stored(JobState::Done)
    );
    let polled = given.poll(other, &["a"]);
    assert_eq!((polled.is_paused, polled.jobs.len()), (false, 1));
    // A pause that holds keeps its beginning.
    let since = given.now;
    given.wait(SECOND);
    pause(&given, id, Some(until));
    assert_eq!(sessions(&given)[0].pause.as_ref().map(|pause| pause.since), Some(since));
    given.job_of(3, "a");
    given.wait(SECOND * 59);
    assert_eq!(given.poll(id, &["a"]).jobs.len(), 1, "it ends by itself");
    assert_eq!(sessions(&given)[0].pause, None);
    pause(&given, id, None);
    assert_eq!(sessions(&given)[0].pause.as_ref().map(|pause| pause.since), Some(given.now));
    given.enqueue(NewJob::new(crate::given::job(4), "a"));
    assert_eq!(given.command(&Command::ResumeNode { session: id }), CommandOutcome::Done);
    assert_eq!(given.command(&Command::ResumeNode { session: id }), CommandOutcome::Done);
    assert_eq!(given.poll(id, &["a"]).jobs.len(), 1);
    let none = Command::ResumeNode { session: session(9) };
    assert_eq!(given.command(&none), CommandOutcome::NotFound);
}

/// A process that loses its session is paused in the next one, also if another process has taken over meanwhile.
pub fn a_pause_of_a_process_outlives_its_session<T: TestStore>() {
    for is_reaped in [false, true] {
        let mut given = Given::<T>::store();
        let id = given.open_for(1, LEASE, None);
        pause(&given, id, None);
        let since = given.now;
        given.wait(LEASE);
        if is_reaped {
            given.reap(vec![given.lease_of(id)]);
        }
        let next = given.open_for(2, LEASE, Some(id));
        given.job_of(1, "a");
        let polled = given.poll(next, &["a"]);
        assert_eq!((polled.is_paused, polled.jobs), (true, Vec::new()), "reaped: {is_reaped}");
        let kept = sessions(&given)[0].pause.clone().expect("a pause");
        assert_eq!((kept.since, &*kept.by), (since, "ada"));
        assert_eq!(given.command(&Command::ResumeNode { session: next }), CommandOutcome::Done);
        given.open_for(2, LEASE, Some(id));
        assert!(!given.poll(next, &["a"]).is_paused, "an open that comes again");
    }
}
