//! Holds the files that git tracks to what is expected of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sources::root;

const BYTES_MAX: u64 = 1_000_000;

/// The entries of the root, without packages: folders with a `Cargo.toml`.
const ROOT: [&str; 24] = [
    ".cargo",
    ".ci",
    ".editorconfig",
    ".gitattributes",
    ".github",
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "SECURITY.md",
    "ci",
    "clippy.toml",
    "crates",
    "deny.toml",
    "docs",
    "fuzz",
    "rustfmt.toml",
    "src",
    "tests",
];

#[test]
fn no_tracked_file_is_larger_than_a_megabyte() {
    for file in tracked() {
        // A file that is deleted and not yet committed.
        let Ok(about) = fs::symlink_metadata(root().join(&file)) else { continue };
        assert!(about.len() <= BYTES_MAX, "{} has {} bytes", file.display(), about.len());
        assert!(!about.is_symlink(), "{}: a checkout on Windows has no links", file.display());
    }
}

#[test]
fn the_root_holds_only_what_is_listed() {
    for file in tracked() {
        let first = file.iter().next().and_then(|name| name.to_str()).expect("a name");
        let is_package = root().join(first).join("Cargo.toml").exists();
        assert!(
            ROOT.contains(&first) || is_package,
            "{first}: list it in {}, or remove it",
            file!()
        );
    }
}

#[test]
fn every_licence_is_that_of_the_root() {
    let read = |path: &Path| fs::read(path).expect("a licence");
    for file in tracked() {
        let Some(name) = file.file_name().filter(|_| file.iter().count() > 1) else { continue };
        if name.to_str().is_some_and(|name| name.starts_with("LICENSE")) {
            assert!(read(&root().join(&file)) == read(&root().join(name)), "{}", file.display());
        }
    }
}

/// The scheduler reads each variable with its prefix as a setting, and warns of those that it does not know.
#[test]
fn no_script_sets_a_variable_that_is_taken_for_a_setting() {
    for file in tracked().iter().filter(|file| file.starts_with("ci") || file.starts_with(".ci")) {
        let Ok(text) = fs::read_to_string(root().join(file)) else { continue };
        let line = text.lines().find(|line| line.contains("SCHEDULER_") && line.contains('='));
        assert!(line.is_none(), "{}: {}", file.display(), line.unwrap_or_default());
    }
}

/// Proptest looks for the cases of `src/a/b.rs` in `proptest-regressions/a/b.txt`.
#[test]
fn every_kept_case_of_a_property_has_its_source() {
    for file in tracked() {
        let path = file.to_str().expect("a name");
        let Some((krate, case)) = path.split_once("proptest-regressions/") else { continue };
        let source = Path::new(krate).join("src").join(case).with_extension("rs");
        assert!(root().join(&source).exists(), "{path} is replayed by no {}", source.display());
    }
}

/// All files that git tracks, from the root; none where this is no checkout of git.
fn tracked() -> Vec<PathBuf> {
    if !root().join(".git").exists() {
        return Vec::new();
    }
    // In a container the checkout often belongs to another user, whom git would not trust.
    let mut git = Command::new("git");
    let git = git.current_dir(root()).args(["-c", "safe.directory=*", "ls-files", "-z"]);
    let output = git.output().expect("git");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).expect("names in UTF-8");
    let files: Vec<PathBuf> = names.split_terminator('\0').map(PathBuf::from).collect();
    assert!(files.len() > 1_000, "only {} files", files.len());
    files
}
