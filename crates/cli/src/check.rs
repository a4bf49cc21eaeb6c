//! `check`: plans a program, and finds tasks it lacks.
//!
//! A start finds faulty names, missing values and faulty settings. `check` asks the program for a dry run, which is the start
//! without the running, and adds what no program can know of itself: functions with `#[scheduled]` in the sources that the
//! linker has left out, because nothing in the program names their crate.
//!
//! No task runs.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use serde_json::Value;

use crate::client::plain;
use crate::context::Context;
use crate::error::{CliError, NO, OK};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// Exit with 1 also if there are only warnings
    #[arg(long)]
    deny: bool,
    /// The arguments of `cargo build`, such as `-p shop --bin shop --features mail`; without them, what `cargo run` would run
    #[arg(last = true, value_name = "CARGO ARGUMENTS")]
    cargo: Vec<String>,
}

/// Builds, asks for a dry run, compares: the code to exit with.
pub(crate) fn check(args: &CheckArgs, ctx: &mut Context<'_>) -> Result<u8, CliError> {
    let cargo = (ctx.variable)("CARGO").unwrap_or_else(|| "cargo".to_owned());
    let program = build(&cargo, &args.cargo)?;
    let output = Command::new(&program.executable).env("SCHEDULER_DRY_RUN", "1").output();
    let output = output.map_err(|error| {
        CliError::unable(format!("{} cannot be run: {error}", program.executable))
    })?;
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let tasks = tasks(&report);
    let is_planned = report.lines().any(|line| line == "settings");
    if !is_planned {
        let said: Vec<String> = errors.lines().map(plain).collect();
        let fault = if output.status.success() {
            CliError::unable("the program has ended without a report of its tasks")
                .help("it has to reach the start of its scheduler: `scheduler::start()`, `builder.start()` or `builder.spawn()`")
        } else {
            CliError::no(format!("the program does not start\n{}", said.join("\n")))
        };
        return Err(fault);
    }
    report.lines().try_for_each(|line| ctx.say(plain(line)))?;
    let mut warnings = report.lines().filter(|line| line.starts_with("WARN")).count();
    let linked: BTreeSet<(String, u32)> = tasks.iter().cloned().collect();
    for package in program.packages(&cargo)? {
        let missing = package.annotations()?;
        let missing: Vec<_> = missing.iter().filter(|place| !linked.contains(*place)).collect();
        for (file, line) in &missing {
            ctx.say(format!("warning: {}:{line}: this task is not in the program", plain(file)))?;
        }
        if !missing.is_empty() {
            let help = match package.is_root {
                true => {
                    "is there a `mod` for the file, and is the task among those of `tasks![…]`?"
                        .to_owned()
                }
                false => format!(
                    "a crate that nothing names is not linked: write `use {} as _;` in main.rs",
                    package.krate
                ),
            };
            ctx.say(format!("  help: {help}"))?;
        }
        warnings += missing.len();
    }
    let noun = |count, one: &str| if count == 1 { one.to_owned() } else { format!("{one}s") };
    ctx.say(format!(
        "\n{} {}, {warnings} {}",
        tasks.len(),
        noun(tasks.len(), "task"),
        noun(warnings, "warning")
    ))?;
    Ok(if args.deny && warnings > 0 { NO } else { OK })
}

/// A program that was built.
#[derive(Debug)]
struct Program {
    executable: String,
    package: String,
    /// The source file of its `main`.
    main: PathBuf,
}

/// A package of the workspace that is part of the program.
#[derive(Debug)]
struct Package {
    /// The name of its library in code.
    krate: String,
    /// True if the program itself is in it.
    is_root: bool,
    folder: PathBuf,
    /// Compilers name files from here.
    workspace: PathBuf,
    /// Source files of programs that are not this one.
    others: Vec<PathBuf>,
}

/// Builds what the arguments say, which has to be one program.
fn build(cargo: &str, arguments: &[String]) -> Result<Program, CliError> {
    let mut command = Command::new(cargo);
    command.args(["build", "--message-format=json-render-diagnostics"]).args(arguments);
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| no_cargo(&error))?;
    if !output.status.success() {
        return Err(CliError::no("the program cannot be built"));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let programs = messages.filter_map(|message| {
        Some(Program {
            executable: message["executable"].as_str()?.to_owned(),
            package: message["package_id"].as_str()?.to_owned(),
            main: message["target"]["src_path"].as_str()?.into(),
        })
    });
    let mut programs: Vec<Program> = programs.collect();
    match (programs.len(), programs.pop()) {
        (1, Some(program)) => Ok(program),
        (0, _) => Err(CliError::unable("nothing that was built can be run")
            .help("name a program: scheduler check -- -p shop --bin shop")),
        _ => Err(CliError::unable("several programs were built, and one can be checked")
            .help("name it: scheduler check -- -p shop --bin shop")),
    }
}

fn no_cargo(error: &io::Error) -> CliError {
    CliError::unable(format!("cargo cannot be run: {error}"))
}

impl Program {
    /// The packages of the workspace that the program depends on, and its own.
    fn packages(&self, cargo: &str) -> Result<Vec<Package>, CliError> {
        let mut command = Command::new(cargo);
        let output =
            command.args(["metadata", "--format-version", "1", "--quiet"]).stderr(Stdio::inherit());
        let output = output.output().map_err(|error| no_cargo(&error))?;
        let metadata: Value = serde_json::from_slice(&output.stdout)
            .map_err(|_| CliError::unable("`cargo metadata` says nothing that can be read"))?;
        let id = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let members: BTreeSet<String> = array(&metadata["workspace_members"]).map(id).collect();
        let nodes = array(&metadata["resolve"]["nodes"]).map(|node| (id(&node["id"]), node));
        let nodes: HashMap<String, &Value> = nodes.collect();
        let (mut reached, mut left) = (BTreeSet::new(), vec![self.package.clone()]);
        while let Some(package) = left.pop() {
            // Libraries of others have tasks of their own only if they say so.
            if !members.contains(&package) || !reached.insert(package.clone()) {
                continue;
            }
            let needs = nodes.get(&package).map(|node| array(&node["deps"]));
            let normal = |dependency: &&Value| {
                array(&dependency["dep_kinds"]).any(|kind| kind["kind"].is_null())
            };
            left.extend(
                needs.into_iter().flatten().filter(normal).map(|dependency| id(&dependency["pkg"])),
            );
        }
        let workspace = PathBuf::from(id(&metadata["workspace_root"]));
        let packages =
            array(&metadata["packages"]).filter(|package| reached.contains(&id(&package["id"])));
        Ok(packages.map(|package| self.package(package, &workspace)).collect())
    }

    fn package(&self, package: &Value, workspace: &Path) -> Package {
        let path = |value: &Value| PathBuf::from(value.as_str().unwrap_or_default());
        let is_root = package["id"] == *self.package;
        let is_library =
            |target: &Value| array(&target["kind"]).any(|kind| kind == "lib" || kind == "rlib");
        let programs = array(&package["targets"])
            .filter(|target| !is_library(target) && path(&target["src_path"]) != self.main);
        // A library may have another name than its package.
        let library = array(&package["targets"]).find(|target| is_library(target));
        Package {
            krate: library.unwrap_or(package)["name"]
                .as_str()
                .unwrap_or_default()
                .replace('-', "_"),
            is_root,
            folder: path(&package["manifest_path"])
                .parent()
                .map(Path::to_owned)
                .unwrap_or_default(),
            workspace: workspace.to_owned(),
            others: programs.map(|target| path(&target["src_path"])).collect(),
        }
    }
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

impl Package {
    /// The places of annotations in the sources: files as compilers name them, and lines.
    fn annotations(&self) -> Result<Vec<(String, u32)>, CliError> {
        let mut found = Vec::new();
        let mut left = vec![self.folder.join("src")];
        while let Some(path) = left.pop() {
            let unread =
                |error| CliError::unable(format!("{} cannot be read: {error}", path.display()));
            if path.is_dir() {
                for entry in fs::read_dir(&path).map_err(unread)? {
                    left.push(entry.map_err(unread)?.path());
                }
            } else if path.extension().is_some_and(|extension| extension == "rs")
                && !self.others.contains(&path)
            {
                let source = fs::read_to_string(&path).map_err(unread)?;
                let file = path.strip_prefix(&self.workspace).unwrap_or(&path);
                let file = file.to_string_lossy().replace('\\', "/");
                let lines = annotations(&source).into_iter();
                found.extend(lines.map(|line| (file.clone(), line)));
            }
        }
        found.sort();
        Ok(found)
    }
}

/// The places of the tasks of a report, which are in lines such as `task shop::report (src/jobs.rs:7)`: the file, as the
/// compiler names it, and the line of the annotation.
fn tasks(report: &str) -> Vec<(String, u32)> {
    let tasks = report.lines().filter_map(|line| {
        let (_, place) = line.strip_prefix("task ")?.rsplit_once(" (")?;
        let (file, line) = place.strip_suffix(')')?.rsplit_once(':')?;
        Some((file.replace('\\', "/"), line.parse().ok()?))
    });
    tasks.collect()
}

/// The lines of a source with `#[scheduled(…)]` or `#[job…]`; not those that a `cfg` may leave out, nor those of a module of
/// tests, which comes last.
fn annotations(source: &str) -> Vec<u32> {
    let mut found = Vec::new();
    // True if a `#[cfg(…)]` is among the attributes of the next item.
    let mut is_conditional = false;
    for (number, line) in (1..).zip(source.lines()) {
        let line = line.trim_start();
        if line.starts_with("#[cfg(") || line.starts_with("#![cfg(") {
            is_conditional = true;
        } else if is_conditional && line.starts_with("mod ") {
            break;
        } else if is_annotation(line) {
            found.push((number, is_conditional));
        } else if line.starts_with("fn ") || line.contains(" fn ") {
            is_conditional = false;
        }
    }
    found
        .into_iter()
        .filter(|(_, is_conditional)| !is_conditional)
        .map(|(number, _)| number)
        .collect()
}

fn is_annotation(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("#[") else { return false };
    let rest = rest.strip_prefix("scheduler::").unwrap_or(rest);
    ["scheduled(", "job(", "job]"].iter().any(|start| rest.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_found_where_they_count() {
        let source = "\
/// #[scheduled(fixed_rate = \"1s\")]
#[scheduled(fixed_rate = \"1s\")]
fn a() {}
    #[scheduler::scheduled(
        cron = \"@daily\",
    )]
    async fn b() {}
#[cfg(feature = \"mail\")]
#[job(name = \"mail\")]
fn c() {}
#[job]
fn d() {}
// #[job]
#[scheduled_by(x)]
fn e() {}
#[cfg(test)]
mod tests {
    #[scheduled(fixed_rate = \"1s\")]
    fn f() {}
}
";
        assert_eq!(annotations(source), [2, 4, 11]);
        assert_eq!(annotations("#![cfg(unix)]\n#[job]\nfn a() {}"), [0; 0]);
    }

    #[test]
    fn tasks_of_a_report_have_their_places() {
        let report =
            "settings\n  x  1\n\ntask shop (old)::tick (src/a b.rs:7)\n  cron  0 (x:9)\ntask odd\n";
        assert_eq!(tasks(report), [("src/a b.rs".to_owned(), 7)]);
    }
}
