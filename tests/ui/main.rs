//! What the compiler says about an annotation: one file per message, named after the mistake.
//!
//! The words of rustc change from release to release, so messages are compared with one version
//! only. To accept new ones, run `TRYBUILD=overwrite cargo test -p ui --test ui` and read the difference.

use std::io::Write as _;
use std::process::Command;

/// The release of rustc whose messages are in the `.stderr` files.
const PINNED: &str = "rustc 1.95.";

#[test]
fn mistakes_have_their_messages() {
    let version = rustc_version();
    if version.starts_with(PINNED) {
        trybuild::TestCases::new().compile_fail("fail/*.rs");
    } else {
        // Not `eprintln!`, which is hidden when a test passes.
        let line = format!("skipped: messages are compared with {PINNED}x, not with {version}\n");
        std::io::stderr().write_all(line.as_bytes()).expect("stderr is open");
    }
}

/// But for one, in which rustc itself has the word: a macro cannot see that it stands in an `impl`.
#[test]
fn f_ma1_no_message_speaks_of_the_macro_itself() {
    let files = std::fs::read_dir("fail").expect("the folder is there");
    let paths = files.map(|file| file.expect("a readable folder").path());
    let messages: Vec<_> =
        paths.filter(|path| path.extension() == Some("stderr".as_ref())).collect();
    assert!(messages.len() > 40, "only {} messages", messages.len());
    for path in messages {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        assert!(!text.contains("panicked"), "{}", path.display());
        let is_rustcs = path.ends_with("method_in_impl.stderr");
        assert!(is_rustcs || !text.contains("this error originates"), "{}", path.display());
    }
}

#[test]
fn correct_annotations_compile_and_run() {
    trybuild::TestCases::new().pass("pass/*.rs");
}

/// The compiler that trybuild will use: rustup and cargo agree on it for this process.
fn rustc_version() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().expect("rustc runs");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
