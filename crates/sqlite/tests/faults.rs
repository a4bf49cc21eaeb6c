//! Damage by disks, other programs and older versions.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use crate::common::{END, Folder, HandClock, TestSqlite, id, jobs, open, poll_of};
use scheduler_sqlite::{OpenError, Sqlite, SqliteClock, Synchronous, rusqlite};
use scheduler_store::{
    Command as Order, CommandOutcome, End, Enqueue, Enqueued, Finish, Finished, JobFilter,
    JobState, Model, NewJob, Poll, Reap, Refusal, Register, Renew, Store, StoreError,
};
use store_conformance::{TestStore as _, definition};

fn raw(folder: &Folder) -> rusqlite::Connection {
    rusqlite::Connection::open(folder.file()).unwrap()
}

fn schema(db: &rusqlite::Connection) -> Vec<String> {
    let mut names =
        db.prepare("SELECT name || coalesce(sql, '') FROM sqlite_schema ORDER BY name").unwrap();
    names.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

/// Each is damaged in one way; the good ones run, and the damaged are seen, parked and reported once.
#[test]
fn damaged_rows_are_parked_and_the_good_ones_run() {
    const DAMAGES: [&str; 12] = [
        "state = 'flying'",
        "attempt = -1",
        "attempt = 9000000000",
        "run_at = 9200000000000000000",
        "run_at = -9223372036854775808",
        "priority = 77",
        "on_lost = 'maybe'",
        "lost = -1",
        "max_attempts = 0",
        "payload_version = -5",
        "key_until = ''",
        "id = x'0102'",
    ];
    let test = TestSqlite::fresh();
    let store = test.store();
    let count = DAMAGES.len() as u128;
    store.enqueue(&jobs(0..count * 2, "a")).unwrap();
    let db = raw(&test.folder);
    for (number, damage) in DAMAGES.iter().enumerate() {
        let sql = format!("UPDATE scheduler_job SET {damage} WHERE seq = {}", number * 2 + 1);
        assert_eq!(db.execute(&sql, []).unwrap(), 1, "{damage}");
    }
    assert_eq!(store.jobs(&JobFilter::default(), 100).unwrap().len(), DAMAGES.len() * 2);
    let session = open(store, 1);
    let polled = store.poll(&poll_of(session, "a", 100)).unwrap();
    assert_eq!((polled.jobs.len(), polled.damaged.len()), (DAMAGES.len(), DAMAGES.len()));
    let again = store.poll(&poll_of(session, "a", 100)).unwrap();
    assert_eq!((again.jobs.len(), again.damaged.len()), (0, 0));
    let parked = JobFilter { state: Some(JobState::Parked), ..JobFilter::default() };
    let parked = store.jobs(&parked, 100).unwrap();
    assert_eq!(parked.len(), DAMAGES.len());
    for job in &parked {
        let error = job.error.as_deref().unwrap();
        assert!(error.starts_with("damaged: "), "{error}");
        assert_eq!(
            store.command(&Order::Retry { job: job.id }, END).unwrap(),
            CommandOutcome::Done
        );
    }
    let retried = store.poll(&poll_of(session, "a", 100)).unwrap();
    assert_eq!((retried.jobs.len(), retried.damaged.len()), (DAMAGES.len(), 0));
}

/// A running job stays its holder's; numbers that cannot be are put right.
#[test]
fn a_running_job_whose_row_is_damaged_can_be_finished() {
    let test = TestSqlite::fresh();
    let store = test.store();
    store.enqueue(&jobs(0..1, "a")).unwrap();
    let session = open(store, 1);
    let job = store.poll(&poll_of(session, "a", 1)).unwrap().jobs.remove(0);
    raw(&test.folder).execute("UPDATE scheduler_job SET lost = -4, priority = 9", []).unwrap();
    let polled = store.poll(&poll_of(session, "a", 1)).unwrap();
    assert_eq!(polled.damaged.len(), 1);
    let failed = End::Failed { after: Duration::ZERO, error: "no".to_owned() };
    let answer =
        store.finish(&[Finish { progress: None, session, held: job.held(), end: failed }]).unwrap();
    assert_eq!(answer, [Finished::Stored(JobState::Parked)]);
}

/// A damaged schedule is reported once, left out of lists, and made anew by a registration.
#[test]
fn a_damaged_schedule_is_left_alone_and_told_of_once() {
    let test = TestSqlite::fresh();
    let store = test.store();
    let session = open(store, 1);
    let definitions = vec![definition("good", "tick"), definition("bad", "tick")];
    let first_opened = test.clock.now();
    let request =
        Register { session, first_opened, definitions, limits: Vec::new(), not_after: END };
    store.register(&request).unwrap();
    let db = raw(&test.folder);
    db.execute("UPDATE scheduler_schedule SET timing = 'sometimes' WHERE name = 'bad'", [])
        .unwrap();
    let polled = store.poll(&poll_of(session, "tick", 1)).unwrap();
    assert_eq!((polled.due.len(), polled.damaged.len()), (1, 1));
    assert!(polled.damaged[0].reason.contains("sometimes"), "{:?}", polled.damaged);
    assert_eq!(store.poll(&poll_of(session, "tick", 1)).unwrap().damaged, []);
    assert_eq!(store.schedules().unwrap().len(), 1);
    store.register(&request).unwrap();
    assert_eq!(store.poll(&poll_of(session, "tick", 1)).unwrap().due.len(), 2);
}

/// Text is no number, also for other programs.
#[test]
fn sqlite_refuses_text_in_a_number() {
    let test = TestSqlite::fresh();
    test.store().enqueue(&jobs(0..1, "a")).unwrap();
    let db = raw(&test.folder);
    for column in ["attempt", "run_at", "priority", "fence"] {
        let sql = format!("UPDATE scheduler_job SET {column} = 'many'");
        assert!(db.execute(&sql, []).is_err(), "{column}");
    }
}

/// Statements are written down; nothing is ever joined to them but the prefix, in one place.
#[test]
fn no_statement_is_made_of_text() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    let words =
        ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "REPLACE ", "WHERE ", "PRAGMA ", "CREATE "];
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in code.filter(|line| {
            line.contains("format!") || line.contains("push_str") || line.contains("+=")
        }) {
            // The numbers of a migration, which are constants.
            let is_known = line.contains("UPDATE scheduler_meta SET version = {version}");
            let is_statement = words.iter().any(|word| line.contains(word));
            assert!(!is_statement || is_known, "{}: {line}", file.display());
        }
        files += 1;
    }
    assert!(files > 15);
}

#[test]
fn hostile_texts_leave_the_schema_as_it_was() {
    let test = TestSqlite::fresh();
    let before = schema(&raw(&test.folder));
    let text = "x'); DROP TABLE scheduler_job; --";
    let mut job = NewJob::new(id(1), text);
    text.clone_into(&mut job.queue);
    test.store().enqueue(&Enqueue { jobs: vec![job], not_after: END }).unwrap();
    let filter = JobFilter {
        key: Some(text.to_owned()),
        schedule: Some(text.to_owned()),
        ..JobFilter::default()
    };
    test.store().jobs(&filter, 10).unwrap();
    test.store().command(&Order::Remove { schedule: text.to_owned() }, END).unwrap();
    assert_eq!(schema(&raw(&test.folder)), before);
}

/// Enqueues until the store says no, and makes sure that it kept what it had said yes to, and works when there is room.
fn fill(store: &Sqlite, make_room: impl FnOnce()) {
    let mut accepted = Vec::new();
    let job = |number: u128| {
        let mut job = NewJob::new(id(number), "a");
        job.payload.bytes = vec![7; 10_000];
        Enqueue { jobs: vec![job], not_after: END }
    };
    let refused = (0..10_000).find(|number| match store.enqueue(&job(*number)) {
        Ok(answers) => {
            assert_eq!(answers, [Enqueued::Accepted(id(*number))]);
            accepted.push(id(*number));
            false
        }
        Err(StoreError::Failed(reason)) if reason.contains("full") => true,
        // A commit may have reached the disk in part.
        Err(StoreError::Unavailable(reason)) if reason.contains("I/O") => true,
        Err(other) => panic!("{other}"),
    });
    let refused = refused.expect("the disk is full at some time");
    assert!(store.enqueue(&job(refused)).is_err());
    make_room();
    assert_eq!(store.enqueue(&job(refused)).unwrap(), [Enqueued::Accepted(id(refused))]);
    accepted.push(id(refused));
    let all = store.jobs(&JobFilter::default(), u32::MAX).unwrap();
    assert_eq!(all.iter().rev().map(|job| job.id).collect::<Vec<_>>(), accepted);
}

/// A second handle may have more pages: where no small disk can be mounted, this is the disk.
#[test]
fn a_file_that_is_full_says_no_and_goes_on_when_there_is_room() {
    let folder = Folder::new();
    let builder = Sqlite::builder(folder.file()).synchronous(Synchronous::Normal);
    let store = builder.clone().max_pages(200).open().unwrap();
    store.enqueue(&padding()).unwrap();
    fill(&store, || {
        raw(&folder).execute("DELETE FROM scheduler_job WHERE task = 'padding'", []).unwrap();
    });
}

/// Something to delete.
fn padding() -> Enqueue {
    let mut job = NewJob::new(id(u128::MAX), "padding");
    job.payload.bytes = vec![0; 100_000];
    Enqueue { jobs: vec![job], not_after: END }
}

#[test]
fn a_disk_that_is_full_says_no_and_goes_on_when_there_is_room() {
    let folder = Folder::new();
    let mount =
        |arguments: &[&str]| Command::new("mount").args(arguments).arg(folder.path()).status();
    if !mount(&["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).is_ok_and(|status| status.success()) {
        eprintln!("not run: this user may not mount a small disk");
        return;
    }
    let store = Sqlite::open(folder.file()).unwrap();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        fill(&store, || {
            let status = mount(&["-o", "remount,size=8m"]).unwrap();
            assert!(status.success());
        });
        let check =
            raw(&folder).query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
        assert_eq!(check.unwrap(), "ok");
    }));
    drop(store);
    let _ = Command::new("umount").arg("-l").arg(folder.path()).status();
    result.unwrap();
}

/// A writer that does not let go is waited for as long as the request may wait, and no longer.
#[test]
fn a_file_that_is_locked_is_waited_for_until_the_request_expires() {
    let folder = Folder::new();
    let builder = Sqlite::builder(folder.file()).synchronous(Synchronous::Normal);
    let store = builder.clone().open().unwrap();
    let impatient = builder.busy_timeout(Duration::from_millis(20)).open().unwrap();
    let db = raw(&folder);
    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(matches!(impatient.enqueue(&jobs(0..1, "a")), Err(StoreError::NotExecuted(_))));
    let soon = store.enqueue(&Enqueue { not_after: now_and(20), ..jobs(0..1, "a") });
    assert!(matches!(soon, Err(StoreError::NotExecuted(_))), "{soon:?}");
    let late = store.enqueue(&Enqueue { not_after: now_and(-20), ..jobs(0..1, "a") });
    assert_eq!(late, Err(StoreError::Refused(Refusal::TooLate)));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| store.enqueue(&jobs(0..1, "a")));
        db.execute_batch("COMMIT").unwrap();
        assert_eq!(waiting.join().unwrap(), Ok(vec![Enqueued::Accepted(id(0))]));
    });
}

/// A connection that an error has cost is opened anew by the next request, within the time of that request.
#[test]
fn a_file_that_is_locked_is_opened_again_until_the_request_expires() {
    let folder = Folder::new();
    // Longer than a test may take.
    let builder = Sqlite::builder(folder.file()).busy_timeout(Duration::from_secs(3_600));
    let store = builder.max_pages(200).open().unwrap();
    let long = |number| {
        let mut job = NewJob::new(id(number), "a");
        job.payload.bytes = vec![7; 100_000];
        Enqueue { jobs: vec![job], not_after: END }
    };
    assert!((0..100).any(|number| store.enqueue(&long(number)).is_err()), "the file is full");
    let db = raw(&folder);
    db.execute_batch(
        "PRAGMA locking_mode = exclusive; BEGIN EXCLUSIVE; UPDATE scheduler_meta SET fence = fence;",
    )
    .unwrap();
    let soon = store.enqueue(&Enqueue { not_after: now_and(20), ..jobs(200..201, "a") });
    assert!(matches!(soon, Err(StoreError::NotExecuted(_))), "{soon:?}");
    assert!(store.watch().unwrap().wait(Duration::ZERO).is_ok(), "a look waits for nothing");
    drop(db);
    let free = store.command(&Order::Delete { job: id(0) }, END);
    assert_eq!(free, Ok(CommandOutcome::Done));
}

fn now_and(millis: i64) -> scheduler_store::StoreTime {
    #[expect(clippy::disallowed_methods, reason = "the store under test has the real clock")]
    let since = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
    let micros = i64::try_from(since.unwrap().as_micros()).unwrap() + millis * 1_000;
    scheduler_store::StoreTime::from_micros(micros)
}

#[test]
fn r8_a_lease_of_before_a_restart_has_run_out_for_ever() {
    let (folder, clock) = (Folder::new(), HandClock::new());
    let builder = Sqlite::builder(folder.file()).clock(Arc::clone(&clock) as Arc<dyn SqliteClock>);
    let store = builder.clone().open().unwrap();
    let session = open(&store, 1);
    store.enqueue(&jobs(0..1, "a")).unwrap();
    let job = store.poll(&poll_of(session, "a", 1)).unwrap().jobs.remove(0);
    drop(store);
    clock.restart("second");
    let store = builder.open().unwrap();
    let renew = Renew {
        progress: Vec::new(),
        clock_offset: None,
        session,
        lease: Duration::from_secs(9),
        not_after: END,
    };
    assert!(!store.renew(&renew).unwrap().is_alive);
    let other = open(&store, 2);
    let poll = Poll { with_leases: true, ..poll_of(other, "a", 0) };
    let dead = store.poll(&poll).unwrap().leases;
    assert!(dead[0].has_run_out);
    let reap = Reap {
        found_by: "finder".to_owned(),
        dead,
        max_lost: 3,
        spread: Duration::ZERO,
        draw: 1,
        not_after: END,
    };
    let reaped = store.reap(&reap).unwrap();
    assert_eq!((reaped.sessions, reaped.jobs[0].id), (vec![session], job.id));
}

#[test]
fn a_newer_schema_is_refused_without_a_change() {
    let folder = Folder::new();
    let store = Sqlite::open(folder.file()).unwrap();
    let session = open(&store, 1);
    raw(&folder).execute("UPDATE scheduler_meta SET version = 9, min_reader = 2", []).unwrap();
    let before = schema(&raw(&folder));
    let newer = |answer: Result<(), StoreError>| {
        assert!(matches!(answer, Err(StoreError::Refused(Refusal::NewerSchema(_)))), "{answer:?}");
    };
    newer(store.enqueue(&jobs(0..1, "a")).map(drop));
    newer(store.poll(&poll_of(session, "a", 1)).map(drop));
    newer(store.schedules().map(drop));
    let refused = Sqlite::open(folder.file()).unwrap_err();
    assert!(matches!(refused, OpenError::NewerSchema(_)));
    let said = "to version 9, which needs version 2 or later, and this is version 1\n  help: ";
    assert!(refused.to_string().contains(said), "{refused}");
    assert_eq!(schema(&raw(&folder)), before);
    // A version in between that understands the tables works on.
    raw(&folder).execute("UPDATE scheduler_meta SET version = 9, min_reader = 1", []).unwrap();
    let store = Sqlite::open(folder.file()).unwrap();
    assert_eq!(store.enqueue(&jobs(0..1, "a")).unwrap(), [Enqueued::Accepted(id(0))]);
}

#[test]
fn a_file_that_is_no_store_is_refused_with_the_reason() {
    let folder = Folder::new();
    for path in [":memory:", "", "file::memory:?cache=shared"] {
        let refused = Sqlite::open(path).unwrap_err();
        assert!(matches!(refused, OpenError::InMemory), "{path:?}");
        // The store that the help names is there: the facade exports this one.
        let instead = std::any::type_name_of_val(&Model::new()).rsplit("::").next().unwrap();
        let help = format!("for tests there is `scheduler::store::{instead}::new()`");
        assert!(refused.to_string().ends_with(&help), "{refused}");
    }
    for prefix in ["", "1a", "a-b", "a b", "é", "x\"; --", "sqlite_", &"x".repeat(33)] {
        let opened = Sqlite::builder(folder.file()).table_prefix(prefix).open();
        assert!(matches!(opened, Err(OpenError::Prefix(_))), "{prefix:?}");
    }
    std::fs::write(
        folder.file(),
        "this is a text, and longer than the head of a database".repeat(40),
    )
    .unwrap();
    assert!(matches!(Sqlite::open(folder.file()), Err(OpenError::Sqlite(..))));
    assert!(matches!(Sqlite::open(folder.path().join("no/folder.db")), Err(OpenError::Sqlite(..))));
}

#[test]
fn stores_of_different_prefixes_share_a_file_and_nothing_else() {
    let folder = Folder::new();
    let first = Sqlite::open(folder.file()).unwrap();
    let second = Sqlite::builder(folder.file()).table_prefix("billing_").open().unwrap();
    first.enqueue(&jobs(0..3, "a")).unwrap();
    second.enqueue(&jobs(0..1, "a")).unwrap();
    let count = |store: &Sqlite| store.jobs(&JobFilter::default(), 10).unwrap().len();
    assert_eq!((count(&first), count(&second)), (3, 1));
    let session = open(&second, 1);
    assert_eq!(second.poll(&poll_of(session, "a", 9)).unwrap().jobs.len(), 1);
    assert_eq!(count(&first), 3);
}

/// The statements that are printed make the tables that are used.
#[test]
fn printed_migrations_make_the_same_tables() {
    let (printed, made) = (Folder::new(), Folder::new());
    raw(&printed).execute_batch(&Sqlite::migrations(0)).unwrap();
    Sqlite::open(made.file()).unwrap();
    assert_eq!(schema(&raw(&printed)), schema(&raw(&made)));
    let store = Sqlite::open(printed.file()).unwrap();
    assert_eq!(store.enqueue(&jobs(0..1, "a")).unwrap(), [Enqueued::Accepted(id(0))]);
}

/// A deploy that cleans its folder, and the restore of a backup.
/// A file that can be read answers, be it with an error.
#[test]
fn an_error_of_a_statement_is_told_from_a_file_that_is_away() {
    let test = TestSqlite::fresh();
    let store = test.store();
    store.enqueue(&jobs(0..1, "a")).unwrap();
    raw(&test.folder).execute_batch("ALTER TABLE scheduler_job RENAME TO aside").unwrap();
    let errors = [
        store.enqueue(&jobs(1..2, "a")).unwrap_err(),
        store.jobs(&JobFilter::default(), 10).unwrap_err(),
    ];
    for error in errors {
        let text = error.to_string();
        assert!(matches!(error, StoreError::Failed(_)), "{text}");
        assert!(
            text.starts_with("the store has answered with an error: SQLite: no such table"),
            "{text}"
        );
    }
    raw(&test.folder).execute_batch("ALTER TABLE aside RENAME TO scheduler_job").unwrap();
    store.enqueue(&jobs(1..2, "a")).unwrap();
}

#[test]
fn a_file_that_is_removed_or_replaced_takes_no_more_jobs() {
    let test = TestSqlite::fresh();
    let store = test.store();
    store.enqueue(&jobs(0..1, "a")).unwrap();
    let later = |test: &TestSqlite| test.clock.set(test.clock.now().after(Duration::from_secs(2)));
    let aside = test.folder.path().join("aside.db");
    std::fs::rename(test.folder.file(), &aside).unwrap();
    for replaced in [false, true] {
        if replaced {
            std::fs::copy(&aside, test.folder.file()).unwrap();
        }
        later(&test);
        let refused = store.enqueue(&jobs(1..2, "a")).unwrap_err();
        assert!(matches!(refused, StoreError::NotExecuted(_)), "{refused:?}");
        assert!(refused.to_string().contains("was removed or replaced while it was open"));
        assert!(store.jobs(&JobFilter::default(), 10).is_err());
    }
    // The same file is back.
    std::fs::rename(&aside, test.folder.file()).unwrap();
    later(&test);
    store.enqueue(&jobs(1..2, "a")).unwrap();
    assert_eq!(store.jobs(&JobFilter::default(), 10).unwrap().len(), 2);
}

/// Two names have two logs.
#[test]
fn a_file_of_two_names_is_refused() {
    let folder = Folder::new();
    drop(Sqlite::open(folder.file()).unwrap());
    let other = folder.path().join("other.db");
    std::fs::hard_link(folder.file(), &other).unwrap();
    for path in [&folder.file(), &other] {
        assert!(matches!(Sqlite::open(path), Err(OpenError::Linked(_))));
        Sqlite::builder(path).any_file_system().open().unwrap();
    }
    std::fs::remove_file(&other).unwrap();
    std::os::unix::fs::symlink(folder.file(), &other).unwrap();
    Sqlite::open(&other).unwrap();
}

/// A file that another program has damaged has the finished jobs before the damage.
#[test]
fn damaged_finished_jobs_keep_nothing_else_back() {
    let test = TestSqlite::fresh();
    let store = test.store();
    store.enqueue(&jobs(0..3, "a")).unwrap();
    let session = open(store, 1);
    let claimed = store.poll(&poll_of(session, "a", 3)).unwrap().jobs;
    let ends: Vec<_> = claimed
        .iter()
        .map(|job| Finish { progress: None, session, held: job.held(), end: End::Done })
        .collect();
    store.finish(&ends).unwrap();
    let whole = "SELECT length(jobs) FROM scheduler_done";
    let db = raw(&test.folder);
    let length: i64 = db.query_row(whole, [], |row| row.get(0)).unwrap();
    for left in (0..length).rev() {
        db.execute("UPDATE scheduler_done SET jobs = substr(jobs, 1, ?1)", [left]).unwrap();
        let listed = store.jobs(&JobFilter::default(), 10).unwrap();
        assert!(listed.len() < 3 && listed.iter().all(|job| job.state == JobState::Done));
    }
    store.enqueue(&jobs(3..4, "a")).unwrap();
    assert_eq!(store.poll(&poll_of(session, "a", 3)).unwrap().jobs.len(), 1);
}

/// The line that a warning about two applications in one file shows.
#[test]
fn an_application_is_separated_by_a_prefix_that_it_may_have() {
    let test = TestSqlite::fresh();
    let line = test.store().separate("2nd Shop");
    assert_eq!(line, "Sqlite::builder(path).table_prefix(\"app_2nd_shop_\")");
    let folder = Folder::new();
    assert!(Sqlite::builder(folder.file()).table_prefix("app_2nd_shop_").open().is_ok());
}

#[test]
fn a_table_of_another_program_is_refused_with_the_remedy() {
    let folder = Folder::new();
    raw(&folder).execute_batch("CREATE TABLE scheduler_job (id INTEGER)").unwrap();
    let refused = Sqlite::open(folder.file()).unwrap_err().to_string();
    assert!(refused.contains("already exists") && refused.contains("table_prefix("), "{refused}");
    assert!(Sqlite::builder(folder.file()).table_prefix("jobs_").open().is_ok());
}
