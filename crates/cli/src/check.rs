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
use syn::Attribute;
use syn::visit::{self, Visit};

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

/// The options of `cargo build` that choose packages and features. The first three have a value.
const CHOOSING_OPTIONS: [&str; 5] =
    ["--manifest-path", "--features", "-F", "--all-features", "--no-default-features"];

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

/// An annotation in a source: the file as compilers name it, and the line.
type Place = (String, usize);

/// Builds a program, and compares the tasks of its dry run with its sources. Returns the exit code.
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
    // A dry run prints the settings first. Its exit code says less: a `main` may make an error of a scheduler that was not started.
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
    let linked: BTreeSet<Place> = tasks.iter().cloned().collect();
    for package in program.packages(&cargo, &args.cargo)? {
        warnings += package.warn(&linked, ctx)?;
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

/// The arguments that `cargo metadata` needs, too, to see the same packages and features.
fn choosing(arguments: &[String]) -> Vec<&String> {
    let (mut chosen, mut arguments) = (Vec::new(), arguments.iter());
    while let Some(argument) = arguments.next() {
        if CHOOSING_OPTIONS.iter().any(|option| argument.starts_with(option)) {
            chosen.push(argument);
            if CHOOSING_OPTIONS[..3].contains(&&**argument) {
                chosen.extend(arguments.next());
            }
        }
    }
    chosen
}

fn no_cargo(error: &io::Error) -> CliError {
    CliError::unable(format!("cargo cannot be run: {error}"))
}

impl Program {
    /// The packages of the workspace that the program depends on, and its own.
    fn packages(&self, cargo: &str, arguments: &[String]) -> Result<Vec<Package>, CliError> {
        let mut command = Command::new(cargo);
        command.args(["metadata", "--format-version", "1", "--quiet"]).args(choosing(arguments));
        let output = command.stderr(Stdio::inherit()).output().map_err(|error| no_cargo(&error))?;
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
        if reached.is_empty() {
            let id = plain(&self.package);
            let fault = format!(
                "the program's package {id} is not in the workspace that `cargo metadata` describes"
            );
            return Err(CliError::unable(fault)
                .help("name a program of it: scheduler check -- --manifest-path shop/Cargo.toml"));
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
    /// Warns of each annotated function that is not among the linked ones. Returns the number of warnings.
    fn warn(&self, linked: &BTreeSet<Place>, ctx: &mut Context<'_>) -> Result<usize, CliError> {
        let annotations = self.annotations(ctx)?;
        let missing: Vec<&Place> =
            annotations.iter().filter(|place| !linked.contains(*place)).collect();
        if missing.is_empty() {
            return Ok(0);
        }
        for (file, line) in &missing {
            ctx.say(format!("warning: {}:{line}: this task is not in the program", plain(file)))?;
        }
        let help = match self.is_root {
            true => "is there a `mod` for the file, and is the task among those of `tasks![…]`?"
                .to_owned(),
            false => format!(
                "a crate that nothing names is not linked: write `use {} as _;` in main.rs",
                self.krate
            ),
        };
        ctx.say(format!("  help: {help}"))?;
        Ok(missing.len())
    }

    /// The annotations in the sources, but for those that a `cfg` may leave out.
    fn annotations(&self, ctx: &mut Context<'_>) -> Result<Vec<Place>, CliError> {
        let (mut found, mut left_out) = (Vec::new(), Vec::new());
        for path in self.sources()? {
            let source = fs::read_to_string(&path).map_err(|error| unread(&path, &error))?;
            let file = path.strip_prefix(&self.workspace).unwrap_or(&path);
            let file = file.to_string_lossy().replace('\\', "/");
            match syn::parse_file(&source) {
                Ok(parsed) => {
                    left_out.extend(conditional_modules(&parsed, &path));
                    let lines = annotations(&parsed).into_iter();
                    let module = path.with_extension("");
                    found.extend(lines.map(|line| (module.clone(), (file.clone(), line))));
                }
                // A source that is only included somewhere need not be items.
                Err(error) => {
                    let note = format!("note: {} is not looked at: {error}", plain(&file));
                    writeln!(ctx.errors, "{note}").ok();
                }
            }
        }
        found.retain(|(module, _)| !left_out.iter().any(|folder| module.starts_with(folder)));
        let mut places: Vec<Place> = found.into_iter().map(|(_, place)| place).collect();
        places.sort();
        Ok(places)
    }

    /// The source files that may be of this program.
    fn sources(&self) -> Result<Vec<PathBuf>, CliError> {
        let (mut sources, mut left) = (Vec::new(), vec![self.folder.join("src")]);
        while let Some(path) = left.pop() {
            if path.is_dir() {
                for entry in fs::read_dir(&path).map_err(|error| unread(&path, &error))? {
                    left.push(entry.map_err(|error| unread(&path, &error))?.path());
                }
            } else if path.extension().is_some_and(|extension| extension == "rs")
                && !self.others.contains(&path)
            {
                sources.push(path);
            }
        }
        sources.sort();
        Ok(sources)
    }
}

fn unread(path: &Path, error: &io::Error) -> CliError {
    CliError::unable(format!("{} cannot be read: {error}", path.display()))
}

/// The places of the tasks of a report, which are in lines such as `task shop::report (src/jobs.rs:7)`: the file, as the
/// compiler names it, and the line of the annotation.
fn tasks(report: &str) -> Vec<Place> {
    let tasks = report.lines().filter_map(|line| {
        let (_, place) = line.strip_prefix("task ")?.rsplit_once(" (")?;
        let (file, line) = place.strip_suffix(')')?.rsplit_once(':')?;
        Some((file.replace('\\', "/"), line.parse().ok()?))
    });
    tasks.collect()
}

/// The lines of `#[scheduled(…)]` and `#[job…]` in a source, but for those that a `cfg` may leave out.
fn annotations(file: &syn::File) -> Vec<usize> {
    let mut found = Annotations::default();
    if !is_conditional(&file.attrs) {
        found.visit_file(file);
    }
    found.lines
}

/// The files, without extension, and the folders of the modules that a `cfg` in this file may leave out.
fn conditional_modules(file: &syn::File, path: &Path) -> Vec<PathBuf> {
    let is_root = ["main", "lib", "mod"].iter().any(|name| path.ends_with(format!("{name}.rs")));
    let folder = if is_root { path.with_file_name("") } else { path.with_extension("") };
    let modules = file.items.iter().filter_map(|item| match item {
        syn::Item::Mod(module) if module.content.is_none() && is_conditional(&module.attrs) => {
            Some(folder.join(module.ident.to_string()))
        }
        _ => None,
    });
    modules.collect()
}

#[derive(Default)]
struct Annotations {
    lines: Vec<usize>,
}

impl Annotations {
    /// Looks at the attributes of an item. Returns false if a `cfg` is among them, which may leave out all that is in it.
    fn enter(&mut self, attributes: &[Attribute]) -> bool {
        let is_there = !is_conditional(attributes);
        let found = attributes.iter().filter(|attribute| is_there && is_annotation(attribute));
        self.lines.extend(found.map(|attribute| attribute.pound_token.span.start().line));
        is_there
    }
}

impl<'ast> Visit<'ast> for Annotations {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if self.enter(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if self.enter(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if self.enter(&item.attrs) {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if self.enter(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }
}

fn is_conditional(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("cfg"))
}

fn is_annotation(attribute: &Attribute) -> bool {
    let mut names = attribute.path().segments.iter().rev().map(|part| &part.ident);
    names.next().is_some_and(|name| name == "scheduled" || name == "job")
        && names.all(|name| name == "scheduler")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotations_of(source: &str) -> Vec<usize> {
        annotations(&syn::parse_file(source).unwrap())
    }

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
impl Mailer { #[job] fn f(&self) {} }
fn main() { #[job] fn g() {} }
const TEXT: &str = \"
#[job]
\";
";
        assert_eq!(annotations_of(source), [2, 4, 11, 16, 17]);
    }

    #[test]
    fn a_cfg_leaves_out_its_own_item_and_no_other() {
        for conditional in [
            "#[cfg(feature = \"x\")] mod x;",
            "#[cfg(unix)] use a::b;",
            "#[cfg(unix)]\nconst A: u8 = 0;",
            "#[job]\n#[cfg(unix)]\nfn x() {}",
            "#[cfg(test)]\npub mod tests { #[job] fn x() {} }",
            "#[cfg(test)] pub(crate) mod tests {\n mod inner { #[job] fn x() {} }\n}",
            "mod all { #![cfg(unix)]\n#[job] fn x() {} }",
            "#[cfg(unix)] impl A { #[job] fn x(&self) {} }",
            "fn a() { #[cfg(unix)] #[job] fn x() {} }",
        ] {
            let source = format!("{conditional}\n#[job]\nfn a() {{}}\n");
            let line = source.lines().count() - 1;
            assert_eq!(annotations_of(&source), [line], "{conditional}");
        }
        assert_eq!(annotations_of("#![cfg(unix)]\n#[job]\nfn a() {}"), [0; 0]);
    }

    #[test]
    fn tasks_of_a_report_have_their_places() {
        let report =
            "settings\n  x  1\n\ntask shop (old)::tick (src/a b.rs:7)\n  cron  0 (x:9)\ntask odd\n";
        assert_eq!(tasks(report), [("src/a b.rs".to_owned(), 7)]);
    }
}
