//! The table on a screen: coloured where that is welcome, and in a layout that fits.
//!
//! Wide screens get datasets in rows and methods in columns; narrower ones a line per dataset and
//! method; the narrowest the same with wrapped cells.

use std::io::IsTerminal;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Attribute, Cell as Field, CellAlignment, Color, ContentArrangement, Table};

use super::text::{letter, number, plus_minus, signed};
use super::warnings::shape;
use super::{Cell, Place, Summary};
use crate::paper::{self, Mark};

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
        let mut lines = vec![self.title(summary), self.table(summary)];
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
        lines.extend(summary.warnings.iter().map(|w| format!("{warning} {w}")));
        lines.extend(summary.findings.iter().cloned());
        lines.push(summary.state.clone());
        lines.join("\n") + "\n"
    }

    fn title(&self, summary: &Summary) -> String {
        self.paint(summary.heading(), "1")
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

/// Datasets in rows, methods in columns; the paper's numbers below ours.
fn wide(summary: &Summary) -> Table {
    let mut table = Table::new();
    let labels = summary.columns.iter().map(|column| bold(&column.label));
    table.set_header([bold("dataset"), bold("")].into_iter().chain(labels));
    for row in &summary.rows {
        let size = row.shape.map(shape).unwrap_or_default();
        let ours = row.cells.iter().map(|cell| ours(summary, cell));
        table.add_row([plain(dataset(summary, row)), plain(size)].into_iter().chain(ours));
        if row.cells.iter().any(|cell| cell.paper.is_some()) {
            let figures = row.cells.iter().map(|cell| right(paper_figure(cell)));
            table.add_row(aside("", "paper").into_iter().chain(figures.map(dim)));
        }
        if row.cells.iter().any(|cell| cell.difference.is_some()) {
            let differences = row.cells.iter().map(|cell| right(difference(cell)));
            table.add_row(aside("", "difference").into_iter().chain(differences.map(dim)));
        }
    }
    if let Some(ranks) = &summary.ranks {
        let average = ranks.average.iter().map(|rank| right(number(*rank)));
        table.add_row(aside("average rank", "").into_iter().chain(average));
    }
    table
}

/// A line per dataset and method.
fn long(summary: &Summary) -> Table {
    let mut table = Table::new();
    let paper = summary.paper.is_some();
    let named: &[&str] = if paper {
        &["dataset", "method", "ours", "paper", "difference"]
    } else {
        &["dataset", "method", "ours"]
    };
    table.set_header(named.iter().map(|name| bold(name)));
    for row in &summary.rows {
        let mut name = dataset(summary, row);
        for (cell, column) in row.cells.iter().zip(&summary.columns) {
            let mut fields = vec![
                plain(std::mem::take(&mut name)),
                plain(column.label.clone()),
                ours(summary, cell),
            ];
            if paper {
                fields.push(dim(right(paper_figure(cell))));
                fields.push(dim(right(difference(cell))));
            }
            table.add_row(fields);
        }
    }
    if let Some(ranks) = &summary.ranks {
        let mut name = "average rank";
        for (rank, column) in ranks.average.iter().zip(&summary.columns) {
            let fields = [plain(name), plain(&column.label), right(number(*rank))];
            table.add_row(fields);
            name = "";
        }
    }
    table
}

fn dataset(summary: &Summary, row: &super::Row) -> String {
    let other = if row.other_problem { " ≠" } else { "" };
    format!("{}{other}{}", row.dataset, notes(summary, &row.footnotes))
}

fn ours(summary: &Summary, cell: &Cell) -> Field {
    let notes = notes(summary, &cell.footnotes);
    let Some(mean) = cell.mean else {
        let field = right(format!("{}{notes}", cell.word()));
        return match cell.counts.failed {
            0 => dim(field),
            _ => field.fg(Color::Red),
        };
    };
    let mut parts = vec![plus_minus(mean, cell.deviation)];
    parts.extend(Some(cell.marks()).filter(|marks| !marks.is_empty()));
    parts.extend(cell.share().map(|share| format!("({share})")));
    let field = right(parts.join(" ") + &notes);
    match cell.place {
        Place::Best => field.fg(Color::Green).add_attribute(Attribute::Bold),
        Place::SecondBest => field.fg(Color::Cyan),
        Place::Other => field,
    }
}

fn notes(summary: &Summary, footnotes: &[usize]) -> String {
    if footnotes.is_empty() { String::new() } else { format!(" [{}]", summary.letters(footnotes)) }
}

fn paper_figure(cell: &Cell) -> String {
    let figure = |paper: &paper::Cell| {
        let mark = paper.mark.map(Mark::symbol);
        let figure = plus_minus(paper.value, paper.deviation);
        mark.map_or(figure.clone(), |mark| format!("{figure} {mark}"))
    };
    cell.paper.map(figure).unwrap_or_default()
}

fn difference(cell: &Cell) -> String {
    cell.difference.map(signed).unwrap_or_default()
}

fn plain(text: impl ToString) -> Field {
    Field::new(text)
}

fn right(text: String) -> Field {
    Field::new(text).set_alignment(CellAlignment::Right)
}

fn bold(text: &str) -> Field {
    Field::new(text).add_attribute(Attribute::Bold)
}

fn dim(field: Field) -> Field {
    field.add_attribute(Attribute::Dim)
}

fn aside(first: &str, second: &str) -> [Field; 2] {
    [plain(first), dim(plain(second))]
}
