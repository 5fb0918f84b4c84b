//! Similarity losses that are concave in `|f|`, by a sequence of weighted L1 problems.
//!
//! At the current `f`, a concave loss lies below its tangent in `|f|`. So minimising
//! `r/2 |f|^2 + sum_p slope(f_i) |f| + sum_q dissimilarity(f)` never raises the true objective. Each
//! problem is convex and starts from the last solution. The gap of the certificate is that of the last
//! convex problem: it certifies a stationary point, not a global minimum.

use faer::Mat;

use super::duals::Duals;
use super::nonparallel::{Family, coefficients};
use crate::algebra::inner;
use crate::solve::box_qp::Solution;
use crate::{Certificate, Termination};

/// A class counts as converged when its objective falls by less than this share.
const SMALLEST_FALL: f64 = 1e-6;

/// Expansion coefficients of all hyperplanes. All classes are reweighted together; a class whose
/// objective no longer falls keeps its solution.
pub(crate) fn solve(duals: &Duals<'_>, family: &Family<'_>) -> (Mat<f64>, Vec<Certificate>) {
    let convex = |at: Option<&[ReweightedFit]>| {
        let start = |l: usize| at.map(|at| at[l].solution.x.as_slice());
        duals.solve_all(
            start,
            |_| 0.0,
            |l, i, is_similar| {
                let f = at.map_or(0.0, |at| at[l].solution.y[i]);
                if is_similar { family.similarity.term(f) } else { family.dissimilarity.term() }
            },
        )
    };
    let objective = |l: usize, solution: &Solution| objective(duals, family, l, solution);
    let mut fits: Vec<ReweightedFit> = (convex(None).into_iter().enumerate())
        .map(|(l, solution)| ReweightedFit::new(objective(l, &solution), solution))
        .collect();
    for _ in 1..family.max_iter {
        if fits.iter().all(|fit| fit.has_converged) {
            break;
        }
        let next = convex(Some(&fits));
        for (l, (fit, next)) in fits.iter_mut().zip(next).enumerate() {
            if !fit.has_converged {
                fit.advance(objective(l, &next), next);
            }
        }
    }
    let certificate = |fit: &ReweightedFit| fit.certificate(family.common.r);
    let certificates = fits.iter().map(certificate).collect();
    let solutions: Vec<Solution> = fits.into_iter().map(|fit| fit.solution).collect();
    (coefficients(&solutions), certificates)
}

/// The true objective of class `l`.
fn objective(duals: &Duals<'_>, family: &Family<'_>, l: usize, solution: &Solution) -> f64 {
    let loss = |(i, &f): (usize, &f64)| {
        if duals.is_similar(i, l) {
            family.similarity.loss(f)
        } else {
            family.dissimilarity.loss(f)
        }
    };
    let norm = inner(&solution.x, &solution.y);
    0.5 * family.common.r * norm + solution.y.iter().enumerate().map(loss).sum::<f64>()
}

/// The sequence of convex problems of one class.
struct ReweightedFit {
    solution: Solution,
    /// The true objective at `solution`.
    value: f64,
    iterations: usize,
    /// The true objective has stopped falling.
    has_converged: bool,
}

impl ReweightedFit {
    fn new(value: f64, solution: Solution) -> Self {
        Self { iterations: solution.certificate.iterations, solution, value, has_converged: false }
    }

    fn advance(&mut self, value: f64, solution: Solution) {
        self.iterations += solution.certificate.iterations;
        self.has_converged = value >= self.value - SMALLEST_FALL * self.value.abs();
        if value < self.value {
            (self.value, self.solution) = (value, solution);
        }
    }

    /// With the gap of the last convex problem, whose objective is `1 / r` of the true one.
    fn certificate(&self, r: f64) -> Certificate {
        let convex = self.solution.certificate.scaled(r);
        let termination = match convex.termination {
            Termination::Solved | Termination::AlmostSolved if !self.has_converged => {
                Termination::IterationLimit
            }
            termination => termination,
        };
        let numbers = [self.value, self.value - convex.gap, convex.gap];
        Certificate::new(numbers, self.iterations, termination)
    }
}
