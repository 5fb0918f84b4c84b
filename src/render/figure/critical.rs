//! `critical-difference`: average ranks on a line, with bars that join methods without a significant difference.

use plotters::style::text_anchor::HPos;
use serde::Serialize;

use super::axis::Axis;
use super::draw::{LABEL, STRONG, TICK};
use super::model::{Figure, Mark, Panel};
use super::text::Face;
use super::{MOST, colour};
use crate::analyse::text::number;
use crate::analyse::{Column, Summary};

/// Pixels between the names of methods, which is the unit of all heights.
const LINE: f64 = 22.0;
/// Where the axis is.
const AXIS: f64 = 2.3;
/// Between the bars.
const BAR: f64 = 0.36;

#[derive(Serialize)]
struct Rank<'a> {
    method: &'a str,
    label: &'a str,
    average_rank: f64,
    datasets: usize,
    critical_difference: f64,
}

/// The figure, if there are ranks to draw. More methods than [`MOST`] would make it unreadable.
pub(super) fn figure(summary: &Summary) -> Option<Figure> {
    let ranks = summary.ranks.as_ref().filter(|_| summary.columns.len() <= MOST)?;
    let critical = ranks.critical.as_ref()?;
    let ranked = summary.columns.iter().filter_map(|column| Some((column, column.rank?)));
    let datasets = ranks.datasets;
    let data = ranked.clone().map(|(column, rank)| {
        let (method, label) = (column.method.as_str(), column.label.as_str());
        let (average_rank, critical_difference) = (rank, critical.difference);
        Rank { method, label, average_rank, datasets, critical_difference }
    });
    let data: Vec<Rank> = data.collect();
    let mut words = format!(
        "Average ranks over {datasets} datasets, 1 is best. Methods joined by a bar are closer than Nemenyi's critical difference \
         (CD) at level {}.",
        critical.level
    );
    if let Some(test) = ranks.friedman {
        words += &format!(" Friedman's chi-squared {:.2}, p = {:.4}.", test.chi2, test.p);
    }
    words += &ranks.power().map_or(String::new(), |text| format!(" {text}"));
    let mut order: Vec<(&Column, f64)> = ranked.collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let rows = vec![vec![panel(&order, critical.difference)]];
    super::figure(summary, "critical differences", rows, Vec::new(), &words, &data)
}

/// From top to bottom: the critical difference, the axis, the bars, and the methods with their ranks.
fn panel(order: &[(&Column, f64)], difference: f64) -> Panel {
    let worst = order.len().max(2) as f64;
    // A few pixels, in ranks.
    let little = 0.008 * (worst - 1.0);
    let (low, high) = (1.0 - 2.0 * little, worst + 2.0 * little);
    let ranks: Vec<f64> = order.iter().map(|(_, rank)| *rank).collect();
    let groups = groups(&ranks, difference);
    let mut marks = ruler(worst, difference);
    for (index, (first, last)) in groups.iter().enumerate() {
        let (from, to) = (ranks[*first] - little, ranks[*last] + little);
        let y = AXIS + (index + 2) as f64 * BAR;
        marks.push(Mark::line(vec![(from, y), (to, y)], 3.5, colour::INK));
    }
    let first = AXIS + (groups.len() + 4) as f64 * BAR;
    let half = order.len().div_ceil(2);
    for (place, (column, rank)) in order.iter().enumerate() {
        // On either side the outermost method is the highest, so that stems never cross.
        let (line, end, anchor) = match place < half {
            true => (place, low, HPos::Right),
            false => (order.len() - 1 - place, high, HPos::Left),
        };
        let y = first + line as f64;
        let face = if column.is_reference { STRONG } else { LABEL };
        let text = format!("{}  {}", column.label, number(*rank));
        marks.push(Mark::line(vec![(*rank, AXIS), (*rank, y), (end, y)], 1.0, face.colour));
        marks.push(Mark::text((end, y), anchor, face, text));
    }
    let lines = first + half as f64;
    Panel { marks, ..Panel::new(Axis::hidden(low, high), Axis::hidden(lines, 0.0), lines * LINE) }
}

/// The axis, and above it a line as long as the critical difference, or as the axis if that is shorter.
fn ruler(worst: f64, difference: f64) -> Vec<Mark> {
    let line = |from, to, colour| Mark::line(vec![from, to], 1.5, colour);
    let mut marks = vec![line((1.0, AXIS), (worst, AXIS), colour::INK)];
    for rank in (1..=worst as usize).step_by((worst / 20.0).ceil() as usize) {
        let x = rank as f64;
        marks.push(line((x, AXIS - 0.25), (x, AXIS), colour::INK));
        marks.push(Mark::text((x, AXIS - 0.65), HPos::Center, TICK, rank.to_string()));
    }
    let is_beyond = difference > worst - 1.0;
    let end = if is_beyond { worst } else { 1.0 + difference };
    marks.push(line((1.0, 0.7), (end, 0.7), colour::REFERENCE));
    marks.extend([1.0, end].map(|x| line((x, 0.5), (x, 0.9), colour::REFERENCE)));
    let longer = if is_beyond { ", longer than the axis" } else { "" };
    let text = format!("CD = {}{longer}", number(difference));
    let face = Face { colour: colour::REFERENCE, ..TICK };
    marks.push(Mark::text((1.0, 0.25), HPos::Left, face, text));
    marks
}

/// Longest runs of ranks that are within the critical difference, as first and last place.
fn groups(ranks: &[f64], difference: f64) -> Vec<(usize, usize)> {
    let mut groups: Vec<(usize, usize)> = Vec::new();
    for first in 0..ranks.len() {
        let within = |last: &usize| ranks[*last] - ranks[first] <= difference;
        let last = (first..ranks.len()).take_while(within).last().unwrap_or(first);
        let is_new = groups.last().is_none_or(|(_, end)| last > *end);
        if last > first && is_new {
            groups.push((first, last));
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_the_longest_runs() {
        let ranks = [1.0, 1.5, 2.6, 3.0, 5.0];
        assert_eq!(groups(&ranks, 1.6), [(0, 2), (1, 3)]);
        assert_eq!(groups(&ranks, 0.1), []);
        assert_eq!(groups(&ranks, 9.0), [(0, 4)]);
    }
}
