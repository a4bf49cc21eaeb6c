//! Runs a test in a process of its own.
//!
//! For things that a process has once, as a logger, or uses, as memory.

use std::process::Command;

/// Returns false when the test, which is the one that calls this, has passed in a process of its own, and true in that
/// process.
pub(crate) fn is_in_own_process<T: Fn()>(test: T) -> bool {
    const OWN: &str = "TEST_IN_OWN_PROCESS";
    if std::env::var_os(OWN).is_some() {
        return true;
    }
    let output = command_for(test).env(OWN, "").output().expect("the child starts");
    let is_passed = String::from_utf8_lossy(&output.stdout).contains("test result: ok. 1 passed");
    assert!(is_passed && output.status.success(), "{output:#?}");
    false
}

/// The command that runs one test of this program and nothing else.
pub(crate) fn command_for<T: Fn()>(_test: T) -> Command {
    let (_, name) = std::any::type_name::<T>().split_once("::").expect("the test is in a crate");
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", name, "--nocapture"]);
    command
}
