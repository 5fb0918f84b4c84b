//! `critical-difference`: average ranks on a line, methods that cannot be told apart joined by bars.

use super::canvas::{Picture, Shape};
use super::colour;
use super::font::Face;
use super::plot::bar;
use super::sheet::{INNER, MARGIN, Sheet, text_around, text_at, text_before};
use super::{Drawn, caption};
use crate::render::csv::{optional, quoted};
use crate::render::text::number;
use crate::render::{Ranks, Summary};
use crate::stats::CriticalDifference;

const LABEL: Face = Face::plain(12.0);
const REFERENCE: Face = Face::bold(12.0);
const TICK: Face = Face::plain(10.5);
/// Room for names on either side of the axis.
const SIDE: f64 = 210.0;
const LINE: f64 = 22.0;
/// Methods beyond this make the figure unreadable; the data beside it has them all.
const MOST: usize = 40;

/// The figure, where there are ranks to draw.
pub(super) fn figure(summary: &Summary) -> Option<Drawn> {
    let ranks = summary.ranks.as_ref()?;
    let critical = ranks.critical.as_ref()?;
    if ranks.average.len() > MOST {
        return None;
    }
    let title = format!("{}: critical differences", summary.heading());
    Some(Drawn {
        name: "critical-difference",
        picture: picture(summary, ranks, critical, &title),
        title,
        data: data(summary, ranks),
    })
}

fn picture(
    summary: &Summary,
    ranks: &Ranks,
    critical: &CriticalDifference,
    title: &str,
) -> Picture {
    let mut sheet = Sheet::new(title);
    let axis = Axis {
        left: MARGIN + SIDE,
        width: INNER - 2.0 * SIDE,
        last: ranks.average.len().max(2) as f64,
    };
    let mut order: Vec<(usize, f64)> = ranks.average.iter().copied().enumerate().collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    sheet.y += 30.0;
    axis.ruler(sheet.y - 14.0, critical.difference, &mut sheet.shapes);
    sheet.y += 26.0;
    axis.draw(sheet.y, &mut sheet.shapes);
    let top = sheet.y;
    let groups = groups(&order, critical.difference);
    for (index, (first, last)) in groups.iter().enumerate() {
        let (from, to) = (axis.at(order[*first].1), axis.at(order[*last].1));
        let y = top + 14.0 + index as f64 * 8.0;
        sheet.shapes.push(bar(from - 4.0, y, to - from + 8.0, 3.5, colour::INK));
    }
    let below = top + 26.0 + groups.len() as f64 * 8.0;
    let half = order.len().div_ceil(2);
    let reference = summary.comparison.as_ref().map(|found| found.reference);
    for (place, (column, rank)) in order.iter().enumerate() {
        let is_left = place < half;
        // On either side the outermost method is the lowest, so that stems never cross.
        let line = if is_left { place } else { order.len() - 1 - place };
        let stem = Stem {
            x: axis.at(*rank),
            top,
            y: below + line as f64 * LINE,
            is_left,
            is_reference: reference == Some(*column),
        };
        let name = (summary.columns.get(*column)).map_or("", |column| column.label.as_str());
        stem.draw(&format!("{name}  {}", number(*rank)), &mut sheet.shapes);
    }
    sheet.y = below + half as f64 * LINE + 8.0;
    let mut words = format!(
        "Average ranks over {} datasets, 1 is best. Methods joined by a bar are closer than Nemenyi's \
         critical difference (CD) at level {}.",
        ranks.datasets, critical.level
    );
    if let Some(test) = ranks.friedman {
        words += &format!(" Friedman's chi-squared {:.2}, p = {:.4}.", test.chi2, test.p);
    }
    words += &ranks.power().map_or(String::new(), |text| format!(" {text}"));
    sheet.finish(title.to_owned(), &caption(summary, &words))
}

struct Axis {
    left: f64,
    width: f64,
    last: f64,
}

impl Axis {
    fn at(&self, rank: f64) -> f64 {
        self.left + (rank - 1.0) / (self.last - 1.0) * self.width
    }

    fn draw(&self, y: f64, shapes: &mut Vec<Shape>) {
        shapes.push(bar(self.left, y - 0.75, self.width, 1.5, colour::INK));
        let every = (self.last / 20.0).ceil().max(1.0) as usize;
        for rank in (1..=self.last as usize).step_by(every) {
            let x = self.at(rank as f64);
            shapes.push(bar(x - 0.5, y - 6.0, 1.0, 6.0, colour::INK));
            shapes.push(text_around(TICK, colour::GREY, (x, y - 10.0), rank.to_string()));
        }
    }

    /// A bar of the critical difference's length, or of the axis' where that is shorter.
    fn ruler(&self, y: f64, difference: f64, shapes: &mut Vec<Shape>) {
        let beyond = difference > self.last - 1.0;
        let length = if beyond { self.width } else { self.at(1.0 + difference) - self.left };
        shapes.push(bar(self.left, y, length, 1.5, colour::REFERENCE));
        for x in [self.left, self.left + length] {
            shapes.push(bar(x - 0.75, y - 4.0, 1.5, 9.5, colour::REFERENCE));
        }
        let longer = if beyond { ", longer than the axis" } else { "" };
        let text = format!("CD = {}{longer}", number(difference));
        shapes.push(text_at(TICK, colour::REFERENCE, (self.left + 4.0, y - 6.0), text));
    }
}

/// A method's name and the line from it to its rank.
struct Stem {
    x: f64,
    top: f64,
    y: f64,
    is_left: bool,
    is_reference: bool,
}

impl Stem {
    fn draw(&self, text: &str, shapes: &mut Vec<Shape>) {
        let colour = if self.is_reference { colour::REFERENCE } else { colour::INK };
        let face = if self.is_reference { REFERENCE } else { LABEL };
        shapes.push(bar(self.x - 0.5, self.top, 1.0, self.y - self.top, colour));
        let text = face.shortened(text, SIDE - 10.0);
        let y = self.y + face.size * 0.35;
        if self.is_left {
            let end = MARGIN + SIDE - 8.0;
            shapes.push(bar(end, self.y - 0.5, self.x - end + 0.5, 1.0, colour));
            shapes.push(text_before(face, colour, (end - 4.0, y), text));
        } else {
            let end = MARGIN + INNER - SIDE + 8.0;
            shapes.push(bar(self.x - 0.5, self.y - 0.5, end - self.x + 0.5, 1.0, colour));
            shapes.push(text_at(face, colour, (end + 4.0, y), text));
        }
    }
}

/// Longest runs of ranks that lie within the critical difference, as first and last place.
fn groups(order: &[(usize, f64)], difference: f64) -> Vec<(usize, usize)> {
    let mut groups: Vec<(usize, usize)> = Vec::new();
    for first in 0..order.len() {
        let within = |last: &usize| order[*last].1 - order[first].1 <= difference;
        let last = (first..order.len()).take_while(within).last().unwrap_or(first);
        let is_new = groups.last().is_none_or(|(_, end)| last > *end);
        if last > first && is_new {
            groups.push((first, last));
        }
    }
    groups
}

fn data(summary: &Summary, ranks: &Ranks) -> String {
    let critical = ranks.critical.map(|critical| critical.difference);
    let mut text = "method,label,average_rank,datasets,critical_difference\n".to_owned();
    for (column, rank) in summary.columns.iter().zip(&ranks.average) {
        text += &format!(
            "{},{},{rank:?},{},{}\n",
            quoted(&column.method),
            quoted(&column.label),
            ranks.datasets,
            optional(critical)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_the_longest_runs() {
        let order: Vec<(usize, f64)> = [1.0, 1.5, 2.6, 3.0, 5.0].into_iter().enumerate().collect();
        assert_eq!(groups(&order, 1.6), [(0, 2), (1, 3)]);
        assert_eq!(groups(&order, 0.1), []);
        assert_eq!(groups(&order, 9.0), [(0, 4)]);
    }
}
