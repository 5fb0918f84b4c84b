//! Active sets under a vanishing proximal term, for many free or strongly coupled coordinates.
//!
//! ```text
//! min_x  1/2 x^T Q x + sum_i h_i(x_i) + rho/2 |x - center|^2
//! ```
//!
//! Suppose it is known which coordinates end at a bound, which at the kink of their L1 term, and on
//! which side of the kink the free ones are. Then the free ones solve a linear system. Its solution
//! shows which guesses were wrong: free coordinates outside their box, and fixed ones whose slope
//! points inwards. All of these are corrected at once. A handful of systems is enough if `rho` keeps
//! the system well conditioned and the start is good. So `rho` falls by a factor of ten per stage, and
//! each solution is the start and the center of the next stage. This is the proximal point method
//! with growing steps, whose duality gap falls faster than any geometric sequence.
//!
//! The linear system has one row per free coordinate. If nearly all are free, it is solved through
//! `R = (Q + s I)^-1`, which all problems on one matrix share. With `W` the diagonal that is infinite
//! on fixed coordinates and `d_i + rho - s` on free ones, and `T` its support,
//!
//! ```text
//! (Q + s I + W)^-1 = R - R_:T (W_T^-1 + R_TT)^-1 R_T: .
//! ```

use faer::{Mat, MatRef, Par};

use super::Term;
use super::iterate::Iterate;
use crate::algebra::{Cholesky, add_scaled, add_times_vector, column, lower_submatrix};

/// Weight of the first stage, relative to the mean diagonal of Q: in general, if few coordinates are
/// fixed, and from the solution of a similar problem.
const FIRST: f64 = 1e-2;
const FIRST_MOSTLY_FREE: f64 = 1e-3;
const FIRST_WARM: f64 = 1e-4;
/// Range of the weights, relative to the mean diagonal of Q.
const LARGEST: f64 = 1e4;
const SMALLEST: f64 = 1e-12;
/// The weight of a stage, relative to the stage before.
const FALL: f64 = 0.1;
/// The method fails if the weight would fall by less than this.
const SMALLEST_FALL: f64 = 0.7;
/// Largest number of linear systems per stage.
const MAX_SYSTEMS: usize = 14;
/// Slopes below this are rounding, relative to the size of their parts.
const SLOPE_ROUNDING: f64 = 1e-11;

/// A guess where a coordinate ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BoundState {
    Low,
    High,
    /// At zero, at the kink of the L1 term.
    Kink,
    /// Inside the box, above the kink if there is one.
    Above,
    /// Inside the box, below the kink if there is one.
    Below,
}

impl BoundState {
    /// The state that a value suggests. A value at a bound is supposed to stay there: too few free
    /// coordinates make the first systems small, and the next ones correct it.
    fn suggested(term: &Term, x: f64) -> Self {
        match x {
            x if x <= term.low => Self::Low,
            x if x >= term.high => Self::High,
            _ if !term.has_kink() => Self::Above,
            0.0 => Self::Kink,
            x if x < 0.0 => Self::Below,
            _ => Self::Above,
        }
    }

    fn is_free(self) -> bool {
        matches!(self, Self::Above | Self::Below)
    }

    /// The value of a fixed coordinate.
    fn value(self, term: &Term) -> Option<f64> {
        match self {
            Self::Low => Some(term.low),
            Self::High => Some(term.high),
            Self::Kink => Some(0.0),
            Self::Above | Self::Below => None,
        }
    }

    /// The sign of the slope of the L1 term.
    fn sign(self, term: &Term) -> f64 {
        match self {
            _ if term.low >= 0.0 => 1.0,
            _ if term.high <= 0.0 => -1.0,
            Self::High | Self::Above => 1.0,
            Self::Low | Self::Below => -1.0,
            Self::Kink => 0.0,
        }
    }

    /// The state after a linear system with the solution `x`. `slope` is the slope of the objective
    /// without the L1 term.
    fn corrected(self, term: &Term, x: f64, slope: f64, rounding: f64) -> Self {
        let full = slope + term.l1 * self.sign(term);
        match self {
            Self::Low if full < -rounding && term.low < term.high => Self::Below,
            Self::High if full > rounding => Self::Above,
            Self::Kink if slope > term.l1 + rounding => Self::Below,
            Self::Kink if slope < -term.l1 - rounding => Self::Above,
            Self::Above | Self::Below if x < term.low => Self::Low,
            Self::Above | Self::Below if x > term.high => Self::High,
            Self::Above if term.has_kink() && x < 0.0 => Self::Kink,
            Self::Below if term.has_kink() && x > 0.0 => Self::Kink,
            same => same,
        }
    }
}

/// `R = (Q + shift I)^-1`.
pub(super) struct SharedInverse {
    inverse: Mat<f64>,
    shift: f64,
}

impl SharedInverse {
    /// `None` if the shift is too small for the matrix to be positive definite in floating point.
    pub fn new(q: MatRef<'_, f64>, shift: f64, par: Par) -> Option<Self> {
        Some(Self { inverse: Cholesky::shifted_inverse(q, shift, par).ok()?, shift })
    }
}

/// The states of all coordinates, and the weight that was solved last.
pub(super) struct ActiveSet {
    states: Vec<BoundState>,
    /// Mean diagonal of Q.
    scale: f64,
    first_weight: f64,
    last_weight: Option<f64>,
    pub has_failed: bool,
}

impl ActiveSet {
    pub fn new(iterate: &Iterate<'_>, is_warm: bool) -> Self {
        let n = iterate.x.len().max(1);
        let scale = (0..iterate.x.len()).map(|i| iterate.q.diagonal(i)).sum::<f64>() / n as f64;
        let scale = scale.max(f64::MIN_POSITIVE);
        let states: Vec<BoundState> = iterate
            .terms
            .iter()
            .zip(&iterate.x)
            .map(|(term, &x)| BoundState::suggested(term, x))
            .collect();
        let free = states.iter().filter(|state| state.is_free()).count();
        let first = match free {
            _ if is_warm => FIRST_WARM,
            free if 4 * free > 3 * n => FIRST_MOSTLY_FREE,
            _ => FIRST,
        };
        Self { states, scale, first_weight: first * scale, last_weight: None, has_failed: false }
    }

    /// The weight of the next stage, if there is one.
    pub fn next_weight(&self) -> Option<f64> {
        let next = self.last_weight.map_or(self.first_weight, |last| FALL * last);
        (!self.has_failed && next >= SMALLEST * self.scale).then_some(next)
    }

    /// Number of rows of the linear system: with one row per free coordinate, and with the shared
    /// inverse.
    pub fn system_sizes(&self, terms: &[Term], least_square: f64) -> (usize, usize) {
        let free = self.states.iter().filter(|state| state.is_free()).count();
        let support = self
            .states
            .iter()
            .zip(terms)
            .filter(|(state, term)| !state.is_free() || term.square > least_square)
            .count();
        (free, support)
    }

    /// Solves the stage of weight `aim`, by way of larger weights if necessary.
    pub fn solve_at_weight(
        &mut self,
        iterate: &mut Iterate<'_>,
        aim: f64,
        shared: Option<&SharedInverse>,
    ) {
        let mut next = aim;
        loop {
            let shared = shared.filter(|_| next == aim);
            if self.try_weight(iterate, next, shared) {
                self.last_weight = Some(next);
                if next == aim {
                    return;
                }
                next = aim;
                continue;
            }
            next = match self.last_weight {
                Some(last) => (last * next).sqrt(),
                None => 10.0 * next,
            };
            let is_too_close = self.last_weight.is_some_and(|last| next > SMALLEST_FALL * last);
            if is_too_close || next > LARGEST * self.scale {
                self.has_failed = true;
                return;
            }
        }
    }

    /// One stage. If the states do not stop changing, it is undone.
    fn try_weight(
        &mut self,
        iterate: &mut Iterate<'_>,
        rho: f64,
        shared: Option<&SharedInverse>,
    ) -> bool {
        let kept = (iterate.x.clone(), iterate.y.clone(), self.states.clone());
        for _ in 0..MAX_SYSTEMS {
            let terms = iterate.terms;
            let fixed = |(i, state): (usize, &BoundState)| Some((i, state.value(&terms[i])?));
            iterate.set(self.states.iter().enumerate().filter_map(fixed));
            let system = FreeSystem { states: &self.states, center: &kept.0, rho };
            let shared = shared.filter(|shared| {
                let (free, support) = self.system_sizes(terms, shared.shift - rho);
                support < free
            });
            let solved = match shared {
                None => system.solve(iterate),
                Some(shared) => system.solve_shared(iterate, shared),
            };
            iterate.steps += 1;
            if solved.is_none() {
                break;
            }
            if !self.correct(iterate, &kept.0, rho) {
                return true;
            }
        }
        (iterate.x, iterate.y, self.states) = kept;
        false
    }

    /// Corrects the states that the solution contradicts; whether there were any.
    fn correct(&mut self, iterate: &Iterate<'_>, center: &[f64], rho: f64) -> bool {
        let mut has_changed = false;
        for (i, state) in self.states.iter_mut().enumerate() {
            let (term, x, y) = (&iterate.terms[i], iterate.x[i], iterate.y[i]);
            let slope = y + term.linear + term.square * x + rho * (x - center[i]);
            let rounding = SLOPE_ROUNDING * (y.abs() + term.linear.abs() + term.l1);
            let next = state.corrected(term, x, slope, rounding);
            has_changed |= next != *state;
            *state = next;
        }
        has_changed
    }
}

/// The linear system of the free coordinates.
struct FreeSystem<'a> {
    states: &'a [BoundState],
    center: &'a [f64],
    rho: f64,
}

impl FreeSystem<'_> {
    /// The slope of the objective in free coordinate `i`.
    fn slope(&self, iterate: &Iterate<'_>, i: usize) -> f64 {
        let (term, x) = (&iterate.terms[i], iterate.x[i]);
        iterate.y[i]
            + term.linear
            + term.square * x
            + term.l1 * self.states[i].sign(term)
            + self.rho * (x - self.center[i])
    }

    /// Moves the free coordinates to where their slopes vanish, by one row per free coordinate.
    fn solve(&self, iterate: &mut Iterate<'_>) -> Option<()> {
        let is_free = |&i: &usize| self.states[i].is_free();
        let free: Vec<usize> = (0..self.states.len()).filter(is_free).collect();
        let extra = |&i: &usize| iterate.terms[i].square + self.rho;
        let extra: Vec<f64> = free.iter().map(extra).collect();
        let mut step = Mat::from_fn(free.len(), 1, |a, _| -self.slope(iterate, free[a]));
        iterate.q.solve_shifted(&free, &extra, &mut step, iterate.settings.par)?;
        let step = column(step.as_ref(), 0);
        if !step.iter().all(|value| value.is_finite()) {
            return None;
        }
        let target = |(&i, step): (&usize, &f64)| (i, iterate.x[i] + step);
        let targets: Vec<(usize, f64)> = free.iter().zip(step).map(target).collect();
        iterate.set(targets.into_iter());
        Some(())
    }

    /// The same through `R = (Q + s I)^-1`, by one row per coordinate that is fixed or whose diagonal
    /// differs. With `z` the multipliers of these, `(Q + s I) step = g - z`, so `Q step` is known.
    fn solve_shared(&self, iterate: &mut Iterate<'_>, shared: &SharedInverse) -> Option<()> {
        let (n, par) = (self.states.len(), iterate.settings.par);
        let r = shared.inverse.as_ref();
        let is_free = |i: usize| self.states[i].is_free();
        let extra = |i: usize| iterate.terms[i].square + self.rho - shared.shift;
        let in_support = |&i: &usize| !is_free(i) || extra(i) > 0.0;
        let support: Vec<usize> = (0..n).filter(in_support).collect();
        let mut right = vec![0.0; n];
        for i in (0..n).filter(|&i| is_free(i)) {
            right[i] = -self.slope(iterate, i);
        }
        let mut step = vec![0.0; n];
        add_times_vector(&mut step, 1.0, r, &right, par);
        let inverse_weight = |a: usize| {
            let i = support[a];
            if is_free(i) { 1.0 / extra(i) } else { 0.0 }
        };
        let system = lower_submatrix(r, &support, inverse_weight);
        let mut z = Mat::from_fn(support.len(), 1, |a, _| step[support[a]]);
        Cholesky::new(system, par).ok()?.solve(z.as_mut());
        for (a, &i) in support.iter().enumerate() {
            add_scaled(&mut step, -z[(a, 0)], column(r, i));
            right[i] -= z[(a, 0)];
        }
        if !step.iter().all(|value| value.is_finite()) {
            return None;
        }
        for i in 0..n {
            // The step of a fixed coordinate is only rounding.
            if is_free(i) {
                iterate.x[i] += step[i];
            }
            iterate.y[i] += right[i] - shared.shift * step[i];
        }
        Some(())
    }
}
