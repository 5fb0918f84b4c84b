//! Axes: ranges that hold the data, and round ticks.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;

/// Most ticks of an axis.
const TICKS: usize = 6;
/// Room beyond the outermost value, as a share of the range.
const ROOM: f64 = 0.05;
/// Marks far below the others are left off the axis if the others would fill less than this share of it.
const SQUEEZED: f64 = 0.3;

/// A range of values with ticks. Logarithmic axes hold the logarithms to base 10.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Axis {
    pub(super) low: f64,
    pub(super) high: f64,
    /// Values with their labels.
    pub(super) ticks: Vec<(f64, String)>,
}

impl Axis {
    /// A range without ticks, line and grid.
    pub(super) fn hidden(low: f64, high: f64) -> Self {
        Self { low, high, ticks: Vec::new() }
    }

    /// An axis that holds all finite values, at least `narrowest` wide; `None` without any.
    pub(super) fn linear(values: impl IntoIterator<Item = f64>, narrowest: f64) -> Option<Self> {
        let (low, high) = widened(range(values)?, narrowest);
        let span = (high - low).max(low.abs() * 1e-9).max(f64::MIN_POSITIVE);
        let values = RangedCoordf64::from(low..low + span).key_points(TICKS);
        let step = values.windows(2).map(|pair| pair[1] - pair[0]).next().unwrap_or(span);
        // A step such as 0.2 may be a little less after rounding.
        let decimals = (-(step * 1.001).log10().floor()).clamp(0.0, 9.0) as usize;
        let ticks = values.into_iter().map(|value| (value, label(value, decimals)));
        Some(Self { low, high: low + span, ticks: ticks.collect() })
    }

    /// A linear axis of percentages, without ticks below 0 and above 100.
    pub(super) fn percent(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut axis = Self::linear(values, 0.5)?;
        axis.ticks.retain(|(value, _)| (-1e-9..=100.0 + 1e-9).contains(value));
        Some(axis)
    }

    /// A logarithmic axis that holds all positive values; `None` without any.
    pub(super) fn log(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let positive = values.into_iter().filter(|value| *value > 0.0);
        let (low, high) = widened(range(positive.map(f64::log10))?, 0.6);
        let decades = high.floor() as i32 - low.ceil() as i32;
        let parts: &[f64] = match decades {
            ..1 => &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
            1..3 => &[1.0, 3.0],
            _ => &[1.0],
        };
        let every = (decades / 6 + 1).max(1);
        let exponents = (low.floor() as i32..=high.ceil() as i32)
            .filter(|exponent| exponent.rem_euclid(every) == 0);
        let ticks = exponents
            .flat_map(|exponent| parts.iter().map(move |part| (exponent, *part)))
            .map(|(exponent, part)| (f64::from(exponent) + part.log10(), power(part, exponent)))
            .filter(|(value, _)| (low..=high).contains(value));
        Some(Self { low, high, ticks: ticks.collect() })
    }

    /// Names next to each other; name `i` is at the value `i`.
    pub(super) fn names(names: impl IntoIterator<Item = String>) -> Self {
        let ticks = names.into_iter().enumerate().map(|(i, name)| (i as f64, name));
        let ticks: Vec<_> = ticks.collect();
        Self { low: -0.5, high: ticks.len().max(1) as f64 - 0.5, ticks }
    }

    /// Whether a value lies within the range.
    pub(super) fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = (value - self.low) / (self.high - self.low);
        limit.0 + (share.clamp(-0.2, 1.2) * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match hint.weight().allow_light_points() {
            true => Vec::new(),
            false => self.ticks.iter().map(|(value, _)| *value).collect(),
        }
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        let tick = self.ticks.iter().find(|(at, _)| at == value);
        tick.map_or(String::new(), |(_, label)| label.clone())
    }
}

/// The range of these marks, each from its lowest to its highest value.
///
/// Up to a third of them are left off at the low end, if they are far from the others and would squeeze these into
/// a small part of the range.
pub(super) fn robust_range(mut spans: Vec<(f64, f64)>) -> Option<(f64, f64)> {
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let hull = |spans: &[(f64, f64)]| range(spans.iter().flat_map(|span| [span.0, span.1]));
    let all = hull(&spans)?;
    let core = (1..=spans.len() / 3).find_map(|left_off| {
        let (below, rest) = spans.split_at(left_off);
        let (below, rest) = (hull(below)?, hull(rest)?);
        let is_squeezed = rest.1 - rest.0 < SQUEEZED * (all.1 - all.0);
        (below.1 < rest.0 && is_squeezed).then_some(rest)
    });
    Some(core.unwrap_or(all))
}

fn range(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.into_iter().filter(|value| value.is_finite() && value.abs() < 1e100);
    finite.map(|value| (value, value)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// The range with room at both ends, at least `narrowest` wide.
fn widened((low, high): (f64, f64), narrowest: f64) -> (f64, f64) {
    let lacking = (narrowest - (high - low)).max(0.0) / 2.0;
    let room = (high - low).max(narrowest) * ROOM + lacking;
    (low - room, high + room)
}

/// A tick's label, with a minus sign and without a negative zero.
fn label(value: f64, decimals: usize) -> String {
    if value.abs() >= 1e6 {
        return format!("{value:.0e}");
    }
    let text = format!("{:.*}", decimals, value.abs());
    let is_zero = text.chars().all(|c| c == '0' || c == '.');
    if value < 0.0 && !is_zero { format!("−{text}") } else { text }
}

/// `0.03`, `2`, `1000`, or with an exponent if that is shorter.
fn power(part: f64, exponent: i32) -> String {
    let text = format!("{part}e{exponent}");
    match text.parse::<f64>() {
        Ok(value) if (-4..=4).contains(&exponent) => value.to_string(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    fn middle(axis: &Axis) -> f64 {
        (axis.low + axis.high) / 2.0
    }

    #[test]
    fn plain_ticks_are_round_and_lie_inside() {
        let axis = Axis::linear([-1.3, 2.2], 0.1).unwrap();
        assert_eq!(labels(&axis), ["−1", "0", "1", "2"]);
        assert!(axis.ticks.iter().all(|(value, _)| axis.holds(*value)));
        let small = Axis::linear([0.01, 0.013], 0.0).unwrap();
        assert!(labels(&small).contains(&"0.012"), "{:?}", labels(&small));
        let equal = Axis::linear([95.0, 95.0], 1.0).unwrap();
        assert!((middle(&equal) - 95.0).abs() < 1e-12 && equal.ticks.len() >= 2);
        let large = Axis::linear([5e9, 5e9], 0.0).unwrap();
        assert!(large.high > large.low);
    }

    #[test]
    fn logarithmic_ticks_are_powers() {
        let axis = Axis::log([0.01, 200.0]).unwrap();
        assert_eq!(labels(&axis), ["0.01", "0.1", "1", "10", "100"]);
        assert_eq!(labels(&Axis::log([1.5, 4.0]).unwrap()), ["1.5", "2", "3", "5"]);
        assert_eq!(Axis::log([0.0, -1.0]), None);
        let wide = Axis::log([1e-30, 1e30]).unwrap();
        assert!(labels(&wide).len() < 12);
    }

    #[test]
    fn nothing_is_ticked_beyond_a_percentage() {
        let values = |values: [f64; 2]| Axis::percent(values).unwrap();
        assert_eq!(labels(&values([98.6, 101.4])), ["99", "100"]);
        assert_eq!(labels(&values([-0.2, 0.5])), ["0.0", "0.2", "0.4"]);
        assert_eq!(labels(&values([0.0, 100.0])), ["0", "20", "40", "60", "80", "100"]);
    }

    #[test]
    fn nothing_finite_has_no_axis() {
        assert_eq!(Axis::linear([f64::NAN, f64::INFINITY], 1.0), None);
        assert_eq!(robust_range(Vec::new()), None);
        assert_eq!(labels(&Axis::names(["a".to_owned(), "b".to_owned()])), ["a", "b"]);
    }

    fn robust(means: &[f64]) -> (f64, f64) {
        robust_range(means.iter().map(|mean| (mean - 0.5, mean + 0.5)).collect()).unwrap()
    }

    #[test]
    fn values_far_below_the_others_are_left_off() {
        assert_eq!(robust(&[98.0, 80.0, 98.5, 99.0]), (97.5, 99.5));
        assert_eq!(robust(&[80.0, 88.0, 98.0, 98.5, 99.0, 98.0]), (97.5, 99.5));
    }

    #[test]
    fn neighbours_and_halves_are_not_left_off() {
        for means in [&[96.0, 98.0, 98.5, 99.0][..], &[60.0, 99.0], &[60.0, 61.0, 99.0, 99.0]] {
            assert_eq!(robust(means), (means[0] - 0.5, 99.5), "{means:?}");
        }
        // A long bar that reaches up to the others.
        let reaching = vec![(97.5, 98.5), (98.0, 99.0), (98.5, 99.5), (80.0, 98.2)];
        assert_eq!(robust_range(reaching), Some((80.0, 99.5)));
    }
}
