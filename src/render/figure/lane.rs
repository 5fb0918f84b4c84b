//! One method in a panel: faint dots for the splits, a dot and a bar for mean and standard
//! deviation, and an open diamond with a bar for the paper's.

use plotters::style::RGBAColor;
use plotters::style::text_anchor::HPos;

use super::axis::{Axis, Span};
use super::canvas::Shape;
use super::colour;
use super::font::Face;
use crate::render::text::plus_minus;
use crate::render::{Cell, Summary};

/// Height of a lane without and with the paper's numbers.
pub(super) const HEIGHT: f64 = 25.0;
pub(super) const HEIGHT_WITH_PAPER: f64 = 34.0;

const MEAN_RADIUS: f64 = 4.25;
const SPLIT_RADIUS: f64 = 2.25;
const PAPER_RADIUS: f64 = 4.75;
/// Splits are spread this far above and below their line, since equal accuracies are common.
const SPREAD: f64 = 5.5;
/// Splits of a lane with a dot.
const MOST_DOTS: usize = 200;
const WORDS: Face = Face::plain(10.5);
/// Stands before a number that lies off the axis.
pub(super) const OFF: &str = "◂";

/// A method on a dataset, as far as it can be drawn.
pub(super) enum Content<'a> {
    Results(&'a Cell, f64),
    Words(String),
}

/// What stands in the lane of a cell.
pub(super) fn content(cell: &Cell) -> Content<'_> {
    let is_percentage = |value: &f64| (0.0..=100.0).contains(value);
    match cell.mean {
        Some(mean) if cell.values.values().all(is_percentage) => Content::Results(cell, mean),
        Some(_) => Content::Words("no result: accuracies that are no percentages".to_owned()),
        None => Content::Words(format!("no result: {}", cell.word())),
    }
}

/// What a cell wants to be on the axis: our mark and the paper's.
pub(super) fn spans(cell: &Cell) -> impl Iterator<Item = Span> {
    let bar = |mean: f64, deviation: Option<f64>| {
        let deviation = deviation.unwrap_or(0.0);
        [mean - deviation, mean + deviation]
    };
    let ours = match content(cell) {
        Content::Results(cell, mean) => {
            let splits = cell.values.values().copied();
            Span::of(splits.chain(bar(mean, cell.deviation)))
        }
        Content::Words(_) => None,
    };
    let paper = cell.paper;
    let paper = paper.and_then(|paper| Span::of(bar(paper.value, paper.deviation)));
    ours.into_iter().chain(paper)
}

/// Whether the cell has a mark that the axis leaves off.
pub(super) fn leaves_off(axis: &Axis, cell: &Cell) -> bool {
    let ours = match content(cell) {
        Content::Results(_, mean) => Some(mean),
        Content::Words(_) => None,
    };
    let means = ours.into_iter().chain(cell.paper.map(|paper| paper.value));
    means.into_iter().any(|mean| !axis.holds(mean))
}

/// Where a lane lies, and its axis.
pub(super) struct Lane<'a> {
    pub(super) left: f64,
    pub(super) width: f64,
    pub(super) middle: f64,
    pub(super) colour: RGBAColor,
    /// Whether the figure has the paper's numbers, which take the lower half.
    pub(super) shared: bool,
    pub(super) axis: &'a Axis,
}

impl Lane<'_> {
    pub(super) fn draw(&self, cell: &Cell, shapes: &mut Vec<Shape>) {
        let (ours, theirs) = if self.shared {
            (self.middle - 6.0, self.middle + 9.0)
        } else {
            (self.middle, self.middle)
        };
        match content(cell) {
            Content::Results(cell, mean) if self.axis.holds(mean) => {
                self.results(cell, mean, ours, shapes);
            }
            Content::Results(cell, mean) => {
                let text = format!("{OFF} {}", plus_minus(mean, cell.deviation));
                shapes.push(self.words(&text, ours, self.colour));
            }
            Content::Words(words) => shapes.push(self.words(&words, ours, colour::GREY)),
        }
        if let Some(paper) = cell.paper {
            if self.axis.holds(paper.value) {
                if let Some(deviation) = paper.deviation {
                    shapes.push(self.interval(paper.value, deviation, theirs, 1.25, colour::INK));
                }
                shapes.push(diamond((self.place(paper.value), theirs)));
            } else {
                let text = format!("{OFF} paper {}", plus_minus(paper.value, paper.deviation));
                shapes.push(self.words(&text, theirs, colour::INK));
            }
        }
    }

    fn place(&self, value: f64) -> f64 {
        self.left + self.axis.place(value) * self.width
    }

    fn words(&self, words: &str, y: f64, colour: RGBAColor) -> Shape {
        Shape::Text {
            at: (self.left + 5.0, y + WORDS.size * 0.35),
            anchor: HPos::Left,
            face: WORDS,
            colour,
            text: WORDS.shortened(words, self.width - 10.0),
        }
    }

    fn results(&self, cell: &Cell, mean: f64, y: f64, shapes: &mut Vec<Shape>) {
        for (&split, &value) in dotted(cell.values.iter()) {
            let at = (self.place(value), y + SPREAD * scatter(split));
            shapes.push(split_dot(at, self.colour));
        }
        if let Some(deviation) = cell.deviation {
            shapes.push(self.interval(mean, deviation, y, 2.0, self.colour));
        }
        shapes.extend(mean_dot((self.place(mean), y), self.colour));
    }

    fn interval(&self, mean: f64, deviation: f64, y: f64, thick: f64, colour: RGBAColor) -> Shape {
        let (from, to) = (self.place(mean - deviation), self.place(mean + deviation));
        level(from, to, y, thick, colour)
    }
}

/// A level line.
pub(super) fn level(from: f64, to: f64, y: f64, thick: f64, colour: RGBAColor) -> Shape {
    Shape::Bar { left: from, top: y - thick / 2.0, width: to - from, height: thick, colour }
}

/// The dot of a mean; a white rim sets it off from the splits.
pub(super) fn mean_dot(centre: (f64, f64), colour: RGBAColor) -> [Shape; 2] {
    let dot = |radius, colour| Shape::Dot { centre, radius, colour };
    [dot(MEAN_RADIUS + 1.0, colour::WHITE), dot(MEAN_RADIUS, colour)]
}

/// The splits of a lane that get a dot: evenly picked, since thousands would only make a blot.
pub(super) fn dotted<I: ExactSizeIterator>(splits: I) -> impl Iterator<Item = I::Item> {
    let step = splits.len().div_ceil(MOST_DOTS).max(1);
    splits.step_by(step)
}

/// Says so where not every split has a dot.
pub(super) fn undotted(summary: &Summary) -> String {
    if summary.rows.iter().all(|row| row.splits() <= MOST_DOTS) {
        return String::new();
    }
    format!(
        " At most {MOST_DOTS} splits of a method have a dot, evenly picked; means and bars are of all."
    )
}

/// The dot of one split.
pub(super) fn split_dot(centre: (f64, f64), colour: RGBAColor) -> Shape {
    Shape::Dot { centre, radius: SPLIT_RADIUS, colour: colour::faint(colour, 0.3) }
}

/// The paper's mean.
pub(super) fn diamond(centre: (f64, f64)) -> Shape {
    Shape::Diamond { centre, radius: PAPER_RADIUS, line: 1.25, colour: colour::INK }
}

/// Spreads splits evenly over -1 to 1, the same way in every figure: multiples of the golden ratio.
pub(super) fn scatter(split: usize) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    ((split % 1000) as f64 * GOLDEN + 0.5).fract() * 2.0 - 1.0
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn an_accuracy_that_is_no_percentage_is_not_drawn() {
        let cell = Cell {
            values: BTreeMap::from([(0, 1e300), (1, 50.0)]),
            mean: Some(5e299),
            deviation: Some(f64::INFINITY),
            ..Cell::default()
        };
        assert!(matches!(content(&cell), Content::Words(_)));
        assert_eq!(spans(&cell).count(), 0);
    }

    #[test]
    fn one_split_has_no_bar() {
        let cell =
            Cell { values: BTreeMap::from([(0, 90.0)]), mean: Some(90.0), ..Cell::default() };
        let axis = Axis::around(spans(&cell).collect()).unwrap();
        assert!(!leaves_off(&axis, &cell));
        let mut shapes = Vec::new();
        let lane = Lane {
            left: 0.0,
            width: 100.0,
            middle: 10.0,
            colour: colour::METHOD,
            shared: false,
            axis: &axis,
        };
        lane.draw(&cell, &mut shapes);
        assert!(!shapes.iter().any(|shape| matches!(shape, Shape::Bar { .. })));
        assert_eq!(shapes.len(), 3);
    }

    #[test]
    fn splits_are_spread_within_their_lane() {
        let spread: Vec<f64> = (0..10).map(scatter).collect();
        assert!(spread.iter().all(|place| place.abs() <= 1.0));
        assert!(spread.iter().any(|place| *place > 0.5));
        assert!(spread.iter().any(|place| *place < -0.5));
        assert!(scatter(usize::MAX).abs() <= 1.0);
    }

    #[test]
    fn thousands_of_splits_are_thinned_evenly() {
        assert_eq!(dotted(0..200).count(), 200);
        assert_eq!(dotted(0..1000).nth(1), Some(5));
        assert_eq!(dotted(0..1001).count(), 167);
        assert_eq!(dotted(0..0).count(), 0);
    }
}
