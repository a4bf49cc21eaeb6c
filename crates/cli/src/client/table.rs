//! Columns of texts.

/// The greatest width of a column. A longer cell is not cut, and widens its own line.
const WIDTH_MAX: usize = 60;

/// Lines of cells, each column as wide as its widest cell.
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
