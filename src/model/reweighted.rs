//! Similarity losses that are concave in `|f|`, by a sequence of weighted L1 problems.
//!
//! At the current `f`, a concave loss lies below its tangent in `|f|`, so minimising
//! `r/2 |f|^2 + sum_p weight(f_i) |f| + c sum_q [1 - f]_+` never raises the true objective. Each
//! problem is convex and starts from the last one's solution. The certificate's gap is that of the
//! last convex problem: it vouches for a stationary point, not for a global minimum.

use faer::{Mat, MatRef};

use super::nonparallel::{Hyperplanes, solve_full};
use super::{FitError, Problem, Shape};
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

/// Solves for all classes with hinge weight `c`.
pub(super) fn solve(
    problem: &Problem,
    k: MatRef<'_, f64>,
    hyperplanes: Hyperplanes,
    c: f64,
    reweighting: &Reweighting<'_>,
) -> Result<Reweighted, FitError> {
    problem.require_every_class()?;
    let Shape { n, classes, .. } = problem.shape();
    let mut coefficients = Mat::zeros(n, classes);
    let mut certificates = Vec::with_capacity(classes);
    for l in 0..classes {
        let sides = hyperplanes.scheme.sides(problem.y(), l);
        let objective = |solution: &Solution| {
            let norm: f64 = solution.x.iter().zip(&solution.y).map(|(x, y)| x * y).sum();
            let near: f64 = sides
                .near
                .iter()
                .map(|&i| (reweighting.loss)(solution.y[i]))
                .sum();
            let far: f64 = sides
                .far
                .iter()
                .map(|&j| (1.0 - solution.y[j]).max(0.0))
                .sum();
            0.5 * hyperplanes.r * norm + near + c * far
        };
        let step = |start: Option<&Solution>| {
            let f = |i: usize| start.map_or(0.0, |solution| solution.y[i]);
            let start = start.map(|solution| solution.x.as_slice());
            solve_full(
                k,
                problem.par(),
                &sides,
                hyperplanes,
                start,
                |i, is_similar| {
                    if is_similar {
                        Term::insensitive((reweighting.weight)(f(i)), 0.0)
                    } else {
                        Term::hinge(c)
                    }
                },
            )
        };
        let (solution, certificate) = descend(step, objective, reweighting.max_iter);
        for (i, value) in solution.x.into_iter().enumerate() {
            coefficients[(i, l)] = value;
        }
        certificates.push(certificate);
    }
    Ok(Reweighted {
        coefficients,
        certificate: Certificate::total(certificates),
    })
}

/// Repeats `step` until the true objective stops falling.
fn descend(
    step: impl Fn(Option<&Solution>) -> Solution,
    objective: impl Fn(&Solution) -> f64,
    max_iter: usize,
) -> (Solution, Certificate) {
    const SMALLEST_FALL: f64 = 1e-6;
    let mut solution = step(None);
    let mut value = objective(&solution);
    let mut iterations = solution.certificate.iterations;
    let mut settled = false;
    for _ in 1..max_iter {
        let next = step(Some(&solution));
        let next_value = objective(&next);
        iterations += next.certificate.iterations;
        settled = next_value >= value - SMALLEST_FALL * value.abs();
        if next_value < value {
            (solution, value) = (next, next_value);
        }
        if settled {
            break;
        }
    }
    let inner = solution.certificate;
    let certificate = Certificate {
        primal: value,
        dual: value - inner.gap,
        gap: inner.gap,
        iterations,
        converged: settled && inner.converged,
    };
    (solution, certificate)
}
