//! Locks by keys and names, and claims by session and fence.

use cluster::{Lab, is_full};
use scheduler_store::{
    ClaimRef, Command, CommandOutcome, DEFAULT_QUEUE, End, Enqueue, Enqueued, Finish, Finished,
    JobId, JobState, Key, KeyUntil, NewJob, OnConflict, OnLost, Open, Overlap, Payload, Poll,
    Priority, Reap, Renew, Rule, ScheduleSpec, SessionId, Store, StoreTime, TaskRoom, Timing, Uuid,
};
use std::time::Duration;

use crate::NODE;

const END: StoreTime = StoreTime::MAX;

/// Names that people take for the same, and that a database may.
fn look_alikes() -> Vec<String> {
    let long = "x".repeat(249);
    let names = [
        "nightly",
        "Nightly",
        "NIGHTLY",
        "nightly ",
        " nightly",
        "night ly",
        "nightly\u{a0}",
        "nightly\u{200b}",
        "\u{e9}t\u{e9}",
        "e\u{301}te\u{301}",
        "\u{c9}T\u{c9}",
        "strasse",
        "stra\u{df}e",
        "\u{212b}",
        "\u{c5}",
        "\u{ff41}",
        "a",
        "i",
        "\u{131}",
        "\u{130}",
        "1",
        "01",
        "1.0",
        "null",
        "NULL",
        "%",
        "_",
        "\\",
    ];
    names.map(str::to_owned).into_iter().chain([format!("{long}a"), format!("{long}b")]).collect()
}

fn keyed(text: &str) -> NewJob {
    let key = Key { text: text.to_owned(), until: KeyUntil::End, on_conflict: OnConflict::Keep };
    NewJob { key: Some(key), ..NewJob::new(JobId::from_uuid(Uuid::now_v7()), "send") }
}

fn enqueue(store: &dyn Store, jobs: Vec<NewJob>) -> Vec<Enqueued> {
    store.enqueue(&Enqueue { jobs, not_after: END }).expect("the store accepts them")
}

fn is_accepted(answer: &Enqueued) -> bool {
    matches!(answer, Enqueued::Accepted(_))
}

#[test]
fn f_lk2_names_that_look_alike_are_different() {
    let Some(lab) = Lab::new(NODE) else { return };
    let store = lab.open();
    let names = look_alikes();
    let answers = enqueue(&*store, names.iter().map(|name| keyed(name)).collect());
    assert_eq!(answers.len(), names.len());
    assert!(answers.iter().all(is_accepted), "each is a key of its own");
    let again = enqueue(&*store, names.iter().map(|name| keyed(name)).collect());
    assert!(again.iter().all(|answer| matches!(answer, Enqueued::Kept(_))), "{again:?}");
    for name in &names {
        let definition = ScheduleSpec {
            name: name.clone(),
            task: "send".to_owned(),
            payload: Payload::default(),
            queue: DEFAULT_QUEUE.to_owned(),
            partition: None,
            priority: Priority::Normal,
            rule: Rule { text: "rule".to_owned(), timing: Timing::Computed },
            calculator: "1".to_owned(),
            overlap: Overlap::Skip,
            max_attempts: 1,
            on_lost: OnLost::Rerun,
            is_dynamic: true,
        };
        let put = Command::Put { definition: Box::new(definition) };
        assert_eq!(store.command(&put, END), Ok(CommandOutcome::Done), "{name:?}");
    }
    let mut stored: Vec<String> = store
        .schedules()
        .expect("an answer")
        .into_iter()
        .map(|schedule| schedule.definition.name)
        .collect();
    let mut names = names;
    stored.sort();
    names.sort();
    assert_eq!(stored, names, "each is a schedule of its own, byte for byte");
    // Texts that differ only after the last byte that is kept are refused.
    for text in ["x".repeat(251), String::new()] {
        let request = Enqueue { jobs: vec![keyed(&text)], not_after: END };
        assert!(store.enqueue(&request).is_err(), "{} bytes", text.len());
    }
}

/// No two of very many names are the same by chance, as they would be by a hash of 32 bits.
#[test]
fn f_lk2_many_names_are_different() {
    let Some(lab) = Lab::new(NODE) else { return };
    let store = lab.open();
    let count = if is_full() { 1_000_000 } else { 5_000 };
    for first in (0..count).step_by(1_000) {
        let jobs = (first..first + 1_000).map(|number| keyed(&format!("key-{number}")));
        let answers = enqueue(&*store, jobs.collect());
        assert!(answers.iter().all(is_accepted), "from {first}");
    }
}

#[test]
fn f_lk2_only_the_holder_releases_a_job() {
    let Some(lab) = Lab::new(NODE) else { return };
    let store = lab.open();
    let lease = crate::support::LIMIT;
    let session = || {
        let id = SessionId::from_uuid(Uuid::now_v7());
        let (label, build) = ("test".to_owned(), String::new());
        store
            .open(&Open {
                queues: None,
                concurrency: 4,
                id,
                replaces: None,
                label,
                build,
                lease,
                application: String::new(),
                tasks: [].into(),
                not_after: END,
            })
            .expect("open");
        id
    };
    let poll = |session, limit| {
        let poll = Poll {
            session,
            tasks: [TaskRoom { task: "send".into(), room: 1, version: u32::MAX }].into(),
            queues: None,
            limit,
            abandon_limit: 1,
            lost_limit: 1,
            with_leases: true,
            not_after: END,
        };
        store.poll(&poll).expect("an answer")
    };
    let claim = |session| -> ClaimRef { poll(session, 1).jobs[0].held() };
    let finish = |session, held| {
        let finish = Finish { progress: None, session, held, end: End::Done };
        store.finish(&[finish]).expect("an answer")[0]
    };
    let (first, second) = (session(), session());
    enqueue(&*store, vec![keyed("one")]);
    let held = claim(first);
    assert_eq!(finish(second, held), Finished::Lost, "it is held by another");
    let older = ClaimRef { fence: scheduler_store::Fence(held.fence.0 - 1), ..held };
    assert_eq!(finish(first, older), Finished::Lost, "an old fence");
    assert_eq!(store.job(held.job).expect("an answer").expect("a job").state, JobState::Running);
    // It expires, and another one takes it.
    let lease = Duration::from_micros(1);
    let renew =
        Renew { session: first, lease, clock_offset: None, progress: Vec::new(), not_after: END };
    assert!(store.renew(&renew).expect("an answer").is_alive);
    let lease = cluster::eventually(crate::support::LIMIT, "its lease ends", || {
        let leases = poll(second, 0).leases;
        leases.into_iter().find(|lease| lease.session == first && lease.has_run_out)
    });
    let dead = vec![lease];
    let (found_by, spread) = ("finder".to_owned(), Duration::from_micros(1));
    let reap = Reap { found_by, dead, max_lost: 3, spread, draw: 0, not_after: END };
    assert_eq!(store.reap(&reap).expect("an answer").jobs.len(), 1);
    let taken = cluster::eventually(crate::support::LIMIT, "it is due again", || {
        let due = store.depths().expect("an answer").iter().any(|depth| depth.due == 1);
        due.then(|| claim(second))
    });
    assert!(taken.job == held.job && taken.fence > held.fence);
    assert_eq!(finish(first, held), Finished::Lost, "it was taken over");
    assert_eq!(finish(first, taken), Finished::Lost, "nor with the fence of the other");
    assert_eq!(store.job(held.job).expect("an answer").expect("a job").state, JobState::Running);
    assert_eq!(finish(second, taken), Finished::Stored(JobState::Done));
    assert_eq!(finish(second, taken), Finished::AlreadyMine(JobState::Done), "twice is once");
    assert_eq!(finish(first, held), Finished::Lost);
}
