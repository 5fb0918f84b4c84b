//! Orthonormal frames in the geometry of a kernel: `A^T K A = I`.
//!
//! The polar factor of `phi(X) M` is `phi(X) M (M^T K M)^-1/2`, so only a d x d matrix is
//! decomposed, and `K A` costs no further product with `K`.
//!
//! Frames are stored transposed, one column per sample. Then the sums over a neighbour graph read
//! contiguous memory, and faer multiplies a matrix of few rows by `K` faster than `K` by a matrix of
//! few columns.

use faer::{Mat, MatRef, Par};

use crate::algebra::{Matrix, column, inner, product, set_product, symmetric_eigen};

/// Condition of `M^T K M` up to which its inverse square root is exact to about 1e-9.
const SAFE_CONDITION: f64 = 1e6;

/// Coefficients `A^T` of an orthonormal frame, and `A^T K`; d x n each.
///
/// ```
/// use npsvc::algebra::Matrix;
/// use npsvc::faer::{Par, mat};
/// use npsvc::solve::stiefel::Frame;
///
/// // With K = diag(1, 4), the frame nearest to the row (2, 1) is that row over its length.
/// let k = mat![[1.0, 0.0], [0.0, 4.0]];
/// let frame = Frame::nearest(mat![[2.0, 1.0]].as_ref(), Matrix::Full(k.as_ref()), Par::Seq);
/// let length = 8.0_f64.sqrt();
/// assert!((frame.at[(0, 0)] - 2.0 / length).abs() < 1e-12);
/// assert!((frame.atk[(0, 1)] - 4.0 / length).abs() < 1e-12);
/// assert_eq!((frame.d(), frame.rank()), (1, 1));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// `A^T`.
    pub at: Mat<f64>,
    /// `A^T K`.
    pub atk: Mat<f64>,
}

impl Frame {
    /// The frame nearest to the rows of `mt`; one product with `k`.
    pub fn nearest(mt: MatRef<'_, f64>, k: Matrix<'_>, par: Par) -> Self {
        let mut mtk = Mat::zeros(mt.nrows(), mt.ncols());
        k.set_rows_times(&mut mtk, mt, par);
        Self::nearest_to_known(mt, mtk.as_ref(), k, par)
    }

    /// As [`Self::nearest`], where `mtk = mt K` is known.
    ///
    /// ```
    /// use npsvc::algebra::Matrix;
    /// use npsvc::faer::{Par, mat};
    /// use npsvc::solve::stiefel::Frame;
    ///
    /// let k = mat![[1.0, 0.0], [0.0, 4.0]];
    /// let k = Matrix::Full(k.as_ref());
    /// let (mt, mtk) = (mat![[3.0, 0.0]], mat![[3.0, 0.0]]);
    /// let first = Frame::nearest_to_known(mt.as_ref(), mtk.as_ref(), k, Par::Seq);
    /// let mut second = Frame::nearest(mat![[0.0, 3.0]].as_ref(), k, Par::Seq);
    /// // Two orthogonal frames of one dimension, at the distance of two orthogonal unit vectors.
    /// assert!((first.distance(&second) - 2.0_f64.sqrt()).abs() < 1e-12);
    /// assert!((second.largest_coefficients() - 0.25).abs() < 1e-12);
    /// second.set_nearest(mt.as_ref(), mtk.as_ref(), k, Par::Seq);
    /// assert_eq!(first, second);
    /// ```
    pub fn nearest_to_known(
        mt: MatRef<'_, f64>,
        mtk: MatRef<'_, f64>,
        k: Matrix<'_>,
        par: Par,
    ) -> Self {
        let zeros = || Mat::zeros(mt.nrows(), mt.ncols());
        let mut frame = Self { at: zeros(), atk: zeros() };
        frame.set_nearest(mt, mtk, k, par);
        frame
    }

    /// As [`Self::nearest_to_known`], into this frame.
    pub fn set_nearest(
        &mut self,
        mt: MatRef<'_, f64>,
        mtk: MatRef<'_, f64>,
        k: Matrix<'_>,
        par: Par,
    ) {
        let is_safe = self.set_from_product(mt, mtk, par);
        if !is_safe {
            // The rows are nearly dependent: a second pass removes the rounding of the first.
            let mt = self.at.clone();
            let mut mtk = Mat::zeros(mt.nrows(), mt.ncols());
            k.set_rows_times(&mut mtk, mt.as_ref(), par);
            self.set_from_product(mt.as_ref(), mtk.as_ref(), par);
        }
    }

    /// Sets the frame from `mt` and `mtk = mt K`. False if the rows of `mt` are so close to dependent
    /// that the frame may not be orthonormal.
    fn set_from_product(&mut self, mt: MatRef<'_, f64>, mtk: MatRef<'_, f64>, par: Par) -> bool {
        let gram = product(mt, mtk.transpose(), par);
        let (root, condition) = inverse_square_root(gram.as_ref(), mt.ncols(), par);
        set_product(&mut self.at, root.transpose(), mt, par);
        set_product(&mut self.atk, root.transpose(), mtk, par);
        condition < SAFE_CONDITION
    }

    /// Dimensions of the frame.
    pub fn d(&self) -> usize {
        self.at.nrows()
    }

    /// Number of directions with a length: all of them, or the rank of `K` if that is less.
    pub fn rank(&self) -> usize {
        self.overlap(self).round() as usize
    }

    /// `tr(P^T Q)` of the two frames.
    fn overlap(&self, other: &Self) -> f64 {
        (0..self.at.ncols())
            .map(|i| inner(column(self.atk.as_ref(), i), column(other.at.as_ref(), i)))
            .sum()
    }

    /// `|P - Q|_F` of the two frames.
    pub fn distance(&self, other: &Self) -> f64 {
        let overlap = self.overlap(other);
        (2.0 * (self.d() as f64 - overlap)).max(0.0).sqrt()
    }

    /// The largest `|a|^2` of the columns of `A`.
    pub fn largest_coefficients(&self) -> f64 {
        let mut squared = vec![0.0; self.d()];
        for i in 0..self.at.ncols() {
            for (sum, a) in squared.iter_mut().zip(column(self.at.as_ref(), i)) {
                *sum += a * a;
            }
        }
        squared.into_iter().fold(0.0, f64::max)
    }
}

/// `G^-1/2` of `G = M^T K M` for `M` with `rows` rows, and the condition of `G`. Directions whose
/// length is only rounding, relative to the longest one, become zero.
fn inverse_square_root(gram: MatRef<'_, f64>, rows: usize, par: Par) -> (Mat<f64>, f64) {
    let d = gram.nrows();
    let Some((values, vectors)) = symmetric_eigen(gram) else {
        return (Mat::from_fn(d, d, |_, _| f64::NAN), f64::NAN);
    };
    let largest = values.last().map_or(0.0, |value| value.abs());
    let floor = largest.max(f64::MIN_POSITIVE) * f64::EPSILON * rows as f64;
    let inverse_length = |value: f64| {
        if value > floor { value.sqrt().recip() } else { 0.0 }
    };
    let scaled = Mat::from_fn(d, d, |i, j| vectors[(i, j)] * inverse_length(values[j]));
    let root = product(scaled.as_ref(), vectors.transpose(), par);
    let least = values.first().map_or(1.0, |value| value.max(0.0));
    (root, largest / least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_beyond_the_rank_have_no_length() {
        // A kernel matrix of rank 3 on 20 samples, and 6 columns.
        let x = Mat::from_fn(20, 3, |i, j| ((7 * i + 3 * j + i * j) as f64).sin());
        let k = product(x.as_ref(), x.transpose(), Par::Seq);
        let mt = Mat::from_fn(6, 20, |j, i| ((5 * i + 11 * j + i * j) as f64).cos());
        let frame = Frame::nearest(mt.as_ref(), Matrix::Full(k.as_ref()), Par::Seq);
        assert_eq!(frame.rank(), 3);
        let largest = frame.at.norm_max();
        assert!(largest < 10.0, "{largest}");
        let frame = Frame::nearest(mt.subrows(0, 3), Matrix::Full(k.as_ref()), Par::Seq);
        assert_eq!(frame.rank(), 3);
        let gram = product(frame.at.as_ref(), frame.atk.transpose(), Par::Seq);
        assert!((gram - Mat::<f64>::identity(3, 3)).norm_max() < 1e-10);
    }

    #[test]
    fn frames_are_orthonormal_and_nearest_to_themselves() {
        let x = Mat::from_fn(12, 30, |a, i| ((3 * a + 7 * i + a * i) as f64).sin());
        let mt = Mat::from_fn(5, 30, |j, i| ((5 * i + 11 * j + i * j) as f64).cos());
        let k = Matrix::Factor(x.as_ref());
        let frame = Frame::nearest(mt.as_ref(), k, Par::Seq);
        let gram = product(frame.at.as_ref(), frame.atk.transpose(), Par::Seq);
        assert!((gram - Mat::<f64>::identity(5, 5)).norm_max() < 1e-9);
        let again = Frame::nearest(frame.at.as_ref(), k, Par::Seq);
        assert!(frame.distance(&again) < 1e-6);
        assert_eq!(frame.rank(), 5);
    }
}
