//! Panels with a lane per method: dots for splits, a mean and its intervals.

use plotters::style::RGBAColor;
use plotters::style::text_anchor::HPos;

use super::axis::Axis;
use super::draw::{LABEL, STRONG, TICK};
use super::model::{Look, Mark, Panel, Shape};
use super::text::Face;
use super::{MOST, colour, undrawn_methods};
use crate::analyse::{Entry, Row, Summary};
use crate::render::csv::Names;

/// Splits of a lane with a dot.
const MOST_DOTS: usize = 200;
/// Splits are spread this many pixels above and below their line, since equal accuracies are common.
const SPREAD: f64 = 5.5;

/// A method on a dataset.
pub(super) struct Lane {
    label: String,
    pub(super) is_strong: bool,
    /// At most two.
    pub(super) bars: Vec<Bar>,
    /// `5/10`, right of the plot, if some splits lack a result.
    share: String,
}

/// A mean with its splits and intervals.
pub(super) struct Bar {
    pub(super) mean: Option<f64>,
    /// One per split.
    pub(super) dots: Vec<f64>,
    /// From, to, and how many pixels thick.
    pub(super) intervals: Vec<(f64, f64, f64)>,
    pub(super) look: Look,
    /// What is written if there is no mean, or none on the axis.
    pub(super) words: String,
}

/// A panel per dataset, and the rows of all cells: `cell` gives the rows of a cell and the lane that shows them, and
/// `panel` puts the lanes of a dataset together.
pub(super) fn panels<'a, R>(
    summary: &'a Summary,
    cell: impl Fn(Entry<'a>) -> (Vec<R>, Option<Lane>),
    panel: impl Fn(&Row, &[Lane]) -> Option<Panel>,
) -> (Vec<Panel>, Vec<(Names<'a>, R)>) {
    let (mut panels, mut data) = (Vec::new(), Vec::new());
    for row in &summary.rows {
        let mut lanes = Vec::new();
        for entry in summary.entries_of(row) {
            let (rows, lane) = cell(entry);
            lanes.extend(lane.filter(|_| lanes.len() < MOST));
            data.extend(rows.into_iter().map(|row| (Names::of(entry), row)));
        }
        panels.extend(panel(row, &lanes));
    }
    (panels, data)
}

/// A panel of lanes, each `height` pixels high, on top of the marks `behind`. Without a mean it has words only.
pub(super) fn panel(
    lanes: &[Lane],
    axis: Option<Axis>,
    below: &str,
    height: f64,
    behind: impl FnOnce(&Axis) -> Vec<Mark>,
) -> Panel {
    let axis = axis.filter(|_| spans(lanes).next().is_some());
    let mut marks = axis.as_ref().map_or(Vec::new(), behind);
    let below = if axis.is_some() { below } else { "" }.to_owned();
    let x = axis.unwrap_or(Axis::hidden(0.0, 1.0));
    for (index, lane) in lanes.iter().enumerate() {
        marks.extend(lane.marks(index as f64, &x, height));
    }
    let count = lanes.len() as f64;
    let y = Axis::hidden(count - 0.5, -0.5);
    Panel { below, marks, ..Panel::new(x, y, count * height) }
}

/// From the lowest to the highest value of every bar.
pub(super) fn spans(lanes: &[Lane]) -> impl Iterator<Item = (f64, f64)> {
    lanes.iter().flat_map(|lane| &lane.bars).filter_map(Bar::span)
}

/// A dashed line through all lanes.
pub(super) fn guide(at: f64, lanes: usize, colour: RGBAColor) -> Mark {
    Mark::Dashes { points: vec![(at, -0.5), (at, lanes as f64 - 0.5)], colour }
}

/// What is not drawn, and what the words at the right end are.
pub(super) fn words(summary: &Summary) -> String {
    let mut words = undrawn_methods(summary);
    if summary.rows.iter().any(|row| row.splits() > MOST_DOTS) {
        words += &format!(
            " At most {MOST_DOTS} splits of a method have a dot, evenly picked; means and bars use all."
        );
    }
    if summary.entries().any(|entry| entry.cell.share().is_some()) {
        words += " k/n next to a lane: k of its n planned splits succeeded.";
    }
    words
}

impl Lane {
    pub(super) fn new(entry: Entry, bars: Vec<Bar>) -> Self {
        let Entry { column, cell, .. } = entry;
        let share = cell.share().unwrap_or_default();
        Self { label: column.label.clone(), is_strong: column.is_reference, bars, share }
    }

    fn marks(&self, y: f64, x: &Axis, height: f64) -> Vec<Mark> {
        let face = if self.is_strong { STRONG } else { LABEL };
        let mut marks = vec![Mark::text((x.low, y), HPos::Right, face, &self.label)];
        if !self.share.is_empty() {
            marks.push(Mark::text((x.high, y), HPos::Left, TICK, &self.share));
        }
        // A second bar is below the first.
        let offsets = if self.bars.len() > 1 { [-6.0, 9.0] } else { [0.0; 2] };
        for (bar, offset) in self.bars.iter().zip(offsets) {
            marks.extend(bar.marks(y + offset / height, x, height));
        }
        marks
    }
}

impl Bar {
    /// A bar in the middle of its lane, without splits. Intervals are their ends and how thick they are.
    pub(super) fn new(
        mean: Option<f64>,
        look: Look,
        intervals: &[(Option<(f64, f64)>, f64)],
    ) -> Self {
        let intervals = intervals.iter().filter_map(|(ends, thick)| Some((ends.as_ref()?, thick)));
        let intervals = intervals.map(|((low, high), thick)| (*low, *high, *thick)).collect();
        Self { mean, dots: Vec::new(), intervals, look, words: String::new() }
    }

    /// Words in the place of a mean.
    pub(super) fn without_mean(words: impl Into<String>) -> Self {
        Self { words: words.into(), ..Self::new(None, Look::dot(colour::GREY), &[]) }
    }

    /// From its lowest to its highest value.
    fn span(&self) -> Option<(f64, f64)> {
        let mean = self.mean?;
        let ends = self.intervals.iter().flat_map(|(low, high, _)| [*low, *high]);
        let values = ends.chain(self.dots.iter().copied());
        Some(values.fold((mean, mean), |(low, high), value| (low.min(value), high.max(value))))
    }

    fn marks(&self, y: f64, x: &Axis, height: f64) -> Vec<Mark> {
        let Some(mean) = self.mean.filter(|mean| x.holds(*mean)) else {
            let face = Face { colour: self.look.colour, ..TICK };
            return vec![Mark::text((x.low, y), HPos::Left, face, &self.words)];
        };
        // Of thousands, evenly picked ones.
        let step = self.dots.len().div_ceil(MOST_DOTS).max(1);
        let dots = self.dots.iter().enumerate().step_by(step);
        let at = dots.map(|(split, dot)| (*dot, y + scatter(split) * SPREAD / height));
        let mut marks = vec![Mark::Dots { at: at.collect(), look: faint(self.look.colour) }];
        marks.extend(self.intervals.iter().map(|&(low, high, thick)| {
            Mark::line(vec![(low, y), (high, y)], thick, self.look.colour)
        }));
        marks.push(Mark::dot((mean, y), self.look));
        marks
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

/// Single splits in a legend.
pub(super) fn split_icon() -> (String, Vec<Mark>) {
    let at = vec![(-0.4, -0.2), (0.04, 0.35), (0.5, -0.3)];
    ("one split".to_owned(), vec![Mark::Dots { at, look: faint(colour::METHOD) }])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(dots: Vec<f64>) -> Bar {
        Bar { dots, ..Bar::new(Some(90.0), Look::dot(colour::METHOD), &[(None, 2.0)]) }
    }

    fn dots(bar: &Bar, axis: &Axis) -> Vec<f64> {
        match &bar.marks(0.0, axis, 25.0)[0] {
            Mark::Dots { at, .. } => at.iter().map(|(x, _)| *x).collect(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn one_split_has_no_interval() {
        let bar = bar(vec![90.0]);
        assert_eq!(bar.span(), Some((90.0, 90.0)));
        let marks = bar.marks(0.0, &Axis::percent([90.0]).unwrap(), 25.0);
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
        let axis = Axis::hidden(0.0, 2000.0);
        let drawn = |splits: usize| dots(&bar((0..splits).map(|i| i as f64).collect()), &axis);
        assert_eq!(drawn(200).len(), 200);
        assert_eq!(drawn(1000)[1], 5.0);
        assert_eq!(drawn(1001).len(), 167);
        assert_eq!(drawn(0).len(), 0);
    }
}
