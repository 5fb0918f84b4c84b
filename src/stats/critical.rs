//! Nemenyi's critical difference of average ranks, and what it cannot show.
//!
//! Two of `k` methods differ over `N` datasets if their average ranks are further apart than
//!
//! ```text
//! CD = q sqrt(k (k + 1) / (6 N)),    q = (quantile of the studentized range, k, infinity) / sqrt(2).
//! ```
//!
//! Ranks cannot be further apart than `k - 1`, so with few datasets no result may be significant.

use statrs::distribution::{Continuous, ContinuousCDF, Normal};

/// The critical difference of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CriticalDifference {
    pub methods: usize,
    pub datasets: usize,
    pub level: f64,
    /// Average ranks further apart than this differ.
    pub difference: f64,
}

impl CriticalDifference {
    /// `None` for fewer than two methods, no datasets, or a level outside 0 to 1.
    pub fn new(methods: usize, datasets: usize, level: f64) -> Option<Self> {
        if datasets == 0 {
            return None;
        }
        let q = studentized_range(1.0 - level, methods)? / std::f64::consts::SQRT_2;
        let (k, n) = (methods as f64, datasets as f64);
        Some(Self { methods, datasets, level, difference: q * (k * (k + 1.0) / (6.0 * n)).sqrt() })
    }

    /// The largest distance two average ranks can have.
    pub fn largest(&self) -> usize {
        self.methods - 1
    }

    /// The smallest p that a signed-rank test of two methods over `datasets` can have, after Holm's adjustment for all
    /// pairs: every difference has the same sign, `2 / 2^datasets`.
    pub fn smallest_adjusted_p(&self, datasets: usize) -> f64 {
        let pairs = self.methods * self.largest() / 2;
        (pairs as f64 * 0.5_f64.powf(datasets as f64 - 1.0)).min(1.0)
    }

    /// How many datasets it takes until the best of all pairs can be significant after Holm.
    pub fn datasets_needed(&self) -> usize {
        (1..64).find(|n| self.smallest_adjusted_p(*n) < self.level).unwrap_or(64)
    }
}

/// The quantile of the range of `k` standard normal values, `P(range <= q) = probability`.
///
/// `None` for fewer than two values or a probability outside 0 to 1.
fn studentized_range(probability: f64, k: usize) -> Option<f64> {
    if k < 2 || !(probability > 0.0 && probability < 1.0) {
        return None;
    }
    let normal = Normal::new(0.0, 1.0).ok()?;
    let (mut low, mut high) = (0.0, 100.0);
    // The distribution function is increasing; 60 halvings leave nothing that doubles can hold.
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if range_below(&normal, middle, k) < probability {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(0.5 * (low + high))
}

/// `P(range <= q) = k Int phi(z) (Phi(z) - Phi(z - q))^(k - 1) dz`, by the trapezoidal rule, which
/// converges exponentially for integrands that vanish at both ends.
fn range_below(normal: &Normal, q: f64, k: usize) -> f64 {
    const STEP: f64 = 0.02;
    const REACH: i32 = 450;
    let power = i32::try_from(k - 1).unwrap_or(i32::MAX);
    let integrand = |i: i32| {
        let z = f64::from(i) * STEP;
        normal.pdf(z) * (normal.cdf(z) - normal.cdf(z - q)).powi(power)
    };
    k as f64 * STEP * (-REACH..=REACH).map(integrand).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        // SciPy's studentized_range.ppf(0.95, k, inf), and Demsar's table of q / sqrt(2).
        for (k, expected, q) in [
            (2, 2.771807648699355, 1.960),
            (3, 3.314493155398122, 2.343),
            (4, 3.633159574902628, 2.569),
            (6, 4.030092053180576, 2.850),
            (10, 4.474124221725907, 3.164),
        ] {
            let ours = studentized_range(0.95, k).unwrap();
            // SciPy itself gives six digits or so here.
            assert!((ours - expected).abs() < 2e-6, "{k}: {ours}");
            assert!((ours / std::f64::consts::SQRT_2 - q).abs() < 1e-3);
        }
        assert_eq!(studentized_range(0.95, 1), None);
        assert_eq!(studentized_range(1.0, 3), None);
        assert_eq!(studentized_range(f64::NAN, 3), None);
    }

    #[test]
    fn few_datasets_cannot_show_anything() {
        let table2 = CriticalDifference::new(6, 6, 0.05).unwrap();
        assert!((table2.difference - 3.078).abs() < 1e-3);
        assert!(table2.difference < table2.largest() as f64);
        assert_eq!(table2.smallest_adjusted_p(6), 15.0 * 0.03125);
        assert_eq!(table2.datasets_needed(), 10);
        let two = CriticalDifference::new(4, 2, 0.05).unwrap();
        assert!(two.difference > two.largest() as f64);
        assert_eq!(two.smallest_adjusted_p(2), 1.0);
        assert_eq!(CriticalDifference::new(1, 5, 0.05), None);
        assert_eq!(CriticalDifference::new(4, 0, 0.05), None);
        assert_eq!(CriticalDifference::new(4, 3, 0.0), None);
    }
}
