//! Statistics over splits and over datasets: what a table says beyond its means.
//!
//! * [`mean`], [`standard_deviation`]: over the splits of one cell of a table;
//! * [`paired_t`], [`corrected_t`], [`cohens_dz`], [`signed_rank`]: two methods on common splits;
//! * [`holm`]: many tests at once;
//! * [`average_ranks`], [`friedman`], [`pairwise_signed_rank`], [`CriticalDifference`]: many methods
//!   over many datasets, and what too few datasets cannot show;
//! * [`WinTieLoss`]: two methods over many datasets;
//! * [`welch`], [`Reproduction`]: our numbers against printed ones;
//! * [`tsne`], [`silhouette`], [`knn_accuracy`]: samples in a space, and how well classes separate in it.
//!
//! Every function answers `None` where there is nothing to say (too few values, or values that are
//! not finite) and documents its degenerate cases; none of them panics or returns NaN.

mod critical;
mod multiple;
mod paired;
mod ranks;
mod separability;
mod signed_rank;
mod tally;
mod tsne;
mod welch;

pub use critical::CriticalDifference;
pub use multiple::holm;
pub use paired::{TTest, cohens_dz, common_differences, corrected_t, paired_t};
pub use ranks::{Friedman, Pair, average_ranks, friedman, pairwise_signed_rank};
pub use separability::{knn_accuracy, silhouette};
pub use signed_rank::{SignedRank, signed_rank};
pub use tally::WinTieLoss;
pub use tsne::tsne;
pub use welch::{Reproduction, Sample, welch};

/// Level of every test of the program. Marks may have others.
pub const LEVEL: f64 = 0.05;
/// Level of the confidence intervals.
pub const CONFIDENCE: f64 = 0.95;
/// Accuracies in percent that are closer than this are the same but for rounding.
pub const SAME: f64 = 1e-9;

/// A value without the digits that rounding makes: what is equal but for them is equal after it, so that
/// ties are ties.
pub fn level(value: f64) -> f64 {
    (value / SAME).round() * SAME
}

/// Arithmetic mean; `None` for no values, or values that are not finite.
pub fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

/// Sample standard deviation, with `n - 1` below the sum; `None` for fewer than two values.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let centre = mean(values)?;
    // The mean of equal values need not be one of them.
    if centre.is_finite() && values.iter().all(|value| *value == values[0]) {
        return Some(0.0);
    }
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_deviation_of_known_values() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(mean(&values), Some(5.0));
        let expected = (32.0_f64 / 7.0).sqrt();
        assert!((standard_deviation(&values).unwrap() - expected).abs() < 1e-15);
    }

    #[test]
    fn too_few_or_unusable_values_give_nothing() {
        assert_eq!(mean(&[]), None);
        assert_eq!(mean(&[1.0, f64::NAN]), None);
        assert_eq!(standard_deviation(&[3.0]), None);
        assert_eq!(standard_deviation(&[3.0, f64::INFINITY]), None);
    }
}
