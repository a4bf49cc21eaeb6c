//! The list of mutants that no test notices names files and functions that exist.

use std::fs;
use std::path::Path;

const LIST: &str = "ci/mutants-missed.txt";

#[test]
fn each_mutant_in_the_list_is_one_of_a_function_that_exists() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let list = fs::read_to_string(root.join(LIST)).expect("the list");
    let lines = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let stale: Vec<&str> = lines.filter(|line| !names_what_exists(root, line)).collect();
    assert!(stale.is_empty(), "{LIST} has lines of what is no more: {stale:#?}");
}

/// Returns true if the file is there, and has all the names of the function.
fn names_what_exists(root: &Path, line: &str) -> bool {
    let (file, mutant) = line.split_once(": ").expect("a file, and what is changed");
    let Ok(source) = fs::read_to_string(root.join(file)) else { return false };
    let function = match mutant.rsplit_once(" in ") {
        Some((_, function)) => function,
        // Of other forms the function comes first, or there is none.
        None => mutant.trim_start_matches("replace ").split([' ', '(']).next().unwrap_or_default(),
    };
    let word = |c: char| !c.is_alphanumeric() && c != '_';
    function.split(word).filter(|name| name.len() > 1).all(|name| source.contains(name))
}
