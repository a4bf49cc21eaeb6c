//! Compares the reference pages with the tables in the code.
//!
//! A block of a page, from `<!-- from the code: NAME -->` to `<!-- end -->`, is written by the function of its name.
//! `TEST_REFERENCE=overwrite` writes the blocks anew. A table may end with a column of notes, which people write: it is
//! kept, and no cell of it may stay empty.

mod code;
mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use crate::sources;

const BEGIN: &str = "<!-- from the code: ";
const END: &str = "<!-- end -->";

/// Writes a block. It gets the notes of the block as it stands, by the first cell of their rows.
type Write = fn(&Notes) -> String;

type Notes = BTreeMap<String, String>;

const BLOCKS: [(&str, Write); 13] = [
    ("attributes", tables::attributes),
    ("settings", tables::settings),
    ("settings of a pool", tables::pool_settings),
    ("settings of the node", tables::node_settings),
    ("parameters of enqueue", tables::enqueue),
    ("functions for people", tables::commands),
    ("requests", tables::requests),
    ("metrics of the dashboard", tables::dashboard_metrics),
    ("metrics of the facade", tables::facade_metrics),
    ("events", tables::events),
    ("events of the store", tables::store_events),
    ("exit codes of the command line", tables::exit_codes),
    ("variables", tables::variables),
];

#[test]
fn reference_pages_say_what_the_code_says() {
    let overwrite = std::env::var("TEST_REFERENCE").is_ok_and(|text| text == "overwrite");
    let mut found = BTreeSet::new();
    let mut faults = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a readable page");
        let renewed = renewed(&text, &mut found, &mut faults);
        if renewed != text {
            if overwrite {
                fs::write(&page, renewed).expect("a writable page");
            } else {
                faults.push(format!(
                    "{} differs; {}",
                    page.display(),
                    first_difference(&text, &renewed)
                ));
            }
        }
    }
    let all: BTreeSet<&str> = BLOCKS.iter().map(|(name, _)| *name).collect();
    assert_eq!(found, all, "each block is on one page");
    let help = "TEST_REFERENCE=overwrite cargo test -p tests --test workspace reference";
    assert!(faults.is_empty(), "\n{}\nhelp: {help}", faults.join("\n"));
}

fn pages() -> Vec<PathBuf> {
    let folder = sources::root().join("docs/reference");
    let entries = fs::read_dir(folder).expect("a folder");
    entries.map(|entry| entry.expect("a readable entry").path()).collect()
}

/// The page with its blocks written anew. Adds the names of the blocks, and the rows without a note.
fn renewed(text: &str, found: &mut BTreeSet<&'static str>, faults: &mut Vec<String>) -> String {
    let mut parts = text.split(BEGIN);
    let mut renewed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(" -->\n").expect("a name");
        let (old, rest) = rest.split_once(END).expect("the end of the block");
        let block = BLOCKS.iter().find(|(known, _)| *known == name);
        let (name, write) = block.unwrap_or_else(|| panic!("no block is called `{name}`"));
        assert!(found.insert(name), "`{name}` stands twice");
        let block = write(&notes(old));
        let empty = block.lines().filter(|line| line.ends_with("| |"));
        faults.extend(empty.map(|line| format!("`{name}`: write a note: {line}")));
        renewed += &format!("{BEGIN}{name} -->\n\n{block}\n{END}{rest}");
    }
    renewed
}

/// The last cells of the rows of a table, by their first ones.
fn notes(table: &str) -> Notes {
    let rows = table.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let cells = rows.filter_map(|row| Some((row.split_once(" | ")?.0, row.rsplit_once(" | ")?.1)));
    cells.map(|(first, last)| (first.to_owned(), last.to_owned())).collect()
}

fn first_difference(old: &str, new: &str) -> String {
    let lines = old.lines().zip(new.lines()).find(|(old, new)| old != new);
    lines.map_or_else(String::new, |(old, new)| format!("it says\n  {old}\nand the code\n  {new}"))
}

#[test]
fn notes_are_kept_by_the_first_cell() {
    let table = "| `a` | 1 | the first |\n| `b` | 2 | the second |\n";
    let notes = notes(table);
    assert_eq!(notes["`b`"], "the second");
    let written = tables::table(&["x", "y", "note"], [["`b`", "3"], ["`c`", "4"]], &notes);
    assert!(written.ends_with("| `b` | 3 | the second |\n| `c` | 4 | |\n"), "{written}");
}
