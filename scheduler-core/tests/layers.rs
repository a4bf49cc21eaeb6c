//! The order of the rooms, enforced: each may use only those to its left.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

/// The rooms of the engine, lowest first. Changing this array is a change of design.
const ROOMS: [&str; 8] = ["error", "sync", "time", "trigger", "queue", "task", "observe", "pool"];

#[test]
fn every_room_uses_only_those_below_it() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut faults = Vec::new();
    let mut files = 0;
    for file in rust_files(&source) {
        let path = file.strip_prefix(&source).expect("a file below src");
        let name = path.iter().next().and_then(|first| first.to_str()).expect("a UTF-8 name");
        let room = name.trim_end_matches(".rs");
        if room == "lib" {
            continue;
        }
        let level = level_of(room).unwrap_or_else(|| panic!("`{room}` is not a known room"));
        files += 1;
        let text = fs::read_to_string(&file).expect("a readable file");
        for (number, line) in (1..).zip(text.lines()) {
            let place = format!("{}:{number}", path.display());
            faults.extend(faults_of(line, room, level).map(|fault| format!("{place}: {fault}")));
        }
    }
    assert!(files > 20, "only {files} files were looked at");
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// What is wrong with the paths into this crate on one line.
fn faults_of<'a>(line: &'a str, room: &'a str, level: usize) -> impl Iterator<Item = String> + 'a {
    let code = line.split("//").next().unwrap_or_default();
    code.split("crate::").skip(1).filter_map(move |rest| {
        if rest.starts_with('{') {
            return Some("grouped imports hide their rooms; write one `use` per item".to_owned());
        }
        let used: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let used_level = level_of(&used)?;
        (used_level > level).then(|| format!("`{room}` may not use `{used}`, which is above it"))
    })
}

fn level_of(room: &str) -> Option<usize> {
    ROOMS.iter().position(|each| *each == room)
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a readable folder");
    let paths = entries.map(|entry| entry.expect("a readable entry").path());
    paths
        .flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

#[test]
fn a_path_that_runs_upwards_is_found() {
    let faults: Vec<String> = faults_of("use crate::pool::Shell;", "queue", 4).collect();
    assert_eq!(faults, ["`queue` may not use `pool`, which is above it"]);
    assert_eq!(faults_of("use crate::time::Tick; // crate::pool", "queue", 4).count(), 0);
    assert_eq!(faults_of("use crate::{time, pool};", "queue", 4).count(), 1);
}
