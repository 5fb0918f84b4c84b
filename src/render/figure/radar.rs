//! `radar`: the classes' objectives at the first, the 25th and the last iteration.

use std::f64::consts::TAU;

use super::canvas::Shape;
use super::colour;
use super::font::Face;
use super::plot::Look;
use super::sheet::{Frame, Sheet, text_around, text_at};
use super::{Drawn, caption, cut, one_split, unit};
use crate::render::csv::quoted;
use crate::render::{Summary, Trace};

/// Datasets that are drawn, three panels each.
const MOST: usize = 3;
const NAME: Face = Face::bold(12.5);
const TICK: Face = Face::plain(10.0);
/// From this ratio of the largest to the smallest objective on, axes are logarithmic.
const WIDE: f64 = 30.0;
/// Most classes whose objectives get a mark each; more would cover the lines.
const MARKED: usize = 12;
/// The paper's iteration between the first and the last.
const BETWEEN: usize = 25;

/// The figure, where two entries recorded the objectives of at least three classes of a dataset.
pub(super) fn figure(summary: &Summary) -> Option<Drawn> {
    let mut groups: Vec<(usize, Vec<&Trace>)> = Vec::new();
    for row in 0..summary.rows.len() {
        let usable = |trace: &&Trace| trace.row == row && classes(trace) >= 3;
        let traces: Vec<&Trace> = summary.traces.iter().filter(usable).collect();
        if traces.len() > 1 {
            groups.push((row, traces));
        }
    }
    if groups.is_empty() {
        return None;
    }
    let (data, left_out) = (data(summary, &groups), cut(MOST, groups.len(), "datasets"));
    groups.truncate(MOST);
    let title = format!("{}: objectives of the classes", summary.heading());
    let mut sheet = Sheet::new(&title);
    let mut columns: Vec<usize> =
        groups.iter().flat_map(|(_, traces)| traces.iter().map(|t| t.column)).collect();
    columns.sort_unstable();
    columns.dedup();
    let entries = columns.iter().enumerate().map(|(index, &column)| {
        let label = (summary.columns.get(column)).map_or("", |column| column.label.as_str());
        (label.to_owned(), Look::of(index).icon())
    });
    sheet.legend(entries.collect());
    for (row, traces) in &groups {
        let frames = sheet.grid(3, 3, 320.0);
        for (stage, frame) in frames.into_iter().enumerate() {
            let of = (*row, traces.as_slice());
            panel(summary, of, &columns, stage, frame, &mut sheet.shapes);
        }
    }
    let words = format!(
        "One spoke per class: its objective, from the centre outwards; the smaller the polygon, the lower the \
         objectives. The panels are of the first, of the {BETWEEN}th (or, of shorter trainings, the middle) and of \
         the last iteration or epoch; their numbers begin with 0. Spokes start at zero, or are logarithmic where it says so; \
         the number at the rim is the largest objective.{left_out} {}",
        one_split(summary, groups.iter().map(|(row, _)| *row))
    );
    let picture = sheet.finish(title.clone(), &caption(summary, &words));
    Some(Drawn { name: "radar", title, picture, data })
}

/// Classes of a trace; 0 if its objectives cannot be drawn.
fn classes(trace: &Trace) -> usize {
    let count = trace.points.first().map_or(0, |point| point.objectives.len());
    let sound = |point: &crate::render::TracePoint| {
        point.objectives.len() == count
            && point.objectives.iter().all(|j| j.is_finite() && *j >= 0.0)
    };
    if trace.points.iter().all(sound) { count } else { 0 }
}

/// The iteration drawn at a stage, as an index.
fn place(trace: &Trace, stage: usize) -> usize {
    let last = trace.points.len() - 1;
    match stage {
        0 => 0,
        1 if last >= BETWEEN => BETWEEN - 1,
        1 => last / 2,
        _ => last,
    }
}

/// A panel: where its spokes lie and how far its values reach along them.
struct Wheel {
    centre: (f64, f64),
    radius: f64,
    spokes: usize,
    smallest: f64,
    largest: f64,
}

impl Wheel {
    fn new(frame: Frame, objectives: &[&Vec<f64>]) -> Self {
        let all = || objectives.iter().flat_map(|values| values.iter().copied());
        let room = frame.height - 40.0;
        Self {
            centre: (frame.left + frame.width / 2.0, frame.top + 30.0 + room / 2.0),
            radius: (frame.width.min(room) / 2.0 - 14.0).max(20.0),
            spokes: (objectives.iter().map(|values| values.len()).max()).unwrap_or(0),
            smallest: all().fold(f64::INFINITY, f64::min),
            largest: all().fold(f64::MIN_POSITIVE, f64::max),
        }
    }

    fn is_log(&self) -> bool {
        self.smallest > 0.0 && self.largest / self.smallest > WIDE
    }

    /// How far out a value lies, 1 being the rim.
    fn reach(&self, value: f64) -> f64 {
        if !self.is_log() {
            return value / self.largest;
        }
        // The smallest value keeps a distance from the centre, or its spoke would not be seen.
        let low = (self.smallest / 1.5).ln();
        (value.ln() - low) / (self.largest.ln() - low)
    }

    fn at(&self, spoke: usize, share: f64) -> (f64, f64) {
        let angle = TAU * spoke as f64 / self.spokes.max(1) as f64;
        (
            self.centre.0 + share * self.radius * angle.sin(),
            self.centre.1 - share * self.radius * angle.cos(),
        )
    }

    /// Spokes with the names of their classes, rings, and the value of the outermost one.
    fn web(&self, classes: &[String], shapes: &mut Vec<Shape>) {
        let line = |points| Shape::Line { points, thick: 1.0, colour: colour::GRID };
        for share in [0.25, 0.5, 0.75, 1.0] {
            let ring = (0..=self.spokes).map(|spoke| self.at(spoke, share));
            shapes.push(line(ring.collect()));
        }
        for spoke in 0..self.spokes {
            shapes.push(line(vec![self.centre, self.at(spoke, 1.0)]));
            let (x, y) = self.at(spoke, 1.09);
            let name = classes.get(spoke).map_or("", String::as_str);
            let name = TICK.shortened(name, 40.0);
            shapes.push(text_around(TICK, colour::GREY, (x, y + 3.5), name));
        }
        let rim = (self.centre.0 + 4.0, self.centre.1 - self.radius + 12.0);
        let largest = format!("{:.3}", self.largest);
        shapes.push(text_at(TICK, colour::GREY, rim, largest));
    }

    fn polygon(&self, objectives: &[f64], look: Look, shapes: &mut Vec<Shape>) {
        let points: Vec<_> = (objectives.iter().enumerate())
            .map(|(spoke, value)| self.at(spoke, self.reach(*value)))
            .collect();
        let closed = points.iter().chain(points.first()).copied().collect();
        shapes
            .push(Shape::Area { points: points.clone(), colour: colour::faint(look.colour, 0.12) });
        shapes.push(Shape::Line { points: closed, thick: 1.75, colour: look.colour });
        if self.spokes <= MARKED {
            let marks = points.into_iter().flat_map(|at| look.mark.draw(at, 3.0, look.colour));
            shapes.extend(marks);
        }
    }
}

/// Draws a dataset's objectives at one stage; `columns` gives methods their looks.
fn panel(
    summary: &Summary,
    (row, traces): (usize, &[&Trace]),
    columns: &[usize],
    stage: usize,
    frame: Frame,
    shapes: &mut Vec<Shape>,
) {
    let point = |trace: &&Trace| trace.points[place(trace, stage)].clone();
    let drawn: Vec<_> = traces.iter().map(point).collect();
    let objectives: Vec<&Vec<f64>> = drawn.iter().map(|point| &point.objectives).collect();
    let wheel = Wheel::new(frame, &objectives);
    let data = summary.plan.datasets.get(row);
    let name = format!(
        "{}, {} {}{}",
        data.map_or("", |data| data.name.as_str()),
        unit(summary, traces),
        drawn.first().map_or(0, |point| point.iteration),
        if wheel.is_log() { ", logarithmic" } else { "" }
    );
    let at = (frame.left, frame.top + 12.0);
    let name = NAME.shortened(&name, frame.width);
    shapes.push(text_at(NAME, colour::INK, at, name));
    wheel.web(data.map_or(&[], |data| data.classes.as_slice()), shapes);
    for (trace, objectives) in traces.iter().zip(objectives) {
        let index = columns.iter().position(|column| *column == trace.column);
        wheel.polygon(objectives, Look::of(index.unwrap_or(0)), shapes);
    }
}

fn data(summary: &Summary, groups: &[(usize, Vec<&Trace>)]) -> String {
    let mut text = "dataset,label,iteration,class,objective\n".to_owned();
    for (row, traces) in groups {
        let dataset = summary.rows.get(*row).map_or("", |row| row.dataset.as_str());
        for trace in traces {
            let label =
                summary.columns.get(trace.column).map_or("", |column| column.label.as_str());
            let mut places: Vec<usize> = (0..3).map(|stage| place(trace, stage)).collect();
            places.dedup();
            for index in places {
                let point = &trace.points[index];
                for (class, objective) in point.objectives.iter().enumerate() {
                    text += &format!(
                        "{},{},{},{class},{objective:?}\n",
                        quoted(dataset),
                        quoted(label),
                        point.iteration
                    );
                }
            }
        }
    }
    text
}
