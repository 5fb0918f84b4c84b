//! A primal-dual interior-point method, for problems that the active sets do not solve.
//!
//! ```text
//! min_x  1/2 x^T H x + b^T x + sum_i w_i |x_i|,   lo <= x <= hi
//! ```
//!
//! A coordinate with an L1 term is the difference of two halves, `x = u - v` with `u, v >= 0`, which
//! share its row of `H`. Each half `p` has a distance `s` to its lower and `t` to its upper bound,
//! with multipliers `z` and `w`. Newton's equations for a half of sign `g` are
//! `g (H dx)_i + d dp = rho` with the barrier `d = z/s + w/t`. Eliminating the halves leaves
//! `(H + E) dx = right` with `E = 1 / sum 1/d`. One Cholesky factor per iteration serves both the
//! predictor and the corrector of Mehrotra. About twelve iterations are enough, independently of the
//! condition of `H`.

use faer::{Mat, Par};

use super::Term;
use crate::algebra::{Cholesky, add_times_vector, shift_diagonal};

const MAX_ITERATIONS: usize = 60;
/// A step ends at this share of the distance to the nearest bound.
const TO_THE_BOUNDARY: f64 = 0.995;
/// How the distances to the lower and to the upper bound change with a half.
const SIDES: [f64; 2] = [1.0, -1.0];

/// A point inside the box whose complementarity is at most `tolerance`, or the best one found, and
/// the number of iterations. `h` contains the square parts of the terms. `None` if a bound is
/// infinite, a box has no interior, or the first linear system cannot be solved.
pub(super) fn solve(
    h: &Mat<f64>,
    terms: &[Term],
    tolerance: f64,
    par: Par,
) -> Option<(Vec<f64>, usize)> {
    let mut point = InteriorPoint::new(h, terms, par)?;
    for iteration in 0..MAX_ITERATIONS {
        if point.gap() <= tolerance && point.residual() <= tolerance {
            return Some((point.x, iteration));
        }
        if point.iterate().is_none() {
            return (iteration > 0).then_some((point.x, iteration));
        }
    }
    Some((point.x, MAX_ITERATIONS))
}

/// One half of a coordinate, or a whole coordinate without a kink.
#[derive(Clone, Copy, Debug)]
struct HalfCoordinate {
    coordinate: usize,
    sign: f64,
    /// Slope of the L1 term.
    l1: f64,
    /// `s` and `t`. They are stored because close to a bound a difference would cancel.
    distances: [f64; 2],
    /// `z` and `w`.
    multipliers: [f64; 2],
}

impl HalfCoordinate {
    /// The middle of an interval of length `width`.
    fn new(coordinate: usize, sign: f64, l1: f64, width: f64) -> Self {
        Self { coordinate, sign, l1, distances: [0.5 * width; 2], multipliers: [0.0; 2] }
    }

    /// `s z + t w` after `length` times the change.
    fn complementarity(&self, change: &Change, length: f64) -> f64 {
        let side = |b: usize| {
            let distance = self.distances[b] + SIDES[b] * (length * change.value);
            distance * (self.multipliers[b] + length * change.multipliers[b])
        };
        side(0) + side(1)
    }
}

/// The Newton step of a half.
#[derive(Clone, Copy, Debug, Default)]
struct Change {
    value: f64,
    multipliers: [f64; 2],
}

/// The barriers `d` of the halves, their inverses summed per coordinate, and the factor of `H + E`.
struct NewtonSystem {
    barrier: Vec<f64>,
    inverse_barrier: Vec<f64>,
    cholesky: Cholesky,
}

struct InteriorPoint<'a> {
    h: &'a Mat<f64>,
    linear: Vec<f64>,
    par: Par,
    halves: Vec<HalfCoordinate>,
    x: Vec<f64>,
    /// `H x + b`.
    gradient: Vec<f64>,
}

impl<'a> InteriorPoint<'a> {
    fn new(h: &'a Mat<f64>, terms: &[Term], par: Par) -> Option<Self> {
        let mut halves = Vec::with_capacity(terms.len());
        for (i, term) in terms.iter().enumerate() {
            if !term.low.is_finite() || !term.high.is_finite() || term.low >= term.high {
                return None;
            }
            if term.has_kink() {
                halves.push(HalfCoordinate::new(i, 1.0, term.l1, term.high));
                halves.push(HalfCoordinate::new(i, -1.0, term.l1, -term.low));
            } else {
                // On one side of the kink the L1 term is linear.
                let slope = if term.high > 0.0 { term.l1 } else { -term.l1 };
                let width = term.high - term.low;
                halves.push(HalfCoordinate::new(i, 1.0, slope, width));
            }
        }
        let middle = |term: &Term| 0.5 * (term.low + term.high);
        let mut point = Self {
            h,
            linear: terms.iter().map(|term| term.linear).collect(),
            par,
            halves,
            x: terms.iter().map(middle).collect(),
            gradient: Vec::new(),
        };
        point.update_gradient();
        let size = point.gradient.iter().fold(1.0, |size: f64, g| size.max(g.abs()));
        for half in &mut point.halves {
            half.multipliers = [size; 2];
        }
        Some(point)
    }

    fn update_gradient(&mut self) {
        self.gradient.clone_from(&self.linear);
        add_times_vector(&mut self.gradient, 1.0, self.h.as_ref(), &self.x, self.par);
    }

    /// Complementarity, `sum s z + t w`.
    fn gap(&self) -> f64 {
        self.halves.iter().map(|half| half.complementarity(&Change::default(), 0.0)).sum()
    }

    /// Complementarity after `length` times the changes.
    fn gap_after(&self, changes: &[Change], length: f64) -> f64 {
        let halves = self.halves.iter().zip(changes);
        halves.map(|(half, change)| half.complementarity(change, length)).sum()
    }

    /// Slope of the Lagrangian in a half, without its multipliers.
    fn slope(&self, half: &HalfCoordinate) -> f64 {
        half.sign * self.gradient[half.coordinate] + half.l1
    }

    /// Sum over the halves of the slope of the Lagrangian times the width of the box.
    fn residual(&self) -> f64 {
        let residual = |half: &HalfCoordinate| {
            let ([s, t], [z, w]) = (half.distances, half.multipliers);
            (self.slope(half) - z + w).abs() * (s + t)
        };
        self.halves.iter().map(residual).sum()
    }

    fn newton_system(&self) -> Option<NewtonSystem> {
        let barrier = |half: &HalfCoordinate| {
            let ([s, t], [z, w]) = (half.distances, half.multipliers);
            z / s + w / t
        };
        let barrier: Vec<f64> = self.halves.iter().map(barrier).collect();
        let mut inverse_barrier = vec![0.0; self.x.len()];
        for (half, barrier) in self.halves.iter().zip(&barrier) {
            inverse_barrier[half.coordinate] += 1.0 / barrier;
        }
        let mut system = self.h.clone();
        shift_diagonal(&mut system, |i| 1.0 / inverse_barrier[i]);
        let cholesky = Cholesky::new(system, self.par).ok()?;
        Some(NewtonSystem { barrier, inverse_barrier, cholesky })
    }

    /// Mehrotra's predictor and corrector. `None` if the algebra fails.
    fn iterate(&mut self) -> Option<()> {
        let count = (2 * self.halves.len()) as f64;
        let system = self.newton_system()?;
        let mu = self.gap() / count;
        let none = vec![Change::default(); self.halves.len()];
        let predictor = self.changes(&system, 0.0, &none);
        let ahead = self.gap_after(&predictor, self.step_length(&predictor, 1.0)) / count;
        let target = mu * (ahead / mu).powi(3).clamp(1e-6, 1.0);
        let corrector = self.changes(&system, target, &predictor);
        let length = self.step_length(&corrector, TO_THE_BOUNDARY);
        for (half, change) in self.halves.iter_mut().zip(&corrector) {
            let value = length * change.value;
            self.x[half.coordinate] += half.sign * value;
            for (b, side) in SIDES.into_iter().enumerate() {
                half.distances[b] += side * value;
                half.multipliers[b] += length * change.multipliers[b];
            }
        }
        self.update_gradient();
        let mut numbers = self.x.iter().chain(&self.gradient);
        numbers.all(|value| value.is_finite()).then_some(())
    }

    /// The Newton step towards complementarity `target`, corrected for the products of `earlier`.
    fn changes(&self, system: &NewtonSystem, target: f64, earlier: &[Change]) -> Vec<Change> {
        let (halves, barrier) = (&self.halves, &system.barrier);
        let inverse_barrier = &system.inverse_barrier;
        // The complementarity to aim at, for both bounds of each half.
        let aims = |change: &Change| {
            [0, 1].map(|b| target - SIDES[b] * change.value * change.multipliers[b])
        };
        let aims: Vec<[f64; 2]> = earlier.iter().map(aims).collect();
        let right_of = |a: usize| {
            let ([s, t], [aim_s, aim_t]) = (halves[a].distances, aims[a]);
            aim_s / s - aim_t / t - self.slope(&halves[a])
        };
        let mut right = Mat::zeros(self.x.len(), 1);
        for (a, half) in halves.iter().enumerate() {
            let i = half.coordinate;
            right[(i, 0)] += half.sign * right_of(a) / (barrier[a] * inverse_barrier[i]);
        }
        let mut dx = right.clone();
        system.cholesky.solve(dx.as_mut());
        let change = |(a, half): (usize, &HalfCoordinate)| {
            let i = half.coordinate;
            let h_dx = right[(i, 0)] - dx[(i, 0)] / inverse_barrier[i];
            let value = (right_of(a) - half.sign * h_dx) / barrier[a];
            let multipliers = [0, 1].map(|b| {
                let old = half.multipliers[b];
                (aims[a][b] - SIDES[b] * old * value) / half.distances[b] - old
            });
            Change { value, multipliers }
        };
        halves.iter().enumerate().map(change).collect()
    }

    /// Length of a step, at most 1: `share` of the distance to the first bound.
    fn step_length(&self, changes: &[Change], share: f64) -> f64 {
        let mut length: f64 = 1.0;
        for (half, change) in self.halves.iter().zip(changes) {
            for (b, side) in SIDES.into_iter().enumerate() {
                for (value, change) in [
                    (half.distances[b], side * change.value),
                    (half.multipliers[b], change.multipliers[b]),
                ] {
                    if change < 0.0 {
                        length = length.min(-share * value / change);
                    }
                }
            }
        }
        length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(linear: &[f64], l1: f64) -> Vec<Term> {
        let term = |&linear: &f64| Term { linear, l1, square: 0.0, low: -1.0, high: 1.0 };
        linear.iter().map(term).collect()
    }

    #[test]
    fn a_diagonal_problem_is_clipped_coordinate_by_coordinate() {
        let h = Mat::from_fn(3, 3, |i, j| if i == j { 2.0 } else { 0.0 });
        let (x, iterations) = solve(&h, &terms(&[-1.0, -8.0, 8.0], 0.0), 1e-10, Par::Seq).unwrap();
        for (found, expected) in x.iter().zip([0.5, 1.0, -1.0]) {
            assert!((found - expected).abs() < 1e-8, "{x:?}");
        }
        assert!(iterations < 20);
    }

    #[test]
    fn an_l1_term_shrinks_towards_zero() {
        let h = Mat::from_fn(3, 3, |i, j| if i == j { 2.0 } else { 0.0 });
        let (x, _) = solve(&h, &terms(&[-1.0, 0.3, 8.0], 0.5), 1e-10, Par::Seq).unwrap();
        for (found, expected) in x.iter().zip([0.25, 0.0, -1.0]) {
            assert!((found - expected).abs() < 1e-6, "{x:?}");
        }
    }

    #[test]
    fn a_singular_matrix_is_no_obstacle() {
        let h = Mat::from_fn(4, 4, |_, _| 1.0);
        let (x, _) = solve(&h, &terms(&[-1.0; 4], 0.0), 1e-10, Par::Seq).unwrap();
        assert!((x.iter().sum::<f64>() - 1.0).abs() < 1e-8, "{x:?}");
    }

    #[test]
    fn an_unbounded_box_is_refused() {
        let h = Mat::<f64>::identity(1, 1);
        let unbounded = Term { high: f64::INFINITY, ..terms(&[1.0], 0.0)[0] };
        assert!(solve(&h, &[unbounded], 1e-10, Par::Seq).is_none());
    }
}
