//! The state of one box QP between the stages of its solution.

use faer::{Mat, Par};

use super::active_set::{ActiveSet, SharedInverse};
use super::coordinate::CoordinateDescent;
use super::iterate::Iterate;
use super::{Solution, Term, interior};
use crate::algebra::{Matrix, columns, product, shift_diagonal, submatrix};
use crate::certificate::{Certificate, Termination};

/// Rounds of coordinate descent after the active sets fail.
const MAX_ROUNDS: usize = 200;

/// One problem and its iterate.
pub(super) struct Solver<'a> {
    iterate: Iterate<'a>,
    descent: CoordinateDescent,
    pub active_set: ActiveSet,
    certificate: Certificate,
}

impl<'a> Solver<'a> {
    /// Begins with coordinate descent, unless the iterate is the solution of a similar problem.
    pub fn new(mut iterate: Iterate<'a>, is_warm: bool) -> Self {
        let descent = CoordinateDescent::new(iterate.q, iterate.terms);
        let steps = if is_warm { 0 } else { warmup_steps(iterate.q) };
        let (certificate, _) = descent.run(&mut iterate, steps);
        let active_set = ActiveSet::new(&iterate, is_warm);
        Self { iterate, descent, active_set, certificate }
    }

    pub fn terms(&self) -> &'a [Term] {
        self.iterate.terms
    }

    /// The proximal weight of the next stage; `None` if the problem is solved or no stage is left.
    pub fn next_weight(&self) -> Option<f64> {
        if self.certificate.converged() { None } else { self.active_set.next_weight() }
    }

    /// One stage of the active sets.
    pub fn solve_at_weight(&mut self, weight: f64, shared: Option<&SharedInverse>) {
        self.active_set.solve_at_weight(&mut self.iterate, weight, shared);
        self.certificate = self.iterate.certificate();
    }

    /// Certifies the solution with `y` computed anew. If the active sets failed, an interior-point
    /// method and coordinate descent continue.
    pub fn finish(mut self) -> Solution {
        self.update_certificate();
        if !self.certificate.converged() {
            self.interior_point();
        }
        if !self.certificate.converged() {
            let is_stalled = self.coordinate_descent();
            self.update_certificate();
            let Certificate { primal, dual, gap, termination, .. } = self.certificate;
            if is_stalled && termination == Termination::IterationLimit {
                let accepted = self.iterate.settings.largest_gap(primal, dual);
                self.certificate.termination = Termination::without_progress(gap, accepted);
            }
        }
        Solution { x: self.iterate.x, y: self.iterate.y, certificate: self.certificate }
    }

    fn update_certificate(&mut self) {
        let x = self.iterate.x.clone();
        self.iterate.replace(&x);
        self.certificate = self.iterate.certificate();
    }

    /// Coordinate descent up to the limit; whether it stalled.
    fn coordinate_descent(&mut self) -> bool {
        let steps = self.iterate.x.len().max(64);
        for _ in 0..MAX_ROUNDS {
            let (certificate, is_stalled) = self.descent.run(&mut self.iterate, steps);
            if certificate.converged() || is_stalled {
                return is_stalled;
            }
        }
        false
    }

    /// Solves the problem again by [`interior`], from the middle of the box. Keeps the solution if its
    /// dual objective is at least as large. `None` if the method does not apply.
    fn interior_point(&mut self) -> Option<()> {
        let (before, iterate) = (self.certificate, &mut self.iterate);
        let settings = iterate.settings;
        let has_interior = |i: &usize| iterate.terms[*i].low < iterate.terms[*i].high;
        let index: Vec<usize> = (0..iterate.x.len()).filter(has_interior).collect();
        let terms: Vec<Term> = index.iter().map(|&i| iterate.terms[i]).collect();
        let mut h = dense(iterate.q, &index)?;
        shift_diagonal(&mut h, |a| terms[a].square);
        let target = 0.2 * (settings.tolerance * before.dual.abs()).max(settings.absolute);
        let (found, iterations) = interior::solve(&h, &terms, target, settings.par)?;
        let kept = (iterate.x.clone(), iterate.y.clone());
        let mut x = iterate.x.clone();
        for (&i, value) in index.iter().zip(found) {
            x[i] = value;
        }
        iterate.replace(&x);
        iterate.steps += iterations;
        let after = iterate.certificate();
        if after.dual >= before.dual {
            self.certificate = after;
        } else {
            (iterate.x, iterate.y) = kept;
        }
        Some(())
    }
}

/// The rows and columns `index` of `q`. `None` if a factor would make them too large.
fn dense(q: Matrix<'_>, index: &[usize]) -> Option<Mat<f64>> {
    match q {
        Matrix::Full(q) => Some(submatrix(q, index, index)),
        Matrix::Factor(rows) => {
            let is_small = index.len() <= 2 * rows.nrows().max(500);
            is_small.then(|| {
                let h = columns(rows, index);
                product(h.transpose(), h.as_ref(), Par::Seq)
            })
        }
    }
}

/// Coordinate steps before the first linear system of the active sets.
fn warmup_steps(q: Matrix<'_>) -> usize {
    match q {
        // A linear system costs O(n^3), a step O(n): the larger the problem, the better steps pay.
        Matrix::Full(q) => {
            let n = q.nrows();
            (n.saturating_mul(n) / 5000).clamp((n / 2).max(64), 4 * n.max(64))
        }
        // A linear system costs O(n rank^2), a step O(rank).
        Matrix::Factor(rows) => 20 * rows.ncols(),
    }
}
