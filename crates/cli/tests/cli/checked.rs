//! `check`, with a cargo that builds nothing and says what a test has it say.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{self, Command};

use serde_json::json;

use crate::{Answered, Typed};

/// A workspace of two packages, `shop` with a program and `jobs`, whose library `shop-jobs` it depends on; and what the
/// program does.
struct Workspace(PathBuf);

impl Workspace {
    fn new(name: &str, program: &str) -> Self {
        // Another run of these tests may go on in the same target directory.
        let folder = format!("{name}-{}", process::id());
        let workspace = Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder));
        workspace.write("shop/src/main.rs", "#[scheduled(fixed_rate = \"1s\")]\nfn tick() {}\n");
        workspace
            .write("shop/src/bin/other.rs", "#[scheduled(fixed_rate = \"1s\")]\nfn other() {}\n");
        workspace.write("jobs/src/lib.rs", "#[cfg(feature = \"chat\")]\nmod chat;\nmod mail;\n");
        workspace.write("jobs/src/chat.rs", "#[job]\nfn chat() {}\n");
        workspace.write("jobs/src/chat/group.rs", "#[job]\nfn group() {}\n");
        workspace.write(
            "jobs/src/mail.rs",
            "\n#[job]\nfn mail() {}\n#[cfg(test)]\nmod tests {\n#[job]\nfn x() {}\n}\n",
        );
        workspace.write("unused/src/lib.rs", "#[job]\nfn unused() {}\n");
        workspace.script("program", program);
        let path = |file: &str| workspace.0.join(file).display().to_string();
        let target = |kind: &str, file: &str| json!({ "kind": [kind], "name": "shop-jobs", "src_path": path(file) });
        let built = json!({
            "package_id": "shop", "executable": path("program"), "target": target("bin", "shop/src/main.rs"),
        });
        let package = |name: &str, targets: &[serde_json::Value]| json!({ "id": name, "name": name, "manifest_path": path(&format!("{name}/Cargo.toml")), "targets": targets });
        let needs = |name: &str, kind: Option<&str>| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        let metadata = json!({
            "workspace_root": path(""), "workspace_members": ["shop", "jobs", "unused"],
            "packages": [
                package("shop", &[target("bin", "shop/src/main.rs"), target("bin", "shop/src/bin/other.rs")]),
                package("jobs", &[target("lib", "jobs/src/lib.rs")]),
                package("unused", &[target("lib", "unused/src/lib.rs")]),
            ],
            "resolve": { "nodes": [
                { "id": "shop", "deps": [needs("jobs", None), needs("unused", Some("dev"))] },
                { "id": "jobs", "deps": [needs("shop", None)] },
            ] },
        });
        workspace.write(
            "built.json",
            &format!("{{\"reason\":\"compiler-artifact\",\"executable\":null}}\n{built}\n"),
        );
        workspace.write("metadata.json", &metadata.to_string());
        let say = |file: &str| format!("cat '{}'", path(file));
        let cargo = format!(
            "echo \"$*\" >> '{}'; case \"$1 $3\" in 'build broken') exit 101;; 'build none') ;; build*) {};; *) {};; esac",
            path("asked.txt"),
            say("built.json"),
            say("metadata.json")
        );
        workspace.script("cargo", &cargo);
        workspace
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    /// RACE: a child that another test has forked may hold whatever this process has open for writing, until it executes
    /// its program; a script that is open for writing cannot be executed. So another process writes it.
    fn script(&self, file: &str, text: &str) {
        let draft = format!("{file}.txt");
        self.write(&draft, &format!("#!/bin/sh\n{text}\n"));
        let copied = Command::new("cp").arg(self.0.join(draft)).arg(self.0.join(file)).status();
        assert!(copied.expect("cp").success());
        fs::set_permissions(self.0.join(file), fs::Permissions::from_mode(0o755))
            .expect("a script");
    }

    fn check(&self, args: &[&str]) -> Answered {
        let mut typed = Typed::new(args);
        typed.variables.insert("CARGO", self.0.join("cargo").display().to_string());
        typed.answer()
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

const REPORT: &str = "[ \"$SCHEDULER_DRY_RUN\" = 1 ] && printf 'settings\\n\\ntask shop::tick (shop/src/main.rs:1)\\n'";

#[test]
fn a_task_that_is_not_linked_is_found() {
    let workspace = Workspace::new("not-linked", REPORT);
    let answer = workspace.check(&["check"]);
    let expected = "\
settings

task shop::tick (shop/src/main.rs:1)
warning: jobs/src/mail.rs:2: this task is not in the program
  help: a crate that nothing names is not linked: write `use shop_jobs as _;` in main.rs

1 task, 1 warning
";
    assert_eq!((&*answer.output, &*answer.errors, answer.code), (expected, "", 0));
    assert_eq!(workspace.check(&["check", "--deny", "--", "-p", "shop"]).code, 1);
}

#[test]
fn a_program_whose_tasks_are_all_there_passes_also_if_its_start_is_an_error() {
    let program = format!("{REPORT}; echo 'task jobs::mail (jobs/src/mail.rs:2)'; exit 1");
    let answer = Workspace::new("all-there", &program).check(&["check", "--deny"]);
    let Answered { output, errors, .. } = &answer;
    assert!(output.ends_with("\n2 tasks, 0 warnings\n"), "{output}{errors}");
    assert_eq!(answer.code, 0);
    let program =
        format!("{program}; ").replace("exit 1", "echo 'WARN  a key \u{1b}[31mis unknown'");
    let answer = Workspace::new("warned", &program).check(&["check", "--deny"]);
    assert!(answer.output.contains("WARN  a key \u{fffd}[31mis unknown"), "{}", answer.output);
    assert_eq!(answer.code, 1);
}

#[test]
fn a_program_that_cannot_be_checked_is_named() {
    let program = "echo 'cannot start: 1 fault was found' >&2; exit 1";
    let workspace = Workspace::new("faulty", program);
    let answer = workspace.check(&["check"]);
    let expected = "error: the program does not start\ncannot start: 1 fault was found\n";
    assert_eq!((&*answer.errors, answer.code), (expected, 1));
    let answer = workspace.check(&["check", "--", "broken"]);
    assert_eq!((&*answer.errors, answer.code), ("error: the program cannot be built\n", 1));
    let answer = workspace.check(&["check", "--", "none"]);
    assert!(answer.errors.contains("nothing that was built can be run") && answer.code == 2);
    let answer = Workspace::new("silent", "exit 0").check(&["check"]);
    assert!(answer.errors.contains("without a report") && answer.code == 2, "{}", answer.errors);
}

#[test]
fn the_packages_are_those_of_the_build() {
    let workspace = Workspace::new("elsewhere", REPORT);
    let choosing = ["--manifest-path", "a/Cargo.toml", "--features=mail", "--no-default-features"];
    let args = [&["check", "--", "-p", "shop", "--release"][..], &choosing].concat();
    assert_eq!(workspace.check(&args).code, 0);
    let asked = fs::read_to_string(workspace.0.join("asked.txt")).expect("what cargo was asked");
    let expected = format!("metadata --format-version 1 --quiet {}", choosing.join(" "));
    assert_eq!(asked.lines().last(), Some(&*expected));

    let other = json!({ "workspace_root": "", "workspace_members": ["other"], "packages": [] });
    workspace.write("metadata.json", &other.to_string());
    let answer = workspace.check(&["check"]);
    assert!(answer.errors.contains("package shop is not in the workspace"), "{}", answer.errors);
    assert!(answer.errors.contains("--manifest-path") && answer.code == 2);
}

#[test]
fn a_source_that_is_no_rust_is_named_and_the_others_are_looked_at() {
    let workspace = Workspace::new("included", REPORT);
    workspace.write("jobs/src/table.rs", "[1, 2, 3]\n");
    let answer = workspace.check(&["check"]);
    assert!(
        answer.errors.starts_with("note: jobs/src/table.rs is not looked at: "),
        "{}",
        answer.errors
    );
    assert!(answer.output.contains("warning: jobs/src/mail.rs:2: ") && answer.code == 0);
}
