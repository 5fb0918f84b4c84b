//! `convergence` and `ablation`: objectives and test accuracy by iteration.

use serde::Serialize;

use super::axis::Axis;
use super::model::{ACROSS, Figure, Mark, Panel, Series};
use super::{Traced, in_rows, one_split, traced, unit};
use crate::analyse::Summary;
use crate::render::csv::Names;

const OBJECTIVE: &str = "objective";
const ACCURACY: &str = "test accuracy (%)";

/// The name of a series and its points.
type Curve = (String, Vec<(f64, f64)>);

#[derive(Serialize)]
struct Point<'a> {
    dataset: &'a str,
    label: &'a str,
    split: usize,
    iteration: usize,
    primal: Option<f64>,
    dual: Option<f64>,
    accuracy: Option<f64>,
}

#[derive(Serialize)]
struct Reached {
    iteration: usize,
    accuracy: f64,
}

/// Training evolution, if methods kept a trace.
pub(super) fn convergence(summary: &Summary) -> Option<Figure> {
    let (mut panels, mut data, mut series) = (Vec::new(), Vec::new(), Series::default());
    for row in &summary.rows {
        let traces: Vec<Traced> = traced(summary.entries_of(row)).collect();
        for (entry, trace) in &traces {
            let curves = [
                ("primal: max J".to_owned(), trace.curve(|point| point.primal)),
                ("dual: sum tau J".to_owned(), trace.curve(|point| point.dual)),
            ];
            let name = format!("{} on {}", entry.column.label, row.dataset);
            panels.extend(panel(name, OBJECTIVE, unit(&[(*entry, trace)]), &curves, &mut series));
        }
        let curves = accuracies(&traces, "accuracy of ");
        let name = format!("Test accuracy on {}", row.dataset);
        panels.extend(panel(name, ACCURACY, unit(&traces), &curves, &mut series));
        data.extend(traces.into_iter().flat_map(points));
    }
    let words = format!(
        "{} Objective: primal is the largest of the classes' objectives, dual their sum weighted by tau, as in the paper's \
         figure; of softmax criteria both are the loss. They are not bounds of a convex problem. Where they meet, the \
         objectives are equal; they may still be far from an optimum. Test accuracy: the percentage of test samples, \
         unseen in training, that are classified correctly; dashed: at the end.",
        one_split(traced(summary.entries()).map(|(entry, _)| entry.row))
    );
    let (rows, legend) = (in_rows(&panels, 2), series.legend(ACROSS));
    super::figure(summary, "training evolution", rows, legend, &words, &data)
}

/// Variants of one method, if it has two entries whose accuracy was recorded on one dataset.
pub(super) fn ablation(summary: &Summary) -> Option<Figure> {
    let (mut panels, mut data, mut series) = (Vec::new(), Vec::new(), Series::default());
    let mut drawn = Vec::new();
    let mut traces: Vec<Traced> = traced(summary.entries()).filter(has_accuracy).collect();
    traces.sort_by_key(dataset_and_method);
    let groups = traces.chunk_by(|a, b| dataset_and_method(a) == dataset_and_method(b));
    for group in groups.filter(|group| group.len() > 1) {
        let row = group[0].0.row;
        let curves = accuracies(group, "");
        let name = row.dataset.clone();
        panels.extend(panel(name, ACCURACY, unit(group), &curves, &mut series));
        data.extend(group.iter().flat_map(|traced| reached(*traced)));
        drawn.push(row);
    }
    let words = format!(
        "{} Horizontal: iterations, or epochs of a network. Vertical: the percentage of test samples, unseen in \
         training, that are classified correctly after each; dashed: at the end.",
        one_split(drawn.into_iter())
    );
    let (rows, legend) = (in_rows(&panels, 2), series.legend(ACROSS));
    super::figure(summary, "variants of one method", rows, legend, &words, &data)
}

fn has_accuracy((_, trace): &Traced) -> bool {
    !trace.curve(|point| point.accuracy).is_empty()
}

fn dataset_and_method<'a>((entry, _): &Traced<'a>) -> (usize, &'a str) {
    (entry.row.index, &entry.column.method)
}

/// The accuracy of each trace that has it, by the label of its method after some words.
fn accuracies(traces: &[Traced], words: &str) -> Vec<Curve> {
    let curves = traces.iter().map(|(entry, trace)| {
        let name = format!("{words}{}", entry.column.label);
        (name, trace.curve(|point| point.accuracy))
    });
    curves.filter(|(_, curve)| !curve.is_empty()).collect()
}

/// A panel of curves, if there are any.
fn panel(
    name: String,
    about: &str,
    unit: &str,
    curves: &[Curve],
    series: &mut Series,
) -> Option<Panel> {
    let points = || curves.iter().flat_map(|(_, curve)| curve.iter().copied());
    let values = points().map(|(_, value)| value);
    let x = Axis::linear(points().map(|(iteration, _)| iteration), 1.0)?;
    let y = match about {
        ACCURACY => Axis::percent(values)?,
        // If nothing changes, an axis of the last digits would show rounding.
        _ => Axis::linear(values.clone(), 1e-3 * values.map(f64::abs).fold(1e-9, f64::max))?,
    };
    let mut marks = Vec::new();
    for (name, curve) in curves {
        let Some((_, end)) = curve.last() else { continue };
        let look = series.look(name);
        if about == ACCURACY {
            let points = vec![(x.low, *end), (x.high, *end)];
            marks.push(Mark::Dashes { points, colour: look.colour });
        }
        marks.extend(Mark::curve(curve.clone(), look));
    }
    let below = format!("{unit} (the first is 0)");
    Some(Panel { name, about: about.to_owned(), below, marks, ..Panel::new(x, y, 180.0) })
}

/// Every iteration.
fn points<'a>((entry, trace): Traced<'a>) -> impl Iterator<Item = Point<'a>> {
    trace.points.iter().map(move |point| Point {
        dataset: &entry.row.dataset,
        label: &entry.column.label,
        split: trace.split,
        iteration: point.iteration,
        primal: point.primal,
        dual: point.dual,
        accuracy: point.accuracy,
    })
}

/// The accuracy after every iteration.
fn reached<'a>((entry, trace): Traced<'a>) -> impl Iterator<Item = (Names<'a>, Reached)> {
    let curve = trace.curve(|point| point.accuracy).into_iter();
    curve.map(move |(iteration, accuracy)| {
        (Names::of(entry), Reached { iteration: iteration as usize, accuracy })
    })
}
