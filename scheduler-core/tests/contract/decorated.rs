//! Contract tests that run a second time, with decorated tasks (EC-L1).

use std::process::Command;

use crate::kit::DECORATED;

const SECTIONS: [&str; 6] = ["cancel", "handles", "periodic", "shutdown", "stats", "timing"];

#[test]
fn ec_l1_the_sections_hold_for_decorated_tasks_too() {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(SECTIONS.map(|section| format!("contract::{section}::"))).env(DECORATED, "");
    let output = command.output().expect("the child starts");
    let words = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{words}");
    for section in SECTIONS {
        assert!(words.contains(&format!("test contract::{section}::ec_")), "{section}: {words}");
    }
}
