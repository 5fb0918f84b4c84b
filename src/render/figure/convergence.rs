//! `convergence`: training evolution, primal and dual objective and test accuracy by iteration.

use super::plot::{Look, Plot};
use super::scale::Scale;
use super::sheet::{Frame, Icon, Sheet};
use super::{Drawn, caption, cut, one_split, unit};
use crate::render::csv::{optional, quoted};
use crate::render::{Summary, Trace};

/// Panels that are drawn; the data has all.
const MOST: usize = 12;
const OBJECTIVE: &str = "objective";
const ACCURACY: &str = "test accuracy (%)";
const PRIMAL: usize = 0;
const DUAL: usize = 1;

/// A panel: its name, its vertical axis, and its curves with their looks.
struct Panel {
    row: usize,
    name: String,
    unit: &'static str,
    axis: &'static str,
    curves: Vec<(usize, Vec<(f64, f64)>)>,
}

/// The figure, where methods kept a trace.
pub(super) fn figure(summary: &Summary) -> Option<Drawn> {
    let mut panels: Vec<Panel> = Vec::new();
    for row in 0..summary.rows.len() {
        let traces: Vec<&Trace> = summary.traces.iter().filter(|trace| trace.row == row).collect();
        panels.extend(traces.iter().filter_map(|trace| objectives(summary, trace)));
        panels.extend(accuracies(summary, row, &traces));
    }
    if panels.is_empty() {
        return None;
    }
    let left_out = cut(MOST, panels.len(), "panels");
    panels.truncate(MOST);
    let title = format!("{}: training evolution", summary.heading());
    let mut sheet = Sheet::new(&title);
    sheet.legend(legend(summary, &panels));
    let columns = panels.len().min(2);
    let frames = sheet.grid(panels.len(), columns, 250.0);
    for (panel, frame) in panels.iter().zip(frames) {
        panel.draw(frame, &mut sheet);
    }
    let words = words(summary, &panels) + &left_out;
    let picture = sheet.finish(title.clone(), &caption(summary, &words));
    Some(Drawn { name: "convergence", title, picture, data: data(summary) })
}

/// What the axes are and what was trained on.
fn words(summary: &Summary, panels: &[Panel]) -> String {
    let rows = (0..summary.rows.len()).filter(|row| panels.iter().any(|panel| panel.row == *row));
    let mut words = one_split(summary, rows);
    let has = |axis: &str| panels.iter().any(|panel| panel.axis == axis);
    if has(OBJECTIVE) {
        words += " Objective by iteration (of networks: epoch): primal is the largest of the classes' objectives, \
                  dual their sum weighted by tau, as in the paper's figure; of softmax criteria both are the loss. They are no bounds of a convex \
                  problem, and where they meet says how level the objectives are, not how far from an optimum.";
    }
    if has(ACCURACY) {
        words += " Test accuracy by iteration (of networks: epoch): the percentage of test samples classified \
                  correctly, which took no part in training.";
    }
    words
}

fn names(summary: &Summary, trace: &Trace) -> Option<(String, String)> {
    let dataset = summary.rows.get(trace.row)?.dataset.clone();
    Some((dataset, summary.columns.get(trace.column)?.label.clone()))
}

fn objectives(summary: &Summary, trace: &Trace) -> Option<Panel> {
    let (dataset, label) = names(summary, trace)?;
    let curves =
        vec![(PRIMAL, trace.curve(|point| point.primal)), (DUAL, trace.curve(|point| point.dual))];
    if curves.iter().all(|(_, curve)| curve.is_empty()) {
        return None;
    }
    Some(Panel {
        row: trace.row,
        name: format!("{label} on {dataset}"),
        unit: unit(summary, &[trace]),
        axis: OBJECTIVE,
        curves,
    })
}

/// All methods of a dataset whose accuracy was recorded.
fn accuracies(summary: &Summary, row: usize, traces: &[&Trace]) -> Option<Panel> {
    let curves: Vec<_> = traces
        .iter()
        .map(|trace| (trace.column + 2, trace.curve(|point| point.accuracy)))
        .filter(|(_, curve)| !curve.is_empty())
        .collect();
    if curves.is_empty() {
        return None;
    }
    Some(Panel {
        row,
        name: format!("Test accuracy on {}", summary.rows.get(row)?.dataset),
        unit: unit(summary, traces),
        axis: ACCURACY,
        curves,
    })
}

impl Panel {
    fn draw(&self, frame: Frame, sheet: &mut Sheet) {
        let all = || self.curves.iter().flat_map(|(_, curve)| curve.iter());
        let x = Scale::linear(all().map(|point| point.0), 1.0);
        // Where nothing changes, a scale of the last digits would show rounding.
        let largest = all().map(|point| point.1.abs()).fold(1e-9, f64::max);
        let narrowest = if self.axis == ACCURACY { 0.5 } else { 1e-3 * largest };
        let y = Scale::linear(all().map(|point| point.1), narrowest);
        let (Some(x), Some(y)) = (x, y) else {
            return;
        };
        let steps = format!("{} (the first is 0)", self.unit);
        let titles = (self.name.as_str(), steps.as_str(), self.axis);
        let plot = Plot::new(frame, (x, y), titles, &mut sheet.shapes);
        for (look, curve) in &self.curves {
            plot.curve(curve, Look::of(*look), &mut sheet.shapes);
        }
    }
}

fn legend(summary: &Summary, panels: &[Panel]) -> Vec<(String, Icon)> {
    let mut looks: Vec<usize> =
        panels.iter().flat_map(|panel| panel.curves.iter().map(|c| c.0)).collect();
    looks.sort_unstable();
    looks.dedup();
    looks
        .into_iter()
        .map(|index| {
            let name = match index {
                PRIMAL => "primal: max J".to_owned(),
                DUAL => "dual: sum tau J".to_owned(),
                column => {
                    let label = summary.columns.get(column - 2).map(|column| column.label.as_str());
                    format!("accuracy of {}", label.unwrap_or_default())
                }
            };
            (name, Look::of(index).icon())
        })
        .collect()
}

fn data(summary: &Summary) -> String {
    let mut text = "dataset,label,split,iteration,primal,dual,accuracy\n".to_owned();
    for trace in &summary.traces {
        let Some((dataset, label)) = names(summary, trace) else {
            continue;
        };
        for point in &trace.points {
            text += &format!(
                "{},{},{},{},{},{},{}\n",
                quoted(&dataset),
                quoted(&label),
                trace.split,
                point.iteration,
                optional(point.primal),
                optional(point.dual),
                optional(point.accuracy)
            );
        }
    }
    text
}
