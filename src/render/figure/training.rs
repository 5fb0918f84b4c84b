//! `convergence` and `ablation`: objectives and test accuracy by iteration.

use serde::Serialize;

use super::axis::Axis;
use super::model::{Figure, Look, Mark, Panel};
use super::{one_split, traced, unit};
use crate::analyse::{Entry, Row, Summary, Trace};
use crate::render::csv::{Names, Number};

const OBJECTIVE: &str = "objective";
const ACCURACY: &str = "test accuracy (%)";
/// Looks of the objectives; those of methods come after them.
const PRIMAL: usize = 0;
const DUAL: usize = 1;

/// A cell with the trace of its first split.
type Traced<'a> = (Entry<'a>, &'a Trace);
/// The number of a look and the points of a line.
type Curve = (usize, Vec<(f64, f64)>);

#[derive(Default, Serialize)]
struct Point<'a> {
    dataset: &'a str,
    label: &'a str,
    split: usize,
    iteration: usize,
    primal: Number,
    dual: Number,
    accuracy: Number,
}

#[derive(Default, Serialize)]
struct Reached {
    iteration: usize,
    accuracy: Number,
}

/// Training evolution, if methods kept a trace.
pub(super) fn convergence(summary: &Summary) -> Option<Figure> {
    let (mut panels, mut rows, mut used) = (Vec::new(), Vec::new(), Vec::new());
    for row in &summary.rows {
        let traces: Vec<Traced> = traced(summary.entries_of(row)).collect();
        for (entry, trace) in &traces {
            let curves = [
                (PRIMAL, trace.curve(|point| point.primal)),
                (DUAL, trace.curve(|point| point.dual)),
            ];
            let name = format!("{} on {}", entry.column.label, row.dataset);
            panels.extend(panel(name, OBJECTIVE, unit(&[*entry]), &curves, &mut used));
            rows.extend(points(*entry, trace));
        }
        let curves: Vec<Curve> = accuracies(&traces, |entry| entry.column.index + 2);
        let name = format!("Test accuracy on {}", row.dataset);
        panels.extend(panel(name, ACCURACY, unit(&entries(&traces)), &curves, &mut used));
    }
    used.sort_unstable();
    used.dedup();
    let is_drawn = |row: &&Row| row.cells.iter().any(|cell| cell.trace.is_some());
    let words = one_split(summary.rows.iter().filter(is_drawn)) + &explained(&panels);
    let title = ("convergence", "training evolution");
    let figure = super::figure(summary, title, (panels, 2), &words, &rows)?;
    let legend = used.into_iter().map(|look| (series(summary, look), Look::series(look).icon()));
    Some(Figure { legend: legend.collect(), ..figure })
}

fn entries<'a>(traces: &[Traced<'a>]) -> Vec<Entry<'a>> {
    traces.iter().map(|(entry, _)| *entry).collect()
}

/// The accuracy of each trace that has it.
fn accuracies(traces: &[Traced], look: impl Fn(&Entry) -> usize) -> Vec<Curve> {
    let curves = traces.iter().map(|(entry, t)| (look(entry), t.curve(|point| point.accuracy)));
    curves.filter(|(_, curve)| !curve.is_empty()).collect()
}

/// A panel of curves, if there are any; the looks that it uses are added to `used`.
fn panel(
    name: String,
    about: &str,
    unit: &str,
    curves: &[Curve],
    used: &mut Vec<usize>,
) -> Option<Panel> {
    let all = || curves.iter().flat_map(|(_, curve)| curve);
    let values = all().map(|point| point.1);
    let x = Axis::linear(all().map(|point| point.0), 1.0)?;
    let y = match about {
        ACCURACY => Axis::percent(values)?,
        // If nothing changes, an axis of the last digits would show rounding.
        _ => Axis::linear(values.clone(), 1e-3 * values.map(f64::abs).fold(1e-9, f64::max))?,
    };
    let mut marks = Vec::new();
    for (look, curve) in curves.iter().filter(|(_, curve)| !curve.is_empty()) {
        marks.extend(Mark::curve(curve.clone(), Look::series(*look)));
        used.push(*look);
    }
    let below = format!("{unit} (the first is 0)");
    Some(Panel { name, about: about.to_owned(), below, marks, ..Panel::new(x, y, 180.0) })
}

/// What a look stands for.
fn series(summary: &Summary, look: usize) -> String {
    match look {
        PRIMAL => "primal: max J".to_owned(),
        DUAL => "dual: sum tau J".to_owned(),
        method => format!("accuracy of {}", summary.columns[method - 2].label),
    }
}

/// What the axes are.
fn explained(panels: &[Panel]) -> String {
    let has = |about: &str| panels.iter().any(|panel| panel.about == about);
    let mut words = String::new();
    if has(OBJECTIVE) {
        words += " Objective by iteration (of networks: epoch): primal is the largest of the classes' objectives, \
                  dual their sum weighted by tau, as in the paper's figure; of softmax criteria both are the loss. \
                  They are not bounds of a convex problem. Where they meet, the objectives are level; this does not \
                  say how far they are from an optimum.";
    }
    if has(ACCURACY) {
        words += " Test accuracy by iteration (of networks: epoch): the percentage of test samples classified \
                  correctly, which took no part in training.";
    }
    words
}

fn points<'a>(entry: Entry<'a>, trace: &'a Trace) -> impl Iterator<Item = Point<'a>> {
    trace.points.iter().map(move |point| Point {
        dataset: &entry.row.dataset,
        label: &entry.column.label,
        split: trace.split,
        iteration: point.iteration,
        primal: point.primal.into(),
        dual: point.dual.into(),
        accuracy: point.accuracy.into(),
    })
}

/// Variants of one method, if it has two entries whose accuracy was recorded on one dataset.
pub(super) fn ablation(summary: &Summary) -> Option<Figure> {
    let groups = groups(summary);
    let all = || groups.iter().flatten();
    let mut columns: Vec<usize> = all().map(|(entry, _)| entry.column.index).collect();
    columns.sort_unstable();
    columns.dedup();
    let look = |entry: &Entry| columns.iter().position(|index| *index == entry.column.index);
    let mut panels = Vec::new();
    for group in &groups {
        let curves = accuracies(group, |entry| look(entry).unwrap_or(0));
        let name = group[0].0.row.dataset.clone();
        let panel = panel(name, ACCURACY, unit(&entries(group)), &curves, &mut Vec::new());
        panels.extend(panel.map(|panel| with_ends(panel, &curves)));
    }
    let mut drawn: Vec<&Row> = all().map(|(entry, _)| entry.row).collect();
    drawn.dedup_by_key(|row| &row.dataset);
    let words = format!(
        "{} Horizontal: iterations, or epochs of a network. Vertical: the percentage of test samples classified correctly \
         after each, which took no part in training; dashed: the one at the end.",
        one_split(drawn.into_iter())
    );
    let rows: Vec<_> = all().flat_map(|traced| reached(*traced)).collect();
    let title = ("ablation", "variants of one method");
    let figure = super::figure(summary, title, (panels, 2), &words, &rows)?;
    let labels = columns.iter().map(|index| summary.columns[*index].label.clone());
    Some(Figure { legend: Look::legend(labels), ..figure })
}

/// Traces of one dataset and method with an accuracy, at least two each.
fn groups(summary: &Summary) -> Vec<Vec<Traced<'_>>> {
    let mut groups: Vec<Vec<Traced>> = Vec::new();
    let key = |(entry, _): &Traced| (entry.row.dataset.clone(), entry.column.method.clone());
    let has_accuracy = |(_, trace): &Traced| !trace.curve(|point| point.accuracy).is_empty();
    for traced in traced(summary.entries()).filter(has_accuracy) {
        match groups.iter_mut().find(|group| key(&group[0]) == key(&traced)) {
            Some(group) => group.push(traced),
            None => groups.push(vec![traced]),
        }
    }
    groups.retain(|group| group.len() > 1);
    groups
}

/// The panel with a dashed line at the end of each curve.
fn with_ends(mut panel: Panel, curves: &[Curve]) -> Panel {
    for (look, curve) in curves {
        if let Some((_, end)) = curve.last() {
            let points = vec![(panel.x.low, *end), (panel.x.high, *end)];
            panel.marks.insert(0, Mark::dashes(points, Look::series(*look).colour));
        }
    }
    panel
}

/// The accuracy after every iteration.
fn reached<'a>((entry, trace): Traced<'a>) -> impl Iterator<Item = (Names<'a>, Reached)> {
    let points = trace.points.iter().filter_map(|point| {
        let accuracy = point.accuracy.filter(|accuracy| accuracy.is_finite())?;
        Some(Reached { iteration: point.iteration, accuracy: accuracy.into() })
    });
    points.map(move |reached| (Names::of(entry), reached))
}
