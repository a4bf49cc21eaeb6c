//! Compares the claims of `SECURITY.md` with the sources.

use std::fs;

use crate::sources::{self, Source};

/// Opens a port, or connects to one.
const NETWORK: [&str; 7] = [
    "TcpListener",
    "TcpStream",
    "UdpSocket",
    "UnixListener",
    "UnixStream",
    "ureq::",
    "tokio_postgres::",
];

/// Changes a file or a folder.
const WRITES: [&str; 7] = [
    "fs::write",
    "File::create",
    "OpenOptions",
    "create_dir",
    "fs::remove",
    "fs::rename",
    "fs::copy",
];

/// The code of a file: without comments, and without the tests at its end.
fn code(source: &Source) -> String {
    let text = fs::read_to_string(&source.file).expect("a source file");
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

fn is_test(source: &Source) -> bool {
    source.inside.iter().any(|part| part == "tests" || part == "tests.rs")
}

/// The files below a folder that have one of these words.
fn with(folder: &str, words: &[&str]) -> Vec<String> {
    let sources = sources::of(folder).into_iter().filter(|source| !is_test(source));
    let has = |source: &Source| words.iter().any(|word| code(source).contains(word));
    sources.filter(has).map(|source| source.path).collect()
}

#[test]
fn only_the_crates_that_the_page_names_reach_the_network() {
    for folder in [
        "src",
        "scheduler-core/src",
        "crates/api/src",
        "crates/expr/src",
        "scheduler-macros/src",
        "crates/node/src",
        "crates/sqlite/src",
        "crates/store/src",
    ] {
        assert_eq!(with(folder, &NETWORK), Vec::<String>::new(), "see SECURITY.md");
    }
    for name in ["cli", "dashboard", "monitors", "postgres"] {
        assert_ne!(with(&format!("crates/{name}/src"), &NETWORK), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn no_crate_writes_a_file_but_sqlite_its_own() {
    let crates = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../crates")).expect("crates");
    let names = crates.map(|entry| entry.expect("an entry").file_name().into_string());
    let folders = names.map(|name| format!("crates/{}/src", name.expect("a name")));
    let above = ["src", "scheduler-core/src", "scheduler-macros/src"].map(str::to_owned);
    for folder in folders.chain(above) {
        assert_eq!(with(&folder, &WRITES), Vec::<String>::new(), "see SECURITY.md");
    }
}
