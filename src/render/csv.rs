//! CSV files: typed rows, each with the words that warn of them, so that numbers do not travel without them.

use csv::Writer;
use serde::Serialize;

use super::tables::Table;
use crate::analyse::{Cell, Entry, Paired, Summary, Versus};

/// The first columns of most files.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Names<'a> {
    pub(super) dataset: &'a str,
    pub(super) method: &'a str,
    pub(super) label: &'a str,
}

impl<'a> Names<'a> {
    pub(super) fn of(entry: Entry<'a>) -> Self {
        let Entry { row, column, .. } = entry;
        Self { dataset: &row.dataset, method: &column.method, label: &column.label }
    }
}

/// The shortest digits that read back as the same number; nothing without a finite number.
fn digits(value: Option<f64>) -> String {
    finite(value).map_or(String::new(), |value| format!("{value:?}"))
}

/// The number, unless it is infinite: sums of absurd accuracies overflow.
pub(super) fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

/// Ten significant digits: beyond them p depends on the platform's mathematics library.
pub(super) fn rounded(p: f64) -> f64 {
    format!("{p:.9e}").parse().unwrap_or(p)
}

#[derive(Serialize)]
struct Cautions {
    cautions: String,
}

/// Rows as CSV. The names of their fields are the header. Without rows there is none.
pub(super) fn csv<R: Serialize>(cautions: &[&str], rows: &[R]) -> String {
    let cautions = Cautions { cautions: cautions.join(" ") };
    text(|writer| rows.iter().try_for_each(|row| writer.serialize((row, &cautions))))
}

/// What is written. Nothing that is written to memory can fail.
fn text(write: impl FnOnce(&mut Writer<Vec<u8>>) -> csv::Result<()>) -> String {
    let mut writer = Writer::from_writer(Vec::new());
    let written = write(&mut writer);
    let bytes = written.ok().and_then(|()| writer.into_inner().ok()).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

/// A table as it is shown.
pub(super) fn table(summary: &Summary, table: &Table) -> String {
    let cautions = summary.cautions().join(" ");
    let head = table.head.iter().map(|head| head.name.as_str()).chain(["cautions"]);
    text(|writer| {
        writer.write_record(head)?;
        table.rows.iter().try_for_each(|row| {
            let fields = row.iter().map(|field| field.text.as_str());
            writer.write_record(fields.chain([cautions.as_str()]))
        })
    })
}

/// What a line of `table.csv` is made from.
struct Line<'a> {
    entry: Entry<'a>,
    cell: &'a Cell,
    /// By the paper's test and by the corrected one, as are the marks.
    p: [Option<f64>; 2],
    marks: [String; 2],
}

/// A column of `table.csv`: its name and what it says of a cell.
type Column = (&'static str, fn(&Line<'_>) -> String);

const COLUMNS: [Column; 28] = [
    ("dataset", |line| line.entry.row.dataset.clone()),
    ("method", |line| line.entry.column.method.clone()),
    ("label", |line| line.entry.column.label.clone()),
    ("n_splits", |line| line.cell.counts.done.to_string()),
    ("mean", |line| digits(line.cell.mean)),
    ("sd", |line| digits(line.cell.deviation)),
    ("p_naive", |line| digits(line.p[0].map(rounded))),
    ("mark", |line| line.marks[0].clone()),
    ("p_corrected", |line| digits(line.p[1].map(rounded))),
    ("mark_corrected", |line| line.marks[1].clone()),
    ("paper_mean", |line| paper(line, |versus| Some(versus.printed.value))),
    ("paper_sd", |line| paper(line, |versus| versus.printed.deviation)),
    ("paper_mark", |line| {
        let mark = line.cell.paper.as_ref().and_then(|versus| versus.printed.mark);
        mark.map_or(String::new(), |mark| mark.symbol().to_owned())
    }),
    ("difference", |line| paper(line, |versus| versus.difference)),
    ("failed", |line| line.cell.counts.failed.to_string()),
    ("skipped", |line| line.cell.counts.skipped.to_string()),
    ("missing", |line| line.cell.counts.missing.to_string()),
    ("p_welch", |line| paper(line, |versus| Some(rounded(versus.test?.p)))),
    ("verdict", |line| {
        line.cell.paper.as_ref().map_or("", |versus| versus.verdict.word()).to_owned()
    }),
    ("common_splits", |line| {
        let paired = line.cell.paired.as_ref();
        paired.map_or(String::new(), |paired| paired.differences.len().to_string())
    }),
    ("reference_minus_method", |line| paired(line, |paired| Some(paired.naive.mean_difference))),
    ("interval_low", |line| paired(line, |paired| Some(paired.interval?.0))),
    ("interval_high", |line| paired(line, |paired| Some(paired.interval?.1))),
    ("cohens_dz", |line| paired(line, |paired| Some(paired.effect))),
    ("p_wilcoxon", |line| paired(line, |paired| Some(paired.signed_rank))),
    ("p_naive_holm", |line| paired(line, |paired| Some(paired.holm.naive))),
    ("p_corrected_holm", |line| paired(line, |paired| paired.holm.corrected)),
    ("p_wilcoxon_holm", |line| paired(line, |paired| Some(paired.holm.signed_rank))),
];

/// A number of the comparison with the paper.
fn paper(line: &Line<'_>, get: fn(&Versus) -> Option<f64>) -> String {
    digits(line.cell.paper.as_ref().and_then(get))
}

/// A number of the comparison with the reference, without the digits that depend on the platform.
fn paired(line: &Line<'_>, get: fn(&Paired) -> Option<f64>) -> String {
    digits(line.cell.paired.as_ref().and_then(get).map(rounded))
}

/// `table.csv`: one line per dataset and method, numbers in full, for scripts.
pub(super) fn cells(summary: &Summary) -> String {
    let cautions = summary.cautions().join(" ");
    let comparison = summary.comparison.as_ref();
    text(|writer| {
        writer.write_record(COLUMNS.iter().map(|(name, _)| *name).chain(["cautions"]))?;
        summary.entries().try_for_each(|entry| {
            let cell = entry.cell;
            let tests = comparison.map_or([None; 2], |comparison| comparison.tests(cell));
            let marks = comparison.map(|comparison| comparison.both_marks(cell));
            let p = tests.map(|test| test.map(|test| test.p));
            let line = Line { entry, cell, p, marks: marks.unwrap_or_default() };
            let fields = COLUMNS.iter().map(|(_, show)| show(&line));
            writer.write_record(fields.chain([cautions.clone()]))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_missing_numbers() {
        assert_eq!(digits(Some(1.0)), "1.0");
        assert_eq!(digits(Some(rounded(1.0 / 3e8))), "3.333333333e-9");
        assert_eq!(digits(Some(f64::NAN)), "");
        assert_eq!(digits(None), "");
    }
}
