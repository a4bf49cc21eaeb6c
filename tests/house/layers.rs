//! The order of the rooms, enforced: each uses only those before it, and no files use each other in a circle.

use crate::imports::Imports;

/// The rooms of each crate, lowest first. Changing these arrays is a change of design.
pub(crate) const CRATES: [(&str, &[&str]); 11] = [
    (
        "scheduler-expr/src",
        &[
            "calendar",
            "nearest",
            "excerpt",
            "name",
            "zone",
            "instant",
            "duration",
            "placeholder",
            "cron",
            "attribute",
        ],
    ),
    (
        "scheduler-store/src",
        &[
            "text",
            "time",
            "id",
            "error",
            "job",
            "schedule",
            "request",
            "check",
            "store",
            "model",
            "conformance",
        ],
    ),
    (
        "scheduler-node/src",
        &[
            "tick",
            "draws",
            "safeguard",
            "rule",
            "config",
            "clock",
            "others",
            "hand",
            "away",
            "request",
            "effect",
            "firing",
            "node",
            "simulation",
        ],
    ),
    (
        "scheduler-sqlite/src",
        &[
            "error",
            "tables",
            "clock",
            "volume",
            "schema",
            "fields",
            "tx",
            "job_row",
            "schedule_row",
            "sessions",
            "finish",
            "enqueue",
            "lines",
            "fire",
            "commands",
            "read",
            "connection",
            "poll",
            "watch",
            "within",
            "store",
        ],
    ),
    (
        "scheduler-postgres/src",
        &[
            "error",
            "value",
            "sql",
            "fault",
            "calls",
            "address",
            "pace",
            "session",
            "tls",
            "connect",
            "lane",
            "migrate",
            "job",
            "polled",
            "ends",
            "schedule",
            "schedules",
            "selected",
            "watch",
            "transaction",
            "options",
            "store",
            "builder",
        ],
    ),
    (
        "scheduler-core/src",
        &["error", "sync", "unwind", "time", "trigger", "queue", "task", "observe", "pool"],
    ),
    ("scheduler-macros/src", &["diagnostic", "args", "item", "repeat", "check", "expand"]),
    (
        "src",
        &[
            "sync",
            "unwind",
            "notice",
            "facts",
            "run",
            "error",
            "engine",
            "inject",
            "entry",
            "calendar",
            "schedule",
            "settings",
            "observe",
            "task",
            "registrar",
            "durable",
            "store",
            "report",
            "runner",
            "testing",
            "private",
            "guide",
        ],
    ),
    (
        "scheduler-dashboard/src",
        &[
            "clock",
            "times",
            "problem",
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
    (
        "scheduler-monitors/src",
        &[
            "ping",
            "monitor",
            "schedule",
            "healthchecks",
            "cronitor",
            "sentry",
            "pacing",
            "inbox",
            "sender",
            "worker",
            "monitors",
        ],
    ),
    (
        "scheduler-cli/src",
        &[
            "fault",
            "surroundings",
            "changes",
            "dialect",
            "times",
            "explain",
            "client",
            "check",
            "lint",
            "crontab",
            "args",
            "bin",
        ],
    ),
];

#[test]
fn every_room_uses_only_those_below_it() {
    let mut faults = Vec::new();
    for (folder, rooms) in CRATES {
        let imports = Imports::of(folder);
        assert!(imports.uses.len() >= rooms.len(), "only {} files", imports.uses.len());
        let level_of =
            |file: &str| rooms.iter().position(|each| Some(*each) == room_of(folder, file));
        for (file, used) in &imports.uses {
            let Some(room) = room_of(folder, file) else { continue };
            let Some(level) = level_of(file) else {
                faults.push(format!("{file}: `{room}` is not a room of the design"));
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
    for (folder, _) in CRATES {
        let circles = Imports::of(folder).circles();
        assert!(circles.is_empty(), "{circles:#?}");
    }
}

/// The room of a file: the first part of its path below the sources. The root of a crate has none.
fn room_of<'a>(folder: &str, file: &'a str) -> Option<&'a str> {
    let inside = file.strip_prefix(folder)?.trim_start_matches('/');
    let room = inside.split('/').next()?.trim_end_matches(".rs");
    (room != "lib").then_some(room)
}
