//! Each module uses only those before it, and no files form a circle.

use std::collections::BTreeSet;

use crate::imports::Imports;

/// The modules of each crate, lowest first. Changing these arrays is a change of design.
pub(crate) const CRATES: [(&str, &[&str]); 12] = [
    ("crates/api/src", &["described", "tasks", "runs", "jobs", "info"]),
    (
        "crates/expr/src",
        &[
            "calendar",
            "nearest",
            "excerpt",
            "error",
            "name",
            "zone",
            "instant",
            "tick",
            "duration",
            "placeholder",
            "cron",
            "attribute",
        ],
    ),
    (
        "crates/store/src",
        &[
            "text",
            "dry_run",
            "time",
            "id",
            "error",
            "attempt",
            "decode_error",
            "job",
            "pause",
            "schedule",
            "request",
            "command",
            "change",
            "decide",
            "check",
            "statement",
            "store",
            "model",
        ],
    ),
    (
        "crates/node/src",
        &[
            "rng", "rule", "config", "clock", "peers", "claims", "backoff", "request", "effect",
            "firing", "node",
        ],
    ),
    (
        "crates/sqlite/src",
        &[
            "error",
            "tables",
            "clock",
            "volume",
            "newest",
            "schema",
            "fields",
            "job_row",
            "tx",
            "pause",
            "job_table",
            "schedule_row",
            "sessions",
            "finish",
            "enqueue",
            "done",
            "claim",
            "fire",
            "commands",
            "read",
            "connection",
            "poll",
            "watch",
            "store",
            "in_transaction",
        ],
    ),
    (
        "crates/postgres/src",
        &[
            "error",
            "value",
            "inline",
            "sql",
            "fault",
            "calls",
            "address",
            "pace",
            "blocking_connection",
            "tls",
            "connect",
            "connection_thread",
            "migrate",
            "job",
            "pause",
            "finish",
            "schedule",
            "poll",
            "fire",
            "schedules",
            "filter",
            "watch",
            "options",
            "store",
            "transaction",
            "builder",
        ],
    ),
    (
        "scheduler-core/src",
        &[
            "opaque", "error", "sync", "unwind", "time", "trigger", "queue", "task", "observe",
            "pool",
        ],
    ),
    ("scheduler-macros/src", &["diagnostic", "args", "item", "repeat", "check", "expand"]),
    (
        "src",
        &[
            "opaque",
            "sync",
            "unwind",
            "run/set_once",
            "define/metadata",
            "run",
            "error",
            "engine",
            "run/inject",
            "define/entry",
            "define/calendar",
            "define/schedule",
            "define/definition",
            "define/settings",
            "observe",
            "run/task",
            "define/registrar",
            "durable",
            "store",
            "observe/report",
            "run/runner",
            "testing",
            "private",
            "guide",
        ],
    ),
    (
        "crates/dashboard/src",
        &[
            "times",
            "problem",
            "pattern",
            "gone",
            "host",
            "access",
            "audit",
            "store",
            "options",
            "log",
            "hub",
            "app",
            "view",
            "live",
            "health",
            "actuator",
            "prometheus",
            "web",
            "server",
            "dashboard",
        ],
    ),
    ("crates/monitors/src", &["ping", "services", "pacing", "worker", "monitors"]),
    (
        "crates/cli/src",
        &[
            "error", "context", "changes", "dialect", "times", "explain", "client", "check",
            "shell", "lint", "crontab", "args", "bin",
        ],
    ),
];

#[test]
fn every_module_uses_only_those_below_it() {
    let mut faults = Vec::new();
    for (folder, modules) in CRATES {
        let imports = Imports::of(folder);
        assert!(imports.uses.len() >= modules.len(), "only {} files", imports.uses.len());
        let level_of = |file: &str| {
            let module = module_of(folder, modules, file)?;
            modules.iter().position(|each| *each == module)
        };
        for (file, used) in imports.uses.iter().filter(|(file, used)| !is_root(file, used)) {
            let Some(level) = level_of(file) else {
                faults.push(format!("{file} belongs to no module of the design"));
                continue;
            };
            let above =
                used.iter().filter(|other| level_of(other).is_some_and(|other| other > level));
            faults.extend(above.map(|other| format!("{file} uses {other}, which is above it")));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    // Files of the engine may know each other inside a folder.
    for (folder, _) in CRATES.into_iter().filter(|(folder, _)| *folder != "scheduler-core/src") {
        let circles = Imports::of(folder).circles();
        assert!(circles.is_empty(), "{circles:#?}");
    }
}

/// The root of a crate sees all; a `mod.rs` that only declares modules sees nothing.
fn is_root(file: &str, used: &BTreeSet<String>) -> bool {
    file.ends_with("/lib.rs") || file.ends_with("/mod.rs") && used.is_empty()
}

/// The module of a file: the longest path in the list that leads to it. The root of a crate has none.
fn module_of<'a>(folder: &str, modules: &[&'a str], file: &str) -> Option<&'a str> {
    let inside = file.strip_prefix(folder)?.trim_start_matches('/').trim_end_matches(".rs");
    let leads = |module: &&&str| {
        inside.strip_prefix(**module).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    modules.iter().filter(leads).max_by_key(|module| module.len()).copied()
}
