//! An iterate `x` with `y = Q x`, its certificate, and its slopes.

use super::{Quadratic, Settings, Term};
use crate::kernel::algebra;
use crate::solve::Certificate;

/// The iterate `x` and `y = Q x`.
pub struct Iterate<'a> {
    pub terms: &'a [Term],
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    /// Coordinate steps and linear systems solved so far.
    pub steps: usize,
}

impl<'a> Iterate<'a> {
    /// Begins at `start` (or at zero), clipped to the box.
    pub fn new(q: &impl Quadratic, terms: &'a [Term], start: Option<&[f64]>) -> Self {
        let n = terms.len();
        let mut iterate = Self {
            terms,
            x: vec![0.0; n],
            y: vec![0.0; n],
            steps: 0,
        };
        let zero = vec![0.0; n];
        iterate.replace(q, start.unwrap_or(&zero));
        iterate
    }

    /// Moves coordinates to their targets and keeps `y = Q x`.
    pub fn set(&mut self, q: &impl Quadratic, targets: impl Iterator<Item = (usize, f64)>) {
        let mut changes = Vec::new();
        for (i, target) in targets {
            let change = target - self.x[i];
            if change != 0.0 {
                self.x[i] = target;
                changes.push((i, change));
            }
        }
        q.add_columns(&changes, &mut self.y);
    }

    /// Takes `x`, clipped to the box, and computes `y` anew.
    pub fn replace(&mut self, q: &impl Quadratic, x: &[f64]) {
        self.x.fill(0.0);
        self.y.fill(0.0);
        let terms = self.terms;
        let clipped = |(i, x): (usize, &f64)| (i, x.clamp(terms[i].low, terms[i].high));
        self.set(q, x.iter().enumerate().map(clipped));
    }

    pub fn certificate(&self, settings: Settings) -> Certificate {
        Certificate {
            iterations: self.steps,
            ..certify(self.terms, &self.x, &self.y, settings)
        }
    }
}

/// What `x`, with `y = Q x`, vouches for: the duality gap as a sum of Fenchel-Young terms.
pub fn certify(terms: &[Term], x: &[f64], y: &[f64], settings: Settings) -> Certificate {
    let quadratic = algebra::inner(x, y);
    let (mut dual, mut primal, mut gap) = (-0.5 * quadratic, 0.5 * quadratic, 0.0);
    for (term, (&x, &y)) in terms.iter().zip(x.iter().zip(y)) {
        let (value, conjugate) = (term.value(x), term.conjugate(-y));
        dual -= value;
        primal += conjugate;
        // Each summand is non-negative by the Fenchel-Young inequality; rounding is not.
        gap += (value + conjugate + x * y).max(0.0);
    }
    let scale = primal.abs().max(dual.abs()).max(f64::MIN_POSITIVE);
    let converged = gap <= (settings.tolerance * scale).max(settings.absolute);
    Certificate {
        primal,
        dual,
        gap,
        iterations: 0,
        converged,
    }
}
