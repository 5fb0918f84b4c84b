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
//! lowers the objective most; each costs one column of Q. That is quick as long as few coordinates
//! are free. Where some are, and strongly coupled, Newton steps on the free coordinates help, along
//! the path projected to the box. Where many are, an interior-point method ([`super::interior`])
//! takes over: each of its iterations costs a Cholesky factor, but a dozen suffice.

use faer::{Mat, MatRef, Par};

use super::Certificate;
use super::interior;
use crate::kernel::{Cholesky, algebra, submatrix};

/// A symmetric positive semidefinite matrix given by its columns.
pub trait Quadratic {
    fn diagonal(&self, i: usize) -> f64;
    /// Column `i`; computed or looked up.
    fn column(&mut self, i: usize) -> &[f64];
    /// The rows and columns `index`.
    fn dense(&self, index: &[usize]) -> Mat<f64>;
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

    fn dense(&self, index: &[usize]) -> Mat<f64> {
        submatrix(self.matrix, index, index)
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
    /// Largest number of rounds; a round is a sweep's worth of coordinate steps, then Newton steps.
    pub max_rounds: usize,
    /// For the Newton steps' factorisations.
    pub par: Par,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tolerance: 1e-6,
            absolute: 0.0,
            max_rounds: 200,
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
}

/// Minimises from `start` (or from zero), clipped to the box.
pub fn solve(
    q: &mut impl Quadratic,
    terms: &[Term],
    start: Option<&[f64]>,
    settings: Settings,
) -> Solution {
    const NEWTON_STEPS_PER_ROUND: usize = 20;
    let mut state = State::new(q, terms, start);
    let mut certificate = state.certificate(settings);
    for round in 0..settings.max_rounds {
        certificate = state.descend(q, terms.len().max(64), settings);
        if !certificate.converged && round == 0 && state.are_many_free() {
            certificate = state.interior_point(q, settings);
        }
        if certificate.converged {
            break;
        }
        let before = state.steps;
        for _ in 0..NEWTON_STEPS_PER_ROUND {
            let gap = certificate.gap;
            if certificate.converged || !state.newton_step(q, settings.par) {
                break;
            }
            certificate = state.certificate(settings);
            // The free coordinates are not yet the right ones: coordinate steps sort that out.
            if certificate.gap > 0.5 * gap {
                break;
            }
        }
        if certificate.converged || (state.is_stalled && state.steps == before) {
            break;
        }
    }
    Solution {
        x: state.x,
        y: state.y,
        certificate,
    }
}

/// The iterate `x` and `y = Q x`, with the terms spread out for the selection loop.
struct State<'a> {
    terms: &'a [Term],
    has_l1: bool,
    /// `Q_ii + d_i`, kept away from zero, and its inverse.
    curvature: Vec<f64>,
    inverse: Vec<f64>,
    linear: Vec<f64>,
    l1: Vec<f64>,
    square: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    x: Vec<f64>,
    y: Vec<f64>,
    steps: usize,
    /// No coordinate step gains anything beyond rounding.
    is_stalled: bool,
}

impl<'a> State<'a> {
    fn new(q: &mut impl Quadratic, terms: &'a [Term], start: Option<&[f64]>) -> Self {
        let n = terms.len();
        let sums: Vec<f64> = (0..n).map(|i| q.diagonal(i) + terms[i].square).collect();
        let floor = sums
            .iter()
            .fold(f64::MIN_POSITIVE, |most, sum| most.max(1e-14 * sum));
        let curvature: Vec<f64> = sums.into_iter().map(|sum| sum.max(floor)).collect();
        let of = |field: fn(&Term) -> f64| terms.iter().map(field).collect();
        let mut state = Self {
            terms,
            has_l1: terms.iter().any(|term| term.l1 > 0.0),
            inverse: curvature.iter().map(|c| 1.0 / c).collect(),
            curvature,
            linear: of(|term| term.linear),
            l1: of(|term| term.l1),
            square: of(|term| term.square),
            low: of(|term| term.low),
            high: of(|term| term.high),
            x: vec![0.0; n],
            y: vec![0.0; n],
            steps: 0,
            is_stalled: false,
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

    /// Up to `most` coordinate steps, with a look at the gap every now and then.
    fn descend(&mut self, q: &mut impl Quadratic, most: usize, settings: Settings) -> Certificate {
        let check_every = (self.x.len() / 8).clamp(16, 256);
        self.is_stalled = false;
        let mut certificate = self.certificate(settings);
        for done in 1..=most {
            if certificate.converged {
                break;
            }
            let (i, change) = if self.has_l1 {
                self.best_step_l1()
            } else {
                self.best_step()
            };
            if change == 0.0 || !change.is_finite() {
                self.is_stalled = true;
                break;
            }
            self.shift(q, i, change);
            self.steps += 1;
            if done % check_every == 0 {
                certificate = self.certificate(settings);
            }
        }
        if certificate.converged {
            certificate
        } else {
            self.certificate(settings)
        }
    }

    /// The coordinate whose minimisation gains most, and the change. Gains are written in the
    /// change, not as a difference of two objectives: near the optimum they are far below the
    /// rounding of either.
    fn best_step(&self) -> (usize, f64) {
        let n = self.x.len();
        let (x, y, curvature, inverse) = (
            &self.x[..n],
            &self.y[..n],
            &self.curvature[..n],
            &self.inverse[..n],
        );
        let (linear, square, low, high) = (
            &self.linear[..n],
            &self.square[..n],
            &self.low[..n],
            &self.high[..n],
        );
        let mut best = (0, 0.0);
        let mut most = 0.0;
        for i in 0..n {
            let gradient = y[i] + linear[i] + square[i] * x[i];
            let target = smaller(larger(x[i] - gradient * inverse[i], low[i]), high[i]);
            let change = target - x[i];
            let gain = -change * (gradient + 0.5 * curvature[i] * change);
            if gain > most {
                most = gain;
                best = (i, change);
            }
        }
        best
    }

    /// As [`Self::best_step`], with soft thresholding for the L1 terms.
    fn best_step_l1(&self) -> (usize, f64) {
        let n = self.x.len();
        let (x, y, curvature, inverse) = (
            &self.x[..n],
            &self.y[..n],
            &self.curvature[..n],
            &self.inverse[..n],
        );
        let (linear, square, low, high) = (
            &self.linear[..n],
            &self.square[..n],
            &self.low[..n],
            &self.high[..n],
        );
        let l1 = &self.l1[..n];
        let mut best = (0, 0.0);
        let mut most = 0.0;
        for i in 0..n {
            let gradient = y[i] + linear[i] + square[i] * x[i];
            let free = x[i] - gradient * inverse[i];
            let threshold = l1[i] * inverse[i];
            let shrunk = free - smaller(larger(free, -threshold), threshold);
            let target = smaller(larger(shrunk, low[i]), high[i]);
            let change = target - x[i];
            let gain = -change * (gradient + 0.5 * curvature[i] * change)
                - l1[i] * (target.abs() - x[i].abs());
            if gain > most {
                most = gain;
                best = (i, change);
            }
        }
        best
    }

    /// Whether there are too many free coordinates for coordinate and Newton steps to sort out.
    fn are_many_free(&self) -> bool {
        let free = (0..self.x.len()).filter(|&i| self.is_free(i)).count();
        4 * free > self.x.len()
    }

    /// Solves anew by [`interior`], from the middle of the box; takes the answer if it is better.
    fn interior_point(&mut self, q: &mut impl Quadratic, settings: Settings) -> Certificate {
        let before = self.certificate(settings);
        let is_live = |i: &usize| self.low[*i] < self.high[*i];
        let live: Vec<usize> = (0..self.x.len()).filter(is_live).collect();
        let terms: Vec<Term> = live.iter().map(|&i| self.terms[i]).collect();
        let mut h = q.dense(&live);
        for (a, term) in terms.iter().enumerate() {
            h[(a, a)] += term.square;
        }
        let target = 0.2 * (settings.tolerance * before.dual.abs()).max(settings.absolute);
        let Some((found, iterations)) = interior::solve(&h, &terms, target, settings.par) else {
            return before;
        };
        drop(h);
        let kept = (self.x.clone(), self.y.clone());
        for (&i, value) in live.iter().zip(found) {
            self.x[i] = value.clamp(self.low[i], self.high[i]);
        }
        self.y.fill(0.0);
        for i in 0..self.x.len() {
            let x = std::mem::take(&mut self.x[i]);
            self.shift(q, i, x);
        }
        self.steps += iterations;
        let after = self.certificate(settings);
        if after.dual >= before.dual {
            return after;
        }
        (self.x, self.y) = kept;
        before
    }

    /// A Newton step on the free coordinates, along the projected path. False when there is none.
    fn newton_step(&mut self, q: &mut impl Quadratic, par: Par) -> bool {
        let free: Vec<usize> = (0..self.x.len()).filter(|&i| self.is_free(i)).collect();
        if free.is_empty() {
            return false;
        }
        let Some(direction) = self.newton_direction(q, &free, par) else {
            return false;
        };
        self.steps += 1;
        self.follow(q, &free, direction)
    }

    /// Walks from `x` along `direction`; a coordinate that meets its bound stays there while the
    /// others go on, until the objective would rise. Where the free coordinates are nearly
    /// dependent the direction is long and most of it is cut off, yet every walk descends.
    fn follow(&mut self, q: &mut impl Quadratic, free: &[usize], direction: Vec<f64>) -> bool {
        let mut path = Path::new(self, q, free, direction);
        let mut moved = false;
        while let Some((length, end)) = path.next_piece() {
            moved |= length > 0.0;
            for (&i, step) in free.iter().zip(&path.direction) {
                self.x[i] += length * step;
            }
            for (y, image) in self.y.iter_mut().zip(&path.image) {
                *y += length * image;
            }
            let Some((a, bound)) = end else { break };
            let i = free[a];
            self.x[i] = bound;
            path.release(
                a,
                i,
                self.gradient_towards(i, path.direction[a]),
                &self.terms[i],
                q,
            );
        }
        moved
    }

    /// Where coordinate `i` ends when it moves in direction `step`: an edge of the box, or the kink
    /// of its L1 term.
    fn bound(&self, i: usize, step: f64) -> f64 {
        let (term, x) = (&self.terms[i], self.x[i]);
        let edge = if step > 0.0 { term.high } else { term.low };
        let meets_kink = term.l1 > 0.0 && x * step < 0.0 && edge * step > 0.0;
        if meets_kink { 0.0 } else { edge }
    }

    /// The gradient of coordinate `i`; at the kink, that of the side it came from.
    fn gradient_towards(&self, i: usize, step: f64) -> f64 {
        let (term, x) = (&self.terms[i], self.x[i]);
        let side = if x == 0.0 { -step.signum() } else { x.signum() };
        self.y[i] + term.linear + term.square * x + term.l1 * side
    }

    /// Strictly inside the box, or at its edge with the gradient pointing inwards; and off the kink
    /// of the L1 term, which coordinate steps decide about.
    fn is_free(&self, i: usize) -> bool {
        let (term, x) = (&self.terms[i], self.x[i]);
        if term.l1 > 0.0 && x == 0.0 {
            return false;
        }
        let gradient = self.gradient(i);
        (x > term.low || gradient < 0.0) && (x < term.high || gradient > 0.0)
    }

    /// Derivative in coordinate `i`, off the kink.
    fn gradient(&self, i: usize) -> f64 {
        let (term, x) = (&self.terms[i], self.x[i]);
        let kink = if term.l1 > 0.0 {
            term.l1 * x.signum()
        } else {
            0.0
        };
        self.y[i] + term.linear + term.square * x + kink
    }

    /// Solves `(Q + diag(d))_FF p = -gradient_F`.
    fn newton_direction(
        &self,
        q: &mut impl Quadratic,
        free: &[usize],
        par: Par,
    ) -> Option<Vec<f64>> {
        let m = free.len();
        let mut hessian = Mat::zeros(m, m);
        for (a, &i) in free.iter().enumerate() {
            let source = q.column(i);
            let target = algebra::column_mut(&mut hessian, a);
            for (b, &j) in free.iter().enumerate().skip(a) {
                target[b] = source[j];
            }
            // A relative ridge of rounding size keeps duplicated samples from ending the method.
            target[a] += self.terms[i].square + 1e-12 * self.curvature[i];
        }
        let factor = Cholesky::new(hessian, par).ok()?;
        let mut right = Mat::from_fn(m, 1, |a, _| -self.gradient(free[a]));
        factor.solve(right.as_mut());
        let direction = algebra::column(right.as_ref(), 0).to_vec();
        direction
            .iter()
            .all(|value| value.is_finite())
            .then_some(direction)
    }

    fn certificate(&self, settings: Settings) -> Certificate {
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
        let converged = gap <= (settings.tolerance * scale).max(settings.absolute);
        Certificate {
            primal,
            dual,
            gap,
            iterations: self.steps,
            converged,
        }
    }
}

/// A walk along a direction whose coordinates stop at their bounds one after the other.
struct Path {
    /// The direction; zero for coordinates that have stopped.
    direction: Vec<f64>,
    /// `Q direction`, on all coordinates.
    image: Vec<f64>,
    /// Derivative and curvature of the objective along the direction.
    slope: f64,
    curvature: f64,
    /// How far each coordinate goes and the bound it meets there, the next one last.
    stops: Vec<(f64, usize, f64)>,
    walked: f64,
}

impl Path {
    fn new(state: &State<'_>, q: &mut impl Quadratic, free: &[usize], direction: Vec<f64>) -> Self {
        let mut image = vec![0.0; state.x.len()];
        let (mut slope, mut curvature) = (0.0, 0.0);
        let mut stops = Vec::with_capacity(free.len());
        for (a, (&i, &step)) in free.iter().zip(&direction).enumerate() {
            for (image, column) in image.iter_mut().zip(q.column(i)) {
                *image += step * column;
            }
            slope += step * state.gradient(i);
            let bound = state.bound(i, step);
            let distance = (bound - state.x[i]) / step;
            if distance.is_finite() {
                stops.push((distance.max(0.0), a, bound));
            }
        }
        for (&i, &step) in free.iter().zip(&direction) {
            curvature += step * (image[i] + state.terms[i].square * step);
        }
        stops.sort_unstable_by(|one, other| other.0.total_cmp(&one.0));
        Self {
            direction,
            image,
            slope,
            curvature,
            stops,
            walked: 0.0,
        }
    }

    /// The length of the next straight piece, and the coordinate that stops at its end, if any.
    fn next_piece(&mut self) -> Option<(f64, Option<(usize, f64)>)> {
        if self.slope.is_nan() || self.slope >= 0.0 {
            return None;
        }
        let lowest = if self.curvature > 0.0 {
            -self.slope / self.curvature
        } else {
            f64::INFINITY
        };
        match self.stops.pop() {
            Some((stop, a, bound)) if stop - self.walked <= lowest => {
                let length = (stop - self.walked).max(0.0);
                self.walked += length;
                self.slope += length * self.curvature;
                Some((length, Some((a, bound))))
            }
            _ if lowest.is_finite() => Some((lowest, None)),
            _ => None,
        }
    }

    /// Takes coordinate `a` (`i` among all) out of the direction.
    fn release(&mut self, a: usize, i: usize, gradient: f64, term: &Term, q: &mut impl Quadratic) {
        let step = std::mem::take(&mut self.direction[a]);
        let column = q.column(i);
        self.slope -= step * gradient;
        let own = column[i] * step;
        self.curvature -= step * (2.0 * self.image[i] - own + term.square * step);
        for (image, column) in self.image.iter_mut().zip(column) {
            *image -= step * column;
        }
    }
}

/// `f64::min` without its care for NaN, which keeps the loop from being vectorised.
#[inline(always)]
fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// `f64::max`, likewise.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}
