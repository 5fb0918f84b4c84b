//! A symmetric positive semidefinite matrix `K`, stored in full or as a factor `K = G G^T`.
//!
//! Kernel matrices and the matrices of dual problems come in these two forms. With a factor, no
//! matrix of size n x n is formed.

use faer::{Accum, Mat, MatRef, Par};

use super::{
    Cholesky, add_scaled, add_times_vector, column, columns, inner, lower_product, lower_submatrix,
    product, set_product, shift_diagonal,
};

/// A view of a symmetric positive semidefinite matrix.
///
/// ```
/// use npsvc::algebra::Matrix;
/// use npsvc::faer::{Par, mat};
///
/// // `K = G G^T` for the samples 1, 2 and 3, without the 3 x 3 matrix.
/// let rows = mat![[1.0, 2.0, 3.0]];
/// let k = Matrix::Factor(rows.as_ref());
/// assert_eq!(k.times_vector(&[1.0, 0.0, 0.0], Par::Seq), [1.0, 2.0, 3.0]);
/// assert_eq!((k.n(), k.diagonal(2)), (3, 9.0));
/// assert_eq!(k.times(rows.transpose(), Par::Seq), mat![[14.0], [28.0], [42.0]]);
/// assert!((k.norm() - 14.0).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Matrix<'a> {
    /// The n x n matrix, column-major.
    Full(MatRef<'a, f64>),
    /// `G^T`, one column per sample; `K = G G^T`.
    Factor(MatRef<'a, f64>),
}

/// A symmetric positive semidefinite matrix with its memory; see [`Matrix`].
#[derive(Clone, Debug)]
pub(crate) enum OwnedMatrix {
    /// The n x n matrix.
    Full(Mat<f64>),
    /// `G^T`, one column per sample; `K = G G^T`.
    Factor(Mat<f64>),
}

impl OwnedMatrix {
    /// The matrix as a view.
    pub fn view(&self) -> Matrix<'_> {
        match self {
            Self::Full(k) => Matrix::Full(k.as_ref()),
            Self::Factor(rows) => Matrix::Factor(rows.as_ref()),
        }
    }
}

impl<'a> Matrix<'a> {
    /// Number of rows and columns.
    pub fn n(&self) -> usize {
        match self {
            Self::Full(m) | Self::Factor(m) => m.ncols(),
        }
    }

    /// `K_ii`.
    pub fn diagonal(&self, i: usize) -> f64 {
        match self {
            Self::Full(k) => k[(i, i)],
            Self::Factor(rows) => inner(column(*rows, i), column(*rows, i)),
        }
    }

    /// `K m`.
    pub fn times(&self, m: MatRef<'_, f64>, par: Par) -> Mat<f64> {
        match self {
            // `K` is symmetric, and for a narrow `m` faer needs up to half the time this way.
            Self::Full(k) => product(m.transpose(), *k, par).transpose().to_owned(),
            Self::Factor(rows) => {
                let inside = product(*rows, m, par);
                product(rows.transpose(), inside.as_ref(), par)
            }
        }
    }

    /// `out = mt K`. For few rows this is faster than `K m`.
    pub(crate) fn set_rows_times(&self, out: &mut Mat<f64>, mt: MatRef<'_, f64>, par: Par) {
        match self {
            Self::Full(k) => set_product(out, mt, *k, par),
            Self::Factor(rows) => {
                let inside = product(mt, rows.transpose(), par);
                set_product(out, inside.as_ref(), *rows, par);
            }
        }
    }

    /// `K x`.
    pub fn times_vector(&self, x: &[f64], par: Par) -> Vec<f64> {
        let mut values = vec![0.0; self.n()];
        match self {
            Self::Full(k) => add_times_vector(&mut values, 1.0, *k, x, par),
            Self::Factor(rows) => {
                let mut inside = vec![0.0; rows.nrows()];
                add_times_vector(&mut inside, 1.0, *rows, x, par);
                add_times_vector(&mut values, 1.0, rows.transpose(), &inside, par);
            }
        }
        values
    }

    /// `|K|_F`.
    pub fn norm(&self) -> f64 {
        match self {
            Self::Full(k) => {
                let squared = |j| inner(column(*k, j), column(*k, j));
                (0..k.ncols()).map(squared).sum::<f64>().sqrt()
            }
            // |G G^T|_F = |G^T G|_F, and the second product is the smaller one.
            Self::Factor(rows) => product(*rows, rows.transpose(), Par::Seq).norm_l2(),
        }
    }

    /// `y += K_:i change` for each `(i, change)`.
    pub(crate) fn add_columns(&self, changes: &[(usize, f64)], y: &mut [f64]) {
        match self {
            Self::Full(k) => {
                for &(i, change) in changes {
                    add_scaled(y, change, column(*k, i));
                }
            }
            Self::Factor(_) if changes.is_empty() => {}
            Self::Factor(rows) => {
                let mut inside = vec![0.0; rows.nrows()];
                for &(i, change) in changes {
                    add_scaled(&mut inside, change, column(*rows, i));
                }
                add_times_vector(y, 1.0, rows.transpose(), &inside, Par::Seq);
            }
        }
    }

    /// Solves `(K_FF + diag extra) step = right` in place, for the rows and columns `F = free`. `None`
    /// if the matrix is not positive definite in floating point.
    pub(crate) fn solve_shifted(
        &self,
        free: &[usize],
        extra: &[f64],
        right: &mut Mat<f64>,
        par: Par,
    ) -> Option<()> {
        let system = match self {
            Self::Full(k) => lower_submatrix(*k, free, |a| extra[a]),
            Self::Factor(rows) if free.len() <= rows.nrows() => {
                let h = columns(*rows, free);
                let mut system = Mat::zeros(free.len(), free.len());
                lower_product(system.as_mut(), Accum::Add, 1.0, h.transpose(), h.as_ref(), par);
                shift_diagonal(&mut system, |a| extra[a]);
                system
            }
            Self::Factor(rows) => return solve_by_rank(*rows, free, extra, right, par),
        };
        Cholesky::new(system, par).ok()?.solve(right.as_mut());
        Some(())
    }
}

/// Solves `(D + H H^T) step = right` with the rows `H` of `G` and `D = diag extra`, by a system of the
/// size of the rank: `(D + H H^T)^-1 = D^-1 - D^-1 H (I + H^T D^-1 H)^-1 H^T D^-1`.
fn solve_by_rank(
    rows: MatRef<'_, f64>,
    free: &[usize],
    extra: &[f64],
    right: &mut Mat<f64>,
    par: Par,
) -> Option<()> {
    let rank = rows.nrows();
    let h = Mat::from_fn(rank, free.len(), |a, c| extra[c].sqrt().recip() * rows[(a, free[c])]);
    let mut system = Mat::identity(rank, rank);
    lower_product(system.as_mut(), Accum::Add, 1.0, h.as_ref(), h.transpose(), par);
    let cholesky = Cholesky::new(system, par).ok()?;
    let scaled = Mat::from_fn(free.len(), 1, |c, _| right[(c, 0)] / extra[c].sqrt());
    let mut inside = product(h.as_ref(), scaled.as_ref(), par);
    cholesky.solve(inside.as_mut());
    let outside = product(h.transpose(), inside.as_ref(), par);
    for (c, extra) in extra.iter().enumerate() {
        right[(c, 0)] = (scaled[(c, 0)] - outside[(c, 0)]) / extra.sqrt();
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    prop_compose! {
        /// A factor `G^T`, and the rows of one system.
        fn factors()(rank in 1..12_usize, n in 1..20_usize)(
            entries in prop::collection::vec(-1.0..1.0, rank * n),
            free in prop::sample::subsequence((0..n).collect::<Vec<_>>(), 1..=n),
            rank in Just(rank),
        ) -> (Mat<f64>, Vec<usize>) {
            let n = entries.len() / rank;
            (Mat::from_fn(rank, n, |a, i| entries[a * n + i]), free)
        }
    }

    proptest! {
        #[test]
        fn both_forms_are_the_same_matrix((rows, free) in factors()) {
            let k = product(rows.transpose(), rows.as_ref(), Par::Seq);
            let [full, factor] = [Matrix::Full(k.as_ref()), Matrix::Factor(rows.as_ref())];
            let n = full.n();
            prop_assert_eq!(factor.n(), n);
            prop_assert!((full.norm() - factor.norm()).abs() < 1e-12 * (1.0 + full.norm()));
            let x: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
            let as_mat = Mat::from_fn(n, 1, |i, _| x[i]);
            let changes: Vec<(usize, f64)> = x.iter().copied().enumerate().collect();
            let products = |m: Matrix<'_>| {
                let mut by_columns = vec![0.0; n];
                m.add_columns(&changes, &mut by_columns);
                let mut by_rows = Mat::zeros(1, n);
                m.set_rows_times(&mut by_rows, as_mat.transpose(), Par::Seq);
                let times = m.times(as_mat.as_ref(), Par::Seq);
                let by_rows = (0..n).map(|i| by_rows[(0, i)]).collect();
                let times = column(times.as_ref(), 0).to_vec();
                [m.times_vector(&x, Par::Seq), by_columns, by_rows, times]
            };
            let expected = full.times_vector(&x, Par::Seq);
            for found in products(full).into_iter().chain(products(factor)) {
                for (found, expected) in found.iter().zip(&expected) {
                    prop_assert!((found - expected).abs() < 1e-12);
                }
            }
            let extra = vec![0.3; free.len()];
            let solve = |m: Matrix<'_>| {
                let mut right = Mat::from_fn(free.len(), 1, |i, _| (i as f64).sin());
                m.solve_shifted(&free, &extra, &mut right, Par::Seq).unwrap();
                right
            };
            prop_assert!((solve(full) - solve(factor)).norm_max() < 1e-9);
            for i in 0..n {
                prop_assert!((full.diagonal(i) - factor.diagonal(i)).abs() < 1e-12);
            }
        }
    }
}
