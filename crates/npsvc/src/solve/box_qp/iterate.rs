//! An iterate `x` with `y = Q x`, and its certificate.

use super::{Settings, Term};
use crate::algebra::{Matrix, inner};
use crate::certificate::{Certificate, Termination};

/// A problem, its iterate `x` and `y = Q x`.
pub(super) struct Iterate<'a> {
    pub q: Matrix<'a>,
    pub terms: &'a [Term],
    pub settings: Settings,
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    /// Coordinate steps and linear systems so far.
    pub steps: usize,
}

impl<'a> Iterate<'a> {
    /// Begins at `start`, clipped to the box, or at zero.
    pub fn new(
        q: Matrix<'a>,
        terms: &'a [Term],
        start: Option<&[f64]>,
        settings: Settings,
    ) -> Self {
        let zero = vec![0.0; terms.len()];
        let (x, y) = (zero.clone(), zero.clone());
        let mut iterate = Self { q, terms, settings, x, y, steps: 0 };
        iterate.replace(start.unwrap_or(&zero));
        iterate
    }

    /// Moves coordinates to their targets and updates `y`.
    pub fn set(&mut self, targets: impl Iterator<Item = (usize, f64)>) {
        let mut changes = Vec::new();
        for (i, target) in targets {
            let change = target - self.x[i];
            if change != 0.0 {
                self.x[i] = target;
                changes.push((i, change));
            }
        }
        self.q.add_columns(&changes, &mut self.y);
    }

    /// Takes `x`, clipped to the box, and computes `y` anew.
    pub fn replace(&mut self, x: &[f64]) {
        self.x.fill(0.0);
        self.y.fill(0.0);
        let terms = self.terms;
        let clipped = |(i, x): (usize, &f64)| (i, x.clamp(terms[i].low, terms[i].high));
        self.set(x.iter().enumerate().map(clipped));
    }

    pub fn certificate(&self) -> Certificate {
        let certificate = certify(self.terms, &self.x, &self.y, self.settings);
        Certificate { iterations: self.steps, ..certificate }
    }
}

impl Settings {
    /// The gap that is accepted at these objectives.
    pub(crate) fn largest_gap(&self, primal: f64, dual: f64) -> f64 {
        let scale = primal.abs().max(dual.abs()).max(f64::MIN_POSITIVE);
        (self.tolerance * scale).max(self.absolute)
    }
}

/// The certificate of `x` with `y = Q x`: the duality gap as a sum of Fenchel-Young terms. If the gap
/// is too large, the termination is [`Termination::IterationLimit`].
///
/// The termination is [`Termination::NumericalError`] if the dual objective bounds nothing: outside of
/// the box, or if `-x^T y` is larger than the accepted gap, because then `Q` is not positive semidefinite.
///
/// ```
/// use npsvc::solve::box_qp::{Settings, Term, certify};
///
/// // min x^2/2 - x on [0, 1] has its minimum at 1.
/// let gap = |x: f64| certify(&[Term::hinge(1.0)], &[x], &[x], Settings::default()).gap;
/// assert_eq!([gap(1.0), gap(0.5)], [0.0, 0.25]);
/// // The minimum of -x^2/2 - x has no certificate.
/// let indefinite = certify(&[Term::hinge(1.0)], &[1.0], &[-1.0], Settings::default());
/// assert_eq!(indefinite.termination, npsvc::Termination::NumericalError);
/// let outside = certify(&[Term::hinge(1.0)], &[2.0], &[2.0], Settings::default());
/// assert_eq!((outside.dual, outside.converged()), (f64::NEG_INFINITY, false));
/// ```
pub fn certify(terms: &[Term], x: &[f64], y: &[f64], settings: Settings) -> Certificate {
    let quadratic = inner(x, y);
    let (mut dual, mut primal, mut gap) = (-0.5 * quadratic, 0.5 * quadratic, 0.0);
    for (term, (&x, &y)) in terms.iter().zip(x.iter().zip(y)) {
        let (value, conjugate) = (term.value(x), term.conjugate(-y));
        dual -= if term.allows(x) { value } else { f64::INFINITY };
        primal += conjugate;
        // Each summand is non-negative by the Fenchel-Young inequality, except for rounding.
        gap += (value + conjugate + x * y).max(0.0);
    }
    let accepted = settings.largest_gap(primal, dual);
    let termination = if -quadratic > accepted {
        Termination::NumericalError
    } else {
        Termination::solved_or(Termination::IterationLimit, gap <= accepted)
    };
    Certificate::new([primal, dual, gap], 0, termination)
}
