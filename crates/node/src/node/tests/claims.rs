//! Jobs that a node claims, and the polls for them.

use super::*;

#[test]
fn jobs_of_a_limited_task_follow_each_other_without_a_wait() {
    let mut config = config();
    config.tasks[0].limit = Some(2);
    let mut driver = Driver::new(config, Policy::default());
    driver.enqueue(40);
    driver.until(after(1.0));
    assert_eq!(driver.jobs(JobState::Done).len(), 40);
    let polls = driver.polls(0);
    assert!(polls <= 45, "{polls} polls");
}

#[test]
fn no_more_jobs_are_claimed_than_the_threads_of_their_pool_can_begin() {
    let mut config = config();
    let other: Arc<str> = "other".into();
    let other = TaskConfig {
        name: Arc::clone(&other),
        task: other,
        version: 1,
        limit: None,
        pool: Some(1),
        is_abandon: false,
    };
    config.tasks[0].pool = Some(0);
    config.tasks.push(other);
    (config.workers, config.pools) = (10, vec![2, 8]);
    let mut driver = Driver::new(config, Policy::default());
    (driver.workers, driver.lasts) = (2, Duration::from_secs(1));
    driver.enqueue(20);
    driver.until(after(0.5));
    assert_eq!(driver.jobs(JobState::Running).len(), 2);
    driver.until(after(10.3));
    assert_eq!(driver.jobs(JobState::Done).len(), 20, "the next ones do not wait");
}

#[test]
fn due_jobs_of_a_newer_build_wait_for_it_and_wake_no_other() {
    let mut old = Driver::new(config(), Policy::default());
    old.enqueue_as(3, |job| job.payload.version = 2);
    old.enqueue_as(1, |job| {
        (job.payload.version, job.when) = (2, When::After(Duration::from_secs(5)));
    });
    old.enqueue(2);
    old.until(after(60.0));
    assert_eq!((old.jobs(JobState::Done).len(), old.jobs(JobState::Ready).len()), (2, 4));
    assert!(old.jobs(JobState::Ready).iter().all(|job| (job.attempt, job.undecoded) == (0, 0)));
    let polls = old.polls(0);
    assert!(polls < 80, "{polls} polls in a minute");
    let mut config = config();
    config.tasks[0].version = 2;
    let mut new = old.other(config, Policy::default(), after(60.0));
    new.until(after(61.0));
    assert_eq!(new.jobs(JobState::Done).len(), 6);
}

#[test]
fn a_tick_with_a_newer_payload_is_fired_by_any_build_and_run_by_the_newer_one() {
    let newer = Payload { version: 2, ..Payload::default() };
    let schedule =
        ScheduleSpec { payload: newer, overlap: Overlap::Allow, ..definition(Timing::Computed) };
    let mut old_config = config();
    old_config.definitions = vec![schedule];
    let mut new_config = old_config.clone();
    new_config.tasks[0].version = 2;
    let mut old = Driver::new(old_config, Policy::default());
    old.until(after(5.5));
    let ready = old.jobs(JobState::Ready);
    assert!((4..=6).contains(&ready.len()), "{} ticks", ready.len());
    assert!(ready.iter().all(|job| job.attempt == 0));
    let polls = old.polls(0);
    assert!(polls < 30, "{polls} polls for {} ticks", ready.len());
    let mut new = old.other(new_config, Policy::default(), after(5.5));
    new.until(after(6.9));
    assert!(new.jobs(JobState::Done).len() >= ready.len());
    assert_eq!(new.jobs(JobState::Ready), []);
}

#[test]
fn a_limit_holds_for_all_names_of_a_task() {
    let mut config = config();
    config.tasks[0].limit = Some(2);
    config.tasks.push(TaskConfig { name: "former".into(), ..config.tasks[0].clone() });
    let mut driver = Driver::new(config, Policy::default());
    driver.lasts = Duration::from_secs(1);
    let mut number = 0;
    driver.enqueue_as(10, |job| {
        number += 1;
        job.task = if number % 2 == 0 { "work".into() } else { "former".into() };
    });
    for tenth in 1..=48 {
        driver.until(after(f64::from(tenth) / 10.0));
        assert!(driver.runs.len() <= 2, "{} runs", driver.runs.len());
    }
    driver.until(after(5.3));
    let done = driver.jobs(JobState::Done);
    assert_eq!(done.len(), 10, "each limit is used");
    assert!(done.iter().all(|job| job.attempt == 1));
    assert!(driver.sent.len() < 40, "{} statements", driver.sent.len());
}

#[test]
fn jobs_without_work_are_claimed_in_large_numbers() {
    let mut driver = Driver::new(config(), Policy::default());
    driver.lasts = Duration::from_micros(1);
    driver.enqueue(5_000);
    driver.until(after(1.0));
    assert_eq!(driver.jobs(JobState::Done).len(), 5_000);
    let polls = driver.polls(0);
    assert!(polls < 20, "{polls} polls");
}

#[test]
fn jobs_that_take_long_are_claimed_for_free_workers_only() {
    let mut driver = Driver::new(config(), Policy::default());
    driver.lasts = Duration::from_secs(2);
    driver.enqueue(20);
    driver.until(after(9.0));
    assert_eq!(driver.jobs(JobState::Running).len(), 4);
    driver.until(after(12.0));
    assert_eq!(driver.jobs(JobState::Done).len(), 20);
}

#[test]
fn jobs_that_are_limited_by_the_free_workers_follow_each_other_without_a_wait() {
    let abandon = |job: &mut NewJob| job.on_lost = scheduler_store::OnLost::Abandon;
    let mut driver = Driver::new(config(), Policy::default());
    driver.lasts = Duration::from_micros(1);
    driver.enqueue_as(400, abandon);
    driver.until(after(1.0));
    assert_eq!(driver.jobs(JobState::Done).len(), 400);
    let polls = driver.polls(0);
    assert!(polls <= 110, "{polls} polls");
}

#[test]
fn a_limit_that_is_used_up_while_others_run_is_asked_for_when_it_is_free_again() {
    let abandon = |job: &mut NewJob| job.on_lost = scheduler_store::OnLost::Abandon;
    let mut driver = Driver::new(config(), Policy::default());
    // Runs are short, so that jobs are claimed beyond the free workers; then all workers are busy.
    driver.lasts = Duration::from_micros(1);
    driver.enqueue(100);
    driver.until(after(0.5));
    driver.lasts = Duration::from_millis(1_900);
    driver.enqueue_as(8, abandon);
    driver.step(Input::Nudge);
    let asked = driver.sent.len();
    driver.until(after(2.3));
    let polls = driver.polls(asked);
    assert!(polls <= 6, "{polls} polls");
    driver.until(after(2.42));
    assert_eq!(driver.jobs(JobState::Running).len(), 4, "the others follow at once");
}

#[test]
fn a_nudge_during_a_poll_is_not_lost() {
    let mut driver = Driver::new(config(), Policy::default());
    driver.until(after(5.0));
    driver.step(Input::Nudge);
    driver.until(driver.now + Duration::from_micros(1_100));
    // The poll was executed; now a job comes, and a nudge before its answer is used.
    driver.step(Input::Nudge);
    driver.enqueue(1);
    driver.step(Input::Nudge);
    driver.until(driver.now + Duration::from_millis(10));
    assert_eq!(driver.jobs(JobState::Done).len(), 1);
}

#[test]
fn a_cancelled_run_is_asked_to_stop_once() {
    let mut driver = Driver::new(config(), Policy::default());
    driver.enqueue(1);
    driver.lasts = Duration::from_secs(3);
    driver.until(after(1.0));
    let job = driver.jobs(JobState::Running)[0].id;
    driver.model.command(&Command::Cancel { job }, StoreTime::MAX).expect("a model answers");
    driver.until(after(9.0));
    assert_eq!(driver.cancels, 1);
    assert_eq!(driver.jobs(JobState::Done).len(), 1, "it went on to its end");
}

#[test]
fn more_than_a_slice_of_old_jobs_is_pruned_without_a_wait() {
    let keep_done = Duration::ZERO;
    let mut driver = Driver::new(Config { keep_done, ..config() }, Policy::default());
    driver.lasts = Duration::from_micros(1);
    driver.enqueue(5_000);
    driver.until(after(70.0));
    assert_eq!(driver.jobs(JobState::Done).len(), 0);
    let requests = driver.sent.iter().map(|(_, request)| request);
    let prunes = requests.filter(|request| matches!(request, Request::Prune(_))).count();
    assert!((4..=6).contains(&prunes), "{prunes}: full slices, one after the other");
}

/// Two jobs run, and two wait for a worker, one in each queue.
#[test]
fn r22_jobs_that_wait_for_a_worker_go_back_when_they_are_paused() {
    let mut driver = Driver::new(config(), Policy::default());
    (driver.workers, driver.lasts) = (2, Duration::from_millis(400));
    driver.enqueue_as(3, |job| job.queue = "mail".into());
    driver.enqueue(1);
    driver.until(after(0.1));
    assert_eq!(driver.jobs(JobState::Running).len(), 4);
    let scope = PauseScope::Queue("mail".into());
    let (by, reason) = ("ada".into(), String::new());
    let pause = Command::PauseJobs { scope: scope.clone(), until: None, by, reason };
    driver.model.command(&pause, StoreTime::MAX).expect("a model answers");
    driver.step(Input::Nudge);
    driver.until(after(0.2));
    let waiting: Vec<&str> = driver.queue.iter().map(|job| &*job.queue).collect();
    assert_eq!(waiting, ["default"]);
    let ready = driver.jobs(JobState::Ready);
    assert_eq!((ready.len(), ready[0].attempt), (1, 0), "it was no attempt");
    driver.until(after(5.0));
    assert_eq!(driver.jobs(JobState::Done).len(), 3, "what ran went on");
    driver.model.command(&Command::ResumeJobs { scope }, StoreTime::MAX).expect("it answers");
    driver.until(after(7.0));
    assert_eq!(driver.jobs(JobState::Done).len(), 4);
}

/// A job that must not run twice does not wait as a claim for the end of its lost run: with its process it would be parked (R14).
#[test]
fn r14_a_job_that_must_not_run_twice_is_put_off_beside_its_lost_run() {
    let mut config = config();
    config.tasks[0].is_abandon = true;
    let mut driver = Driver::new(config.clone(), Policy::default());
    driver.enqueue_as(1, |job| job.on_lost = OnLost::Abandon);
    driver.lasts = Duration::from_secs(200);
    config.tasks[0].name = "rest".into();
    config.tasks[0].task = "rest".into();
    let mut other = driver.other(config, Policy::default(), driver.now);
    let mut until = |driver: &mut Driver, second: u32| {
        driver.until(after(second.into()));
        other.until(after(second.into()));
    };
    until(&mut driver, 1);
    driver.is_away = true;
    (2..=60).for_each(|second| until(&mut driver, second));
    let parked = driver.jobs(JobState::Parked);
    assert_eq!(parked.len(), 1, "the other process has given it up");
    let retry = Command::Retry { job: parked[0].id };
    assert_eq!(driver.model.command(&retry, StoreTime::MAX), Ok(CommandOutcome::Done));
    driver.is_away = false;
    driver.lasts = Duration::from_secs(1);
    let mut claimed = 0;
    (61..=190).for_each(|second| {
        until(&mut driver, second);
        claimed += driver.jobs(JobState::Running).len();
        assert_eq!(driver.runs.len(), 1, "{second}");
    });
    assert!(claimed < 5, "a claim for {claimed} of 130 seconds");
    (191..=220).for_each(|second| until(&mut driver, second));
    assert_eq!(driver.jobs(JobState::Done).len(), 1);
}

/// The greatest number of jobs that wait in a process whose threads other work holds, over a time.
fn waits_in_vain(config: Config, seconds: u32) -> (usize, u32) {
    let mut starved = Driver::new(config, Policy::default());
    starved.workers = 0;
    starved.enqueue(1);
    let (mut held, mut most) = (0, 0);
    for tenth in 1..=seconds * 10 {
        starved.until(after(f64::from(tenth) / 10.0));
        held += u32::from(!starved.queue.is_empty());
        most = most.max(starved.queue.len());
    }
    (most, held * 100 / (seconds * 10))
}

/// Others could run what a process has claimed whose threads are held by what the store does not know.
#[test]
fn a_process_whose_threads_are_held_claims_next_to_nothing() {
    let in_pool = |pools: &[u32]| {
        let mut config = config();
        (config.tasks[0].pool, config.pools) = (Some(0), pools.to_vec());
        (config.workers, config.pools) = (pools.iter().sum(), pools.to_vec());
        config
    };
    for config in [config(), in_pool(&[2, 8])] {
        let (most, percent) = waits_in_vain(config, 60);
        assert!(most == 1 && percent <= 20, "{most} jobs for {percent} % of the time");
    }
}

#[test]
fn a_process_whose_threads_are_free_again_claims_as_before() {
    let mut driver = Driver::new(config(), Policy::default());
    driver.workers = 0;
    driver.enqueue(4);
    driver.until(after(20.0));
    assert_eq!(driver.jobs(JobState::Done), []);
    (driver.workers, driver.lasts) = (4, Duration::from_millis(400));
    driver.enqueue(8);
    driver.until(after(28.0));
    assert_eq!(driver.jobs(JobState::Done).len(), 12);
}

/// A job may wait behind runs that take longer than those before: it begins when one of them ends.
#[test]
fn a_process_whose_own_runs_take_long_keeps_what_waits_for_them() {
    let mut driver = Driver::new(config(), Policy::default());
    driver.enqueue(200);
    driver.until(after(0.3));
    driver.lasts = Duration::from_secs(3);
    driver.enqueue(40);
    driver.until(after(7.0));
    let is_given_back = |request: &Request| match request {
        Request::Finish(ends) => ends.iter().any(|finish| finish.end == End::GiveBack),
        _ => false,
    };
    assert!(!driver.sent.iter().any(|(_, request)| is_given_back(request)));
    driver.lasts = Duration::from_millis(1);
    driver.until(after(20.0));
    assert_eq!(driver.jobs(JobState::Done).len(), 240);
}

#[test]
fn the_ticks_that_a_starved_process_does_not_claim_run_elsewhere_in_time() {
    let timing = Timing::Rate { first: Duration::from_secs(1), period: Duration::from_secs(20) };
    let config = Config { definitions: vec![definition(timing)], ..config() };
    let mut starved = Driver::new(config.clone(), Policy::default());
    starved.workers = 0;
    starved.until(after(2.0));
    let mut idle = starved.other(config, Policy::default(), after(2.0));
    for tenth in 21..2_010 {
        starved.until(after(f64::from(tenth) / 10.0));
        idle.until(after(f64::from(tenth) / 10.0));
    }
    let row = idle.model.schedules().expect("a model answers").remove(0);
    assert_eq!((row.fired, row.skips.total()), (10, 0));
    let late = |job: &StoredJob| job.started_at.map(|at| at.since(job.run_at));
    let most = idle.jobs(JobState::Done).iter().filter_map(late).max();
    assert!(most < Some(Duration::from_secs(3)), "{most:?}");
}

#[test]
fn a_process_that_is_paused_begins_no_job_and_fires_no_tick_until_it_is_resumed() {
    let timing = Timing::Rate { first: Duration::from_secs(2), period: Duration::from_secs(1) };
    let config = Config { definitions: vec![definition(timing)], ..config() };
    let mut driver = Driver::new(config.clone(), Policy::default());
    (driver.workers, driver.lasts) = (2, Duration::from_millis(700));
    driver.enqueue(4);
    driver.until(after(0.1));
    let session = driver.node.session().expect("it is open");
    let (by, reason) = ("ada".to_owned(), String::new());
    let pause = Command::PauseNode { session, until: None, by, reason };
    assert_eq!(driver.model.command(&pause, StoreTime::MAX), Ok(CommandOutcome::Done));
    driver.step(Input::Nudge);
    driver.until(after(1.0));
    assert_eq!(driver.jobs(JobState::Done).len(), 2, "what ran goes on");
    assert_eq!(driver.jobs(JobState::Ready).len(), 2, "what waited for a worker is given back");
    let (sent, polls) = (driver.sent.len(), driver.polls(0));
    driver.until(after(20.0));
    let fired = |driver: &Driver| driver.model.schedules().expect("it answers")[0].fired;
    assert_eq!((driver.jobs(JobState::Ready).len(), fired(&driver)), (2, 0));
    let more = driver.polls(0) - polls;
    assert!((15..45).contains(&more), "{more} polls, {} requests", driver.sent.len() - sent);
    // Others do it meanwhile.
    let mut other = driver.other(config, Policy::default(), after(20.0));
    other.until(after(22.0));
    assert_eq!(other.jobs(JobState::Ready).len(), 0);
    assert!(fired(&other) > 0);
    other.step(Input::Stop);
    other.until(after(23.0));
    // A session that is lost takes the pause with it.
    driver.is_away = true;
    driver.until(after(60.0));
    driver.is_away = false;
    driver.until(after(70.0));
    let again = driver.node.session().expect("it is open");
    assert_ne!(again, session);
    let before = fired(&driver);
    driver.until(after(80.0));
    assert_eq!(fired(&driver), before, "the session that replaces it is paused");
    let resume = Command::ResumeNode { session: again };
    assert_eq!(driver.model.command(&resume, StoreTime::MAX), Ok(CommandOutcome::Done));
    driver.until(after(83.0));
    assert!(fired(&driver) > before);
    let told = driver.events.iter().filter_map(|event| match event {
        NodeEvent::NodePaused { is_paused } => Some(*is_paused),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [true, false]);
}
