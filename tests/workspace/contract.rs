//! Compares the tables of `docs/contract/` with the tests.
//!
//! Each row names tests that exist, and each test that is named after a row is in it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::sources;

const TABLES: [&str; 3] =
    ["docs/contract/executor.md", "docs/contract/faults.md", "docs/contract/durable.md"];

/// One row: `| EC-A1 | what holds | note | tests |`.
struct Row<'a> {
    id: &'a str,
    tests: BTreeSet<&'a str>,
    is_open: bool,
}

#[test]
fn the_tables_name_the_tests_that_hold_each_row() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = TABLES.map(|table| fs::read_to_string(root.join(table)).expect("a readable table"));
    let rows: Vec<Row<'_>> = text.iter().flat_map(|text| rows(text)).collect();
    assert!(rows.len() >= 135, "only {} rows were found", rows.len());
    let mut tests = BTreeSet::new();
    for source in sources::of("") {
        let text = fs::read_to_string(&source.file).expect("a readable file");
        tests.extend(test_names(&text).map(str::to_owned));
    }
    let faults = faults(&rows, &tests);
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

fn rows(text: &str) -> impl Iterator<Item = Row<'_>> {
    text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, id, _, _, tests, _] = cells[..] else { return None };
        let is_row = id.starts_with("EC-") || id.starts_with("F-") || is_durable(id, 'D');
        let names = tests.split('`').skip(1).step_by(2).collect();
        is_row.then_some(Row { id, tests: names, is_open: tests == "not yet" })
    })
}

/// The functions that carry `#[test]`.
fn test_names(text: &str) -> impl Iterator<Item = &str> {
    let mut is_test = false;
    text.lines().filter_map(move |line| {
        let line = line.trim_start();
        is_test |= line == "#[test]" || line == "#[tokio::test]";
        let function = line.strip_prefix("async ").unwrap_or(line);
        let name = function.strip_prefix("fn ")?.split(['(', '<']).next()?;
        std::mem::take(&mut is_test).then_some(name)
    })
}

/// Returns true for `D1` to `D20`, after this letter.
fn is_durable(id: &str, letter: char) -> bool {
    let number = id.strip_prefix(letter).unwrap_or_default();
    !number.is_empty() && number.chars().all(|digit| digit.is_ascii_digit())
}

/// The row that a test is named after: `EC-A1` for `ec_a1_…`, `D1` for `d1_…`.
fn row_of(test: &str) -> Option<String> {
    let mut words = test.split('_');
    let (kind, row) = (words.next()?, words.next()?);
    if is_durable(kind, 'd') {
        return Some(kind.to_uppercase());
    }
    let is_row = matches!(kind, "ec" | "f") && row.ends_with(|c: char| c.is_ascii_digit());
    is_row.then(|| format!("{kind}-{row}").to_uppercase())
}

fn faults(rows: &[Row<'_>], tests: &BTreeSet<String>) -> Vec<String> {
    let mut faults = Vec::new();
    for row in rows {
        if row.tests.is_empty() != row.is_open {
            faults.push(format!("{}: name its tests, or write `not yet`", row.id));
        }
        let missing = row.tests.iter().filter(|test| !tests.contains(**test));
        faults.extend(missing.map(|test| format!("{}: there is no test `{test}`", row.id)));
    }
    for test in tests {
        let Some(id) = row_of(test) else { continue };
        if !rows.iter().any(|row| row.id == id && row.tests.contains(test.as_str())) {
            faults.push(format!("`{test}` is missing in the row {id}"));
        }
    }
    faults
}

#[test]
fn rows_and_tests_that_do_not_match_are_found() {
    let table = "| row | what holds | note | tests |\n|---|---|---|---|\n\
                 | EC-A1 | a | | `ec_a1_x`<br>`ec_a1_y` |\n| F-DS1 | b | c | not yet |\n\
                 | F-CA1 | d | | |\n";
    let code = "#[test]\n#[cfg(unix)]\nfn ec_a1_x() {}\nfn ec_a1_helper() {}\n#[test]\nfn f_ca1_z() {}\n\
                #[test]\nfn plain() {}\n";
    let rows: Vec<Row<'_>> = rows(table).collect();
    let tests: BTreeSet<String> = test_names(code).map(str::to_owned).collect();
    assert_eq!(
        faults(&rows, &tests),
        [
            "EC-A1: there is no test `ec_a1_y`",
            "F-CA1: name its tests, or write `not yet`",
            "`f_ca1_z` is missing in the row F-CA1",
        ]
    );
}
