//! What a cell of the table shows when pointed at: its splits, parameters and certificates, as one
//! JSON object for the whole page.

use std::collections::HashMap;

use serde::Serialize;

use crate::analyse::Summary;
use crate::analyse::protocol::parameters;
use crate::analyse::text::clean;
use crate::ledger::{Record, Status};

/// Longest reason of a failure; the ledger has it in full.
const REASON: usize = 300;

#[derive(Serialize)]
struct Details<'a> {
    rows: Vec<&'a str>,
    columns: Vec<&'a str>,
    /// Written once: most cells of a method share them.
    params: Vec<String>,
    /// By row, column and split.
    cells: Vec<Vec<Vec<Split>>>,
}

/// One split. The names are short because there may be a hundred thousand.
#[derive(Default, Serialize)]
struct Split {
    /// Number of the split.
    s: usize,
    /// Accuracy.
    #[serde(skip_serializing_if = "Option::is_none")]
    a: Option<f64>,
    /// Place of the parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    p: Option<usize>,
    /// Seconds of the fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    t: Option<f64>,
    /// Gap of the certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    g: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    i: Option<usize>,
    /// Whether the fit converged.
    #[serde(skip_serializing_if = "Option::is_none")]
    c: Option<bool>,
    /// Why there is no accuracy.
    #[serde(skip_serializing_if = "Option::is_none")]
    e: Option<String>,
}

/// The page's data, safe within a `script` element.
pub(super) fn json(summary: &Summary) -> String {
    let mut params = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut place = |record: &Record| {
        let text = parameters(&record.params);
        *places.entry(text).or_insert_with_key(|text| {
            params.push(text.clone());
            params.len() - 1
        })
    };
    let rows = summary.rows.iter().map(|row| {
        let cells = row.cells.iter().map(|cell| {
            let records = cell.records.values().flatten();
            records.map(|record| split(record, &mut place)).collect()
        });
        cells.collect()
    });
    let cells = rows.collect();
    let rows = summary.rows.iter().map(|row| row.dataset.as_str()).collect();
    let columns = summary.columns.iter().map(|column| column.label.as_str()).collect();
    let text = serde_json::to_string(&Details { rows, columns, params, cells });
    // A tag's end within a text would end the script.
    text.unwrap_or_default().replace('<', "\\u003c")
}

fn split(record: &Record, place: &mut impl FnMut(&Record) -> usize) -> Split {
    let accuracy = record.accuracy.filter(|a| record.status == Status::Ok && a.is_finite());
    if accuracy.is_none() {
        let word = if record.status == Status::Skipped { "skipped" } else { "failed" };
        let reason = record.error.as_deref().map(clean).unwrap_or_default();
        let reason = format!("{word}: {reason}").chars().take(REASON).collect();
        return Split { s: record.split, e: Some(reason), ..Split::default() };
    }
    let certificate = record.certificate.as_ref();
    Split {
        s: record.split,
        a: accuracy,
        p: Some(place(record)),
        t: record.fit_seconds.and_then(significant),
        g: certificate.and_then(|certificate| significant(certificate.gap)),
        i: certificate.map(|certificate| certificate.iterations),
        c: certificate.map(|certificate| certificate.converged),
        e: None,
    }
}

/// Three digits: more are of no use to a reader, and 100,000 cells are many.
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
