//! Compares the paths in the documents with the files.
//!
//! A path in a document is a link, or words of code with a `/` or the ending of a file: they count from
//! the document, from the root, or from the sources of a crate.

use std::fs;
use std::path::{Path, PathBuf};

use crate::layers;
use crate::sources::{self, root};

const DOCUMENTS: [&str; 10] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "docs",
    "examples/README.md",
    "scheduler-macros/src/manual.md",
    "scheduler-macros/src/job.md",
    "crates/monitors/src/manual.md",
];

/// The folders from which paths count, beside the folder of the document.
const ORIGINS: [&str; 10] = [
    "",
    "src",
    "crates/store/src",
    "crates/sqlite/src",
    "scheduler-core",
    "scheduler-core/src",
    "scheduler-macros/src",
    "crates/expr/src",
    "crates/monitors/src",
    "crates/cli/src",
];

/// Files of users, and build results.
const ELSEWHERE: [&str; 4] = ["scheduler.toml", "src/main.rs", "target/", "application.properties"];

const ENDINGS: [&str; 5] = [".rs", ".md", ".sh", ".toml", ".txt"];

#[test]
fn every_path_in_a_document_leads_to_something() {
    let mut faults = Vec::new();
    let mut count = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).expect("a readable document");
        let folder = document.parent().expect("a folder").to_owned();
        for (line, path) in paths(&text) {
            count += 1;
            if !exists(&folder, path) {
                faults.push(format!("{}:{line}: there is no `{path}`", document.display()));
            }
        }
    }
    assert!(count > 100, "only {count} paths were found");
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn every_file_that_a_comment_names_is_there() {
    let mut faults = Vec::new();
    for file in sources::of("").into_iter().chain(sources::with_ending("sql")) {
        let text = fs::read_to_string(&file.file).expect("a source file");
        let folder = file.file.parent().expect("a folder");
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_start();
            let is_comment = ["//", "--"].iter().any(|start| line.starts_with(start));
            let named = if is_comment { paths(line) } else { Vec::new() };
            // A path counts from another folder each time.
            let is_name = |path: &&str| path.ends_with(".rs") && !path.contains('/');
            let names = named.into_iter().map(|(_, path)| path).filter(is_name);
            for path in names.filter(|path| !exists(folder, path)) {
                faults.push(format!("{}:{}: there is no `{path}`", file.path, number + 1));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn every_anchor_in_a_document_leads_to_a_heading() {
    let mut faults = Vec::new();
    let mut count = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).expect("a readable document");
        for (number, line) in prose(&text) {
            for (path, anchor) in targets(line).filter_map(|target| target.split_once('#')) {
                let file = match path {
                    "" => document.clone(),
                    path => document.with_file_name(path),
                };
                // The path is another test's matter.
                let Ok(text) = fs::read_to_string(&file) else { continue };
                count += 1;
                if !prose(&text).any(|(_, line)| slug(line).as_deref() == Some(anchor)) {
                    let document = document.display();
                    faults.push(format!("{document}:{number}: `{path}` has no `#{anchor}`"));
                }
            }
        }
    }
    assert!(count > 20, "only {count} anchors were found");
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// The documents of the project, pictures left out.
pub(crate) fn documents() -> Vec<PathBuf> {
    let files = DOCUMENTS.into_iter().flat_map(|name| files(root().join(name)));
    let files = files.filter(|file| file.extension().is_some_and(|ending| ending != "png"));
    let packages = layers::CRATES.iter().filter_map(|(folder, _)| folder.strip_suffix("/src"));
    files.chain(packages.map(|folder| root().join(folder).join("README.md"))).collect()
}

/// A file, or all files below a folder.
fn files(path: PathBuf) -> Vec<PathBuf> {
    match fs::read_dir(&path) {
        Ok(entries) => {
            entries.flat_map(|entry| files(entry.expect("a readable entry").path())).collect()
        }
        Err(_) => vec![path],
    }
}

/// The paths of a document, each with its line.
fn paths(text: &str) -> Vec<(usize, &str)> {
    let of_line = |line| links(line).chain(words_of_code(line).filter_map(named));
    prose(text).flat_map(|(number, line)| of_line(line).map(move |path| (number, path))).collect()
}

/// The lines outside of blocks of code, each with its number.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

fn words_of_code(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// The files of links that lie in the repository.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let files = targets(line).filter_map(|target| target.split('#').next());
    files.filter(|file| !file.is_empty())
}

/// The targets of links, `[…](here)` and `[…]: here`, and the sources of pictures, that lie in the repository.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let inline = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let defined = line.starts_with('[').then(|| line.split_once("]: ")).flatten();
    // Pictures are HTML: ` src="…"` and ` srcset="…"`.
    let pictures = [" src=\"", " srcset=\""].into_iter().filter_map(|name| line.split_once(name));
    let pictures = pictures.filter_map(|(_, rest)| rest.split('"').next());
    let targets = inline.chain(defined.map(|(_, target)| target)).chain(pictures);
    targets.filter(|target| !target.contains("://"))
}

/// The anchor that a heading gets, if the line is one.
fn slug(line: &str) -> Option<String> {
    let heading =
        line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#'))?;
    let letters = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    Some(letters.collect::<String>().to_lowercase().replace(' ', "-"))
}

/// The path that words of code begin with, if they do.
fn named(code: &str) -> Option<&str> {
    let word = code.split(' ').next()?.trim_start_matches("./");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.*/".contains(c);
    // `Europe/Berlin` is a zone, `/etc/localtime` of another system.
    let begins_low = word.starts_with(|c: char| c.is_ascii_lowercase() || c == '.');
    let is_path = word.contains('/') || ENDINGS.iter().any(|ending| word.ends_with(ending));
    let is_elsewhere = ELSEWHERE.iter().any(|elsewhere| word.starts_with(elsewhere));
    let is_ours = begins_low && is_path && !is_elsewhere && word.chars().all(is_plain);
    is_ours.then_some(word).filter(|word| word.len() > 2 && !word.starts_with("..."))
}

fn exists(folder: &Path, path: &str) -> bool {
    let origins = ORIGINS.iter().map(|origin| root().join(origin));
    let mut origins = origins.chain([folder.to_owned()]);
    match path.contains('/') {
        true => origins.any(|origin| matches(&origin.join(path))),
        // A name alone, as of a neighbour of what was named before.
        false => origins.any(|origin| matches(&origin.join(path))) || is_somewhere(root(), path),
    }
}

/// Returns true if there is such a file or folder; a `*` in its name stands for anything.
fn matches(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some((start, end)) = name.split_once('*') else { return path.exists() };
    let folder = path.parent().and_then(|folder| fs::read_dir(folder).ok());
    folder.into_iter().flatten().flatten().any(|entry| {
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        name.starts_with(start) && name.ends_with(end)
    })
}

fn is_somewhere(folder: &Path, name: &str) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_built = |path: &Path| path.ends_with("target") || path.ends_with(".git");
    entries.map(|entry| entry.path()).any(|path| match path.is_dir() {
        true => !is_built(&path) && is_somewhere(&path, name),
        false => path.ends_with(name),
    })
}

#[test]
fn paths_are_told_from_other_words() {
    let text = "[a](docs/a.md#b), `src/b.rs` and `c.rs`, in `Europe/Berlin` `ci/d.sh deep`:\n\
                ```sh\n`no/code`\n```\n[e]: ../e.md\n`/etc/x` `./scheduler.toml` `a::b` `1/2`\n\
                <source srcset=\"f.png\">\n<img src=\"g.png\" alt=\"h\">\n";
    let found: Vec<&str> = paths(text).into_iter().map(|(_, path)| path).collect();
    assert_eq!(found, ["docs/a.md", "src/b.rs", "c.rs", "ci/d.sh", "../e.md", "f.png", "g.png"]);
}

#[test]
fn headings_have_the_anchors_that_github_gives_them() {
    let anchor = |line| slug(line).expect("a heading");
    assert_eq!(anchor("## Who gets in"), "who-gets-in");
    assert_eq!(anchor("## `on_lost = \"rerun\"`"), "on_lost--rerun");
    assert_eq!(anchor("# 3. Is everything there?"), "3-is-everything-there");
    assert_eq!(slug("#[scheduled] is an attribute"), None);
}
