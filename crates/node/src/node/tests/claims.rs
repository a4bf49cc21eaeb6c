//! Jobs that a node claims, and the polls for them.

use super::*;

#[test]
fn jobs_of_a_limited_task_follow_each_other_without_a_wait() {
    let mut config = config();
    config.tasks[0].limit = Some(2);
    let mut shell = Shell::new(config, Policy::default());
    shell.enqueue(40);
    shell.until(after(1.0));
    assert_eq!(shell.jobs(JobState::Done).len(), 40);
    let polls = shell.polls(0);
    assert!(polls <= 45, "{polls} polls");
}

#[test]
fn no_more_jobs_are_claimed_than_the_threads_of_their_pool_can_begin() {
    let mut config = config();
    let other: Arc<str> = "other".into();
    let other = TaskConfig {
        name: Arc::clone(&other),
        task: other,
        limit: None,
        pool: Some(1),
        is_abandon: false,
    };
    config.tasks[0].pool = Some(0);
    config.tasks.push(other);
    (config.workers, config.pools) = (10, vec![2, 8]);
    let mut shell = Shell::new(config, Policy::default());
    (shell.workers, shell.lasts) = (2, Duration::from_secs(1));
    shell.enqueue(20);
    shell.until(after(0.5));
    assert_eq!(shell.jobs(JobState::Running).len(), 2);
    shell.until(after(10.3));
    assert_eq!(shell.jobs(JobState::Done).len(), 20, "the next ones do not wait");
}

#[test]
fn a_limit_holds_for_all_names_of_a_task() {
    let mut config = config();
    config.tasks[0].limit = Some(2);
    config.tasks.push(TaskConfig { name: "former".into(), ..config.tasks[0].clone() });
    let mut shell = Shell::new(config, Policy::default());
    shell.lasts = Duration::from_secs(1);
    let mut number = 0;
    shell.enqueue_as(10, |job| {
        number += 1;
        job.task = if number % 2 == 0 { "work".into() } else { "former".into() };
    });
    for tenth in 1..=48 {
        shell.until(after(f64::from(tenth) / 10.0));
        assert!(shell.runs.len() <= 2, "{} runs", shell.runs.len());
    }
    shell.until(after(5.3));
    let done = shell.jobs(JobState::Done);
    assert_eq!(done.len(), 10, "each limit is used");
    assert!(done.iter().all(|job| job.attempt == 1));
    assert!(shell.sent.len() < 40, "{} statements", shell.sent.len());
}

#[test]
fn jobs_without_work_are_claimed_in_large_numbers() {
    let mut shell = Shell::new(config(), Policy::default());
    shell.lasts = Duration::from_micros(1);
    shell.enqueue(5_000);
    shell.until(after(1.0));
    assert_eq!(shell.jobs(JobState::Done).len(), 5_000);
    let polls = shell.polls(0);
    assert!(polls < 20, "{polls} polls");
}

#[test]
fn jobs_that_take_long_are_claimed_for_free_workers_only() {
    let mut shell = Shell::new(config(), Policy::default());
    shell.lasts = Duration::from_secs(2);
    shell.enqueue(20);
    shell.until(after(9.0));
    assert_eq!(shell.jobs(JobState::Running).len(), 4);
    shell.until(after(12.0));
    assert_eq!(shell.jobs(JobState::Done).len(), 20);
}

#[test]
fn jobs_that_are_limited_by_the_free_workers_follow_each_other_without_a_wait() {
    let abandon = |job: &mut NewJob| job.on_lost = scheduler_store::OnLost::Abandon;
    let mut shell = Shell::new(config(), Policy::default());
    shell.lasts = Duration::from_micros(1);
    shell.enqueue_as(400, abandon);
    shell.until(after(1.0));
    assert_eq!(shell.jobs(JobState::Done).len(), 400);
    let polls = shell.polls(0);
    assert!(polls <= 110, "{polls} polls");
}

#[test]
fn a_limit_that_is_used_up_while_others_run_is_asked_for_when_it_is_free_again() {
    let abandon = |job: &mut NewJob| job.on_lost = scheduler_store::OnLost::Abandon;
    let mut shell = Shell::new(config(), Policy::default());
    // Runs are short, so that jobs are claimed beyond the free workers; then all workers are busy.
    shell.lasts = Duration::from_micros(1);
    shell.enqueue(100);
    shell.until(after(0.5));
    shell.lasts = Duration::from_millis(1_900);
    shell.enqueue_as(8, abandon);
    shell.step(Input::Nudge);
    let asked = shell.sent.len();
    shell.until(after(2.3));
    let polls = shell.polls(asked);
    assert!(polls <= 6, "{polls} polls");
    shell.until(after(2.42));
    assert_eq!(shell.jobs(JobState::Running).len(), 4, "the others follow at once");
}

#[test]
fn a_nudge_during_a_poll_is_not_lost() {
    let mut shell = Shell::new(config(), Policy::default());
    shell.until(after(5.0));
    shell.step(Input::Nudge);
    shell.until(shell.now + Duration::from_micros(1_100));
    // The poll was executed; now a job comes, and a nudge before its answer is used.
    shell.step(Input::Nudge);
    shell.enqueue(1);
    shell.step(Input::Nudge);
    shell.until(shell.now + Duration::from_millis(10));
    assert_eq!(shell.jobs(JobState::Done).len(), 1);
}

#[test]
fn a_cancelled_run_is_asked_to_stop_once() {
    let mut shell = Shell::new(config(), Policy::default());
    shell.enqueue(1);
    shell.lasts = Duration::from_secs(3);
    shell.until(after(1.0));
    let job = shell.jobs(JobState::Running)[0].id;
    shell.model.command(&Command::Cancel { job }, StoreTime::MAX).expect("a model answers");
    shell.until(after(9.0));
    assert_eq!(shell.cancels, 1);
    assert_eq!(shell.jobs(JobState::Done).len(), 1, "it went on to its end");
}

#[test]
fn more_than_a_slice_of_old_jobs_is_pruned_without_a_wait() {
    let keep_done = Duration::ZERO;
    let mut shell = Shell::new(Config { keep_done, ..config() }, Policy::default());
    shell.lasts = Duration::from_micros(1);
    shell.enqueue(5_000);
    shell.until(after(70.0));
    assert_eq!(shell.jobs(JobState::Done).len(), 0);
    let requests = shell.sent.iter().map(|(_, request)| request);
    let prunes = requests.filter(|request| matches!(request, Request::Prune(_))).count();
    assert!((4..=6).contains(&prunes), "{prunes}: full slices, one after the other");
}

/// Two jobs run, and two wait for a worker, one in each queue.
#[test]
fn r22_jobs_that_wait_for_a_worker_go_back_when_they_are_paused() {
    let mut shell = Shell::new(config(), Policy::default());
    (shell.workers, shell.lasts) = (2, Duration::from_millis(400));
    shell.enqueue_as(3, |job| job.queue = "mail".into());
    shell.enqueue(1);
    shell.until(after(0.1));
    assert_eq!(shell.jobs(JobState::Running).len(), 4);
    let scope = PauseScope::Queue("mail".into());
    let (by, reason) = ("ada".into(), String::new());
    let pause = Command::PauseJobs { scope: scope.clone(), until: None, by, reason };
    shell.model.command(&pause, StoreTime::MAX).expect("a model answers");
    shell.step(Input::Nudge);
    shell.until(after(0.2));
    let waiting: Vec<&str> = shell.queue.iter().map(|job| &*job.queue).collect();
    assert_eq!(waiting, ["default"]);
    let ready = shell.jobs(JobState::Ready);
    assert_eq!((ready.len(), ready[0].attempt), (1, 0), "it was no attempt");
    shell.until(after(5.0));
    assert_eq!(shell.jobs(JobState::Done).len(), 3, "what ran went on");
    shell.model.command(&Command::ResumeJobs { scope }, StoreTime::MAX).expect("it answers");
    shell.until(after(7.0));
    assert_eq!(shell.jobs(JobState::Done).len(), 4);
}
