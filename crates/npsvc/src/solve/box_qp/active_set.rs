//! Active sets under a vanishing proximal term: for many free or strongly coupled coordinates.
//!
//! ```text
//! min_x  1/2 x^T Q x + sum_i h_i(x_i) + rho/2 |x - center|^2
//! ```
//!
//! Suppose it is known which coordinates end at a bound, which at the kink of their L1 term, and on
//! which side of it the free ones are. Then the free ones solve a linear system. Its solution shows
//! which suppositions were wrong: free coordinates outside their box, bound ones whose slope points
//! inwards. They are corrected all at once, and a handful of systems settles the matter as long as
//! `rho` keeps the system well conditioned and the start is good. So `rho` falls by tenths, each
//! solution being the start and the centre of the next. This is the proximal point method with
//! growing steps, whose duality gap falls faster than any geometric sequence.
//!
//! The linear system has one row per free coordinate. Where nearly all are free, it is solved
//! through `R = (Q + s I)^-1` instead, which all problems on one matrix share: with `W` the diagonal
//! that is infinite on fixed coordinates and `d_i + rho - s` on free ones, and `T` its support,
//!
//! ```text
//! (Q + s I + W)^-1 = R - R_:T (W_T^-1 + R_TT)^-1 R_T: .
//! ```

use faer::{Mat, MatRef, Par};

use super::Term;
use super::iterate::Iterate;
use crate::algebra::{self, Cholesky, Matrix, principal_submatrix};

/// Proximal weight of the first stage, relative to the mean diagonal of Q: from anywhere, where
/// few coordinates are bound, and from the solution of a similar problem.
const FIRST: f64 = 1e-2;
const FIRST_MOSTLY_FREE: f64 = 1e-3;
const FIRST_WARM: f64 = 1e-4;
/// The weights a stage may have, relative to the mean diagonal of Q.
const LARGEST: f64 = 1e4;
const SMALLEST: f64 = 1e-12;
/// A stage's weight relative to the one before.
const FALL: f64 = 0.1;
/// When a stage has to be approached in steps closer than this, the method gives up.
const CLOSEST: f64 = 0.7;
/// Linear systems a stage may take.
const MOST_SYSTEMS: usize = 14;
/// Slopes below this, relative to the largest, are rounding.
const SLOPE_ROUNDING: f64 = 1e-11;

/// Where a coordinate is supposed to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BoundState {
    Low,
    High,
    /// At zero, where the L1 term has its kink.
    Kink,
    /// Inside the box, and above or below the kink, if the term has one inside.
    Above,
    Below,
}

impl BoundState {
    fn is_free(self) -> bool {
        matches!(self, Self::Above | Self::Below)
    }

    /// The coordinate's value, if the place fixes it.
    fn value(self, term: &Term) -> Option<f64> {
        match self {
            Self::Low => Some(term.low),
            Self::High => Some(term.high),
            Self::Kink => Some(0.0),
            Self::Above | Self::Below => None,
        }
    }

    /// The sign of the L1 term's slope there.
    fn sign(self, term: &Term) -> f64 {
        match self {
            _ if term.low >= 0.0 => 1.0,
            _ if term.high <= 0.0 => -1.0,
            Self::High | Self::Above => 1.0,
            Self::Low | Self::Below => -1.0,
            Self::Kink => 0.0,
        }
    }

    /// The place that a value suggests. What is at a bound is supposed to stay there: releasing too
    /// few coordinates makes the first systems small, and the next ones correct it.
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
}

/// `R = (Q + shift I)^-1`.
pub(super) struct SharedInverse {
    pub inverse: Mat<f64>,
    pub shift: f64,
}

impl SharedInverse {
    /// `None` if the shift is too small for the matrix to be positive definite in floating point.
    pub fn new(q: MatRef<'_, f64>, shift: f64, par: Par) -> Option<Self> {
        let mut shifted = q.to_owned();
        for i in 0..shifted.nrows() {
            shifted[(i, i)] += shift;
        }
        let inverse = Cholesky::new(shifted, par).ok()?.into_inverse();
        Some(Self { inverse, shift })
    }
}

/// The succession of stages of one problem.
pub(super) struct ActiveSet {
    states: Vec<BoundState>,
    /// Mean diagonal of Q.
    scale: f64,
    /// The proximal weight that was settled last.
    settled: Option<f64>,
    first: f64,
    pub has_given_up: bool,
}

impl ActiveSet {
    pub fn new(q: Matrix<'_>, iterate: &Iterate<'_>, is_warm: bool) -> Self {
        let n = iterate.x.len().max(1);
        let scale = (0..iterate.x.len()).map(|i| q.diagonal(i)).sum::<f64>() / n as f64;
        let states: Vec<BoundState> = iterate
            .terms
            .iter()
            .zip(&iterate.x)
            .map(|(term, &x)| BoundState::suggested(term, x))
            .collect();
        let free = states.iter().filter(|place| place.is_free()).count();
        let first = match free {
            _ if is_warm => FIRST_WARM,
            free if 4 * free > 3 * n => FIRST_MOSTLY_FREE,
            _ => FIRST,
        };
        Self {
            states,
            scale: scale.max(f64::MIN_POSITIVE),
            settled: None,
            first,
            has_given_up: false,
        }
    }

    /// The proximal weight the next stage aims at; `None` when there is none left.
    pub fn next_weight(&self) -> Option<f64> {
        let next = match self.settled {
            None => self.first * self.scale,
            Some(settled) => FALL * settled,
        };
        (!self.has_given_up && next >= SMALLEST * self.scale).then_some(next)
    }

    /// Rows of the linear systems by free coordinates, and through the shared inverse.
    pub fn system_sizes(&self, terms: &[Term], least_square: f64) -> (usize, usize) {
        let free = self.states.iter().filter(|place| place.is_free()).count();
        let support = self
            .states
            .iter()
            .zip(terms)
            .filter(|(place, term)| !place.is_free() || term.square > least_square)
            .count();
        (free, support)
    }

    /// Solves the stage of weight `aim`, by way of larger weights if necessary.
    pub fn solve_at_weight(
        &mut self,
        q: Matrix<'_>,
        iterate: &mut Iterate<'_>,
        aim: f64,
        shared: Option<&SharedInverse>,
        par: Par,
    ) {
        let mut next = aim;
        loop {
            let shared = shared.filter(|_| next == aim);
            if self.try_weight(q, iterate, next, shared, par) {
                self.settled = Some(next);
                if next == aim {
                    return;
                }
                next = aim;
                continue;
            }
            next = match self.settled {
                Some(settled) => (settled * next).sqrt(),
                None => 10.0 * next,
            };
            let is_too_close = self.settled.is_some_and(|settled| next > CLOSEST * settled);
            if is_too_close || next > LARGEST * self.scale {
                self.has_given_up = true;
                return;
            }
        }
    }

    /// One stage; leaves everything as it was if the states do not settle.
    fn try_weight(
        &mut self,
        q: Matrix<'_>,
        iterate: &mut Iterate<'_>,
        rho: f64,
        shared: Option<&SharedInverse>,
        par: Par,
    ) -> bool {
        let kept = (iterate.x.clone(), iterate.y.clone(), self.states.clone());
        for _ in 0..MOST_SYSTEMS {
            let terms = iterate.terms;
            let fixed = |(i, place): (usize, &BoundState)| Some((i, place.value(&terms[i])?));
            iterate.set(q, self.states.iter().enumerate().filter_map(fixed));
            let stage = Stage {
                states: &self.states,
                center: &kept.0,
                rho,
            };
            let shared = shared.filter(|shared| {
                let (free, support) = self.system_sizes(iterate.terms, shared.shift - rho);
                support < free
            });
            let moved = match shared {
                None => stage.solve(q, iterate, par),
                Some(shared) => stage.solve_shared(iterate, shared, par),
            };
            iterate.steps += 1;
            if moved.is_none() {
                break;
            }
            if self.correct(iterate, &kept.0, rho) == 0 {
                return true;
            }
        }
        (iterate.x, iterate.y, self.states) = kept;
        false
    }

    /// Corrects the states that the solution contradicts; how many.
    fn correct(&mut self, iterate: &Iterate<'_>, center: &[f64], rho: f64) -> usize {
        let mut changed = 0;
        for (i, place) in self.states.iter_mut().enumerate() {
            let (term, x) = (&iterate.terms[i], iterate.x[i]);
            let slope = iterate.y[i] + term.linear + term.square * x + rho * (x - center[i]);
            let rounding = SLOPE_ROUNDING * (iterate.y[i].abs() + term.linear.abs() + term.l1);
            let full = slope + term.l1 * place.sign(term);
            let next = match *place {
                BoundState::Low if full < -rounding && term.low < term.high => BoundState::Below,
                BoundState::High if full > rounding => BoundState::Above,
                BoundState::Kink if slope > term.l1 + rounding => BoundState::Below,
                BoundState::Kink if slope < -term.l1 - rounding => BoundState::Above,
                BoundState::Above | BoundState::Below if x < term.low => BoundState::Low,
                BoundState::Above | BoundState::Below if x > term.high => BoundState::High,
                BoundState::Above if term.has_kink() && x < 0.0 => BoundState::Kink,
                BoundState::Below if term.has_kink() && x > 0.0 => BoundState::Kink,
                same => same,
            };
            changed += usize::from(next != *place);
            *place = next;
        }
        changed
    }
}

/// The suppositions and the proximal term of one linear system.
struct Stage<'a> {
    states: &'a [BoundState],
    center: &'a [f64],
    rho: f64,
}

impl Stage<'_> {
    /// The slope of the objective in free coordinate `i`.
    fn slope(&self, iterate: &Iterate<'_>, i: usize) -> f64 {
        let (term, x) = (&iterate.terms[i], iterate.x[i]);
        iterate.y[i]
            + term.linear
            + term.square * x
            + term.l1 * self.states[i].sign(term)
            + self.rho * (x - self.center[i])
    }

    /// Moves the free coordinates to where their slopes vanish: one row per free coordinate.
    fn solve(&self, q: Matrix<'_>, iterate: &mut Iterate<'_>, par: Par) -> Option<()> {
        let free: Vec<usize> = (0..self.states.len())
            .filter(|&i| self.states[i].is_free())
            .collect();
        let extra: Vec<f64> = free
            .iter()
            .map(|&i| iterate.terms[i].square + self.rho)
            .collect();
        let mut step = Mat::from_fn(free.len(), 1, |a, _| -self.slope(iterate, free[a]));
        q.solve_shifted(&free, &extra, &mut step, par)?;
        let step = algebra::column(step.as_ref(), 0);
        if !step.iter().all(|value| value.is_finite()) {
            return None;
        }
        let x = &iterate.x;
        let targets: Vec<(usize, f64)> = free
            .iter()
            .zip(step)
            .map(|(&i, step)| (i, x[i] + step))
            .collect();
        iterate.set(q, targets.into_iter());
        Some(())
    }

    /// The same through `R = (Q + s I)^-1`: one row per coordinate that is fixed or whose diagonal
    /// differs. With `z` the multipliers on these, `(Q + s I) step = g - z`, so `Q step` is known.
    fn solve_shared(
        &self,
        iterate: &mut Iterate<'_>,
        shared: &SharedInverse,
        par: Par,
    ) -> Option<()> {
        let n = self.states.len();
        let r = shared.inverse.as_ref();
        let extra = |i: usize| iterate.terms[i].square + self.rho - shared.shift;
        let support: Vec<usize> = (0..n)
            .filter(|&i| !self.states[i].is_free() || extra(i) > 0.0)
            .collect();
        let mut right = vec![0.0; n];
        for (i, right) in right.iter_mut().enumerate() {
            if self.states[i].is_free() {
                *right = -self.slope(iterate, i);
            }
        }
        let mut step = vec![0.0; n];
        algebra::add_times_vector(&mut step, 1.0, r, &right, par);
        let mut system = principal_submatrix(r, &support, 0.0);
        for (a, &i) in support.iter().enumerate() {
            if self.states[i].is_free() {
                system[(a, a)] += 1.0 / extra(i);
            }
        }
        let factor = Cholesky::new(system, par).ok()?;
        let mut z = Mat::from_fn(support.len(), 1, |a, _| step[support[a]]);
        factor.solve(z.as_mut());
        for (a, &i) in support.iter().enumerate() {
            algebra::add_scaled(&mut step, -z[(a, 0)], algebra::column(r, i));
            right[i] -= z[(a, 0)];
        }
        if !step.iter().all(|value| value.is_finite()) {
            return None;
        }
        for i in 0..n {
            // Fixed coordinates move by rounding only; they stay.
            let moved = if self.states[i].is_free() {
                step[i]
            } else {
                0.0
            };
            iterate.x[i] += moved;
            iterate.y[i] += right[i] - shared.shift * step[i];
        }
        Some(())
    }
}
