//! The u-step: `u_l = argmin J_l` for all classes, with `g_l = P v_l` given.
//!
//! ```text
//! u_l = g_l + phi(X) x_l,   f_l = g_l + K x_l
//! ```
//!
//! These are TWSVM's duals with `r = r1` and a known function, see [`crate::methods::duals`].

use faer::{Mat, Par};

use crate::algebra::{add_scaled, column, column_mut, each};
use crate::methods::duals::{Duals, KnownPart, ReducedDual};
use crate::solve::box_qp::{self, Settings, Solution, Term};
use crate::{FitError, Termination};

/// What a u-step starts from.
pub(super) struct UStepInput<'a> {
    /// `A V`, the coefficients of `P v_l`, n x K.
    pub coefficients: Mat<f64>,
    /// `K A V`, its values on the samples, n x K.
    pub values: Mat<f64>,
    /// Size of each class's objective. The gaps of the QPs are measured against it, because their
    /// own optimum is near zero where `P v_l` already fits.
    pub scale: &'a [f64],
    /// The solutions of the last u-step.
    pub last: Option<&'a [Vec<f64>]>,
}

/// Coefficients `B` and values `K B` of all hyperplanes, n x K each.
pub(super) struct Hyperplanes {
    pub b: Mat<f64>,
    pub f: Mat<f64>,
    /// The solutions of the QPs.
    pub solutions: Vec<Vec<f64>>,
    /// Whether every QP was solved to its tolerance.
    pub are_solved: bool,
    /// The largest multiplier of a dissimilar sample, at most `c`.
    largest: f64,
}

impl Hyperplanes {
    /// The smallest `c` that is known to give the same hyperplanes.
    pub fn smallest_c(&self) -> f64 {
        if self.are_solved { self.largest } else { f64::INFINITY }
    }
}

/// The QPs of all classes.
pub(super) struct UStep<'a> {
    pub duals: Duals<'a>,
    c: f64,
    /// The dual of each class, if the similar samples are eliminated.
    reduced: Vec<ReducedDual<'a>>,
}

impl<'a> UStep<'a> {
    pub fn new(duals: Duals<'a>, c: f64) -> Result<Self, FitError> {
        let count = if duals.is_eliminated() { duals.classes } else { 0 };
        let reduced = (0..count).map(|l| duals.reduced(l)).collect::<Result<_, _>>()?;
        Ok(Self { duals, c, reduced })
    }

    pub fn solve(&self, given: UStepInput<'_>) -> Hyperplanes {
        let (duals, is_eliminated) = (&self.duals, self.duals.is_eliminated());
        let (b, f, solved) = match is_eliminated {
            true => self.solve_eliminated(given),
            false => self.solve_all(given),
        };
        let is_solved =
            |solution: &Solution| solution.certificate.termination == Termination::Solved;
        let mut largest = 0.0_f64;
        for (l, solution) in solved.iter().enumerate() {
            // After the elimination all multipliers are those of dissimilar samples.
            let is_dissimilar = |i: usize| is_eliminated || !duals.is_similar(i, l);
            for (_, x) in solution.x.iter().enumerate().filter(|(i, _)| is_dissimilar(*i)) {
                largest = largest.max(duals.common.r * x);
            }
        }
        Hyperplanes {
            b,
            f,
            are_solved: solved.iter().all(is_solved),
            solutions: solved.into_iter().map(|solution| solution.x).collect(),
            largest,
        }
    }

    /// The duality gap that is accepted for class `l`.
    fn absolute(&self, given: &UStepInput<'_>, l: usize) -> f64 {
        self.duals.common.tolerance * given.scale[l] / self.duals.common.r
    }

    /// `B`, `K B` and the solutions of the QPs in all coefficients.
    fn solve_all(&self, given: UStepInput<'_>) -> (Mat<f64>, Mat<f64>, Vec<Solution>) {
        let start = |l: usize| given.last.map(|last| last[l].as_slice());
        let absolute = |l: usize| self.absolute(&given, l);
        let solved = self.duals.solve_all(start, absolute, |l, i, is_similar| {
            let loss = if is_similar { Term::square() } else { Term::hinge(self.c) };
            Term { linear: loss.linear + given.values[(i, l)], ..loss }
        });
        let (mut b, mut f) = (given.coefficients, given.values);
        for (l, solution) in solved.iter().enumerate() {
            add_scaled(column_mut(&mut b, l), 1.0, &solution.x);
            add_scaled(column_mut(&mut f, l), 1.0, &solution.y);
        }
        (b, f, solved)
    }

    /// The same with the similar samples eliminated.
    fn solve_eliminated(&self, given: UStepInput<'_>) -> (Mat<f64>, Mat<f64>, Vec<Solution>) {
        let (duals, reduced) = (&self.duals, &self.reduced);
        let known = duals.known_parts(reduced, given.values.as_ref());
        // All classes in parallel, each by one thread.
        let solved =
            each(duals.par, 0..reduced.len(), |l| self.solve_reduced(&given, &known[l], l));
        let lambdas: Vec<Vec<f64>> = (solved.iter())
            .map(|(_, solution)| solution.x.iter().map(|x| duals.common.r * x).collect())
            .collect();
        let similar = duals.similar_values(reduced, &lambdas, Some(&known));
        let (mut b, mut f) = (given.coefficients, given.values);
        for (l, (dual, (known, solution))) in reduced.iter().zip(&solved).enumerate() {
            add_scaled(
                column_mut(&mut b, l),
                1.0,
                &duals.coefficients(dual, &lambdas[l], &similar[l]),
            );
            let values = column_mut(&mut f, l);
            for (&i, value) in dual.similar.iter().zip(&similar[l]) {
                values[i] = *value;
            }
            for (&j, (g, y)) in dual.dissimilar.iter().zip(known.iter().zip(&solution.y)) {
                values[j] = g + y;
            }
        }
        (b, f, solved.into_iter().map(|(_, solution)| solution).collect())
    }

    /// The QP of class `l`, and the known part of the function on its dissimilar samples.
    fn solve_reduced(
        &self,
        given: &UStepInput<'_>,
        known: &KnownPart,
        l: usize,
    ) -> (Vec<f64>, Solution) {
        let (dual, values) = (&self.reduced[l], column(given.values.as_ref(), l));
        let hinge = Term::hinge(self.c).rescaled(self.duals.common.r);
        let known: Vec<f64> = (dual.dissimilar.iter().zip(&known.at_dissimilar))
            .map(|(&j, known)| values[j] - known)
            .collect();
        let term = |g: &f64| Term { linear: g - 1.0, ..hinge };
        let terms: Vec<Term> = known.iter().map(term).collect();
        let settings =
            Settings { absolute: self.absolute(given, l), ..self.duals.common.settings(Par::Seq) };
        let start = given.last.map(|last| last[l].as_slice());
        let solution = box_qp::solve(dual.matrix.view(), &terms, start, settings);
        (known, solution)
    }
}
