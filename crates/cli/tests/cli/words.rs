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
