//! The steps of sequential minimal optimisation, with shrinking.
//!
//! A step moves two signed multipliers in the direction that keeps `sum_i beta_i = 0`, up to the nearest bound:
//!
//! ```text
//! beta_i <- beta_i + d,  beta_j <- beta_j - d,    d = (f_j - f_i) / (k_ii + k_jj - 2 k_ij)
//! ```

use super::cache::ColumnCache;
use super::select::{Extremes, FLAT, Pairs, extremes};
use super::{SvmDual, add_rows};
use crate::algebra::{add_scaled, column};
use crate::certificate::Termination;

/// Largest number of steps between two rounds of shrinking.
const SHRINK_PERIOD: usize = 1000;
/// How often a fresh gradient may contradict the running one before the solver stops.
const MAX_CONTRADICTIONS: usize = 8;

/// The state of a solve. Vectors are indexed by position; the active samples come first.
pub(super) struct Solver<'a> {
    dual: &'a SvmDual<'a>,
    tolerance: f64,
    /// Steps between two rounds of shrinking.
    pub period: usize,
    /// Sample at each position, as an index into `dual.samples`.
    sample: Vec<usize>,
    /// Row of the kernel matrix at each position.
    row: Vec<usize>,
    beta: Vec<f64>,
    f: Vec<f64>,
    diagonal: Vec<f64>,
    /// 0 if `beta` may grow, infinity if not.
    up: Vec<f64>,
    /// 0 if `beta` may shrink, minus infinity if not.
    low: Vec<f64>,
    /// Number of active samples.
    pub active: usize,
    pub cache: ColumnCache,
    /// Whether the violation has come close to the tolerance, so that shrinking started anew.
    is_close: bool,
}

impl<'a> Solver<'a> {
    pub fn new(dual: &'a SvmDual<'a>, tolerance: f64) -> Self {
        let n = dual.samples.len();
        let mut solver = Self {
            dual,
            tolerance,
            period: n.clamp(1, SHRINK_PERIOD),
            sample: (0..n).collect(),
            row: dual.samples.to_vec(),
            beta: vec![0.0; n],
            f: (0..n).map(|k| -dual.sign(k)).collect(),
            diagonal: dual.samples.iter().map(|&i| dual.gram[(i, i)]).collect(),
            up: vec![0.0; n],
            low: vec![0.0; n],
            active: n,
            cache: ColumnCache::new(n),
            is_close: false,
        };
        for k in 0..n {
            solver.mark_bounds(k);
        }
        solver
    }

    /// Steps until a stopping rule is met. All samples are active again afterwards, and the gradient
    /// is fresh.
    pub fn run(&mut self, max_iter: usize) -> (Termination, usize) {
        let (mut iterations, mut until_shrink, mut contradictions) = (0, self.period, 0);
        while iterations < max_iter {
            let mut now = self.extremes();
            if until_shrink == 0 {
                until_shrink = self.period;
                now = self.shrink(now);
            }
            let pair = if self.is_violated(now) { self.partner(now) } else { None };
            if let Some((second, slot)) = pair
                && self.step(now.first, slot, second)
            {
                iterations += 1;
                until_shrink -= 1;
                continue;
            }
            // Optimal or stalled, by the running gradient of the active samples.
            let is_rounding = pair.is_some() || self.active == self.sample.len();
            self.restore();
            if !self.is_violated(self.extremes()) {
                return (Termination::Solved, iterations);
            }
            if is_rounding {
                contradictions += 1;
                if contradictions == MAX_CONTRADICTIONS {
                    let Extremes { lowest, highest, .. } = self.extremes();
                    let violation = highest - lowest;
                    return (Termination::without_progress(violation, self.tolerance), iterations);
                }
            }
            until_shrink = 0;
        }
        self.restore();
        let is_violated = self.is_violated(self.extremes());
        let termination =
            if is_violated { Termination::IterationLimit } else { Termination::Solved };
        (termination, iterations)
    }

    fn is_violated(&self, now: Extremes) -> bool {
        now.highest - now.lowest > self.tolerance
    }

    /// `beta` and `f` in the order of the samples.
    pub fn finish(self) -> (Vec<f64>, Vec<f64>) {
        let n = self.sample.len();
        let (mut beta, mut f) = (vec![0.0; n], vec![0.0; n]);
        for (k, &sample) in self.sample.iter().enumerate() {
            beta[sample] = self.beta[k];
            f[sample] = self.f[k];
        }
        (beta, f)
    }

    pub fn extremes(&self) -> Extremes {
        let n = self.active;
        extremes(&self.f[..n], &self.up[..n], &self.low[..n])
    }

    /// The sample of `low` whose step with `now.first` decreases the objective most, and the cache
    /// slot of `now.first`.
    fn partner(&mut self, now: Extremes) -> Option<(usize, usize)> {
        let n = self.active;
        let slot = self.column(now.first);
        let pairs = Pairs {
            lowest: now.lowest,
            first_diagonal: self.diagonal[now.first],
            f: &self.f[..n],
            low: &self.low[..n],
            diagonal: &self.diagonal[..n],
            column: &self.cache.get(slot)[..n],
        };
        pairs.best().map(|second| (second, slot))
    }

    /// Moves along `beta[i] += d, beta[j] -= d` to the optimum or the nearest bound. False if the move
    /// is too small to be represented.
    fn step(&mut self, i: usize, slot_i: usize, j: usize) -> bool {
        let slot_j = self.column(j);
        let (_, bound_i) = self.dual.bounds(self.sample[i]);
        let (bound_j, _) = self.dual.bounds(self.sample[j]);
        let (column_i, column_j) = (self.cache.get(slot_i), self.cache.get(slot_j));
        let curvature = (self.diagonal[i] + self.diagonal[j] - 2.0 * column_i[j]).max(FLAT);
        let d = (self.f[j] - self.f[i]) / curvature;

        let (old_i, old_j) = (self.beta[i], self.beta[j]);
        let (space_i, space_j) = (bound_i - old_i, old_j - bound_j);
        let d = d.min(space_i).min(space_j);
        // A sample leaves `up` or `low` only if it is exactly at its bound.
        self.beta[i] = if is_rounding(space_i - d, bound_i, old_i) { bound_i } else { old_i + d };
        self.beta[j] = if is_rounding(space_j - d, bound_j, old_j) { bound_j } else { old_j - d };
        if self.beta[i] == old_i && self.beta[j] == old_j {
            return false;
        }
        let n = self.active;
        let columns = column_i[..n].iter().zip(&column_j[..n]);
        for (f, (a, b)) in self.f[..n].iter_mut().zip(columns) {
            *f += d * (a - b);
        }
        self.mark_bounds(i);
        self.mark_bounds(j);
        true
    }

    fn mark_bounds(&mut self, k: usize) {
        let (lo, hi) = self.dual.bounds(self.sample[k]);
        self.up[k] = if self.beta[k] < hi { 0.0 } else { f64::INFINITY };
        self.low[k] = if self.beta[k] > lo { 0.0 } else { f64::NEG_INFINITY };
    }

    /// The slot with the kernel column of position `k`, filled for the active samples.
    fn column(&mut self, k: usize) -> usize {
        let (slot, is_new) = self.cache.slot(self.sample[k]);
        if is_new {
            let source = column(self.dual.gram, self.row[k]);
            let rows = &self.row[..self.active];
            for (value, &row) in self.cache.get_mut(slot).iter_mut().zip(rows) {
                *value = source[row];
            }
        }
        slot
    }

    /// Makes a sample inactive if it is at a bound and every pair would push it further outwards.
    pub fn shrink(&mut self, now: Extremes) -> Extremes {
        let mut now = now;
        if !self.is_close && now.highest - now.lowest <= 10.0 * self.tolerance {
            // Close to the optimum it is clearer which samples belong at a bound: decide anew.
            self.is_close = true;
            if self.active < self.sample.len() {
                self.restore();
                now = self.extremes();
            }
        }
        let is_shrinkable = |s: &Self, k: usize| {
            (s.low[k] != 0.0 && s.f[k] > now.highest) || (s.up[k] != 0.0 && s.f[k] < now.lowest)
        };
        let mut k = 0;
        while k < self.active {
            if !is_shrinkable(self, k) {
                k += 1;
                continue;
            }
            self.active -= 1;
            while self.active > k && is_shrinkable(self, self.active) {
                self.active -= 1;
            }
            self.swap(k, self.active);
        }
        self.extremes()
    }

    /// Swaps two positions, of which only the first stays active.
    fn swap(&mut self, stays: usize, leaves: usize) {
        self.sample.swap(stays, leaves);
        self.row.swap(stays, leaves);
        for values in [&mut self.beta, &mut self.f, &mut self.diagonal, &mut self.up, &mut self.low]
        {
            values.swap(stays, leaves);
        }
        self.cache.move_row(leaves, stays);
    }

    /// Makes all samples active again, with a gradient computed anew.
    pub fn restore(&mut self) {
        let n = self.sample.len();
        if self.active < n {
            self.cache.clear();
            self.active = n;
        }
        for (f, &sample) in self.f.iter_mut().zip(&self.sample) {
            *f = -self.dual.sign(sample);
        }
        for k in 0..n {
            let beta = self.beta[k];
            if beta == 0.0 {
                continue;
            }
            match self.cache.find(self.sample[k]) {
                Some(slot) => add_scaled(&mut self.f, beta, self.cache.get(slot)),
                None => {
                    let source = column(self.dual.gram, self.row[k]);
                    add_rows(&mut self.f, beta, source, &self.row);
                }
            }
        }
    }
}

/// Whether the distance to `bound` after a move from `old` is only rounding.
fn is_rounding(distance: f64, bound: f64, old: f64) -> bool {
    distance <= 4.0 * f64::EPSILON * bound.abs().max(old.abs())
}
