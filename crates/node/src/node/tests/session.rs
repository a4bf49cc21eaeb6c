//! The session of a node, from its start to its stop.

use super::*;

#[test]
fn an_idle_node_sends_at_most_three_statements_in_two_seconds() {
    let mut driver = Driver::new(config(), Policy::default());
    driver.until(after(1_000.0));
    assert!((1_200..=1_500).contains(&driver.sent.len()), "{}", driver.sent.len());
}

#[test]
fn a_store_that_is_away_is_asked_twice_a_second() {
    let mut driver = Driver::new(config(), Policy::default());
    driver.until(after(10.0));
    driver.is_away = true;
    driver.sent.clear();
    driver.until(after(70.0));
    assert!((30..=122).contains(&driver.sent.len()), "{}", driver.sent.len());
    driver.is_away = false;
    driver.enqueue(1);
    driver.until(after(73.0));
    assert_eq!(driver.jobs(JobState::Done).len(), 1);
    let count = |is_meant: fn(&NodeEvent) -> bool| {
        driver.events.iter().filter(|event| is_meant(event)).count()
    };
    assert_eq!(count(|event| matches!(event, NodeEvent::StoreAway { .. })), 1);
    assert_eq!(count(|event| matches!(event, NodeEvent::StoreBack { .. })), 1);
    assert_eq!(count(|event| matches!(event, NodeEvent::SessionLost { .. })), 1);
}

#[test]
fn a_session_is_named_by_the_time_of_its_opening() {
    let mut driver = Driver::new(config(), Policy::default());
    driver.is_away = true;
    driver.until(after(10.0));
    driver.is_away = false;
    driver.until(after(20.0));
    // The second session of the process.
    driver.is_away = true;
    driver.until(after(60.0));
    driver.is_away = false;
    driver.until(after(80.0));
    let named = driver.events.iter().filter_map(|event| match event {
        NodeEvent::Opened { session, .. } => Some(session.as_uuid().as_u128() >> 80),
        _ => None,
    });
    let named: Vec<u128> = named.collect();
    let [first, second] = named[..] else { panic!("two sessions: {named:?}") };
    let millis = |seconds: u128| 1_700_000_000_000 + seconds * 1_000;
    assert!((millis(17)..millis(20)).contains(&first), "by the clock of the process: {first}");
    assert!((millis(60)..millis(63)).contains(&second), "by the clock of the store: {second}");
}

#[test]
fn another_application_in_the_store_is_told_once() {
    let mut driver =
        Driver::new(Config { application: "shop".into(), ..config() }, Policy::default());
    let other = Open {
        queues: None,
        concurrency: 4,
        id: scheduler_store::SessionId::from_uuid(Uuid::from_u128(1)),
        replaces: None,
        label: "bank-1".into(),
        build: String::new(),
        application: "bank".into(),
        tasks: [SessionTask { name: "book".into(), version: 1 }].into(),
        lease: Duration::MAX,
        not_after: StoreTime::MAX,
    };
    driver.model.open(&other).expect("it is opened");
    driver.until(after(10.0));
    // The second session of the process.
    driver.is_away = true;
    driver.until(after(40.0));
    driver.is_away = false;
    driver.until(after(60.0));
    let count = |is_meant: fn(&NodeEvent) -> bool| {
        driver.events.iter().filter(|event| is_meant(event)).count()
    };
    assert_eq!(count(|event| matches!(event, NodeEvent::Opened { .. })), 2);
    assert_eq!(count(|event| matches!(event, NodeEvent::OtherApplication(_))), 1);
}

#[test]
fn a_late_yes_is_a_no() {
    let mut driver = Driver::new(config(), Policy::default());
    driver.enqueue(8);
    driver.lasts = Duration::from_secs(60);
    driver.until(after(4.9));
    let session = driver.node.session().expect("it is open");
    driver.latency = Duration::from_millis(7_900);
    driver.until(after(12.7));
    assert_eq!(driver.node.session(), Some(session), "0.85 of 15 s are 12.75 s");
    driver.until(after(12.9));
    assert_ne!(driver.node.session(), Some(session));
    let lost = NodeEvent::SessionLost { session, reason: LostReason::NotRenewed, runs: 4 };
    assert!(driver.events.contains(&lost), "{:?}", driver.events);
}

#[test]
fn a_store_clock_that_is_set_forward_is_asked_for_again() {
    let mut driver = Driver::new(config(), Policy::default());
    driver.until(after(3.0));
    driver.set_by = Duration::from_secs(8);
    driver.enqueue(1);
    driver.until(after(5.0));
    assert_eq!(driver.jobs(JobState::Done).len(), 1);
    let is_loss = |event: &NodeEvent| matches!(event, NodeEvent::SessionLost { .. });
    assert!(!driver.events.iter().any(is_loss), "the lease had not run out");
    // Further than the lease: the session has ended, and another is opened.
    driver.set_by = Duration::from_secs(60);
    driver.until(after(8.0));
    assert!(driver.events.iter().any(is_loss));
    assert!(driver.node.session().is_some());
}

#[test]
fn the_job_of_a_process_that_died_runs_elsewhere_soon() {
    let mut dead = Driver::new(config(), Policy::default());
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
    assert_eq!(
        (done[0].attempt, done[0].attempts[0].outcome),
        (2, scheduler_store::AttemptOutcome::Lost)
    );
}

#[test]
fn a_stop_gives_back_waits_and_closes() {
    let mut driver = Driver::new(Config { workers: 1, ..config() }, Policy::default());
    driver.lasts = Duration::from_millis(10);
    driver.enqueue(30);
    driver.until(after(0.1));
    assert!(!driver.queue.is_empty(), "some wait for the worker");
    driver.step(Input::Stop);
    assert!(driver.queue.is_empty());
    driver.until(after(0.2));
    assert!(driver.is_stopped);
    assert!(matches!(driver.sent.last(), Some((_, Request::Close(_)))));
    assert_eq!(driver.jobs(JobState::Running), []);
    assert!(driver.jobs(JobState::Ready).iter().all(|job| job.attempt == 0));
    let sessions = driver.model.sessions().expect("a model answers");
    assert!(!sessions.iter().any(SessionInfo::is_alive));
}

#[test]
fn a_run_is_cancelled_while_the_process_stops_and_nothing_is_claimed() {
    for is_before in [true, false] {
        let mut driver = Driver::new(config(), Policy::default());
        driver.enqueue(1);
        driver.lasts = Duration::from_secs(100);
        driver.until(after(2.0));
        let id = driver.jobs(JobState::Running)[0].id;
        let cancel = |driver: &mut Driver| {
            driver.model.set_now(driver.store_now());
            driver.model.command(&Command::Cancel { job: id }, StoreTime::MAX).expect("it runs");
        };
        if is_before {
            cancel(&mut driver);
        }
        driver.step(Input::Stop);
        if !is_before {
            cancel(&mut driver);
            driver.step(Input::Nudge);
        }
        driver.enqueue(2);
        let asked = driver.sent.len();
        driver.until(after(10.0));
        assert_eq!(driver.cancels, 1, "asked before the stop: {is_before}");
        assert_eq!(driver.jobs(JobState::Ready).len(), 2, "nothing is claimed, and no poll spins");
        let polls = driver.polls(asked);
        assert!((1..=30).contains(&polls), "{polls} polls");
        driver.until(after(200.0));
        assert!(driver.is_stopped);
    }
}

#[test]
fn a_schedule_that_another_has_locked_keeps_no_job_from_running() {
    let definitions = [definition(Timing::Computed)].into();
    let mut driver = Driver::new(Config { definitions, ..config() }, Policy::default());
    driver.other_answer = |request| match request {
        Request::Register(_) => Some(Err(Refusal::Locked.into())),
        _ => None,
    };
    driver.enqueue(3);
    driver.until(after(5.0));
    assert_eq!(driver.jobs(JobState::Done).len(), 3);
    let is_told =
        |event: &&NodeEvent| matches!(event, NodeEvent::Refused { request: "register", .. });
    assert_eq!(driver.events.iter().filter(is_told).count(), 1);
    let asked = driver.sent.iter().filter(|(_, request)| matches!(request, Request::Register(_)));
    assert!((15..=25).contains(&asked.count()), "about every 250 ms");
    driver.other_answer = |_| None;
    driver.until(after(6.0));
    let is_registered = |event: &NodeEvent| matches!(event, NodeEvent::Registered { .. });
    assert!(driver.events.iter().any(is_registered));
}

/// The store answers, so that it is no outage; and a process that works no jobs says so for as long as that goes on.
#[test]
fn a_request_that_the_store_answers_with_an_error_is_told_once_a_minute_and_is_no_outage() {
    for request in ["poll", "renew", "register", "prune", "finish", "fire", "reap", "held"] {
        let definitions = [definition(Timing::Computed)].into();
        let mut driver = Driver::new(Config { definitions, ..config() }, Policy::default());
        driver.failing = Some(request);
        driver.enqueue(1);
        driver.until(after(150.0));
        let is_outage = |event: &&NodeEvent| {
            matches!(event, NodeEvent::StoreAway { .. } | NodeEvent::StoreBack { .. })
        };
        assert_eq!(driver.events.iter().find(is_outage), None, "{request}");
        let told = NodeEvent::Refused { request, reason: "no right (42501)".to_owned() };
        let told = driver.events.iter().filter(|event| **event == told).count();
        let asked = driver.sent.iter().filter(|(_, sent)| sent.name() == request).count();
        assert!((1..=4).contains(&told), "{request}: told {told} times of {asked}");
        assert!((1..=330).contains(&asked), "{request}: asked {asked} times in 150 s");
        let is_about_jobs = ["poll", "finish"].contains(&request);
        assert_eq!(driver.jobs(JobState::Done).is_empty(), is_about_jobs, "{request}");
        // It goes on by itself.
        driver.failing = None;
        driver.until(after(200.0));
        assert!(!driver.jobs(JobState::Done).is_empty(), "{request}");
    }
}

/// The outcomes of a long batch may be more than one statement can take.
#[test]
fn ends_that_fail_together_are_sent_in_parts() {
    let mut driver = Driver::new(config(), Policy::default());
    driver.enqueue(100);
    driver.other_answer = |request| match request {
        Request::Finish(finishes) if finishes.len() > 1 => {
            Some(Err(StoreError::NotExecuted("out of memory".into())))
        }
        _ => None,
    };
    driver.until(after(60.0));
    assert_eq!(driver.jobs(JobState::Done).len(), 100);
}

/// A person has locked the row of a job that has ended, and the process loses its session.
#[test]
fn an_end_that_cannot_be_stored_keeps_no_session_from_being_opened() {
    let mut driver = Driver::new(config(), Policy::default());
    driver.enqueue(1);
    driver.other_answer = |request| match request {
        Request::Finish(finishes) => {
            Some(Ok(Answer::Finish(vec![Finished::Locked; finishes.len()])))
        }
        _ => None,
    };
    driver.until(after(10.0));
    driver.is_away = true;
    driver.until(after(40.0));
    driver.is_away = false;
    driver.until(after(45.0));
    let opened = driver.events.iter().filter_map(|event| match event {
        NodeEvent::Opened { replaces, .. } => Some(*replaces),
        _ => None,
    });
    // The session whose end is to be stored is not ended by the next one.
    assert_eq!(opened.collect::<Vec<_>>(), [None, None]);
    driver.other_answer = |_| None;
    driver.until(after(50.0));
    assert_eq!(driver.jobs(JobState::Done).len(), 1);
}

/// The sessions that have ended, as any process sees them.
fn ended(model: &Model) -> Vec<(String, bool, String, u32)> {
    let sessions = model.sessions().expect("a model answers").into_iter();
    let ended = sessions.filter_map(|session| Some((session.label, session.ended?)));
    ended.map(|(label, end)| (label, end.is_lost, end.found_by, end.jobs)).collect()
}

/// However a loss is noticed, the store says it to all.
#[test]
fn a_lost_process_is_known_with_who_found_it_and_what_it_held() {
    let named = |label: &str| Config { label: label.into(), ..config() };
    let killed = |is_back: bool| {
        let mut web = Driver::new(named("web-1"), Policy::default());
        web.lasts = Duration::from_secs(600);
        web.enqueue(3);
        web.until(after(1.0));
        let mut other = web.other(named("web-2"), Policy::default(), after(1.0));
        // It wakes before or after the other one has looked.
        let wakes = if is_back { 14.0 } else { 60.0 };
        other.is_away = is_back;
        other.until(after(wakes));
        web.now = after(wakes);
        web.until(after(wakes + 2.0));
        ended(&web.model)
    };
    assert_eq!(killed(false), [("web-1".into(), true, "web-2".into(), 3)]);
    assert_eq!(killed(true), [("web-1".into(), true, "web-1".into(), 3)]);
}

#[test]
fn a_clock_that_is_off_is_told_once_and_kept_with_the_session() {
    let mut driver = Driver::new(config(), Policy::default());
    let look = |driver: &mut Driver, seconds: f64, ahead: i64| {
        driver.until(after(seconds));
        let wall = StoreTime::from_micros(driver.store_now().as_micros() + ahead * 1_000_000);
        let mut effects = Vec::new();
        driver.node.observe_wall(wall, driver.now, &mut effects);
        effects.len()
    };
    assert_eq!(look(&mut driver, 1.0, 1), 0, "some difference is usual");
    assert_eq!(look(&mut driver, 2.0, 3_600), 1);
    assert_eq!(look(&mut driver, 3.0, 3_600), 0);
    driver.until(after(10.0));
    let kept = driver.model.sessions().expect("it answers")[0].clock_offset.expect("it is known");
    assert!((3_599_000_000..=3_600_000_000).contains(&kept), "{kept}");
    assert_eq!(look(&mut driver, 11.0, 0), 0);
    assert_eq!(driver.node.clock_offset(), Some(0), "within what a request takes");
    assert_eq!(look(&mut driver, 12.0, -5), 1, "it is off again");
}
