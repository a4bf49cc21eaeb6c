//! Errors are readable wherever they are printed.

use std::fs;

use crate::sources;

/// The programs and libraries that people use.
const FOLDERS: [&str; 4] = ["src", "crates", "scheduler-core", "scheduler-macros"];

/// `fn main() -> Result<(), Box<dyn Error>>` and `expect` print an error by `Debug`.
#[test]
fn each_error_prints_its_text_by_debug_too() {
    let sources = FOLDERS.iter().flat_map(|folder| sources::of(folder));
    let (mut found, mut faults) = (0, Vec::new());
    let is_product =
        |source: &sources::Source| source.path.contains("src/") && !source.path.contains("/tests");
    for source in sources.filter(is_product) {
        let text = fs::read_to_string(&source.file).expect("a source file");
        for error in errors(&text) {
            found += 1;
            if !prints_its_text(&text, error) {
                faults.push(format!("{}: {error}", source.path));
            }
        }
    }
    assert!(found >= 15, "{found} errors");
    assert!(faults.is_empty(), "their `Debug` is not the text of `Display`: {faults:#?}");
}

/// The types that a file makes errors.
fn errors(text: &str) -> impl Iterator<Item = &str> {
    implemented(text).chain(derived(text))
}

fn derived(text: &str) -> impl Iterator<Item = &str> {
    text.split("thiserror::Error)]").skip(1).filter_map(|rest| {
        let mut declared = rest.lines().filter_map(|line| line.strip_prefix("pub "));
        let (_, name) = declared.next()?.split_once(' ')?;
        name.split([' ', '(', ';', '{']).next()
    })
}

fn implemented(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let (before, after) = line.strip_prefix("impl")?.split_once("Error for ")?;
        let is_trait = before.is_empty() || before.ends_with([' ', ':']);
        is_trait.then(|| after.trim_end_matches([' ', '{', '}']))
    })
}

/// The type is printed by `Debug` as by `Display`, perhaps with its causes.
fn prints_its_text(text: &str, error: &str) -> bool {
    let Some((_, body)) = text.split_once(&format!("fmt::Debug for {error} {{")) else {
        return false;
    };
    let body = body.split_once("\n}").map_or(body, |(body, _)| body);
    ["fmt::Display::fmt(self, f)", "with_causes(self, f)"].iter().any(|call| body.contains(call))
}

#[test]
fn an_error_that_prints_its_variant_is_found() {
    let text = "#[derive(Debug)]\npub struct Bad;\nimpl Error for Bad {}\n\
                impl fmt::Debug for Good {\n        fmt::Display::fmt(self, f)\n}\nimpl std::error::Error for Good {\n\
                #[derive(thiserror::Error)]\n#[error(\"made\")]\npub struct Made(u8);\n";
    let found: Vec<_> = errors(text).collect();
    assert_eq!(found, ["Bad", "Good", "Made"]);
    assert!(!prints_its_text(text, "Bad") && prints_its_text(text, "Good"));
}
