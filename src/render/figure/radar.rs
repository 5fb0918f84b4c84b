//! `radar`: the classes' objectives at the first, the 25th and the last iteration.

use std::f64::consts::TAU;

use plotters::style::text_anchor::HPos;
use serde::Serialize;

use super::axis::Axis;
use super::draw::panel_width;
use super::model::{Figure, Look, Mark, Panel};
use super::text::Face;
use super::{colour, one_split, traced, unit};
use crate::analyse::{Entry, Row, Summary, Trace, TracePoint};
use crate::render::csv::Number;

const TICK: Face = Face::plain(10.0);
/// From this ratio of the largest to the smallest objective on, axes are logarithmic.
const WIDE: f64 = 30.0;
/// Most classes whose objectives get a mark each; more would cover the lines.
const MARKED: usize = 12;
/// The paper's iteration between the first and the last.
const BETWEEN: usize = 25;
/// Panels of a dataset.
const STAGES: usize = 3;
const HEIGHT: f64 = 290.0;
/// The names of the classes are this far from the centre, the rim being at 1.
const NAMES: f64 = 1.09;
/// So far reaches the plot upwards and downwards.
const REACH: f64 = 1.17;

#[derive(Default, Serialize)]
struct Objective<'a> {
    dataset: &'a str,
    label: &'a str,
    iteration: usize,
    class: usize,
    objective: Number,
}

/// The figure, if two entries recorded the objectives of at least three classes of a dataset.
pub(super) fn figure(summary: &Summary) -> Option<Figure> {
    let groups: Vec<Vec<(Entry, &Trace)>> =
        summary.rows.iter().map(|row| traces(summary, row)).filter(|t| t.len() > 1).collect();
    let all = || groups.iter().flatten();
    let mut columns: Vec<usize> = all().map(|(entry, _)| entry.column.index).collect();
    columns.sort_unstable();
    columns.dedup();
    let mut panels = Vec::new();
    for traces in &groups {
        let look = |entry: &Entry| columns.iter().position(|index| *index == entry.column.index);
        for stage in 0..STAGES {
            let looks = traces.iter().map(|(entry, _)| Look::series(look(entry).unwrap_or(0)));
            let points = traces.iter().map(|(_, trace)| at(trace, stage));
            let entries: Vec<Entry> = traces.iter().map(|(entry, _)| *entry).collect();
            panels.push(panel(&entries, &looks.zip(points).collect::<Vec<_>>()));
        }
    }
    let words = format!(
        "One spoke per class: its objective, from the centre outwards; the smaller the polygon, the lower the objectives. \
         The panels are of the first, of the {BETWEEN}th (or, of shorter trainings, the middle) and of the last iteration \
         or epoch; their numbers begin with 0. Spokes start at zero, or are logarithmic if the panel says so; the number \
         at the rim is the largest objective. {}",
        one_split(groups.iter().map(|traces| traces[0].0.row))
    );
    let rows: Vec<_> = all().flat_map(|(entry, trace)| objectives(*entry, trace)).collect();
    let title = ("radar", "objectives of the classes");
    let figure = super::figure(summary, title, (panels, STAGES), &words, &rows)?;
    let labels = columns.iter().map(|index| summary.columns[*index].label.clone());
    Some(Figure { legend: Look::legend(labels), ..figure })
}

/// The traces of a dataset with objectives that can be drawn.
fn traces<'a>(summary: &'a Summary, row: &'a Row) -> Vec<(Entry<'a>, &'a Trace)> {
    traced(summary.entries_of(row)).filter(|(_, trace)| classes(trace) >= 3).collect()
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

/// The iteration that is drawn at a stage.
fn at(trace: &Trace, stage: usize) -> &TracePoint {
    let last = trace.points.len() - 1;
    let index = match stage {
        0 => 0,
        1 if last >= BETWEEN => BETWEEN - 1,
        1 => last / 2,
        _ => last,
    };
    &trace.points[index]
}

/// The objectives of a trace at every stage.
fn objectives<'a>(entry: Entry<'a>, trace: &'a Trace) -> impl Iterator<Item = Objective<'a>> {
    let mut points: Vec<&TracePoint> = (0..STAGES).map(|stage| at(trace, stage)).collect();
    points.dedup_by(|a, b| std::ptr::eq(*a, *b));
    points.into_iter().flat_map(move |point| {
        point.objectives.iter().enumerate().map(move |(class, objective)| Objective {
            dataset: &entry.row.dataset,
            label: &entry.column.label,
            iteration: point.iteration,
            class,
            objective: Number::from(*objective),
        })
    })
}

/// Where a share of a spoke lies, the first spoke pointing upwards.
fn on_spoke(spoke: usize, spokes: usize, share: f64) -> (f64, f64) {
    let angle = TAU * spoke as f64 / spokes.max(1) as f64;
    (share * angle.sin(), share * angle.cos())
}

/// The objectives of a dataset's methods at one stage, in a circle of radius 1.
fn panel(entries: &[Entry], drawn: &[(Look, &TracePoint)]) -> Panel {
    let data = &entries[0].row.data;
    let values = || drawn.iter().flat_map(|(_, point)| point.objectives.iter().copied());
    let smallest = values().fold(f64::INFINITY, f64::min);
    let largest = values().fold(f64::MIN_POSITIVE, f64::max);
    let spokes = drawn.iter().map(|(_, point)| point.objectives.len()).max().unwrap_or(0);
    let is_log = smallest > 0.0 && largest / smallest > WIDE;
    // The smallest value keeps a distance from the centre, or its spoke would not be seen.
    let low = (smallest / 1.5).ln();
    let share = |value: f64| match is_log {
        true => (value.ln() - low) / (largest.ln() - low),
        false => value / largest,
    };
    let mut marks = web(&data.classes, spokes, largest);
    for (look, point) in drawn {
        let objectives = point.objectives.iter().enumerate();
        let corners: Vec<_> =
            objectives.map(|(spoke, value)| on_spoke(spoke, spokes, share(*value))).collect();
        let closed = corners.iter().chain(corners.first()).copied().collect();
        let colour = colour::faint(look.colour, 0.12);
        marks.push(Mark::Area { points: corners.clone(), colour });
        marks.push(Mark::line(closed, 1.75, look.colour));
        if spokes <= MARKED {
            marks.push(Mark::Dots { at: corners, look: Look { radius: 3.0, ..*look } });
        }
    }
    let iteration = drawn.first().map_or(0, |(_, point)| point.iteration);
    let scale = if is_log { ", logarithmic" } else { "" };
    // Both axes have the same unit.
    let wide = REACH * panel_width(STAGES) / HEIGHT;
    let (x, y) = (Axis::hidden(-wide, wide), Axis::hidden(-REACH, REACH));
    let name = format!("{}, {} {iteration}{scale}", data.name, unit(entries));
    Panel { name, marks, ..Panel::new(x, y, HEIGHT) }
}

/// Spokes with the names of their classes, rings, and the value of the outermost one.
fn web(classes: &[String], spokes: usize, largest: f64) -> Vec<Mark> {
    let line = |points| Mark::line(points, 1.0, colour::GRID);
    let text = |at, anchor, text| Mark::text(at, anchor, (TICK, colour::GREY), text);
    let mut marks = Vec::new();
    for share in [0.25, 0.5, 0.75, 1.0] {
        marks.push(line((0..=spokes).map(|spoke| on_spoke(spoke, spokes, share)).collect()));
    }
    for spoke in 0..spokes {
        marks.push(line(vec![(0.0, 0.0), on_spoke(spoke, spokes, 1.0)]));
        let name = TICK.shortened(classes.get(spoke).map_or("", String::as_str), 40.0);
        marks.push(text(on_spoke(spoke, spokes, NAMES), HPos::Center, name));
    }
    marks.push(text((0.0, 0.94), HPos::Left, format!("{largest:.3}")));
    marks
}
