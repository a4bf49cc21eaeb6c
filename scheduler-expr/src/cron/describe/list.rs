//! Lists in words.

use crate::cron::never::join;

/// How many items are listed in words at most.
pub(super) const LONGEST_LIST: usize = 8;

/// The numbers as runs of consecutive ones.
pub(super) fn runs(values: &[u8]) -> Vec<(u8, u8)> {
    let runs = values.chunk_by(|a, b| a + 1 == *b);
    runs.filter_map(|run| Some((*run.first()?, *run.last()?))).collect()
}

/// "a, b and c", with runs of three or more as "a to c"; none when it would be too long.
pub(super) fn list(values: &[u8], name: impl Fn(u8) -> String) -> Option<String> {
    let mut items = Vec::new();
    for (first, last) in runs(values) {
        match last - first {
            0 => items.push(name(first)),
            1 => items.extend([name(first), name(last)]),
            _ => items.push(format!("{} to {}", name(first), name(last))),
        }
    }
    (items.len() <= LONGEST_LIST).then(|| join(&items, "and"))
}
