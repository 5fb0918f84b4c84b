//! Kernel matrices from one product of the samples: `|x - x'|^2 = |x|^2 + |x'|^2 - 2 <x, x'>`.
//!
//! The training matrix is computed as a lower triangle and mirrored. The exponential of the Gaussian
//! is applied column by column, while the column is in the processor's cache. Samples far from the
//! origin would lose their distances to rounding, so distances are computed after the mean of the
//! second argument is subtracted.

use faer::{Accum, Mat, MatRef, Par};
use ndarray::{ArrayView1, ArrayView2, Axis, CowArray, Ix2};

use super::{Kernel, Width, exponential};
use crate::algebra::{for_each_column, huge_pages, lower_product, mirror_lower, set_product};

/// A kernel whose parameters are numbers, so that it can be evaluated.
///
/// ```
/// use npsvc::faer::Par;
/// use npsvc::kernel::FittedKernel;
/// use npsvc::ndarray::array;
///
/// let kernel = FittedKernel::Gaussian { width: 4.0 };
/// let k = kernel.cross(array![[0.0], [2.0]].view(), array![[0.0]].view(), Par::Seq);
/// assert_eq!(k[(0, 0)], 1.0);
/// assert!((k[(1, 0)] - (-1.0_f64).exp()).abs() < 1e-15);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum FittedKernel {
    /// `exp(-|x - x'|^2 / width)`.
    Gaussian {
        /// The width.
        width: f64,
    },
    /// `<x, x'>`.
    Linear,
    /// `(scale <x, x'> + offset)^degree`.
    Polynomial {
        /// Exponent.
        degree: i32,
        /// Constant added to the inner product.
        offset: f64,
        /// Factor of the inner product.
        scale: f64,
    },
}

impl FittedKernel {
    /// Fixes the parameters that depend on the training samples.
    ///
    /// ```
    /// use npsvc::ndarray::array;
    /// use npsvc::{Kernel, kernel::FittedKernel};
    ///
    /// // The mean of the four squared distances is 2.
    /// let fitted = FittedKernel::new(&Kernel::default(), array![[0.0], [2.0]].view());
    /// assert_eq!(fitted, FittedKernel::Gaussian { width: 2.0 });
    /// ```
    pub fn new(kernel: &Kernel, x: ArrayView2<'_, f64>) -> Self {
        match *kernel {
            Kernel::Gaussian { width: Width::Fixed(width) } => Self::Gaussian { width },
            Kernel::Gaussian { width: Width::MeanSquaredDistance } => {
                Self::Gaussian { width: mean_squared_distance(x) }
            }
            Kernel::Linear => Self::Linear,
            Kernel::Polynomial { degree, offset, scale } => {
                Self::Polynomial { degree: degree as i32, offset, scale }
            }
        }
    }

    /// The symmetric n x n matrix of `x` with itself, `jitter` added to the diagonal.
    pub fn gram(&self, x: ArrayView2<'_, f64>, jitter: f64, par: Par) -> Mat<f64> {
        let n = x.nrows();
        let x = self.centred(x, x);
        let norms = squared_norms(x.view());
        let samples = view(x.view());
        let mut k = huge_pages::zeros(n, n);
        lower_product(k.as_mut(), Accum::Replace, 1.0, samples, samples.transpose(), par);
        for_each_column(&mut k, par, |j, column| {
            self.apply(&mut column[j..], &norms[j..], norms[j]);
            column[j] += jitter;
        });
        mirror_lower(&mut k, par);
        k
    }

    /// `k(x_i, x_i)` of each row.
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
        let (a, b) = (self.centred(a, b), self.centred(b, b));
        let (norms_a, norms_b) = (squared_norms(a.view()), squared_norms(b.view()));
        let mut k = huge_pages::zeros(a.nrows(), b.nrows());
        set_product(&mut k, view(a.view()), view(b.view()).transpose(), par);
        for_each_column(&mut k, par, |j, column| self.apply(column, &norms_a, norms_b[j]));
        k
    }

    /// The rows of `x`, less the mean of `centre` if the kernel depends on distances only.
    fn centred<'x>(
        &self,
        x: ArrayView2<'x, f64>,
        centre: ArrayView2<'_, f64>,
    ) -> CowArray<'x, f64, Ix2> {
        match self {
            Self::Gaussian { .. } => minus_mean(x, centre),
            Self::Linear | Self::Polynomial { .. } => x.into(),
        }
    }

    /// Replaces inner products by kernel values.
    fn apply(&self, products: &mut [f64], norms: &[f64], norm: f64) {
        match *self {
            Self::Gaussian { width } => {
                exponential::gaussian(products, norms, norm, -1.0 / width);
            }
            Self::Linear => {}
            Self::Polynomial { degree, offset, scale } => {
                for value in products {
                    *value = (scale * *value + offset).powi(degree);
                }
            }
        }
    }
}

/// `sum_ij |x_i - x_j|^2 / n^2`, computed in O(n m) as twice the total variance. It is one if all
/// samples are equal up to rounding: then each positive width gives the same, constant kernel.
pub(super) fn mean_squared_distance(x: ArrayView2<'_, f64>) -> f64 {
    let n = x.nrows().max(1) as f64;
    let spread: f64 = x
        .columns()
        .into_iter()
        // The mean of equal values may differ from them by rounding, which is not a distance.
        .filter(|column| !is_constant(column))
        .map(|column| {
            let mean = column.sum() / n;
            column.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
        })
        .sum();
    let mean = 2.0 * spread / n;
    if mean > 0.0 { mean } else { 1.0 }
}

/// Whether the values are equal up to rounding.
fn is_constant(column: &ArrayView1<'_, f64>) -> bool {
    let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
    for &value in column {
        (least, most) = (least.min(value), most.max(value));
    }
    most - least <= 4.0 * f64::EPSILON * most.abs().max(least.abs())
}

/// The rows of `x`, less the mean of the rows of `centre`.
pub(super) fn minus_mean<'x>(
    x: ArrayView2<'x, f64>,
    centre: ArrayView2<'_, f64>,
) -> CowArray<'x, f64, Ix2> {
    match centre.mean_axis(Axis(0)) {
        Some(mean) => (&x - &mean).into(),
        None => x.into(),
    }
}

/// Negative values are rounding and become zero. NaN stays NaN, so that an overflow is noticed.
#[inline(always)]
pub(super) fn not_negative(squared_distance: f64) -> f64 {
    if squared_distance < 0.0 { 0.0 } else { squared_distance }
}

pub(super) fn squared_norms(x: ArrayView2<'_, f64>) -> Vec<f64> {
    x.rows().into_iter().map(|row| row.dot(&row)).collect()
}

/// The array as a faer matrix, without copying.
pub(super) fn view(x: ArrayView2<'_, f64>) -> MatRef<'_, f64> {
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
