//! Columns of texts, as wide as the terminal.

use clap::builder::styling::{AnsiColor, Style};

use crate::context::Look;

/// The least width of a column that is cut to fit.
const WIDTH_MIN: usize = 8;

const GAP: &str = "   ";

/// The meaning of a text, which has a colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tone {
    #[default]
    Plain,
    Head,
    Bad,
    Busy,
    Paused,
    Faint,
}

impl Tone {
    fn style(self) -> Style {
        let colour = |colour: AnsiColor| colour.on_default();
        match self {
            Self::Plain => Style::new(),
            Self::Head => Style::new().bold(),
            Self::Bad => colour(AnsiColor::Red).bold(),
            Self::Busy => colour(AnsiColor::Cyan),
            Self::Paused => colour(AnsiColor::Yellow),
            Self::Faint => Style::new().dimmed(),
        }
    }
}

/// A text with its tone.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    text: String,
    tone: Tone,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, tone: Tone::Plain }
    }
}

impl Cell {
    pub(super) fn new(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), tone }
    }

    /// Its text, with the colour if there are colours.
    pub(super) fn shown(&self, look: Look) -> String {
        painted(&self.text, self.tone, look)
    }
}

fn painted(text: &str, tone: Tone, look: Look) -> String {
    if !look.has_colours || tone == Tone::Plain || text.is_empty() {
        return text.to_owned();
    }
    let style = tone.style();
    format!("{style}{text}{style:#}")
}

/// Lines of cells, each column as wide as its widest cell. In a terminal, columns but the first are cut until a line fits.
pub(super) fn of(head: &[&str], rows: &[Vec<Cell>], look: Look) -> String {
    let widths = widths(head, rows, look);
    let head: Vec<Cell> = head.iter().map(|name| Cell::new(*name, Tone::Head)).collect();
    let lines = std::iter::once(&head).chain(rows);
    lines.map(|cells| line(cells, &widths, look)).collect()
}

fn widths(head: &[&str], rows: &[Vec<Cell>], look: Look) -> Vec<usize> {
    let widest = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let widest = cells.map(|cell| cell.text.chars().count()).max().unwrap_or(0);
        widest.max(head[column].chars().count())
    };
    let mut widths: Vec<usize> = (0..head.len()).map(widest).collect();
    let Some(columns) = look.columns else { return widths };
    let gaps = GAP.len() * head.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > columns {
        // The first column has the name, which commands need as a whole.
        let others = widths.iter_mut().skip(1).filter(|width| **width > WIDTH_MIN);
        let Some(widest) = others.max() else { break };
        *widest -= 1;
    }
    widths
}

fn line(cells: &[Cell], widths: &[usize], look: Look) -> String {
    let filled = cells.iter().rposition(|cell| !cell.text.is_empty()).map_or(0, |last| last + 1);
    let mut line = String::new();
    for (column, (cell, width)) in cells.iter().zip(widths).take(filled).enumerate() {
        let text = match look.columns {
            Some(_) if column > 0 => cut(&cell.text, *width),
            _ => cell.text.clone(),
        };
        let padding = width.saturating_sub(text.chars().count());
        line.push_str(&painted(&text, cell.tone, look));
        if column + 1 < filled {
            line.push_str(&" ".repeat(padding));
            line.push_str(GAP);
        }
    }
    line + "\n"
}

/// A text of at most so many characters.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let start: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", start.trim_end())
}
