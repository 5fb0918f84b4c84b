//! Greedy coordinate descent: each step minimises over the coordinate that gains most.
//!
//! ```text
//! x_i <- argmin_t  1/2 q_ii t^2 + (y_i - q_ii x_i) t + h_i(t),    y = Q x
//! ```
//!
//! A step costs one column of Q and one pass over all slopes. That is quick while few coordinates are
//! free. If many are free, or if they are strongly coupled, [`super::active_set`] is quicker.

use super::iterate::Iterate;
use super::{Term, shrinking};
use crate::algebra::{Matrix, larger, smaller};
use crate::certificate::Certificate;

/// The terms, one vector per field, for a loop that can be vectorised.
pub(super) struct CoordinateDescent {
    has_l1: bool,
    /// `Q_ii + d_i`, kept away from zero, and its inverse.
    curvature: Vec<f64>,
    inverse: Vec<f64>,
    linear: Vec<f64>,
    l1: Vec<f64>,
    square: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
}

impl CoordinateDescent {
    pub fn new(q: Matrix<'_>, terms: &[Term]) -> Self {
        let sums: Vec<f64> =
            terms.iter().enumerate().map(|(i, term)| q.diagonal(i) + term.square).collect();
        let floor = sums.iter().fold(f64::MIN_POSITIVE, |most, sum| most.max(1e-14 * sum));
        let curvature: Vec<f64> = sums.into_iter().map(|sum| sum.max(floor)).collect();
        let field = |field: fn(&Term) -> f64| terms.iter().map(field).collect();
        Self {
            has_l1: terms.iter().any(|term| term.l1 > 0.0),
            inverse: curvature.iter().map(|c| 1.0 / c).collect(),
            curvature,
            linear: field(|term| term.linear),
            l1: field(|term| term.l1),
            square: field(|term| term.square),
            low: field(|term| term.low),
            high: field(|term| term.high),
        }
    }

    /// Up to `limit` coordinate steps, in the order that suits the form of the matrix. The flag is
    /// true if no step gains anything beyond rounding.
    pub fn run(&self, iterate: &mut Iterate<'_>, limit: usize) -> (Certificate, bool) {
        match iterate.q {
            Matrix::Full(_) => self.run_greedy(iterate, limit),
            Matrix::Factor(rows) => shrinking::run(rows, self, iterate, limit),
        }
    }

    fn run_greedy(&self, iterate: &mut Iterate<'_>, limit: usize) -> (Certificate, bool) {
        let check_every = (iterate.x.len() / 8).clamp(16, 256);
        let mut certificate = iterate.certificate();
        for done in 1..=limit {
            if certificate.converged() {
                return (certificate, false);
            }
            let best = if self.has_l1 {
                self.best_step::<true>(&iterate.x, &iterate.y)
            } else {
                self.best_step::<false>(&iterate.x, &iterate.y)
            };
            let Some((i, target)) = best else {
                return (iterate.certificate(), true);
            };
            iterate.set(std::iter::once((i, target)));
            iterate.steps += 1;
            if done % check_every == 0 {
                certificate = iterate.certificate();
            }
        }
        (iterate.certificate(), false)
    }

    /// The minimiser over coordinate `i`.
    pub fn target(&self, i: usize, x: f64, y: f64) -> f64 {
        let free = x - (y + self.linear[i] + self.square[i] * x) * self.inverse[i];
        let threshold = self.l1[i] * self.inverse[i];
        let shrunk = free - free.clamp(-threshold, threshold);
        shrunk.clamp(self.low[i], self.high[i])
    }

    /// The coordinate that gains most, and its new value. `L1` compiles the soft thresholding of the
    /// L1 terms in or out. Gains are computed from the change, not as a difference of objectives:
    /// near the optimum they are far below the rounding of the objective.
    fn best_step<const L1: bool>(&self, x: &[f64], y: &[f64]) -> Option<(usize, f64)> {
        let n = x.len();
        let (x, y) = (&x[..n], &y[..n]);
        let (curvature, inverse) = (&self.curvature[..n], &self.inverse[..n]);
        let (linear, square) = (&self.linear[..n], &self.square[..n]);
        let (low, high, l1) = (&self.low[..n], &self.high[..n], &self.l1[..n]);
        let mut best = None;
        let mut most = 0.0;
        for i in 0..n {
            let gradient = y[i] + linear[i] + square[i] * x[i];
            let mut free = x[i] - gradient * inverse[i];
            if L1 {
                let threshold = l1[i] * inverse[i];
                free -= smaller(larger(free, -threshold), threshold);
            }
            let target = smaller(larger(free, low[i]), high[i]);
            let change = target - x[i];
            let mut gain = -change * (gradient + 0.5 * curvature[i] * change);
            if L1 {
                gain -= l1[i] * (target.abs() - x[i].abs());
            }
            if gain > most {
                most = gain;
                best = Some((i, target));
            }
        }
        best.filter(|(i, target)| *target != x[*i] && target.is_finite())
    }
}
