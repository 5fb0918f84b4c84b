//! `ablation`: accuracy by iteration of several entries of one method, final accuracies dashed.

use super::plot::{Look, Plot};
use super::scale::Scale;
use super::sheet::{Frame, Sheet, dashes};
use super::{Drawn, caption, cut, one_split, unit};
use crate::render::csv::quoted;
use crate::render::{Summary, Trace};

/// Panels that are drawn.
const MOST: usize = 6;

/// The figure, where a method has two entries whose accuracy was recorded on one dataset.
pub(super) fn figure(summary: &Summary) -> Option<Drawn> {
    let mut groups = groups(summary);
    if groups.is_empty() {
        return None;
    }
    let (data, left_out) = (data(summary, &groups), cut(MOST, groups.len(), "panels"));
    groups.truncate(MOST);
    let title = format!("{}: variants of one method", summary.heading());
    let mut sheet = Sheet::new(&title);
    let mut columns: Vec<usize> = groups.iter().flatten().map(|trace| trace.column).collect();
    columns.sort_unstable();
    columns.dedup();
    let entries = columns.iter().enumerate().map(|(index, &column)| {
        let label = summary.columns[column].label.clone();
        (label, Look::of(index).icon())
    });
    sheet.legend(entries.collect());
    let frames = sheet.grid(groups.len(), groups.len().min(2), 280.0);
    for (group, frame) in groups.iter().zip(frames) {
        draw(summary, group, &columns, frame, &mut sheet);
    }
    let mut rows: Vec<usize> = groups.iter().flatten().map(|trace| trace.row).collect();
    rows.dedup();
    let words = format!(
        "{} Horizontal: iterations, or epochs of a network. Vertical: the percentage of test samples classified \
         correctly after each, which took no part in training; dashed: the one at the end.{left_out}",
        one_split(summary, rows.into_iter())
    );
    let picture = sheet.finish(title.clone(), &caption(summary, &words));
    Some(Drawn { name: "ablation", title, picture, data })
}

/// Traces of one dataset and method with an accuracy, at least two each.
fn groups(summary: &Summary) -> Vec<Vec<&Trace>> {
    let mut groups: Vec<Vec<&Trace>> = Vec::new();
    let method = |trace: &Trace| summary.columns.get(trace.column).map(|column| &column.method);
    let usable =
        |trace: &&Trace| method(trace).is_some() && !trace.curve(|point| point.accuracy).is_empty();
    for trace in summary.traces.iter().filter(usable) {
        let same = |group: &&mut Vec<&Trace>| {
            let first = group.first();
            first.is_some_and(|first| first.row == trace.row && method(first) == method(trace))
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(trace),
            None => groups.push(vec![trace]),
        }
    }
    groups.retain(|group| group.len() > 1);
    groups
}

fn draw(summary: &Summary, group: &[&Trace], columns: &[usize], frame: Frame, sheet: &mut Sheet) {
    let curves: Vec<_> = group.iter().map(|trace| trace.curve(|point| point.accuracy)).collect();
    let all = || curves.iter().flatten();
    let x = Scale::linear(all().map(|point| point.0), 1.0);
    let y = Scale::linear(all().map(|point| point.1), 0.5);
    let (Some(x), Some(y), Some(first)) = (x, y, group.first()) else {
        return;
    };
    let dataset = summary.rows.get(first.row).map_or("", |row| row.dataset.as_str());
    let steps = format!("{} (the first is 0)", unit(summary, group));
    let titles = (dataset, steps.as_str(), "test accuracy (%)");
    let plot = Plot::new(frame, (x, y), titles, &mut sheet.shapes);
    for (trace, curve) in group.iter().zip(&curves) {
        let index = columns.iter().position(|column| *column == trace.column).unwrap_or(0);
        let look = Look::of(index);
        if let Some((_, end)) = curve.last() {
            let y = plot.at(0.0, *end).1;
            let (from, to) = ((plot.frame.left, y), (plot.frame.left + plot.frame.width, y));
            sheet.shapes.extend(dashes(from, to, 1.0, look.colour));
        }
        plot.curve(curve, look, &mut sheet.shapes);
    }
}

fn data(summary: &Summary, groups: &[Vec<&Trace>]) -> String {
    let mut text = "dataset,method,label,iteration,accuracy\n".to_owned();
    for trace in groups.iter().flatten() {
        let (Some(row), Some(column)) =
            (summary.rows.get(trace.row), summary.columns.get(trace.column))
        else {
            continue;
        };
        let names =
            [&row.dataset, &column.method, &column.label].map(|name| quoted(name)).join(",");
        for (iteration, accuracy) in trace.curve(|point| point.accuracy) {
            text += &format!("{names},{iteration},{accuracy:?}\n");
        }
    }
    text
}
