//! `radar`: the classes' objectives at the first, the 25th and the last iteration.

use std::f64::consts::TAU;

use plotters::style::Color;
use plotters::style::text_anchor::HPos;
use serde::Serialize;

use super::axis::Axis;
use super::draw::{TICK, panel_width};
use super::model::{ACROSS, Figure, Look, Mark, Panel, Series};
use super::{Traced, colour, in_rows, one_split, traced, unit};
use crate::analyse::{Summary, Trace, TracePoint};

/// From this ratio of the largest to the smallest objective on, axes are logarithmic.
const WIDE: f64 = 30.0;
/// Most classes whose objectives get a mark each; more would cover the lines.
const MARKED: usize = 12;
/// Most classes that are named; more names would cover each other.
const MOST_NAMES: usize = 40;
/// The paper's iteration between the first and the last.
const BETWEEN: usize = 25;
/// Panels of a dataset.
const STAGES: usize = 3;
const HEIGHT: f64 = 290.0;
/// The names of the classes are this far from the centre, the rim being at 1.
const NAMES: f64 = 1.09;
/// How far the plot reaches upwards and downwards.
const REACH: f64 = 1.17;

#[derive(Serialize)]
struct Objective<'a> {
    dataset: &'a str,
    label: &'a str,
    iteration: usize,
    class: usize,
    objective: f64,
}

/// The figure, if two entries recorded the objectives of at least three classes of a dataset.
pub(super) fn figure(summary: &Summary) -> Option<Figure> {
    let (mut panels, mut data, mut series) = (Vec::new(), Vec::new(), Series::default());
    let mut drawn = Vec::new();
    for row in &summary.rows {
        let traces = Vec::from_iter(
            traced(summary.entries_of(row)).filter(|(_, trace)| classes(trace) >= 3),
        );
        if traces.len() > 1 {
            panels.extend((0..STAGES).map(|stage| panel(&traces, stage, &mut series)));
            data.extend(traces.into_iter().flat_map(objectives));
            drawn.push(row);
        }
    }
    let words = format!(
        "One spoke per class: its objective, from the centre outwards; the smaller the polygon, the lower the objectives. \
         The panels are of the first, of the {BETWEEN}th (or, of shorter trainings, the middle) and of the last iteration \
         or epoch, counted from 0. Spokes start at zero, or are logarithmic if the panel's title says this; they end at \
         the largest objective. {}",
        one_split(drawn.into_iter())
    );
    let (rows, legend) = (in_rows(&panels, STAGES), series.legend(ACROSS));
    super::figure(summary, "objectives of the classes", rows, legend, &words, &data)
}

/// Classes of a trace; 0 if its objectives cannot be drawn.
fn classes(trace: &Trace) -> usize {
    let count = trace.points.first().map_or(0, |point| point.objectives.len());
    let is_sound = |point: &TracePoint| {
        point.objectives.len() == count
            && point.objectives.iter().all(|j| j.is_finite() && *j >= 0.0)
    };
    if trace.points.iter().all(is_sound) { count } else { 0 }
}

/// The iterations that are drawn.
fn stages(trace: &Trace) -> [&TracePoint; STAGES] {
    let last = trace.points.len() - 1;
    let between = if last >= BETWEEN { BETWEEN - 1 } else { last / 2 };
    [0, between, last].map(|index| &trace.points[index])
}

/// The objectives at every stage.
fn objectives<'a>((entry, trace): Traced<'a>) -> impl Iterator<Item = Objective<'a>> {
    let (dataset, label) = (&entry.row.dataset, &entry.column.label);
    let mut points = stages(trace).to_vec();
    points.dedup_by_key(|point| point.iteration);
    points.into_iter().flat_map(move |point| {
        point.objectives.iter().enumerate().map(move |(class, &objective)| Objective {
            dataset,
            label,
            iteration: point.iteration,
            class,
            objective,
        })
    })
}

/// Where a share of a spoke is, the first spoke pointing upwards.
fn on_spoke(spoke: usize, spokes: usize, share: f64) -> (f64, f64) {
    let angle = TAU * spoke as f64 / spokes.max(1) as f64;
    (share * angle.sin(), share * angle.cos())
}

/// The objectives of a dataset's methods at one stage, in a circle of radius 1.
fn panel(traces: &[Traced], stage: usize, series: &mut Series) -> Panel {
    let data = &traces[0].0.row.data;
    let points = || traces.iter().map(|(_, trace)| stages(trace)[stage]);
    let values = || points().flat_map(|point| point.objectives.iter().copied());
    let smallest = values().fold(f64::INFINITY, f64::min);
    let largest = values().fold(f64::MIN_POSITIVE, f64::max);
    let spokes = points().map(|point| point.objectives.len()).max().unwrap_or(0);
    let is_log = smallest > 0.0 && largest / smallest > WIDE;
    // The smallest value keeps a distance from the centre, or its spoke would not be seen.
    let low = (smallest / 1.5).ln();
    let share = |value: f64| match is_log {
        true => (value.ln() - low) / (largest.ln() - low),
        false => value / largest,
    };
    let mut marks = web(&data.classes, spokes);
    for ((entry, _), point) in traces.iter().zip(points()) {
        let look = Look { radius: 3.0, ..series.look(&entry.column.label) };
        let objectives = point.objectives.iter().enumerate();
        let corners: Vec<_> =
            objectives.map(|(spoke, value)| on_spoke(spoke, spokes, share(*value))).collect();
        let closed = corners.iter().chain(corners.first()).copied().collect();
        marks.push(Mark::Area { points: corners.clone(), colour: look.colour.mix(0.12) });
        marks.push(Mark::line(closed, 1.75, look.colour));
        if spokes <= MARKED {
            marks.push(Mark::Dots { at: corners, look });
        }
    }
    let iteration = points().next().map_or(0, |point| point.iteration);
    let scale = if is_log { ", logarithmic" } else { "" };
    // Both axes have the same unit.
    let wide = REACH * panel_width(STAGES) / HEIGHT;
    let (x, y) = (Axis::hidden(-wide, wide), Axis::hidden(-REACH, REACH));
    let name = format!("{}, {} {iteration}{scale}", data.name, unit(traces));
    let below = format!("largest objective (rim): {largest:.3}");
    Panel { name, marks, below, ..Panel::new(x, y, HEIGHT) }
}

/// Rings, and spokes with the names of their classes, or of some if there are many.
fn web(classes: &[String], spokes: usize) -> Vec<Mark> {
    let line = |points| Mark::line(points, 1.0, colour::GRID);
    let ring =
        |share: f64| line((0..=spokes).map(|spoke| on_spoke(spoke, spokes, share)).collect());
    let mut marks = [0.25, 0.5, 0.75, 1.0].map(ring).to_vec();
    marks.extend((0..spokes).map(|spoke| line(vec![(0.0, 0.0), on_spoke(spoke, spokes, 1.0)])));
    for spoke in (0..spokes).step_by(spokes.div_ceil(MOST_NAMES).max(1)) {
        let name = TICK.shortened(classes.get(spoke).map_or("", String::as_str), 40.0);
        marks.push(Mark::text(on_spoke(spoke, spokes, NAMES), HPos::Center, TICK, name));
    }
    marks
}
