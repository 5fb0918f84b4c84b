//! `accuracy`: test accuracy by method, next to the paper's.
//!
//! In `accuracy.csv`, `kind` is `mean` (over `splits` splits; `low` and `high` are one standard deviation away), `split`
//! (one of them), `paper` (the paper's mean and deviation) or `none` (`note` says why).

use plotters::style::Color;
use serde::Serialize;

use super::axis::{Axis, robust_range};
use super::lanes::{self, Bar, Lane};
use super::model::{ACROSS, Figure, Legend, Look, Mark, Panel, Shape};
use super::{colour, in_rows};
use crate::analyse::text::plus_minus;
use crate::analyse::{self, Entry, Row, Summary};
use crate::render::csv::finite;

const PAPER: Look = Look { colour: colour::INK, shape: Shape::Open, radius: 4.0 };
/// Before a number that is outside the axis.
const OFF: &str = "◂";

#[derive(Clone, Debug, Default, Serialize)]
struct Numbers {
    reference: &'static str,
    kind: &'static str,
    split: Option<usize>,
    splits: Option<usize>,
    accuracy: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    note: String,
}

pub(super) fn figure(summary: &Summary) -> Option<Figure> {
    let cell = |entry| {
        let numbers = numbers(entry);
        let lane = lane(&numbers, entry);
        (numbers, Some(lane))
    };
    let (panels, data) = lanes::panels(summary, cell, |row, drawn| Some(panel(row, drawn)));
    let words = words(summary, &panels);
    let (rows, legend) = (in_rows(&panels, 2), legend(summary));
    super::figure(summary, "test accuracy by method", rows, legend, &words, &data)
}

/// The mean of a cell or why it has none, its splits, and the paper's mean.
fn numbers(entry: Entry) -> Vec<Numbers> {
    let Entry { row, column, cell } = entry;
    let reference = if column.is_reference { "yes" } else { "no" };
    let numbers = |kind, accuracy: Option<f64>, deviation: Option<f64>| {
        let (accuracy, deviation) = (finite(accuracy), finite(deviation));
        let end = |sign: f64| finite(Some(rounded(accuracy? + sign * deviation?)));
        let (low, high) = (end(-1.0), end(1.0));
        Numbers { reference, kind, accuracy, low, high, ..Numbers::default() }
    };
    let (kind, note) = match cell.mean {
        Some(_) => ("mean", cell.share().map_or(String::new(), |share| format!("{share} splits"))),
        None => ("none", row.no_results.as_deref().unwrap_or(cell.word()).to_owned()),
    };
    let splits = Some(cell.counts.done);
    let first = Numbers { splits, note, ..numbers(kind, cell.mean, cell.deviation) };
    let others = cell.values().map(|(split, value)| Numbers {
        split: Some(split),
        ..numbers("split", Some(value), None)
    });
    let paper = cell.paper.as_ref().map(|paper| paper.printed);
    let paper = paper.map(|paper| numbers("paper", Some(paper.value), paper.deviation));
    std::iter::once(first).chain(others).chain(paper).collect()
}

/// Sums of decimals leave digits such as 69.42999999999999; ten decimals are more than enough.
fn rounded(value: f64) -> f64 {
    (value * 1e10).round() / 1e10
}

impl Numbers {
    /// The mean with one deviation to either side.
    fn bar(&self, look: Look, thick: f64, whose: &str) -> Bar {
        let ends = self.low.zip(self.high);
        let deviation = ends.map(|(low, high)| (high - low) / 2.0);
        let words = format!("{OFF} {whose}{}", plus_minus(self.accuracy.unwrap_or(0.0), deviation));
        Bar { words, ..Bar::new(self.accuracy, look, &[(ends, thick)]) }
    }
}

/// A lane with our mean and, if there is one, the paper's below it.
fn lane(numbers: &[Numbers], entry: Entry) -> Lane {
    let Entry { column, cell, .. } = entry;
    let of = |kind| numbers.iter().filter(move |numbers| numbers.kind == kind);
    let dots: Vec<f64> = of("split").filter_map(|numbers| numbers.accuracy).collect();
    let are_percentages = dots.iter().all(|value| (0.0..=100.0).contains(value));
    let look = Look::dot(if column.is_reference { colour::REFERENCE } else { colour::METHOD });
    let ours = match of("mean").next() {
        Some(numbers) if are_percentages => Bar { dots, ..numbers.bar(look, 2.0, "") },
        Some(_) => Bar::without_mean("no result: accuracies outside 0 to 100"),
        None => Bar::without_mean(format!("no result: {}", cell.word())),
    };
    let paper = of("paper").map(|numbers| numbers.bar(PAPER, 1.25, "paper "));
    Lane::new(entry, std::iter::once(ours).chain(paper).collect())
}

fn panel(row: &Row, drawn: &[Lane]) -> Panel {
    if let Some(reason) = &row.no_results {
        return Panel::message(row.name(), reason);
    }
    let range = robust_range(lanes::spans(drawn).collect());
    let axis = range.and_then(|(low, high)| Axis::percent([low, high]));
    let height = if drawn.iter().any(|lane| lane.bars.len() > 1) { 34.0 } else { 25.0 };
    let panel = lanes::panel(drawn, axis, "test accuracy (%)", height, |axis| {
        let Some(index) = drawn.iter().position(|lane| lane.is_strong) else {
            return Vec::new();
        };
        let (top, bottom) = (index as f64 - 0.5, index as f64 + 0.5);
        let tint = colour::REFERENCE.mix(0.09);
        let tint = Mark::rectangle((axis.low, top), (axis.high, bottom), tint);
        let mean = drawn[index].bars[0].mean.filter(|mean| axis.holds(*mean));
        let guide = mean.map(|mean| lanes::guide(mean, drawn.len(), colour::REFERENCE));
        std::iter::once(tint).chain(guide).collect()
    });
    Panel { name: row.name(), about: row.shape.map_or(String::new(), size), ..panel }
}

fn size(shape: analyse::Shape) -> String {
    let analyse::Shape { n_train, n_test, dims, classes } = shape;
    format!("{n_train} train, {n_test} test, {dims} dims, {classes} classes")
}

fn legend(summary: &Summary) -> Legend {
    let ours = Look::dot(colour::METHOD).icon(ACROSS, 2.0);
    let mut entries = vec![("mean ± sd over splits".to_owned(), ours), lanes::split_icon()];
    if let Some(column) = summary.reference() {
        let text = format!("{}, the reference (dashes: its mean)", column.label);
        entries.push((text, Look::dot(colour::REFERENCE).icon(ACROSS, 2.0)));
    }
    if let Some(table) = summary.paper {
        let text = format!("paper (Table {}), mean ± sd", table.table);
        entries.push((text, PAPER.icon(ACROSS, 1.25)));
    }
    entries
}

/// The meaning of bars and signs.
fn words(summary: &Summary, panels: &[Panel]) -> String {
    let mut words = "Bars reach one standard deviation (sd) over the splits to either side of the mean, as in the \
                     paper's tables; training sets of splits overlap, so a bar is not a confidence interval."
        .to_owned();
    words += &lanes::words(summary);
    let is_off = |mark: &Mark| matches!(mark, Mark::Text { text, .. } if text.starts_with(OFF));
    if panels.iter().any(|panel| panel.marks.iter().any(is_off)) {
        words += &format!(" {OFF}: mean ± sd of a value too far below the others for the axis.");
    }
    if summary.rows.iter().any(|row| row.other_problem) {
        words += " ≠: the problem differs from the paper's.";
    }
    words
}
