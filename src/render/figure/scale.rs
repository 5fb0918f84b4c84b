//! Scales: where values lie along an axis, and round ticks.

/// Most ticks of an axis.
const TICKS: f64 = 6.0;
/// Room beyond the outermost value, as a share of the range.
const ROOM: f64 = 0.05;

/// A range of values, plain or logarithmic, or a row of names.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    /// In logarithms, where the scale is logarithmic.
    low: f64,
    high: f64,
    is_log: bool,
    ticks: Vec<(f64, String)>,
}

impl Scale {
    /// A plain scale that holds all finite values, at least `narrowest` wide; `None` without any.
    pub(super) fn linear(values: impl IntoIterator<Item = f64>, narrowest: f64) -> Option<Self> {
        let (low, high) = range(values.into_iter())?;
        let lacking = (narrowest - (high - low)).max(0.0) / 2.0;
        let room = (high - low).max(narrowest) * ROOM;
        let (low, high) = (low - lacking - room, high + lacking + room);
        let span = (high - low).max(low.abs() * 1e-9).max(f64::MIN_POSITIVE);
        let (step, decimals) = step(span);
        let first = (low / step).ceil();
        let count = (((high / step).floor() - first).clamp(0.0, 50.0)) as usize;
        let ticks = (0..=count)
            .map(|index| {
                let value = (first + index as f64) * step;
                (value, label(value, decimals))
            })
            .filter(|(value, _)| *value <= high)
            .collect();
        Some(Self { low, high: low + span, is_log: false, ticks })
    }

    /// A logarithmic scale that holds all positive values; `None` without any.
    pub(super) fn log(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let positive = values.into_iter().filter(|value| *value > 0.0);
        let (low, high) = range(positive.map(f64::log10))?;
        let lacking = (0.6 - (high - low)).max(0.0) / 2.0;
        let room = (high - low).max(0.6) * ROOM;
        let (low, high) = (low - lacking - room, high + lacking + room);
        let decades = high.floor() as i32 - low.ceil() as i32;
        let parts: &[f64] = if decades < 1 {
            &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0]
        } else if decades < 3 {
            &[1.0, 3.0]
        } else {
            &[1.0]
        };
        let every = (decades / 6 + 1).max(1);
        let mut ticks = Vec::new();
        for exponent in low.floor() as i32..=high.ceil() as i32 {
            for part in parts {
                let place = f64::from(exponent) + part.log10();
                if (low..=high).contains(&place) && exponent.rem_euclid(every) == 0 {
                    ticks.push((place, power(*part, exponent)));
                }
            }
        }
        Some(Self { low, high, is_log: true, ticks })
    }

    /// Names side by side; name `i` lies at the value `i`.
    pub(super) fn names(names: &[String]) -> Self {
        let ticks = names.iter().enumerate().map(|(i, name)| (i as f64, name.clone()));
        Self {
            low: -0.5,
            high: names.len().max(1) as f64 - 0.5,
            is_log: false,
            ticks: ticks.collect(),
        }
    }

    /// Where a value lies, from 0 to 1; values without a place are put at the low end.
    pub(super) fn place(&self, value: f64) -> f64 {
        let value = if self.is_log { value.log10() } else { value };
        if value.is_nan() {
            return 0.0;
        }
        ((value - self.low) / (self.high - self.low)).clamp(-0.2, 1.2)
    }

    /// Places from 0 to 1 with their labels.
    pub(super) fn ticks(&self) -> impl Iterator<Item = (f64, &str)> {
        let place = |value: f64| (value - self.low) / (self.high - self.low);
        self.ticks.iter().map(move |(value, label)| (place(*value), label.as_str()))
    }
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.filter(|value| value.is_finite() && value.abs() < 1e100);
    finite.fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((low, high)) => Some((low.min(value), high.max(value))),
    })
}

/// The finest step of 1, 2 or 5 times a power of ten that gives few ticks, and its decimals.
fn step(span: f64) -> (f64, usize) {
    let rough = span / TICKS;
    let exponent = rough.log10().floor();
    let power = 10.0_f64.powf(exponent);
    let part = [1.0, 2.0, 5.0, 10.0].into_iter().find(|part| part * power >= rough);
    let step = part.unwrap_or(10.0) * power;
    let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
    (step, decimals)
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

/// `0.03`, `2`, `1000`, or with an exponent where that is shorter.
fn power(part: f64, exponent: i32) -> String {
    let value = part * 10.0_f64.powi(exponent);
    let halves = usize::from(part.fract() != 0.0);
    match exponent {
        0..=4 => format!("{value:.*}", if exponent == 0 { halves } else { 0 }),
        -4..=-1 => format!("{value:.*}", exponent.unsigned_abs() as usize + halves),
        _ => format!("{part}e{exponent}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale) -> Vec<&str> {
        scale.ticks().map(|(_, label)| label).collect()
    }

    #[test]
    fn plain_ticks_are_round_and_lie_inside() {
        let scale = Scale::linear([-1.3, 2.2], 0.1).unwrap();
        assert_eq!(labels(&scale), ["−1", "0", "1", "2"]);
        assert!(scale.ticks().all(|(place, _)| (0.0..=1.0).contains(&place)));
        let small = Scale::linear([0.01, 0.013], 0.0).unwrap();
        assert!(labels(&small).contains(&"0.012"), "{:?}", labels(&small));
        let equal = Scale::linear([95.0, 95.0], 1.0).unwrap();
        assert!((equal.place(95.0) - 0.5).abs() < 1e-12);
        let large = Scale::linear([5e9, 5e9], 0.0).unwrap();
        assert!(large.place(5e9).is_finite());
    }

    #[test]
    fn logarithmic_ticks_are_powers() {
        let scale = Scale::log([0.01, 200.0]).unwrap();
        assert_eq!(labels(&scale), ["0.01", "0.1", "1", "10", "100"]);
        assert_eq!(labels(&Scale::log([1.5, 4.0]).unwrap()), ["1.5", "2", "3", "5"]);
        assert_eq!(Scale::log([0.0, -1.0]), None);
        let wide = Scale::log([1e-30, 1e30]).unwrap();
        assert!(labels(&wide).len() < 12);
    }

    #[test]
    fn nothing_finite_has_no_scale() {
        assert_eq!(Scale::linear([f64::NAN, f64::INFINITY], 1.0), None);
        let scale = Scale::linear([1.0, 2.0], 1.0).unwrap();
        assert_eq!(scale.place(f64::NAN), 0.0);
        assert!(scale.place(f64::INFINITY) <= 1.2);
        assert_eq!(labels(&Scale::names(&["a".to_owned(), "b".to_owned()])), ["a", "b"]);
    }
}
