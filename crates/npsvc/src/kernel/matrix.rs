//! Kernel matrices from one product of the samples: `|x - x'|^2 = |x|^2 + |x'|^2 - 2 <x, x'>`.
//!
//! The training matrix is computed as a lower triangle and mirrored; the Gaussian's exponential is
//! applied column by column while the column is in cache. Samples far from the origin would lose
//! their distances to rounding, so for distances the mean of the second argument's is the origin.

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{BlockStructure, matmul as triangular_matmul};
use faer::{Accum, Mat, MatRef, Par};
use ndarray::{ArrayView1, ArrayView2, Axis, CowArray, Ix2};
use rayon::prelude::*;

use super::registers::clear_upper_halves;
use super::{Kernel, Width};
use super::{exponential, pages};

/// A kernel whose width is known: what can be evaluated.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolved {
    Gaussian {
        width: f64,
    },
    Linear,
    Polynomial {
        degree: i32,
        offset: f64,
        scale: f64,
    },
}

impl Resolved {
    /// Fixes the parameters that depend on the training samples.
    pub fn new(kernel: &Kernel, x: ArrayView2<'_, f64>) -> Self {
        match kernel {
            Kernel::Gaussian(gaussian) => Self::Gaussian {
                width: match gaussian.width {
                    Width::MeanSquaredDistance => mean_squared_distance(x),
                    Width::Fixed(width) => width,
                },
            },
            Kernel::Linear => Self::Linear,
            Kernel::Polynomial(p) => Self::Polynomial {
                degree: p.degree as i32,
                offset: p.offset,
                scale: p.scale,
            },
        }
    }

    /// The symmetric n x n matrix of `x` with itself, `jitter` added to the diagonal.
    pub fn gram(&self, x: ArrayView2<'_, f64>, jitter: f64, par: Par) -> Mat<f64> {
        let n = x.nrows();
        let x = self.placed(x, x);
        let norms = squared_norms(x.view());
        let samples = view(x.view());
        let mut k = pages::zeros(n, n);
        triangular_matmul(
            k.as_mut(),
            BlockStructure::TriangularLower,
            Accum::Replace,
            samples,
            BlockStructure::Rectangular,
            samples.transpose(),
            BlockStructure::Rectangular,
            1.0,
            par,
        );
        for_each_column(&mut k, par, |j, column| {
            self.apply(&mut column[j..], &norms[j..], norms[j]);
            column[j] += jitter;
        });
        mirror_lower(&mut k, par);
        k
    }

    /// `k(x_i, x_i)` of every row.
    pub fn diagonal(&self, x: ArrayView2<'_, f64>) -> Vec<f64> {
        let mut values = squared_norms(x);
        match self {
            Self::Gaussian { .. } => values.fill(1.0),
            Self::Linear | Self::Polynomial { .. } => self.apply(&mut values, &[], 0.0),
        }
        values
    }

    /// Kernel values between the rows of `a` (rows) and the rows of `b` (columns).
    pub fn cross(&self, a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>, par: Par) -> Mat<f64> {
        let (a, b) = (self.placed(a, b), self.placed(b, b));
        let (norms_a, norms_b) = (squared_norms(a.view()), squared_norms(b.view()));
        let mut k = pages::zeros(a.nrows(), b.nrows());
        matmul(
            k.as_mut(),
            Accum::Replace,
            view(a.view()),
            view(b.view()).transpose(),
            1.0,
            par,
        );
        for_each_column(&mut k, par, |j, column| {
            self.apply(column, &norms_a, norms_b[j])
        });
        k
    }

    /// The rows of `x`, with the mean of `centre` as their origin if the kernel is one of distances.
    fn placed<'x>(
        &self,
        x: ArrayView2<'x, f64>,
        centre: ArrayView2<'_, f64>,
    ) -> CowArray<'x, f64, Ix2> {
        match self {
            Self::Gaussian { .. } => around_mean(x, centre),
            Self::Linear | Self::Polynomial { .. } => x.into(),
        }
    }

    /// Turns inner products into kernel values, in place.
    fn apply(&self, products: &mut [f64], norms: &[f64], norm: f64) {
        match *self {
            Self::Gaussian { width } => {
                exponential::gaussian(products, norms, norm, -1.0 / width);
            }
            Self::Linear => {}
            Self::Polynomial {
                degree,
                offset,
                scale,
            } => {
                for value in products {
                    *value = (scale * *value + offset).powi(degree);
                }
            }
        }
    }
}

/// `sum_ij |x_i - x_j|^2 / n^2`, in O(n m): twice the total variance. One where all samples are
/// equal, be it only up to rounding.
pub fn mean_squared_distance(x: ArrayView2<'_, f64>) -> f64 {
    let n = x.nrows().max(1) as f64;
    let spread: f64 = x
        .columns()
        .into_iter()
        // The mean of equal values need not be one of them: what is left over is no distance.
        .filter(|column| !is_constant(column))
        .map(|column| {
            let mean = column.sum() / n;
            column
                .iter()
                .map(|value| (value - mean).powi(2))
                .sum::<f64>()
        })
        .sum();
    let mean = 2.0 * spread / n;
    // All samples equal: any positive width gives the same (constant) kernel.
    if mean > 0.0 { mean } else { 1.0 }
}

/// Whether the values differ by no more than a rounding of their size.
fn is_constant(column: &ArrayView1<'_, f64>) -> bool {
    let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
    for &value in column {
        (least, most) = (least.min(value), most.max(value));
    }
    most - least <= 4.0 * f64::EPSILON * most.abs().max(least.abs())
}

/// The rows of `x` with the mean of the rows of `centre` as their origin.
pub(super) fn around_mean<'x>(
    x: ArrayView2<'x, f64>,
    centre: ArrayView2<'_, f64>,
) -> CowArray<'x, f64, Ix2> {
    match centre.mean_axis(Axis(0)) {
        Some(mean) => (&x - &mean).into(),
        None => x.into(),
    }
}

/// What rounding leaves below zero is zero; what overflowed stays not a number, so that it shows.
#[inline(always)]
pub(super) fn not_negative(squared_distance: f64) -> f64 {
    if squared_distance < 0.0 {
        0.0
    } else {
        squared_distance
    }
}

fn columns_of(m: &mut Mat<f64>) -> impl Iterator<Item = &mut [f64]> {
    m.col_iter_mut().map(|column| {
        column
            .try_as_col_major_mut()
            .expect("a Mat is column-major")
            .as_slice_mut()
    })
}

/// Calls `work(j, column j)` for all columns, in parallel where `par` allows.
pub fn for_each_column(m: &mut Mat<f64>, par: Par, work: impl Fn(usize, &mut [f64]) + Sync) {
    let columns: Vec<&mut [f64]> = columns_of(m).collect();
    let work = |j, column: &mut [f64]| {
        // The columns are usually those of a product just made.
        clear_upper_halves();
        work(j, column);
    };
    match par {
        Par::Seq => columns
            .into_iter()
            .enumerate()
            .for_each(|(j, column)| work(j, column)),
        Par::Rayon(_) => columns
            .into_par_iter()
            .enumerate()
            .for_each(|(j, column)| work(j, column)),
    }
}

/// Copies the lower triangle onto the upper one, block by block.
pub fn mirror_lower(m: &mut Mat<f64>, par: Par) {
    const BLOCK: usize = 64;
    // Each column in two: above the diagonal, to be written, and the rest.
    let (mut uppers, lowers): (Vec<&mut [f64]>, Vec<&[f64]>) = columns_of(m)
        .enumerate()
        .map(|(j, column)| {
            let (upper, lower) = column.split_at_mut(j);
            (upper, &*lower)
        })
        .unzip();
    let fill = |(block, uppers): (usize, &mut [&mut [f64]])| {
        let i0 = block * BLOCK;
        for j0 in (0..=i0).step_by(BLOCK) {
            for (i, upper) in (i0..).zip(uppers.iter_mut()) {
                let sources = (j0..).zip(&lowers[j0..i.min(j0 + BLOCK)]);
                for (target, (j, source)) in upper[j0..].iter_mut().zip(sources) {
                    *target = source[i - j];
                }
            }
        }
    };
    match par {
        Par::Seq => uppers.chunks_mut(BLOCK).enumerate().for_each(fill),
        Par::Rayon(_) => uppers.par_chunks_mut(BLOCK).enumerate().for_each(fill),
    }
}

pub(super) fn squared_norms(x: ArrayView2<'_, f64>) -> Vec<f64> {
    x.rows().into_iter().map(|row| row.dot(&row)).collect()
}

/// The array as a faer matrix, without copying.
pub fn view(x: ArrayView2<'_, f64>) -> MatRef<'_, f64> {
    let strides = (x.strides()[0], x.strides()[1]);
    // SAFETY: pointer, shape and strides describe the memory the array view borrows for its
    // lifetime, which the returned view shares.
    unsafe { MatRef::from_raw_parts(x.as_ptr(), x.nrows(), x.ncols(), strides.0, strides.1) }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;

    #[test]
    fn the_mean_squared_distance_is_that_of_all_pairs() {
        // Squared distances 2, 2 and 4 among the pairs, twice each, over 9.
        let x = array![[0.0, 7.1], [1.0, 8.1], [1.0, 6.1]];
        let found = mean_squared_distance(x.view());
        assert!((found - 16.0 / 9.0).abs() < 1e-12, "{found}");
    }

    #[test]
    fn equal_samples_have_a_mean_squared_distance_of_one() {
        for n in 1..50 {
            for value in [0.0, 0.1, -0.3, 1.0 / 3.0, 1e9 / 7.0, 1e-9 / 7.0] {
                let x = Array2::from_elem((n, 3), value);
                assert_eq!(mean_squared_distance(x.view()), 1.0, "{n} times {value}");
            }
        }
        let x = array![[0.1 + 0.2], [0.3]];
        assert_eq!(mean_squared_distance(x.view()), 1.0);
    }

    #[test]
    fn a_small_difference_on_top_of_a_large_value_counts() {
        let x = array![[1e9], [1e9 + 0.001]];
        let found = mean_squared_distance(x.view());
        assert!((found - 5e-7).abs() < 1e-9, "{found}");
    }
}
