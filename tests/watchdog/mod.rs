//! Sends signals to a program of a test, and ends a slow one.

use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn signal(id: u32, name: &str) {
    let status = Command::new("kill").args([format!("-{name}"), id.to_string()]).status();
    assert!(status.expect("`kill` runs").success());
}

/// Kills the program unless what is returned is dropped before.
pub(crate) fn watch(id: u32) -> mpsc::Sender<()> {
    let (alive, died) = mpsc::channel();
    let watchdog = thread::Builder::new().spawn(move || {
        if died.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
            signal(id, "KILL");
        }
    });
    watchdog.expect("a thread starts");
    alive
}
