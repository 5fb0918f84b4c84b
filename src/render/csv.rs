//! `table.csv`: one line per dataset and method, numbers in full, for scripts.

use super::tables::TextTable;
use super::{Cell, ExportError, Exporter, Paired, Summary, Verdict};
use crate::paper::Mark;
use crate::stats::Reproduction;

/// Writes `table.csv`.
#[derive(Clone, Copy, Debug)]
pub struct Csv;

const HEADER: [&str; 28] = [
    "dataset",
    "method",
    "label",
    "n_splits",
    "mean",
    "sd",
    "p_naive",
    "mark",
    "p_corrected",
    "mark_corrected",
    "paper_mean",
    "paper_sd",
    "paper_mark",
    "difference",
    "failed",
    "skipped",
    "missing",
    "p_welch",
    "verdict",
    "common_splits",
    "reference_minus_method",
    "interval_low",
    "interval_high",
    "cohens_dz",
    "p_wilcoxon",
    "p_naive_holm",
    "p_corrected_holm",
    "p_wilcoxon_holm",
];

impl Exporter for Csv {
    fn file_name(&self) -> &str {
        "table.csv"
    }

    fn export(&self, summary: &Summary) -> Result<Vec<u8>, ExportError> {
        let mut text = HEADER.join(",") + "\n";
        for row in &summary.rows {
            for (cell, column) in row.cells.iter().zip(&summary.columns) {
                let names = [&row.dataset, &column.method, &column.label].map(|name| quoted(name));
                let fields: Vec<String> = names.into_iter().chain(figures(cell)).collect();
                text.push_str(&fields.join(","));
                text.push('\n');
            }
        }
        Ok(with_cautions(summary, &text).into_bytes())
    }
}

fn figures(cell: &Cell) -> impl Iterator<Item = String> {
    outcome(cell).into_iter().chain(tests(cell))
}

/// Differences and tests, in the header's order.
fn tests(cell: &Cell) -> [String; 11] {
    let paired = cell.paired.as_ref();
    let of = |get: fn(&Paired) -> Option<f64>| {
        optional(paired.and_then(get).filter(|x| x.is_finite()).map(rounded))
    };
    let verdict = cell.reproduction.map_or("", Reproduction::word);
    [
        optional(cell.welch.map(|test| rounded(test.p))),
        verdict.to_owned(),
        paired.map_or(String::new(), |p| p.naive.n.to_string()),
        of(|p| Some(p.naive.mean_difference)),
        of(|p| p.interval().map(|(low, _)| low)),
        of(|p| p.interval().map(|(_, high)| high)),
        of(|p| Some(p.effect)),
        of(|p| Some(p.signed_rank)),
        of(|p| Some(p.holm.naive)),
        of(|p| p.holm.corrected),
        of(|p| Some(p.holm.signed_rank)),
    ]
}

fn outcome(cell: &Cell) -> [String; 14] {
    let p = |verdict: &Option<Verdict>| optional(verdict.as_ref().map(|v| rounded(v.p)));
    let mark = |verdict: &Option<Verdict>| verdict.as_ref().map(Verdict::mark).unwrap_or_default();
    let paper_mark = cell.paper.and_then(|paper| paper.mark);
    [
        cell.counts.ok.to_string(),
        optional(cell.mean),
        optional(cell.deviation),
        p(&cell.naive),
        mark(&cell.naive),
        p(&cell.corrected),
        mark(&cell.corrected),
        optional(cell.paper.map(|paper| paper.value)),
        optional(cell.paper.and_then(|paper| paper.deviation)),
        paper_mark.map(Mark::symbol).unwrap_or_default().to_owned(),
        optional(cell.difference),
        cell.counts.failed.to_string(),
        cell.counts.skipped.to_string(),
        cell.counts.missing.to_string(),
    ]
}

/// A table of text as CSV.
pub(super) fn text_table(table: &TextTable) -> String {
    let lines = std::iter::once(&table.header).chain(&table.rows);
    let line = |fields: &Vec<String>| {
        let fields: Vec<String> = fields.iter().map(|field| quoted(field)).collect();
        fields.join(",") + "\n"
    };
    lines.map(line).collect()
}

/// A CSV file with a column of the table's cautions, so that numbers do not travel without them.
pub(super) fn with_cautions(summary: &Summary, data: &str) -> String {
    with_column(data, "cautions", &summary.cautions.join(" "))
}

/// A CSV file with a further column, which has the same value in every line.
pub(super) fn with_column(data: &str, name: &str, value: &str) -> String {
    let mut text = String::with_capacity(data.len());
    let mut is_quoted = false;
    let mut field = name;
    for c in data.chars() {
        is_quoted ^= c == '"';
        if c == '\n' && !is_quoted {
            text.push(',');
            text += field;
            field = value;
        }
        text.push(c);
    }
    text
}

/// The shortest digits that read back as the same number; nothing for no number.
pub(super) fn optional(value: Option<f64>) -> String {
    value.map(|value| format!("{value:?}")).unwrap_or_default()
}

/// Ten significant digits: beyond them p depends on the platform's mathematics library.
pub(super) fn rounded(p: f64) -> f64 {
    format!("{p:.9e}").parse().unwrap_or(p)
}

/// Quotes a field as RFC 4180 asks, where needed.
pub(super) fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_added_to_every_line_of_the_file() {
        let data = "a,b\n1,\"two\nlines, \"\"quoted\"\"\"\n2,\n";
        assert_eq!(
            with_column(data, "cautions", "tuned-on-test"),
            "a,b,cautions\n1,\"two\nlines, \"\"quoted\"\"\",tuned-on-test\n2,,tuned-on-test\n"
        );
    }

    #[test]
    fn fields_read_back_as_they_were() {
        assert_eq!(quoted("TWSVM (tuned)"), "TWSVM (tuned)");
        assert_eq!(optional(None), "");
        assert_eq!(optional(Some(1.0)), "1.0");
        assert_eq!(optional(Some(rounded(1.0 / 3e8))), "3.333333333e-9");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
