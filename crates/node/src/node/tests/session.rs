//! The session of a node, from its start to its stop.

use super::*;

#[test]
fn an_idle_node_sends_at_most_three_statements_in_two_seconds() {
    let mut shell = Shell::new(config(), Policy::default());
    shell.until(after(1_000.0));
    assert!((1_200..=1_500).contains(&shell.sent.len()), "{}", shell.sent.len());
}

#[test]
fn a_store_that_is_away_is_asked_twice_a_second() {
    let mut shell = Shell::new(config(), Policy::default());
    shell.until(after(10.0));
    shell.is_away = true;
    shell.sent.clear();
    shell.until(after(70.0));
    assert!((30..=122).contains(&shell.sent.len()), "{}", shell.sent.len());
    shell.is_away = false;
    shell.enqueue(1);
    shell.until(after(73.0));
    assert_eq!(shell.jobs(JobState::Done).len(), 1);
    let count = |is_meant: fn(&NodeEvent) -> bool| {
        shell.events.iter().filter(|event| is_meant(event)).count()
    };
    assert_eq!(count(|event| matches!(event, NodeEvent::StoreAway { .. })), 1);
    assert_eq!(count(|event| matches!(event, NodeEvent::StoreBack { .. })), 1);
    assert_eq!(count(|event| matches!(event, NodeEvent::SessionLost { .. })), 1);
}

#[test]
fn another_application_in_the_store_is_told_once() {
    let mut shell =
        Shell::new(Config { application: "shop".into(), ..config() }, Policy::default());
    let stranger = Open {
        id: scheduler_store::SessionId::from_uuid(Uuid::from_u128(1)),
        replaces: None,
        label: "bank-1".into(),
        build: String::new(),
        application: "bank".into(),
        tasks: ["book".into()].into(),
        lease: Duration::MAX,
        not_after: StoreTime::MAX,
    };
    shell.model.open(&stranger).expect("it is opened");
    shell.until(after(10.0));
    // The second session of the process.
    shell.is_away = true;
    shell.until(after(40.0));
    shell.is_away = false;
    shell.until(after(60.0));
    let count = |is_meant: fn(&NodeEvent) -> bool| {
        shell.events.iter().filter(|event| is_meant(event)).count()
    };
    assert_eq!(count(|event| matches!(event, NodeEvent::Opened { .. })), 2);
    assert_eq!(count(|event| matches!(event, NodeEvent::Stranger(_))), 1);
}

#[test]
fn a_late_yes_is_a_no() {
    let mut shell = Shell::new(config(), Policy::default());
    shell.enqueue(8);
    shell.lasts = Duration::from_secs(60);
    shell.until(after(4.9));
    let session = shell.node.session().expect("it is open");
    shell.latency = Duration::from_millis(7_900);
    shell.until(after(12.7));
    assert_eq!(shell.node.session(), Some(session), "0.85 of 15 s are 12.75 s");
    shell.until(after(12.9));
    assert_ne!(shell.node.session(), Some(session));
    let lost = NodeEvent::SessionLost { session, reason: LostReason::NotRenewed, runs: 4 };
    assert!(shell.events.contains(&lost), "{:?}", shell.events);
}

#[test]
fn a_store_clock_that_is_set_forward_is_asked_for_again() {
    let mut shell = Shell::new(config(), Policy::default());
    shell.until(after(3.0));
    shell.set_by = Duration::from_secs(8);
    shell.enqueue(1);
    shell.until(after(5.0));
    assert_eq!(shell.jobs(JobState::Done).len(), 1);
    let is_loss = |event: &NodeEvent| matches!(event, NodeEvent::SessionLost { .. });
    assert!(!shell.events.iter().any(is_loss), "the lease had not run out");
    // Further than the lease: the session has ended, and another is opened.
    shell.set_by = Duration::from_secs(60);
    shell.until(after(8.0));
    assert!(shell.events.iter().any(is_loss));
    assert!(shell.node.session().is_some());
}

#[test]
fn the_job_of_a_process_that_died_runs_elsewhere_soon() {
    let mut dead = Shell::new(config(), Policy::default());
    dead.enqueue(1);
    dead.lasts = Duration::from_secs(1_000);
    let mut other = dead.other(config(), Policy::default(), dead.now);
    for second in 1..=17 {
        dead.until(after(f64::from(second)));
        other.until(after(f64::from(second)));
    }
    assert_eq!(other.jobs(JobState::Running)[0].attempt, 1);
    // It dies at 17 s, and its last renewal was at 15 s: the other one has seen that at 15 or 20 s.
    other.until(after(37.0));
    let done = other.jobs(JobState::Done);
    assert_eq!(done.len(), 1, "a loss is no failed attempt: {:?}", other.events);
    assert_eq!((done[0].attempt, done[0].lost), (2, 1));
}

#[test]
fn a_stop_gives_back_waits_and_closes() {
    let mut shell = Shell::new(Config { workers: 1, ..config() }, Policy::default());
    shell.lasts = Duration::from_millis(10);
    shell.enqueue(30);
    shell.until(after(0.1));
    assert!(!shell.queue.is_empty(), "some wait for the worker");
    shell.step(Input::Stop);
    assert!(shell.queue.is_empty());
    shell.until(after(0.2));
    assert!(shell.is_stopped);
    assert!(matches!(shell.sent.last(), Some((_, Request::Close(_)))));
    assert_eq!(shell.jobs(JobState::Running), []);
    assert!(shell.jobs(JobState::Ready).iter().all(|job| job.attempt == 0));
    assert_eq!(shell.model.sessions(), Ok(Vec::new()));
}

#[test]
fn a_run_is_cancelled_while_the_process_stops_and_nothing_is_claimed() {
    for is_before in [true, false] {
        let mut shell = Shell::new(config(), Policy::default());
        shell.enqueue(1);
        shell.lasts = Duration::from_secs(100);
        shell.until(after(2.0));
        let id = shell.jobs(JobState::Running)[0].id;
        let cancel = |shell: &mut Shell| {
            shell.model.set_now(shell.store_now());
            shell.model.command(&Command::Cancel { job: id }, StoreTime::MAX).expect("it runs");
        };
        if is_before {
            cancel(&mut shell);
        }
        shell.step(Input::Stop);
        if !is_before {
            cancel(&mut shell);
            shell.step(Input::Nudge);
        }
        shell.enqueue(2);
        let asked = shell.sent.len();
        shell.until(after(10.0));
        assert_eq!(shell.cancels, 1, "asked before the stop: {is_before}");
        assert_eq!(shell.jobs(JobState::Ready).len(), 2, "nothing is claimed, and no poll spins");
        let polls = shell.polls(asked);
        assert!((1..=30).contains(&polls), "{polls} polls");
        shell.until(after(200.0));
        assert!(shell.is_stopped);
    }
}
