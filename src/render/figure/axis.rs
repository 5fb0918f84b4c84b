//! The horizontal axis of a panel: a range that holds all that is drawn, and round ticks in it.

/// The narrowest range, in percentage points: equal values do not make an axis of no width.
const NARROWEST: f64 = 0.5;
/// Room beside the outermost value, as a share of the range.
const ROOM: f64 = 0.04;
/// Most ticks of a panel.
const TICKS: f64 = 7.0;

/// A range of accuracies in percent, with ticks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    step: f64,
    decimals: usize,
}

impl Axis {
    /// An axis for these values; `None` if none of them is finite.
    pub(super) fn around(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let finite = values.into_iter().filter(|value| value.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        if low > high {
            return None;
        }
        let lacking = (NARROWEST - (high - low)).max(0.0);
        let room = (high - low).max(NARROWEST) * ROOM + lacking / 2.0;
        let (low, high) = (low - room, high + room);
        let (step, decimals) = step(high - low);
        Some(Self {
            low,
            high,
            step,
            decimals,
        })
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

    fn labels(values: &[f64]) -> Vec<String> {
        let ticks = Axis::around(values.iter().copied()).unwrap().ticks();
        ticks.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(labels(&[98.1, 99.4]), ["98.5", "99.0"]);
        assert_eq!(labels(&[60.0, 72.0]), ["60", "65", "70"]);
        assert_eq!(labels(&[0.0, 100.0]), ["0", "50", "100"]);
    }

    #[test]
    fn nothing_is_ticked_beyond_a_percentage() {
        assert_eq!(labels(&[98.9, 100.4]), ["99.0", "99.5", "100.0"]);
        assert_eq!(labels(&[-0.2, 0.5]), ["0.0", "0.2", "0.4"]);
    }

    #[test]
    fn equal_values_stand_in_the_middle() {
        let axis = Axis::around([95.0, 95.0]).unwrap();
        assert!((axis.place(95.0) - 0.5).abs() < 1e-12);
        assert!(axis.ticks().len() >= 2);
    }

    #[test]
    fn no_values_have_no_axis() {
        assert_eq!(Axis::around([]), None);
        assert_eq!(Axis::around([f64::NAN, f64::INFINITY]), None);
    }

    #[test]
    fn all_values_lie_inside() {
        let axis = Axis::around([3.0, 91.75, 99.2]).unwrap();
        for value in [3.0, 91.75, 99.2] {
            assert!((0.0..=1.0).contains(&axis.place(value)));
        }
    }
}
