//! The report of the dry run: every value with its source.

use scheduler_expr::Attribute;

use super::{Applied, ROOT, ResolvedAttributes, ResolvedValue, Source, globals, origins, visible};

/// Values longer than this do not push the sources of the others to the right.
const WIDTH_MAX: usize = 48;

/// A heading, and lines of three columns below it.
struct Block {
    heading: String,
    rows: Vec<[String; 3]>,
}

/// The value of a setting that is not set.
#[derive(Debug)]
pub(crate) struct Fallback {
    /// The key behind `scheduler.`.
    pub(crate) key: String,
    pub(crate) text: String,
    /// A call of the builder, a variable of another program, or the default.
    pub(crate) source: Source,
}

/// The text of the dry run.
pub(crate) fn report(
    applied: &Applied,
    tasks: &[ResolvedAttributes],
    fallbacks: &[Fallback],
) -> String {
    let mut blocks = vec![settings(applied, fallbacks)];
    let mut tasks: Vec<&ResolvedAttributes> = tasks.iter().collect();
    tasks.sort_by_key(|task| &task.name);
    blocks.extend(tasks.into_iter().map(task));
    let width = |column: usize| {
        let rows = blocks.iter().flat_map(|block| &block.rows);
        let widths = rows.map(|row| row[column].chars().count());
        widths.filter(|width| *width <= WIDTH_MAX).max().unwrap_or(0)
    };
    let (first, second) = (width(0), width(1));
    let mut out = String::new();
    for block in &blocks {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&format!("{}\n", block.heading));
        for [name, value, source] in &block.rows {
            out.push_str(&format!("  {name:first$}  {value:second$}  {source}\n"));
        }
    }
    out
}

fn settings(applied: &Applied, fallbacks: &[Fallback]) -> Block {
    let mut rows: Vec<[String; 3]> =
        applied.texts.iter().map(|(key, resolved)| row(key, resolved)).collect();
    for Fallback { key, text, source } in fallbacks {
        let fallback = row(&format!("{ROOT}.{key}"), &ResolvedValue::plain(text, source.clone()));
        if !rows.iter().any(|[known, ..]| *known == fallback[0]) {
            rows.push(fallback);
        }
    }
    let off = format!("{ROOT}.{}", globals::AWAIT_TERMINATION);
    if let Some((_, off)) =
        applied.texts.iter().find(|(key, set)| *key == off && set.text == "false")
    {
        let key = format!("{ROOT}.{}", globals::AWAIT_TERMINATION_PERIOD);
        let source = format!("{}, {} = false", off.source, globals::AWAIT_TERMINATION);
        rows.retain(|[known, ..]| *known != key);
        rows.push([key, "0s".to_owned(), source]);
    }
    rows.sort();
    Block { heading: "settings".to_owned(), rows }
}

fn task(task: &ResolvedAttributes) -> Block {
    let heading = format!("task {} ({})", visible(&task.name), visible(&task.location.to_string()));
    let is_durable = task.get(Attribute::Durable).is_some_and(|durable| durable.text == "true");
    let rows = Attribute::ALL.iter().filter_map(|attribute| match task.get(*attribute) {
        Some(resolved) => Some(row(attribute.name(), resolved)),
        None if is_durable || !(attribute.is_about_jobs() || *attribute == Attribute::Durable) => {
            attribute.row().default.map(|text| row(attribute.name(), &ResolvedValue::default(text)))
        }
        None => None,
    });
    Block { heading, rows: rows.collect() }
}

fn row(name: &str, resolved: &ResolvedValue) -> [String; 3] {
    let mut source = resolved.source.to_string();
    if resolved.written != resolved.text {
        source.push_str(&format!(", written `{}`", visible(&resolved.written)));
        source.push_str(&origins(&resolved.via));
    }
    let text = if resolved.text.is_empty() { "\"\"".to_owned() } else { resolved.shown() };
    [visible(name), text, source]
}
