//! `radar`: the classes' objectives at the first, the 25th and the last iteration.

use std::f64::consts::TAU;

use super::canvas::Shape;
use super::colour;
use super::font::Face;
use super::plot::Look;
use super::sheet::{Frame, Icon, Sheet, text_around, text_at};
use super::{Drawn, caption};
use crate::render::csv::quoted;
use crate::render::{Summary, Trace};

/// Datasets that are drawn, three panels each.
const MOST: usize = 3;
const NAME: Face = Face::bold(12.5);
const TICK: Face = Face::plain(10.0);
/// From this ratio of the largest to the smallest objective on, axes are logarithmic.
const WIDE: f64 = 30.0;
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
    groups.truncate(MOST);
    if groups.is_empty() {
        return None;
    }
    let title = format!("{}: objectives of the classes", summary.heading());
    let mut sheet = Sheet::new(&title);
    let mut columns: Vec<usize> = groups
        .iter()
        .flat_map(|(_, traces)| traces.iter().map(|t| t.column))
        .collect();
    columns.sort_unstable();
    columns.dedup();
    let entries = columns.iter().enumerate().map(|(index, &column)| {
        let look = Look::of(index);
        let label = summary
            .columns
            .get(column)
            .map_or(String::new(), |column| column.label.clone());
        let icon: Icon =
            Box::new(move |at, shapes| shapes.extend(look.mark.draw(at, 4.5, look.colour)));
        (label, icon)
    });
    sheet.legend(entries.collect());
    for (row, traces) in &groups {
        let frames = sheet.grid(3, 3, 320.0);
        for (stage, frame) in frames.into_iter().enumerate() {
            panel(
                summary,
                *row,
                traces,
                &columns,
                stage,
                frame,
                &mut sheet.shapes,
            );
        }
    }
    let words = format!(
        "One spoke per class, of the first split: the smaller the polygon, the lower the objectives. The panels are \
         of the first, of the {BETWEEN}th (or, of shorter trainings, the middle) and of the last iteration, counted \
         from 0. Axes \
         start at zero, or are logarithmic where it says so."
    );
    let picture = sheet.finish(title.clone(), &caption(summary, &words));
    Some(Drawn {
        name: "radar",
        title,
        picture,
        data: data(summary, &groups),
    })
}

/// Classes of a trace; 0 if its objectives cannot be drawn.
fn classes(trace: &Trace) -> usize {
    let count = trace
        .points
        .first()
        .map_or(0, |point| point.objectives.len());
    let sound = |point: &crate::render::TracePoint| {
        point.objectives.len() == count
            && point.objectives.iter().all(|j| j.is_finite() && *j >= 0.0)
    };
    if trace.points.iter().all(sound) {
        count
    } else {
        0
    }
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

fn panel(
    summary: &Summary,
    row: usize,
    traces: &[&Trace],
    columns: &[usize],
    stage: usize,
    frame: Frame,
    shapes: &mut Vec<Shape>,
) {
    let drawn: Vec<(usize, &Vec<f64>)> = traces
        .iter()
        .map(|trace| (trace.column, &trace.points[place(trace, stage)].objectives))
        .collect();
    let iteration = traces
        .first()
        .map_or(0, |trace| trace.points[place(trace, stage)].iteration);
    let all = || {
        drawn
            .iter()
            .flat_map(|(_, objectives)| objectives.iter().copied())
    };
    let largest = all().fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let smallest = all().fold(f64::INFINITY, f64::min);
    let is_log = smallest > 0.0 && largest / smallest > WIDE;
    let reach = |value: f64| {
        if is_log {
            let (low, high) = ((smallest / 1.5).ln(), largest.ln());
            (value.ln() - low) / (high - low)
        } else {
            value / largest
        }
    };
    let dataset = summary.rows.get(row).map_or("", |row| row.dataset.as_str());
    let scale = if is_log { ", logarithmic" } else { "" };
    let name = NAME.shortened(
        &format!("{dataset}, iteration {iteration}{scale}"),
        frame.width,
    );
    shapes.push(text_at(
        NAME,
        colour::INK,
        (frame.left, frame.top + 12.0),
        name,
    ));
    let centre = (
        frame.left + frame.width / 2.0,
        frame.top + 30.0 + (frame.height - 40.0) / 2.0,
    );
    let radius = (frame.width.min(frame.height - 40.0) / 2.0 - 14.0).max(20.0);
    let spokes = drawn
        .iter()
        .map(|(_, objectives)| objectives.len())
        .max()
        .unwrap_or(0);
    let at = |spoke: usize, share: f64| {
        let angle = TAU * spoke as f64 / spokes.max(1) as f64;
        (
            centre.0 + share * radius * angle.sin(),
            centre.1 - share * radius * angle.cos(),
        )
    };
    for share in [0.25, 0.5, 0.75, 1.0] {
        let points = (0..=spokes).map(|spoke| at(spoke, share)).collect();
        shapes.push(Shape::Line {
            points,
            thick: 1.0,
            colour: colour::GRID,
        });
    }
    let names = summary
        .plan
        .datasets
        .get(row)
        .map(|dataset| &dataset.classes);
    for spoke in 0..spokes {
        shapes.push(Shape::Line {
            points: vec![centre, at(spoke, 1.0)],
            thick: 1.0,
            colour: colour::GRID,
        });
        let name = names
            .and_then(|names| names.get(spoke))
            .map_or(String::new(), |name| name.clone());
        let (x, y) = at(spoke, 1.09);
        shapes.push(text_around(
            TICK,
            colour::GREY,
            (x, y + 3.5),
            TICK.shortened(&name, 40.0),
        ));
    }
    let outermost = text_at(
        TICK,
        colour::GREY,
        (centre.0 + 4.0, centre.1 - radius + 12.0),
        format!("{largest:.3}"),
    );
    shapes.push(outermost);
    for (column, objectives) in drawn {
        let look = Look::of(columns.iter().position(|c| *c == column).unwrap_or(0));
        let mut points: Vec<_> = (objectives.iter().enumerate())
            .map(|(spoke, value)| at(spoke, reach(*value)))
            .collect();
        let area = points.clone();
        points.extend(points.first().copied());
        shapes.push(Shape::Area {
            points: area,
            colour: colour::faint(look.colour, 0.12),
        });
        shapes.push(Shape::Line {
            points,
            thick: 1.75,
            colour: look.colour,
        });
    }
}

fn data(summary: &Summary, groups: &[(usize, Vec<&Trace>)]) -> String {
    let mut text = "dataset,label,iteration,class,objective\n".to_owned();
    for (row, traces) in groups {
        let dataset = summary
            .rows
            .get(*row)
            .map_or("", |row| row.dataset.as_str());
        for trace in traces {
            let label = summary
                .columns
                .get(trace.column)
                .map_or("", |column| column.label.as_str());
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
