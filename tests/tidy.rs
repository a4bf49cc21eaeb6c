//! What every source file of the workspace keeps to: its length, and an essay where a room begins.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

const LINES_MAX: usize = 400;

#[test]
fn files_are_short_and_rooms_begin_with_an_essay() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = ["src", "scheduler-expr/src", "scheduler-core/src", "scheduler-macros/src"];
    let files: Vec<PathBuf> =
        sources.iter().flat_map(|source| rust_files(&root.join(source))).collect();
    assert!(files.len() > 40, "only {} files were looked at", files.len());
    let faults: Vec<String> = files.iter().flat_map(|file| faults_of(file)).collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

fn faults_of(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).expect("a readable file");
    let mut faults = Vec::new();
    let lines = text.lines().take_while(|line| !is_start_of_tests(line)).count();
    if lines > LINES_MAX {
        faults
            .push(format!("{}: {lines} lines before its tests; split it by idea", file.display()));
    }
    if !text.starts_with("//!") {
        faults.push(format!("{}: it does not say what it is for", file.display()));
    }
    let essay = text.lines().take_while(|line| line.starts_with("//!")).count();
    let is_room = file.file_name().is_some_and(|name| name == "mod.rs");
    if is_room && essay < 10 {
        faults.push(format!("{}: a room opens with an essay", file.display()));
    }
    faults
}

fn is_start_of_tests(line: &str) -> bool {
    line.starts_with("#[cfg(") && line.contains("test")
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a readable folder");
    let paths = entries.map(|entry| entry.expect("a readable entry").path());
    paths
        .flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}
