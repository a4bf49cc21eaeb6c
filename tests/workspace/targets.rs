//! Every file in `tests/`, `examples/` and `benches/` is compiled.
//!
//! Cargo looks for no targets there: a file that nothing names is never compiled.

use std::fs;
use std::path::Path;

use crate::sources::{self, Source};

#[test]
fn every_file_belongs_to_a_target() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    for folder in ["tests", "examples", "benches"] {
        // The root has the example `hello`, and most tests share a process with others.
        let own = format!("{folder}/Cargo.toml");
        let places =
            ["Cargo.toml", "tests/main.rs", "tests/annotations.rs", "tests/annotated.rs", &own];
        let named =
            places.map(|place| fs::read_to_string(root.join(place)).expect("a text")).concat();
        for entry in fs::read_dir(root.join(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
            let lines = [
                format!("name = \"{name}\"\n"),
                format!("path = \"{name}.rs\"\n"),
                format!("mod {name};\n"),
            ];
            let is_named = lines.iter().any(|line| named.contains(line));
            let is_source = path.extension() == Some("rs".as_ref());
            assert!(!is_source || is_named, "no target has {}", path.display());
        }
    }
}

/// `cargo test` skips the tests of such a library.
#[test]
fn no_library_with_tests_is_left_out_of_cargo_test() {
    let text = |source: &Source| fs::read_to_string(&source.file).expect("a text");
    let mut tests = sources::of("");
    tests.retain(|source| text(source).contains("#[cfg(test)]"));
    assert!(tests.len() > 20, "only {} files have tests", tests.len());
    for manifest in sources::with_ending("toml") {
        let Some(folder) = manifest.path.strip_suffix("Cargo.toml") else { continue };
        let source = format!("{folder}src/");
        let text = text(&manifest);
        let (_, library) = text.split_once("\n[lib]\n").unwrap_or_default();
        let mut table = library.lines().take_while(|line| !line.starts_with('['));
        let is_left_out = table.any(|line| line == "test = false");
        let has_tests = tests.iter().any(|file| file.path.starts_with(&source));
        assert!(!is_left_out || !has_tests, "{} leaves tests out", manifest.path);
    }
}
