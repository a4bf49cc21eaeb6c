//! The source files of the workspace, for tests that read them.

use std::fs;
use std::path::{Path, PathBuf};

/// A source file.
pub(crate) struct Source {
    pub(crate) file: PathBuf,
    /// From the root of the workspace.
    pub(crate) path: String,
    /// From the folder in which it was looked for.
    pub(crate) inside: PathBuf,
}

/// The folder of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// All Rust files below a folder of the workspace, or of all of it: `""`.
pub(crate) fn of(folder: &str) -> Vec<Source> {
    found(folder, "rs")
}

/// All files of the workspace whose names end so, without the dot.
pub(crate) fn with_ending(ending: &str) -> Vec<Source> {
    found("", ending)
}

fn found(folder: &str, ending: &str) -> Vec<Source> {
    let root = root();
    let folder = root.join(folder);
    let sources = files(&folder, ending).into_iter().map(|file| Source {
        path: slashed(file.strip_prefix(root).expect("below the root")),
        inside: file.strip_prefix(&folder).expect("below the folder").to_owned(),
        file,
    });
    sources.collect()
}

/// A path as documents write it, on Windows too.
fn slashed(path: &Path) -> String {
    path.display().to_string().replace('\\', "/")
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a readable folder");
    let paths = entries.map(|entry| entry.expect("a readable entry").path());
    paths
        .filter(|path| !is_built_or_hidden(path))
        .flat_map(|path| if path.is_dir() { files(&path, ending) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == ending))
        .collect()
}

/// Returns true if a path of the workspace holds no source: `target` and `.git`.
fn is_built_or_hidden(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name == "target" || name.starts_with('.')
}
