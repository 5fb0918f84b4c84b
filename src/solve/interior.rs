//! A primal-dual interior-point method for box QPs in which most coordinates end up free.
//!
//! ```text
//! min_x  1/2 x^T H x + b^T x,   lo <= x <= hi
//! ```
//!
//! Mehrotra's predictor and corrector share one Cholesky factor of `H + Z/S + W/T` per iteration,
//! with `S = x - lo`, `T = hi - x` and their multipliers `z`, `w`. A dozen iterations do, whatever
//! the condition of `H`, where coordinate descent would need thousands of sweeps.

use faer::{Mat, Par};

use crate::kernel::{Cholesky, algebra};

const MOST_ITERATIONS: usize = 60;
/// Share of the way to the nearest bound that a step may go.
const TO_THE_BOUNDARY: f64 = 0.995;

/// The problem, with a dense `H`.
pub struct BoxQp<'a> {
    pub h: &'a Mat<f64>,
    pub b: &'a [f64],
    pub low: &'a [f64],
    pub high: &'a [f64],
}

/// A point inside the box whose complementarity `s^T z + t^T w` is at most `tolerance`, or the best
/// one found, and the number of iterations. `None` if a bound is infinite or the algebra fails at
/// once.
pub fn solve(problem: &BoxQp<'_>, tolerance: f64, par: Par) -> Option<(Vec<f64>, usize)> {
    let mut state = State::new(problem)?;
    for iteration in 0..MOST_ITERATIONS {
        let (gap, residual) = (state.gap(), state.residual());
        if gap <= tolerance && residual <= tolerance {
            return Some((state.x, iteration));
        }
        if state.iterate(problem, par).is_none() {
            return (iteration > 0).then_some((state.x, iteration));
        }
    }
    Some((state.x, MOST_ITERATIONS))
}

struct State {
    x: Vec<f64>,
    /// Distances to the bounds.
    s: Vec<f64>,
    t: Vec<f64>,
    /// Multipliers of the bounds.
    z: Vec<f64>,
    w: Vec<f64>,
    /// `H x + b`.
    gradient: Vec<f64>,
}

/// A Newton step.
struct Step {
    dx: Vec<f64>,
    dz: Vec<f64>,
    dw: Vec<f64>,
}

impl State {
    fn new(problem: &BoxQp<'_>) -> Option<Self> {
        let bounds = problem.low.iter().zip(problem.high);
        if bounds
            .clone()
            .any(|(low, high)| !low.is_finite() || !high.is_finite() || low >= high)
        {
            return None;
        }
        let x: Vec<f64> = bounds.map(|(low, high)| 0.5 * (low + high)).collect();
        let half: Vec<f64> = x.iter().zip(problem.low).map(|(x, low)| x - low).collect();
        let gradient = gradient(problem, &x);
        let size = gradient.iter().fold(1.0, |size: f64, g| size.max(g.abs()));
        let n = x.len();
        Some(Self {
            x,
            s: half.clone(),
            t: half,
            z: vec![size; n],
            w: vec![size; n],
            gradient,
        })
    }

    /// `s^T z + t^T w`.
    fn gap(&self) -> f64 {
        algebra::inner(&self.s, &self.z) + algebra::inner(&self.t, &self.w)
    }

    /// Sum over the coordinates of the gradient of the Lagrangian times the width of the box.
    fn residual(&self) -> f64 {
        (0..self.x.len())
            .map(|i| (self.gradient[i] - self.z[i] + self.w[i]).abs() * (self.s[i] + self.t[i]))
            .sum()
    }

    fn iterate(&mut self, problem: &BoxQp<'_>, par: Par) -> Option<()> {
        let n = self.x.len();
        let mut system = problem.h.clone();
        for i in 0..n {
            system[(i, i)] += self.z[i] / self.s[i] + self.w[i] / self.t[i];
        }
        let factor = Cholesky::new(system, par).ok()?;
        let mu = self.gap() / (2 * n) as f64;
        let predictor = self.step(&factor, 0.0, None);
        let reach = self.reach(&predictor, 1.0);
        let ahead = self.gap_after(&predictor, reach) / (2 * n) as f64;
        let centring = (ahead / mu).powi(3).clamp(1e-6, 1.0);
        let corrector = self.step(&factor, centring * mu, Some(&predictor));
        let length = self.reach(&corrector, TO_THE_BOUNDARY);
        self.advance(problem, &corrector, length);
        self.x
            .iter()
            .chain(&self.gradient)
            .all(|value| value.is_finite())
            .then_some(())
    }

    /// The Newton step towards complementarity `target`; `predictor` gives the second-order part.
    fn step(&self, factor: &Cholesky, target: f64, predictor: Option<&Step>) -> Step {
        let n = self.x.len();
        let second =
            |i: usize| predictor.map_or((0.0, 0.0), |p| (p.dx[i] * p.dz[i], -p.dx[i] * p.dw[i]));
        let mut right = Mat::from_fn(n, 1, |i, _| {
            let (of_z, of_w) = second(i);
            -self.gradient[i] + (target - of_z) / self.s[i] - (target - of_w) / self.t[i]
        });
        factor.solve(right.as_mut());
        let dx = algebra::column(right.as_ref(), 0).to_vec();
        let dz = (0..n)
            .map(|i| (target - second(i).0 - self.z[i] * dx[i]) / self.s[i] - self.z[i])
            .collect();
        let dw = (0..n)
            .map(|i| (target - second(i).1 + self.w[i] * dx[i]) / self.t[i] - self.w[i])
            .collect();
        Step { dx, dz, dw }
    }

    /// How far a step can go, at most 1: `share` of the way to the first bound it meets.
    fn reach(&self, step: &Step, share: f64) -> f64 {
        let mut reach: f64 = 1.0;
        for i in 0..self.x.len() {
            let moves = [
                (self.s[i], step.dx[i]),
                (self.t[i], -step.dx[i]),
                (self.z[i], step.dz[i]),
                (self.w[i], step.dw[i]),
            ];
            for (value, change) in moves {
                if change < 0.0 {
                    reach = reach.min(-share * value / change);
                }
            }
        }
        reach
    }

    fn gap_after(&self, step: &Step, length: f64) -> f64 {
        (0..self.x.len())
            .map(|i| {
                let dx = length * step.dx[i];
                (self.s[i] + dx) * (self.z[i] + length * step.dz[i])
                    + (self.t[i] - dx) * (self.w[i] + length * step.dw[i])
            })
            .sum()
    }

    fn advance(&mut self, problem: &BoxQp<'_>, step: &Step, length: f64) {
        for i in 0..self.x.len() {
            let dx = length * step.dx[i];
            self.x[i] += dx;
            // Kept by themselves: close to a bound `x - lo` would cancel.
            self.s[i] += dx;
            self.t[i] -= dx;
            self.z[i] += length * step.dz[i];
            self.w[i] += length * step.dw[i];
        }
        self.gradient = gradient(problem, &self.x);
    }
}

fn gradient(problem: &BoxQp<'_>, x: &[f64]) -> Vec<f64> {
    let mut gradient = problem.b.to_vec();
    algebra::add_times_vector(&mut gradient, 1.0, problem.h.as_ref(), x, Par::Seq);
    gradient
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagonal_problem_is_clipped_coordinate_by_coordinate() {
        let h = Mat::from_fn(3, 3, |i, j| if i == j { 2.0 } else { 0.0 });
        let problem = BoxQp {
            h: &h,
            b: &[-1.0, -8.0, 8.0],
            low: &[-1.0; 3],
            high: &[1.0; 3],
        };
        let (x, iterations) = solve(&problem, 1e-10, Par::Seq).unwrap();
        for (found, expected) in x.iter().zip([0.5, 1.0, -1.0]) {
            assert!((found - expected).abs() < 1e-8, "{x:?}");
        }
        assert!(iterations < 20);
    }

    #[test]
    fn a_singular_matrix_is_no_obstacle() {
        let h = Mat::from_fn(4, 4, |_, _| 1.0);
        let problem = BoxQp {
            h: &h,
            b: &[-1.0; 4],
            low: &[-1.0; 4],
            high: &[1.0; 4],
        };
        let (x, _) = solve(&problem, 1e-10, Par::Seq).unwrap();
        assert!((x.iter().sum::<f64>() - 1.0).abs() < 1e-8, "{x:?}");
    }

    #[test]
    fn an_unbounded_box_is_refused() {
        let h = Mat::<f64>::identity(1, 1);
        let problem = BoxQp {
            h: &h,
            b: &[1.0],
            low: &[f64::NEG_INFINITY],
            high: &[1.0],
        };
        assert!(solve(&problem, 1e-10, Par::Seq).is_none());
    }
}
