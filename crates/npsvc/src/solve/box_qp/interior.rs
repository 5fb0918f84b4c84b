//! A primal-dual interior-point method for box QPs in which most coordinates end up free.
//!
//! ```text
//! min_x  1/2 x^T H x + b^T x + sum_i w_i |x_i|,   lo <= x <= hi
//! ```
//!
//! A coordinate with an L1 term is the difference of two parts, `x = u - v` with `u, v >= 0`, which
//! share its row of `H`. Every part has a distance to either bound, `s` and `t`, with multipliers
//! `z` and `w`. Newton's equations for a part of sign `g` are `g (H dx)_i + d dp = rho` with
//! `d = z/s + w/t`; eliminating the parts leaves `(H + E) dx = right` with `E = 1 / sum 1/d`, one
//! Cholesky factor per iteration for Mehrotra's predictor and corrector together. A dozen
//! iterations do, whatever the condition of `H`, where coordinate descent would need thousands of
//! sweeps.

use faer::{Mat, Par};

use super::Term;
use crate::algebra::{self, Cholesky};

const MOST_ITERATIONS: usize = 60;
/// Share of the way to the nearest bound that a step may go.
const TO_THE_BOUNDARY: f64 = 0.995;

/// A point inside the box whose complementarity is at most `tolerance`, or the best one found, and
/// the number of iterations. `h` contains the terms' square parts. `None` if a bound is infinite,
/// a box is empty inside, or the algebra fails at once.
pub fn solve(h: &Mat<f64>, terms: &[Term], tolerance: f64, par: Par) -> Option<(Vec<f64>, usize)> {
    let mut state = State::new(h, terms, par)?;
    for iteration in 0..MOST_ITERATIONS {
        if state.gap() <= tolerance && state.residual() <= tolerance {
            return Some((state.x, iteration));
        }
        if state.iterate().is_none() {
            return (iteration > 0).then_some((state.x, iteration));
        }
    }
    Some((state.x, MOST_ITERATIONS))
}

/// One half of a coordinate, or the whole of one without an L1 term.
#[derive(Clone, Copy, Debug)]
struct Part {
    coordinate: usize,
    sign: f64,
    /// Slope of the part by itself: its L1 weight.
    l1: f64,
    /// Distances to the bounds, kept by themselves: close to a bound a difference would cancel.
    s: f64,
    t: f64,
    /// Multipliers of the bounds.
    z: f64,
    w: f64,
}

/// Changes of a part.
#[derive(Clone, Copy, Debug, Default)]
struct Change {
    value: f64,
    z: f64,
    w: f64,
}

struct State<'a> {
    h: &'a Mat<f64>,
    linear: Vec<f64>,
    par: Par,
    parts: Vec<Part>,
    x: Vec<f64>,
    /// `H x + b`.
    gradient: Vec<f64>,
}

impl<'a> State<'a> {
    fn new(h: &'a Mat<f64>, terms: &[Term], par: Par) -> Option<Self> {
        let mut parts = Vec::with_capacity(terms.len());
        let mut x = Vec::with_capacity(terms.len());
        for (coordinate, term) in terms.iter().enumerate() {
            if !term.low.is_finite() || !term.high.is_finite() || term.low >= term.high {
                return None;
            }
            let part = |sign: f64, width: f64| {
                let (s, t) = (0.5 * width, 0.5 * width);
                Part {
                    coordinate,
                    sign,
                    l1: term.l1,
                    s,
                    t,
                    z: 0.0,
                    w: 0.0,
                }
            };
            if term.l1 > 0.0 && term.low < 0.0 && term.high > 0.0 {
                parts.extend([part(1.0, term.high), part(-1.0, -term.low)]);
                x.push(0.5 * (term.high + term.low));
            } else {
                // On one side of the kink the L1 term is linear.
                let slope = if term.high > 0.0 { term.l1 } else { -term.l1 };
                parts.push(Part {
                    l1: slope,
                    ..part(1.0, term.high - term.low)
                });
                x.push(0.5 * (term.low + term.high));
            }
        }
        let linear = terms.iter().map(|term| term.linear).collect();
        let mut state = Self {
            h,
            linear,
            par,
            parts,
            x,
            gradient: Vec::new(),
        };
        state.update_gradient();
        let size = state
            .gradient
            .iter()
            .fold(1.0, |size: f64, g| size.max(g.abs()));
        for part in &mut state.parts {
            (part.z, part.w) = (size, size);
        }
        Some(state)
    }

    fn update_gradient(&mut self) {
        self.gradient.clone_from(&self.linear);
        algebra::add_times_vector(&mut self.gradient, 1.0, self.h.as_ref(), &self.x, self.par);
    }

    /// Complementarity, `sum s z + t w`.
    fn gap(&self) -> f64 {
        self.parts
            .iter()
            .map(|part| part.s * part.z + part.t * part.w)
            .sum()
    }

    /// Slope of the Lagrangian in a part, without its multipliers.
    fn slope(&self, part: &Part) -> f64 {
        part.sign * self.gradient[part.coordinate] + part.l1
    }

    /// Sum over the parts of the Lagrangian's slope times the width of the box.
    fn residual(&self) -> f64 {
        self.parts
            .iter()
            .map(|part| (self.slope(part) - part.z + part.w).abs() * (part.s + part.t))
            .sum()
    }

    fn iterate(&mut self) -> Option<()> {
        let count = (2 * self.parts.len()) as f64;
        let barrier: Vec<f64> = self
            .parts
            .iter()
            .map(|part| part.z / part.s + part.w / part.t)
            .collect();
        let mut softness = vec![0.0; self.x.len()];
        for (part, barrier) in self.parts.iter().zip(&barrier) {
            softness[part.coordinate] += 1.0 / barrier;
        }
        let mut system = self.h.clone();
        for (i, softness) in softness.iter().enumerate() {
            system[(i, i)] += 1.0 / softness;
        }
        let factor = Cholesky::new(system, self.par).ok()?;
        let mu = self.gap() / count;
        let none = vec![Change::default(); self.parts.len()];
        let predictor = self.changes(&factor, &barrier, &softness, 0.0, &none);
        let ahead = self.gap_after(&predictor, self.reach(&predictor, 1.0)) / count;
        let target = mu * (ahead / mu).powi(3).clamp(1e-6, 1.0);
        let corrector = self.changes(&factor, &barrier, &softness, target, &predictor);
        let length = self.reach(&corrector, TO_THE_BOUNDARY);
        for (part, change) in self.parts.iter_mut().zip(&corrector) {
            let value = length * change.value;
            self.x[part.coordinate] += part.sign * value;
            part.s += value;
            part.t -= value;
            part.z += length * change.z;
            part.w += length * change.w;
        }
        self.update_gradient();
        self.x
            .iter()
            .chain(&self.gradient)
            .all(|value| value.is_finite())
            .then_some(())
    }

    /// The Newton step towards complementarity `target`, corrected for the products of `earlier`.
    fn changes(
        &self,
        factor: &Cholesky,
        barrier: &[f64],
        softness: &[f64],
        target: f64,
        earlier: &[Change],
    ) -> Vec<Change> {
        let aims: Vec<(f64, f64)> = earlier
            .iter()
            .map(|change| {
                (
                    target - change.value * change.z,
                    target + change.value * change.w,
                )
            })
            .collect();
        let right_of =
            |part: &Part, aim: &(f64, f64)| aim.0 / part.s - aim.1 / part.t - self.slope(part);
        let mut right = Mat::zeros(self.x.len(), 1);
        for ((part, aim), barrier) in self.parts.iter().zip(&aims).zip(barrier) {
            let i = part.coordinate;
            right[(i, 0)] += part.sign * right_of(part, aim) / (barrier * softness[i]);
        }
        let mut dx = right.clone();
        factor.solve(dx.as_mut());
        self.parts
            .iter()
            .zip(&aims)
            .zip(barrier)
            .map(|((part, aim), barrier)| {
                let i = part.coordinate;
                let h_dx = right[(i, 0)] - dx[(i, 0)] / softness[i];
                let value = (right_of(part, aim) - part.sign * h_dx) / barrier;
                Change {
                    value,
                    z: (aim.0 - part.z * value) / part.s - part.z,
                    w: (aim.1 + part.w * value) / part.t - part.w,
                }
            })
            .collect()
    }

    /// How far a step can go, at most 1: `share` of the way to the first bound it meets.
    fn reach(&self, changes: &[Change], share: f64) -> f64 {
        let mut reach: f64 = 1.0;
        for (part, change) in self.parts.iter().zip(changes) {
            let moves = [
                (part.s, change.value),
                (part.t, -change.value),
                (part.z, change.z),
                (part.w, change.w),
            ];
            for (value, change) in moves {
                if change < 0.0 {
                    reach = reach.min(-share * value / change);
                }
            }
        }
        reach
    }

    fn gap_after(&self, changes: &[Change], length: f64) -> f64 {
        self.parts
            .iter()
            .zip(changes)
            .map(|(part, change)| {
                let value = length * change.value;
                (part.s + value) * (part.z + length * change.z)
                    + (part.t - value) * (part.w + length * change.w)
            })
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(linear: &[f64], l1: f64) -> Vec<Term> {
        let term = |&linear: &f64| Term {
            linear,
            l1,
            square: 0.0,
            low: -1.0,
            high: 1.0,
        };
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
        let unbounded = Term {
            high: f64::INFINITY,
            ..terms(&[1.0], 0.0)[0]
        };
        assert!(solve(&h, &[unbounded], 1e-10, Par::Seq).is_none());
    }
}
