//! What a cell of the table shows when pointed at: its splits, parameters and certificates, as one
//! JSON object for the whole page.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::ledger::{Record, Status};
use crate::render::Summary;
use crate::render::protocol::parameters;
use crate::render::text::clean;

/// Longest reason of a failure; the ledger has it in full.
const REASON: usize = 300;

/// The page's data, safe within a `script` element. Written piece by piece, since there may be a
/// hundred thousand splits.
pub(super) fn json(summary: &Summary) -> String {
    let mut interned = Interned::default();
    let mut cells = String::new();
    for (row, columns) in summary.cells().iter().enumerate() {
        cells += if row > 0 { ",[" } else { "[" };
        for (column, records) in columns.iter().enumerate() {
            cells += if column > 0 { ",[" } else { "[" };
            for (index, record) in records.iter().enumerate() {
                cells += if index > 0 { "," } else { "" };
                split(record, &mut interned, &mut cells);
            }
            cells.push(']');
        }
        cells.push(']');
    }
    let rows: Vec<&str> = summary.rows.iter().map(|row| row.dataset.as_str()).collect();
    let columns: Vec<&str> = (summary.columns.iter()).map(|column| column.label.as_str()).collect();
    let all = format!(
        "{{\"rows\":{},\"columns\":{},\"params\":{},\"cells\":[{cells}]}}",
        json!(rows),
        json!(columns),
        json!(interned.texts)
    );
    // A tag's end within a text would end the script.
    all.replace('<', "\\u003c")
}

/// Parameters are written once: most cells of a method share them.
#[derive(Default)]
struct Interned<'a> {
    texts: Vec<String>,
    places: HashMap<String, usize>,
    /// The last ones asked for, which the next split mostly has, too.
    last: Option<(&'a Value, usize)>,
}

impl<'a> Interned<'a> {
    fn place(&mut self, params: &'a Value) -> usize {
        match self.last {
            Some((last, place)) if last == params => place,
            _ => {
                let place = self.find(params);
                self.last = Some((params, place));
                place
            }
        }
    }

    fn find(&mut self, params: &Value) -> usize {
        let text = parameters(params);
        if let Some(place) = self.places.get(&text) {
            return *place;
        }
        self.places.insert(text.clone(), self.texts.len());
        self.texts.push(text);
        self.texts.len() - 1
    }
}

/// One split; numbers that are not finite are left out, as JSON has none.
fn split<'a>(record: &'a Record, interned: &mut Interned<'a>, text: &mut String) {
    let accuracy = record.accuracy.filter(|a| record.status == Status::Ok && a.is_finite());
    *text += &format!("{{\"s\":{}", record.split);
    let mut number = |name: &str, value: f64| {
        if value.is_finite() {
            *text += &format!(",\"{name}\":{value}");
        }
    };
    if let Some(accuracy) = accuracy {
        number("a", accuracy);
        number("p", interned.place(&record.params) as f64);
        if let Some(seconds) = record.fit_seconds {
            number("t", significant(seconds));
        }
        if let Some(certificate) = &record.certificate {
            number("g", significant(certificate.gap));
            number("i", certificate.iterations as f64);
            *text += &format!(",\"c\":{}", certificate.converged);
        }
    } else {
        let word = if record.status == Status::Skipped { "skipped" } else { "failed" };
        let reason = record.error.as_deref().map(clean).unwrap_or_default();
        let reason: String = format!("{word}: {reason}").chars().take(REASON).collect();
        *text += &format!(",\"e\":{}", json!(reason));
    }
    text.push('}');
}

/// Three digits: more are of no use to a reader, and 100,000 cells are many.
fn significant(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_kept() {
        assert_eq!(significant(0.123456), 0.123);
    }
}
