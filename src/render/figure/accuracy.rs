//! `accuracy`: test accuracy by method, next to the paper's.
//!
//! In `accuracy.csv`, `kind` is `mean` (over `splits` splits; `low` and `high` are one standard deviation away), `split`
//! (one of them), `paper` (the paper's mean and deviation) or `none` (`note` says why).

use serde::Serialize;

use super::axis::{Axis, robust_range};
use super::colour;
use super::lanes::{self, Bar, Lane};
use super::model::{Figure, Look, Mark, Panel, Shape};
use crate::analyse::text::plus_minus;
use crate::analyse::{self, Entry, Row, Summary};
use crate::render::csv::Number;

const PAPER: Look = Look { colour: colour::INK, shape: Shape::Open, radius: 4.0 };

#[derive(Clone, Debug, Default, Serialize)]
struct Numbers {
    reference: &'static str,
    kind: &'static str,
    split: Option<usize>,
    splits: Option<usize>,
    accuracy: Number,
    low: Number,
    high: Number,
    note: String,
}

pub(super) fn figure(summary: &Summary) -> Option<Figure> {
    let lane = |numbers: &[_], entry| Some(lane(numbers, entry, summary.paper.is_some()));
    let panel = |row: &_, drawn: &[_]| Some(panel(summary, row, drawn));
    let (mut panels, rows) = lanes::panels(summary, numbers, lane, panel);
    if summary.rows.is_empty() || summary.columns.is_empty() {
        let lacking = if summary.rows.is_empty() { "datasets" } else { "methods" };
        panels = vec![Panel::message(String::new(), format!("the plan has no {lacking}"))];
    }
    let words = words(summary, &panels);
    let title = ("accuracy", "test accuracy by method");
    let figure = super::figure(summary, title, (panels, 2), &words, &rows)?;
    Some(Figure { legend: legend(summary), ..figure })
}

/// The mean of a cell or why it has none, its splits, and the paper's mean.
fn numbers(entry: Entry) -> Vec<Numbers> {
    let Entry { row, column, cell } = entry;
    let reference = if column.is_reference { "yes" } else { "no" };
    let numbers = |kind, accuracy: Option<f64>, deviation: Option<f64>| {
        let deviation = deviation.filter(|deviation| deviation.is_finite());
        let end = |sign: f64| Some(rounded(accuracy? + sign * deviation?));
        let (low, high) = (end(-1.0).into(), end(1.0).into());
        Numbers { reference, kind, accuracy: accuracy.into(), low, high, ..Numbers::default() }
    };
    let note = match cell.mean {
        Some(_) => cell.share().map_or(String::new(), |share| format!("{share} splits")),
        None => row.no_results.as_deref().unwrap_or(cell.word()).to_owned(),
    };
    let kind = if cell.mean.is_some() { "mean" } else { "none" };
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

/// A lane with our mean and, if there is one, the paper's below it.
fn lane(numbers: &[Numbers], entry: Entry, has_paper: bool) -> Lane {
    let Entry { column, cell, .. } = entry;
    let of = |kind| numbers.iter().filter(move |number| number.kind == kind);
    let dots: Vec<f64> = of("split").filter_map(|number| number.accuracy.0).collect();
    let colour = if column.is_reference { colour::REFERENCE } else { colour::METHOD };
    let are_percentages = dots.iter().all(|value| (0.0..=100.0).contains(value));
    let bar = |number: &Numbers, thick, look, offset| {
        let (mean, interval) = (number.accuracy.0?, number.low.0.zip(number.high.0));
        Some(Bar {
            offset: if has_paper { offset } else { 0.0 },
            words: plus_minus(mean, interval.map(|(low, high)| (high - low) / 2.0)),
            ..Bar::new(mean, look, &[(interval, thick)])
        })
    };
    let ours = of("mean").filter(|_| are_percentages);
    let ours = ours.filter_map(|number| bar(number, 2.0, Look::dot(colour), -6.0));
    let theirs = of("paper").filter_map(|number| bar(number, 1.25, PAPER, 9.0));
    let theirs = theirs.map(|bar| Bar { words: format!("paper {}", bar.words), ..bar });
    let words = match cell.mean {
        Some(_) => "no result: accuracies that are no percentages".to_owned(),
        None => format!("no result: {}", cell.word()),
    };
    Lane {
        label: column.label.clone(),
        bars: ours.chain(theirs).collect(),
        dots,
        words,
        share: cell.share().unwrap_or_default(),
    }
}

fn panel(summary: &Summary, row: &Row, drawn: &[Lane]) -> Panel {
    if let Some(reason) = &row.no_results {
        return Panel::message(row.name(), reason.clone());
    }
    let spans = drawn.iter().flat_map(|lane| {
        let dots = |bar: &Bar| if bar.look == PAPER { &[] } else { lane.dots.as_slice() };
        lane.bars.iter().map(move |bar| bar.span(dots(bar)))
    });
    let axis = robust_range(spans.collect()).and_then(|(low, high)| Axis::percent([low, high]));
    let reference = summary.reference().filter(|column| column.index < drawn.len());
    let mut behind = Vec::new();
    if let (Some(axis), Some(column)) = (&axis, reference) {
        let (top, bottom) = (column.index as f64 - 0.5, column.index as f64 + 0.5);
        let tint = colour::faint(colour::REFERENCE, 0.09);
        behind.push(Mark::rectangle((axis.low, top), (axis.high, bottom), tint));
        let mean = row.cells.get(column.index).and_then(|cell| cell.mean);
        let mean = mean.filter(|mean| axis.holds(*mean));
        behind.extend(mean.map(|mean| lanes::guide(mean, drawn.len(), colour::REFERENCE)));
    }
    let height = if summary.paper.is_some() { 34.0 } else { 25.0 };
    let below = if axis.is_some() { "test accuracy (%)" } else { "" };
    let strong = reference.map(|column| column.index);
    Panel {
        name: row.name(),
        about: row.shape.map_or(String::new(), size),
        below: below.to_owned(),
        ..lanes::panel(drawn, axis, behind, (height, strong))
    }
}

fn size(shape: analyse::Shape) -> String {
    let analyse::Shape { n_train, n_test, dims, classes } = shape;
    format!("{n_train} train, {n_test} test, {dims} dims, {classes} classes")
}

fn legend(summary: &Summary) -> Vec<(String, Vec<Mark>)> {
    let icon = |colour| lanes::bar_icon(Look::dot(colour), 2.0);
    let mut entries =
        vec![("mean ± sd over splits".to_owned(), icon(colour::METHOD)), lanes::split_icon()];
    if let Some(column) = summary.reference() {
        let text = format!("{}, the reference (dashes: its mean)", column.label);
        entries.push((text, icon(colour::REFERENCE)));
    }
    if let Some(table) = summary.paper {
        let text = format!("paper (Table {}), mean ± sd", table.table);
        entries.push((text, lanes::bar_icon(PAPER, 1.25)));
    }
    entries
}

/// What a bar is and what the signs mean.
fn words(summary: &Summary, panels: &[Panel]) -> String {
    let mut words = "Bars reach one standard deviation (sd) over the splits to either side of the mean, as in the \
                     paper's tables; training sets of splits overlap, so a bar is no confidence interval."
        .to_owned();
    words += &lanes::left_out(summary);
    let is_off =
        |mark: &Mark| matches!(mark, Mark::Text { text, .. } if text.starts_with(lanes::OFF));
    if panels.iter().any(|panel| panel.marks.iter().any(is_off)) {
        let off = lanes::OFF;
        words += &format!(
            " {off}: mean ± sd of what lies off the axis, so far below that it would squeeze the others."
        );
    }
    let mut cells = summary.rows.iter().flat_map(|row| &row.cells);
    if cells.any(|cell| cell.share().is_some()) {
        words += " k/n next to a lane: k of its n planned splits succeeded.";
    }
    if summary.rows.iter().any(|row| row.other_problem) {
        words += " ≠: not the problem of the paper's row.";
    }
    words
}
