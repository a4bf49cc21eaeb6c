//! The figures of the stop, which stand in one document, held against the constants.

use std::fs;
use std::path::Path;

/// A file, a constant of it, and the beginning of its row in `docs/production.md`.
const FIGURES: [(&str, &str, &str); 7] = [
    ("src/runner/prepare.rs", "AWAIT_TERMINATION", "runs in progress may go on"),
    ("src/runner/running.rs", "GRACE", "then they are asked to stop, and may end"),
    (
        "src/runner/running.rs",
        "STORE_LIMIT",
        "with a store, the last outcomes of durable jobs may be written",
    ),
    ("src/runner/running.rs", "FLUSH", "the last runs may report their ends"),
    ("src/runner/running.rs", "FLUSH", "at the end, listeners may hear the last events"),
    ("src/report/messages.rs", "FLUSH", "and the last messages may be printed"),
    ("src/runner/repeated_signal.rs", "REPETITION", "a second signal counts as the first one for"),
];

#[test]
fn the_figures_of_the_stop_are_those_of_the_constants() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let read = |path: &str| fs::read_to_string(root.join(path)).expect("a readable file");
    let document = read("docs/production.md");
    for (file, constant, row) in FIGURES {
        let source = read(file);
        let length = length(&source, constant);
        let row = format!("| {row} | {length}");
        assert!(document.contains(&row), "{constant} is {length}; docs/production.md: {row}");
    }
}

/// A constant, as people write a length: `500ms`.
fn length(source: &str, constant: &str) -> String {
    let start = format!("const {constant}: Duration = Duration::from_");
    let (_, value) = source.split_once(&start).expect("a constant");
    let (value, _) = value.split_once(");").expect("an end");
    match value.split_once('(').expect("a number") {
        ("secs", number) => format!("{number}s"),
        ("millis", number) => format!("{number}ms"),
        (unit, _) => panic!("{constant} is in {unit}"),
    }
}
