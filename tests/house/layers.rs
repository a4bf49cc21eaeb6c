//! The order of the rooms, enforced: each may use only those to its left.

use std::fs;
use std::path::Path;

use crate::sources;
use crate::sources::Source;

/// The rooms of each crate, lowest first. Changing these arrays is a change of design.
pub(crate) const CRATES: [(&str, &[&str]); 4] = [
    ("scheduler-queue/src", &["chunked", "delay_queue", "heap", "line", "wheel"]),
    (
        "scheduler-core/src",
        &["error", "sync", "unwind", "time", "trigger", "task", "observe", "pool"],
    ),
    ("scheduler-macros/src", &["diagnostic", "args", "item", "repeat", "check", "expand"]),
    (
        "src",
        &[
            "error",
            "sync",
            "unwind",
            "notice",
            "run",
            "inject",
            "entry",
            "schedule",
            "settings",
            "observe",
            "conduct",
            "registrar",
            "speech",
            "runner",
            "testing",
            "private",
            "guide",
        ],
    ),
];

#[test]
fn every_room_uses_only_those_below_it() {
    let mut faults = Vec::new();
    for (folder, rooms) in CRATES {
        let files = sources::of(folder);
        assert!(files.len() >= rooms.len(), "only {} files in {folder}", files.len());
        for source in files {
            faults.extend(faults_of(&source, rooms));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

fn faults_of(source: &Source, rooms: &[&str]) -> Vec<String> {
    let Some(room) = room_of(&source.inside) else { return Vec::new() };
    let Some(level) = rooms.iter().position(|each| *each == room) else {
        return vec![format!("{}: `{room}` is not a room of the design", source.path)];
    };
    let text = fs::read_to_string(&source.file).expect("a readable file");
    let lines = (1..).zip(text.lines());
    let faults = lines.flat_map(|(number, line)| {
        let place = format!("{}:{number}", source.path);
        upward_paths(line, room, level, rooms)
            .into_iter()
            .map(move |fault| format!("{place}: {fault}"))
    });
    faults.collect()
}

/// The room of a file below `src`; the crate's root and its tests belong to none.
fn room_of(inside: &Path) -> Option<&str> {
    let first = inside.iter().next()?.to_str()?;
    let room = first.trim_end_matches(".rs");
    (!matches!(room, "lib" | "tests")).then_some(room)
}

/// What is wrong with the paths into the crate itself on one line.
fn upward_paths(line: &str, room: &str, level: usize, rooms: &[&str]) -> Vec<String> {
    let code = line.split("//").next().unwrap_or_default();
    let paths = code.split("crate::").skip(1);
    let faults = paths.filter_map(|rest| {
        if rest.starts_with('{') {
            return Some("grouped imports hide their rooms; write one `use` per room".to_owned());
        }
        let used: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let used_level = rooms.iter().position(|each| *each == used)?;
        (used_level > level).then(|| format!("`{room}` may not use `{used}`, which is above it"))
    });
    faults.collect()
}

#[test]
fn a_path_that_runs_upwards_is_found() {
    let rooms = ["time", "queue", "pool"];
    let check = |line: &str, expected: &[&str]| {
        assert_eq!(upward_paths(line, "queue", 1, &rooms), expected);
    };
    check("use crate::pool::Shell;", &["`queue` may not use `pool`, which is above it"]);
    check("use crate::time::Tick; // crate::pool", &[]);
    check(
        "use crate::{time, pool};",
        &["grouped imports hide their rooms; write one `use` per room"],
    );
}
