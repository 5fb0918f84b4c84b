//! CSV files: typed rows, each with the words that warn of them, so that numbers do not travel without them.

use serde::{Serialize, Serializer};

use super::tables::Table;
use crate::analyse::{Cell, Entry, Paired, Summary};

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

/// A number that a file may lack: the shortest digits that read back as the same number, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Number(pub(super) Option<f64>);

impl Number {
    /// The number, or 0 if there is none.
    pub(super) fn value(self) -> f64 {
        self.0.unwrap_or(0.0)
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self(Some(value))
    }
}

impl From<Option<f64>> for Number {
    fn from(value: Option<f64>) -> Self {
        Self(value)
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.filter(|value| value.is_finite()) {
            Some(value) => serializer.collect_str(&format_args!("{value:?}")),
            None => serializer.serialize_none(),
        }
    }
}

/// Ten significant digits: beyond them p depends on the platform's mathematics library.
pub(super) fn rounded(p: f64) -> f64 {
    format!("{p:.9e}").parse().unwrap_or(p)
}

#[derive(Serialize)]
struct Cautions {
    cautions: String,
}

/// Rows as CSV. The names of their fields are the header.
pub(super) fn csv<R: Serialize + Default>(cautions: &[&str], rows: &[R]) -> String {
    let cautions = Cautions { cautions: cautions.join(" ") };
    let mut writer = csv::Writer::from_writer(Vec::new());
    let written = match rows {
        // The header alone, which only a row gives.
        [] => writer.serialize((&R::default(), &cautions)),
        rows => rows.iter().try_for_each(|row| writer.serialize((row, &cautions))),
    };
    let bytes = written.ok().and_then(|()| writer.into_inner().ok()).unwrap_or_default();
    let text = String::from_utf8(bytes).unwrap_or_default();
    match rows {
        [] => text.lines().take(1).map(|header| format!("{header}\n")).collect(),
        _ => text,
    }
}

/// A table as it is shown.
pub(super) fn table(summary: &Summary, table: &Table) -> String {
    let cautions = summary.cautions().join(" ");
    let head = table.head.iter().map(|head| head.name.as_str()).chain(["cautions"]);
    let mut writer = csv::Writer::from_writer(Vec::new());
    let written = writer.write_record(head).and_then(|()| {
        table.rows.iter().try_for_each(|row| {
            let fields = row.iter().map(|field| field.text.as_str());
            writer.write_record(fields.chain([cautions.as_str()]))
        })
    });
    let bytes = written.ok().and_then(|()| writer.into_inner().ok()).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

/// What a line of `table.csv` says of a cell.
#[derive(Default, Serialize)]
struct Line {
    n_splits: usize,
    mean: Number,
    sd: Number,
    p_naive: Number,
    mark: String,
    p_corrected: Number,
    mark_corrected: String,
    paper_mean: Number,
    paper_sd: Number,
    paper_mark: &'static str,
    difference: Number,
    failed: usize,
    skipped: usize,
    missing: usize,
    p_welch: Number,
    verdict: &'static str,
    common_splits: Option<usize>,
    reference_minus_method: Number,
    interval_low: Number,
    interval_high: Number,
    cohens_dz: Number,
    p_wilcoxon: Number,
    p_naive_holm: Number,
    p_corrected_holm: Number,
    p_wilcoxon_holm: Number,
}

/// `table.csv`: one line per dataset and method, numbers in full, for scripts.
pub(super) fn cells(summary: &Summary) -> String {
    let line = |entry: Entry<'_>| Line::of(summary, entry.cell);
    let lines: Vec<_> = summary.entries().map(|entry| (Names::of(entry), line(entry))).collect();
    csv(&summary.cautions(), &lines)
}

impl Line {
    fn of(summary: &Summary, cell: &Cell) -> Self {
        let comparison = summary.comparison.as_ref();
        let tests = comparison.map_or([None; 2], |comparison| comparison.tests(cell));
        let mark = |which: usize| {
            let marked = comparison.zip(tests[which]);
            marked.map_or(String::new(), |(comparison, test)| comparison.mark(&test))
        };
        let paper = cell.paper.as_ref();
        let printed = paper.map(|versus| versus.printed);
        let shown = |value: Option<f64>| Number(value.map(rounded));
        let paired = |get: fn(&Paired) -> Option<f64>| shown(cell.paired.as_ref().and_then(get));
        Self {
            n_splits: cell.counts.done,
            mean: cell.mean.into(),
            sd: cell.deviation.into(),
            p_naive: shown(tests[0].map(|test| test.p)),
            mark: mark(0),
            p_corrected: shown(tests[1].map(|test| test.p)),
            mark_corrected: mark(1),
            paper_mean: printed.map(|printed| printed.value).into(),
            paper_sd: printed.and_then(|printed| printed.deviation).into(),
            paper_mark: printed.and_then(|printed| printed.mark).map_or("", |mark| mark.symbol()),
            difference: paper.and_then(|versus| versus.difference).into(),
            failed: cell.counts.failed,
            skipped: cell.counts.skipped,
            missing: cell.counts.missing,
            p_welch: shown(paper.and_then(|versus| versus.test).map(|test| test.p)),
            verdict: paper.map_or("", |versus| versus.word()),
            common_splits: cell.paired.as_ref().map(|paired| paired.differences.len()),
            reference_minus_method: paired(|paired| Some(paired.naive.mean_difference)),
            interval_low: paired(|paired| Some(paired.interval?.0)),
            interval_high: paired(|paired| Some(paired.interval?.1)),
            cohens_dz: paired(|paired| Some(paired.effect)),
            p_wilcoxon: paired(|paired| Some(paired.signed_rank)),
            p_naive_holm: paired(|paired| Some(paired.holm.naive)),
            p_corrected_holm: paired(|paired| paired.holm.corrected),
            p_wilcoxon_holm: paired(|paired| Some(paired.holm.signed_rank)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_missing_numbers() {
        let text = |number: Number| serde_json::to_value(number).unwrap();
        assert_eq!(text(Number::from(1.0)), "1.0");
        assert_eq!(text(Number::from(rounded(1.0 / 3e8))), "3.333333333e-9");
        assert!(text(Number::from(f64::NAN)).is_null());
        assert!(text(Number(None)).is_null());
    }
}
