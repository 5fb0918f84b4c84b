//! `critical-difference`: average ranks on a line, methods that cannot be told apart joined by bars.

use plotters::style::text_anchor::HPos;
use serde::Serialize;

use super::axis::Axis;
use super::colour;
use super::draw::{TICK, panel_width};
use super::model::{Figure, Mark, Panel};
use super::text::Face;
use crate::analyse::text::number;
use crate::analyse::{Column, Summary};
use crate::render::csv::Number;

const LABEL: Face = Face::plain(12.0);
const REFERENCE: Face = Face::bold(12.0);
/// Room for names on either side of the axis, in pixels.
const SIDE: f64 = 210.0;
/// Between the names, and between the bars, in pixels.
const LINE: f64 = 22.0;
const BAR: f64 = 8.0;
/// The axis is so many pixels below the top of the plot.
const TOP: f64 = 50.0;
/// More methods make the figure unreadable; the data has them all.
const MOST: usize = 40;

#[derive(Default, Serialize)]
struct Rank<'a> {
    method: &'a str,
    label: &'a str,
    average_rank: Number,
    datasets: usize,
    critical_difference: Number,
}

/// The figure, if there are ranks to draw.
pub(super) fn figure(summary: &Summary) -> Option<Figure> {
    let ranks = summary.ranks.as_ref()?;
    let critical = ranks.critical.as_ref()?;
    if summary.columns.len() > MOST {
        return None;
    }
    let ranked = summary.columns.iter().filter_map(|column| Some((column, column.rank?)));
    let rows: Vec<Rank> = ranked
        .clone()
        .map(|(column, rank)| Rank {
            method: &column.method,
            label: &column.label,
            average_rank: Number::from(rank),
            datasets: ranks.datasets,
            critical_difference: Number::from(critical.difference),
        })
        .collect();
    let mut words = format!(
        "Average ranks over {} datasets, 1 is best. Methods joined by a bar are closer than Nemenyi's critical difference \
         (CD) at level {}.",
        ranks.datasets, critical.level
    );
    if let Some(test) = ranks.friedman {
        words += &format!(" Friedman's chi-squared {:.2}, p = {:.4}.", test.chi2, test.p);
    }
    words += &ranks.power().map_or(String::new(), |text| format!(" {text}"));
    let mut order: Vec<(&Column, f64)> = ranked.collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let panels = vec![panel(&order, critical.difference)];
    let title = ("critical-difference", "critical differences");
    super::figure(summary, title, (panels, 1), &words, &rows)
}

/// Everything is marks: the vertical axis counts pixels downwards, the horizontal one ranks.
fn panel(order: &[(&Column, f64)], difference: f64) -> Panel {
    let last = order.len().max(2) as f64;
    let per_pixel = (last - 1.0) / (panel_width(1) - 2.0 * SIDE);
    let ranks: Vec<f64> = order.iter().map(|(_, rank)| *rank).collect();
    let groups = groups(&ranks, difference);
    let mut marks = ruler(last, difference, per_pixel);
    for (index, (first, last)) in groups.iter().enumerate() {
        let (from, to) = (ranks[*first] - 4.0 * per_pixel, ranks[*last] + 4.0 * per_pixel);
        let y = TOP + 16.0 + index as f64 * BAR;
        marks.push(Mark::line(vec![(from, y), (to, y)], 3.5, colour::INK));
    }
    let below = TOP + 30.0 + groups.len() as f64 * BAR;
    let half = order.len().div_ceil(2);
    let reach = 8.0 * per_pixel;
    let ends = [(1.0 - reach, HPos::Right), (last + reach, HPos::Left)];
    for (place, (column, rank)) in order.iter().enumerate() {
        // On either side the outermost method is the lowest, so that stems never cross.
        let (line, (end, anchor)) =
            if place < half { (place, ends[0]) } else { (order.len() - 1 - place, ends[1]) };
        let y = below + line as f64 * LINE;
        let style = match column.is_reference {
            true => (REFERENCE, colour::REFERENCE),
            false => (LABEL, colour::INK),
        };
        marks.push(Mark::line(vec![(*rank, TOP), (*rank, y), (end, y)], 1.0, style.1));
        let text = format!("{}  {}", column.label, number(*rank));
        marks.push(Mark::text((end, y), anchor, style, text));
    }
    let height = below + half as f64 * LINE;
    let side = SIDE * per_pixel;
    let x = Axis::hidden(1.0 - side, last + side);
    Panel { marks, ..Panel::new(x, Axis::hidden(height, 0.0), height) }
}

/// The axis, and above it a bar as long as the critical difference, or as the axis if that is shorter.
fn ruler(last: f64, difference: f64, per_pixel: f64) -> Vec<Mark> {
    let mut marks = vec![Mark::line(vec![(1.0, TOP), (last, TOP)], 1.5, colour::INK)];
    let every = (last / 20.0).ceil().max(1.0) as usize;
    for rank in (1..=last as usize).step_by(every) {
        let x = rank as f64;
        marks.push(Mark::line(vec![(x, TOP - 6.0), (x, TOP)], 1.0, colour::INK));
        let rank = rank.to_string();
        marks.push(Mark::text((x, TOP - 14.0), HPos::Center, (TICK, colour::GREY), rank));
    }
    let is_beyond = difference > last - 1.0;
    let end = if is_beyond { last } else { 1.0 + difference };
    let y = TOP - 38.0;
    let level = |x| vec![(x, y - 4.0), (x, y + 4.0)];
    for points in [vec![(1.0, y), (end, y)], level(1.0), level(end)] {
        marks.push(Mark::line(points, 1.5, colour::REFERENCE));
    }
    let longer = if is_beyond { ", longer than the axis" } else { "" };
    let text = format!("CD = {}{longer}", number(difference));
    let at = (1.0 - per_pixel, y - 10.0);
    marks.push(Mark::text(at, HPos::Left, (TICK, colour::REFERENCE), text));
    marks
}

/// Longest runs of ranks that lie within the critical difference, as first and last place.
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
