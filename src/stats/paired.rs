//! Two methods on common splits: t-tests of the differences `d_1, ..., d_J`.
//!
//! The paper's test is the paired one, `t = mean(d) / sqrt(var(d) / J)`. Its differences are not
//! independent: training sets of random splits overlap, so it rejects far too often. Nadeau and
//! Bengio (2003) widen the variance by the ratio of the test to the training samples,
//!
//! ```text
//! t = mean(d) / sqrt((1/J + n_te/n_tr) var(d)),    J - 1 degrees of freedom.
//! ```

use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::{level, mean, standard_deviation};

/// A two-sided t-test of "the mean difference is zero".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TTest {
    pub mean_difference: f64,
    /// Of the mean difference; 0 if all differences are the same.
    pub standard_error: f64,
    /// Degrees of freedom.
    pub freedom: f64,
    /// 0 if all differences are zero, infinite if they all equal another number.
    pub t: f64,
    /// Two-sided; 1 if all differences are zero, 0 if they all equal another number.
    pub p: f64,
}

impl TTest {
    /// `None` if the degrees of freedom are not positive.
    pub(super) fn new(mean_difference: f64, standard_error: f64, freedom: f64) -> Option<Self> {
        let t = ratio(mean_difference, standard_error);
        Some(Self { mean_difference, standard_error, freedom, t, p: two_sided(t, freedom)? })
    }

    /// The confidence interval of the mean difference, `mean ± t standard_error`, that holds the true one with
    /// probability `level`; `None` unless `0 < level < 1`.
    pub fn interval(&self, level: f64) -> Option<(f64, f64)> {
        let reach = quantile(level, self.freedom)? * self.standard_error;
        Some((self.mean_difference - reach, self.mean_difference + reach))
    }

    /// The smallest difference that a test at `level` would have found with deviations like these.
    pub fn smallest_seen(&self, level: f64) -> Option<f64> {
        Some(quantile(1.0 - level, self.freedom)? * self.standard_error)
    }
}

/// `ours - theirs` on the splits that both have, in order of the split.
///
/// A method that failed on a split is compared on the others; the length says on how many. Accuracies are
/// `100 k / n`, whose differences are equal only up to rounding: see [`level`].
pub fn common_differences(ours: &BTreeMap<usize, f64>, theirs: &BTreeMap<usize, f64>) -> Vec<f64> {
    ours.iter().filter_map(|(split, value)| Some(level(value - theirs.get(split)?))).collect()
}

/// The paired t-test as the paper runs it; `None` for fewer than two differences.
pub fn paired_t(differences: &[f64]) -> Option<TTest> {
    corrected_t(differences, 0.0)
}

/// Nadeau and Bengio's corrected test; `test_to_train` is `n_te / n_tr`.
///
/// `None` for fewer than two differences, or a ratio that is negative or not finite.
pub fn corrected_t(differences: &[f64], test_to_train: f64) -> Option<TTest> {
    if !(test_to_train >= 0.0 && test_to_train.is_finite()) {
        return None;
    }
    let n = differences.len();
    let deviation = standard_deviation(differences)?;
    let mean_difference = mean(differences)?;
    let standard_error = deviation * (1.0 / n as f64 + test_to_train).sqrt();
    TTest::new(mean_difference, standard_error, (n - 1) as f64)
}

/// Cohen's d of paired samples, `mean(d) / sd(d)`; degenerate cases as in [`TTest::t`].
pub fn cohens_dz(differences: &[f64]) -> Option<f64> {
    Some(ratio(mean(differences)?, standard_deviation(differences)?))
}

/// `mean / spread`, where no spread means 0 for no difference and infinity for a constant one.
fn ratio(mean: f64, spread: f64) -> f64 {
    if mean == 0.0 {
        0.0
    } else if spread == 0.0 {
        f64::INFINITY.copysign(mean)
    } else {
        mean / spread
    }
}

/// The two-sided quantile of Student's distribution: `P(|T| <= q) = level`.
fn quantile(level: f64, freedom: f64) -> Option<f64> {
    if !(level > 0.0 && level < 1.0) {
        return None;
    }
    let distribution = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some(distribution.inverse_cdf(0.5 + level / 2.0))
}

fn two_sided(t: f64, freedom: f64) -> Option<f64> {
    if t.is_infinite() {
        return Some(0.0);
    }
    let distribution = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some((2.0 * distribution.sf(t.abs())).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_of_percentages_are_ties_where_the_counts_are() {
        let of = |counts: [u32; 5]| -> BTreeMap<usize, f64> {
            let percent = |count: u32| 100.0 * f64::from(count) / 360.0;
            counts.map(percent).into_iter().enumerate().collect()
        };
        let (ours, theirs) = (of([301, 299, 317, 333, 310]), of([298, 296, 314, 330, 307]));
        let differences = common_differences(&ours, &theirs);
        assert!(differences.iter().all(|d| *d == differences[0]), "{differences:?}");
        assert_eq!(cohens_dz(&differences), Some(f64::INFINITY));
        assert_eq!(paired_t(&differences).map(|test| test.p), Some(0.0));
    }

    #[test]
    fn no_difference_at_all_is_no_evidence() {
        let test = corrected_t(&[0.0; 5], 0.5).unwrap();
        assert_eq!((test.t, test.p), (0.0, 1.0));
        assert_eq!(cohens_dz(&[0.0; 5]), Some(0.0));
    }

    #[test]
    fn a_constant_difference_has_no_spread_to_weigh_it_against() {
        let test = paired_t(&[-0.5; 4]).unwrap();
        assert_eq!((test.t, test.p), (f64::NEG_INFINITY, 0.0));
        assert_eq!(cohens_dz(&[0.25; 3]), Some(f64::INFINITY));
    }

    #[test]
    fn an_interval_excludes_zero_where_the_test_rejects() {
        // Quantiles of Student's distribution with 9 degrees of freedom, from SciPy.
        assert!((quantile(0.95, 9.0).unwrap() - 2.262157162798205).abs() < 1e-9);
        assert!((quantile(0.9, 9.0).unwrap() - 1.833112932656237).abs() < 1e-9);
        let differences = [0.4, 0.1, 0.3, -0.1, 0.2, 0.25, 0.3, 0.0, 0.15, 0.1];
        for q in [0.0, 0.2, 2.0 / 3.0] {
            let test = corrected_t(&differences, q).unwrap();
            let (low, high) = test.interval(0.95).unwrap();
            assert!(low < test.mean_difference && test.mean_difference < high);
            assert_eq!(low > 0.0, test.p < 0.05);
        }
        let constant = paired_t(&[0.5; 3]).unwrap();
        assert_eq!(constant.interval(0.95), Some((0.5, 0.5)));
        assert_eq!(constant.interval(1.0), None);
        assert_eq!(constant.interval(f64::NAN), None);
    }

    #[test]
    fn one_split_cannot_be_tested() {
        assert_eq!(paired_t(&[1.0]), None);
        assert_eq!(paired_t(&[]), None);
        assert_eq!(cohens_dz(&[1.0]), None);
    }

    #[test]
    fn unusable_input_is_refused() {
        assert_eq!(paired_t(&[1.0, f64::NAN, 2.0]), None);
        assert_eq!(corrected_t(&[1.0, 2.0], f64::NAN), None);
        assert_eq!(corrected_t(&[1.0, 2.0], -0.1), None);
        assert_eq!(corrected_t(&[1.0, 2.0], f64::INFINITY), None);
    }

    #[test]
    fn only_common_splits_are_paired() {
        let ours = BTreeMap::from([(0, 90.0), (1, 91.0), (3, 93.0)]);
        let theirs = BTreeMap::from([(1, 90.5), (2, 80.0), (3, 92.0)]);
        assert_eq!(common_differences(&ours, &theirs), [0.5, 1.0]);
        assert_eq!(common_differences(&ours, &BTreeMap::new()), [0.0; 0]);
    }
}
