//! Coordinate descent for the dual of every convex method of the paper's Table 1.
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
//! so it costs O(n) and certifies every answer. Steps take the coordinate whose exact minimisation
//! lowers the objective most; each costs one column of Q. Where that converges slowly, because many
//! coordinates are free and strongly coupled, a Newton step on the free coordinates is tried.

use faer::{Mat, MatRef, Par};

use super::Certificate;
use crate::kernel::{Cholesky, algebra};

/// A symmetric positive semidefinite matrix given by its columns.
pub trait Quadratic {
    fn diagonal(&self, i: usize) -> f64;
    /// Column `i`; computed or looked up.
    fn column(&mut self, i: usize) -> &[f64];
}

/// A dense symmetric matrix.
pub struct Dense<'a> {
    pub matrix: MatRef<'a, f64>,
}

impl Quadratic for Dense<'_> {
    fn diagonal(&self, i: usize) -> f64 {
        self.matrix[(i, i)]
    }

    fn column(&mut self, i: usize) -> &[f64] {
        algebra::column(self.matrix, i)
    }
}

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

    fn value(&self, x: f64) -> f64 {
        self.linear * x + self.l1 * x.abs() + 0.5 * self.square * x * x
    }

    /// Mean slope of the smooth part between `x` and `x + change`.
    fn slope(&self, x: f64, change: f64) -> f64 {
        self.linear + self.square * (x + 0.5 * change)
    }

    /// `argmin_t  curvature/2 t^2 + slope t + h(t)`.
    fn minimiser(&self, curvature: f64, slope: f64) -> f64 {
        let curvature = curvature + self.square;
        let pull = -(slope + self.linear);
        let shrunk = pull - pull.clamp(-self.l1, self.l1);
        if curvature > 0.0 {
            return (shrunk / curvature).clamp(self.low, self.high);
        }
        let end = match shrunk {
            s if s > 0.0 => self.high,
            s if s < 0.0 => self.low,
            _ => 0.0,
        };
        end.clamp(self.low, self.high)
    }

    /// `h^*(s) = max_t  s t - h(t)`.
    fn conjugate(&self, s: f64) -> f64 {
        let t = self.minimiser(0.0, -s);
        s * t - self.value(t)
    }
}

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Relative duality gap.
    pub tolerance: f64,
    /// Largest number of coordinate steps, per coordinate of the problem.
    pub max_sweeps: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tolerance: 1e-6,
            max_sweeps: 1000,
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
}

/// Minimises from `start` (or from zero), clipped to the box.
pub fn solve(
    q: &mut impl Quadratic,
    terms: &[Term],
    start: Option<&[f64]>,
    settings: Settings,
) -> Solution {
    let mut state = State::new(q, terms, start);
    let limit = settings.max_sweeps.saturating_mul(terms.len().max(1));
    let check_every = (terms.len() / 8).clamp(16, 256);
    let newton_every = terms.len().clamp(256, 4096);
    let mut steps = 0;
    let mut certificate = state.certificate(steps, settings.tolerance);
    while !certificate.converged && steps < limit {
        let mut stalled = false;
        for _ in 0..check_every {
            if !state.greedy_step(q) {
                stalled = true;
                break;
            }
            steps += 1;
        }
        let due = steps % newton_every < check_every;
        if (stalled || due) && steps > 0 {
            let moved = state.newton_step(q);
            steps += 1;
            if stalled && !moved {
                certificate = state.certificate(steps, settings.tolerance);
                break;
            }
        }
        certificate = state.certificate(steps, settings.tolerance);
    }
    Solution {
        x: state.x,
        y: state.y,
        certificate,
    }
}

/// The iterate: `x`, `y = Q x`, and the diagonal at hand for the selection loop.
struct State<'a> {
    terms: &'a [Term],
    diagonal: Vec<f64>,
    x: Vec<f64>,
    y: Vec<f64>,
}

impl<'a> State<'a> {
    fn new(q: &mut impl Quadratic, terms: &'a [Term], start: Option<&[f64]>) -> Self {
        let n = terms.len();
        let diagonal = (0..n).map(|i| q.diagonal(i)).collect();
        let mut state = Self {
            terms,
            diagonal,
            x: vec![0.0; n],
            y: vec![0.0; n],
        };
        for (i, term) in terms.iter().enumerate() {
            let x = start
                .map_or(0.0, |start| start[i])
                .clamp(term.low, term.high);
            state.shift(q, i, x);
        }
        state
    }

    /// Adds `change` to coordinate `i` and keeps `y = Q x`.
    fn shift(&mut self, q: &mut impl Quadratic, i: usize, change: f64) {
        if change == 0.0 {
            return;
        }
        self.x[i] += change;
        for (y, column) in self.y.iter_mut().zip(q.column(i)) {
            *y += change * column;
        }
    }

    /// Minimises over the coordinate that gains most; false when none gains anything.
    fn greedy_step(&mut self, q: &mut impl Quadratic) -> bool {
        let mut best = (0.0, 0, 0.0);
        for i in 0..self.x.len() {
            let (term, x, curvature) = (&self.terms[i], self.x[i], self.diagonal[i]);
            let target = term.minimiser(curvature, self.y[i] - curvature * x);
            let change = target - x;
            // Written in the change, not as a difference of two objectives: near the optimum the
            // gain is far below the rounding of either.
            let slope = self.y[i] + 0.5 * curvature * change + term.slope(x, change);
            let gain = -change * slope - term.l1 * (target.abs() - x.abs());
            if gain > best.0 {
                best = (gain, i, change);
            }
        }
        let (gain, i, change) = best;
        // Below rounding of the terms involved a step only moves noise around.
        if gain <= f64::EPSILON * change.abs() * self.y[i].abs() || !change.is_finite() {
            return false;
        }
        self.shift(q, i, change);
        true
    }

    /// A projected Newton step on the coordinates strictly inside their box (and off the kink of
    /// the L1 term). False when it did not lower the objective.
    fn newton_step(&mut self, q: &mut impl Quadratic) -> bool {
        const LARGEST: usize = 2000;
        let free: Vec<usize> = (0..self.x.len()).filter(|&i| self.is_free(i)).collect();
        if free.is_empty() || free.len() > LARGEST {
            return false;
        }
        let Some(direction) = self.newton_direction(q, &free) else {
            return false;
        };
        let before = self.objective();
        let (x, y) = (self.x.clone(), self.y.clone());
        let mut length = 1.0;
        for _ in 0..5 {
            for (&i, step) in free.iter().zip(&direction) {
                let target = self.project(i, x[i] + length * step, x[i]);
                self.shift(q, i, target - self.x[i]);
            }
            if self.objective() < before {
                return true;
            }
            self.x.copy_from_slice(&x);
            self.y.copy_from_slice(&y);
            length *= 0.25;
        }
        false
    }

    fn is_free(&self, i: usize) -> bool {
        let (term, x) = (&self.terms[i], self.x[i]);
        x > term.low && x < term.high && (term.l1 == 0.0 || x != 0.0)
    }

    /// Solves `Q_FF p = -gradient_F`.
    fn newton_direction(&self, q: &mut impl Quadratic, free: &[usize]) -> Option<Vec<f64>> {
        let m = free.len();
        let mut hessian = Mat::zeros(m, m);
        let mut right = Mat::zeros(m, 1);
        for (a, &i) in free.iter().enumerate() {
            let column = q.column(i);
            for (b, &j) in free.iter().enumerate().skip(a) {
                hessian[(b, a)] = column[j];
            }
            let term = &self.terms[i];
            // A relative ridge of rounding size keeps duplicated samples from ending the method.
            hessian[(a, a)] += term.square + 1e-12 * column[i].abs();
            let slope = term.linear + term.l1 * self.x[i].signum() + term.square * self.x[i];
            right[(a, 0)] = -(self.y[i] + slope);
        }
        let factor = Cholesky::new(hessian, Par::Seq).ok()?;
        factor.solve(right.as_mut());
        let direction: Vec<f64> = right.col(0).iter().copied().collect();
        direction
            .iter()
            .all(|value| value.is_finite())
            .then_some(direction)
    }

    /// Clips to the box, and to zero where an L1 term would change its sign.
    fn project(&self, i: usize, target: f64, from: f64) -> f64 {
        let term = &self.terms[i];
        if term.l1 > 0.0 && target * from < 0.0 {
            return 0.0;
        }
        target.clamp(term.low, term.high)
    }

    /// The QP's objective at the iterate.
    fn objective(&self) -> f64 {
        let quadratic = algebra::inner(&self.x, &self.y);
        let separable: f64 = self
            .terms
            .iter()
            .zip(&self.x)
            .map(|(term, &x)| term.value(x))
            .sum();
        0.5 * quadratic + separable
    }

    fn certificate(&self, iterations: usize, tolerance: f64) -> Certificate {
        let quadratic = algebra::inner(&self.x, &self.y);
        let (mut dual, mut primal, mut gap) = (-0.5 * quadratic, 0.5 * quadratic, 0.0);
        for (term, (&x, &y)) in self.terms.iter().zip(self.x.iter().zip(&self.y)) {
            let (value, conjugate) = (term.value(x), term.conjugate(-y));
            dual -= value;
            primal += conjugate;
            // Each summand is non-negative by the Fenchel-Young inequality; rounding is not.
            gap += (value + conjugate + x * y).max(0.0);
        }
        let scale = primal.abs().max(dual.abs()).max(f64::MIN_POSITIVE);
        Certificate {
            primal,
            dual,
            gap,
            iterations,
            converged: gap <= tolerance * scale,
        }
    }
}
