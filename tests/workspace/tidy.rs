//! Sizes of files, and the wording of comments.

use std::fs;

use crate::sources;
use crate::sources::Source;

const LINES_MAX: usize = 600;
const README_WORDS_MAX: usize = 700;

#[test]
fn files_are_short_and_begin_with_a_comment() {
    let folders = [
        "src",
        "crates/api/src",
        "crates/store/src",
        "crates/node/src",
        "crates/sqlite/src",
        "crates/expr/src",
        "crates/postgres/src",
        "scheduler-core/src",
        "scheduler-macros/src",
        "crates/dashboard/src",
        "crates/monitors/src",
        "crates/cli/src",
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

/// Comments name their subject first: `CONTRIBUTING.md`, "Prose".
#[test]
fn comments_begin_with_their_subject() {
    let sources = sources::of("");
    assert!(sources.len() > 300, "only {} files were looked at", sources.len());
    let faults: Vec<String> = sources.iter().flat_map(riddles).collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// The comments of a file that begin a sentence with a question word, or hide their subject.
fn riddles(source: &Source) -> Vec<String> {
    let text = fs::read_to_string(&source.file).expect("a readable file");
    let lines = text.lines().enumerate().filter_map(|(number, line)| {
        let comment = line.trim_start().strip_prefix("//")?;
        let comment = comment.trim_start_matches(['/', '!']).trim_start();
        let begins = |sentence: &str| {
            ["What ", "Whether ", "How "].into_iter().any(|word| sentence.starts_with(word))
        };
        let is_riddle = comment.split(". ").any(begins)
            || ["is said", "is told", "are told", "of which"].iter().any(|it| comment.contains(it));
        is_riddle.then(|| format!("{}:{}: {comment}", source.path, number + 1))
    });
    lines.collect()
}

fn faults_of(source: &Source) -> Vec<String> {
    let name = source.file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if name == "tests.rs" {
        return Vec::new();
    }
    let text = fs::read_to_string(&source.file).expect("a readable file");
    let lines = text.lines().take_while(|line| !is_start_of_tests(line)).count();
    let mut faults = Vec::new();
    if lines > LINES_MAX {
        faults.push(format!("{}: {lines} lines before its tests; split it by idea", source.path));
    }
    if !text.starts_with("//") {
        faults.push(format!("{}: it does not begin with a comment", source.path));
    }
    faults
}

fn is_start_of_tests(line: &str) -> bool {
    line.starts_with("#[cfg(") && line.contains("test")
}
