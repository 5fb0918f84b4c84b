//! `table.md`: findings, ours with both marks, the paper beside ours, tests, footnotes and warnings.

use super::tables::{self, TextTable};
use super::text::{letter, number, p_value, plus_minus, signed};
use super::warnings::shape;
use super::{Cell, ExportError, Exporter, Place, Row, Summary};
use crate::paper::{self, Mark};
use crate::stats::Reproduction;

/// Writes `table.md`.
#[derive(Clone, Copy, Debug)]
pub struct Markdown;

impl Exporter for Markdown {
    fn file_name(&self) -> &str {
        "table.md"
    }

    fn export(&self, summary: &Summary) -> Result<Vec<u8>, ExportError> {
        let blocks = [
            Some(heading(summary)),
            warnings(summary),
            findings(summary),
            Some(ours(summary)),
            summary.paper.map(|table| beside(summary, table)),
        ];
        let others = tables::all(summary);
        let ending = [footnotes(summary), Some(format!("{}\n", escape(&summary.provenance)))];
        let blocks: Vec<String> = (blocks.into_iter().flatten())
            .chain(others.iter().map(other))
            .chain(ending.into_iter().flatten())
            .collect();
        Ok(blocks.join("\n").into_bytes())
    }
}

fn heading(summary: &Summary) -> String {
    let title = summary.heading();
    format!("# {}\n\n{}\n", escape(title), escape(&summary.state))
}

fn ours(summary: &Summary) -> String {
    let labels = summary.columns.iter().map(|column| escape(&column.label));
    let names = ["Dataset".to_owned(), "(n_tr, n_te, m, K)".replace('_', "\\_")];
    let header: Vec<String> = names.into_iter().chain(labels).collect();
    let mut text = format!(
        "## Test accuracy in percent, mean ± standard deviation over {}\n\n{}{}",
        summary.repeats(),
        line(&header),
        rule(&["---", "---"], summary.columns.len())
    );
    for row in &summary.rows {
        let size = row.shape.map_or("–".to_owned(), shape);
        let cells = row.cells.iter().map(|cell| our_cell(summary, cell));
        let cells: Vec<String> = [name(summary, row), size].into_iter().chain(cells).collect();
        text.push_str(&line(&cells));
    }
    if let Some(ranks) = &summary.ranks {
        let average = ranks.average.iter().map(|rank| number(*rank));
        let names = ["*Average rank*".to_owned(), String::new()];
        text.push_str(&line(&names.into_iter().chain(average).collect::<Vec<_>>()));
    }
    text.push_str("\nBold: best of a row; italic: second best.\n");
    for legend in summary.legend() {
        text.push_str(&format!("\n{}\n", escape(&legend)));
    }
    text
}

fn beside(summary: &Summary, table: &paper::Table) -> String {
    let mut text = format!(
        "## Beside the paper's Table {}: {}\n\n{}{}",
        escape(&table.table),
        escape(&table.caption),
        line(
            &["Dataset", "Method", "Paper", "Ours", "Difference", "Welch's p", "Verdict"]
                .map(str::to_owned)
        ),
        rule(&["---", "---"], 5)
    );
    for row in &summary.rows {
        for (cell, column) in row.cells.iter().zip(&summary.columns) {
            let Some(paper) = cell.paper else {
                continue;
            };
            let other = if row.other_problem { " ≠" } else { "" };
            let cells = [
                format!("{}{other}", escape(&row.dataset)),
                escape(&column.label),
                paper_cell(paper),
                our_cell(summary, cell),
                cell.difference.map_or("–".to_owned(), signed),
                cell.welch.map_or("–".to_owned(), |test| p_value(test.p)),
                cell.reproduction.map_or("–", Reproduction::word).to_owned(),
            ];
            text.push_str(&line(&cells));
        }
    }
    text.push_str("\nDifference: ours minus the paper's, in points, taken before rounding.");
    if summary.rows.iter().any(|row| row.other_problem) {
        text.push_str(" ≠: not the problem of the paper's row, see the warnings.");
    }
    text + "\n"
}

/// A table of text under its caption.
pub(super) fn other(table: &TextTable) -> String {
    let numbers = table.header.len() - table.words;
    let mut text = format!(
        "## {}\n\n{}{}",
        escape(&table.caption),
        line(&escaped(&table.header)),
        rule(&vec!["---"; table.words], numbers)
    );
    for row in &table.rows {
        text.push_str(&line(&escaped(row)));
    }
    if !table.note.is_empty() {
        text.push_str(&format!("\n{}\n", escape(&table.note)));
    }
    text
}

fn escaped(fields: &[String]) -> Vec<String> {
    fields.iter().map(|field| escape(field)).collect()
}

fn findings(summary: &Summary) -> Option<String> {
    let lines = summary.findings.iter();
    let lines: Vec<String> = lines.map(|line| format!("- {}\n", escape(line))).collect();
    (!lines.is_empty()).then(|| format!("## In words\n\n{}", lines.concat()))
}

fn footnotes(summary: &Summary) -> Option<String> {
    let notes: Vec<String> = (summary.footnotes.iter().enumerate())
        .map(|(index, note)| format!("- <sup>{}</sup> {}\n", letter(index), escape(note)))
        .collect();
    (!notes.is_empty()).then(|| format!("## Notes\n\n{}", notes.concat()))
}

fn warnings(summary: &Summary) -> Option<String> {
    let lines = summary.warnings.iter().map(|w| format!("- {}\n", escape(w)));
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| format!("## Warnings\n\n{}", lines.concat()))
}

fn name(summary: &Summary, row: &Row) -> String {
    escape(&row.dataset) + &superscript(&summary.letters(&row.footnotes))
}

fn our_cell(summary: &Summary, cell: &Cell) -> String {
    let notes = superscript(&summary.letters(&cell.footnotes));
    let Some(mean) = cell.mean else {
        return format!("{}{notes}", cell.word());
    };
    let mean = match cell.place {
        Place::Best => format!("**{}**", number(mean)),
        Place::SecondBest => format!("*{}*", number(mean)),
        Place::Other => number(mean),
    };
    let mut parts = vec![mean];
    parts.extend(cell.deviation.map(|sd| format!("± {}", number(sd))));
    parts.extend(Some(cell.marks()).filter(|marks| !marks.is_empty()));
    parts.extend(cell.share().map(|share| format!("[{share}]")));
    parts.join(" ") + &notes
}

fn paper_cell(paper: &paper::Cell) -> String {
    let figure = plus_minus(paper.value, paper.deviation);
    match paper.mark.map(Mark::symbol) {
        Some(mark) => format!("{figure} {mark}"),
        None => figure,
    }
}

fn superscript(letters: &str) -> String {
    if letters.is_empty() { String::new() } else { format!("<sup>{letters}</sup>") }
}

fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn rule(left: &[&str], right: usize) -> String {
    let cells: Vec<&str> = left.iter().copied().chain(vec!["---:"; right]).collect();
    format!("|{}|\n", cells.join("|"))
}

/// Keeps text from being read as markup.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        // A lone `<` or `&` is no markup, and legends read better without a backslash.
        let lone = rest.peek().is_none_or(|next| next.is_whitespace());
        match c {
            '<' | '&' if lone => escaped.push(c),
            '<' | '&' | '\\' | '|' | '*' | '_' | '`' | '[' | ']' | '#' | '~' => {
                escaped.push('\\');
                escaped.push(c);
            }
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_becomes_markup() {
        assert_eq!(escape("a|b*c_d`e<f>"), r"a\|b\*c\_d\`e\<f>");
        assert_eq!(escape("p < 0.05 & &lt;"), r"p < 0.05 & \&lt;");
    }
}
