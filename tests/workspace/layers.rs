//! Each folder uses only folders before it.

use std::collections::{BTreeMap, BTreeSet};

use crate::imports::Imports;
use crate::sources;

/// The folders of each crate, lowest first. Changing these arrays is a change of design.
///
/// Files of one folder may use each other. Files beside the folders have no place in the order: a folder that uses one of them
/// uses all that it uses.
///
/// In the facade `run` comes before `define`, because an entry and a definition have the function that makes a run's call.
pub(crate) const CRATES: [(&str, &[&str]); 12] = [
    ("crates/api/src", &[]),
    ("crates/expr/src", &["duration", "placeholder", "cron", "attribute"]),
    ("crates/store/src", &["model"]),
    ("crates/node/src", &["firing", "node"]),
    ("crates/sqlite/src", &[]),
    ("crates/postgres/src", &[]),
    ("scheduler-core/src", &["sync", "time", "trigger", "queue", "task", "pool"]),
    ("scheduler-macros/src", &["args", "check", "expand"]),
    ("src", &["base", "run", "define", "observe", "task", "durable", "start", "testing"]),
    ("crates/dashboard/src", &["log", "view", "prometheus", "web"]),
    ("crates/monitors/src", &[]),
    ("crates/cli/src", &["dialect", "client", "crontab", "bin"]),
];

/// The files beside the folders of the facade, which only export.
const BESIDE: [&str; 6] = ["api", "engine", "guide", "lib", "private", "store"];

/// By file: the files it uses.
type Uses = BTreeMap<String, BTreeSet<String>>;

#[test]
fn every_folder_uses_only_those_before_it() {
    let mut faults = Vec::new();
    for (crate_folder, folders) in CRATES {
        let mut uses = Imports::of(crate_folder).uses;
        // The rest are tests.
        let (found, files) = (uses.len(), sources::of(crate_folder).len());
        assert!(found * 2 > files, "{crate_folder}: only {found} of {files} files");
        // The root of a crate sees all.
        uses.retain(|file, _| !file.ends_with("/lib.rs"));
        faults.extend(order_faults(crate_folder, folders, &uses));
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn only_files_that_export_are_beside_the_folders_of_the_facade() {
    let uses = Imports::of("src").uses;
    let beside = uses.keys().filter_map(|file| file.strip_prefix("src/")?.strip_suffix(".rs"));
    let others: Vec<&str> =
        beside.filter(|name| !name.contains('/') && !BESIDE.contains(name)).collect();
    assert!(others.is_empty(), "{others:?} belong into a folder");
}

#[test]
fn a_use_of_a_later_folder_is_found_also_through_a_file_beside_the_folders() {
    let used = |others: &[&str]| others.iter().map(|other| (*other).to_owned()).collect();
    let uses = Uses::from([
        ("c/low/a.rs".to_owned(), used(&["c/low/b.rs", "c/beside.rs"])),
        ("c/low/b.rs".to_owned(), used(&["c/low/a.rs"])),
        ("c/beside.rs".to_owned(), used(&["c/other.rs"])),
        ("c/other.rs".to_owned(), used(&["c/beside.rs", "c/high/d.rs"])),
        ("c/high/d.rs".to_owned(), used(&["c/low/a.rs"])),
        ("c/new/e.rs".to_owned(), used(&[])),
    ]);
    let expected = [
        "c/low/a.rs uses c/high/d.rs through c/other.rs: its folder comes later",
        "c/new/e.rs is in no folder of the list",
    ];
    assert_eq!(order_faults("c", &["low", "high"], &uses), expected);
}

/// The uses of later folders, and the files of folders that are not listed.
fn order_faults(crate_folder: &str, folders: &[&str], uses: &Uses) -> Vec<String> {
    let place = |folder: &str| folders.iter().position(|each| *each == folder);
    let mut faults = Vec::new();
    for file in uses.keys() {
        let Some(folder) = folder_of(crate_folder, file) else { continue };
        let Some(own) = place(folder) else {
            faults.push(format!("{file} is in no folder of the list"));
            continue;
        };
        for (other, through) in reached(crate_folder, file, uses) {
            if folder_of(crate_folder, other).and_then(place).is_some_and(|other| other > own) {
                let way =
                    if through == file { String::new() } else { format!(" through {through}") };
                faults.push(format!("{file} uses {other}{way}: its folder comes later"));
            }
        }
    }
    faults
}

/// The files that a file uses, directly or through files beside the folders, each with the file that names it.
fn reached<'a>(crate_folder: &str, file: &'a str, uses: &'a Uses) -> BTreeMap<&'a str, &'a str> {
    let mut reached = BTreeMap::new();
    let mut left = vec![file];
    while let Some(from) = left.pop() {
        for other in uses.get(from).into_iter().flatten() {
            let is_new = reached.insert(other.as_str(), from).is_none();
            if is_new && folder_of(crate_folder, other).is_none() {
                left.push(other);
            }
        }
    }
    reached
}

/// The folder of a file; none if it is beside the folders.
fn folder_of<'a>(crate_folder: &str, file: &'a str) -> Option<&'a str> {
    let inside = file.strip_prefix(crate_folder)?.trim_start_matches('/');
    inside.split_once('/').map(|(folder, _)| folder)
}
