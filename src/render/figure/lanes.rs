//! Panels with a lane per method: dots for splits, a mean and its intervals.

use plotters::style::RGBAColor;
use plotters::style::text_anchor::HPos;

use super::axis::Axis;
use super::colour;
use super::draw::TICK;
use super::model::{Look, Mark, Panel, Shape};
use crate::analyse::{Entry, Row, Summary};
use crate::render::csv::Names;

/// Methods of a dataset that are drawn.
pub(super) const MOST: usize = 30;
/// Splits of a lane with a dot.
const MOST_DOTS: usize = 200;
/// Splits are spread this many pixels above and below their line, since equal accuracies are common.
const SPREAD: f64 = 5.5;
/// Stands before a number that lies off the axis.
pub(super) const OFF: &str = "◂";

/// A method on a dataset.
#[derive(Default)]
pub(super) struct Lane {
    pub(super) label: String,
    /// One per split.
    pub(super) dots: Vec<f64>,
    /// Our mean, if there is one, and others.
    pub(super) bars: Vec<Bar>,
    /// What is written if there is no mean of ours.
    pub(super) words: String,
    /// Stands to the right of the plot.
    pub(super) share: String,
}

/// A mean with intervals.
pub(super) struct Bar {
    pub(super) mean: f64,
    /// From, to, and how many pixels thick.
    pub(super) intervals: Vec<(f64, f64, f64)>,
    pub(super) look: Look,
    /// How far below the middle of the lane, in pixels.
    pub(super) offset: f64,
    /// What is written if the mean lies off the axis.
    pub(super) words: String,
}

/// A panel per dataset, and the rows of all cells: `numbers` gives the rows of a cell, `lane` draws them, and `panel`
/// puts the lanes of a dataset together.
pub(super) fn panels<'a, R>(
    summary: &'a Summary,
    numbers: impl Fn(Entry<'a>) -> Vec<R>,
    lane: impl Fn(&[R], Entry<'a>) -> Option<Lane>,
    panel: impl Fn(&Row, &[Lane]) -> Option<Panel>,
) -> (Vec<Panel>, Vec<(Names<'a>, R)>) {
    let (mut panels, mut rows) = (Vec::new(), Vec::new());
    for row in &summary.rows {
        let mut lanes = Vec::new();
        for entry in summary.entries_of(row) {
            let numbers = numbers(entry);
            lanes.extend(lane(&numbers, entry).filter(|_| lanes.len() < MOST));
            rows.extend(numbers.into_iter().map(|numbers| (Names::of(entry), numbers)));
        }
        panels.extend(panel(row, &lanes));
    }
    (panels, rows)
}

impl Bar {
    /// A bar in the middle of its lane, with intervals as low and high ends.
    pub(super) fn new(mean: f64, look: Look, intervals: &[(Option<(f64, f64)>, f64)]) -> Self {
        let intervals = intervals.iter().filter_map(|(ends, thick)| Some((ends.as_ref()?, thick)));
        let intervals = intervals.map(|((low, high), thick)| (*low, *high, *thick)).collect();
        Self { mean, intervals, look, offset: 0.0, words: String::new() }
    }

    /// From the lowest to the highest value of the bar and some dots.
    pub(super) fn span(&self, dots: &[f64]) -> (f64, f64) {
        let ends = self.intervals.iter().flat_map(|(low, high, _)| [*low, *high]);
        let values = ends.chain(dots.iter().copied());
        values.fold((self.mean, self.mean), |(low, high), value| (low.min(value), high.max(value)))
    }
}

/// A panel of lanes, each `height` pixels high, on top of the marks `behind`. Without an axis it has words only.
pub(super) fn panel(
    lanes: &[Lane],
    axis: Option<Axis>,
    behind: Vec<Mark>,
    (height, strong): (f64, Option<usize>),
) -> Panel {
    let labels = lanes.iter().map(|lane| lane.label.clone());
    let names = Axis { strong, ..Axis::names(labels).reversed() };
    let x = axis.unwrap_or(Axis::hidden(0.0, 1.0));
    let marks = lanes.iter().enumerate().flat_map(|(index, lane)| lane.marks(index, &x, height));
    let marks = behind.into_iter().chain(marks).collect();
    Panel { marks, ..Panel::new(x, names, lanes.len() as f64 * height) }
}

/// Every value that lanes show.
pub(super) fn values(lanes: &[Lane]) -> impl Iterator<Item = f64> {
    lanes.iter().flat_map(|lane| {
        let spans = lane.bars.iter().map(|bar| bar.span(&lane.dots));
        spans.flat_map(|(low, high)| [low, high])
    })
}

/// A dashed line through all lanes.
pub(super) fn guide(at: f64, lanes: usize, colour: RGBAColor) -> Mark {
    Mark::dashes(vec![(at, -0.5), (at, lanes as f64 - 0.5)], colour)
}

/// Says what is not drawn of the methods and splits.
pub(super) fn left_out(summary: &Summary) -> String {
    let mut words = String::new();
    if summary.rows.iter().any(|row| row.splits() > MOST_DOTS) {
        words += &format!(
            " At most {MOST_DOTS} splits of a method have a dot, evenly picked; means and bars are of all."
        );
    }
    words + &undrawn_methods(summary)
}

/// Says how many methods are drawn if those are not all.
pub(super) fn undrawn_methods(summary: &Summary) -> String {
    match summary.columns.len() {
        ..=MOST => String::new(),
        all => format!(" {MOST} of {all} methods are drawn; the data has all."),
    }
}

impl Lane {
    fn marks(&self, index: usize, x: &Axis, height: f64) -> Vec<Mark> {
        let lane = index as f64;
        let words = |x: f64, y: f64, colour, text: &str| {
            Mark::text((x, y), HPos::Left, (TICK, colour), text)
        };
        let mut marks = Vec::new();
        let has_ours = self.bars.iter().any(|bar| bar.look.shape == Shape::Dot);
        if !has_ours {
            let y = if self.bars.is_empty() { lane } else { lane - 6.0 / height };
            marks.push(words(x.low, y, colour::GREY, &self.words));
        }
        for (number, bar) in self.bars.iter().enumerate() {
            let y = lane + bar.offset / height;
            if !x.holds(bar.mean) {
                marks.push(words(x.low, y, bar.look.colour, &format!("{OFF} {}", bar.words)));
                continue;
            }
            if number == 0 && has_ours {
                marks.push(self.dots(bar.look, y, height));
            }
            let intervals = bar.intervals.iter();
            marks.extend(intervals.map(|&(low, high, thick)| {
                Mark::line(vec![(low, y), (high, y)], thick, bar.look.colour)
            }));
            marks.push(Mark::Dots { at: vec![(bar.mean, y)], look: bar.look });
        }
        if !self.share.is_empty() {
            marks.push(words(x.high, lane, colour::GREY, &self.share));
        }
        marks
    }

    /// A faint dot per split, or, of thousands, evenly picked ones.
    fn dots(&self, mean: Look, level: f64, height: f64) -> Mark {
        let step = self.dots.len().div_ceil(MOST_DOTS).max(1);
        let dots = self.dots.iter().enumerate().step_by(step);
        let at = dots.map(|(split, dot)| (*dot, level + scatter(split) * SPREAD / height));
        Mark::Dots { at: at.collect(), look: faint(mean.colour) }
    }
}

fn faint(colour: RGBAColor) -> Look {
    Look { colour, shape: Shape::Faint, radius: 2.25 }
}

/// Spreads splits evenly over -1 to 1, the same way in every figure: multiples of the golden ratio.
fn scatter(split: usize) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    ((split % 1000) as f64 * GOLDEN + 0.5).fract() * 2.0 - 1.0
}

/// What stands for single splits in a legend.
pub(super) fn split_icon() -> (String, Vec<Mark>) {
    let at = vec![(-0.4, -0.2), (0.04, 0.35), (0.5, -0.3)];
    ("one split".to_owned(), vec![Mark::Dots { at, look: faint(colour::METHOD) }])
}

/// What stands for a mean with an interval in a legend.
pub(super) fn bar_icon(look: Look, thick: f64) -> Vec<Mark> {
    let line = Mark::line(vec![(-1.0, 0.0), (1.0, 0.0)], thick, look.colour);
    let mut marks = vec![line];
    marks.extend(look.icon());
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(dots: Vec<f64>) -> Lane {
        let bar = Bar::new(90.0, Look::dot(colour::METHOD), &[(None, 2.0)]);
        Lane { dots, bars: vec![bar], ..Lane::default() }
    }

    #[test]
    fn one_split_has_no_bar() {
        let lane = lane(vec![90.0]);
        assert_eq!(lane.bars[0].span(&lane.dots), (90.0, 90.0));
        let marks = lane.marks(0, &Axis::percent([90.0]).unwrap(), 25.0);
        assert!(marks.iter().all(|mark| matches!(mark, Mark::Dots { at, .. } if at.len() == 1)));
        assert_eq!(marks.len(), 2);
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
        let drawn = |splits: usize| {
            let lane = lane((0..splits).map(|split| split as f64).collect());
            match lane.dots(Look::dot(colour::METHOD), 0.0, 25.0) {
                Mark::Dots { at, .. } => at.into_iter().map(|(x, _)| x).collect::<Vec<_>>(),
                _ => Vec::new(),
            }
        };
        assert_eq!(drawn(200).len(), 200);
        assert_eq!(drawn(1000)[1], 5.0);
        assert_eq!(drawn(1001).len(), 167);
        assert_eq!(drawn(0).len(), 0);
    }
}
