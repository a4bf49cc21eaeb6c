//! The program that cargo builds, and its sources in the workspace.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use serde_json::Value;

use super::sources;
use crate::error::CliError;

/// A program that was built.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) executable: String,
    package: String,
    /// The source file of its `main`.
    main: PathBuf,
}

/// A package of the workspace that is part of the program.
#[derive(Debug)]
pub(super) struct Package {
    /// The name of its library in code.
    pub(super) krate: String,
    /// True if the program itself is in it.
    pub(super) is_root: bool,
    folder: PathBuf,
    /// Compilers name files from here.
    workspace: PathBuf,
    /// Source files of programs that are not this one.
    others: Vec<PathBuf>,
}

/// Builds what the arguments say, which has to be one program.
pub(super) fn build(cargo: &str, arguments: &[String]) -> Result<Program, CliError> {
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
    pub(super) fn packages(&self, cargo: &str) -> Result<Vec<Package>, CliError> {
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
    pub(super) fn annotations(&self) -> Result<Vec<(String, u32)>, CliError> {
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
                let lines = sources::annotations(&source).into_iter();
                found.extend(lines.map(|line| (file.clone(), line)));
            }
        }
        found.sort();
        Ok(found)
    }
}
