//! Lists of values: runs of consecutive numbers, and items in a sentence.

/// The numbers as runs of consecutive ones.
pub(super) fn runs(values: &[u8]) -> Vec<(u8, u8)> {
    let runs = values.chunk_by(|a, b| a + 1 == *b);
    runs.filter_map(|run| Some((*run.first()?, *run.last()?))).collect()
}

/// The names of the values, with `to` between the ends of runs of three or more.
pub(super) fn ranges(values: &[u8], to: &str, name: impl Fn(u8) -> String) -> Vec<String> {
    let texts = runs(values).into_iter().flat_map(|(first, last)| match last - first {
        0 => vec![name(first)],
        1 => vec![name(first), name(last)],
        _ => vec![format!("{}{to}{}", name(first), name(last))],
    });
    texts.collect()
}

/// `a`, `a or b`, `a, b or c`.
pub(super) fn join(items: &[String], conjunction: &str) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [head @ .., last] => format!("{} {conjunction} {last}", head.join(", ")),
    }
}
