//! Coordinate descent: each step minimises over the coordinate that gains most.
//!
//! A step costs one column of Q and one look at every slope. That is quick while few coordinates
//! are free; [`super::active_set`] takes over where many are, or where they are strongly coupled.

use super::iterate::Iterate;
use super::{Quadratic, Settings};
use crate::solve::Certificate;

/// The terms spread out for the selection loop.
pub struct Descent {
    has_l1: bool,
    /// `Q_ii + d_i`, kept away from zero, and its inverse.
    curvature: Vec<f64>,
    inverse: Vec<f64>,
    linear: Vec<f64>,
    l1: Vec<f64>,
    square: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
}

impl Descent {
    pub fn new(q: &impl Quadratic, terms: &[super::Term]) -> Self {
        let sums: Vec<f64> = terms
            .iter()
            .enumerate()
            .map(|(i, term)| q.diagonal(i) + term.square)
            .collect();
        let floor = sums
            .iter()
            .fold(f64::MIN_POSITIVE, |most, sum| most.max(1e-14 * sum));
        let curvature: Vec<f64> = sums.into_iter().map(|sum| sum.max(floor)).collect();
        let of = |field: fn(&super::Term) -> f64| terms.iter().map(field).collect();
        Self {
            has_l1: terms.iter().any(|term| term.l1 > 0.0),
            inverse: curvature.iter().map(|c| 1.0 / c).collect(),
            curvature,
            linear: of(|term| term.linear),
            l1: of(|term| term.l1),
            square: of(|term| term.square),
            low: of(|term| term.low),
            high: of(|term| term.high),
        }
    }

    /// Up to `most` coordinate steps, with a look at the gap every now and then. The flag says that
    /// no step gains anything beyond rounding.
    pub fn run(
        &self,
        q: &impl Quadratic,
        iterate: &mut Iterate<'_>,
        most: usize,
        settings: Settings,
    ) -> (Certificate, bool) {
        let check_every = (iterate.x.len() / 8).clamp(16, 256);
        let mut certificate = iterate.certificate(settings);
        for done in 1..=most {
            if certificate.converged {
                return (certificate, false);
            }
            let best = if self.has_l1 {
                self.best_step_l1(&iterate.x, &iterate.y)
            } else {
                self.best_step(&iterate.x, &iterate.y)
            };
            let Some((i, target)) = best else {
                return (iterate.certificate(settings), true);
            };
            iterate.set(q, std::iter::once((i, target)));
            iterate.steps += 1;
            if done % check_every == 0 {
                certificate = iterate.certificate(settings);
            }
        }
        (iterate.certificate(settings), false)
    }

    /// Where minimising over coordinate `i` leads.
    pub fn target(&self, i: usize, x: f64, y: f64) -> f64 {
        let free = x - (y + self.linear[i] + self.square[i] * x) * self.inverse[i];
        let threshold = self.l1[i] * self.inverse[i];
        let shrunk = free - free.clamp(-threshold, threshold);
        shrunk.clamp(self.low[i], self.high[i])
    }

    /// The coordinate whose minimisation gains most, and where it goes. Gains are written in the
    /// change, not as a difference of two objectives: near the optimum they are far below the
    /// rounding of either.
    fn best_step(&self, x: &[f64], y: &[f64]) -> Option<(usize, f64)> {
        let n = x.len();
        let (x, y) = (&x[..n], &y[..n]);
        let (curvature, inverse) = (&self.curvature[..n], &self.inverse[..n]);
        let (linear, square) = (&self.linear[..n], &self.square[..n]);
        let (low, high) = (&self.low[..n], &self.high[..n]);
        let mut best = None;
        let mut most = 0.0;
        for i in 0..n {
            let gradient = y[i] + linear[i] + square[i] * x[i];
            let target = smaller(larger(x[i] - gradient * inverse[i], low[i]), high[i]);
            let change = target - x[i];
            let gain = -change * (gradient + 0.5 * curvature[i] * change);
            if gain > most {
                most = gain;
                best = Some((i, target));
            }
        }
        best.filter(|(i, target)| *target != x[*i] && target.is_finite())
    }

    /// As [`Self::best_step`], with soft thresholding for the L1 terms.
    fn best_step_l1(&self, x: &[f64], y: &[f64]) -> Option<(usize, f64)> {
        let n = x.len();
        let (x, y) = (&x[..n], &y[..n]);
        let (curvature, inverse) = (&self.curvature[..n], &self.inverse[..n]);
        let (linear, square) = (&self.linear[..n], &self.square[..n]);
        let (low, high, l1) = (&self.low[..n], &self.high[..n], &self.l1[..n]);
        let mut best = None;
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
                best = Some((i, target));
            }
        }
        best.filter(|(i, target)| *target != x[*i] && target.is_finite())
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
