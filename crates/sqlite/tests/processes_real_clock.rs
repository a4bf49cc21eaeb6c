//! Several processes on one file: this program starts itself again.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::{END, Folder, id, jobs, open, poll_of};
use scheduler_sqlite::{Sqlite, Synchronous, rusqlite};
use scheduler_store::{
    End, Enqueued, Finish, Finished, JobFilter, JobState, Poll, Register, Store, StoreError,
    StoreTime,
};
use store_conformance::definition;

const PART: &str = "TEST_SQLITE_PART";
const FILE: &str = "TEST_SQLITE_FILE";
const NUMBER: &str = "TEST_SQLITE_NUMBER";

/// The part of a process that a test has started. It is no test by itself.
#[test]
fn a_part_of_another_test() {
    let Ok(part) = std::env::var(PART) else { return };
    let file = std::env::var(FILE).unwrap();
    let number = std::env::var(NUMBER).unwrap().parse().unwrap();
    let builder = Sqlite::builder(file).synchronous(Synchronous::Normal);
    let store = builder.open().unwrap_or_else(|error| panic!("{error}"));
    match &*part {
        "register" => register(&store, number),
        "write" => write(&store),
        "work" => work(&store, number),
        "fail" => fail(&store),
        _ => panic!("no such part"),
    }
}

fn start(part: &str, file: &Path, number: u128) -> Child {
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new(program);
    command.args(["--exact", "processes_real_clock::a_part_of_another_test", "--nocapture"]);
    command.env(PART, part).env(FILE, file).env(NUMBER, number.to_string());
    command.stdout(Stdio::piped()).spawn().unwrap()
}

fn is_whole(file: &Path) -> bool {
    let db = rusqlite::Connection::open(file).unwrap();
    let check = db.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
    check.unwrap() == "ok"
}

fn register(store: &Sqlite, number: u128) {
    let session = open(store, number);
    let definitions = ["a", "b", "c", "d", "e"].map(|name| definition(name, "tick")).to_vec();
    let first_opened = StoreTime::from_micros(i64::try_from(number).unwrap());
    let request =
        Register { session, first_opened, definitions, limits: Vec::new(), not_after: END };
    assert!(store.register(&request).unwrap().is_alive);
}

#[test]
fn eight_processes_that_start_at_once_on_an_empty_file_all_come_up() {
    for round in 0..20 {
        let folder = Folder::new();
        let children: Vec<_> =
            (1..=8).map(|number| start("register", &folder.file(), number)).collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "round {round}: {output:?}");
        }
        let store = Sqlite::open(folder.file()).unwrap();
        assert_eq!(store.schedules().unwrap().len(), 5, "round {round}");
        assert_eq!(store.sessions().unwrap().len(), 8, "round {round}");
        assert!(is_whole(&folder.file()));
    }
}

/// Enqueues, and tells each identity after it was accepted.
fn write(store: &Sqlite) {
    for number in 0.. {
        let request = jobs(number * 3..number * 3 + 3, "a");
        store.enqueue(&request).unwrap();
        println!("accepted {number}");
    }
}

#[test]
fn accepted_jobs_are_there_after_a_kill() {
    for round in 0..10 {
        let folder = Folder::new();
        let mut child = start("write", &folder.file(), 0);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut accepted = Vec::new();
        while accepted.len() < 20 + round * 37 {
            let line = lines.next().expect("it writes on").unwrap();
            // The first line comes after a name of the test harness.
            accepted.extend(line.rsplit_once("accepted ").map(|(_, n)| n.parse::<u128>().unwrap()));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        accepted.extend(lines.map_while(Result::ok).filter_map(|line| {
            line.strip_prefix("accepted ").and_then(|number| number.parse::<u128>().ok())
        }));
        let store = Sqlite::open(folder.file()).unwrap();
        let all = store.jobs(&JobFilter::default(), u32::MAX).unwrap();
        let there: BTreeSet<_> = all.iter().map(|job| job.id).collect();
        for number in accepted.iter().flat_map(|number| number * 3..number * 3 + 3) {
            assert!(there.contains(&id(number)), "round {round}: {number} is missing");
        }
        assert_eq!(all.len() % 3, 0, "a part of a request was kept");
        assert!(is_whole(&folder.file()));
    }
}

/// Enqueues, claims and finishes, and tells what it has done.
fn work(store: &Sqlite, number: u128) {
    let session = open(store, number);
    for start in (0..300).step_by(3) {
        let start = number * 1_000 + start;
        store.enqueue(&jobs(start..start + 3, "a")).unwrap();
        let polled = store.poll(&Poll { limit: 5, ..poll_of(session, "a", 100) }).unwrap();
        assert!(polled.is_alive);
        let finish = |held| Finish { progress: None, session, held, end: End::Done };
        let requests: Vec<_> = polled.jobs.iter().map(|job| finish(job.held())).collect();
        for (job, answer) in polled.jobs.iter().zip(store.finish(&requests).unwrap()) {
            assert_eq!(answer, Finished::Stored(JobState::Done));
            println!("did {}", job.id);
        }
    }
}

#[test]
fn processes_that_contend_do_each_job_once_and_see_no_error() {
    let folder = Folder::new();
    let children: Vec<_> = (1..=4).map(|number| start("work", &folder.file(), number)).collect();
    let mut did = Vec::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        did.extend(
            text.lines().filter_map(|line| line.split_once("did ").map(|(_, id)| id.to_owned())),
        );
    }
    let store = Sqlite::open(folder.file()).unwrap();
    let done = JobFilter { state: Some(JobState::Done), ..JobFilter::default() };
    let done = store.jobs(&done, u32::MAX).unwrap();
    let once: BTreeSet<_> = did.iter().cloned().collect();
    assert_eq!((did.len(), once.len(), done.len()), (1_200, 1_200, 1_200));
    assert!(is_whole(&folder.file()));
}

/// Enqueues until that fails, waits for a word, and goes on with what has failed.
fn fail(store: &Sqlite) {
    let request = |number: u128| {
        let mut request = jobs(number..number + 1, "a");
        request.jobs[0].payload.bytes = vec![7; 5_000];
        request
    };
    // A connection that is closed after an error writes its log back, which may make room once more.
    let (mut number, mut failures) = (0, 0);
    let reason = loop {
        match store.enqueue(&request(number)) {
            Ok(_) => (number, failures) = (number + 1, 0),
            Err(StoreError::Unavailable(reason) | StoreError::Failed(reason)) => {
                if failures == 3 {
                    break reason;
                }
                failures += 1;
            }
            Err(other) => panic!("{other}"),
        }
    };
    println!("\nfailed {number} {reason}");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    assert_eq!(store.enqueue(&request(number)).unwrap(), [Enqueued::Accepted(id(number))]);
    let all = store.jobs(&JobFilter::default(), u32::MAX).unwrap();
    assert_eq!(all.len() as u128, number + 1);
}

/// A limit on the size of files lets writes fail with an error of the device that is not "full".
#[cfg(target_os = "linux")]
#[test]
fn a_device_that_fails_says_no_and_goes_on_when_it_works() {
    let limit = |child: &Child, size: &str| {
        let pid = child.id().to_string();
        Command::new("prlimit")
            .args(["--pid", &pid, size])
            .status()
            .is_ok_and(|done| done.success())
    };
    let folder = Folder::new();
    drop(Sqlite::open(folder.file()).unwrap());
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -S -f 1000; exec \"$0\" \"$@\""]).arg(program);
    command.args(["--exact", "processes_real_clock::a_part_of_another_test", "--nocapture"]);
    command.env(PART, "fail").env(FILE, folder.file()).env(NUMBER, "0");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let failed = lines.find_map(|line| line.unwrap().strip_prefix("failed ").map(str::to_owned));
    let failed = failed.expect("it fails");
    assert!(failed.contains("I/O"), "{failed}");
    if !limit(&child, "--fsize=unlimited") {
        eprintln!("not run to its end: there is no `prlimit`");
        child.kill().unwrap();
        child.wait().unwrap();
        return;
    }
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"go on\n").unwrap();
    assert!(child.wait().unwrap().success(), "{:?}", lines.collect::<Vec<_>>());
    assert!(is_whole(&folder.file()));
}

#[test]
fn a_change_by_another_process_is_noticed_and_an_own_one_is_not() {
    let folder = Folder::new();
    let (store, other) =
        (Sqlite::open(folder.file()).unwrap(), Sqlite::open(folder.file()).unwrap());
    let mut watch = store.watch().expect("a file can be watched");
    store.enqueue(&jobs(0..1, "a")).unwrap();
    assert!(!watch.wait(Duration::from_millis(30)).unwrap());
    other.enqueue(&jobs(1..2, "a")).unwrap();
    assert!(watch.wait(Duration::from_secs(30)).unwrap());
    assert!(!watch.wait(Duration::ZERO).unwrap());
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || watch.wait(Duration::from_secs(30)));
        other.enqueue(&jobs(2..3, "a")).unwrap();
        assert!(waiting.join().unwrap().unwrap());
    });
}
