//! The horizontal axis of a panel: a range that most of what is drawn fills, and round ticks in it.

/// The narrowest range, in percentage points: equal values do not make an axis of no width.
const NARROWEST: f64 = 0.5;
/// Room beside the outermost value, as a share of the range.
const ROOM: f64 = 0.04;
/// Most ticks of a panel.
const TICKS: f64 = 7.0;
/// Marks far below the others are left off where these would fill less than this of the range.
const SQUEEZED: f64 = 0.3;

/// From the lowest to the highest value of a mark: a mean with its bar and its splits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    low: f64,
    high: f64,
}

/// A range of accuracies in percent, with ticks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    step: f64,
    decimals: usize,
}

impl Span {
    /// The span of these values; `None` if none of them is finite.
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let finite = values.into_iter().filter(|value| value.is_finite());
        let points = finite.map(|value| Self { low: value, high: value });
        points.reduce(Self::with)
    }

    fn with(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    fn width(self) -> f64 {
        self.high - self.low
    }
}

impl Axis {
    /// An axis for these marks; `None` if there are none.
    ///
    /// Up to a third of them are left off at the low end, if they are apart from the others and
    /// would squeeze these into a small part of the axis.
    pub(super) fn around(mut spans: Vec<Span>) -> Option<Self> {
        spans.sort_by(|a, b| a.low.total_cmp(&b.low));
        let all = spans.iter().copied().reduce(Span::with)?;
        let core = (1..=spans.len() / 3).find_map(|left_off| {
            let (below, rest) = spans.split_at(left_off);
            let below = below.iter().copied().reduce(Span::with)?;
            let rest = rest.iter().copied().reduce(Span::with)?;
            let squeezed = rest.width() < SQUEEZED * all.width();
            (below.high < rest.low && squeezed).then_some(rest)
        });
        Some(Self::over(core.unwrap_or(all)))
    }

    fn over(span: Span) -> Self {
        let lacking = (NARROWEST - span.width()).max(0.0);
        let room = span.width().max(NARROWEST) * ROOM + lacking / 2.0;
        let (low, high) = (span.low - room, span.high + room);
        let (step, decimals) = step(high - low);
        Self { low, high, step, decimals }
    }

    /// Whether a value lies within the range.
    pub(super) fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Where a value lies, from 0 at the left end to 1 at the right end.
    pub(super) fn place(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }

    /// Round values within the range, none below 0 or above 100, with their labels.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let first = (self.low.max(0.0) / self.step).ceil() as i64;
        let last = (self.high.min(100.0) / self.step).floor() as i64;
        (first..=last)
            .map(|index| {
                let value = index as f64 * self.step;
                (value, format!("{value:.*}", self.decimals))
            })
            .collect()
    }
}

/// The finest step of 1, 2 or 5 times a power of ten that gives few ticks, and its decimals.
fn step(span: f64) -> (f64, usize) {
    const STEPS: [(f64, usize); 9] = [
        (0.1, 1),
        (0.2, 1),
        (0.5, 1),
        (1.0, 0),
        (2.0, 0),
        (5.0, 0),
        (10.0, 0),
        (20.0, 0),
        (50.0, 0),
    ];
    let fits = STEPS.iter().find(|(step, _)| span / step <= TICKS);
    *fits.unwrap_or(&STEPS[STEPS.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(values: &[f64]) -> Axis {
        Axis::around(vec![Span::of(values.iter().copied()).unwrap()]).unwrap()
    }

    fn spans(means: &[f64]) -> Vec<Span> {
        let around = |mean: &f64| Span::of([mean - 0.5, mean + 0.5]).unwrap();
        means.iter().map(around).collect()
    }

    fn labels(values: &[f64]) -> Vec<String> {
        let ticks = axis(values).ticks();
        ticks.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(labels(&[98.5, 99.4]), ["98.6", "98.8", "99.0", "99.2", "99.4"]);
        assert_eq!(labels(&[60.0, 72.0]), ["60", "62", "64", "66", "68", "70", "72"]);
        assert_eq!(labels(&[0.0, 100.0]), ["0", "20", "40", "60", "80", "100"]);
    }

    #[test]
    fn nothing_is_ticked_beyond_a_percentage() {
        assert_eq!(labels(&[98.6, 101.4]), ["98.5", "99.0", "99.5", "100.0"]);
        assert_eq!(labels(&[-0.2, 0.5]), ["0.0", "0.2", "0.4"]);
    }

    #[test]
    fn equal_values_stand_in_the_middle() {
        let axis = axis(&[95.0, 95.0]);
        assert!((axis.place(95.0) - 0.5).abs() < 1e-12);
        assert!(axis.ticks().len() >= 2);
    }

    #[test]
    fn no_values_have_no_axis() {
        assert_eq!(Span::of([f64::NAN, f64::INFINITY]), None);
        assert_eq!(Axis::around(Vec::new()), None);
    }

    #[test]
    fn all_values_lie_inside() {
        let values = [3.0, 91.75, 99.2];
        let axis = axis(&values);
        assert!(values.iter().all(|value| axis.holds(*value)));
        assert!(!axis.holds(110.0));
    }

    #[test]
    fn what_lies_far_below_the_others_is_left_off() {
        let axis = Axis::around(spans(&[98.0, 80.0, 98.5, 99.0])).unwrap();
        assert!(!axis.holds(80.0) && axis.holds(98.0) && axis.holds(99.0));
        let two = Axis::around(spans(&[80.0, 88.0, 98.0, 98.5, 99.0, 98.0])).unwrap();
        assert!(!two.holds(80.0) && !two.holds(88.0) && two.holds(98.0));
    }

    #[test]
    fn neighbours_and_halves_are_not_left_off() {
        for means in [&[98.0, 96.0, 98.5, 99.0][..], &[60.0, 99.0], &[60.0, 61.0, 99.0, 99.0]] {
            let axis = Axis::around(spans(means)).unwrap();
            assert!(means.iter().all(|mean| axis.holds(*mean)), "{means:?}");
        }
        // A long bar that reaches up to the others.
        let mut reaching = spans(&[98.0, 98.5, 99.0]);
        reaching.push(Span::of([80.0, 98.2]).unwrap());
        assert!(Axis::around(reaching).unwrap().holds(80.0));
    }
}
