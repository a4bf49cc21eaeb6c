//! The text for Prometheus, and health.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use scheduler::{Run, Schedule, Until};

use crate::api::eventually;
use crate::away::{Mood, Moody};
use crate::jobs::{jobs, mail, parked, with_store};
use crate::limits::{one_waits, send};
use crate::support::*;

/// The samples of a page, by name and labels.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let samples = lines.map(|line| {
        let (name, value) = line.rsplit_once(' ').expect("a value");
        (name.to_owned(), value.parse().expect("a number"))
    });
    samples.collect()
}

#[test]
fn each_task_has_its_counts_its_state_and_its_histograms() {
    let name = "odd \"name\"";
    let body = |run: &Run| if run.number() == 2 { Err("no") } else { Ok(()) };
    let schedule = Schedule::fixed_delay("1ms").max_runs(3);
    let served =
        serve(&dashboard(), builder().task(name, schedule, body).task("idle", hourly(), |_| {}));
    served.scheduler.wait_for(name, Until::successes(2), LIMIT).unwrap();
    let label = r#"task="odd \"name\"""#;
    let found = eventually(|| {
        let found = samples(&served.get("/metrics").body);
        let count = format!("scheduler_run_duration_seconds_count{{{label}}}");
        (found.get(&count) == Some(&3.0)).then_some(found)
    });
    let value = |name: &str| *found.get(name).unwrap_or_else(|| panic!("{name} in {found:#?}"));
    assert_eq!(
        value(&format!(r#"scheduler_run_finished_total{{{label},outcome="success"}}"#)),
        2.0
    );
    assert_eq!(value(&format!(r#"scheduler_run_finished_total{{{label},outcome="error"}}"#)), 1.0);
    assert_eq!(
        value(&format!(r#"scheduler_run_duration_seconds_bucket{{{label},le="+Inf"}}"#)),
        3.0
    );
    assert_eq!(value(&format!("scheduler_run_lateness_seconds_count{{{label}}}")), 3.0);
    assert_eq!(value(r#"scheduler_task_period_seconds{task="idle"}"#), 3_600.0);
    assert_eq!(value(r#"scheduler_task_paused{task="idle"}"#), 0.0);
    assert!(value(r#"scheduler_task_next_run_timestamp_seconds{task="idle"}"#) > 1.7e9);
    assert!(
        value(r#"scheduler_task_last_success_timestamp_seconds{task="idle"}"#) > 1.7e9,
        "its start"
    );
    let function = r#"code_function="odd \"name\"",code_namespace="ANONYMOUS""#;
    let ok = format!(r#"{{{function},error="none",exception="none",outcome="SUCCESS"}}"#);
    assert_eq!(value(&format!("tasks_scheduled_execution_seconds_count{ok}")), 2.0);
    assert!(found.contains_key(&format!("tasks_scheduled_execution_seconds_max{ok}")));
    assert!(found.contains_key(r#"executor_pool_core_threads{name="taskScheduler"}"#));
    let text = served.get("/actuator/prometheus").body;
    assert!(!text.contains("\"no\""), "the text of an error is no label");
    served.stop();
}

/// The rule of alerts for a task without success needs it.
#[test]
fn a_cron_task_has_the_longest_time_between_its_fire_times_as_its_period() {
    let cron = |expression: &str| Schedule::cron(expression).zone("UTC");
    let store = crate::away::Moody::new();
    let served = crate::jobs::with_store(&dashboard(), &store, |builder| {
        builder
            .task("nightly", cron("0 0 3 * * *"), |_| {})
            .task("workdays", cron("0 0 9 * * MON-FRI"), |_| {})
            .task("hourly", hourly(), |_| {})
            .task("once", Schedule::once("1h"), |_| {})
    });
    let found = samples(&served.get("/metrics").body);
    let period = |task: &str| {
        found.get(&format!("scheduler_task_period_seconds{{task=\"{task}\"}}")).copied()
    };
    assert_eq!(period("nightly"), Some(86_400.0));
    assert_eq!(period("workdays"), Some(3.0 * 86_400.0), "a weekend");
    assert_eq!(period("hourly"), Some(3_600.0));
    assert_eq!((period("once"), period("report")), (None, None));
    served.stop();
}

#[test]
fn promtool_has_nothing_to_say() {
    let critical = || Schedule::fixed_rate("1ms").tags(["critical"]);
    let builder = builder().task("t", critical(), |_| Err::<(), _>("no")).task(
        "c",
        Schedule::cron("@daily"),
        |_| {},
    );
    let served = serve(&dashboard(), builder);
    served.scheduler.wait_for("t", Until::failures(2), LIMIT).unwrap();
    let text = served.get("/metrics").body;
    served.stop();
    let mut command = Command::new("promtool");
    command.args(["check", "metrics"]).stdin(Stdio::piped());
    let check = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let Ok(mut check) = check else {
        eprintln!("skipped: there is no promtool");
        return;
    };
    check.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = check.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success() && said.trim().is_empty(), "{said}");
}

#[test]
fn a_critical_task_that_does_not_succeed_makes_the_program_unready() {
    let critical = || Schedule::fixed_rate("1ms").tags(["critical"]);
    let builder = builder().task("bad", critical(), |_| Err::<(), _>("no"));
    let builder =
        builder.task("worse", Schedule::fixed_rate("1ms"), |_| Err::<(), _>("not critical"));
    let served = serve(&dashboard().critical_grace(Duration::ZERO), builder);
    served.scheduler.wait_for("bad", Until::failures(1), LIMIT).unwrap();
    let ask = |path: &str| served.send("GET", path, &[], "");
    let down = ask("/readyz");
    assert_eq!(down.status, 503);
    assert_eq!(down.json()["status"], "DOWN");
    assert_eq!(down.json()["components"]["scheduler"]["details"]["bad"]["status"], "DOWN");
    assert!(!down.body.contains("worse"));
    assert_eq!(ask("/actuator/health").status, 503);
    assert_eq!(ask("/healthz").status, 200);
    assert_eq!(samples(&ask("/metrics").body)[r#"scheduler_task_up{task="bad"}"#], 0.0);
    served.task("bad").pause().unwrap();
    assert_eq!(ask("/readyz").status, 200, "a person has decided that it does not run");
    served.stop();
}

#[test]
fn jobs_are_counted_and_a_store_that_does_not_answer_is_noticed() {
    let store = Moody::new();
    let served = with_store(&dashboard(), &store, |builder| builder);
    parked(&served);
    let later = mail::job(serde_json::json!(null)).after(Duration::from_secs(60)).queue("later");
    jobs(&served).enqueue(later).unwrap();
    let ask = || samples(&served.get("/metrics").body);
    let found = ask();
    let value = |queue: &str, state: &str| {
        found[&format!(r#"scheduler_jobs{{queue="{queue}",task="mail",state="{state}"}}"#)]
    };
    assert_eq!((value("default", "parked"), value("default", "due")), (1.0, 0.0));
    assert_eq!((value("later", "later"), value("later", "running")), (1.0, 0.0));
    assert_eq!((value("later", "retrying"), value("default", "retrying")), (0.0, 0.0));
    let oldest = r#"scheduler_jobs_oldest_due_seconds{queue="later",task="mail"}"#;
    assert_eq!((found[oldest], found["scheduler_store_up"]), (0.0, 1.0));
    let becomes = |up: f64| eventually(|| Some(ask()).filter(|it| it["scheduler_store_up"] == up));
    for mood in [Mood::IsStuck, Mood::IsAway, Mood::Fails] {
        store.set(mood);
        let old = becomes(0.0);
        assert_eq!(old[oldest], 0.0, "the last numbers are kept: {old:?}");
        assert!(old["scheduler_store_look_age_seconds"] > 0.0, "{old:?}");
        store.set(Mood::Answers);
        becomes(1.0);
    }
    served.stop();
    let served = serve(&dashboard(), builder());
    let found = samples(&served.get("/metrics").body);
    assert!(!found.contains_key("scheduler_store_up"), "there is no store");
    served.stop();
}

/// The names in an expression that are those of metrics of this project.
fn metrics_in(expression: &str) -> Vec<String> {
    let words = expression.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let own = |word: &&str| {
        ["scheduler_", "tasks_scheduled_", "executor_"].iter().any(|start| word.starts_with(start))
    };
    words.filter(own).map(str::to_owned).collect()
}

/// All texts with this key, wherever they are.
fn texts(value: &serde_json::Value, key: &str, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Array(list) => list.iter().for_each(|value| texts(value, key, found)),
        serde_json::Value::Object(object) => {
            found.extend(object.get(key).and_then(|text| text.as_str()).map(str::to_owned));
            object.values().for_each(|value| texts(value, key, found));
        }
        _ => {}
    }
}

#[test]
fn the_metrics_of_grafana_and_the_alerts_exist() {
    let failing = Schedule::fixed_rate("1ms").tags(["critical"]).max_runs(3);
    let served = with_store(&dashboard(), &Moody::new(), |builder| {
        let builder = builder.tasks(scheduler::tasks![mail, send]);
        builder.task("t", failing, |_| Err::<(), _>("no")).task("c", hourly(), |_| {})
    });
    served.scheduler.wait_for("t", Until::failures(3), LIMIT).unwrap();
    parked(&served);
    one_waits(&served);
    let lost = crate::trouble::maill::job();
    served.scheduler.schedules().unwrap().put("lost", hourly(), lost).unwrap();
    let known = eventually(|| {
        let text = served.get("/metrics").body;
        let names = samples(&text).into_keys().map(|key| key.split('{').next().unwrap().to_owned());
        let names: std::collections::BTreeSet<String> = names.collect();
        let late = ["run_duration_seconds_bucket", "task_unknown", "limited_jobs"];
        let late = late.map(|name| format!("scheduler_{name}"));
        late.iter().all(|name| names.contains(name)).then_some(names)
    });
    served.stop();
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
    let grafana = std::fs::read_to_string(format!("{docs}/grafana-dashboard.json")).unwrap();
    let grafana: serde_json::Value = serde_json::from_str(&grafana).expect("JSON");
    let mut asked = Vec::new();
    texts(&grafana, "expr", &mut asked);
    assert!(asked.len() >= 10, "{asked:?}");
    texts(&grafana, "query", &mut asked);
    let alerts = std::fs::read_to_string(format!("{docs}/prometheus-alerts.yml")).unwrap();
    let rules = alerts.lines().filter(|line| !line.trim_start().starts_with('#'));
    asked.extend(rules.map(str::to_owned));
    let names: std::collections::BTreeSet<String> =
        asked.iter().flat_map(|text| metrics_in(text)).collect();
    assert!(names.len() >= 12, "{names:?}");
    for name in names {
        assert!(known.contains(&name), "there is no metric {name} in {known:#?}");
    }
}
