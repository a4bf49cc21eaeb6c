//! The places that list columns of jobs and schedules.

use std::collections::BTreeSet;
use std::fs;

use crate::sources;

/// The crates that read and write rows.
const CRATES: [&str; 3] = ["crates/store/src", "crates/sqlite/src", "crates/postgres/src"];

/// Names of columns of a job that no rule is about: each place that has most of them lists the columns.
const OF_A_JOB: [&str; 9] = [
    "task",
    "queue",
    "priority",
    "payload",
    "max_attempts",
    "on_lost",
    "traceparent",
    "created_at",
    "run_at",
];

/// The same for a schedule.
const OF_A_SCHEDULE: [&str; 7] =
    ["queue", "rule", "timing", "calculator", "overlap", "max_attempts", "is_dynamic"];

/// A list stands in so many lines, and has all of the names but one.
const LINES: usize = 60;
const MISSING: usize = 1;

/// Columns stand in one list of Rust, in the types, in both tables, and in `enqueue` and the view of PostgreSQL.
#[test]
fn columns_of_a_job_are_listed_in_few_places() {
    let expected = [
        "crates/postgres/src/sql/0001/1_tables.sql",
        "crates/postgres/src/sql/0001/6_enqueue.sql",
        "crates/postgres/src/sql/0001/8_views.sql",
        "crates/sqlite/src/schema.rs",
        "crates/store/src/column.rs",
        "crates/store/src/job.rs",
    ];
    assert_eq!(places_of(&OF_A_JOB), expected, "make it from `JOB_COLUMNS` or `NEW_JOB_COLUMNS`");
}

#[test]
fn columns_of_a_schedule_are_listed_in_few_places() {
    let expected = [
        "crates/postgres/src/sql/0001/1_tables.sql",
        "crates/sqlite/src/schema.rs",
        "crates/store/src/schedule.rs",
        "crates/store/src/schedule_columns.rs",
    ];
    assert_eq!(places_of(&OF_A_SCHEDULE), expected, "make it from `SCHEDULE_COLUMNS`");
}

#[test]
fn a_list_is_found_in_code_of_each_kind() {
    let names = ["one_a", "two_b", "three_c"];
    for text in
        ["row.one_a = 1;\nrow.two_b = 2;", "p_one_as text[], p_two_b text", "\"one_a, two_b\""]
    {
        assert!(is_listed(text, &names), "{text}");
    }
    for text in ["row.one_a = 1;", "// one_a, two_b", "-- one_a, two_b", "none_a, two_bs"] {
        assert!(!is_listed(text, &names), "{text}");
    }
    let far = format!("one_a{}two_b", "\n".repeat(LINES));
    assert!(!is_listed(&far, &names));
}

/// The product files that list the names.
fn places_of(names: &[&str]) -> Vec<String> {
    let files = CRATES.iter().flat_map(|folder| sources::of(folder));
    let files = files.chain(sources::with_ending("sql"));
    let files = files.filter(|file| CRATES.iter().any(|folder| file.path.starts_with(folder)));
    let lists = files.filter(|file| {
        let text = fs::read_to_string(&file.file).expect("a source file");
        is_listed(text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default(), names)
    });
    let mut places: Vec<String> = lists.map(|file| file.path).collect();
    places.sort();
    places
}

fn is_listed(text: &str, names: &[&str]) -> bool {
    let code = text.lines().enumerate().filter(|(_, line)| {
        let line = line.trim_start();
        !line.starts_with("//") && !line.starts_with("--")
    });
    let places: Vec<(usize, &str)> = code
        .flat_map(|(number, line)| words(line).map(move |word| (number, word)))
        .filter(|(_, word)| names.contains(word))
        .collect();
    let least = names.len().saturating_sub(MISSING);
    (0..places.len()).any(|first| {
        let near = places[first..].iter().take_while(|place| place.0 < places[first].0 + LINES);
        near.map(|place| place.1).collect::<BTreeSet<_>>().len() >= least
    })
}

/// The words of a line. A parameter of SQL is named for its column.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    words.map(|word| {
        word.strip_prefix("p_").map_or(word, |rest| rest.strip_suffix('s').unwrap_or(rest))
    })
}
