//! Orthonormal frames in the geometry of a kernel: `A^T K A = I`.
//!
//! The polar factor of `phi(X) M` is `phi(X) M (M^T K M)^-1/2`, so only a d x d matrix is
//! decomposed and `K A` comes along for free.

use faer::{Mat, MatRef, Par};

use crate::kernel::Gram;
use crate::kernel::algebra::{column, inner, product, symmetric_eigen};

/// Condition of `M^T K M` up to which its inverse square root is exact to about 1e-9.
const SAFE_CONDITION: f64 = 1e6;

/// Coefficients `A` of an orthonormal frame, and `K A`.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    pub a: Mat<f64>,
    pub ka: Mat<f64>,
}

impl Frame {
    /// The frame nearest to the columns of `m`; one product with `k`.
    pub fn nearest(m: Mat<f64>, k: Gram<'_>, par: Par) -> Self {
        let km = k.times(m.as_ref(), par);
        Self::nearest_to_known(m, km, k, par)
    }

    /// As [`Self::nearest`], where `km = K m` is known.
    pub fn nearest_to_known(m: Mat<f64>, km: Mat<f64>, k: Gram<'_>, par: Par) -> Self {
        let (frame, is_safe) = Self::from_product(m, km, par);
        if is_safe {
            return frame;
        }
        // Nearly dependent columns: what the first pass amplified is orthonormal after a second.
        let km = k.times(frame.a.as_ref(), par);
        Self::from_product(frame.a, km, par).0
    }

    /// The frame, and whether the columns of `m` are so far from dependent that rounding leaves it
    /// orthonormal.
    fn from_product(m: Mat<f64>, km: Mat<f64>, par: Par) -> (Self, bool) {
        let gram = product(m.transpose(), km.as_ref(), par);
        let (root, condition) = inverse_square_root(gram.as_ref(), m.nrows());
        let a = product(m.as_ref(), root.as_ref(), par);
        let ka = product(km.as_ref(), root.as_ref(), par);
        (Self { a, ka }, condition < SAFE_CONDITION)
    }

    /// Number of directions with a length: the columns of `A`, or the rank of `K` where that is less.
    pub fn rank(&self) -> usize {
        let length = |j| inner(column(self.a.as_ref(), j), column(self.ka.as_ref(), j));
        let total: f64 = (0..self.a.ncols()).map(length).sum();
        total.round() as usize
    }

    /// Largest entry of `A^T K A - I`.
    pub fn error(&self, par: Par) -> f64 {
        let gram = product(self.a.transpose(), self.ka.as_ref(), par);
        let d = gram.nrows();
        let mut largest: f64 = 0.0;
        for j in 0..d {
            for i in 0..d {
                let expected = if i == j { 1.0 } else { 0.0 };
                largest = largest.max((gram[(i, j)] - expected).abs());
            }
        }
        largest
    }

    /// `|P - Q|_F` of the two frames.
    pub fn distance(&self, other: &Self) -> f64 {
        let d = self.a.ncols();
        let overlap: f64 = (0..d)
            .map(|j| inner(column(self.ka.as_ref(), j), column(other.a.as_ref(), j)))
            .sum();
        (2.0 * (d as f64 - overlap)).max(0.0).sqrt()
    }
}

/// `G^-1/2` of `G = M^T K M` for `M` with `rows` rows; directions whose length is no more than a
/// rounding of the longest one's are left without any. With it comes the condition of `G`.
fn inverse_square_root(gram: MatRef<'_, f64>, rows: usize) -> (Mat<f64>, f64) {
    let d = gram.nrows();
    let Some((values, vectors)) = symmetric_eigen(gram) else {
        return (Mat::from_fn(d, d, |_, _| f64::NAN), f64::NAN);
    };
    let largest = values.last().map_or(0.0, |value| value.abs());
    let floor = largest.max(f64::MIN_POSITIVE) * f64::EPSILON * rows as f64;
    let inverse_length = |value: f64| {
        if value > floor {
            value.sqrt().recip()
        } else {
            0.0
        }
    };
    let scaled = Mat::from_fn(d, d, |i, j| vectors[(i, j)] * inverse_length(values[j]));
    let root = product(scaled.as_ref(), vectors.transpose(), Par::Seq);
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
        let m = Mat::from_fn(20, 6, |i, j| ((5 * i + 11 * j + i * j) as f64).cos());
        let frame = Frame::nearest(m.clone(), Gram::Full(k.as_ref()), Par::Seq);
        assert_eq!(frame.rank(), 3);
        let largest = frame.a.norm_max();
        assert!(largest < 10.0, "{largest}");
        let few = m.subcols(0, 3).to_owned();
        let frame = Frame::nearest(few, Gram::Full(k.as_ref()), Par::Seq);
        assert_eq!(frame.rank(), 3);
        assert!(frame.error(Par::Seq) < 1e-10);
    }
}
