//! Box QPs: the duals of the convex methods in Table 1 of the paper.
//!
//! ```text
//! min_x  1/2 x^T Q x + sum_i h_i(x_i),   h_i(x) = b_i x + w_i |x| + d_i/2 x^2  on  [lo_i, hi_i]
//! ```
//!
//! The conjugates of all losses have this form: hinge `-x` on `[0, c]`, pinball `-x` on
//! `[-tau c, c]`, epsilon-insensitive `eps |x|` on `[-c, c]`, square `x^2/2`, square dissimilarity
//! `x^2/(2c) - x`. With `y = Q x` known, the duality gap is a sum of Fenchel-Young terms,
//!
//! ```text
//! gap = sum_i  h_i(x_i) + h_i^*(-y_i) + x_i y_i  >=  0,
//! ```
//!
//! so it costs O(n) and certifies each solution. Three solvers work in turn. Coordinate descent comes
//! first: greedy on a full matrix (`coordinate`), in random order with shrinking on a factor
//! (`shrinking`). Active sets under a vanishing proximal term finish nearly all problems (`active_set`).
//! An interior-point method (`interior`) and more coordinate descent continue with the others.

mod active_set;
mod coordinate;
mod interior;
mod iterate;
mod shrinking;
mod solver;

mod term;
#[cfg(test)]
mod tests;

use faer::{MatRef, Par};

use crate::algebra::{Matrix, each};
use crate::certificate::Certificate;
use active_set::SharedInverse;
use iterate::Iterate;
pub use iterate::certify;
use solver::Solver;
pub use term::Term;

/// When to stop, and on how many threads to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Duality gap that is accepted, relative to the objective.
    pub tolerance: f64,
    /// Duality gap that is always accepted, for problems whose optimum may be near zero.
    pub absolute: f64,
    /// Threads.
    pub par: Par,
}

impl Default for Settings {
    fn default() -> Self {
        Self { tolerance: 1e-6, absolute: 0.0, par: Par::Seq }
    }
}

/// A solution and its certificate.
///
/// ```
/// use npsvc::algebra::Matrix;
/// use npsvc::faer::mat;
/// use npsvc::solve::box_qp::{self, Settings, Solution, Term};
///
/// // min x^2 - x on [0, 2]
/// let q = mat![[2.0]];
/// let terms = [Term::hinge(2.0)];
/// let solution = box_qp::solve(Matrix::Full(q.as_ref()), &terms, None, Settings::default());
/// let Solution { x, y, certificate } = solution;
/// assert_eq!((x[0], y[0], certificate.dual), (0.5, 1.0, 0.25));
/// ```
#[derive(Clone, Debug)]
pub struct Solution {
    /// The minimiser.
    pub x: Vec<f64>,
    /// `Q x`.
    pub y: Vec<f64>,
    /// `primal` is the objective of the learning problem, `dual` is minus the value of the QP.
    /// `iterations` counts coordinate steps and linear systems.
    pub certificate: Certificate,
}

/// One of several problems on the same matrix.
#[derive(Clone, Copy, Debug)]
pub struct BoxQp<'a> {
    /// The separable part, one term per coordinate.
    pub terms: &'a [Term],
    /// The solution of a similar problem, if one is known.
    pub start: Option<&'a [f64]>,
    /// Duality gap that is always accepted.
    pub absolute: f64,
}

/// Minimises from `start`, clipped to the box, or from zero.
///
/// ```
/// use npsvc::algebra::Matrix;
/// use npsvc::faer::mat;
/// use npsvc::solve::box_qp::{self, Settings, Term};
///
/// // min 1/2 x^T Q x - x_1 - x_2  on  [0, 1]^2
/// let q = mat![[2.0, 0.0], [0.0, 0.5]];
/// let q = Matrix::Full(q.as_ref());
/// let solution = box_qp::solve(q, &[Term::hinge(1.0); 2], None, Settings::default());
/// assert!((solution.x[0] - 0.5).abs() < 1e-6 && (solution.x[1] - 1.0).abs() < 1e-6);
/// assert!(solution.certificate.converged());
/// ```
pub fn solve(q: Matrix<'_>, terms: &[Term], start: Option<&[f64]>, settings: Settings) -> Solution {
    let mut solver = Solver::new(Iterate::new(q, terms, start, settings), start.is_some());
    while let Some(weight) = solver.next_weight() {
        solver.solve_at_weight(weight, None);
    }
    solver.finish()
}

/// Minimises several problems on the same matrix. What they share is computed once. With several
/// threads they are solved in parallel, on one thread each.
///
/// ```
/// use npsvc::algebra::Matrix;
/// use npsvc::faer::mat;
/// use npsvc::solve::box_qp::{self, BoxQp, Settings, Term};
///
/// let q = mat![[2.0, 0.0], [0.0, 0.5]];
/// let terms = [[Term::hinge(0.1); 2], [Term::square_to_one(1.0); 2]];
/// let problems = terms.each_ref().map(|terms| BoxQp { terms, start: None, absolute: 0.0 });
/// let solutions = box_qp::solve_all(Matrix::Full(q.as_ref()), &problems, Settings::default());
/// assert_eq!(solutions[0].x, [0.1, 0.1]);
/// assert!((solutions[1].x[0] - 1.0 / 3.0).abs() < 1e-3);
/// ```
pub fn solve_all(q: Matrix<'_>, problems: &[BoxQp<'_>], settings: Settings) -> Vec<Solution> {
    let par = settings.par;
    let mut solvers = each(par, problems, |problem| {
        let settings = Settings { absolute: problem.absolute, par: Par::Seq, ..settings };
        let iterate = Iterate::new(q, problem.terms, problem.start, settings);
        Solver::new(iterate, problem.start.is_some())
    });
    while let Some(weight) = solvers.iter().filter_map(Solver::next_weight).max_by(f64::total_cmp) {
        let shared = match q {
            Matrix::Full(q) => shared_inverse(q, &solvers, weight, par),
            Matrix::Factor(_) => None,
        };
        each(par, &mut solvers, |solver| {
            if solver.next_weight() == Some(weight) {
                solver.solve_at_weight(weight, shared.as_ref());
            }
        });
    }
    each(par, solvers, Solver::finish)
}

/// The shared inverse, if it pays: one linear system per problem must save more than it costs.
fn shared_inverse(
    q: MatRef<'_, f64>,
    solvers: &[Solver<'_>],
    weight: f64,
    par: Par,
) -> Option<SharedInverse> {
    let terms = solvers.iter().flat_map(Solver::terms);
    let least_square = terms.fold(f64::INFINITY, |least, term| least.min(term.square));
    let cube = |size: usize| (size as f64).powi(3);
    let saved: f64 = solvers
        .iter()
        .filter(|solver| solver.next_weight() == Some(weight))
        .map(|solver| {
            let (free, support) = solver.active_set.system_sizes(solver.terms(), least_square);
            cube(free) - cube(support)
        })
        .sum();
    if saved < cube(q.nrows()) {
        return None;
    }
    SharedInverse::new(q, weight + least_square, par)
}
