//! The factorizations `S = L L^T` and `P S = L U`, in place: a kernel matrix is large, so each is
//! computed in the memory of the matrix.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{LltError, cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::lu::partial_pivoting::factor::{lu_in_place, lu_in_place_scratch};
use faer::linalg::matmul::triangular::{BlockStructure, matmul as triangular_matmul};
use faer::linalg::triangular_inverse::invert_lower_triangular;
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_unit_lower_triangular_in_place,
    solve_upper_triangular_in_place,
};
use faer::{Accum, Mat, MatMut, MatRef, Par};

use super::simd::then_clear;
use super::{huge_pages, mirror_lower, shift_diagonal};

/// The lower factor `L` of a symmetric positive definite matrix `S = L L^T`.
///
/// ```
/// use npsvc::algebra::Cholesky;
/// use npsvc::faer::{Par, mat};
///
/// // S = L L^T with L = [[2, 0], [1, 3]]
/// let cholesky = Cholesky::new(mat![[4.0, 2.0], [2.0, 10.0]], Par::Seq)?;
/// let mut right = mat![[2.0], [4.0]];
/// cholesky.solve_lower(right.as_mut());
/// assert_eq!(right, mat![[1.0], [1.0]]);
/// let inverse = cholesky.into_inverse();
/// assert!((inverse[(0, 1)] + 1.0 / 18.0).abs() < 1e-15);
/// # Ok::<(), npsvc::algebra::NotPositiveDefinite>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cholesky {
    l: Mat<f64>,
    par: Par,
}

/// The matrix is not positive definite.
///
/// ```
/// use npsvc::algebra::{Cholesky, NotPositiveDefinite};
/// use npsvc::faer::{Par, mat};
///
/// let error = Cholesky::new(mat![[1.0, 0.0], [0.0, -1.0]], Par::Seq).unwrap_err();
/// assert_eq!(error, NotPositiveDefinite { pivot: 1 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the matrix is not positive definite: pivot {pivot} is not positive")]
pub struct NotPositiveDefinite {
    /// Row of the first pivot that is not positive.
    pub pivot: usize,
}

impl Cholesky {
    /// Factors `s` in its own memory. Only the lower triangle of `s` is read.
    pub fn new(mut s: Mat<f64>, par: Par) -> Result<Self, NotPositiveDefinite> {
        let scratch = cholesky_in_place_scratch::<f64>(s.nrows(), par, Default::default());
        let mut buffer = MemBuffer::new(scratch);
        then_clear(|| {
            let stack = MemStack::new(&mut buffer);
            cholesky_in_place(s.as_mut(), Default::default(), par, stack, Default::default())
        })
        .map_err(|LltError::NonPositivePivot { index }| NotPositiveDefinite { pivot: index })?;
        Ok(Self { l: s, par })
    }

    /// `(s + shift I)^-1`.
    pub(crate) fn shifted_inverse(
        s: MatRef<'_, f64>,
        shift: f64,
        par: Par,
    ) -> Result<Mat<f64>, NotPositiveDefinite> {
        let mut shifted = s.to_owned();
        shift_diagonal(&mut shifted, |_| shift);
        Ok(Self::new(shifted, par)?.into_inverse())
    }

    /// The smallest pivot, `min_i L_ii^2`.
    pub(crate) fn smallest_pivot(&self) -> f64 {
        (0..self.l.nrows()).map(|i| self.l[(i, i)].powi(2)).fold(f64::INFINITY, f64::min)
    }

    /// The same factor, but each solve uses one thread: for threads that solve in parallel.
    pub(crate) fn sequential(self) -> Self {
        Self { par: Par::Seq, ..self }
    }

    /// `rhs <- L^-1 rhs`.
    pub fn solve_lower(&self, rhs: MatMut<'_, f64>) {
        let par = threads_for_solve(rhs.ncols(), self.par);
        then_clear(|| solve_lower_triangular_in_place(self.l.as_ref(), rhs, par));
    }

    /// `rhs <- S^-1 rhs`.
    pub fn solve(&self, mut rhs: MatMut<'_, f64>) {
        self.solve_lower(rhs.as_mut());
        solve_transposed(self.l.as_ref(), rhs, self.par);
    }

    /// `S^-1`, both triangles. Needs one more matrix of the same size while it runs.
    pub fn into_inverse(self) -> Mat<f64> {
        let Self { mut l, par } = self;
        let n = l.nrows();
        let mut l_inverse = huge_pages::zeros(n, n);
        then_clear(|| {
            invert_lower_triangular(l_inverse.as_mut(), l.as_ref(), par);
            triangular_matmul(
                l.as_mut(),
                BlockStructure::TriangularLower,
                Accum::Replace,
                l_inverse.transpose(),
                BlockStructure::TriangularUpper,
                l_inverse.as_ref(),
                BlockStructure::TriangularLower,
                1.0,
                par,
            );
        });
        drop(l_inverse);
        mirror_lower(&mut l, par);
        l
    }
}

/// `rhs <- L^-T rhs` for a lower triangular `l`.
pub(crate) fn solve_transposed(l: MatRef<'_, f64>, rhs: MatMut<'_, f64>, par: Par) {
    let par = threads_for_solve(rhs.ncols(), par);
    then_clear(|| solve_upper_triangular_in_place(l.transpose(), rhs, par));
}

/// One thread for a single right-hand side: faer's products with one column depend on the number of
/// threads. The solve costs little next to the factorization.
fn threads_for_solve(columns: usize, par: Par) -> Par {
    if columns == 1 { Par::Seq } else { par }
}

/// `S^-1 right` by `P S = L U`, which is computed in the memory of `s`.
pub(crate) fn solve_by_lu(mut s: Mat<f64>, right: MatRef<'_, f64>, par: Par) -> Mat<f64> {
    let n = s.nrows();
    let scratch = lu_in_place_scratch::<usize, f64>(n, n, par, Default::default());
    let mut buffer = MemBuffer::new(scratch);
    // Row `i` of `L U` is row `rows[i]` of the matrix.
    let (mut rows, mut inverse) = (vec![0; n], vec![0; n]);
    then_clear(|| {
        let stack = MemStack::new(&mut buffer);
        lu_in_place(s.as_mut(), &mut rows, &mut inverse, par, stack, Default::default());
    });
    let mut solution = Mat::from_fn(n, right.ncols(), |i, j| right[(rows[i], j)]);
    then_clear(|| {
        solve_unit_lower_triangular_in_place(s.as_ref(), solution.as_mut(), par);
        solve_upper_triangular_in_place(s.as_ref(), solution.as_mut(), par);
    });
    solution
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spd() -> Mat<f64> {
        Mat::from_fn(5, 5, |i, j| {
            let distance = i.abs_diff(j) as f64;
            (-0.3 * distance * distance).exp() + if i == j { 0.1 } else { 0.0 }
        })
    }

    #[test]
    fn inverse_times_matrix_is_identity() {
        let s = spd();
        let inverse = Cholesky::new(s.clone(), Par::Seq).unwrap().into_inverse();
        let product = &inverse * &s;
        for i in 0..5 {
            for j in 0..5 {
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((product[(i, j)] - expected).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn rows_are_exchanged_and_the_system_solved() {
        // Without exchanges the first pivot would be zero.
        let s = Mat::from_fn(4, 4, |i, j| if i == j { 0.0 } else { (1 + i + 2 * j) as f64 });
        let right = Mat::from_fn(4, 2, |i, j| (3 * i + j) as f64 - 1.0);
        let solution = solve_by_lu(s.clone(), right.as_ref(), Par::Seq);
        assert!((&s * &solution - &right).norm_max() < 1e-12);
    }

    #[test]
    fn an_indefinite_matrix_names_its_pivot() {
        let mut s = spd();
        s[(3, 3)] = -1.0;
        let error = Cholesky::new(s, Par::Seq).unwrap_err();
        assert_eq!(error, NotPositiveDefinite { pivot: 3 });
    }
}
