//! What a cell of the table shows when pointed at: its splits, parameters and certificates, as one
//! JSON object for the whole page.

use indexmap::IndexSet;
use serde::Serialize;

use crate::analyse::protocol::parameters;
use crate::analyse::{Cell, Summary, failure};
use crate::ledger::Record;

/// Longest reason of a failure; the ledger has it in full.
const REASON: usize = 300;

#[derive(Serialize)]
struct Details<'a> {
    rows: Vec<&'a str>,
    columns: Vec<&'a str>,
    /// Written once: most cells of a method share them.
    params: IndexSet<String>,
    /// By row, column and split.
    cells: Vec<Vec<Vec<Split>>>,
}

/// One split. The names are short because there may be a hundred thousand.
#[derive(Serialize)]
#[serde(untagged)]
enum Split {
    Done {
        /// Number of the split.
        s: usize,
        /// Accuracy.
        a: Option<f64>,
        /// Place of the parameters.
        p: usize,
        /// Seconds of the fit.
        t: Option<f64>,
        /// Gap and iterations of the certificate, and whether the fit converged.
        g: Option<f64>,
        i: Option<usize>,
        c: Option<bool>,
    },
    Failed {
        s: usize,
        /// Why there is no accuracy.
        e: String,
    },
}

/// The page's data, safe within a `script` element.
pub(super) fn json(summary: &Summary) -> String {
    let mut params = IndexSet::new();
    let mut place = |record: &Record| params.insert_full(parameters(&record.params)).0;
    let mut splits = |cell: &Cell| cell.records().map(|record| split(record, &mut place)).collect();
    let cells = summary.rows.iter().map(|row| row.cells.iter().map(&mut splits).collect());
    let cells = cells.collect();
    let rows = summary.rows.iter().map(|row| row.dataset.as_str()).collect();
    let columns = summary.columns.iter().map(|column| column.label.as_str()).collect();
    let text = serde_json::to_string(&Details { rows, columns, params, cells });
    // A tag's end within a text would end the script.
    text.unwrap_or_default().replace('<', "\\u003c")
}

fn split(record: &Record, place: &mut impl FnMut(&Record) -> usize) -> Split {
    if let Some(reason) = failure(record) {
        return Split::Failed { s: record.split, e: reason.chars().take(REASON).collect() };
    }
    let certificate = record.certificate.as_ref();
    Split::Done {
        s: record.split,
        a: record.accuracy,
        p: place(record),
        t: record.fit_seconds.and_then(significant),
        g: certificate.and_then(|certificate| significant(certificate.gap)),
        i: certificate.map(|certificate| certificate.iterations),
        c: certificate.map(|certificate| certificate.converged),
    }
}

/// Three digits: more do not help a reader, and 100,000 cells take space.
fn significant(value: f64) -> Option<f64> {
    format!("{value:.2e}").parse().ok().filter(|value: &f64| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_kept() {
        assert_eq!(significant(0.123456), Some(0.123));
        assert_eq!(significant(f64::INFINITY), None);
    }
}
