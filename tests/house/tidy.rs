//! What every source file of the workspace keeps to: its length, and an essay where a room begins.

use std::fs;

use crate::sources;
use crate::sources::Source;

const LINES_MAX: usize = 600;
const ESSAY_LINES_MIN: usize = 5;
const README_WORDS_MAX: usize = 700;

#[test]
fn files_are_short_and_say_what_they_are_for() {
    let folders = [
        "src",
        "scheduler-store/src",
        "scheduler-node/src",
        "scheduler-sqlite/src",
        "scheduler-expr/src",
        "scheduler-postgres/src",
        "scheduler-core/src",
        "scheduler-macros/src",
        "scheduler-dashboard/src",
        "scheduler-monitors/src",
        "scheduler-cli/src",
    ];
    let files: Vec<Source> = folders.into_iter().flat_map(sources::of).collect();
    assert!(files.len() > 60, "only {} files were looked at", files.len());
    let faults: Vec<String> = files.iter().flat_map(faults_of).collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// Most people read nothing else.
#[test]
fn the_readme_is_one_page() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
    let words = fs::read_to_string(path).expect("a readable file").split_whitespace().count();
    assert!(words <= README_WORDS_MAX, "README.md has {words} words; move some to docs/");
}

fn faults_of(source: &Source) -> Vec<String> {
    let name = source.file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if name == "tests.rs" {
        return Vec::new();
    }
    let text = fs::read_to_string(&source.file).expect("a readable file");
    let lines = text.lines().take_while(|line| !is_start_of_tests(line)).count();
    let essay = text.lines().take_while(|line| line.starts_with("//")).count();
    let wanted = if name == "mod.rs" { ESSAY_LINES_MIN } else { 1 };
    let mut faults = Vec::new();
    if lines > LINES_MAX {
        faults.push(format!("{}: {lines} lines before its tests; split it by idea", source.path));
    }
    if essay < wanted {
        faults.push(format!("{}: it does not say what it is for", source.path));
    }
    faults
}

fn is_start_of_tests(line: &str) -> bool {
    line.starts_with("#[cfg(") && line.contains("test")
}
