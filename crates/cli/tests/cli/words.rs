//! Ages, names and signs of what is shown, and the texts of refusals.

use serde_json::{Value, json};

use crate::stub::{Canned, Stub};
use crate::{Answered, Typed};

fn ask(stub: &Stub, args: &[&str]) -> Answered {
    let mut typed = Typed::new(args);
    typed.variables.insert("SCHEDULER_URL", stub.url.clone());
    typed.answer()
}

const NOW: &str = "2026-03-27T11:04:00Z";

fn depth(name: &str, of: &str, more: &Value) -> Value {
    let mut depth = json!({ name: of });
    depth.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    depth
}

/// A program with these rows, these tasks of the queue `mail`, and these nodes.
fn program(tasks: &Value, jobs: &[Value], nodes: &Value, more: Vec<Canned>) -> Stub {
    let info = json!({ "zone": "UTC", "now": NOW, "sections": ["tasks", "jobs"],
        "storeFailure": "the store has answered with an error: disk full", "storeDownSince": "2026-03-27T11:03:48Z" });
    let pause = json!({ "by": "bob", "reason": "x", "since": "2026-03-27T09:04:00Z" });
    let sum = |field: &str| jobs.iter().filter_map(|job| job[field].as_u64()).sum::<u64>();
    let queue = json!({ "queue": "mail", "retrying": sum("retrying"), "running": sum("running"), "tasks": jobs });
    let queues =
        json!({ "now": NOW, "asOf": NOW, "queues": [queue, { "queue": "slow", "pause": pause }] });
    let tasks = json!({ "now": NOW, "tasks": tasks });
    let mut answers = vec![
        ("GET /api/v1/info", 200, info.to_string()),
        ("GET /api/v1/tasks", 200, tasks.to_string()),
        ("GET /api/v1/queues", 200, queues.to_string()),
        ("GET /api/v1/nodes", 200, nodes.to_string()),
    ];
    answers.extend(more);
    Stub::of(answers)
}

fn hung() -> Value {
    json!({ "name": "import", "state": "running", "running": 1, "isDurable": true, "runningSince": "2026-03-27T10:54:00Z",
        "stuckSince": "2026-03-27T10:55:00Z", "recent": { "tookMs": [20.0] } })
}

#[test]
fn the_status_says_since_when_each_thing_is_so_and_names_what_is_paused() {
    let failing = json!({ "name": "bill", "state": "waiting", "streak": 3, "failingSince": "2026-03-27T11:01:00Z",
        "firstFailure": "no card" });
    let paused = |name: &str, pause: Value| json!({ "name": name, "state": "paused", "isPaused": true, "pause": pause });
    let by = json!({ "by": "ada", "reason": "move", "since": "2026-03-27T11:00:00Z" });
    let tasks = json!([
        { "name": "hung", "state": "running", "running": 1, "runningSince": "2026-03-27T10:54:00Z",
          "stuckSince": "2026-03-27T10:55:00Z" },
        failing, paused("nightly", by), paused("purge", json!({})),
    ]);
    let lost = json!({ "label": "web-3", "isLost": true, "foundBy": "web-1", "jobs": 2, "at": "2026-03-27T11:02:00Z" });
    let back =
        json!({ "label": "web-1", "isLost": true, "isBack": true, "at": "2026-03-27T10:34:00Z" });
    let pause = json!({ "by": "ada", "since": "2026-03-27T10:04:00Z" });
    let nodes = json!({ "now": NOW, "nodes": [{ "label": "web-1" }, { "label": "web-5", "pause": pause }], "ended": [lost, back] });
    let answer = ask(&program(&tasks, &[], &nodes, vec![]), &["status"]);
    let expected = "\
✖ hung: hung, running for 10m
✖ failing: bill, 3 in a row for 3m: no card
✖ store down for 12s: the store has answered with an error: disk full
✖ 2 of 3 processes: web-3 lost 2m ago with 2 jobs, found by web-1
‖ 2 paused: nightly by ada for 4m, move; purge
‖ queue slow paused by bob for 2h, x
‖ node web-1: was lost 30m ago, and is back
‖ node web-5 paused by ada for 1h
";
    assert_eq!((&*answer.output, &*answer.errors), (expected, "error: 4 problems\n"));
}

#[test]
fn jobs_to_be_tried_again_are_a_problem_where_one_of_their_errors_is() {
    let errors = |count: u64| {
        let errors = json!({ "errors": [{ "task": "pay", "error": "down", "count": count }] });
        vec![("GET /api/v1/jobs:errors?state=ready", 200, errors.to_string())]
    };
    for (count, sign) in [(10, '✖'), (9, '‖')] {
        let jobs = [depth("task", "pay", &json!({ "retrying": count }))];
        let stub = program(&json!([]), &jobs, &json!({}), errors(count));
        let output = ask(&stub, &["status"]).output;
        let expected =
            format!("{sign} {count} jobs to be tried again\n{sign} {count} × pay: down\n");
        assert!(output.contains(&expected), "{output}");
    }
}

#[test]
fn a_run_that_the_store_finds_long_is_one_problem_though_its_process_says_that_it_hangs() {
    let long = |is: bool| {
        depth(
            "task",
            "import",
            &json!({ "running": 1, "oldestRunningMs": 600_000.0, "hasLongRun": is }),
        )
    };
    let output = |is: bool| {
        ask(&program(&json!([hung()]), &[long(is)], &json!({}), vec![]), &["status"]).output
    };
    let lines = |output: &str| {
        output.lines().filter(|line| line.contains("import")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(lines(&output(true)), ["✖ a job of import runs: for 10m in queue mail"]);
    assert_eq!(lines(&output(false)), ["✖ hung: import, running for 10m"]);
}

#[test]
fn a_running_job_says_where_it_runs_and_that_it_is_asked_to_stop() {
    let job = json!({ "id": "7", "task": "mail", "state": "running", "queue": "default", "priority": "normal", "attempt": 1,
        "maxAttempts": 3, "fence": 7, "session": "s", "node": "web-2", "isCancelRequested": true, "startedAt": NOW });
    let mut other = job.clone();
    (other["id"], other["isCancelRequested"]) = ("8".into(), false.into());
    other.as_object_mut().unwrap().remove("node");
    let jobs = json!({ "jobs": [job.clone(), other] });
    let stub = Stub::in_berlin(vec![
        ("GET /api/v1/jobs/7", 200, job.to_string()),
        ("GET /api/v1/jobs?limit=50&state=running", 200, jobs.to_string()),
    ]);
    let shown = ask(&stub, &["jobs", "show", "7"]).output;
    assert!(shown.contains("\n  state      running, asked to stop\n"), "{shown}");
    assert!(shown.contains("\n  process    web-2\n"), "{shown}");
    let expected = "\
ID   TASK   STATE                    QUEUE     WHEN                                ATTEMPTS   PROCESS   ERROR
7    mail   running, asked to stop   default   since Fri 2026-03-27 12:04 +01:00   1 of 3     web-2
8    mail   running                  default   since Fri 2026-03-27 12:04 +01:00   1 of 3     -
";
    assert_eq!(ask(&stub, &["jobs", "list", "--state", "running"]).output, expected);
}

#[test]
fn a_change_of_many_jobs_without_a_state_says_that_it_needs_one() {
    for change in ["retry", "cancel", "delete"] {
        let answer = Typed::new(&["jobs", change, "--task", "mail", "--yes"]).answer();
        let expected = format!(
            "\
error: a filter needs a state
  help: write for example `scheduler jobs {change} --state parked --task mail`
"
        );
        assert_eq!((&*answer.errors, answer.code), (&*expected, 2));
        let answer = Typed::new(&["jobs", change]).answer();
        assert!(answer.errors.contains("which jobs") && answer.code == 2, "{}", answer.errors);
    }
}

#[test]
fn one_of_a_thing_is_no_plural() {
    let queue = json!({ "queue": "mail", "due": 1 }).to_string();
    let stub = Stub::of(vec![("POST /api/v1/queues/mail/resume", 202, queue)]);
    let answer = ask(&stub, &["resume", "--queue", "mail"]);
    assert_eq!(answer.output, "queue mail: goes on; 1 job is due\n");
}

#[test]
fn a_list_marks_a_rule_that_was_set_by_hand() {
    let task = json!({ "name": "a", "rule": "every 1h", "state": "waiting", "schedule": { "isOverridden": true } });
    let tasks = json!({ "now": NOW, "tasks": [task] }).to_string();
    let output = ask(&Stub::of(vec![("GET /api/v1/tasks", 200, tasks)]), &["list"]).output;
    assert!(output.contains("every 1h (by hand)"), "{output}");
}

#[test]
fn the_next_times_of_a_task_that_is_paused_or_hangs_are_no_promise() {
    let heading = |mut task: Value| {
        task["upcoming"] = json!([{ "at": "2026-03-27T12:00:00Z" }]);
        let stub = Stub::of(vec![
            ("GET /api/v1/tasks/a", 200, task.to_string()),
            ("GET /api/v1/tasks/a/runs?limit=10", 200, "{}".to_owned()),
        ]);
        let output = ask(&stub, &["show", "a"]).output;
        output.lines().find(|line| line.starts_with("next")).map(str::to_owned)
    };
    let paused = |pause: Value| json!({ "name": "a", "isPaused": true, "pause": pause });
    assert_eq!(heading(json!({ "name": "a" })).as_deref(), Some("next:"));
    assert_eq!(heading(paused(json!({}))).as_deref(), Some("next, if it is resumed before:"));
    let ends = json!({ "until": "2026-03-27T11:30:00Z" });
    assert_eq!(heading(paused(ends)).as_deref(), Some("next:"), "the pause is over by then");
    assert_eq!(heading(hung()).as_deref(), Some("next; none starts before the present run ends:"));
}

#[test]
fn the_process_that_was_paused_is_named_without_a_number() {
    let action = json!({ "id": "a1", "at": NOW, "who": "ops", "action": "pause", "task": "*", "count": 1, "process": "web-3" });
    let actions = json!({ "actions": [action] }).to_string();
    let stub = Stub::in_berlin(vec![("GET /api/v1/actions?limit=100", 200, actions)]);
    let output = ask(&stub, &["actions"]).output;
    let cells: Vec<&str> = output.lines().nth(1).unwrap().split("   ").collect();
    assert_eq!(cells[3].trim(), "node web-3", "{output}");
}

fn lost(label: &str, is_back: bool, at: &str) -> Value {
    json!({ "label": label, "isLost": true, "isBack": is_back, "foundBy": "web-1", "at": at })
}

#[test]
fn a_process_that_is_back_is_a_note_and_one_that_is_lost_again_and_again_is_a_problem() {
    let status = |ended: Value| {
        let nodes = json!({ "nodes": [{ "label": "web-1" }], "ended": ended });
        ask(&program(&json!([]), &[], &nodes, vec![]), &["status"]).output
    };
    let [new, newer, old] =
        ["2026-03-27T10:59:00Z", "2026-03-27T11:02:00Z", "2026-03-27T10:24:00Z"];
    let output = status(json!([lost("web-2", true, newer), lost("web-2", true, old)]));
    assert!(output.contains("\n‖ node web-2: was lost 2m ago, and is back\n"), "{output}");
    assert_eq!(output.matches("web-2").count(), 1, "{output}");
    let output = status(json!([lost("web-2", true, newer), lost("web-2", true, new)]));
    let often = "✖ node web-2: was lost 2 times in 10m, the last 2m ago, and is back\n";
    assert!(output.contains(often), "{output}");
    let output = status(json!([lost("web-3", false, old)]));
    assert!(output.contains("‖ 1 of 2 processes: web-3 lost 40m ago, found by web-1"), "{output}");
}

#[test]
fn a_session_that_has_run_out_is_no_problem_once_its_process_is_back() {
    let nodes = json!({ "nodes": [{ "label": "web-2", "hasRunOut": true }, { "label": "web-2" }] });
    let output = ask(&program(&json!([]), &[], &nodes, vec![]), &["status"]).output;
    assert!(!output.contains("does not renew"), "{output}");
}

/// The clock of the program is an hour ahead.
#[test]
fn ages_of_what_the_store_has_are_by_its_clock() {
    let info =
        json!({ "zone": "UTC", "now": "2026-03-27T12:04:00Z", "sections": ["tasks", "jobs"] });
    let pause = |by: &str, since: &str| json!({ "by": by, "since": since });
    let task = |name: &str, is_durable: bool, pause: Value| {
        json!({ "name": name, "state": "paused", "isPaused": true,
        "isDurable": is_durable.then_some(true), "pause": pause })
    };
    let tasks = json!({ "now": "2026-03-27T12:04:00Z", "storeNow": NOW, "tasks": [
        task("push", true, pause("ada", "2026-03-27T11:03:00Z")), task("tick", false, pause("bob", "2026-03-27T12:03:30Z"))] });
    let queues = json!({ "now": NOW, "asOf": NOW, "queues": [{ "queue": "slow", "pause": pause("cleo", "2026-03-27T11:02:00Z") }] });
    let nodes = json!({ "now": NOW, "nodes": [{ "label": "web-5", "pause": pause("ada", "2026-03-27T11:01:00Z") }],
        "ended": [lost("web-3", false, "2026-03-27T11:00:00Z")] });
    let stub = Stub::of(vec![
        ("GET /api/v1/info", 200, info.to_string()),
        ("GET /api/v1/tasks", 200, tasks.to_string()),
        ("GET /api/v1/queues", 200, queues.to_string()),
        ("GET /api/v1/nodes", 200, nodes.to_string()),
    ]);
    let expected = "\
✖ 1 of 2 processes: web-3 lost 4m ago, found by web-1
‖ 2 paused: push by ada for 1m; tick by bob for 30s
‖ queue slow paused by cleo for 2m
‖ node web-5 paused by ada for 3m
";
    assert_eq!(ask(&stub, &["status"]).output, expected);
}

fn cancel(who: &str, note: &str) -> String {
    let action = json!({ "id": "1", "at": "2026-03-27T11:02:00Z", "who": who, "action": "cancel", "task": "t", "note": note });
    json!({ "actions": [action], "hasMore": false }).to_string()
}

#[test]
fn a_run_that_does_not_react_says_who_has_asked_it_to_stop_and_a_late_task_who_holds_its_thread() {
    let mut run = hung();
    (run["isDurable"], run["pool"]) = (Value::Null, "default".into());
    let late = json!({ "name": "beat", "state": "waiting", "pool": "default", "lateSince": "2026-03-27T11:02:59Z" });
    let tasks = json!([run, late]);
    let actions = || vec![("GET /api/v1/actions?task=import", 200, cancel("ada", ""))];
    let output = ask(&program(&tasks, &[], &json!({}), actions()), &["status"]).output;
    for line in [
        "✖ hung: import, running for 10m, asked to stop by ada 2m ago\n",
        "✖ late: beat, by 1m 1s, pool default held by import\n",
    ] {
        assert!(output.contains(line), "{output}");
    }
    let list = ask(&program(&tasks, &[], &json!({}), actions()), &["list"]).output;
    let line = "\nimport was asked to stop by ada 2m ago, and still runs\n";
    assert!(list.ends_with(line), "{list}");
    let mut more = actions();
    more.push(("GET /api/v1/tasks/import", 200, run.to_string()));
    more.push(("GET /api/v1/tasks/import/runs?limit=10", 200, json!({ "runs": [] }).to_string()));
    let shown = ask(&program(&tasks, &[], &json!({}), more), &["show", "import"]).output;
    assert!(shown.contains("\n  stop       asked to stop by ada 2m ago\n"), "{shown}");
}

#[test]
fn a_paused_task_says_since_when_and_a_cancelled_job_by_whom() {
    let pause = json!({ "by": "ben", "since": "2026-03-27T10:04:00Z" });
    let task =
        json!({ "name": "t", "state": "paused", "isPaused": true, "zone": "UTC", "pause": pause });
    let job = json!({ "id": "7", "task": "mail", "state": "cancelled", "queue": "default", "priority": "normal", "attempt": 0,
        "maxAttempts": 3, "fence": 7 });
    let stub = Stub::in_berlin(vec![
        ("GET /api/v1/tasks/t", 200, task.to_string()),
        ("GET /api/v1/tasks/t/runs?limit=10", 200, json!({ "runs": [] }).to_string()),
        ("GET /api/v1/jobs/7", 200, job.to_string()),
        ("GET /api/v1/actions?task=7", 200, cancel("ada", "sent twice")),
    ]);
    let shown = ask(&stub, &["show", "t"]).output;
    assert!(shown.contains("\n  since      Fri 2026-03-27 10:04 +00:00, 1h ago\n"), "{shown}");
    let shown = ask(&stub, &["jobs", "show", "7"]).output;
    let line = "\n  cancelled  by ada, Fri 2026-03-27 12:02 +01:00: sent twice\n";
    assert!(shown.contains(line), "{shown}");
}

#[test]
fn processes_that_were_listed_long_ago_say_so() {
    let nodes = |as_of: &str| json!({ "now": NOW, "asOf": as_of, "nodes": [{ "label": "web-1" }] });
    let output = |as_of: &str| {
        let stub = Stub::in_berlin(vec![("GET /api/v1/nodes", 200, nodes(as_of).to_string())]);
        ask(&stub, &["jobs", "nodes"]).output
    };
    assert!(output("2026-03-27T11:03:15Z").ends_with("\ncounted 45s ago\n"));
    assert!(!output("2026-03-27T11:03:55Z").contains("counted"));
}

#[test]
fn a_refusal_of_several_lines_has_its_carets_below_their_places() {
    let detail = "February has no day 31\n0 30 4 31 2 *\n       ^^\nhelp: write 28";
    let refused = json!({ "status": 400, "detail": detail }).to_string();
    let stub = Stub::of(vec![("POST /api/v1/tasks/t/reschedule", 400, refused)]);
    let answer = ask(&stub, &["reschedule", "t", "--cron", "0 30 4 31 2 *"]);
    let expected = "\
error: February has no day 31

  0 30 4 31 2 *
         ^^

  help: write 28
";
    assert_eq!((&*answer.errors, answer.code), (expected, 1));
    let errors = json!({ "errors": [{ "task": "mail", "error": "no answer\ncaused by: timeout", "count": 2 }] });
    let stub = Stub::in_berlin(vec![("GET /api/v1/jobs:errors?", 200, errors.to_string())]);
    let output = ask(&stub, &["jobs", "errors"]).output;
    assert!(output.contains("no answer caused by: timeout"), "{output}");
}

#[test]
fn a_store_that_opens_is_no_problem_and_the_end_of_a_pause_has_a_reason() {
    let info = json!({ "sections": ["tasks"], "now": NOW, "storeFailure": "no session is open yet", "storeIsOpening": true });
    let stub = Stub::of(vec![
        ("GET /api/v1/info", 200, info.to_string()),
        ("GET /api/v1/tasks", 200, json!({ "tasks": [] }).to_string()),
        ("POST /api/v1/tasks/t/resume", 202, json!({ "name": "t", "zone": "UTC" }).to_string()),
    ]);
    let answer = ask(&stub, &["status"]);
    let expected = "nothing is wrong\n‖ store opening: no session is open yet\n";
    assert_eq!((&*answer.output, answer.code), (expected, 0));
    ask(&stub, &["resume", "t", "--reason", "it is mended"]);
    let asked = "POST /api/v1/tasks/t/resume  {\"reason\":\"it is mended\"}";
    assert_eq!(stub.asked().last().map(String::as_str), Some(asked));
}
