//! The size of what ships: code lines and types of each crate.

use std::fs;

use crate::sources::{self, Source};

/// The most code lines and types of a crate. They fall with the code; a commit that raises one says what it removed instead, or
/// why nothing could go.
const BUDGETS: [(&str, usize, usize); 12] = [
    ("src", 23_270, 357),
    ("scheduler-core/src", 8_080, 154),
    ("scheduler-macros/src", 2_730, 24),
    ("crates/api/src", 775, 76),
    ("crates/cli/src", 5_183, 68),
    ("crates/dashboard/src", 6_827, 97),
    ("crates/expr/src", 4_247, 48),
    ("crates/monitors/src", 1_025, 22),
    ("crates/node/src", 2_555, 30),
    ("crates/postgres/src", 3_663, 38),
    ("crates/sqlite/src", 3_895, 23),
    ("crates/store/src", 5_722, 122),
];

/// By how much a crate may be below its budget before that has to follow: a twentieth.
const SLACK: usize = 20;

#[test]
fn no_crate_grows_beyond_its_budget() {
    let mut faults = Vec::new();
    for (folder, lines_max, types_max) in BUDGETS {
        let texts: Vec<String> = sources::of(folder).iter().filter_map(product_text).collect();
        let lines: usize = texts.iter().map(|text| code_lines(text)).sum();
        let types: usize = texts.iter().map(|text| types(text)).sum();
        for (what, count, max) in [("code lines", lines, lines_max), ("types", types, types_max)] {
            if count > max {
                faults.push(format!("{folder}: {count} {what}, and its budget is {max}"));
            } else if count + max / SLACK < max {
                faults.push(format!("{folder}: {count} {what}; lower its budget of {max}"));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn comments_and_tests_are_no_code() {
    let text = "//! Head.\n\n/* a\n b */\nuse a::B;\npub(crate) struct C; // c\nenum D {}\n";
    assert_eq!((code_lines(text), types(text)), (3, 2));
}

/// The text before the tests of a file; none of a file of tests.
fn product_text(source: &Source) -> Option<String> {
    let is_test = source.inside.iter().any(|part| part == "tests" || part == "tests.rs");
    let text = fs::read_to_string(&source.file).expect("a source file");
    let product = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    (!is_test).then(|| product.to_owned())
}

fn code_lines(text: &str) -> usize {
    let mut is_inside = false;
    let mut is_code = |line: &str| {
        let was_inside = is_inside;
        is_inside = (was_inside || line.starts_with("/*")) && !line.contains("*/");
        let is_comment = was_inside || line.starts_with("/*") || line.starts_with("//");
        !line.is_empty() && !is_comment
    };
    text.lines().filter(|line| is_code(line.trim())).count()
}

fn types(text: &str) -> usize {
    let declares = |line: &&str| {
        let line = line.trim_start();
        let line = line.strip_prefix("pub").map_or(line, |rest| {
            let is_narrow = rest.starts_with('(');
            if is_narrow { rest.split_once(") ").map_or("", |(_, rest)| rest) } else { rest.trim() }
        });
        ["struct ", "enum ", "trait "].iter().any(|word| line.starts_with(word))
    };
    text.lines().filter(declares).count()
}
