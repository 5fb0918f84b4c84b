//! Wilcoxon's signed-rank test.
//!
//! Zero differences are dropped and equal ones share ranks. Up to [`EXACT`] differences the
//! distribution of the rank sum over all sign patterns is counted exactly, ties included: SciPy's
//! answer wherever it is exact too, and its exact permutation test where differences are tied.
//! Beyond that the normal approximation with tie correction and without continuity correction.

use statrs::distribution::{ContinuousCDF, Normal};

use super::ranks::{midranks, tie_term};

/// Up to this many nonzero differences p is exact.
const EXACT: usize = 50;

/// A two-sided signed-rank test of "differences are symmetric about zero".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignedRank {
    /// How many differences are not zero.
    pub n: usize,
    /// The smaller of the rank sums of positive and negative differences.
    pub w: f64,
    pub p: f64,
}

/// Runs the test; p is 1 if all differences are zero. `None` for no differences, or some that are
/// not finite.
pub fn signed_rank(differences: &[f64]) -> Option<SignedRank> {
    if differences.is_empty() || !differences.iter().all(|d| d.is_finite()) {
        return None;
    }
    let nonzero: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    let n = nonzero.len();
    if n == 0 {
        return Some(SignedRank { n, w: 0.0, p: 1.0 });
    }
    let sizes: Vec<f64> = nonzero.iter().map(|d| d.abs()).collect();
    let ranks = midranks(&sizes);
    let signed = ranks.iter().zip(&nonzero);
    let positive: f64 = signed.filter(|(_, d)| **d > 0.0).map(|(rank, _)| rank).sum();
    let total = (n * (n + 1)) as f64 / 2.0;
    let w = positive.min(total - positive);
    let p = if n <= EXACT { exact(&ranks, w) } else { approximate(&ranks, w)? };
    Some(SignedRank { n, w, p })
}

/// `2 P(W <= w)` over all sign patterns, by dynamic programming over doubled ranks, which ties
/// leave whole. Counts stay below 2^50, so doubles hold them exactly.
fn exact(ranks: &[f64], w: f64) -> f64 {
    let mut patterns = vec![1.0];
    for rank in ranks {
        let doubled = (2.0 * rank) as usize;
        let shorter = patterns.len();
        patterns.resize(shorter + doubled, 0.0);
        for sum in (0..shorter).rev() {
            patterns[sum + doubled] += patterns[sum];
        }
    }
    let lower: f64 = patterns.iter().take((2.0 * w) as usize + 1).sum();
    (2.0 * lower / 2.0_f64.powi(ranks.len() as i32)).min(1.0)
}

fn approximate(ranks: &[f64], w: f64) -> Option<f64> {
    let n = ranks.len() as f64;
    let mean = n * (n + 1.0) / 4.0;
    let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - tie_term(ranks) / 48.0;
    let z = (w - mean) / variance.sqrt();
    let normal = Normal::new(0.0, 1.0).ok()?;
    Some((2.0 * normal.cdf(z)).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_one_sign_is_the_rarest_pattern() {
        let test = signed_rank(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!((test.w, test.p), (0.0, 2.0 / 32.0));
    }

    #[test]
    fn zeros_are_dropped_and_only_zeros_are_no_evidence() {
        let with = signed_rank(&[0.0, 1.0, -2.0, 0.0, 3.0]).unwrap();
        let without = signed_rank(&[1.0, -2.0, 3.0]).unwrap();
        assert_eq!(with, without);
        let none = signed_rank(&[0.0, 0.0]).unwrap();
        assert_eq!((none.n, none.w, none.p), (0, 0.0, 1.0));
        assert_eq!(signed_rank(&[]), None);
        assert_eq!(signed_rank(&[f64::NAN, 1.0]), None);
    }

    #[test]
    fn ties_are_counted_over_every_sign_pattern() {
        let differences = [1.0, 1.0, -1.0, 2.0, 2.0, -3.0];
        let ranks = [2.0, 2.0, 2.0, 4.5, 4.5, 6.0];
        let observed = signed_rank(&differences).unwrap();
        assert_eq!(observed.w, 8.0);
        let as_extreme = (0..64_u32)
            .filter(|pattern| {
                let picked = (0..6).filter(|bit| pattern & (1 << bit) != 0);
                let sum: f64 = picked.map(|bit| ranks[bit as usize]).sum();
                sum <= observed.w
            })
            .count();
        assert_eq!(observed.p, 2.0 * as_extreme as f64 / 64.0);
    }

    #[test]
    fn the_approximation_joins_the_exact_test() {
        let differences: Vec<f64> =
            (1..=50).map(|i| f64::from(i) * if i % 3 == 0 { -1.0 } else { 1.0 }).collect();
        let test = signed_rank(&differences).unwrap();
        let ranks: Vec<f64> = (1..=50).map(f64::from).collect();
        let approximation = approximate(&ranks, test.w).unwrap();
        assert!((test.p - approximation).abs() < 0.002, "{test:?} {approximation}");
    }
}
