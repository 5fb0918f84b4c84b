//! Box QPs: the dual of every convex method of the paper's Table 1.
//!
//! ```text
//! min_x  1/2 x^T Q x + sum_i h_i(x_i),   h_i(x) = b_i x + w_i |x| + d_i/2 x^2  on  [lo_i, hi_i]
//! ```
//!
//! The conjugates of the losses are all of this form: hinge `-x` on `[0, c]`, pinball `-x` on
//! `[-tau c, c]`, epsilon-insensitive `eps |x|` on `[-c, c]`, square `x^2/2`, square dissimilarity
//! `x^2/(2c) - x`. With `y = Q x` kept up to date, the duality gap is a sum of Fenchel-Young terms,
//!
//! ```text
//! gap = sum_i  h_i(x_i) + h_i^*(-y_i) + x_i y_i  >=  0,
//! ```
//!
//! so it costs O(n) and certifies every answer. Three kinds of solvers share the work: coordinate
//! descent for the first approach (`coordinate` greedily on a matrix that is there, `sweep` in random
//! order with shrinking on a factor of low rank), `active_set` for the finish, and `interior` for
//! what neither solves. What they ask of the matrix is the trait [`Quadratic`].

mod active_set;
mod coordinate;
mod interior;
mod iterate;
mod quadratic;
mod sweep;

use faer::{MatRef, Par};
use rayon::prelude::*;

use super::Certificate;
use crate::kernel::Gram;
use active_set::{Shared, Stages};
use coordinate::Descent;
use iterate::Iterate;
pub use iterate::certify;
pub use quadratic::{Dense, Factored, Quadratic};

/// The separable part `h_i`, one per coordinate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    /// `b_i`.
    pub linear: f64,
    /// `w_i`.
    pub l1: f64,
    /// `d_i`.
    pub square: f64,
    pub low: f64,
    pub high: f64,
}

impl Term {
    /// Conjugate of `c [1 - f]_+`.
    pub fn hinge(c: f64) -> Self {
        Self::pinball(c, 0.0)
    }

    /// Conjugate of `c max(1 - f, -tau (1 - f))`.
    pub fn pinball(c: f64, tau: f64) -> Self {
        Self {
            linear: -1.0,
            l1: 0.0,
            square: 0.0,
            low: -tau * c,
            high: c,
        }
    }

    /// Conjugate of `c [|f| - epsilon]_+`.
    pub fn insensitive(c: f64, epsilon: f64) -> Self {
        Self {
            linear: 0.0,
            l1: epsilon,
            square: 0.0,
            low: -c,
            high: c,
        }
    }

    /// Conjugate of `c/2 (1 - f)^2`.
    pub fn square_to_one(c: f64) -> Self {
        let unbounded = f64::INFINITY;
        Self {
            linear: -1.0,
            l1: 0.0,
            square: 1.0 / c,
            low: -unbounded,
            high: unbounded,
        }
    }

    /// Conjugate of `1/2 f^2`.
    pub fn square() -> Self {
        Self {
            linear: 0.0,
            square: 1.0,
            ..Self::square_to_one(1.0)
        }
    }

    /// `h(r x) / r`: with it, `a^T K a / (2r) + sum h(a)` becomes `r (b^T K b / 2 + sum ..)` in
    /// the expansion coefficients `b = a / r`, so `y = K b` holds the function values themselves.
    pub fn in_coefficients(self, r: f64) -> Self {
        Self {
            square: self.square * r,
            low: self.low / r,
            high: self.high / r,
            ..self
        }
    }

    /// Whether the L1 term bends inside the box.
    fn has_kink(&self) -> bool {
        self.l1 > 0.0 && self.low < 0.0 && self.high > 0.0
    }

    fn value(&self, x: f64) -> f64 {
        self.linear * x + self.l1 * x.abs() + 0.5 * self.square * x * x
    }

    /// `argmax_t  s t - h(t)`.
    fn maximiser(&self, s: f64) -> f64 {
        let pull = s - self.linear;
        let shrunk = pull - pull.clamp(-self.l1, self.l1);
        let t = match shrunk {
            shrunk if self.square > 0.0 => shrunk / self.square,
            shrunk if shrunk > 0.0 => self.high,
            shrunk if shrunk < 0.0 => self.low,
            _ => 0.0,
        };
        t.clamp(self.low, self.high)
    }

    /// `h^*(s) = max_t  s t - h(t)`.
    fn conjugate(&self, s: f64) -> f64 {
        let t = self.maximiser(s);
        s * t - self.value(t)
    }
}

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Relative duality gap.
    pub tolerance: f64,
    /// Duality gap that is accepted in any case, for problems whose optimum may be near zero.
    pub absolute: f64,
    /// Largest number of sweeps of coordinate descent, where the other solvers fail.
    pub max_sweeps: usize,
    /// For the factorisations.
    pub par: Par,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tolerance: 1e-6,
            absolute: 0.0,
            max_sweeps: 200,
            par: Par::Seq,
        }
    }
}

/// An answer and what vouches for it.
#[derive(Clone, Debug)]
pub struct Solution {
    pub x: Vec<f64>,
    /// `Q x`.
    pub y: Vec<f64>,
    /// `primal` is the objective of the learning problem, `dual` minus the QP's value.
    pub certificate: Certificate,
    pub ending: Ending,
}

/// Why a solver ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The duality gap is within the tolerance.
    Solved,
    /// No step makes a difference any more: the gap that is left is one of rounding.
    Stalled,
    /// The limit of sweeps was reached.
    Limit,
    /// The matrix or the terms hold, or lead to, something that is not a number.
    NotFinite,
}

/// Minimises from `start` (or from zero), clipped to the box.
pub fn solve(
    q: &impl Quadratic,
    terms: &[Term],
    start: Option<&[f64]>,
    settings: Settings,
) -> Solution {
    let mut work = Work::new(q, terms, start, settings);
    while let Some(weight) = work.next_weight() {
        work.settle(q, weight, None);
    }
    work.finish(q)
}

/// One of several problems on one matrix.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    pub terms: &'a [Term],
    /// Where to begin, if a similar problem has been solved.
    pub start: Option<&'a [f64]>,
    /// Duality gap that is accepted in any case.
    pub absolute: f64,
}

/// Minimises several problems on one matrix. What they share is computed once; with several threads
/// they are worked on side by side, each by one thread.
pub fn solve_all(q: Gram<'_>, programs: &[Program<'_>], settings: Settings) -> Vec<Solution> {
    match q {
        Gram::Full(matrix) => {
            let terms = programs.iter().flat_map(|program| program.terms);
            let least_square = terms.fold(f64::INFINITY, |least, term| least.min(term.square));
            solve_several(&Dense { matrix }, programs, settings, |works, weight| {
                shared_inverse(matrix, works, weight, least_square, settings.par)
            })
        }
        Gram::LowRank(low) => {
            let q = Factored { rows: low.rows() };
            solve_several(&q, programs, settings, |_, _| None)
        }
    }
}

fn solve_several<'a>(
    q: &(impl Quadratic + Sync),
    programs: &[Program<'a>],
    settings: Settings,
    share: impl Fn(&[Work<'a>], f64) -> Option<Shared>,
) -> Vec<Solution> {
    let is_parallel = settings.par.degree() > 1;
    let begin = |program: &Program<'a>| {
        let settings = Settings {
            absolute: program.absolute,
            par: Par::Seq,
            ..settings
        };
        Work::new(q, program.terms, program.start, settings)
    };
    let mut works: Vec<Work<'a>> = if is_parallel {
        programs.par_iter().map(begin).collect()
    } else {
        programs.iter().map(begin).collect()
    };
    while let Some(weight) = works
        .iter()
        .filter_map(Work::next_weight)
        .max_by(f64::total_cmp)
    {
        let shared = share(&works, weight);
        let settle = |work: &mut Work<'_>| {
            if work.next_weight() == Some(weight) {
                work.settle(q, weight, shared.as_ref());
            }
        };
        if is_parallel {
            works.par_iter_mut().for_each(settle);
        } else {
            works.iter_mut().for_each(settle);
        }
    }
    let finish = |work: Work<'_>| work.finish(q);
    if is_parallel {
        works.into_par_iter().map(finish).collect()
    } else {
        works.into_iter().map(finish).collect()
    }
}

/// The shared inverse, if it pays: one system of each problem must save more than it costs.
fn shared_inverse(
    q: MatRef<'_, f64>,
    works: &[Work<'_>],
    weight: f64,
    least_square: f64,
    par: Par,
) -> Option<Shared> {
    let cube = |size: usize| (size as f64).powi(3);
    let saved: f64 = works
        .iter()
        .filter(|work| work.next_weight() == Some(weight))
        .map(|work| {
            let (free, support) = work.stages.system_sizes(work.iterate.terms, least_square);
            cube(free) - cube(support)
        })
        .sum();
    if saved < cube(q.nrows()) {
        return None;
    }
    Shared::new(q, weight + least_square, par)
}

/// One problem on its way.
struct Work<'a> {
    iterate: Iterate<'a>,
    descent: Descent,
    stages: Stages,
    settings: Settings,
    certificate: Certificate,
}

impl<'a> Work<'a> {
    /// A first approach by coordinate steps, unless the start is the solution of a similar problem.
    fn new(
        q: &impl Quadratic,
        terms: &'a [Term],
        start: Option<&[f64]>,
        settings: Settings,
    ) -> Self {
        let mut iterate = Iterate::new(q, terms, start);
        let descent = Descent::new(q, terms);
        let is_warm = start.is_some();
        let most = if is_warm { 0 } else { q.approach() };
        let (certificate, _) = q.descend(&descent, &mut iterate, most, settings);
        let stages = Stages::new(q, &iterate, is_warm);
        Self {
            iterate,
            descent,
            stages,
            settings,
            certificate,
        }
    }

    /// The proximal weight of the next stage, while one is needed and to be had.
    fn next_weight(&self) -> Option<f64> {
        if self.certificate.converged {
            None
        } else {
            self.stages.next_weight()
        }
    }

    fn settle(&mut self, q: &impl Quadratic, weight: f64, shared: Option<&Shared>) {
        let stages = &mut self.stages;
        self.certificate = stages.settle(q, &mut self.iterate, weight, shared, self.settings);
    }

    /// Vouches for the answer with `y` computed anew; where the active sets did not settle, an
    /// interior-point method and then coordinate descent go on.
    fn finish(mut self, q: &impl Quadratic) -> Solution {
        self.vouch(q);
        if !self.certificate.converged {
            self.certificate = self.interior_point(q);
        }
        let mut ending = Ending::Limit;
        if !self.certificate.converged {
            if self.sweep(q) {
                ending = Ending::Stalled;
            }
            self.vouch(q);
        }
        if self.certificate.converged {
            ending = Ending::Solved;
        } else if !self.certificate.gap.is_finite() {
            ending = Ending::NotFinite;
        }
        Solution {
            x: self.iterate.x,
            y: self.iterate.y,
            certificate: self.certificate,
            ending,
        }
    }

    fn vouch(&mut self, q: &impl Quadratic) {
        let x = self.iterate.x.clone();
        self.iterate.replace(q, &x);
        self.certificate = self.iterate.certificate(self.settings);
    }

    /// Coordinate descent up to the limit; whether it stalled.
    fn sweep(&mut self, q: &impl Quadratic) -> bool {
        let sweep = self.iterate.x.len().max(64);
        for _ in 0..self.settings.max_sweeps {
            let (certificate, is_stalled) =
                q.descend(&self.descent, &mut self.iterate, sweep, self.settings);
            if certificate.converged || is_stalled {
                return is_stalled;
            }
        }
        false
    }

    /// Solves anew by [`interior`], from the middle of the box; takes the answer if it is better.
    fn interior_point(&mut self, q: &impl Quadratic) -> Certificate {
        let settings = self.settings;
        let (before, iterate) = (self.certificate, &mut self.iterate);
        let is_live = |i: &usize| iterate.terms[*i].low < iterate.terms[*i].high;
        let live: Vec<usize> = (0..iterate.x.len()).filter(is_live).collect();
        let terms: Vec<Term> = live.iter().map(|&i| iterate.terms[i]).collect();
        let Some(mut h) = q.dense(&live) else {
            return before;
        };
        for (a, term) in terms.iter().enumerate() {
            h[(a, a)] += term.square;
        }
        let target = 0.2 * (settings.tolerance * before.dual.abs()).max(settings.absolute);
        let Some((found, iterations)) = interior::solve(&h, &terms, target, settings.par) else {
            return before;
        };
        drop(h);
        let kept = (iterate.x.clone(), iterate.y.clone());
        let mut x = iterate.x.clone();
        for (&i, value) in live.iter().zip(found) {
            x[i] = value;
        }
        iterate.replace(q, &x);
        iterate.steps += iterations;
        let after = iterate.certificate(settings);
        if after.dual >= before.dual {
            return after;
        }
        (iterate.x, iterate.y) = kept;
        before
    }
}

#[cfg(test)]
mod tests {
    use faer::Mat;

    use super::*;
    use crate::kernel::algebra::product;

    /// A smooth kernel matrix: badly conditioned, as real ones are.
    fn kernel(n: usize) -> Mat<f64> {
        Mat::from_fn(n, n, |i, j| {
            let distance = (i as f64 - j as f64) / n as f64;
            (-4.0 * distance * distance).exp() + if i == j { 1e-6 } else { 0.0 }
        })
    }

    /// Square loss on every fourth sample, `far` on the others.
    fn terms(n: usize, far: Term) -> Vec<Term> {
        let term = |i: usize| {
            if i.is_multiple_of(4) {
                Term::square()
            } else {
                far
            }
        };
        (0..n).map(|i| term(i).in_coefficients(0.1)).collect()
    }

    fn strict() -> Settings {
        Settings {
            tolerance: 1e-8,
            ..Settings::default()
        }
    }

    #[test]
    fn every_loss_of_the_paper_is_solved_to_its_gap() {
        let k = kernel(120);
        let losses = [
            Term::hinge(1.0),
            Term::pinball(1.0, 0.5),
            Term::insensitive(1.0, 0.1),
            Term::square_to_one(2.0),
            Term::hinge(1e-6),
            Term::hinge(1e4),
        ];
        for loss in losses {
            let terms = terms(120, loss);
            let q = Dense { matrix: k.as_ref() };
            let solution = solve(&q, &terms, None, strict());
            assert!(solution.certificate.converged, "{loss:?}: {solution:?}");
            for (x, term) in solution.x.iter().zip(&terms) {
                assert!((term.low..=term.high).contains(x), "{x} outside {term:?}");
            }
        }
    }

    #[test]
    fn the_shared_inverse_leads_to_the_same_solution() {
        let k = kernel(120);
        let terms = terms(120, Term::pinball(1.0, 0.5));
        let q = Dense { matrix: k.as_ref() };
        let alone = solve(&q, &terms, None, strict());
        let mut work = Work::new(&q, &terms, None, strict());
        while let Some(weight) = work.next_weight() {
            let shared = Shared::new(k.as_ref(), weight, Par::Seq).unwrap();
            work.settle(&q, weight, Some(&shared));
        }
        assert!(!work.stages.has_given_up);
        let shared = work.finish(&q);
        assert!(shared.certificate.converged);
        for (one, other) in alone.y.iter().zip(&shared.y) {
            assert!((one - other).abs() < 1e-4, "{one} {other}");
        }
    }

    #[test]
    fn problems_solved_together_are_those_solved_alone() {
        let k = kernel(80);
        let several = [
            terms(80, Term::hinge(1.0)),
            terms(80, Term::pinball(1.0, 0.5)),
        ];
        let programs = several.each_ref().map(|terms| Program {
            terms,
            start: None,
            absolute: 0.0,
        });
        for par in [Par::Seq, Par::rayon(2)] {
            let together = solve_all(
                Gram::Full(k.as_ref()),
                &programs,
                Settings { par, ..strict() },
            );
            for (terms, together) in several.iter().zip(together) {
                let q = Dense { matrix: k.as_ref() };
                let alone = solve(&q, terms, None, strict());
                assert!(together.certificate.converged);
                for (one, other) in alone.y.iter().zip(&together.y) {
                    assert!((one - other).abs() < 1e-4, "{one} {other}");
                }
            }
        }
    }

    #[test]
    fn the_solution_of_a_similar_problem_saves_coordinate_steps() {
        let k = kernel(120);
        let q = Dense { matrix: k.as_ref() };
        let first = solve(&q, &terms(120, Term::hinge(1.0)), None, strict());
        let similar = terms(120, Term::hinge(1.1));
        let warm = solve(&q, &similar, Some(&first.x), strict());
        let cold = solve(&q, &similar, None, strict());
        assert!(warm.certificate.converged);
        assert!(warm.certificate.iterations < cold.certificate.iterations);
        let difference = (warm.certificate.dual - cold.certificate.dual).abs();
        assert!(difference <= 2e-8 * cold.certificate.dual.abs());
    }

    /// A factor of a matrix of rank 12.
    fn rows(n: usize) -> Mat<f64> {
        Mat::from_fn(12, n, |a, i| ((3 * a + 7 * i + a * i) as f64).sin())
    }

    #[test]
    fn a_factor_leads_to_the_solution_on_its_product() {
        let rows = rows(150);
        let product = product(rows.transpose(), rows.as_ref(), Par::Seq);
        for far in [
            Term::hinge(1.0),
            Term::pinball(1.0, 0.5),
            Term::insensitive(1.0, 0.1),
            Term::hinge(1e-4),
            Term::hinge(1e4),
        ] {
            let terms = terms(150, far);
            let whole = Dense {
                matrix: product.as_ref(),
            };
            let factored = Factored {
                rows: rows.as_ref(),
            };
            let whole = solve(&whole, &terms, None, strict());
            let factored = solve(&factored, &terms, None, strict());
            assert!(
                factored.certificate.converged,
                "{far:?} {:?}",
                factored.certificate
            );
            let difference = (whole.certificate.dual - factored.certificate.dual).abs();
            assert!(difference <= 1e-7 * whole.certificate.dual.abs(), "{far:?}");
        }
    }

    #[test]
    fn a_matrix_without_rank_ends() {
        let q = Mat::from_fn(6, 6, |_, _| 1.0);
        let terms = vec![Term::hinge(1.0); 6];
        let solution = solve(&Dense { matrix: q.as_ref() }, &terms, None, strict());
        assert!(solution.certificate.converged);
        assert!((solution.x.iter().sum::<f64>() - 1.0).abs() < 1e-6);
    }
}
