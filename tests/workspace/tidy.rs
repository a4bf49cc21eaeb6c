//! Sizes of files, and the wording of comments.

use std::fs;

use crate::paths;
use crate::sources;
use crate::sources::Source;

const LINES_MAX: usize = 600;
const README_WORDS_MAX: usize = 700;
const MUST_READ_WORDS_MAX: usize = 6_000;

/// The pages that everybody reads who writes a service.
const MUST_READ: [&str; 7] = [
    "README.md",
    "docs/durable.md",
    "docs/policies.md",
    "docs/testing.md",
    "docs/production.md",
    "docs/dashboard.md",
    "scheduler-macros/src/job.md",
];

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
    let words = words("README.md");
    assert!(words <= README_WORDS_MAX, "README.md has {words} words; move some to docs/");
}

#[test]
fn what_a_service_must_read_takes_half_an_hour() {
    let words: usize = MUST_READ.into_iter().map(words).sum();
    let limit = MUST_READ_WORDS_MAX;
    assert!(words <= limit, "{MUST_READ:?} have {words} words; move some to docs/reference/");
}

fn words(document: &str) -> usize {
    let text = fs::read_to_string(sources::root().join(document)).expect("a readable file");
    text.split_whitespace().count()
}

/// The sentences of documents do, too.
#[test]
fn documents_begin_sentences_with_their_subject() {
    let documents = paths::documents();
    assert!(documents.len() > 40, "only {} documents were found", documents.len());
    let faults: Vec<String> = documents
        .iter()
        .flat_map(|document| {
            let text = fs::read_to_string(document).expect("a readable document");
            let lines =
                paths::prose(&text).filter(|(_, line)| !line.starts_with('#') && is_riddle(line));
            lines
                .map(|(number, line)| format!("{}:{number}: {line}", document.display()))
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// Returns true if a line begins a sentence with a question word and asks nothing, or hides its subject.
fn is_riddle(line: &str) -> bool {
    let sentences = line.split(". ").flat_map(|part| part.split("| "));
    let mut sentences = sentences.map(|part| part.trim_start_matches(['*', '-', ' ']));
    sentences.any(|sentence| begins_with_question_word(sentence) && !sentence.contains('?'))
        || HIDDEN.iter().any(|words| line.contains(words))
}

/// Words with which a question begins, and a sentence only if it puts a clause before its subject.
const QUESTION_WORDS: [&str; 6] = ["What ", "Whether ", "How ", "Which ", "Who ", "Until when "];

fn begins_with_question_word(sentence: &str) -> bool {
    QUESTION_WORDS.iter().any(|word| sentence.starts_with(word))
}

/// Words behind which the subject of a sentence hides.
const HIDDEN: [&str; 5] = ["is said", "is told", "are told", "of which", "that of "];

#[test]
fn riddles_differ_from_questions() {
    assert!(is_riddle("It waits. What comes then is another matter."));
    assert!(is_riddle("| a | How long it waits |"));
    assert!(is_riddle("Who reads the answer gets a row."));
    assert!(is_riddle("- Until when it waits"));
    assert!(is_riddle("two pools, one of which is full"));
    assert!(is_riddle("its zone, or that of the scheduler"));
    assert!(!is_riddle("**How do I pause it?** On the page."));
    assert!(!is_riddle("**Which rights does it need?** None."));
}

/// Comments name their subject first: `CONTRIBUTING.md`, "How we work".
#[test]
fn comments_begin_with_their_subject() {
    let sources: Vec<Source> = ["rs", "sql"].into_iter().flat_map(sources::with_ending).collect();
    assert!(sources.len() > 300, "only {} files were looked at", sources.len());
    let faults: Vec<String> = sources.iter().flat_map(riddles).collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn comments_of_both_languages_are_found() {
    assert_eq!(comment_of("    /// Who waits."), Some("Who waits."));
    assert_eq!(comment_of("//! Which days match."), Some("Which days match."));
    assert_eq!(comment_of("  -- Until when it waits"), Some("Until when it waits"));
    assert_eq!(comment_of("let a = 1; // Who waits"), None);
}

/// The comments of a file that begin a sentence with a question word, or hide their subject.
fn riddles(source: &Source) -> Vec<String> {
    let text = fs::read_to_string(&source.file).expect("a readable file");
    let lines = text.lines().enumerate().filter_map(|(number, line)| {
        let comment = comment_of(line)?;
        let is_riddle = comment.split(". ").any(begins_with_question_word)
            || HIDDEN.iter().any(|words| comment.contains(words));
        is_riddle.then(|| format!("{}:{}: {comment}", source.path, number + 1))
    });
    lines.collect()
}

/// The text of a line that is a comment, of Rust or of SQL.
fn comment_of(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let comment = line.strip_prefix("//").or_else(|| line.strip_prefix("--"))?;
    Some(comment.trim_start_matches(['/', '!']).trim_start())
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
