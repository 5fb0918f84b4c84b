//! Ranges of parameter values: `{log2: [-8, 2, 2]}` is 2^-8, 2^-6, .., 2^2.

/// More points than anyone would fit.
pub(super) const MOST_POINTS: usize = 100_000;

/// The values of a range, both ends included, or what is wrong with it as an end to "the range".
pub(super) fn expand(scale: &str, [first, last, step]: [f64; 3]) -> Result<Vec<f64>, String> {
    if step <= 0.0 {
        return Err(format!("has the step {step}, expected a step above 0"));
    }
    if first > last {
        return Err(format!("goes from {first} to {last}, expected the smaller number first"));
    }
    // A step that divides the distance but for rounding still reaches the end.
    let steps = ((last - first) / step * (1.0 + 1e-12) + 1e-9).floor();
    if !(0.0..MOST_POINTS as f64).contains(&steps) {
        return Err(format!("has {:.0} values, expected at most {MOST_POINTS}", steps + 1.0));
    }
    let values: Vec<f64> =
        (0..=steps as usize).map(|i| value(scale, tidy(first + i as f64 * step))).collect();
    match values.iter().all(|value| value.is_finite()) {
        true => Ok(values),
        false => Err("reaches beyond the largest number".into()),
    }
}

/// The value at `place` of a scale.
pub(super) fn value(scale: &str, place: f64) -> f64 {
    match scale {
        "log2" => place.exp2(),
        "log10" => power_of_ten(place),
        _ => place,
    }
}

/// Drops the digits that repeated addition makes up: 0.1 + 2 * 0.1 is 0.3.
fn tidy(value: f64) -> f64 {
    format!("{value:.12e}").parse().unwrap_or(value)
}

/// Exact for whole exponents, which `powf` is not.
fn power_of_ten(exponent: f64) -> f64 {
    match exponent.fract() {
        0.0 => format!("1e{exponent:.0}").parse().unwrap_or(f64::INFINITY),
        _ => 10f64.powf(exponent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_included() {
        assert_eq!(expand("log2", [-2.0, 2.0, 2.0]), Ok(vec![0.25, 1.0, 4.0]));
        assert_eq!(expand("log10", [-2.0, 1.0, 1.0]), Ok(vec![0.01, 0.1, 1.0, 10.0]));
        assert_eq!(expand("linear", [0.1, 0.5, 0.1]), Ok(vec![0.1, 0.2, 0.3, 0.4, 0.5]));
        assert_eq!(expand("linear", [1.0, 2.5, 1.0]), Ok(vec![1.0, 2.0]));
        assert_eq!(expand("linear", [3.0, 3.0, 1.0]), Ok(vec![3.0]));
    }

    #[test]
    fn a_range_without_end_or_sense_is_refused() {
        assert!(expand("linear", [0.0, 1.0, 0.0]).is_err());
        assert!(expand("linear", [0.0, 1.0, -1.0]).is_err());
        assert!(expand("linear", [1.0, 0.0, 1.0]).is_err());
        assert!(expand("linear", [0.0, 1e300, 1e-300]).is_err());
        assert!(expand("linear", [-f64::MAX, f64::MAX, 1.0]).is_err());
        assert!(expand("linear", [0.0, 100_000.0, 1.0]).is_err());
        assert!(expand("log2", [1000.0, 2000.0, 1.0]).is_err());
        assert!(expand("log10", [1e300, 1e300, 1.0]).is_err());
    }
}
