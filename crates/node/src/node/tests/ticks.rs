//! Schedules whose ticks a node fires.

use super::*;

#[test]
fn a_year_of_missed_ticks_is_decided_with_few_statements() {
    for timing in [
        Timing::Computed,
        Timing::Rate { first: Duration::from_secs(1), period: Duration::from_secs(1) },
    ] {
        let window = Duration::from_secs(3);
        let policy =
            Policy { misfire: Misfire::CatchUp, window: Some(window), ..Policy::default() };
        let definitions = vec![ScheduleSpec { overlap: Overlap::Allow, ..definition(timing) }];
        let config = Config { definitions, ..config() };
        let mut driver = Driver::new(config.clone(), policy);
        driver.until(after(2.0));
        driver.step(Input::Stop);
        driver.until(after(3.0));
        assert!(driver.is_stopped);
        let mut again = driver.other(config, policy, after(365.0 * 86_400.0));
        again.until(again.now + Duration::from_secs(2));
        let row = again.model.schedules().expect("a model answers").remove(0);
        assert!(row.skips.missed >= 10_000, "{:?}", row.skips);
        assert!((4..=8).contains(&row.fired), "{} fired", row.fired);
        assert!(again.sent.len() < 20, "{} statements", again.sent.len());
    }
}

/// The jobs of the schedule keep each other out: each tick follows the end of the job before it.
#[test]
fn a_schedule_that_is_behind_catches_up_without_waiting_for_polls() {
    let policy = Policy { misfire: Misfire::CatchUp, ..Policy::default() };
    let config = Config { definitions: vec![definition(Timing::Computed)], ..config() };
    let mut driver = Driver::new(config.clone(), policy);
    driver.until(after(2.0));
    driver.step(Input::Stop);
    driver.until(after(3.0));
    let mut again = driver.other(config, policy, after(600.0));
    again.until(again.now + Duration::from_secs(20));
    let row = again.model.schedules().expect("a model answers").remove(0);
    assert!(row.fired > 600, "{} of some 600 ticks fired", row.fired);
}

#[test]
fn a_delay_runs_at_its_time() {
    let timing = Timing::Delay { first: Duration::ZERO, delay: Duration::from_millis(100) };
    let definitions = vec![definition(timing)];
    let mut driver = Driver::new(Config { definitions, ..config() }, Policy::default());
    driver.until(after(10.0));
    let count = driver.jobs(JobState::Done).len();
    assert!((85..=100).contains(&count), "{count} runs");
}

#[test]
fn a_tick_with_jitter_starts_at_its_time() {
    let timing = Timing::Rate { first: Duration::from_secs(1), period: Duration::from_secs(900) };
    let definitions = vec![definition(timing)];
    let policy = Policy { jitter: Duration::from_secs(20), ..Policy::default() };
    let poll_every = Duration::from_secs(60);
    let mut driver = Driver::new(Config { definitions, poll_every, ..config() }, policy);
    driver.until(after(30.0));
    let done = driver.jobs(JobState::Done);
    let late = |job: &StoredJob| job.started_at.map(|started| started.since(job.run_at));
    let late: Vec<_> = done.iter().filter_map(late).collect();
    assert_eq!(late.len(), 1);
    assert!(late[0] < Duration::from_millis(20), "{late:?}");
}

#[test]
fn many_schedules_that_are_due_at_once_hold_up_no_jobs() {
    let timing = Timing::Rate { first: Duration::from_secs(2), period: Duration::from_secs(900) };
    let named = |number| ScheduleSpec { name: format!("s{number}"), ..definition(timing) };
    let definitions = (0..1_000).map(named).collect();
    let mut driver = Driver::new(Config { definitions, ..config() }, Policy::default());
    driver.lasts = Duration::from_micros(1);
    driver.until(after(4.0));
    assert_eq!(driver.jobs(JobState::Done).len(), 1_000);
    let fires = driver.sent.iter().filter_map(|(_, request)| match request {
        Request::Fire(fires) => Some(fires.len()),
        _ => None,
    });
    assert_eq!(fires.max(), Some(100));
    let kinds: Vec<bool> = driver
        .sent
        .iter()
        .filter_map(|(_, request)| match request {
            Request::Fire(_) => Some(true),
            Request::Poll(_) => Some(false),
            _ => None,
        })
        .collect();
    assert!(!kinds.windows(2).any(|pair| pair == [true, true]), "jobs are claimed in between");
}

#[test]
fn a_schedule_whose_rule_cannot_be_read_is_left_to_others_and_reported_once() {
    for timing in [Timing::Computed, Timing::Once(START)] {
        let rule = Rule { text: "lunar".into(), timing };
        let definition = ScheduleSpec { rule, is_dynamic: true, ..definition(timing) };
        let mut driver = Driver::new(config(), Policy::default());
        driver.model.set_now(START);
        let put = Command::Put { definition: Box::new(definition) };
        driver.model.command(&put, StoreTime::MAX).expect("a model answers");
        let before = driver.model.schedules();
        driver.until(after(30.0));
        assert_eq!(driver.model.schedules(), before);
        let (schedule, rule, reason) = ("s".into(), "lunar".into(), "not known".into());
        let reported = NodeEvent::Unreadable { schedule, rule, reason };
        assert_eq!(driver.events.iter().filter(|event| **event == reported).count(), 1);
        assert!(driver.sent.len() < 50, "{} statements", driver.sent.len());
    }
}

#[test]
fn schedules_that_come_and_go_leave_nothing_behind_for_ever() {
    let timing = Timing::Rate { first: Duration::ZERO, period: Duration::from_secs(1) };
    let definitions = vec![definition(timing)];
    let mut driver = Driver::new(Config { definitions, ..config() }, Policy::default());
    driver.node.has_follow_up.extend((0..10_001).map(|number| (format!("gone {number}"), false)));
    driver.until(after(3.0));
    assert_eq!(driver.node.has_follow_up.len(), 1);
}
