//! Factors `S = L L^T` and `P S = L U`, in place: a kernel matrix is large, so nothing is copied twice.

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

use super::matrix::mirror_lower;
use super::pages;
use super::registers::clear_upper_halves;

/// The lower factor of a symmetric positive definite matrix.
#[derive(Clone, Debug)]
pub struct Cholesky {
    l: Mat<f64>,
    par: Par,
}

/// The matrix is not positive definite; the pivot at which that showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotPositiveDefinite {
    pub pivot: usize,
}

impl Cholesky {
    /// Factors `s`, of which only the lower triangle is read, in its own memory.
    pub fn new(mut s: Mat<f64>, par: Par) -> Result<Self, NotPositiveDefinite> {
        let scratch = cholesky_in_place_scratch::<f64>(s.nrows(), par, Default::default());
        let mut buffer = MemBuffer::new(scratch);
        let result = cholesky_in_place(
            s.as_mut(),
            Default::default(),
            par,
            MemStack::new(&mut buffer),
            Default::default(),
        );
        clear_upper_halves();
        result
            .map_err(|LltError::NonPositivePivot { index }| NotPositiveDefinite { pivot: index })?;
        Ok(Self { l: s, par })
    }

    /// The same factor, whose solutions take one thread: for use by threads that run side by side.
    pub fn sequential(self) -> Self {
        Self {
            par: Par::Seq,
            ..self
        }
    }

    /// `rhs <- L^-1 rhs`.
    pub fn solve_lower(&self, rhs: MatMut<'_, f64>) {
        solve_lower_triangular_in_place(self.l.as_ref(), rhs, self.par);
        clear_upper_halves();
    }

    /// `rhs <- L^-T rhs`.
    pub fn solve_upper(&self, rhs: MatMut<'_, f64>) {
        solve_upper_triangular_in_place(self.l.transpose(), rhs, self.par);
        clear_upper_halves();
    }

    /// `rhs <- S^-1 rhs`.
    pub fn solve(&self, mut rhs: MatMut<'_, f64>) {
        self.solve_lower(rhs.as_mut());
        self.solve_upper(rhs);
    }

    /// `S^-1`, both triangles; needs one more matrix of the same size while it works.
    pub fn into_inverse(self) -> Mat<f64> {
        let Self { mut l, par } = self;
        let n = l.nrows();
        let mut l_inverse = pages::zeros(n, n);
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
        drop(l_inverse);
        clear_upper_halves();
        mirror_lower(&mut l, par);
        l
    }
}

/// The factors of a square matrix with rows exchanged.
pub struct Lu {
    factors: Mat<f64>,
    /// Row `i` of the factors' product is row `rows[i]` of the matrix.
    rows: Vec<usize>,
    par: Par,
}

impl Lu {
    /// Factors `s` in its own memory.
    pub fn new(mut s: Mat<f64>, par: Par) -> Self {
        let n = s.nrows();
        let scratch = lu_in_place_scratch::<usize, f64>(n, n, par, Default::default());
        let mut buffer = MemBuffer::new(scratch);
        let (mut rows, mut inverse) = (vec![0; n], vec![0; n]);
        lu_in_place(
            s.as_mut(),
            &mut rows,
            &mut inverse,
            par,
            MemStack::new(&mut buffer),
            Default::default(),
        );
        clear_upper_halves();
        Self {
            factors: s,
            rows,
            par,
        }
    }

    /// `S^-1 right`.
    pub fn solve(&self, right: MatRef<'_, f64>) -> Mat<f64> {
        let factors = self.factors.as_ref();
        let mut solution = Mat::from_fn(right.nrows(), right.ncols(), |i, j| {
            right[(self.rows[i], j)]
        });
        solve_unit_lower_triangular_in_place(factors, solution.as_mut(), self.par);
        solve_upper_triangular_in_place(factors, solution.as_mut(), self.par);
        clear_upper_halves();
        solution
    }
}

/// The rows `rows` and columns `columns` of `m`.
pub fn submatrix(m: MatRef<'_, f64>, rows: &[usize], columns: &[usize]) -> Mat<f64> {
    Mat::from_fn(rows.len(), columns.len(), |i, j| m[(rows[i], columns[j])])
}

/// The columns `index` of `m`.
pub fn columns(m: MatRef<'_, f64>, index: &[usize]) -> Mat<f64> {
    Mat::from_fn(m.nrows(), index.len(), |i, j| m[(i, index[j])])
}

/// The rows and columns `index` of a symmetric `m`, with `ridge` added to the diagonal.
pub fn principal_submatrix(m: MatRef<'_, f64>, index: &[usize], ridge: f64) -> Mat<f64> {
    let mut s = submatrix(m, index, index);
    for i in 0..index.len() {
        s[(i, i)] += ridge;
    }
    s
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
        let s = Mat::from_fn(
            4,
            4,
            |i, j| if i == j { 0.0 } else { (1 + i + 2 * j) as f64 },
        );
        let right = Mat::from_fn(4, 2, |i, j| (3 * i + j) as f64 - 1.0);
        let solution = Lu::new(s.clone(), Par::Seq).solve(right.as_ref());
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
