//! `accuracy.csv`: every number of the figure, one mark a line.
//!
//! `kind` is `mean` (over `splits` splits; `low` and `high` are one standard deviation away),
//! `split` (one of them), `paper` (the paper's mean and deviation) or `none` (`note` says why).

use crate::render::csv::{optional, quoted};
use crate::render::{Cell, Summary};

const HEADER: &str = "dataset,method,label,reference,kind,split,splits,accuracy,low,high,note\n";

/// The figure's data.
pub(super) fn csv(summary: &Summary) -> String {
    let reference = summary.comparison.as_ref().map(|found| found.reference);
    let mut text = HEADER.to_owned();
    for row in &summary.rows {
        for (index, (cell, column)) in row.cells.iter().zip(&summary.columns).enumerate() {
            let names = [&row.dataset, &column.method, &column.label].map(|name| quoted(name));
            let is_reference = if reference == Some(index) { "yes" } else { "no" };
            for mark in marks(cell, row.no_results.as_deref()) {
                text.push_str(&format!("{},{is_reference},{mark}\n", names.join(",")));
            }
        }
    }
    text
}

/// The last seven fields of each line of a cell.
fn marks(cell: &Cell, no_results: Option<&str>) -> Vec<String> {
    let mut lines = Vec::new();
    match cell.mean {
        Some(mean) => {
            let (low, high) = around(mean, cell.deviation);
            let (mean, splits) = (number(mean), cell.counts.ok);
            let note = cell.share().map(|share| format!("{share} splits"));
            let note = note.unwrap_or_default();
            lines.push(format!("mean,,{splits},{mean},{low},{high},{note}"));
        }
        None => {
            let reason = no_results.unwrap_or(cell.word());
            lines.push(format!("none,,0,,,,{}", quoted(reason)));
        }
    }
    for (split, value) in &cell.values {
        lines.push(format!("split,{split},,{},,,", number(*value)));
    }
    if let Some(paper) = cell.paper {
        let (low, high) = around(paper.value, paper.deviation);
        lines.push(format!("paper,,,{},{low},{high},", number(paper.value)));
    }
    lines
}

/// One deviation below and above; nothing without a deviation.
fn around(mean: f64, deviation: Option<f64>) -> (String, String) {
    let deviation = deviation.filter(|deviation| deviation.is_finite());
    // Sums of decimals leave digits such as 69.42999999999999; ten decimals are more than enough.
    let rounded = |value: f64| (value * 1e10).round() / 1e10;
    let end = |sign: f64| deviation.map(|deviation| rounded(mean + sign * deviation));
    (optional(end(-1.0)), optional(end(1.0)))
}

fn number(value: f64) -> String {
    optional(Some(value).filter(|value| value.is_finite()))
}
