//! Names have to be unique: they are the keys of settings, metrics, locks and history.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::entry::Entry;

/// One fault for each name that several entries have.
pub(super) fn duplicates(entries: &[&'static Entry]) -> Vec<String> {
    let mut by_name: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        by_name.entry(entry.name()).or_default().push(entry);
    }
    by_name.retain(|_, entries| entries.len() > 1);
    by_name.into_iter().map(|(name, entries)| describe(name, &entries)).collect()
}

fn describe(name: &str, entries: &[&Entry]) -> String {
    let mut text = format!("{} tasks are named `{name}`", entries.len());
    for entry in entries {
        let (path, function) = (entry.module_path(), entry.function());
        let _ = write!(text, "\n  {path}::{function} ({})", entry.location());
    }
    text.push_str("\nhelp: give one another name: #[scheduled(name = \"…\", …)]");
    text
}
