//! The two searches over all active samples that choose the pair of a step.
//!
//! ```text
//! i = argmin f_i  over multipliers that may grow
//! j = argmax (f_j - f_i)^2 / (k_ii + k_jj - 2 k_ij)  over multipliers that may shrink, with f_j > f_i
//! ```
//!
//! Each search first finds the extreme value block by block, in loops that can be vectorised, and
//! then its position within the best block.

use std::ops::Range;

use crate::algebra::{larger, smaller};

/// Values processed at once.
const LANES: usize = 8;
/// Values per block.
const BLOCK: usize = 16 * LANES;
/// Curvature assumed along directions in which the kernel matrix has none.
pub(super) const FLAT: f64 = 1e-12;

/// The most violating sample of `up`, its `f`, and the largest `f` of `low`.
#[derive(Clone, Copy)]
pub(super) struct Extremes {
    pub first: usize,
    pub lowest: f64,
    pub highest: f64,
}

/// The smallest `f + up` with its position, and the largest `f + low`.
pub(super) fn extremes(f: &[f64], up: &[f64], low: &[f64]) -> Extremes {
    let n = f.len();
    let (mut at, mut lowest, mut highest) = (0, f64::INFINITY, f64::NEG_INFINITY);
    for start in (0..n).step_by(BLOCK) {
        let end = (start + BLOCK).min(n);
        let (least, largest) = least_and_largest(&f[start..end], &up[start..end], &low[start..end]);
        if least < lowest {
            (at, lowest) = (start, least);
        }
        if largest > highest {
            highest = largest;
        }
    }
    let found = (at..(at + BLOCK).min(n)).find(|&k| f[k] + up[k] == lowest);
    Extremes { first: found.unwrap_or(at), lowest, highest }
}

/// The smallest `f + up` and the largest `f + low`.
#[inline]
fn least_and_largest(f: &[f64], up: &[f64], low: &[f64]) -> (f64, f64) {
    let (mut least, mut largest) = ([f64::INFINITY; LANES], [f64::NEG_INFINITY; LANES]);
    let (f, f_rest) = f.as_chunks::<LANES>();
    let (up, up_rest) = up.as_chunks::<LANES>();
    let (low, low_rest) = low.as_chunks::<LANES>();
    for ((f, up), low) in f.iter().zip(up).zip(low) {
        for l in 0..LANES {
            least[l] = smaller(f[l] + up[l], least[l]);
            largest[l] = larger(f[l] + low[l], largest[l]);
        }
    }
    for ((f, up), low) in f_rest.iter().zip(up_rest).zip(low_rest) {
        least[0] = smaller(f + up, least[0]);
        largest[0] = larger(f + low, largest[0]);
    }
    (
        least.into_iter().fold(f64::INFINITY, |a, b| smaller(b, a)),
        largest.into_iter().fold(f64::NEG_INFINITY, |a, b| larger(b, a)),
    )
}

/// The pairs of one sample with all others.
#[derive(Clone, Copy)]
pub(super) struct Pairs<'a> {
    /// `f` of the first sample.
    pub lowest: f64,
    /// Diagonal entry of the first sample.
    pub first_diagonal: f64,
    pub f: &'a [f64],
    pub low: &'a [f64],
    pub diagonal: &'a [f64],
    /// Kernel column of the first sample.
    pub column: &'a [f64],
}

impl Pairs<'_> {
    /// The sample with the largest gain, if any gain is positive.
    pub fn best(&self) -> Option<usize> {
        let n = self.f.len();
        let (mut at, mut best) = (0, 0.0);
        for start in (0..n).step_by(BLOCK) {
            let largest = self.largest_gain(start..(start + BLOCK).min(n));
            if largest > best {
                (at, best) = (start, largest);
            }
        }
        let gain = |k: usize| self.gain(self.f[k], self.low[k], self.diagonal[k], self.column[k]);
        (at..(at + BLOCK).min(n)).find(|&k| best > 0.0 && gain(k) == best)
    }

    #[inline]
    fn largest_gain(&self, block: Range<usize>) -> f64 {
        let mut largest = [0.0; LANES];
        let (f, f_rest) = self.f[block.clone()].as_chunks::<LANES>();
        let (low, low_rest) = self.low[block.clone()].as_chunks::<LANES>();
        let (diagonal, diagonal_rest) = self.diagonal[block.clone()].as_chunks::<LANES>();
        let (column, column_rest) = self.column[block].as_chunks::<LANES>();
        for (((f, low), diagonal), column) in f.iter().zip(low).zip(diagonal).zip(column) {
            for l in 0..LANES {
                let gain = self.gain(f[l], low[l], diagonal[l], column[l]);
                largest[l] = larger(gain, largest[l]);
            }
        }
        let rest = f_rest.iter().zip(low_rest).zip(diagonal_rest).zip(column_rest);
        for (((&f, &low), &diagonal), &column) in rest {
            largest[0] = larger(self.gain(f, low, diagonal, column), largest[0]);
        }
        largest.into_iter().fold(0.0, |a, b| larger(b, a))
    }

    /// Twice the decrease of the objective when the pair moves to the minimum along its line.
    #[inline(always)]
    fn gain(&self, f: f64, low: f64, diagonal: f64, value: f64) -> f64 {
        let slope = larger(f + low - self.lowest, 0.0);
        let curvature = self.first_diagonal + diagonal - 2.0 * value;
        slope * slope / larger(curvature, FLAT)
    }
}
