//! The table on a screen: coloured where that is welcome, and in a layout that fits.
//!
//! Wide screens get datasets in rows and methods in columns; narrower ones a line per dataset and
//! method; the narrowest the same with wrapped cells.

use std::io::IsTerminal;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, Table};

use super::tables::Field;
use crate::analyse::text::{letter, number, plus_minus, signed};
use crate::analyse::{Entry, Place, Summary, shape};

/// How to show tables on a screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terminal {
    /// Columns of the screen; `None` means as wide as need be.
    pub width: Option<u16>,
    pub colour: bool,
}

impl Terminal {
    /// What standard output offers; `NO_COLOR` and `TERM=dumb` turn colour off.
    pub fn detect() -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        Self { width: Table::new().width(), colour: std::io::stdout().is_terminal() && !unwanted }
    }

    /// The table, its legend, footnotes and warnings.
    pub fn show(&self, summary: &Summary) -> String {
        let mut lines = vec![self.paint(summary.heading(), "1"), self.table(summary)];
        if self.colour {
            lines.push("Green: best of a row; cyan: second best.".to_owned());
        }
        if summary.rows.iter().any(|row| row.other_problem) {
            lines.push("≠: not the problem of the paper's row, see the warnings.".to_owned());
        }
        lines.extend(summary.legend());
        let notes = summary.footnotes.iter().enumerate();
        lines.extend(notes.map(|(index, note)| format!("[{}] {note}", letter(index))));
        let warning = self.paint("warning:", "33");
        lines.extend(summary.warnings.iter().map(|text| format!("{warning} {text}")));
        lines.extend(summary.findings.iter().cloned());
        lines.push(summary.state.clone());
        lines.join("\n") + "\n"
    }

    fn paint(&self, text: &str, code: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    fn table(&self, summary: &Summary) -> String {
        let mut table = wide(summary);
        if !self.fits(&table) {
            table = long(summary);
        }
        if let Some(width) = self.width.filter(|_| !self.fits(&table)) {
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(width);
        }
        table.load_style(UTF8_FULL_CONDENSED);
        table.force_no_tty();
        if self.colour {
            table.enforce_styling();
        }
        table.trim_fmt()
    }

    /// Whether a table fits, with a space either side of each column and lines between them.
    fn fits(&self, table: &Table) -> bool {
        let widths = table.column_max_content_widths();
        let total: usize = widths.iter().map(|width| usize::from(*width) + 3).sum();
        self.width.is_none_or(|width| total < usize::from(width))
    }
}

/// Shows a number of a cell, or nothing.
type Show = fn(Entry<'_>) -> String;

/// Datasets in rows, methods in columns; the paper's numbers below ours.
fn wide(summary: &Summary) -> Table {
    let labels = summary.columns.iter().map(|column| column.label.as_str());
    let mut table = headed(["dataset", ""].into_iter().chain(labels));
    for row in &summary.rows {
        let names =
            [Field::dataset(summary, row), Field::text(row.shape.map_or(String::new(), shape))];
        let ours = summary.entries_of(row).map(|entry| ours(summary, entry));
        table.add_row(names.iter().map(|name| Cell::new(text(name))).chain(ours));
        for (name, show) in [("paper", printed as Show), ("difference", difference)] {
            let shown: Vec<String> = summary.entries_of(row).map(show).collect();
            if shown.iter().any(|text| !text.is_empty()) {
                let names = [Cell::new(""), dim(Cell::new(name))];
                table.add_row(names.into_iter().chain(shown.into_iter().map(right).map(dim)));
            }
        }
    }
    if summary.ranks.is_some() {
        let ranks = summary.columns.iter().filter_map(|column| column.rank).map(number);
        let names = [Cell::new("average rank"), dim(Cell::new(""))];
        table.add_row(names.into_iter().chain(ranks.map(right)));
    }
    table
}

/// A line per dataset and method.
fn long(summary: &Summary) -> Table {
    let named = ["dataset", "method", "ours", "paper", "difference"];
    let columns = if summary.paper.is_some() { 5 } else { 3 };
    let mut table = headed(named.into_iter().take(columns));
    for row in &summary.rows {
        let mut name = text(&Field::dataset(summary, row));
        for entry in summary.entries_of(row) {
            let fields = [
                Cell::new(std::mem::take(&mut name)),
                Cell::new(&entry.column.label),
                ours(summary, entry),
                dim(right(printed(entry))),
                dim(right(difference(entry))),
            ];
            table.add_row(fields.into_iter().take(columns));
        }
    }
    let ranked = summary.columns.iter().filter_map(|column| Some((column, column.rank?)));
    for (index, (column, rank)) in ranked.enumerate() {
        let name = if index == 0 { "average rank" } else { "" };
        table.add_row([Cell::new(name), Cell::new(&column.label), right(number(rank))]);
    }
    table
}

fn headed<'a>(names: impl Iterator<Item = &'a str>) -> Table {
    let mut table = Table::new();
    table.set_header(names.map(|name| Cell::new(name).add_attribute(Attribute::Bold)));
    table
}

/// A field as plain text.
fn text(field: &Field) -> String {
    let text = match field.deviation {
        Some(_) => plus_minus(field.value.unwrap_or_default(), field.deviation),
        None => field.text.clone(),
    };
    let share = field.share.as_ref().map(|share| format!("({share})"));
    let notes = (!field.notes.is_empty()).then(|| format!("[{}]", field.notes));
    let parts = [Some(text), Some(field.marks.clone()), share, notes];
    let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" ")
}

fn ours(summary: &Summary, entry: Entry<'_>) -> Cell {
    let field = Field::ours(summary, entry);
    let shown = right(text(&field));
    match field.place {
        Place::Best => shown.fg(Color::Green).add_attribute(Attribute::Bold),
        Place::SecondBest => shown.fg(Color::Cyan),
        Place::Other if field.value.is_some() => shown,
        Place::Other if entry.cell.counts.failed > 0 => shown.fg(Color::Red),
        Place::Other => dim(shown),
    }
}

fn printed(entry: Entry<'_>) -> String {
    entry.cell.paper.as_ref().map_or(String::new(), |versus| text(&Field::printed(versus)))
}

fn difference(entry: Entry<'_>) -> String {
    let difference = entry.cell.paper.as_ref().and_then(|versus| versus.difference);
    difference.map_or(String::new(), signed)
}

fn right(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

fn dim(cell: Cell) -> Cell {
    cell.add_attribute(Attribute::Dim)
}
