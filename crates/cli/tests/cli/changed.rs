//! The commands that change tasks and jobs, and the form of their answers.

use serde_json::{Value, json};

use crate::stub::Stub;
use crate::{Answered, Typed};

fn ask(stub: &Stub, args: &[&str]) -> Answered {
    asked_with(stub, args, b"")
}

fn asked_with(stub: &Stub, args: &[&str], input: &[u8]) -> Answered {
    let mut typed = Typed::new(args);
    typed.input = input;
    typed.variables.insert("SCHEDULER_URL", stub.url.clone());
    typed.answer()
}

fn task(name: &str) -> Value {
    json!({ "name": name, "rule": "every 1m", "state": "waiting", "next": "2026-03-27T12:05:00Z" })
}

/// The requests of a kind, without the words before the body.
fn bodies(stub: &Stub, request: &str) -> Vec<Value> {
    let asked = stub.asked();
    let bodies = asked.iter().filter_map(|line| line.strip_prefix(request));
    bodies.map(|body| serde_json::from_str(body.trim()).expect("JSON")).collect()
}

#[test]
fn a_run_is_cancelled_and_a_task_enabled() {
    let stub = Stub::of(vec![
        ("POST /api/v1/tasks/report/cancel", 202, task("report").to_string()),
        ("POST /api/v1/tasks/report/enable", 202, task("report").to_string()),
    ]);
    assert_eq!(ask(&stub, &["cancel", "report"]).output, "report: its run is asked to stop\n");
    let enabled = "report: enabled; next Fri 2026-03-27 12:05 +00:00\n";
    assert_eq!(ask(&stub, &["enable", "report"]).output, enabled);
    let json = ask(&stub, &["cancel", "report", "--json"]).output;
    assert_eq!(serde_json::from_str::<Value>(&json).expect("JSON"), task("report"));
}

#[test]
fn tasks_with_a_tag_or_all_are_paused_and_resumed() {
    let part = json!({ "changed": 200, "after": "t200", "action": "a7" }).to_string();
    let stub = Stub::of(vec![
        ("POST /api/v1/tasks:pause", 200, part),
        ("POST /api/v1/tasks:pause", 200, json!({ "changed": 2 }).to_string()),
        ("POST /api/v1/tasks:resume", 200, json!({ "changed": 1 }).to_string()),
    ]);
    let pause = ["pause", "--tag", "mail", "--reason", "outage", "--for", "1h"];
    assert_eq!(ask(&stub, &pause).output, "202 tasks paused\n");
    assert_eq!(ask(&stub, &["resume", "--all"]).output, "1 task resumed\n");
    assert_eq!(ask(&stub, &["resume", "--tag", "mail", "--json"]).output, "{\"changed\":1}\n");
    let paused = json!({ "tag": "mail", "reason": "outage", "forMs": 3_600_000 });
    let mut rest = paused.clone();
    (rest["after"], rest["action"]) = ("t200".into(), "a7".into());
    assert_eq!(bodies(&stub, "POST /api/v1/tasks:pause"), [paused, rest], "to the last one");
    let resumed = [json!({ "all": true }), json!({ "tag": "mail" })];
    assert_eq!(bodies(&stub, "POST /api/v1/tasks:resume"), resumed);

    assert_eq!(ask(&stub, &["pause"]).code, 2, "which tasks is not clear");
    assert_eq!(ask(&stub, &["pause", "report", "--all"]).code, 2);
    let faulty = ask(&stub, &["pause", "report", "--for", "banana"]).errors;
    assert!(faulty.starts_with("error: `banana` is no length of time"), "{faulty}");
}

#[test]
fn a_task_gets_another_rule_or_shows_what_it_would_be() {
    let preview = json!({
        "task": "report", "rule": "0 0 9 * * MON-FRI (09:00, Monday to Friday) in Europe/Berlin",
        "zone": "Europe/Berlin", "times": [{ "at": "2026-03-30T07:00:00Z" }],
    });
    let path = "GET /api/v1/tasks/report/preview?cron=0%200%209%20%2A%20%2A%20MON-FRI&zone=Europe%2FBerlin";
    let stub = Stub::of(vec![
        (path, 200, preview.to_string()),
        ("POST /api/v1/tasks/report/reschedule", 202, task("report").to_string()),
    ]);
    let cron = ["reschedule", "report", "--cron", "0 0 9 * * MON-FRI", "--zone", "Europe/Berlin"];
    let shown = ask(&stub, &[&cron[..], &["--dry-run"]].concat());
    let expected = "\
report would run: 0 0 9 * * MON-FRI (09:00, Monday to Friday) in Europe/Berlin
  Mon 2026-03-30 09:00 +02:00
";
    assert_eq!((&*shown.output, &*shown.errors), (expected, ""));
    assert!(bodies(&stub, "POST /api/v1/tasks/report/reschedule").is_empty(), "nothing changed");

    let done = "report: every 1m; next Fri 2026-03-27 12:05 +00:00\n";
    assert_eq!(ask(&stub, &cron).output, done);
    ask(&stub, &["reschedule", "report", "--fixed-rate", "1m", "--initial-delay", "5s"]);
    ask(&stub, &["reschedule", "report", "--reset"]);
    let rules = [
        json!({ "cron": "0 0 9 * * MON-FRI", "zone": "Europe/Berlin" }),
        json!({ "fixedRate": "1m", "initialDelay": "5s" }),
        json!({ "reset": true }),
    ];
    assert_eq!(bodies(&stub, "POST /api/v1/tasks/report/reschedule"), rules);
    assert_eq!(ask(&stub, &["reschedule", "report"]).code, 2, "no rule");
    assert_eq!(ask(&stub, &["reschedule", "report", "--at", "now", "--cron", "x"]).code, 2);
}

#[test]
fn actions_are_listed() {
    let actions = json!({ "hasMore": true, "actions": [
        { "id": "a6", "at": "2026-03-27T11:00:00Z", "who": "ada", "action": "pause", "task": "send", "partition": "acme", "count": 1, "note": "floods" },
        { "id": "a5", "at": "2026-03-27T11:00:00Z", "who": "ops", "action": "pause", "task": "*", "queue": "mail",
          "note": "outage", "from": "10.0.0.7", "node": "web-1" },
        { "id": "a4", "at": "2026-03-27T10:59:50Z", "who": "anna", "role": "shop_dba", "action": "retry", "task": "mail",
          "job": "17" },
        { "id": "a3", "at": "2026-03-27T10:59:30Z", "who": "ops", "action": "retry", "task": "*", "count": 2000,
          "matching": "parked, error timed out", "node": "web-2" },
        { "id": "a2", "at": "2026-03-27T10:59:00Z", "who": "ops", "action": "reschedule", "task": "bill", "schedule": "bill",
          "before": "every 10m", "after": "every 1h" },
        { "id": "a1", "at": "2026-03-27T10:58:00Z", "who": "ops", "action": "run", "task": "report", "note": "a\u{1b}[31mb" },
    ] });
    let none = json!({ "actions": [] }).to_string();
    let partial = json!({ "actions": [], "isPartial": true }).to_string();
    let stub = Stub::in_berlin(vec![
        ("GET /api/v1/actions?limit=100", 200, actions.to_string()),
        ("GET /api/v1/actions?limit=100&task=shop%3A%3Amail", 200, none.clone()),
        ("GET /api/v1/actions?after=a1&by=ops&limit=9&withinMs=7200000", 200, none.clone()),
        ("GET /api/v1/actions?limit=100&task=a", 200, partial),
        ("GET /api/v1/actions?limit=100&since=2026-03-27T00%3A00%3A00%2B00%3A00", 200, none),
    ]);
    let expected = "\
AT                               WHO                    ACTION       ON                              NOTE                   FROM
Fri 2026-03-27 12:00:00 +01:00   ada                    pause        partition acme of send          floods
Fri 2026-03-27 12:00:00 +01:00   ops                    pause        queue mail                      outage                 10.0.0.7 at web-1
Fri 2026-03-27 11:59:50 +01:00   anna (role shop_dba)   retry        17 of mail
Fri 2026-03-27 11:59:30 +01:00   ops                    retry        2000: parked, error timed out                          at web-2
Fri 2026-03-27 11:59:00 +01:00   ops                    reschedule   bill                            every 10m → every 1h
Fri 2026-03-27 11:58:00 +01:00   ops                    run          report                          a\u{fffd}[31mb

more: --after a1
";
    assert_eq!(ask(&stub, &["actions"]).output, expected);
    for args in [
        &["--task", "shop::mail"][..],
        &["--by", "ops", "--since", "2h", "-n", "9", "--after", "a1"],
        &["--since", "2026-03-27"],
    ] {
        let answer = ask(&stub, &[&["actions"], args].concat());
        assert_eq!((&*answer.output, &*answer.errors), ("no change by hand\n", ""));
    }
    let partial = ask(&stub, &["actions", "--task", "a"]).output;
    assert!(partial.starts_with("the store does not answer"), "{partial}");
    let wrong = ask(&stub, &["actions", "--since", "lately"]);
    assert!(wrong.code != 0 && wrong.errors.contains("lately"), "{}", wrong.errors);
    let json = ask(&stub, &["actions", "--json"]).output;
    assert_eq!(serde_json::from_str::<serde_json::Value>(&json).expect("JSON"), actions);
}

const PARKED: [&str; 8] =
    ["jobs", "retry", "--task", "mail", "--error", "mailbox * full", "--state", "parked"];

/// A program with 146 parked jobs that match, which it retries in two parts.
fn with_parked() -> Stub {
    let count = |count: u64| json!({ "count": count }).to_string();
    let part = json!({ "count": 100, "after": "j100", "action": "a7" }).to_string();
    Stub::of(vec![
        ("POST /api/v1/jobs:retry", 200, count(146)),
        ("POST /api/v1/jobs:retry", 200, part),
        ("POST /api/v1/jobs:retry", 200, count(46)),
    ])
}

#[test]
fn all_jobs_that_match_are_counted_and_changed_after_a_question() {
    let matching = json!({ "state": "parked", "task": "mail", "error": "mailbox * full" });
    let stub = with_parked();
    let refused = asked_with(&stub, &PARKED, b"n\n");
    let question =
        "retry 146 jobs with state \"parked\", task \"mail\", error \"mailbox * full\"? [y/N] ";
    let help = "error: nothing was changed\n  help: answer `y`, or write --yes\n";
    assert_eq!(refused.errors, format!("{question}{help}"));
    assert_eq!((&*refused.output, refused.code), ("", 1));
    let dry = json!({ "matching": matching, "dryRun": true });
    assert_eq!(bodies(&stub, "POST /api/v1/jobs:retry"), std::slice::from_ref(&dry));

    let stub = with_parked();
    let answer = asked_with(&stub, &PARKED, b"Yes\n");
    assert_eq!((&*answer.output, answer.code), ("146 jobs due now\n", 0));
    let mut rest = json!({ "matching": matching, "dryRun": false });
    let first = rest.clone();
    rest["matching"]["after"] = "j100".into();
    rest["action"] = "a7".into();
    assert_eq!(bodies(&stub, "POST /api/v1/jobs:retry"), [dry, first, rest], "to the last one");
}

#[test]
fn a_dry_run_counts_and_a_script_is_not_asked() {
    let stub = with_parked();
    let dry = ask(&stub, &[&PARKED[..], &["--dry-run"]].concat());
    assert_eq!((&*dry.output, &*dry.errors, dry.code), ("146 jobs match\n", "", 0));
    assert_eq!(bodies(&stub, "POST /api/v1/jobs:retry").len(), 1);

    let count = |count: u64| json!({ "count": count }).to_string();
    let stub = Stub::of(vec![
        ("POST /api/v1/jobs:delete", 200, count(1)),
        ("POST /api/v1/jobs:cancel", 200, count(0)),
    ]);
    let done = ask(&stub, &["jobs", "delete", "--state", "done", "--yes"]);
    assert_eq!((&*done.output, &*done.errors), ("1 job deleted\n", ""));
    assert_eq!(bodies(&stub, "POST /api/v1/jobs:delete")[0]["dryRun"], false);
    let none = ask(&stub, &["jobs", "cancel", "--state", "ready", "--queue", "q"]);
    assert_eq!((&*none.output, &*none.errors), ("0 jobs match\n", ""), "no question about nothing");
    let json = ask(&stub, &["jobs", "delete", "--state", "done", "--yes", "--json"]).output;
    assert_eq!(json, "{\"count\":1}\n");

    assert_eq!(ask(&stub, &["jobs", "delete", "--task", "mail"]).code, 2, "in which state");
    assert_eq!(ask(&stub, &["jobs", "delete", "17", "--state", "done"]).code, 2, "which jobs");
    assert_eq!(ask(&stub, &["jobs", "delete", "17", "--dry-run"]).code, 2);
}

#[test]
fn jobs_are_counted_by_error() {
    let errors = json!({ "isPartial": false, "errors": [
        { "task": "image", "error": "cannot decode image *", "count": 100, "firstAt": "2026-03-27T10:00:00Z", "lastAt": "2026-03-27T11:00:00Z" },
    ] });
    let stub =
        Stub::in_berlin(vec![("GET /api/v1/jobs:errors?state=parked", 200, errors.to_string())]);
    let expected = "\
JOBS   TASK    ERROR                   FIRST                         LAST
100    image   cannot decode image *   Fri 2026-03-27 11:00 +01:00   Fri 2026-03-27 12:00 +01:00
";
    assert_eq!(ask(&stub, &["jobs", "errors", "--state", "parked"]).output, expected);
}

/// A pool with a run that never ends, a task that it starves, and one that fails.
fn outage() -> Stub {
    let rows = json!({ "now": "2026-03-27T11:04:00Z", "tasks": [
        { "name": "a_well_task", "rule": "every 1m", "state": "waiting", "pool": "default" },
        { "name": "failing", "rule": "every 1m", "state": "waiting", "pool": "default", "streak": 7,
          "last": { "outcome": "error", "endedAt": "2026-03-27T11:03:00Z", "message": "connection refused by the host after three attempts" } },
        { "name": "hung", "rule": "every 30s", "state": "running", "pool": "reports", "running": 1,
          "runningSince": "2026-03-27T10:08:00Z", "stuckSince": "2026-03-27T10:08:30Z", "recent": { "tookMs": [20.0] } },
        { "name": "starved", "rule": "every 20s", "state": "waiting", "pool": "reports",
          "lateSince": "2026-03-27T10:09:00Z", "next": "2026-03-27T11:04:00Z", "tags": ["critical"] },
        { "name": "slow", "rule": "every 30s", "state": "running", "pool": "default", "running": 1,
          "runningSince": "2026-03-27T11:03:00Z", "stuckSince": "2026-03-27T11:03:30Z", "recent": { "tookMs": [50_000.0] } },
    ] });
    Stub::of(vec![("GET /api/v1/tasks", 200, rows.to_string())])
}

#[test]
fn a_list_names_hung_and_late_tasks_and_who_holds_the_threads() {
    let expected = "\
TASK          STATE                NEXT   LAST                                                               SCHEDULE
starved       late 55m             now    never ran                                                          every 20s
failing       waiting, failed 7×   -      error 1m ago: connection refused by the host after three attempts   every 1m
hung          hung, 56m            -      never ran                                                          every 30s
slow          running, 1m          -      never ran                                                          every 30s
a_well_task   waiting              -      never ran                                                          every 1m

5 tasks, 2 running, 0 paused, 1 failing, 1 late, 1 hung
starved has waited 55m for a thread of pool reports, held by hung for 56m
";
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let answer = ask(&outage(), &["list"]);
    assert_eq!(squeezed(&answer.output), squeezed(expected), "{}", answer.output);
}

#[test]
fn a_table_fits_the_terminal() {
    let stub = outage();
    for columns in [60, 80, 120] {
        let mut typed = Typed::new(&["list"]);
        typed.variables.insert("SCHEDULER_URL", stub.url.clone());
        typed.variables.insert("NO_COLOR", "1".to_owned());
        typed.columns = Some(columns);
        let output = typed.answer().output;
        let table: Vec<&str> = output.lines().take(6).collect();
        assert!(table.iter().all(|line| line.chars().count() <= columns), "{output}");
        assert!(table.iter().any(|line| line.starts_with("a_well_task ")), "{output}");
        assert_eq!(output.contains('…'), columns < 120, "{output}");
    }
}

#[test]
fn a_terminal_has_colours_unless_the_user_does_not_want_them() {
    let stub = outage();
    let with = |columns: Option<usize>, variables: &[(&'static str, &str)]| {
        let mut typed = Typed::new(&["list"]);
        typed.variables.insert("SCHEDULER_URL", stub.url.clone());
        typed.variables.extend(variables.iter().map(|(name, value)| (*name, (*value).to_owned())));
        typed.columns = columns;
        typed.answer().output
    };
    let shown = with(Some(200), &[("NO_COLOR", "")]);
    assert!(shown.contains("\u{1b}[1m\u{1b}[31mlate 55m\u{1b}[0m"), "{shown:?}");
    for plain in [
        with(None, &[]),
        with(Some(200), &[("NO_COLOR", "1")]),
        with(Some(200), &[("TERM", "dumb")]),
    ] {
        assert!(plain.contains("late 55m") && !plain.contains('\u{1b}'), "{plain:?}");
    }
}

#[test]
fn a_watch_into_a_pipe_moves_no_cursor_and_has_json() {
    let stub = outage();
    let watched = ask(&stub, &["watch", "--count", "1"]).output;
    assert!(watched.contains("late 55m") && !watched.contains('\u{1b}'), "{watched:?}");
    let lines = ask(&stub, &["watch", "--count", "1", "--json"]).output;
    let answer: Value = serde_json::from_str(&lines).expect("one answer in one line");
    assert_eq!(answer["tasks"][3]["name"], "starved");
}

#[test]
fn shells_complete_the_commands_and_man_shows_them() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = Typed::new(&["completions", shell]).answer();
        assert_eq!(script.code, 0);
        for word in ["reschedule", "dry-run", "completions"] {
            assert!(script.output.contains(word), "{shell} does not know {word}");
        }
    }
    let page = Typed::new(&["man"]).answer().output;
    assert!(page.contains(".TH scheduler 1") && page.contains("Exit codes:"), "{page}");

    assert!(page.contains("scheduler\\-jobs(1)"), "it names the others: {page}");
    let page = Typed::new(&["man", "jobs", "retry"]).answer().output;
    assert!(page.contains("scheduler jobs retry") && page.contains("\\-\\-dry\\-run"), "{page}");
    let none = Typed::new(&["man", "jobs", "burn"]).answer();
    assert!(none.code == 2 && none.errors.contains("`jobs burn`"), "{}", none.errors);
}

#[test]
fn a_queue_is_paused_and_resumed() {
    let queue = |pause: Option<Value>| {
        let mut row = json!({ "queue": "mail", "due": 2, "tasks": [] });
        row.as_object_mut()
            .expect("an object")
            .extend(pause.map(|pause| ("pause".to_owned(), pause)));
        row.to_string()
    };
    let pause = json!({ "by": "ops", "until": "2026-03-27T12:00:00Z" });
    let stub = Stub::of(vec![
        ("POST /api/v1/queues/mail/pause", 202, queue(Some(pause))),
        ("POST /api/v1/queues/mail/resume", 202, queue(None)),
        ("GET /api/v1/info", 200, json!({ "zone": "Europe/Berlin" }).to_string()),
    ]);
    let typed = ["pause", "--queue", "mail", "--reason", "outage", "--for", "1h"];
    assert_eq!(
        ask(&stub, &typed).output,
        "queue mail: paused until Fri 2026-03-27 13:00 +01:00; to let it go on: scheduler resume --queue mail\n"
    );
    let paused = json!({ "reason": "outage", "forMs": 3_600_000 });
    assert_eq!(bodies(&stub, "POST /api/v1/queues/mail/pause"), [paused]);
    let resumed = ask(&stub, &["resume", "--queue", "mail"]).output;
    assert_eq!(resumed, "queue mail: goes on; 2 jobs are due\n");
    assert_eq!(ask(&stub, &["pause", "--queue", "mail", "--all"]).code, 2);
}

#[test]
fn the_list_of_queues_says_who_has_paused_what() {
    let until = "2026-03-27T12:00:00Z";
    let pause = |reason: &str| json!({ "by": "ops", "reason": reason, "until": until });
    let depth = |name: &str, of: &str| json!({ name: of, "due": 1, "later": 0, "retrying": 0, "running": 0, "parked": 0 });
    let (mut queue, mut task) = (depth("queue", "mail"), depth("task", "send"));
    task["pause"] = pause("bug");
    queue["tasks"] = json!([task]);
    queue["pause"] = pause("outage");
    let queues = ("GET /api/v1/queues", 200, json!({ "queues": [queue] }).to_string());
    let stub = Stub::in_berlin(vec![queues]);
    let output = ask(&stub, &["jobs", "queues"]).output;
    let lines: Vec<&str> = output.lines().skip(3).collect();
    let end = "until Fri 2026-03-27 13:00 +01:00";
    let paused = ["queue mail is paused by ops", "send is paused by ops"];
    let meant = [format!("{} {end}: outage", paused[0]), format!("{} {end}: bug", paused[1])];
    assert_eq!(lines, meant);
    let asked = stub.asked();
    assert_eq!(asked.len(), 2, "for the zone once: {asked:?}");
}

#[test]
fn times_are_not_shown_in_another_zone_if_that_of_the_program_is_not_known() {
    let errors = json!({ "errors": [{ "task": "image", "error": "x", "count": 1, "firstAt": "2026-03-27T10:00:00Z" }] });
    let stub = Stub::of(vec![
        ("GET /api/v1/jobs:errors?", 200, errors.to_string()),
        ("GET /api/v1/info", 503, json!({ "detail": "not now" }).to_string()),
    ]);
    let answer = ask(&stub, &["jobs", "errors"]);
    assert_eq!((&*answer.output, &*answer.errors, answer.code), ("", "error: not now\n", 2));
}

#[test]
fn the_payload_of_a_job_is_edited() {
    let row = |state: &str| {
        json!({ "id": "7", "task": "mail", "queue": "default", "state": state,
        "priority": "normal", "onLost": "rerun", "attempt": 1, "maxAttempts": 3, "lost": 0, "undecoded": 0,
        "fence": 7, "isCancelRequested": false, "runAt": "2026-03-27T12:00:00Z" }).to_string()
    };
    let stub = Stub::in_berlin(vec![
        ("POST /api/v1/jobs/7/edit", 202, row("parked")),
        ("POST /api/v1/jobs/7/edit", 202, row("ready")),
    ]);
    let edit = ["jobs", "edit", "7", "--payload"];
    let parked = ask(&stub, &[&edit[..], &["{\"to\": 1}", "--fence", "7"]].concat());
    assert_eq!(
        parked.output,
        "7 of mail has another payload, and stays parked until `scheduler jobs retry 7`\n"
    );
    let piped = [&edit[..], &["-", "--payload-version", "2"]].concat();
    let ready = asked_with(&stub, &piped, b"[17]\n");
    assert_eq!(
        ready.output,
        "7 of mail has another payload, and is due Fri 2026-03-27 13:00 +01:00\n"
    );
    let sent = bodies(&stub, "POST /api/v1/jobs/7/edit");
    assert_eq!(
        sent,
        [
            json!({ "payload": "{\"to\": 1}", "fence": 7 }),
            json!({ "payload": "[17]\n", "version": 2 })
        ]
    );
    let broken = ask(&stub, &[&edit[..], &["zoe"]].concat());
    assert_eq!(broken.code, 2);
    assert!(broken.errors.contains("the payload is no JSON: expected value"), "{}", broken.errors);
    assert_eq!(
        bodies(&stub, "POST /api/v1/jobs/7/edit").len(),
        2,
        "it is checked before it is sent"
    );
}

#[test]
fn a_process_is_drained_and_resumed() {
    let paused = json!({ "label": "web-1", "pause": { "by": "ada", "reason": "a disk" },
                         "jobs": [{ "id": "7", "task": "mail" }, { "id": "8", "task": "mail" }] });
    let resumed = json!({ "label": "web-1" });
    let missing = json!({ "status": 404, "detail": "no process is called `wbe-1`\nhelp: did you mean `web-1`?" });
    let stub = Stub::of(vec![
        ("GET /api/v1/info", 200, json!({ "zone": "UTC" }).to_string()),
        ("POST /api/v1/nodes/web-1/pause", 202, paused.to_string()),
        ("POST /api/v1/nodes/web-1/resume", 202, resumed.to_string()),
        ("POST /api/v1/nodes/wbe-1/pause", 404, missing.to_string()),
    ]);
    let expected = "node web-1: takes no jobs; 2 jobs still run; to let it go on: scheduler resume --node web-1\n";
    assert_eq!(ask(&stub, &["drain", "web-1", "--reason", "a disk"]).output, expected);
    assert_eq!(ask(&stub, &["pause", "--node", "web-1", "--for", "1h"]).output, expected);
    let resumed = ask(&stub, &["resume", "--node", "web-1"]).output;
    assert_eq!(resumed, "node web-1: takes jobs again\n");
    let wrong = ask(&stub, &["drain", "wbe-1"]);
    assert!(wrong.errors.contains("did you mean `web-1`?"), "{}", wrong.errors);
    assert_eq!(ask(&stub, &["drain"]).code, 2, "which process");
}
