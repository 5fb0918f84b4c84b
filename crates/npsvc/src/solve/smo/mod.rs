//! Sequential minimal optimisation of the two-class support vector machine with bias.
//!
//! In signed multipliers `beta_i = y_i alpha_i` the dual of
//!
//! ```text
//! min_{w, b}  1/2 |w|^2 + c sum_i [1 - y_i (<w, phi(x_i)> + b)]_+
//! ```
//!
//! is to minimise `1/2 beta' K beta - y' beta` subject to `sum_i beta_i = 0` and `beta_i` between 0
//! and `c y_i`. With the gradient `f = K beta - y`, `beta` is optimal if `max_{low} f <= min_{up} f`,
//! where `up` are the samples whose multiplier may grow and `low` those whose multiplier may shrink.
//!
//! A step moves the pair chosen by second-order information (Fan, Chen and Lin, 2005): the most
//! violating sample of `up`, and the sample of `low` with the largest decrease. Samples at a bound are
//! left out for a while (shrinking). Shrinking and the rounding of the running gradient can mislead
//! the solver. So it computes the gradient of all samples anew before it reports an optimum.
//!
//! ```
//! use npsvc::faer::mat;
//! use npsvc::solve::smo::{StopRule, SvmDual};
//!
//! // The samples 2 and 0 with the linear kernel: f(x) = x - 1.
//! let gram = mat![[4.0, 0.0], [0.0, 0.0]];
//! let dual = SvmDual { gram: gram.as_ref(), samples: &[0, 1], positives: 1, c: 10.0 };
//! let solution = dual.solve(StopRule { tolerance: 1e-9, max_iter: 100 });
//! assert_eq!(solution.beta, [0.5, -0.5]);
//! assert_eq!(solution.offset, -1.0);
//! assert!(solution.certificate.converged() && solution.certificate.gap < 1e-12);
//! // The same numbers from any other solver can be checked.
//! assert_eq!(dual.kkt_report(&[0.5, -0.5], -1.0).violation, 0.0);
//! ```

mod cache;
mod select;
mod solver;
#[cfg(test)]
mod tests;

use faer::MatRef;

use crate::algebra::{column, simd::clear_upper_halves};
use crate::certificate::{Certificate, Termination};
pub use cache::CACHE_BYTES;
use solver::Solver;

/// The dual of a two-class problem on some samples of a shared kernel matrix.
#[derive(Clone, Copy, Debug)]
pub struct SvmDual<'a> {
    /// Symmetric kernel matrix, column-major.
    pub gram: MatRef<'a, f64>,
    /// Rows of `gram` that take part: the positive class, then the negative one.
    pub samples: &'a [usize],
    /// Number of positive samples.
    pub positives: usize,
    /// Penalty for margin violations.
    pub c: f64,
}

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StopRule {
    /// Largest accepted violation `max_{low} f - min_{up} f` of the optimality condition.
    pub tolerance: f64,
    /// Largest number of steps.
    pub max_iter: usize,
}

/// A feasible point and its certificate.
///
/// ```
/// use npsvc::faer::mat;
/// use npsvc::solve::smo::{Solution, StopRule, SvmDual};
///
/// // The samples 1 and -1 with the linear kernel: f(x) = x.
/// let gram = mat![[1.0, -1.0], [-1.0, 1.0]];
/// let dual = SvmDual { gram: gram.as_ref(), samples: &[0, 1], positives: 1, c: 1.0 };
/// let stop = StopRule { tolerance: 1e-9, max_iter: 100 };
/// let Solution { beta, offset, certificate } = dual.solve(stop);
/// assert_eq!((beta, offset, certificate.primal), (vec![0.5, -0.5], 0.0, 0.5));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// `beta`, in the order of [`SvmDual::samples`].
    pub beta: Vec<f64>,
    /// The bias `b`.
    pub offset: f64,
    /// The certificate; `iterations` counts steps. If rounding prevents the solver from reaching the
    /// tolerance, the violation decides between [`Termination::AlmostSolved`] and
    /// [`Termination::Stalled`].
    pub certificate: Certificate,
}

/// The objectives of a point `(beta, b)` and its violation of the optimality (KKT) conditions.
///
/// ```
/// use npsvc::faer::mat;
/// use npsvc::solve::smo::{KktReport, SvmDual};
///
/// let gram = mat![[1.0, -1.0], [-1.0, 1.0]];
/// let dual = SvmDual { gram: gram.as_ref(), samples: &[0, 1], positives: 1, c: 1.0 };
/// // Without any multipliers, both margins are violated by 1.
/// let KktReport { primal, gap, violation, .. } = dual.kkt_report(&[0.0, 0.0], 0.0);
/// assert_eq!((primal, gap, violation), (2.0, 2.0, 2.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KktReport {
    /// Objective of the primal problem.
    pub primal: f64,
    /// Objective of the dual problem.
    pub dual: f64,
    /// `primal - dual`, as a sum of non-negative parts.
    pub gap: f64,
    /// `max_{low} f - min_{up} f`, or 0 if that is negative.
    pub violation: f64,
}

impl KktReport {
    /// The certificate of a solver that stopped because of `termination`. If a number is not finite,
    /// the termination is [`Termination::NumericalError`].
    pub fn certificate(&self, iterations: usize, termination: Termination) -> Certificate {
        Certificate::new([self.primal, self.dual, self.gap], iterations, termination)
    }
}

impl SvmDual<'_> {
    /// Minimises the dual from `beta = 0`.
    pub fn solve(&self, stop: StopRule) -> Solution {
        // This thread may come from the product that made the kernel matrix.
        clear_upper_halves();
        let mut solver = Solver::new(self, stop.tolerance);
        let (termination, iterations) = solver.run(stop.max_iter);
        let (beta, f) = solver.finish();
        let offset = self.offset(&beta, &f);
        let report = self.kkt_report_with(&beta, offset, &f);
        Solution { beta, offset, certificate: report.certificate(iterations, termination) }
    }

    /// The objectives and the violation of a point found by any solver. If `beta` breaks a constraint
    /// by more than rounding, the dual objective bounds nothing, and the gap is infinite.
    pub fn kkt_report(&self, beta: &[f64], offset: f64) -> KktReport {
        let report = self.kkt_report_with(beta, offset, &self.gradient(beta));
        let gap = if self.is_feasible(beta) { report.gap } else { f64::INFINITY };
        KktReport { gap, ..report }
    }

    /// Whether the multipliers are within their bounds and their sum is zero, up to rounding.
    fn is_feasible(&self, beta: &[f64]) -> bool {
        const ROUNDING: f64 = 1e-8;
        let total: f64 = beta.iter().map(|beta| beta.abs()).sum();
        let slack = ROUNDING * self.c;
        let is_inside = |(k, &beta): (usize, &f64)| {
            let (lo, hi) = self.bounds(k);
            (lo - slack..=hi + slack).contains(&beta)
        };
        let sum: f64 = beta.iter().sum();
        sum.abs() <= ROUNDING * total && beta.iter().enumerate().all(is_inside)
    }

    fn sign(&self, sample: usize) -> f64 {
        if sample < self.positives { 1.0 } else { -1.0 }
    }

    /// The interval of `beta` of `sample`.
    fn bounds(&self, sample: usize) -> (f64, f64) {
        if sample < self.positives { (0.0, self.c) } else { (-self.c, 0.0) }
    }

    /// `f = K beta - y`, from scratch.
    fn gradient(&self, beta: &[f64]) -> Vec<f64> {
        let mut f: Vec<f64> = (0..self.samples.len()).map(|k| -self.sign(k)).collect();
        for (&sample, &beta) in self.samples.iter().zip(beta) {
            if beta != 0.0 {
                add_rows(&mut f, beta, column(self.gram, sample), self.samples);
            }
        }
        f
    }

    /// Bounds of a free variable. A variable within rounding of its bound is not free: it would fix a
    /// bias that the optimum leaves open.
    fn inner_bounds(&self, k: usize) -> (f64, f64) {
        let (lo, hi) = self.bounds(k);
        let margin = 1e-12 * (hi - lo);
        (lo + margin, hi - margin)
    }

    /// The bias that puts the free samples on the margin. Without free samples, the middle of the
    /// biases that the optimality condition allows.
    fn offset(&self, beta: &[f64], f: &[f64]) -> f64 {
        let (mut sum, mut free) = (0.0, 0);
        for (k, (&beta, &f)) in beta.iter().zip(f).enumerate() {
            let (lo, hi) = self.inner_bounds(k);
            if lo < beta && beta < hi {
                sum += f;
                free += 1;
            }
        }
        if free > 0 {
            return -sum / f64::from(free);
        }
        match self.extremes(beta, f) {
            (lowest, highest) if lowest.is_finite() && highest.is_finite() => {
                -0.5 * (lowest + highest)
            }
            // With one class only, the bias is its label.
            (lowest, highest) => {
                [-lowest, -highest].into_iter().find(|b| b.is_finite()).unwrap_or(0.0)
            }
        }
    }

    /// `min_{up} f` and `max_{low} f`.
    fn extremes(&self, beta: &[f64], f: &[f64]) -> (f64, f64) {
        let (mut lowest, mut highest) = (f64::INFINITY, f64::NEG_INFINITY);
        for (k, (&beta, &f)) in beta.iter().zip(f).enumerate() {
            let (lo, hi) = self.inner_bounds(k);
            if beta < hi {
                lowest = lowest.min(f);
            }
            if beta > lo {
                highest = highest.max(f);
            }
        }
        (lowest, highest)
    }

    fn kkt_report_with(&self, beta: &[f64], offset: f64, f: &[f64]) -> KktReport {
        let (mut dual, mut gap) = (0.0, 0.0);
        for (k, (&beta, &f)) in beta.iter().zip(f).enumerate() {
            let y = self.sign(k);
            // f + y is (K beta)_k, so this sums y' beta - 1/2 beta' K beta.
            dual += beta * (y - 0.5 * (f + y));
            // y (f + b) is the margin less one. A violated margin adds (c - alpha) times the
            // violation to the gap, another one alpha times the excess. Neither is negative.
            let excess = y * (f + offset);
            let alpha = y * beta;
            gap += if excess < 0.0 { (self.c - alpha) * -excess } else { alpha * excess };
        }
        let (lowest, highest) = self.extremes(beta, f);
        KktReport { primal: dual + gap, dual, gap, violation: (highest - lowest).max(0.0) }
    }
}

/// `f[k] += scale column[rows[k]]` for each `k`.
fn add_rows(f: &mut [f64], scale: f64, column: &[f64], rows: &[usize]) {
    for (f, &row) in f.iter_mut().zip(rows) {
        *f += scale * column[row];
    }
}
