//! The table on a screen: coloured where that is welcome, and in a layout that fits.
//!
//! Wide screens get datasets in rows and methods in columns; narrower ones a line per dataset and
//! method; the narrowest the same with wrapped cells.

use std::io::IsTerminal;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, Table};

use super::tables::{self, Field, Kind, long, wide};
use crate::analyse::text::{letter, plus_minus};
use crate::analyse::{Place, Summary};

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
        let mut table = shown(&wide(summary));
        if !self.fits(&table) {
            table = shown(&long(summary));
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

fn shown(table: &tables::Table) -> Table {
    let mut shown = Table::new();
    let head = table.head.iter();
    shown.set_header(head.map(|head| Cell::new(&head.name).add_attribute(Attribute::Bold)));
    let foot = Some(&table.foot).filter(|foot| !foot.is_empty());
    for row in table.rows.iter().chain(foot) {
        shown.add_row(row.iter().map(cell));
    }
    for (column, head) in shown.column_iter_mut().zip(&table.head) {
        if head.kind == Kind::Number {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    shown
}

fn cell(field: &Field) -> Cell {
    let text = match field.deviation {
        Some(_) => plus_minus(field.value.unwrap_or_default(), field.deviation),
        None => field.text.clone(),
    };
    let share = field.share.as_ref().map_or(String::new(), |share| format!("({share})"));
    let notes = if field.notes.is_empty() { "" } else { &format!("[{}]", field.notes) };
    let mut parts = vec![text.as_str(), &field.marks, &share, notes];
    parts.retain(|part| !part.is_empty());
    let cell = Cell::new(parts.join(" "));
    match field.place {
        Place::Best => cell.fg(Color::Green).add_attribute(Attribute::Bold),
        Place::SecondBest => cell.fg(Color::Cyan),
        Place::Other if field.is_aside => cell.add_attribute(Attribute::Dim),
        Place::Other if field.cell.is_some() && field.text == "failed" => cell.fg(Color::Red),
        Place::Other => cell,
    }
}
