//! Keys that nothing reads: misplaced settings, and typos in placeholders.

use std::collections::BTreeSet;

use scheduler_expr::{Attribute, nearest};

use super::{
    Content, Line, PoolSettings, ROOT, Reading, Remark, Spec, globals, is_bare, key, schema,
    visible, word,
};

/// Among more keys that placeholders ask for, no similar one is looked for.
const COMPARED_MAX: usize = 1_000;

/// A warning for each setting, and for each table of settings, that is not under `[scheduler]`, and for each key
/// with a slip in it.
///
/// A key that a placeholder reads belongs to the program.
pub(super) fn misplaced_keys(reading: &mut Reading<'_>) {
    let sources = reading.sources;
    let unset = unset(reading);
    for file in &sources.files {
        let mut reported = BTreeSet::new();
        for line in &file.lines {
            let is_asked = || reading.asked.contains(&key::fold(&line.path.join(".")));
            if line.ours().is_some() || is_asked() {
                continue;
            }
            let found = similar_root(line).or_else(|| right_place(line));
            let Some(found) = found.or_else(|| similar_key(line, &unset)) else { continue };
            // A table in a wrong place has many lines, but it is one mistake.
            if reported.insert(found.mistake) {
                let text = format!("{}: {}", line.source, found.text);
                reading.remarks.push(Remark::warning(text));
            }
        }
    }
}

/// A line that has no effect.
struct Misplaced {
    /// The same for all lines of one mistake: the table, or the line to write instead.
    mistake: String,
    text: String,
}

impl Misplaced {
    /// A setting that is not under `[scheduler]`.
    fn outside(line: &Line, mistake: String, below: &str) -> Self {
        let text = format!(
            "{} has no effect: it is not under `[{ROOT}]`, and no placeholder asks for it; write {}{below}",
            word(&line.path.join(".")),
            word(&mistake)
        );
        Self { mistake, text }
    }
}

/// The mistake of a setting whose table is similar to `[scheduler]`.
fn similar_root(line: &Line) -> Option<Misplaced> {
    let [root, first, ..] = line.path.as_slice() else { return None };
    let is_similar = globals::is_ours(first) && nearest(root, [ROOT]).is_some();
    is_similar.then(|| Misplaced {
        mistake: root.clone(),
        text: format!("table {} has no effect; did you mean `[{ROOT}]`?", word(root)),
    })
}

/// The keys that placeholders ask for and nothing sets.
fn unset(reading: &Reading<'_>) -> Vec<String> {
    if reading.asked.len() > COMPARED_MAX {
        return Vec::new();
    }
    let is_variable =
        |key: &str, used: &String| key::fold(used) == key || key::variables(key).contains(used);
    let is_set = |key: &String| {
        reading.sources.layers().any(|layer| layer.named(key).next().is_some())
            || reading.used.iter().any(|used| is_variable(key, used))
    };
    reading.asked.iter().filter(|key| !is_set(key)).cloned().collect()
}

/// The key that differs from the line's key in one part, and there by a slip.
fn similar_key(line: &Line, unset: &[String]) -> Option<Misplaced> {
    let is_similar = |key: &&String| {
        let asked = key::parts(key);
        let pairs = line.path.iter().zip(&asked);
        let mut other = pairs.filter(|(written, asked)| key::fold(written) != **asked);
        let slip =
            other.next().filter(|_| other.next().is_none() && asked.len() == line.path.len());
        slip.is_some_and(|(written, asked)| is_slip(&key::fold(written), asked))
    };
    let meant = unset.iter().find(is_similar)?.replace('_', "-");
    let (key, shown) = (word(&line.path.join(".")), word(&meant));
    let text = format!("no placeholder asks for {key}; did you mean {shown}?");
    Some(Misplaced { mistake: meant, text })
}

/// Returns true if one letter is wrong, missing or additional, or two neighbours are exchanged. Keys that differ in
/// a digit, or in more, may both exist.
fn is_slip(written: &str, asked: &str) -> bool {
    let written: Vec<char> = written.chars().collect();
    let asked: Vec<char> = asked.chars().collect();
    let shorter = written.len().min(asked.len());
    let start = (0..shorter).take_while(|at| written[*at] == asked[*at]).count();
    let is_same_at_end =
        |at: &usize| written[written.len() - 1 - at] == asked[asked.len() - 1 - at];
    let end = (0..shorter - start).take_while(is_same_at_end).count();
    match (&written[start..written.len() - end], &asked[start..asked.len() - end]) {
        ([a, b], [c, d]) => a == d && b == c,
        ([one], []) | ([], [one]) => shorter > 1 && !one.is_ascii_digit(),
        ([one], [other]) => shorter > 2 && !one.is_ascii_digit() && !other.is_ascii_digit(),
        _ => false,
    }
}

/// The mistake of a line that would be read in another place.
fn right_place(line: &Line) -> Option<Misplaced> {
    let is_empty = matches!(line.content, Content::EmptyTable);
    let parts = line.path.as_slice();
    let [table, rest @ ..] = parts else { return None };
    if table == schema::DEFAULTS && Attribute::from_name(&rest.join(".")).is_some() {
        return Some(Misplaced::outside(line, format!("[{ROOT}.{table}]"), ""));
    }
    let name = match rest {
        rest if table == schema::TASKS => task_name(rest),
        [name] if table == schema::POOLS && is_empty => Some(std::slice::from_ref(name)),
        [name, rest @ ..] if table == schema::POOLS => {
            known(rest, PoolSettings::SPECS).map(|_| std::slice::from_ref(name))
        }
        _ => None,
    };
    if let Some(name) = name {
        let name: Vec<String> = name.iter().map(|part| pasted(part)).collect();
        let header = format!("[{ROOT}.{table}.{}]", name.join("."));
        return Some(Misplaced::outside(line, header, ""));
    }
    let specs = globals::specs();
    let spec = known(parts, &specs)?;
    let value = match &line.content {
        Content::Text(text) => text.as_str(),
        _ => spec.example,
    };
    let setting = format!("{} = \"{}\"", spec.key, visible(value));
    Some(Misplaced::outside(line, setting, &format!(" under `[{ROOT}]`")))
}

/// The name in front of an attribute of tasks.
fn task_name(parts: &[String]) -> Option<&[String]> {
    let mut splits = (1..parts.len()).rev();
    let split = splits.find(|at| Attribute::from_name(&parts[*at..].join(".")).is_some())?;
    Some(&parts[..split])
}

fn known<'a>(parts: &[String], specs: &'a [Spec]) -> Option<&'a Spec> {
    let name = key::fold(&parts.join("."));
    specs.iter().find(|spec| key::fold(spec.key) == name)
}

/// A part of a key as TOML wants it.
fn pasted(part: &str) -> String {
    if is_bare(part) { part.to_owned() } else { format!("\"{}\"", visible(part)) }
}
