//! The commands about limits of kinds of jobs, and why a job waits.

use serde_json::{Value, json};

use crate::stub::Stub;
use crate::{Answered, Typed};

fn ask(stub: &Stub, args: &[&str]) -> Answered {
    let mut typed = Typed::new(args);
    typed.variables.insert("SCHEDULER_URL", stub.url.clone());
    typed.answer()
}

fn send(has_own: bool) -> Value {
    let code = json!({ "text": "5 running", "running": 5 });
    let hand =
        json!({ "text": "2 running", "running": 2, "by": "ada", "reason": "slow\u{1b}[31m" });
    match has_own {
        true => json!({ "task": "send", "scope": "each", "code": code, "byHand": hand }),
        false => json!({ "task": "send", "scope": "each", "code": code }),
    }
}

fn of_send(has_own: bool) -> String {
    json!({ "task": "send", "limits": [send(has_own)], "partitions": [] }).to_string()
}

#[test]
fn limits_are_listed_with_the_code_and_who_has_set_them() {
    let other = json!({ "task": "call", "scope": "all", "byHand": { "text": "9 running", "by": "", "reason": "" } });
    let stub = Stub::of(vec![(
        "GET /api/v1/limits",
        200,
        json!({ "limits": [other, send(true)] }).to_string(),
    )]);
    let expected = "\
TASK   OF               IN THE CODE   BY HAND     WHO   REASON
call   all jobs         none          9 running
send   each partition   5 running     2 running   ada   slow\u{fffd}[31m
";
    assert_eq!(ask(&stub, &["limits"]).output, expected);
    let json = ask(&stub, &["limits", "--json"]).output;
    assert!(json.contains("\"byHand\""), "{json}");
    let none = Stub::of(vec![("GET /api/v1/limits", 200, json!({ "limits": [] }).to_string())]);
    assert_eq!(ask(&none, &["limits"]).output, "no limits\n");
}

#[test]
fn a_limit_is_set_and_those_in_the_code_restored() {
    let path = "POST /api/v1/tasks/shop%3A%3Asend/limit";
    let stub = Stub::of(vec![
        (path, 202, of_send(true)),
        (path, 202, of_send(true)),
        (path, 202, of_send(true)),
        (path, 202, of_send(true)),
        (path, 202, of_send(false)),
    ]);
    let set = ["limit", "shop::send", "--each", "--running", "2", "--reason", "slow"];
    let done = "send: each partition: 2 running; to restore those in the code: scheduler limit send --reset\n";
    assert_eq!(ask(&stub, &set).output, done);
    ask(&stub, &["limit", "shop::send", "--all", "--rate", "100/1m", "--burst", "5", "--json"]);
    for on_park in [&["--ordered"][..], &["--ordered", "hold"]] {
        let one = ["limit", "shop::send", "--each", "--running", "1"];
        ask(&stub, &[&one, on_park].concat());
    }
    let reset = ask(&stub, &["limit", "shop::send", "--reset", "--reason", "fast"]);
    assert_eq!((&*reset.output, reset.code), ("send: each partition: 5 running\n", 0));
    let asked = stub.asked();
    let bodies =
        asked.iter().filter_map(|line| line.strip_prefix(path)?.trim().parse::<Value>().ok());
    let expected = [
        json!({ "scope": "each", "running": 2, "reason": "slow" }),
        json!({ "scope": "all", "rate": "100/1m", "burst": 5 }),
        json!({ "scope": "each", "running": 1, "ordered": "go_on" }),
        json!({ "scope": "each", "running": 1, "ordered": "hold" }),
        json!({ "reason": "fast", "reset": true }),
    ];
    assert_eq!(bodies.collect::<Vec<_>>(), expected);
    for unclear in [
        &["limit", "send"][..],
        &["limit", "send", "--each"],
        &["limit", "send", "--running", "2"],
        &["limit", "send", "--each", "--all", "--running", "2"],
        &["limit", "send", "--each", "--running", "2", "--burst", "2"],
        &["limit", "send", "--all", "--running", "1", "--ordered"],
        &["limit", "send", "--each", "--running", "1", "--ordered", "yes"],
        &["limit", "send", "--reset", "--ordered"],
        &["limit", "send", "--reset", "--running", "2"],
        &["limit", "--each", "--running", "2"],
    ] {
        assert_eq!(ask(&stub, unclear).code, 2, "{unclear:?}");
    }
    assert_eq!(stub.asked().len(), 5);
}

#[test]
fn partitions_are_listed_with_their_jobs_and_when_they_open() {
    let partitions = json!([
        { "partition": "ada", "due": 1200, "running": 2, "opensAt": "2026-03-27T11:05:12Z" },
        { "partition": "", "due": 1, "running": 0, "pause": { "by": "bob", "reason": "their wish" } },
    ]);
    let answer = json!({ "task": "send", "limits": [send(false)], "partitions": partitions });
    let stub = Stub::in_berlin(vec![
        ("GET /api/v1/tasks/send/limits", 200, answer.to_string()),
        ("GET /api/v1/tasks/mail/limits", 200, of_send(false)),
    ]);
    let expected = "\
PARTITION   DUE    RUNNING   OPENS                            PAUSED
ada         1200   2         Fri 2026-03-27 12:05:12 +01:00
-           1      0                                          bob: their wish
";
    assert_eq!(ask(&stub, &["partitions", "send"]).output, expected);
    assert_eq!(
        ask(&stub, &["partitions", "mail"]).output,
        "no job with a partition is due or runs\n"
    );
}

#[test]
fn jobs_say_why_they_do_not_run() {
    let waits = json!({
        "reason": "rate", "scope": "each", "opensAt": "2026-03-27T11:05:12Z",
        "text": "the rate of its partition allows the next start at 2026-03-27T11:05:12Z",
    });
    let waiting = json!({
        "id": "7", "task": "send", "state": "ready", "queue": "default", "priority": "normal", "partition": "ada",
        "runAt": "2026-03-27T11:04:00Z", "attempt": 0, "maxAttempts": 1, "waits": waits,
    });
    let running = json!({ "id": "8", "task": "send", "state": "running", "startedAt": "2026-03-27T11:03:00Z" });
    let parked =
        json!({ "id": "9", "task": "send", "state": "parked", "runAt": "2026-03-27T11:04:00Z" });
    let list = json!({ "jobs": [waiting, parked], "hasMore": false });
    let stub = Stub::in_berlin(vec![
        ("GET /api/v1/jobs/7", 200, waiting.to_string()),
        ("GET /api/v1/jobs/8", 200, running.to_string()),
        ("GET /api/v1/jobs/9", 200, parked.to_string()),
        ("GET /api/v1/jobs?limit=50", 200, list.to_string()),
    ]);
    let expected = "\
7 of send: the rate of its partition allows the next start at Fri 2026-03-27 12:05:12 +01:00
8 of send: it runs, since Fri 2026-03-27 12:03 +01:00
9 of send: it is parked: it runs once it is retried
";
    assert_eq!(ask(&stub, &["jobs", "why", "7", "8", "9"]).output, expected);
    let line = ask(&stub, &["jobs", "why", "7", "--json"]).output;
    let line: Value = line.parse().expect("JSON");
    assert_eq!(line, json!({ "id": "7", "state": "ready", "waits": waits }));
    assert_eq!(ask(&stub, &["jobs", "why"]).code, 2, "it names no job");
    let shown = ask(&stub, &["jobs", "show", "7"]).output;
    let row = "  waits      the rate of its partition allows the next start at Fri 2026-03-27 12:05:12 +01:00\n";
    assert!(shown.contains(row) && shown.contains("  partition  ada\n"), "{shown}");
    let list = ask(&stub, &["jobs"]).output;
    assert!(
        list.contains("QUEUE     PARTITION   WHEN") && list.contains("default   ada         due "),
        "{list}"
    );
}

#[test]
fn a_partition_is_paused_and_resumed() {
    let (pause, resume) =
        ("POST /api/v1/tasks/send/partitions/pause", "POST /api/v1/tasks/send/partitions/resume");
    let stub = Stub::of(vec![(pause, 202, of_send(false)), (resume, 202, of_send(false))]);
    let of = ["send", "--partition", "tenant/17"];
    let paused = [&["pause"], &of[..], &["--reason", "their wish", "--for", "1h"]].concat();
    let expected = "partition tenant/17 of send: paused; to let it go on: scheduler resume send --partition tenant/17\n";
    assert_eq!(ask(&stub, &paused).output, expected);
    let resumed = [&["resume"], &of[..]].concat();
    assert_eq!(ask(&stub, &resumed).output, "partition tenant/17 of send: goes on\n");
    let asked = stub.asked();
    let body = |line: &String, path: &str| line.strip_prefix(path)?.trim().parse::<Value>().ok();
    let wish = json!({ "partition": "tenant/17", "reason": "their wish", "forMs": 3_600_000 });
    assert_eq!(body(&asked[0], pause), Some(wish));
    assert_eq!(body(&asked[1], resume), Some(json!({ "partition": "tenant/17" })));
    for unclear in [&["pause", "--partition", "x"][..], &["pause", "--all", "--partition", "x"]] {
        assert_eq!(ask(&stub, unclear).code, 2, "{unclear:?}");
    }
}

#[test]
fn running_jobs_say_how_far_they_are() {
    let progress = json!({ "fraction": 0.4, "text": "page 3\u{1b} of 7" });
    let job = |id: &str, state: &str| {
        json!({
            "id": id, "task": "import", "state": state, "queue": "default", "priority": "normal", "attempt": 1, "maxAttempts": 1,
            "startedAt": "2026-03-27T11:03:00Z", "finishedAt": "2026-03-27T11:04:00Z", "progress": progress,
        })
    };
    let list = json!({ "jobs": [job("7", "running"), job("8", "parked")], "hasMore": false });
    let ended = json!({ "jobs": [job("8", "parked")], "hasMore": false });
    let stub = Stub::in_berlin(vec![
        ("GET /api/v1/jobs?limit=50", 200, list.to_string()),
        ("GET /api/v1/jobs?limit=50&state=parked", 200, ended.to_string()),
        ("GET /api/v1/jobs/8", 200, job("8", "parked").to_string()),
    ]);
    let shown = ask(&stub, &["jobs"]).output;
    assert!(shown.contains("   PROGRESS ") && shown.contains("   40% page 3"), "{shown}");
    assert_eq!(shown.matches("40%").count(), 1, "{shown}");
    assert!(shown.contains(" of 7") && !shown.contains('\u{1b}'), "{shown}");
    let of_one = ask(&stub, &["jobs", "show", "8"]).output;
    assert!(of_one.contains("  progress   40% page 3"), "{of_one}");
}
