//! Durable jobs in a simulation, which is the same each time.

use std::sync::Mutex;

use scheduler::store::{AttemptOutcome, CommandOutcome, JobFilter, JobId, JobState, Uuid};
use scheduler::testing::*;
use scheduler::{JobError, Jobs, JobsError, Priority, Run, job, scheduled};
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Mail {
    to: String,
}

#[scheduled(cron = "0 0 * * * *", zone = "UTC", name = "remind", durable)]
fn remind(jobs: &Jobs) {
    let ada = Mail { to: "Ada".to_owned() };
    jobs.enqueue(mail::job(ada).key("ada").priority(Priority::High)).expect("it is stored");
}

#[job(name = "mail")]
fn mail(#[payload] mail: Mail) {
    assert!(!mail.to.is_empty());
    drop(mail);
}

#[job(name = "sweep", retry(max = 2, base = "1m"))]
fn sweep() {}

#[job(name = "again")]
fn again(jobs: &Jobs) {
    jobs.enqueue(again::job().after(secs(1))).expect("it is stored");
}

#[job(name = "later")]
fn later() -> Result<(), JobError> {
    Err(JobError::snooze(minutes(10)))
}

#[job(name = "slow", pool = "slow")]
fn slow() {}

/// Fails in a way of its own by the payload.
#[job(name = "fails")]
fn fails(#[payload] how: u8) -> Result<(), JobError> {
    match how {
        0 => Err("a text")?,
        1 => Err(format!("a text of {how}"))?,
        2 => Err(Box::<dyn std::error::Error + Send + Sync>::from("a boxed error"))?,
        _ => {
            let _: u8 = "x".parse()?;
        }
    }
    Ok(())
}

#[derive(Default)]
struct Mailer {
    sent: Mutex<Vec<String>>,
}

#[scheduled]
impl Mailer {
    #[job(name = "mailer-send", retry(max = 1, base = "1m"), queue = "post")]
    fn send(&self, run: &Run, #[payload] mail: Mail) -> Result<(), String> {
        if run.attempt() == 1 {
            return Err("no network".to_owned());
        }
        self.sent.lock().expect("no run panics").push(mail.to);
        Ok(())
    }

    #[job(name = "mailer-flush")]
    async fn flush(&self) {
        self.sent.lock().expect("no run panics").clear();
    }

    #[job(name = "mailer-greet")]
    fn greet(jobs: &Jobs, #[payload] to: String) {
        jobs.enqueue(Self::send_job(Mail { to })).expect("it is stored");
    }

    #[scheduled(cron = "0 0 * * * *", zone = "UTC", name = "mailer-remind")]
    fn remind(&self, jobs: &Jobs) {
        jobs.enqueue(Self::greet_job("Eve".to_owned())).expect("it is stored");
    }
}

fn sim() -> Sim {
    let list = scheduler::tasks![remind, mail, sweep, again, later];
    Sim::at("2026-01-01T00:30:00Z").with_store().tasks(list)
}

/// The text of a panic.
fn said(body: impl FnOnce()) -> String {
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).expect_err("a panic");
    panic.downcast_ref::<String>().expect("a text").clone()
}

#[test]
fn a_test_says_what_was_enqueued() {
    let mut sim = sim();
    sim.advance(minutes(30));
    let job = sim.assert_enqueued("mail", |mail: &Mail| mail.to == "Ada");
    assert_eq!((job.key.as_deref(), job.priority), (Some("ada"), Priority::High));
    assert_eq!(sim.enqueued::<Mail>("mail"), [Mail { to: "Ada".to_owned() }]);
    assert_eq!(sim.enqueued::<()>("sweep"), []);
    sim.jobs().enqueue(sweep::job()).expect("it is stored");
    assert_eq!(sim.enqueued::<()>("sweep"), [()]);
    sim.assert_enqueued("sweep", |()| true);
}

#[test]
fn enqueued_jobs_are_listed_where_a_test_expects_others() {
    let mut sim = sim();
    let empty = said(|| drop(sim.assert_enqueued("mail", |_: &Mail| true)));
    assert!(empty.ends_with("Mail`; there is no job at all"), "{empty}");
    sim.advance(minutes(30));
    let eve = said(|| drop(sim.assert_enqueued("mail", |mail: &Mail| mail.to == "Eve")));
    assert!(eve.starts_with("no such job of `mail` was enqueued, with a `"), "{eve}");
    assert!(eve.contains("\n  `remind`, done, due 2026-01-01T01:00:00+00:00"), "{eve}");
    assert!(eve.contains("\n  `mail` {\"to\":\"Ada\"}, done, due 2026-01-01T01:00:00"), "{eve}");
    let other = said(|| drop(sim.enqueued::<u32>("mail")));
    assert!(
        other.contains("the payload of `mail` {\"to\":\"Ada\"} is no `u32`: it does not fit"),
        "{other}"
    );
    let unknown = said(|| drop(sim.enqueued::<u32>("male")));
    assert_eq!(unknown, "no task named `male`");
}

#[test]
fn all_jobs_are_drained_those_that_fail_and_wait_included() {
    let mut sim = sim();
    sim.fail_next("sweep", "no network");
    let jobs = [sweep::job(), sweep::job().after(minutes(5))];
    let ids: Vec<JobId> = jobs.iter().map(scheduler::Job::id).collect();
    sim.jobs().enqueue_all(jobs.into()).expect("they are stored");
    let ended = sim.drain_jobs(minutes(20));
    assert_eq!(
        ended.iter().map(|job| (job.id, job.attempt)).collect::<Vec<_>>(),
        [(ids[0], 2), (ids[1], 1)]
    );
    assert!(ended.iter().all(|job| job.state == JobState::Done));
    assert!(sim.elapsed() >= minutes(5) && sim.elapsed() < minutes(6), "{:?}", sim.elapsed());
    assert_eq!(sim.drain_jobs(minutes(1)), [], "those were drained before");
}

#[test]
fn a_job_error_is_made_by_a_question_mark_of_all_that_a_task_may_fail_with() {
    let mut sim = Sim::at("2026-01-01T00:30:00Z").with_store().tasks(scheduler::tasks![fails]);
    sim.jobs().enqueue_all((0..4).map(fails::job).collect()).expect("they are stored");
    let mut ended = sim.drain_jobs(minutes(1));
    ended.sort_by_key(|job| job.payload.bytes.clone());
    let errors: Vec<&str> = ended.iter().filter_map(|job| job.error.as_deref()).collect();
    let expected = ["a text", "a text of 1", "a boxed error", "invalid digit found in string"];
    assert_eq!(errors, expected);
    assert!(ended.iter().all(|job| (job.state, job.attempt) == (JobState::Parked, 1)));
}

#[test]
fn a_drain_ends_and_says_what_is_left() {
    let mut sim = sim();
    sim.jobs().enqueue(later::job()).expect("it is stored");
    let late = said(|| drop(sim.drain_jobs(minutes(5))));
    let expected =
        "after 300s and 1 runs jobs are unfinished:\n  `later`, ready, due 2026-01-01T00:40:00";
    assert!(late.starts_with(expected), "{late}");
    let mut sim = self::sim();
    sim.jobs().enqueue(again::job()).expect("it is stored");
    let endless = said(|| drop(sim.drain_jobs(days(30))));
    assert!(endless.contains("and 10000 runs jobs are unfinished:\n  `again`, ready"), "{endless}");
}

#[test]
fn methods_of_managed_values_run_jobs() {
    let list = scheduler::tasks![Mailer::send, Mailer::flush, Mailer::greet, Mailer::remind];
    let mut sim =
        Sim::at("2026-01-01T00:30:00Z").with_store().tasks(list).manage(Mailer::default());
    let sent = |sim: &Sim| sim.get::<Mailer>().sent.lock().expect("no run panics").clone();
    let send = Mailer::send_job(Mail { to: "Ada".to_owned() }).key("ada");
    let id = send.id();
    sim.jobs().enqueue(send).expect("it is stored");
    let ended = sim.drain_jobs(minutes(5));
    assert_eq!((ended[0].id, &*ended[0].task, &*ended[0].queue), (id, "mailer-send", "post"));
    assert_eq!(ended[0].attempt, 2);
    assert_eq!(sent(&sim), ["Ada"]);
    sim.advance(minutes(35));
    assert_eq!(sent(&sim), ["Ada", "Eve"]);
    sim.assert_enqueued("mailer-greet", |to: &String| to == "Eve");
    sim.jobs().enqueue(Mailer::flush_job()).expect("it is stored");
    sim.drain_jobs(minutes(5));
    assert_eq!(sent(&sim), Vec::<String>::new());
}

#[test]
fn no_more_jobs_are_claimed_than_the_threads_of_their_pool_can_begin() {
    let pool = scheduler::Pool::new().size(1);
    let mut sim = Sim::at("2026-01-01T00:00:00Z").with_store().task(slow).pool("slow", pool);
    sim.takes("slow", secs(10));
    sim.jobs().enqueue_all((0..5).map(|_| slow::job()).collect()).expect("they are stored");
    sim.advance(secs(5));
    let depths = sim.jobs().depths().expect("it answers");
    assert_eq!((depths[0].running, depths[0].due), (1, 4));
    sim.advance(secs(46));
    assert_eq!(sim.outcomes("slow").len(), 5, "the next ones do not wait");
}

#[test]
#[should_panic(expected = "help: Sim::at(…).with_store()")]
fn a_simulation_without_a_store_says_so() {
    drop(Sim::at("2026-01-01T00:00:00Z").jobs());
}

#[test]
fn identities_come_from_the_clock_and_the_seed() {
    let course = |seed: u64| {
        let mut sim = sim().seed(seed);
        let early = sweep::job().id();
        sim.advance(minutes(45));
        let late = [
            sweep::job().id(),
            sweep::job().id(),
            sim.schedules().run_now("remind").expect("it is there"),
        ];
        assert!(early < late[0] && late.is_sorted(), "{early} {late:?}");
        assert_eq!(late[0].as_uuid().get_version_num(), 7);
        sim.drain_jobs(minutes(1));
        let all = sim.jobs().list(&JobFilter::default(), 100).expect("it answers");
        (early, late, all, sim.event_log(), sim.jobs().sessions().expect("it answers"))
    };
    assert_eq!(course(1), course(1));
    assert_ne!(course(1).0, course(2).0);
    let sim = sim();
    let of_sim = sweep::job().id();
    drop(sim);
    assert_ne!(of_sim, sweep::job().id(), "the system makes them when there is no simulation");
}

#[test]
fn very_many_missed_ticks_are_told_as_at_least_so_many() {
    #[scheduled(cron = "* * * * * *", zone = "UTC", name = "every-second", durable)]
    fn every_second() {}

    let mut sim = Sim::at("2026-01-01T00:00:00Z").with_store().task(every_second);
    sim.advance(secs(5));
    sim.suspend(hours(40 * 24));
    sim.advance(minutes(1));
    let messages = sim.messages();
    let warning = messages.iter().find(|text| text.contains("skipped")).expect("a warning");
    assert!(
        warning.contains("skipped at least 10000 runs, the last one for Tue 2026-02-10"),
        "{warning}"
    );
    assert!(sim.snapshot("every-second").counters.skipped_at_least);
}

#[test]
fn a_wait_ends_with_the_job_or_at_its_limit() {
    let mut sim = Sim::at("2026-01-01T00:10:00Z").with_store().task(sweep);
    let jobs = sim.jobs();
    let (failing, late) = (sweep::job(), sweep::job().after(hours(2)));
    let ids = [failing.id(), late.id()];
    sim.fail_next("sweep", "no network");
    jobs.enqueue_all(vec![failing, late]).expect("they are stored");
    let ended = jobs.wait(ids[0], hours(1)).expect("an answer");
    assert_eq!((ended.state, ended.attempt), (JobState::Done, 2));
    let waited = sim.now().instant();
    let since_end = waited - ended.finished_at.expect("it has ended").utc();
    assert!(since_end.num_milliseconds() <= 1_000, "it asks each second at least: {since_end}");
    let unfinished = jobs.wait(ids[1], minutes(1)).expect("an answer");
    assert_eq!(unfinished.state, JobState::Ready);
    assert_eq!((sim.now().instant() - waited).num_seconds(), 60);
    let unknown = jobs.wait(sweep::job().id(), hours(1)).expect_err("there is none");
    assert!(unknown.is_not_found());
}

#[test]
fn a_job_with_an_identity_of_the_program_runs_once() {
    let mut sim = Sim::at("2026-01-01T00:10:00Z").with_store().task(sweep);
    let (jobs, id) = (sim.jobs(), Uuid::from_u128(17));
    let once = || jobs.enqueue(sweep::job().with_id(id)).expect("it is stored").id().as_uuid();
    assert_eq!((once(), once()), (id, id));
    assert_eq!(sim.drain_jobs(hours(1)).len(), 1);
    assert_eq!(once(), id, "it has ended, and is the same job");
    assert_eq!(sim.drain_jobs(hours(1)), []);
    assert_eq!(sim.outcomes("sweep").len(), 1);
}

#[test]
fn a_parked_job_is_edited_and_retried() {
    #[job(name = "post")]
    fn post(#[payload] to: String) -> Result<(), String> {
        if to.contains('@') { Ok(()) } else { Err(to + " is no address") }
    }
    let mut sim = Sim::at("2026-01-01T00:30:00Z").with_store().tasks(scheduler::tasks![post]);
    let jobs = sim.jobs().clone();
    let id = jobs.enqueue(post::job("zoe".to_owned())).expect("it is stored").id();
    sim.drain_jobs(minutes(1));
    let stored = || jobs.get(id).expect("an answer").expect("it is kept");
    let parked = stored();
    assert_eq!(parked.state, JobState::Parked);
    let mut broken = parked.payload.clone();
    broken.bytes = b"{".to_vec();
    let refused = jobs.edit(&parked, &broken).expect_err("it is no JSON").to_string();
    assert!(refused.starts_with("the payload is no JSON: EOF"), "{refused}");
    let payload = parked.payload.with(&"zoe@example.com").expect("it is JSON");
    jobs.edit(&parked, &payload).expect("it is parked");
    let edited = stored();
    assert_eq!((edited.state, &*edited.payload.text()), (JobState::Parked, "\"zoe@example.com\""));
    jobs.retry(id).expect("it is parked");
    sim.drain_jobs(minutes(1));
    assert_eq!(stored().state, JobState::Done);
    let late = jobs.edit(&edited, &payload).expect_err("it is done");
    assert_eq!(late, JobsError::NotDone(CommandOutcome::NotInState(JobState::Done)));
}

#[test]
fn an_edit_of_a_job_that_has_run_meanwhile_is_refused() {
    #[job(name = "measure", retry(max = 3, base = "1m"))]
    fn measure(#[payload] number: u32) -> Result<(), String> {
        Err(format!("{number} is too small"))
    }
    let mut sim = Sim::at("2026-01-01T00:30:00Z").with_store().tasks(scheduler::tasks![measure]);
    let jobs = sim.jobs().clone();
    let id = jobs.enqueue(measure::job(1).after(secs(10))).expect("it is stored").id();
    let stored = || jobs.get(id).expect("an answer").expect("it is kept");
    let read = stored();
    let payload = read.payload.with(&2).expect("it is JSON");
    sim.advance(secs(30));
    let error = jobs.edit(&read, &payload).expect_err("it has run");
    assert!(error == JobsError::NotDone(CommandOutcome::Changed), "{error}");
    assert_eq!(error.to_string(), "the job was claimed since it was read; read it again");
    let again = stored();
    assert_eq!((again.state, again.attempt, &*again.payload.text()), (JobState::Ready, 1, "1"));
    jobs.edit(&again, &payload).expect("it waits");
    sim.advance(minutes(2));
    assert_eq!(stored().error.as_deref(), Some("2 is too small"));
}

#[test]
fn a_job_has_its_attempts_that_did_not_succeed() {
    let mut sim = sim();
    sim.fail_next("sweep", "no network");
    let job = sweep::job();
    let id = job.id();
    sim.jobs().enqueue_all(vec![job, sweep::job()]).expect("they are stored");
    let ended = sim.drain_jobs(minutes(20));
    let (failed, plain): (Vec<_>, Vec<_>) = ended.into_iter().partition(|job| job.attempt == 2);
    assert_eq!((failed.len(), plain.len()), (1, 1));
    assert_eq!(plain[0].attempts, [], "a job that succeeds at once has none");
    let stored = sim.jobs().get(failed[0].id).expect("an answer").expect("it is kept");
    let [attempt] = &stored.attempts[..] else { panic!("one attempt: {:?}", stored.attempts) };
    assert_eq!((attempt.number, attempt.outcome), (1, AttemptOutcome::Failed));
    assert_eq!((&*attempt.error, attempt.node.is_empty()), ("no network", false));
    assert_eq!(attempt.started_at, stored.created_at);
    assert!(stored.started_at > Some(attempt.ended_at), "the second attempt came later");
    let shown = serde_json::to_value(&stored).expect("JSON");
    assert_eq!(shown["attempts"][0]["outcome"], "failed");
    assert!([stored.id, plain[0].id].contains(&id));
}
