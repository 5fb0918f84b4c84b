//! Similarity losses that are concave in `|f|`, by a sequence of weighted L1 problems.
//!
//! At the current `f`, a concave loss lies below its tangent in `|f|`, so minimising
//! `r/2 |f|^2 + sum_p weight(f_i) |f| + c sum_q [1 - f]_+` never raises the true objective. Each
//! problem is convex and starts from the last one's solution. The certificate's gap is that of the
//! last convex problem: it vouches for a stationary point, not for a global minimum.

use faer::Mat;

use super::nonparallel::{Hyperplanes, coefficients, solve_full};
use super::{FitError, Problem, Scheme};
use crate::kernel::Gram;
use crate::kernel::algebra::inner;
use crate::solve::Certificate;
use crate::solve::box_qp::{Solution, Term};

/// A similarity loss and its slope in `|f|`.
pub(super) struct Reweighting<'a> {
    pub loss: &'a dyn Fn(f64) -> f64,
    pub weight: &'a dyn Fn(f64) -> f64,
    pub max_iter: usize,
}

/// Expansion coefficients of all hyperplanes, for the kernel given.
pub(super) struct Reweighted {
    pub coefficients: Mat<f64>,
    pub certificate: Certificate,
}

/// Solves for all classes with hinge weight `c`: all of them are reweighted together, and those
/// whose objective no longer falls are left alone.
pub(super) fn solve(
    problem: &Problem,
    k: Gram<'_>,
    hyperplanes: Hyperplanes,
    c: f64,
    reweighting: &Reweighting<'_>,
) -> Result<Reweighted, FitError> {
    problem.require_every_class()?;
    let convex = |at: Option<&[Descent]>| {
        let starts: Option<Vec<&[f64]>> = at.map(|at| {
            at.iter()
                .map(|descent| descent.solution.x.as_slice())
                .collect()
        });
        let term = |l: usize, i: usize, is_similar: bool| {
            let f = at.map_or(0.0, |at| at[l].solution.y[i]);
            if is_similar {
                Term::insensitive((reweighting.weight)(f), 0.0)
            } else {
                Term::hinge(c)
            }
        };
        solve_full(k, problem, hyperplanes, starts.as_deref(), term)
    };
    let objective = |l: usize, solution: &Solution| {
        let loss = |i: usize| {
            let f = solution.y[i];
            if (problem.y()[i] == l) == (hyperplanes.scheme == Scheme::Ovr) {
                (reweighting.loss)(f)
            } else {
                c * (1.0 - f).max(0.0)
            }
        };
        let norm = inner(&solution.x, &solution.y);
        0.5 * hyperplanes.r * norm + (0..solution.y.len()).map(loss).sum::<f64>()
    };
    let mut descents: Vec<Descent> = convex(None)
        .into_iter()
        .enumerate()
        .map(|(l, solution)| Descent::new(objective(l, &solution), solution))
        .collect();
    for _ in 1..reweighting.max_iter {
        if descents.iter().all(|descent| descent.has_settled) {
            break;
        }
        let next = convex(Some(&descents));
        for (l, (descent, next)) in descents.iter_mut().zip(next).enumerate() {
            if !descent.has_settled {
                descent.advance(objective(l, &next), next);
            }
        }
    }
    let certificates = descents.iter().map(Descent::certificate);
    let certificate = Certificate::total(certificates);
    let solutions: Vec<Solution> = descents
        .into_iter()
        .map(|descent| descent.solution)
        .collect();
    Ok(Reweighted {
        coefficients: coefficients(&solutions),
        certificate,
    })
}

/// The sequence of one class.
struct Descent {
    solution: Solution,
    /// The true objective at `solution`.
    value: f64,
    iterations: usize,
    /// The true objective has stopped falling.
    has_settled: bool,
}

impl Descent {
    const SMALLEST_FALL: f64 = 1e-6;

    fn new(value: f64, solution: Solution) -> Self {
        Self {
            iterations: solution.certificate.iterations,
            solution,
            value,
            has_settled: false,
        }
    }

    fn advance(&mut self, value: f64, solution: Solution) {
        self.iterations += solution.certificate.iterations;
        self.has_settled = value >= self.value - Self::SMALLEST_FALL * self.value.abs();
        if value < self.value {
            (self.value, self.solution) = (value, solution);
        }
    }

    fn certificate(&self) -> Certificate {
        let inner = self.solution.certificate;
        Certificate {
            primal: self.value,
            dual: self.value - inner.gap,
            gap: inner.gap,
            iterations: self.iterations,
            converged: self.has_settled && inner.converged,
        }
    }
}
