//! The messages of the compiler about annotations.
//!
//! Each kind of mistake has a file, named after it. The macro reports the mistakes of `fail`, rustc those of `rustc`.
//!
//! A unit test of `scheduler-macros` compares the texts of `fail` without a compiler; here the places that they point to
//! are compared, too.
//!
//! The words of rustc change from release to release, so messages are compared with one version
//! only, which `ci/ui.sh` takes care of. To accept new ones, run `TRYBUILD=overwrite cargo test -p ui --test ui` and read the difference.

use std::io::Write as _;
use std::process::Command;

/// Names the release of rustc whose messages are in the `.stderr` files.
const TOOLCHAIN: &str = include_str!("rust-toolchain.toml");

/// All in one call, so that the library is built once.
#[test]
fn mistakes_have_their_messages_and_programs_without_run() {
    let cases = trybuild::TestCases::new();
    cases.pass("pass/*.rs");
    let (pinned, version) = (pinned_version(), rustc_version());
    if version.starts_with(&pinned) {
        cases.compile_fail("fail/*.rs");
        return cases.compile_fail("rustc/*.rs");
    }
    // Not `eprintln!`, which is hidden when a test passes.
    let line =
        format!("nothing was compared: the messages are those of {pinned}x, not of {version}\n");
    std::io::stderr().write_all(line.as_bytes()).expect("stderr is open");
}

/// The release without its last number: `rustc 1.95.`
fn pinned_version() -> String {
    let (_, rest) = TOOLCHAIN.split_once("channel = \"").expect("a channel");
    let (channel, _) = rest.split_once('"').expect("its end");
    let (release, _) = channel.rsplit_once('.').expect("three numbers");
    format!("rustc {release}.")
}

/// The compiler that trybuild will use: rustup and cargo agree on it for this process.
fn rustc_version() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().expect("rustc runs");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
