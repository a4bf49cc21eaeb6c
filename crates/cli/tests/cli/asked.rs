//! The commands that ask a running program.

use std::time::Duration;

use scheduler_cli::{Context, Terminal, run_in};
use scheduler_core::ManualClock;
use serde_json::{Value, json};

use crate::stub::Stub;
use crate::{Answered, Typed};

/// A row as the dashboard answers it.
fn report() -> Value {
    json!({
        "name": "shop::report", "kind": "cron", "rule": "0 0 9 * * MON-FRI (09:00, Monday to Friday) in Europe/Berlin",
        "expression": "0 0 9 * * MON-FRI", "words": "09:00, Monday to Friday", "zone": "Europe/Berlin",
        "pool": "default", "tags": [], "isAsync": false, "state": "waiting", "isEnded": false, "isPaused": false,
        "running": 0, "streak": 2, "function": "shop::report", "source": "src/jobs.rs:7",
        "next": "2026-03-30T07:00:00Z",
        "last": { "number": 3, "endedAt": "2026-03-27T11:01:00Z", "tookMs": 1200.0, "outcome": "error",
                  "message": "disk \u{1b}[31mfull" },
        "counters": { "runs": 3, "failures": 2 },
    })
}

fn tick() -> Value {
    json!({
        "name": "tick", "kind": "fixed_rate", "rule": "every 1s", "words": "every 1s", "zone": "UTC", "state": "running",
        "isPaused": false, "running": 1, "runningSince": "2026-03-27T11:03:48Z", "streak": 0,
        "next": "2026-03-27T11:03:59Z", "counters": {},
    })
}

fn purge() -> Value {
    json!({
        "name": "purge", "kind": "fixed_delay", "rule": "5m after each run", "zone": "UTC", "state": "waiting",
        "isPaused": true, "running": 0, "streak": 0, "counters": {},
        "pause": { "by": "ops", "reason": "migration", "until": "2026-03-27T13:00:00Z" },
        "wouldRunAt": "2026-03-27T12:04:00Z",
        "last": { "endedAt": "2026-03-27T11:00:00Z", "outcome": "success" },
    })
}

fn tasks() -> String {
    json!({ "now": "2026-03-27T11:04:00Z", "tasks": [purge(), tick(), report()] }).to_string()
}

fn ask(stub: &Stub, args: &[&str]) -> Answered {
    let mut typed = Typed::new(args);
    typed.variables.insert("SCHEDULER_URL", stub.url.clone());
    typed.variables.insert("SCHEDULER_TOKEN", "secret".to_owned());
    typed.answer()
}

const LIST: &str = "\
TASK           STATE                      NEXT                                             LAST                                SCHEDULE
shop::report   waiting, failed 2×         in 2d 19h, Mon 2026-03-30 09:00 +02:00           error 3m ago: disk \u{fffd}[31mfull        09:00, Monday to Friday
tick           running, 12s               now                                              never ran                           every 1s
purge          paused by ops: migration   resumes in 1h 56m, Fri 2026-03-27 13:00 +00:00   success 4m ago                      5m after each run

3 tasks, 1 running, 1 paused, 1 failing
";

fn squeezed(text: &str) -> String {
    let line = |line: &str| {
        line.split("   ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
            .collect::<Vec<_>>()
            .join(" | ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_list_has_first_what_needs_a_look_and_never_a_time_that_has_passed() {
    let stub = Stub::of(vec![("GET /api/v1/tasks", 200, tasks())]);
    let answer = ask(&stub, &["list"]);
    assert_eq!(squeezed(&answer.output), squeezed(LIST), "{}", answer.output);
    assert_eq!(answer.code, 0);
    assert_eq!(stub.asked(), ["GET /api/v1/tasks Bearer secret"]);
}

#[test]
fn a_long_name_is_shown_as_a_whole() {
    let name = "a_module::".repeat(9) + "task";
    let mut task = tick();
    task["name"] = name.as_str().into();
    let answer = json!({ "now": "2026-03-27T11:04:00Z", "tasks": [task] }).to_string();
    let stub = Stub::of(vec![("GET /api/v1/tasks", 200, answer)]);
    let output = ask(&stub, &["list"]).output;
    assert!(output.contains(&format!("\n{name}   running")), "{output}");
}

/// The clock of the program is an hour ahead.
#[test]
fn ticks_of_durable_tasks_are_compared_with_the_clock_of_the_store() {
    let mut durable = tick();
    durable["isDurable"] = true.into();
    durable["schedule"] = json!({ "lastTick": "2026-03-27T11:02:00Z" });
    durable["next"] = "2026-03-27T11:34:00Z".into();
    let (now, store_now) = ("2026-03-27T12:04:00Z", "2026-03-27T11:04:00Z");
    let answer = json!({ "now": now, "storeNow": store_now, "tasks": [durable] });
    let stub = Stub::of(vec![("GET /api/v1/tasks", 200, answer.to_string())]);
    let list = ask(&stub, &["list"]).output;
    assert!(list.contains("in 30m") && list.contains("ticked 2m ago"), "{list}");
    let mut away = tick();
    away["next"] = Value::Null;
    away["storeFailure"] = "connection refused".into();
    let answer = json!({ "now": now, "tasks": [away] });
    let stub = Stub::of(vec![("GET /api/v1/tasks", 200, answer.to_string())]);
    let list = ask(&stub, &["list"]).output;
    assert!(list.contains("unknown"), "as the page says it: {list}");
}

#[test]
fn a_list_in_json_is_what_the_program_answered() {
    let stub = Stub::of(vec![("GET /api/v1/tasks", 200, tasks())]);
    let answer = ask(&stub, &["list", "--json"]);
    let (said, meant): (Value, Value) = (
        serde_json::from_str(&answer.output).expect("JSON"),
        serde_json::from_str(&tasks()).expect("JSON"),
    );
    assert_eq!(said, meant);
}

#[test]
fn a_task_is_shown_with_what_comes_and_what_was() {
    let mut task = report();
    task["upcoming"] = json!([{ "at": "2026-03-30T07:00:00Z",
        "clockChange": { "at": "2026-03-29T01:00:00Z", "offsetBefore": "+01:00", "offsetAfter": "+02:00", "isForward": true } }]);
    task["failingSince"] = "2026-03-27T11:01:00Z".into();
    task["lastSuccess"] = "2026-03-27T10:00:07Z".into();
    task["isDurable"] = true.into();
    let limits = json!({ "limits": [{ "task": "shop::report", "scope": "all", "code": { "text": "5 running" } },
        { "task": "other", "scope": "all", "code": { "text": "9 running" } },
        { "task": "shop::report", "scope": "each", "code": { "text": "2 running" },
          "byHand": { "text": "1 running", "by": "ada", "reason": "their API is slow" } }] });
    task["durations"] = json!({ "p50Ms": 12.4, "p95Ms": 1_500.0, "maxMs": 90_000.0 });
    task["schedule"] = json!({ "fired": 52, "isOverridden": true, "overriddenBy": "anna", "overriddenAt": "2026-03-27T09:04:00Z",
        "ruleBefore": "every 10m", "lastTick": "2026-03-27T11:00:00Z", "skipped": { "overlap": 3, "limit": 2, "missed": 0, "paused": 1 } });
    let runs = json!({ "task": "shop::report", "hasMore": false, "runs": [
        { "number": 3, "startedAt": "2026-03-27T11:00:00Z", "outcome": "error", "tookMs": 0.5,
          "error": { "message": "disk full" } },
        { "number": 2, "startedAt": "2026-03-27T10:00:07Z", "outcome": "success", "tookMs": 12.0 },
    ] });
    let stub = Stub::of(vec![
        ("GET /api/v1/tasks/shop%3A%3Areport", 200, task.to_string()),
        ("GET /api/v1/tasks/shop%3A%3Areport/runs?limit=10", 200, runs.to_string()),
        ("GET /api/v1/limits", 200, limits.to_string()),
    ]);
    let answer = ask(&stub, &["show", "shop::report"]);
    let expected = "\
shop::report

  schedule   09:00, Monday to Friday
  cron       0 0 9 * * MON-FRI
  zone       Europe/Berlin
  by hand    the rule was set by anna, Fri 2026-03-27 10:04 +01:00, 2h ago; before: every 10m
  state      waiting, failed 2×
  limit      all jobs: 5 running
  limit      each partition: 1 running, by hand by ada: their API is slow; in the code: 2 running
  failing    Fri 2026-03-27 12:01 +01:00, 3m ago
  succeeded  Fri 2026-03-27 11:00:07 +01:00, 1h 3m ago
  function   shop::report
  source     src/jobs.rs:7
  pool       default
  ticks      52 in all processes, the last Fri 2026-03-27 12:00 +01:00, 4m ago
  skipped    3 the job before was unfinished, 2 the job before waited for a limit, 1 paused
  runs       3, 2 failed in this process
  took       12ms as a rule, 1.5s at the 95th percentile, 1m 30s at most

next:
  Mon 2026-03-30 09:00 +02:00   (clocks go forward: +01:00 → +02:00)

last runs in this process:
  #3      Fri 2026-03-27 12:00:00 +01:00   error       0.50ms   disk full
  #2      Fri 2026-03-27 11:00:07 +01:00   success       12ms
";
    assert_eq!(answer.output, expected);
}

#[test]
fn a_task_is_run_paused_and_resumed() {
    let stub = Stub::of(vec![
        ("POST /api/v1/tasks/purge/run", 202, purge().to_string()),
        ("POST /api/v1/tasks/purge/pause", 202, purge().to_string()),
        ("POST /api/v1/tasks/purge/resume", 202, report().to_string()),
    ]);
    assert_eq!(ask(&stub, &["run", "purge"]).output, "purge: a run was asked for\n");
    let pause = ["pause", "purge", "--reason", "migration", "--until", "2026-03-27T13:00:00Z"];
    let paused = "purge: paused until Fri 2026-03-27 13:00 +00:00; to let it go on: scheduler resume purge\n";
    let answer = ask(&stub, &pause);
    assert_eq!((&*answer.output, &*answer.errors), (paused, ""));
    assert_eq!(ask(&stub, &["pause", "purge", "--for", "1h"]).output, paused);
    assert_eq!(
        ask(&stub, &["resume", "purge"]).output,
        "shop::report: goes on; next Mon 2026-03-30 09:00 +02:00\n"
    );
    let expected = [
        "POST /api/v1/tasks/purge/run Bearer secret {}",
        "POST /api/v1/tasks/purge/pause Bearer secret {\"reason\":\"migration\",\"until\":\"2026-03-27T13:00:00+00:00\"}",
        "POST /api/v1/tasks/purge/pause Bearer secret {\"forMs\":3600000}",
        "POST /api/v1/tasks/purge/resume Bearer secret {}",
    ];
    assert_eq!(stub.asked(), expected);
}

#[test]
fn a_refusal_is_told_in_the_words_of_the_program() {
    let problem = |detail: &str| json!({ "title": "x", "detail": detail }).to_string();
    let stub = Stub::of(vec![
        ("POST /api/v1/tasks/a/run", 409, problem("`a` runs already, for 12s\nhelp: wait")),
        ("POST /api/v1/tasks/b/run", 401, problem("a token is needed\nhelp: send it")),
        ("POST /api/v1/tasks/c/run", 404, problem("there is no task `c`; did you mean `a`?")),
        ("POST /api/v1/tasks/d/run", 200, "<html>".to_owned()),
        ("POST /api/v1/tasks/e/run", 302, String::new()),
        ("GET /api/v1/jobs?limit=50", 404, problem("this program has no store\nhelp: give it one")),
    ]);
    let refused = |task| {
        let answer = ask(&stub, &["run", task]);
        (answer.code, answer.errors.replace(&stub.url, "URL"))
    };
    assert_eq!(refused("a"), (1, "error: `a` runs already, for 12s\n  help: wait\n".to_owned()));
    let (code, text) = refused("b");
    assert!(code == 1 && text.contains("SCHEDULER_TOKEN"), "{text}");
    assert_eq!(refused("c").1, "error: there is no task `c`; did you mean `a`?\n");
    let other = "error: what answers at URL has no tasks: it said 200\n  help: the address is that of the dashboard, without what follows it\n";
    assert_eq!(refused("d"), (2, other.to_owned()));
    assert_eq!(refused("e"), (2, other.replace("200", "302")));
    assert_eq!(
        ask(&stub, &["jobs"]).errors,
        "error: this program has no store\n  help: give it one\n"
    );
}

#[test]
fn the_link_that_a_program_prints_has_the_token() {
    let stub = Stub::of(vec![("GET /api/v1/tasks", 200, tasks())]);
    let link = format!("{}/#token=abc", stub.url);
    assert_eq!(Typed::new(&["list", "--url", &link]).answer().code, 0);
    assert_eq!(stub.asked(), ["GET /api/v1/tasks Bearer abc"]);
}

fn job(id: &str, state: &str) -> Value {
    json!({
        "id": id, "task": "mail", "state": state, "queue": "default", "priority": "normal", "attempt": 1,
        "maxAttempts": 3, "lost": 1, "fence": 7, "key": "letter-17", "error": "mailbox \u{1b}[31mfull",
        "runAt": "2026-03-27T12:00:00Z", "createdAt": "2026-03-27T12:00:00Z",
        "finishedAt": "2026-03-27T12:00:05Z",
    })
}

#[test]
fn jobs_are_listed_page_by_page() {
    let page = |ids: &[&str], has_more: bool| {
        let jobs: Vec<Value> = ids.iter().map(|id| job(id, "parked")).collect();
        json!({ "jobs": jobs, "hasMore": has_more }).to_string()
    };
    let stub = Stub::in_berlin(vec![
        (
            "GET /api/v1/jobs?limit=3&partition=x%2F1&queue=a%20b&state=parked",
            200,
            page(&["1", "2"], true),
        ),
        (
            "GET /api/v1/jobs?after=2&limit=1&partition=x%2F1&queue=a%20b&state=parked",
            200,
            page(&["3"], true),
        ),
        ("GET /api/v1/jobs?limit=50", 200, page(&[], false)),
    ]);
    let answer = ask(
        &stub,
        &["jobs", "list", "--state", "parked", "--queue", "a b", "--partition", "x/1", "-n", "3"],
    );
    let expected = "\
ID   TASK   STATE    QUEUE     WHEN                                   ATTEMPTS   ERROR
1    mail   parked   default   ended Fri 2026-03-27 13:00:05 +01:00   1 of 3     mailbox \u{fffd}[31mfull
2    mail   parked   default   ended Fri 2026-03-27 13:00:05 +01:00   1 of 3     mailbox \u{fffd}[31mfull
3    mail   parked   default   ended Fri 2026-03-27 13:00:05 +01:00   1 of 3     mailbox \u{fffd}[31mfull

more: -n 30
";
    assert_eq!((&*answer.output, &*answer.errors), (expected, ""));
    assert_eq!(ask(&stub, &["jobs"]).output, "no jobs\n");
    let none = ask(&stub, &["jobs", "-n", "0"]);
    assert!(none.code == 2 && none.errors.contains("<NUMBER>"), "{}", none.errors);
    let json = ask(&stub, &["jobs", "--json"]).output;
    assert_eq!(
        serde_json::from_str::<Value>(&json).expect("JSON"),
        json!({ "jobs": [], "hasMore": false })
    );
}

#[test]
fn a_job_is_shown_retried_cancelled_and_deleted() {
    let mut shown = job("7", "parked");
    shown["payload"] = json!({ "version": 1, "bytes": 9, "text": "{\n  \"to\": 1\n}" });
    let attempt = |number: u32, outcome: &str, error: &str| {
        json!({ "number": number, "outcome": outcome, "error": error, "node": "web\u{1b}-1",
            "startedAt": "2026-03-27T12:00:00Z", "endedAt": "2026-03-27T12:00:01.5Z", "tookMs": 1_500.0 })
    };
    let gave_up = attempt(2, "gave_up", "no\u{1b}[31m mailbox\nat line 7");
    let mut lost = attempt(3, "lost", "its process died");
    lost.as_object_mut().expect("an object").remove("node");
    shown["attempts"] = json!([attempt(1, "failed", "timeout"), gave_up, lost]);
    let mut hidden = job("8", "ready");
    hidden["payload"] = json!({ "version": 1, "bytes": 9, "isHidden": true });
    let stub = Stub::in_berlin(vec![
        ("GET /api/v1/jobs/7", 200, shown.to_string()),
        ("GET /api/v1/jobs/8", 200, hidden.to_string()),
        ("POST /api/v1/jobs/7/retry", 202, job("7", "ready").to_string()),
        (
            "POST /api/v1/jobs/8/retry",
            409,
            json!({ "detail": "not possible for a job that is running" }).to_string(),
        ),
        ("POST /api/v1/jobs/7/cancel", 202, job("7", "running").to_string()),
        ("POST /api/v1/jobs/8/cancel", 202, job("8", "cancelled").to_string()),
        ("POST /api/v1/jobs/7/delete", 202, job("7", "parked").to_string()),
    ]);
    let expected = "\
7

  task       mail
  state      parked
  queue      default, priority normal
  key        letter-17
  attempts   1 of 3, lost 1×
  fence      7
  accepted   Fri 2026-03-27 13:00:00 +01:00
  due        Fri 2026-03-27 13:00:00 +01:00
  ended      Fri 2026-03-27 13:00:05 +01:00

error:
  mailbox \u{fffd}[31mfull

attempts that did not succeed:
  1  Fri 2026-03-27 13:00:00 +01:00, failed after 1.5s on web\u{fffd}-1: timeout
  2  Fri 2026-03-27 13:00:00 +01:00, gave up after 1.5s on web\u{fffd}-1: no\u{fffd}[31m mailbox
  3  Fri 2026-03-27 13:00:00 +01:00, lost after 1.5s: its process died

payload:
  {
    \"to\": 1
  }
";
    assert_eq!(ask(&stub, &["jobs", "show", "7"]).output, expected);
    assert!(
        ask(&stub, &["jobs", "show", "8"]).output.ends_with("payload: 9 bytes, hidden from you\n")
    );
    let retried = ask(&stub, &["jobs", "retry", "7", "8"]);
    assert_eq!(retried.output, "7 of mail is due now\n");
    assert_eq!(
        (&*retried.errors, retried.code),
        ("error: not possible for a job that is running\n", 1)
    );
    let cancelled = ask(&stub, &["jobs", "cancel", "7", "8"]).output;
    assert_eq!(cancelled, "7 of mail is asked to stop\n8 of mail is cancelled\n");
    assert_eq!(ask(&stub, &["jobs", "delete", "7"]).output, "7 of mail is deleted\n");
    assert_eq!(ask(&stub, &["jobs", "delete"]).code, 2, "of which job");
}

#[test]
fn queues_and_nodes_are_listed() {
    let depth = |name: &str, of: &str| json!({ name: of, "due": 2, "later": 60, "retrying": 5, "running": 1, "parked": 0, "oldestMs": 61_000.0, "oldestRunningMs": 3_720_000.0 });
    let mut queue = depth("queue", "default");
    queue["tasks"] = json!([depth("task", "mail")]);
    let nodes = json!({
        "nodes": [
            { "session": "s", "label": "web-1", "build": "1.2.3", "hasRunOut": false, "tasks": ["mail", "pay"], "concurrency": 32,
              "openedAt": "2026-03-27T12:00:00Z", "jobs": [{ "id": "7", "task": "mail" }], "isClockOff": true,
              "clockOffsetMs": 3_540_000.0 },
            { "session": "r", "label": "web-3", "queues": ["mail", "slow"], "concurrency": 4, "openedAt": "2026-03-27T12:00:00Z",
              "pause": { "by": "ada" }, "clockOffsetMs": 3.0 },
        ],
        "ended": [
            { "session": "t", "label": "web-2", "at": "2026-03-27T12:01:02Z", "isLost": true, "foundBy": "web-1", "jobs": 3 },
            { "session": "u", "label": "web-0", "build": "1.2.2", "at": "2026-03-27T12:00:30Z", "isLost": false },
        ],
        "orphans": [{ "id": "8", "task": "mail" }],
    });
    let stub = Stub::in_berlin(vec![
        ("GET /api/v1/queues", 200, json!({ "queues": [queue] }).to_string()),
        ("GET /api/v1/nodes", 200, nodes.to_string()),
    ]);
    let expected = "\
QUEUE     DUE   LATER   RETRYING   RUNNING   PARKED   LONGEST WAIT   LONGEST RUN
default   2     60      5          1         0        1m 1s          1h 2m
  mail    2     60      5          1         0        1m 1s          1h 2m
";
    assert_eq!(ask(&stub, &["jobs", "queues"]).output, expected);
    let expected = "\
PROCESS   BUILD   SINCE                                  QUEUES       TASKS   STATE                                   RUNNING   JOBS
web-1     1.2.3   Fri 2026-03-27 13:00:00 +01:00         all          2       its clock is 59m ahead of the store's   1 of 32   mail 7
web-3             Fri 2026-03-27 13:00:00 +01:00         mail, slow   0       paused by ada                           0 of 4
(gone)                                                                        gone                                              mail 8
web-2             until Fri 2026-03-27 13:01:02 +01:00                        lost, found by web-1                              it held 3
web-0     1.2.2   until Fri 2026-03-27 13:00:30 +01:00                        stopped
";
    assert_eq!(ask(&stub, &["jobs", "nodes"]).output, expected);
    let json = ask(&stub, &["jobs", "nodes", "--json"]).output;
    assert_eq!(serde_json::from_str::<Value>(&json).expect("JSON"), nodes);
}

#[test]
fn tasks_that_no_living_process_has_follow_the_queues() {
    let unknown = json!([
        { "task": "cuont", "due": 2, "schedules": [], "nearest": "count" },
        { "task": "gone\u{1b}", "due": 0, "schedules": ["tenant-1"] },
        { "task": "mail", "due": 3, "schedules": [], "version": 4, "knownVersion": 2 },
    ]);
    let answer = json!({ "queues": [], "unknownTasks": unknown });
    let stub = Stub::of(vec![("GET /api/v1/queues", 200, answer.to_string())]);
    let expected = "\
no job waits, runs or is parked
no living process has the task cuont, and 2 jobs of it are due; nearest name: count
no living process has the task gone\u{fffd}; its schedule tenant-1 does not fire
3 due jobs of mail have payloads up to version 4, and no living process knows more than version 2
";
    assert_eq!(ask(&stub, &["jobs", "queues"]).output, expected);
}

#[test]
fn a_running_program_is_linted_by_what_its_runs_take() {
    let mut slow = report();
    slow["expression"] = "0 */7 * * * *".into();
    slow["upcoming"] = json!([{ "at": "2026-03-27T11:56:00Z" }, { "at": "2026-03-27T12:00:00Z" }]);
    slow["durations"] = json!({ "p95Ms": 300_000.0 });
    let stub = Stub::of(vec![
        ("GET /api/v1/tasks", 200, tasks()),
        ("GET /api/v1/tasks/shop%3A%3Areport", 200, slow.to_string()),
        ("GET /api/v1/tasks/tick", 200, tick().to_string()),
    ]);
    let answer = ask(&stub, &["lint", "--running", "--deny"]);
    let expected = "\
shop::report: warning: `*/7` in minute has gaps of 7 minutes, and one of 4 minutes [uneven-step]
  help: steps that divide the 60 evenly are 6 and 10
shop::report: warning: one run in twenty takes 5m or longer, and the next one is due after 4m [slow-runs]
  help: write a longer period, a `timeout`, or say with `overlap` what is to happen then
";
    assert_eq!((&*answer.output, answer.code), (expected, 1));
}

#[test]
fn a_pause_that_would_be_over_is_refused() {
    let answer = Typed::new(&["pause", "purge", "--until", "2026-03-27T11:00:00Z"]).answer();
    assert_eq!(answer.code, 2);
    assert!(answer.errors.contains("which is past"), "{}", answer.errors);
}

#[test]
fn a_watch_goes_on_when_the_program_does_not_answer() {
    let stub = Stub::of(vec![
        ("GET /api/v1/tasks", 200, tasks()),
        ("GET /api/v1/tasks", 200, "<html>".to_owned()),
        ("GET /api/v1/tasks", 503, json!({ "detail": "not now" }).to_string()),
        ("GET /api/v1/tasks", 429, json!({ "detail": "too often" }).to_string()),
        ("GET /api/v1/tasks", 200, tasks()),
    ]);
    let clock = ManualClock::at("2026-03-27T11:04:00Z".parse().expect("an instant"));
    let hand = clock.clone();
    let move_clock = move || {
        for _ in 0..4 {
            hand.await_parked(1);
            hand.advance(Duration::from_secs(60));
        }
    };
    let hand = std::thread::Builder::new().spawn(move_clock).expect("a thread");
    let mut output = Vec::new();
    let mut ctx = Context {
        clock: &clock,
        input: &mut "".as_bytes(),
        output: &mut output,
        errors: &mut Vec::new(),
        variable: &|_| None,
        terminal: Some(Terminal { columns: 120 }),
    };
    let args = ["scheduler", "watch", "--every", "1m", "--count", "5", "--url", &*stub.url];
    assert_eq!(run_in(args, &mut ctx), 0);
    hand.join().expect("no panic");
    let output = String::from_utf8(output).expect("UTF-8");
    let looks: Vec<&str> = output.split("\u{1b}[H\u{1b}[2J").skip(1).collect();
    let times = ["11:04:00", "11:05:00", "11:06:00", "11:07:00", "11:08:00"];
    for (look, time) in looks.iter().zip(times) {
        assert!(look.contains(time) && look.contains("3 tasks, 1 running"), "{look}");
    }
    let is_old = looks.iter().map(|look| look.contains("; what is below is old"));
    assert_eq!(is_old.collect::<Vec<_>>(), [false, true, true, true, false]);
}

#[test]
#[cfg(feature = "tls")]
fn an_address_with_https_where_no_tls_is_spoken_says_so() {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let serve = move || {
        for mut stream in listener.incoming().flatten() {
            // A server without TLS takes the first bytes for a bad request.
            let _ = stream.read(&mut [0; 1_024]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
        }
    };
    std::thread::Builder::new().spawn(serve).unwrap();
    let mut typed = Typed::new(&["list"]);
    typed.variables.insert("SCHEDULER_URL", url.clone());
    let answer = typed.answer();
    assert_eq!((answer.code, &*answer.output), (2, ""));
    assert!(
        answer.errors.starts_with(&format!("error: no answer from {url}: ")),
        "{}",
        answer.errors
    );
    let help = "help: it seems to speak HTTP without TLS: write http://";
    assert!(answer.errors.contains(help), "{}", answer.errors);
}

/// A program with a store, and what is wrong there.
fn outage(queues: (u16, String)) -> Stub {
    let info = json!({ "now": "2026-03-27T12:00:00Z", "zone": "UTC", "sections": ["tasks", "jobs"], "down": ["shop::report"] });
    let nodes = json!({
        "nodes": [
            { "label": "web-1", "hasRunOut": false, "isClockOff": true, "clockOffsetMs": -90_000.0 },
            { "label": "web-2", "hasRunOut": true },
            { "label": "web-5", "pause": { "by": "ada", "reason": "a disk" } },
        ],
        "ended": [
            { "label": "web-3", "isLost": true, "foundBy": "web-1", "jobs": 2 },
            { "label": "web-1", "isLost": true, "isBack": true, "foundBy": "web-1" },
            { "label": "web-4", "isLost": false },
        ],
        "orphans": [{ "id": "8", "task": "mail" }],
    });
    let errors = |count: u64, error: &str| {
        json!({ "errors": [{ "task": "pay", "error": error, "count": count, "firstAt": "2026-03-27T11:59:00Z" }] })
            .to_string()
    };
    Stub::of(vec![
        ("GET /api/v1/info", 200, info.to_string()),
        ("GET /api/v1/tasks", 200, tasks()),
        ("GET /api/v1/queues", queues.0, queues.1),
        ("GET /api/v1/nodes", 200, nodes.to_string()),
        ("GET /api/v1/jobs:errors?state=parked", 200, errors(4, "no such card")),
        ("GET /api/v1/jobs:errors?state=ready", 200, errors(50, "POST *: Service Unavailable")),
    ])
}

#[test]
fn the_status_names_what_is_wrong_in_tasks_jobs_queues_and_nodes() {
    let depth = json!({ "due": 4, "retrying": 50, "parked": 3, "oldestMs": 90_000.0, "oldestRunningMs": 720_000.0, "hasLongRun": true });
    let mut queue = json!({ "queue": "mail" });
    queue.as_object_mut().unwrap().extend(depth.as_object().unwrap().clone());
    let mut task = queue.clone();
    task["task"] = "pay".into();
    queue["tasks"] = json!([task]);
    let paused = json!({ "queue": "slow", "due": 9, "later": 1, "retrying": 4, "oldestMs": 90_000.0, "pause": { "by": "ops", "reason": "move" } });
    let unknown = json!([{ "task": "pya", "due": 1, "nearest": "pay" },
        { "task": "geo", "due": 5, "elsewhere": "web-1 has it, but serves only mail" }]);
    // They wait for jobs of their own partitions.
    let held = json!({ "queue": "bulk", "due": 9, "oldestMs": 90_000.0, "tasks": [
        { "task": "send", "due": 8, "held": 7, "oldestMs": 90_000.0 }, { "task": "call", "due": 1, "held": 0, "oldestMs": 90_000.0 }] });
    // Beside such jobs others wait that no limit holds back.
    let open = json!({ "queue": "fair", "due": 9, "oldestMs": 80_000.0, "tasks": [{ "task": "send", "due": 9, "held": 7, "oldestMs": 80_000.0, "oldestOpenMs": 70_000.0 }] });
    let partitions = json!([{ "partition": "acme", "task": "send", "pause": { "by": "ada", "reason": "floods" } }]);
    let queues = json!({ "queues": [queue, paused, held, open], "unknownTasks": unknown, "pausedPartitions": partitions });
    let stub = outage((200, queues.to_string()));
    let answer = ask(&stub, &["status"]);
    let expected = "\
✖ DOWN: critical: shop::report
✖ failing: shop::report, 2 in a row
✖ 3 jobs parked
✖ 3 × pay: no such card, for 1m
✖ 54 jobs to be tried again
✖ 50 × pay: POST *: Service Unavailable, for 1m
✖ a job of pay runs: for 12m in queue mail
✖ 4 jobs due: for 1m 30s in queue mail
✖ 9 jobs due: for 1m 20s in queue fair
✖ node web-2: does not renew its lease
✖ clock of web-1: 1m 30s behind the store's
✖ 2 of 3 processes: web-3 lost with 2 jobs, found by web-1
✖ 1 job: of processes that are gone
✖ no process has pya: 1 job due; nearest name: pay
✖ no process runs geo: 5 jobs due; web-1 has it, but serves only mail
‖ 1 paused: purge by ops, migration
‖ queue slow paused by ops, move: 10 jobs wait, 4 of them with an error
‖ partition acme of send paused by ada, floods
‖ node web-1: was lost, and is back
‖ node web-5 paused by ada, a disk
";
    assert_eq!((&*answer.output, &*answer.errors), (expected, "error: 15 problems\n"));
    assert_eq!(answer.code, 1);
    let answer = ask(&stub, &["status", "--json"]);
    let json: Value = serde_json::from_str(&answer.output).unwrap();
    assert_eq!((&json["isWell"], json["items"].as_array().unwrap().len()), (&false.into(), 20));
    assert_eq!((json["items"][2]["what"].as_str(), answer.code), (Some("3 jobs parked"), 1));
}

#[test]
fn the_status_of_a_program_without_problems_is_a_success_and_a_store_that_is_away_is_one() {
    let well = Stub::of(vec![
        ("GET /api/v1/info", 200, json!({ "sections": ["tasks"] }).to_string()),
        ("GET /api/v1/tasks", 200, json!({ "tasks": [tick()] }).to_string()),
    ]);
    let answer = ask(&well, &["status"]);
    assert_eq!((&*answer.output, &*answer.errors, answer.code), ("nothing is wrong\n", "", 0));
    let detail = json!({ "status": 503, "detail": "Connection refused" }).to_string();
    let answer = ask(&outage((503, detail)), &["status"]);
    assert!(answer.output.contains("✖ store down: "), "{}", answer.output);
    assert_eq!(ask(&Stub::of(vec![]), &["status"]).code, 1);
}

#[test]
fn a_lease_that_is_not_renewed_and_a_count_that_is_old_are_told_with_their_reasons() {
    let (at, as_of) = ("2026-03-30T09:01:00Z", "2026-03-30T09:00:00Z");
    let queues =
        json!({ "now": at, "asOf": as_of, "countFailure": "canceling statement", "queues": [] });
    let info =
        json!({ "sections": ["tasks", "jobs"], "storeFailure": "disk is full", "zone": "UTC" });
    let stub = Stub::of(vec![
        ("GET /api/v1/info", 200, info.to_string()),
        ("GET /api/v1/tasks", 200, json!({ "tasks": [] }).to_string()),
        ("GET /api/v1/queues", 200, queues.to_string()),
        ("GET /api/v1/nodes", 200, json!({ "nodes": [] }).to_string()),
    ]);
    let counted = "counted 1m ago: canceling statement";
    let answer = ask(&stub, &["status"]);
    let expected = format!("✖ store down: disk is full\n‖ jobs: {counted}\n");
    assert_eq!((answer.output, answer.code), (expected, 1));
    let answer = ask(&stub, &["jobs", "queues"]);
    assert!(answer.output.ends_with(&format!("{counted}\n")), "{}", answer.output);
}

#[test]
fn no_error_among_the_jobs_that_were_counted_is_not_none_at_all() {
    let of = |is_partial: bool| {
        let errors = json!({ "errors": [], "isPartial": is_partial });
        let path = "GET /api/v1/jobs:errors?state=ready";
        let stub = Stub::in_berlin(vec![(path, 200, errors.to_string())]);
        ask(&stub, &["jobs", "errors", "--state", "ready"]).output
    };
    assert_eq!(of(false), "no job has an error\n");
    assert_eq!(of(true), "none of the jobs that were counted has an error, and there are more\n");
}

#[test]
fn names_that_look_alike_differ_and_columns_stay_below_each_other() {
    let long = "cannot reach the mail server of the second data centre by any of its addresses";
    let error = |task: &str, text: &str| {
        let at = "2026-03-30T09:00:00Z";
        json!({ "task": task, "error": text, "count": 2, "firstAt": at, "lastAt": at })
    };
    let odd = "ma\u{200b}i\u{61c}l";
    let errors = json!({ "errors": [error(odd, long), error("mail", "no such card")] });
    let stub = Stub::in_berlin(vec![("GET /api/v1/jobs:errors?", 200, errors.to_string())]);
    let answer = ask(&stub, &["jobs", "errors"]);
    let lines: Vec<&str> = answer.output.lines().collect();
    assert!(lines[1].contains("ma\u{fffd}i\u{fffd}l"), "{}", answer.output);
    let column = |line: &str, text: &str| line.find(text).map(|at| line[..at].chars().count());
    let first = column(lines[0], "FIRST");
    assert_eq!(
        [column(lines[1], "Mon 2026"), column(lines[2], "Mon 2026")],
        [first; 2],
        "{}",
        answer.output
    );
}

#[test]
fn an_async_run_holds_no_thread_for_which_a_task_waits() {
    let at = |second| format!("2026-03-30T09:00:0{second}Z");
    let mut late = tick();
    (late["lateSince"], late["running"]) = (at(1).into(), 0.into());
    let mut held = tick();
    held["name"] = "held".into();
    (held["running"], held["runningSince"]) = (1.into(), at(2).into());
    let mut waits = held.clone();
    waits["name"] = "awaits".into();
    (waits["isAsync"], waits["runningSince"]) = (true.into(), at(0).into());
    let tasks = json!({ "now": "2026-03-30T09:01:00Z", "tasks": [late, held, waits] });
    let stub = Stub::of(vec![("GET /api/v1/tasks", 200, tasks.to_string())]);
    let answer = ask(&stub, &["list"]);
    assert!(answer.output.contains("held by held for"), "{}", answer.output);
}
