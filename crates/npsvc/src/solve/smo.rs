//! Sequential minimal optimisation of the two-class support vector machine with bias.
//!
//! In signed multipliers `beta_i = y_i alpha_i` the dual of
//!
//! ```text
//! min_{w, b}  1/2 |w|^2 + c sum_i [1 - y_i (<w, phi(x_i)> + b)]_+
//! ```
//!
//! is to minimise `1/2 beta' K beta - y' beta` with `sum_i beta_i = 0` and every `beta_i` between 0
//! and `c y_i`. Its gradient `f = K beta - y` needs no labels, so the inner loops are plain
//! arithmetic. `beta` is optimal when `max_{low} f <= min_{up} f`, where `up` are the samples whose
//! multiplier may still grow and `low` those whose multiplier may still shrink.
//!
//! A step moves the pair chosen by second-order information (Fan, Chen and Lin, 2005): the most
//! violating sample of `up`, and the sample of `low` that promises the largest decrease with it.
//! Samples stuck at a bound are set aside ("shrinking"). That, and the rounding of a gradient that
//! is updated step by step, can only mislead the way to the optimum, never the verdict: the solver
//! claims an optimum on a gradient of all samples computed afresh.

use faer::MatRef;

use crate::algebra::simd::clear_upper_halves;
use crate::certificate::{Certificate, Termination};

/// A two-class problem on some of the samples of a shared kernel matrix.
#[derive(Clone, Copy, Debug)]
pub struct SvmDual<'a> {
    /// Symmetric kernel matrix; quickest when its columns are contiguous.
    pub gram: MatRef<'a, f64>,
    /// Rows of `gram` taking part: the positive class, then the negative one.
    pub samples: &'a [usize],
    /// How many of `samples` are positive.
    pub positives: usize,
    /// Price of a margin violation.
    pub c: f64,
}

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StopRule {
    /// Largest accepted violation `max_{low} f - min_{up} f` of the optimality condition.
    pub tolerance: f64,
    /// Most steps to take.
    pub max_iter: usize,
}

/// Where a solve ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// `beta`, in the order of [`SvmDual::samples`].
    pub beta: Vec<f64>,
    /// The bias `b`.
    pub offset: f64,
    pub certificate: Certificate,
}

/// What a point `(beta, b)` is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KktReport {
    pub primal: f64,
    pub dual: f64,
    /// `primal - dual`, summed from its non-negative parts.
    pub gap: f64,
    /// `max_{low} f - min_{up} f`, or 0 where that is negative.
    pub violation: f64,
}

/// Curvature assumed along directions in which the kernel matrix shows none.
const FLAT: f64 = 1e-12;
/// Most steps between two attempts to set samples aside.
const SHRINK_PERIOD: usize = 1000;
/// How often a fresh gradient may contradict the running one before rounding is blamed.
const MAX_CONTRADICTIONS: usize = 8;
/// Memory for copied kernel columns, per problem being solved.
pub const CACHE_BYTES: usize = 64 << 20;

impl<'a> SvmDual<'a> {
    fn sign(&self, sample: usize) -> f64 {
        if sample < self.positives { 1.0 } else { -1.0 }
    }

    /// The ends of the interval that `beta` of `sample` lives in.
    fn bounds(&self, sample: usize) -> (f64, f64) {
        if sample < self.positives {
            (0.0, self.c)
        } else {
            (-self.c, 0.0)
        }
    }

    /// Calls `visit(k, K[rows[k], column])` for every `k`.
    #[inline]
    fn for_each_value(&self, column: usize, rows: &[usize], mut visit: impl FnMut(usize, f64)) {
        let values = self.gram.col(column);
        match values.try_as_col_major() {
            Some(contiguous) => {
                let values = contiguous.as_slice();
                for (k, &row) in rows.iter().enumerate() {
                    visit(k, values[row]);
                }
            }
            None => {
                for (k, &row) in rows.iter().enumerate() {
                    visit(k, values[row]);
                }
            }
        }
    }

    /// Minimises the dual from `beta = 0`.
    pub fn solve(&self, stop: StopRule) -> Solution {
        // This thread may have come straight from the product that made the kernel matrix.
        clear_upper_halves();
        let mut solver = Solver::new(self, stop.tolerance);
        let (termination, iterations) = solver.run(stop.max_iter);
        let (beta, f) = solver.finish();
        let offset = self.offset(&beta, &f);
        let audit = self.audit_with(&beta, offset, &f);
        Solution {
            beta,
            offset,
            certificate: audit.certificate(iterations, termination),
        }
    }

    /// Judges a point found by any solver.
    pub fn audit(&self, beta: &[f64], offset: f64) -> KktReport {
        self.audit_with(beta, offset, &self.gradient(beta))
    }

    /// `f = K beta - y`, from scratch.
    fn gradient(&self, beta: &[f64]) -> Vec<f64> {
        let mut f: Vec<f64> = (0..self.samples.len()).map(|k| -self.sign(k)).collect();
        for (&column, &beta) in self.samples.iter().zip(beta) {
            if beta != 0.0 {
                self.for_each_value(column, self.samples, |k, value| f[k] += beta * value);
            }
        }
        f
    }

    /// Bounds within which a variable counts as free: one that rounding keeps from its bound would fix a bias
    /// that the optimum leaves open.
    fn inner_bounds(&self, k: usize) -> (f64, f64) {
        let (lo, hi) = self.bounds(k);
        let reach = 1e-12 * (hi - lo);
        (lo + reach, hi - reach)
    }

    /// The bias at which samples strictly between their bounds lie on the margin; where there are
    /// none, the middle of the biases the optimality condition allows.
    fn offset(&self, beta: &[f64], f: &[f64]) -> f64 {
        let (mut sum, mut free) = (0.0, 0);
        for (k, (&beta, &f)) in beta.iter().zip(f).enumerate() {
            let (lo, hi) = self.inner_bounds(k);
            if lo < beta && beta < hi {
                sum += f;
                free += 1;
            }
        }
        if free > 0 {
            return -sum / f64::from(free);
        }
        match self.extremes(beta, f) {
            (lowest, highest) if lowest.is_finite() && highest.is_finite() => {
                -0.5 * (lowest + highest)
            }
            // One class only: its own label is the answer.
            (lowest, highest) => [-lowest, -highest]
                .into_iter()
                .find(|b| b.is_finite())
                .unwrap_or(0.0),
        }
    }

    /// `min_{up} f` and `max_{low} f`.
    fn extremes(&self, beta: &[f64], f: &[f64]) -> (f64, f64) {
        let (mut lowest, mut highest) = (f64::INFINITY, f64::NEG_INFINITY);
        for (k, (&beta, &f)) in beta.iter().zip(f).enumerate() {
            let (lo, hi) = self.inner_bounds(k);
            if beta < hi {
                lowest = lowest.min(f);
            }
            if beta > lo {
                highest = highest.max(f);
            }
        }
        (lowest, highest)
    }

    fn audit_with(&self, beta: &[f64], offset: f64, f: &[f64]) -> KktReport {
        let (mut dual, mut gap) = (0.0, 0.0);
        for (k, (&beta, &f)) in beta.iter().zip(f).enumerate() {
            let y = self.sign(k);
            // f + y is (K beta)_k, so this sums y' beta - 1/2 beta' K beta.
            dual += beta * (y - 0.5 * (f + y));
            // y (f + b) is the margin less one. A violated margin costs c and earns alpha, a
            // generous one earns alpha for nothing; neither part is negative.
            let excess = y * (f + offset);
            let alpha = y * beta;
            gap += if excess < 0.0 {
                (self.c - alpha) * -excess
            } else {
                alpha * excess
            };
        }
        let (lowest, highest) = self.extremes(beta, f);
        KktReport {
            primal: dual + gap,
            dual,
            gap,
            violation: (highest - lowest).max(0.0),
        }
    }
}

impl KktReport {
    /// The certificate of the point, for a solver that stopped because of `termination`. If a number
    /// is not finite, the termination is [`Termination::NumericalError`].
    pub fn certificate(&self, iterations: usize, termination: Termination) -> Certificate {
        let numbers = [self.primal, self.dual, self.gap];
        let is_met = termination == Termination::Solved;
        Certificate {
            primal: self.primal,
            dual: self.dual,
            gap: self.gap,
            iterations,
            termination: Termination::of(is_met, termination, numbers),
        }
    }
}

/// The state of a solve. Vectors are indexed by position; the samples in play come first.
struct Solver<'a> {
    task: &'a SvmDual<'a>,
    tolerance: f64,
    /// Steps between two attempts to set samples aside.
    period: usize,
    /// Sample at each position, as an index into `task.samples`.
    sample: Vec<usize>,
    /// Row of the kernel matrix at each position.
    row: Vec<usize>,
    beta: Vec<f64>,
    f: Vec<f64>,
    diagonal: Vec<f64>,
    /// 0 where `beta` may grow, infinity where it may not.
    up: Vec<f64>,
    /// 0 where `beta` may shrink, minus infinity where it may not.
    low: Vec<f64>,
    /// How many samples are in play.
    active: usize,
    columns: Columns,
    /// Whether the last leg, with all samples in play again, has begun.
    last_leg: bool,
}

/// The most violating sample of `up`, its `f`, and the largest `f` of `low`.
#[derive(Clone, Copy)]
struct Extremes {
    first: usize,
    lowest: f64,
    highest: f64,
}

impl<'a> Solver<'a> {
    fn new(task: &'a SvmDual<'a>, tolerance: f64) -> Self {
        let n = task.samples.len();
        let mut solver = Self {
            task,
            tolerance,
            period: n.clamp(1, SHRINK_PERIOD),
            sample: (0..n).collect(),
            row: task.samples.to_vec(),
            beta: vec![0.0; n],
            f: (0..n).map(|k| -task.sign(k)).collect(),
            diagonal: task.samples.iter().map(|&i| task.gram[(i, i)]).collect(),
            up: vec![0.0; n],
            low: vec![0.0; n],
            active: n,
            columns: Columns::new(n),
            last_leg: false,
        };
        for k in 0..n {
            solver.mark_bounds(k);
        }
        solver
    }

    /// Steps until the end; all samples are in play again afterwards, on a fresh gradient.
    fn run(&mut self, max_iter: usize) -> (Termination, usize) {
        let (mut iterations, mut until_shrink, mut contradictions) = (0, self.period, 0);
        while iterations < max_iter {
            let mut now = self.extremes();
            if until_shrink == 0 {
                until_shrink = self.period;
                now = self.shrink(now);
            }
            let pair = if self.violated(now) {
                self.partner(now)
            } else {
                None
            };
            if let Some((second, slot)) = pair
                && self.step(now.first, slot, second)
            {
                iterations += 1;
                until_shrink -= 1;
                continue;
            }
            // Optimal or stuck, as far as the running gradient of the samples in play can tell.
            let rounding = pair.is_some() || self.active == self.sample.len();
            self.restore();
            if !self.violated(self.extremes()) {
                return (Termination::Solved, iterations);
            }
            if rounding {
                contradictions += 1;
                if contradictions == MAX_CONTRADICTIONS {
                    return (Termination::Stalled, iterations);
                }
            }
            until_shrink = 0;
        }
        self.restore();
        if self.violated(self.extremes()) {
            (Termination::IterationLimit, iterations)
        } else {
            (Termination::Solved, iterations)
        }
    }

    fn violated(&self, now: Extremes) -> bool {
        now.highest - now.lowest > self.tolerance
    }

    /// `beta` and `f` in the order of the task's samples.
    fn finish(self) -> (Vec<f64>, Vec<f64>) {
        let n = self.sample.len();
        let (mut beta, mut f) = (vec![0.0; n], vec![0.0; n]);
        for (k, &sample) in self.sample.iter().enumerate() {
            beta[sample] = self.beta[k];
            f[sample] = self.f[k];
        }
        (beta, f)
    }

    fn extremes(&self) -> Extremes {
        let n = self.active;
        let (f, up, low) = (&self.f[..n], &self.up[..n], &self.low[..n]);
        let (mut at, mut lowest, mut highest) = (0, f64::INFINITY, f64::NEG_INFINITY);
        for start in (0..n).step_by(BLOCK) {
            let end = (start + BLOCK).min(n);
            let (least, greatest) =
                least_and_greatest(&f[start..end], &up[start..end], &low[start..end]);
            if least < lowest {
                (at, lowest) = (start, least);
            }
            if greatest > highest {
                highest = greatest;
            }
        }
        let block = at..(at + BLOCK).min(n);
        let within = block.clone().find(|&k| f[k] + up[k] == lowest);
        Extremes {
            first: within.unwrap_or(at),
            lowest,
            highest,
        }
    }

    /// The sample of `low` whose step with `now.first` lowers the objective most, and the column
    /// slot of `now.first`.
    fn partner(&mut self, now: Extremes) -> Option<(usize, usize)> {
        let n = self.active;
        let slot = self.column(now.first);
        let curvature_of_first = self.diagonal[now.first];
        let (f, low) = (&self.f[..n], &self.low[..n]);
        let (diagonal, column) = (&self.diagonal[..n], &self.columns.get(slot)[..n]);
        let gain = |k: usize| {
            gain(
                f[k] + low[k] - now.lowest,
                curvature_of_first + diagonal[k] - 2.0 * column[k],
            )
        };
        let (mut at, mut best) = (0, 0.0);
        for start in (0..n).step_by(BLOCK) {
            let end = (start + BLOCK).min(n);
            let greatest = greatest_gain(
                &f[start..end],
                &low[start..end],
                &diagonal[start..end],
                &column[start..end],
                now.lowest,
                curvature_of_first,
            );
            if greatest > best {
                (at, best) = (start, greatest);
            }
        }
        if best > 0.0 {
            (at..(at + BLOCK).min(n))
                .find(|&k| gain(k) == best)
                .map(|second| (second, slot))
        } else {
            None
        }
    }

    /// Moves along `beta[i] += d, beta[j] -= d` to the optimum or the nearest bound. False if the
    /// move is too small to be represented.
    fn step(&mut self, i: usize, slot_i: usize, j: usize) -> bool {
        let slot_j = self.column(j);
        let (_, room_up) = self.task.bounds(self.sample[i]);
        let (room_down, _) = self.task.bounds(self.sample[j]);
        let (column_i, column_j) = (self.columns.get(slot_i), self.columns.get(slot_j));
        let curvature = (self.diagonal[i] + self.diagonal[j] - 2.0 * column_i[j]).max(FLAT);
        let d = (self.f[j] - self.f[i]) / curvature;

        let (old_i, old_j) = (self.beta[i], self.beta[j]);
        let (space_i, space_j) = (room_up - old_i, old_j - room_down);
        let d = d.min(space_i).min(space_j);
        // Landing exactly on a bound matters: whoever is there leaves `up` or `low`.
        self.beta[i] = if nothing_left(space_i - d, room_up, old_i) {
            room_up
        } else {
            old_i + d
        };
        self.beta[j] = if nothing_left(space_j - d, room_down, old_j) {
            room_down
        } else {
            old_j - d
        };
        if self.beta[i] == old_i && self.beta[j] == old_j {
            return false;
        }
        let n = self.active;
        for ((f, a), b) in self.f[..n]
            .iter_mut()
            .zip(&column_i[..n])
            .zip(&column_j[..n])
        {
            *f += d * (a - b);
        }
        self.mark_bounds(i);
        self.mark_bounds(j);
        true
    }

    fn mark_bounds(&mut self, k: usize) {
        let (lo, hi) = self.task.bounds(self.sample[k]);
        self.up[k] = if self.beta[k] < hi {
            0.0
        } else {
            f64::INFINITY
        };
        self.low[k] = if self.beta[k] > lo {
            0.0
        } else {
            f64::NEG_INFINITY
        };
    }

    /// The slot that holds the kernel column of position `k`, filled for the samples in play.
    fn column(&mut self, k: usize) -> usize {
        let (slot, fresh) = self.columns.slot(self.sample[k]);
        if fresh {
            let values = self.columns.get_mut(slot);
            self.task
                .for_each_value(self.row[k], &self.row[..self.active], |k, value| {
                    values[k] = value
                });
        }
        slot
    }

    /// Sets aside the samples that are at a bound and would be pushed further into it by any pair.
    fn shrink(&mut self, now: Extremes) -> Extremes {
        let mut now = now;
        if !self.last_leg && now.highest - now.lowest <= 10.0 * self.tolerance {
            // Close to the optimum it is known better who belongs at a bound: decide anew.
            self.last_leg = true;
            if self.active < self.sample.len() {
                self.restore();
                now = self.extremes();
            }
        }
        let stuck = |s: &Self, k: usize| {
            (s.low[k] != 0.0 && s.f[k] > now.highest) || (s.up[k] != 0.0 && s.f[k] < now.lowest)
        };
        let mut k = 0;
        while k < self.active {
            if !stuck(self, k) {
                k += 1;
                continue;
            }
            self.active -= 1;
            while self.active > k && stuck(self, self.active) {
                self.active -= 1;
            }
            self.swap(k, self.active);
        }
        self.extremes()
    }

    /// Swaps two positions, of which only the first stays in play.
    fn swap(&mut self, stays: usize, leaves: usize) {
        self.sample.swap(stays, leaves);
        self.row.swap(stays, leaves);
        self.beta.swap(stays, leaves);
        self.f.swap(stays, leaves);
        self.diagonal.swap(stays, leaves);
        self.up.swap(stays, leaves);
        self.low.swap(stays, leaves);
        self.columns.move_row(leaves, stays);
    }

    /// Brings all samples back into play on a gradient computed afresh.
    fn restore(&mut self) {
        let n = self.sample.len();
        let complete = self.active == n;
        if !complete {
            self.columns.clear();
            self.active = n;
        }
        for (f, &sample) in self.f.iter_mut().zip(&self.sample) {
            *f = -self.task.sign(sample);
        }
        for k in 0..n {
            let beta = self.beta[k];
            if beta == 0.0 {
                continue;
            }
            let f = &mut self.f;
            match self.columns.find(self.sample[k]) {
                Some(slot) => {
                    for (f, value) in f.iter_mut().zip(self.columns.get(slot)) {
                        *f += beta * value;
                    }
                }
                None => self
                    .task
                    .for_each_value(self.row[k], &self.row, |k, value| f[k] += beta * value),
            }
        }
    }
}

/// Values handled side by side.
const LANES: usize = 8;
/// Values among which an extreme is searched again once it is known to be there.
const BLOCK: usize = 16 * LANES;

/// The smallest `f + up` and the greatest `f + low`.
#[inline]
fn least_and_greatest(f: &[f64], up: &[f64], low: &[f64]) -> (f64, f64) {
    let (mut least, mut greatest) = ([f64::INFINITY; LANES], [f64::NEG_INFINITY; LANES]);
    let (f, f_rest) = f.as_chunks::<LANES>();
    let (up, up_rest) = up.as_chunks::<LANES>();
    let (low, low_rest) = low.as_chunks::<LANES>();
    for ((f, up), low) in f.iter().zip(up).zip(low) {
        for l in 0..LANES {
            least[l] = smaller(f[l] + up[l], least[l]);
            greatest[l] = greater(f[l] + low[l], greatest[l]);
        }
    }
    for ((f, up), low) in f_rest.iter().zip(up_rest).zip(low_rest) {
        least[0] = smaller(f + up, least[0]);
        greatest[0] = greater(f + low, greatest[0]);
    }
    (
        least.into_iter().fold(f64::INFINITY, |a, b| smaller(b, a)),
        greatest
            .into_iter()
            .fold(f64::NEG_INFINITY, |a, b| greater(b, a)),
    )
}

/// The greatest gain among a block of samples.
#[inline]
fn greatest_gain(
    f: &[f64],
    low: &[f64],
    diagonal: &[f64],
    column: &[f64],
    lowest: f64,
    curvature_of_first: f64,
) -> f64 {
    let mut greatest = [0.0; LANES];
    let (f, f_rest) = f.as_chunks::<LANES>();
    let (low, low_rest) = low.as_chunks::<LANES>();
    let (diagonal, diagonal_rest) = diagonal.as_chunks::<LANES>();
    let (column, column_rest) = column.as_chunks::<LANES>();
    let of = |f: f64, low: f64, diagonal: f64, value: f64| {
        gain(
            f + low - lowest,
            curvature_of_first + diagonal - 2.0 * value,
        )
    };
    for (((f, low), diagonal), column) in f.iter().zip(low).zip(diagonal).zip(column) {
        for l in 0..LANES {
            greatest[l] = greater(of(f[l], low[l], diagonal[l], column[l]), greatest[l]);
        }
    }
    let rest = f_rest
        .iter()
        .zip(low_rest)
        .zip(diagonal_rest)
        .zip(column_rest);
    for (((&f, &low), &diagonal), &column) in rest {
        greatest[0] = greater(of(f, low, diagonal, column), greatest[0]);
    }
    greatest.into_iter().fold(0.0, |a, b| greater(b, a))
}

/// Twice the decrease of the objective when a slope is followed to its minimum.
#[inline(always)]
fn gain(slope: f64, curvature: f64) -> f64 {
    let slope = greater(slope, 0.0);
    slope * slope / greater(curvature, FLAT)
}

/// `a` if it is smaller; not-a-numbers lose. One instruction, unlike `f64::min`.
#[inline(always)]
fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// `a` if it is greater; not-a-numbers lose.
#[inline(always)]
fn greater(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// Whether the distance left to `bound` after a move from `old` is but rounding.
fn nothing_left(distance: f64, bound: f64, old: f64) -> bool {
    distance <= 4.0 * f64::EPSILON * bound.abs().max(old.abs())
}

/// Kernel columns copied side by side, restricted to the samples in play. The kernel matrix holds
/// all of them, but scattered over memory that no processor cache can keep.
struct Columns {
    height: usize,
    /// Most slots there may be; at least two, as a step needs two columns.
    slots: usize,
    data: Vec<f64>,
    /// Sample whose column a slot holds.
    owner: Vec<usize>,
    /// When a slot was last asked for.
    used: Vec<u64>,
    /// Slot of every sample, [`Columns::NONE`] without.
    slot_of: Vec<usize>,
    clock: u64,
}

impl Columns {
    const NONE: usize = usize::MAX;

    fn new(height: usize) -> Self {
        let bytes = height.max(1) * size_of::<f64>();
        Self::with_slots(height, (CACHE_BYTES / bytes).min(height))
    }

    fn with_slots(height: usize, slots: usize) -> Self {
        let slots = slots.max(2);
        Self {
            height,
            slots,
            data: Vec::with_capacity(slots * height),
            owner: Vec::with_capacity(slots),
            used: Vec::with_capacity(slots),
            slot_of: vec![Self::NONE; height],
            clock: 0,
        }
    }

    fn get(&self, slot: usize) -> &[f64] {
        &self.data[slot * self.height..][..self.height]
    }

    fn get_mut(&mut self, slot: usize) -> &mut [f64] {
        &mut self.data[slot * self.height..][..self.height]
    }

    fn find(&self, sample: usize) -> Option<usize> {
        Some(self.slot_of[sample]).filter(|&slot| slot != Self::NONE)
    }

    /// The slot of `sample`, and whether the caller has to fill it. The slot asked for before this
    /// one is never the one given up.
    fn slot(&mut self, sample: usize) -> (usize, bool) {
        self.clock += 1;
        if let Some(slot) = self.find(sample) {
            self.used[slot] = self.clock;
            return (slot, false);
        }
        let slot = if self.owner.len() < self.slots {
            self.data.resize(self.data.len() + self.height, 0.0);
            self.owner.push(sample);
            self.used.push(self.clock);
            self.owner.len() - 1
        } else {
            let oldest = (0..self.used.len())
                .min_by_key(|&slot| self.used[slot])
                .unwrap_or(0);
            self.slot_of[self.owner[oldest]] = Self::NONE;
            self.owner[oldest] = sample;
            self.used[oldest] = self.clock;
            oldest
        };
        self.slot_of[sample] = slot;
        (slot, true)
    }

    /// Copies row `from` onto row `to` in every column.
    fn move_row(&mut self, from: usize, to: usize) {
        for column in self.data.chunks_exact_mut(self.height) {
            column[to] = column[from];
        }
    }

    fn clear(&mut self) {
        for &sample in &self.owner {
            self.slot_of[sample] = Self::NONE;
        }
        self.data.clear();
        self.owner.clear();
        self.used.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::Mat;
    use proptest::prelude::*;

    /// Gaussian kernel matrix of points in the plane.
    fn gram(points: &[(f64, f64)], jitter: f64) -> Mat<f64> {
        Mat::from_fn(points.len(), points.len(), |i, j| {
            let (a, b) = (points[i], points[j]);
            let squared_distance = (a.0 - b.0).powi(2) + (a.1 - b.1).powi(2);
            (-squared_distance).exp() + if i == j { jitter } else { 0.0 }
        })
    }

    fn stop(tolerance: f64) -> StopRule {
        StopRule {
            tolerance,
            max_iter: 1_000_000,
        }
    }

    /// Two overlapping clouds on a grid without symmetry, the first `positives` in the first.
    fn clouds(n: usize) -> Vec<(f64, f64)> {
        let fraction = |x: f64| x - x.floor();
        (0..n)
            .map(|k| {
                let (u, v) = (
                    fraction(k as f64 * 0.618_034),
                    fraction(k as f64 * 0.754_878),
                );
                let shift = if k < n / 2 { 0.0 } else { 0.5 };
                (2.0 * u + shift, 2.0 * v)
            })
            .collect()
    }

    fn assert_feasible(task: &SvmDual<'_>, beta: &[f64]) {
        for (k, &beta) in beta.iter().enumerate() {
            let (lo, hi) = task.bounds(k);
            assert!(lo <= beta && beta <= hi, "beta[{k}] = {beta}");
        }
        let sum: f64 = beta.iter().sum();
        let total: f64 = beta.iter().map(|beta| beta.abs()).sum();
        assert!(sum.abs() <= 1e-12 * total, "sum of beta is {sum}");
    }

    #[test]
    fn two_samples_have_the_solution_one_finds_by_hand() {
        let gram = Mat::from_fn(2, 2, |i, j| if i == j { 1.0 } else { 0.5 });
        let task = |c| SvmDual {
            gram: gram.as_ref(),
            samples: &[0, 1],
            positives: 1,
            c,
        };
        // alpha = 2 / (k11 + k22 - 2 k12) = 2, both on the margin, |w|^2 / 2 = 2.
        let inside = task(10.0).solve(stop(1e-9));
        assert_eq!(inside.beta, [2.0, -2.0]);
        assert_eq!((inside.offset, inside.certificate.primal), (0.0, 2.0));
        assert_eq!(inside.certificate.gap, 0.0);
        assert_eq!(inside.certificate.termination, Termination::Solved);
        // At the bound: |w|^2 / 2 = 1/2, and both hinges cost 1 - 1/2.
        let bound = task(1.0).solve(stop(1e-9));
        assert_eq!(bound.beta, [1.0, -1.0]);
        assert_eq!((bound.offset, bound.certificate.primal), (0.0, 1.5));
        assert_eq!(bound.certificate.gap, 0.0);
    }

    #[test]
    fn one_class_and_no_samples_have_the_obvious_answer() {
        let gram = gram(&clouds(3), 0.0);
        let solve = |samples: &[usize], positives| {
            let task = SvmDual {
                gram: gram.as_ref(),
                samples,
                positives,
                c: 1.0,
            };
            task.solve(stop(1e-3))
        };
        for (samples, positives, offset) in [(3, 3, 1.0), (3, 0, -1.0), (0, 0, 0.0)] {
            let solution = solve(&[0, 1, 2][..samples], positives);
            assert_eq!(solution.offset, offset);
            assert_eq!(solution.certificate.termination, Termination::Solved);
            assert_eq!(solution.certificate.gap, 0.0);
        }
    }

    #[test]
    fn shrinking_happens_and_does_not_change_the_solution() {
        let (points, samples) = (clouds(400), (0..400).collect::<Vec<_>>());
        let gram = gram(&points, 1e-6);
        let task = SvmDual {
            gram: gram.as_ref(),
            samples: &samples,
            positives: 200,
            c: 10.0,
        };
        let solve = |period| {
            let mut solver = Solver::new(&task, 1e-6);
            solver.period = period;
            assert_eq!(solver.run(1_000_000).0, Termination::Solved);
            solver
        };
        let mut shrinking = solve(20);
        let now = shrinking.extremes();
        shrinking.shrink(now);
        assert!(
            shrinking.active < 300,
            "{} of 400 samples are still in play",
            shrinking.active
        );
        shrinking.restore();
        let audit = |solver: Solver<'_>| {
            let (beta, f) = solver.finish();
            for (running, fresh) in f.iter().zip(task.gradient(&beta)) {
                assert!((running - fresh).abs() < 1e-9);
            }
            task.audit(&beta, task.offset(&beta, &f))
        };
        let (with, without) = (audit(shrinking), audit(solve(usize::MAX)));
        assert!(with.violation <= 1.1e-6);
        assert!((with.dual - without.dual).abs() <= with.gap + without.gap);
    }

    #[test]
    fn two_slots_for_columns_are_enough() {
        let (points, samples) = (clouds(60), (0..60).collect::<Vec<_>>());
        let gram = gram(&points, 0.0);
        let task = SvmDual {
            gram: gram.as_ref(),
            samples: &samples,
            positives: 30,
            c: 5.0,
        };
        let mut small = Solver::new(&task, 1e-9);
        small.columns = Columns::with_slots(60, 2);
        let (ending, _) = small.run(1_000_000);
        assert_eq!(ending, Termination::Solved);
        assert_eq!(small.columns.data.capacity(), 120);
        let (beta, _) = small.finish();
        let audit = task.audit(&beta, 0.0);
        let whole = task.solve(stop(1e-9)).certificate;
        assert!(audit.violation <= 1e-9);
        assert!((audit.dual - whole.dual).abs() <= 1e-9 * whole.dual);
    }

    #[test]
    fn a_kernel_matrix_in_rows_is_read_as_well() {
        let points = clouds(40);
        let gram = gram(&points, 0.0);
        // Every second row and column, so that neither rows nor columns are contiguous.
        let wide = Mat::from_fn(80, 80, |i, j| gram[(i / 2, j / 2)]);
        let columns = wide.as_ref();
        let strided = unsafe {
            // SAFETY: 40 rows and columns two apart lie within the 80 x 80 matrix.
            MatRef::from_raw_parts(
                columns.as_ptr(),
                40,
                40,
                2 * columns.row_stride(),
                2 * columns.col_stride(),
            )
        };
        let samples: Vec<usize> = (0..40).collect();
        let solve = |gram| {
            let task = SvmDual {
                gram,
                samples: &samples,
                positives: 20,
                c: 1.0,
            };
            task.solve(stop(1e-6))
        };
        assert_eq!(solve(gram.as_ref()), solve(strided));
    }

    #[test]
    fn every_ending_is_reached_and_named() {
        let (points, samples) = (clouds(50), (0..50).collect::<Vec<_>>());
        let good = gram(&points, 0.0);
        let bad = Mat::from_fn(50, 50, |i, j| if i == j { f64::NAN } else { good[(i, j)] });
        let solve = |gram: &Mat<f64>, tolerance, max_iter| {
            let task = SvmDual {
                gram: gram.as_ref(),
                samples: &samples,
                positives: 25,
                c: 100.0,
            };
            let solution = task.solve(StopRule {
                tolerance,
                max_iter,
            });
            assert_feasible(&task, &solution.beta);
            solution
        };
        assert_eq!(
            solve(&good, 1e-3, 100_000).certificate.termination,
            Termination::Solved
        );
        let limited = solve(&good, 1e-3, 3);
        assert_eq!(limited.certificate.termination, Termination::IterationLimit);
        assert_eq!(limited.certificate.iterations, 3);
        assert!(limited.certificate.gap > 0.0);
        assert_eq!(
            solve(&good, 1e-300, 1_000_000).certificate.termination,
            Termination::Stalled
        );
        assert_eq!(
            solve(&bad, 1e-3, 100_000).certificate.termination,
            Termination::NumericalError
        );
    }

    prop_compose! {
        /// Points, how many of them are positive (never none or all), and c.
        fn problems()(n in 2..40_usize)(
            points in prop::collection::vec((-2.0..2.0, -2.0..2.0), n),
            positives in 1..n,
            exponent in -6.0..6.0,
        ) -> (Vec<(f64, f64)>, usize, f64) {
            (points, positives, 10_f64.powf(exponent))
        }
    }

    proptest! {
        #[test]
        fn solutions_are_feasible_and_certified((points, positives, c) in problems()) {
            let gram = gram(&points, 1e-6);
            let samples: Vec<usize> = (0..points.len()).collect();
            let task = SvmDual { gram: gram.as_ref(), samples: &samples, positives, c };
            let solution = task.solve(stop(1e-6));
            let certificate = solution.certificate;
            assert_feasible(&task, &solution.beta);
            prop_assert_eq!(solution.certificate.termination, Termination::Solved);
            prop_assert!(certificate.gap >= 0.0);
            // A margin may be off by the tolerance, at a price of c per sample.
            prop_assert!(certificate.gap <= 1e-6 * c * points.len() as f64 + 1e-12);
            let audit = task.audit(&solution.beta, solution.offset);
            prop_assert!(audit.violation <= 2e-6);
            // The primal objective as it is written, not as the certificate sums it.
            let f = task.gradient(&solution.beta);
            let (mut norm, mut hinges) = (0.0, 0.0);
            for (k, (beta, f)) in solution.beta.iter().zip(&f).enumerate() {
                let (y, expansion) = (task.sign(k), f + task.sign(k));
                norm += beta * expansion;
                hinges += (1.0 - y * (expansion + solution.offset)).max(0.0);
            }
            let primal = 0.5 * norm + c * hinges;
            prop_assert!((primal - certificate.primal).abs() <= 1e-9 * (1.0 + primal.abs()));
        }

        #[test]
        fn the_order_of_samples_does_not_matter((points, positives, c) in problems()) {
            let gram = gram(&points, 1e-6);
            let forward: Vec<usize> = (0..points.len()).collect();
            let backward: Vec<usize> = (0..positives).rev().chain((positives..points.len()).rev()).collect();
            let solve = |samples: &[usize]| {
                SvmDual { gram: gram.as_ref(), samples, positives, c }.solve(stop(1e-8))
            };
            let (a, b) = (solve(&forward).certificate, solve(&backward).certificate);
            prop_assert!(a.converged() && b.converged());
            let allowed = a.gap + b.gap + 1e-12 * a.primal;
            prop_assert!((a.primal - b.primal).abs() <= allowed, "{a:?} {b:?}");
        }

        #[test]
        fn contradicting_duplicates_end_with_a_status(
            (points, positives, c) in problems(), copies in 1..4_usize
        ) {
            // Every point is in both classes, and the kernel matrix is singular.
            let doubled: Vec<_> = points.iter().copied().cycle().take(points.len() * 2 * copies).collect();
            let gram = gram(&doubled, 0.0);
            let samples: Vec<usize> = (0..doubled.len()).collect();
            let task = SvmDual { gram: gram.as_ref(), samples: &samples, positives: doubled.len() / 2, c };
            let solution = task.solve(stop(1e-3));
            assert_feasible(&task, &solution.beta);
            prop_assert!(solution.certificate.gap >= 0.0);
            prop_assert_eq!(solution.certificate.termination, Termination::Solved, "{} {:?}", positives, solution);
        }
    }
}
