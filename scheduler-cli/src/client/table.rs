//! Columns of texts.

use serde_json::Value;

use super::api::plain;

/// How wide a column is at most.
const WIDTH_MAX: usize = 60;

/// Lines of cells, each column as wide as its widest cell. The last column has no end.
pub(super) fn of(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
        widest.max(head[column].chars().count()).min(WIDTH_MAX)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut line = String::new();
        for (cell, width) in cells.zip(&widths) {
            let cell: String = cell.chars().take(WIDTH_MAX).collect();
            line.push_str(&format!("{cell:<width$}   "));
        }
        format!("{}\n", line.trim_end())
    };
    let mut table = line(&mut head.iter().copied());
    for row in rows {
        table.push_str(&line(&mut row.iter().map(String::as_str)));
    }
    table
}

/// A list of objects, whatever they have: the columns are the names in the first of them.
pub(super) fn of_objects(answer: &Value) -> String {
    let list = match answer {
        Value::Array(list) => Some(list),
        Value::Object(object) => object.values().find_map(Value::as_array),
        _ => None,
    };
    let Some(list) = list.filter(|list| !list.is_empty()) else { return "none\n".to_owned() };
    let simple = |value: &Value| !value.is_object() && !value.is_array();
    let first = list[0].as_object();
    let names: Vec<&str> = first
        .into_iter()
        .flatten()
        .filter(|(_, value)| simple(value))
        .map(|(name, _)| name.as_str())
        .collect();
    let cell = |value: &Value| match value {
        Value::String(text) => plain(text),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let rows: Vec<Vec<String>> =
        list.iter().map(|object| names.iter().map(|name| cell(&object[*name])).collect()).collect();
    let heads: Vec<String> = names.iter().map(|name| plain(name).to_uppercase()).collect();
    of(&heads.iter().map(String::as_str).collect::<Vec<_>>(), &rows)
}
