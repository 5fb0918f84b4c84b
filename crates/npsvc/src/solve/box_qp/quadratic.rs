//! The matrix of a box QP: what the solvers ask of it, and its two forms.

use faer::{Mat, MatRef, Par};

use super::coordinate::Descent;
use super::iterate::Iterate;
use super::{Settings, sweep};
use crate::kernel::algebra::{
    self, add_lower_product, add_scaled, add_times_vector, column, column_mut,
};
use crate::kernel::{Cholesky, submatrix};
use crate::solve::Certificate;

/// A symmetric positive semidefinite matrix Q.
pub trait Quadratic {
    fn diagonal(&self, i: usize) -> f64;

    /// `y += Q_:i change` for every `(i, change)`.
    fn add_columns(&self, changes: &[(usize, f64)], y: &mut [f64]);

    /// Solves `(Q_FF + diag extra) step = right` for the coordinates `F`, in place. `None` if that is
    /// not positive definite in floating point.
    fn solve_shifted(
        &self,
        free: &[usize],
        extra: &[f64],
        right: &mut Mat<f64>,
        par: Par,
    ) -> Option<()>;

    /// The rows and columns `index`, unless that is too large for this form.
    fn dense(&self, index: &[usize]) -> Option<Mat<f64>>;

    /// Coordinate steps worth making before the active sets take over.
    fn approach(&self) -> usize;

    /// Up to `most` coordinate steps, in the order that suits this form. The flag says that no step
    /// gains anything beyond rounding.
    fn descend(
        &self,
        descent: &Descent,
        iterate: &mut Iterate<'_>,
        most: usize,
        settings: Settings,
    ) -> (Certificate, bool);
}

/// A matrix that is there.
pub struct Dense<'a> {
    pub matrix: MatRef<'a, f64>,
}

impl Quadratic for Dense<'_> {
    fn diagonal(&self, i: usize) -> f64 {
        self.matrix[(i, i)]
    }

    fn add_columns(&self, changes: &[(usize, f64)], y: &mut [f64]) {
        for &(i, change) in changes {
            add_scaled(y, change, column(self.matrix, i));
        }
    }

    fn solve_shifted(
        &self,
        free: &[usize],
        extra: &[f64],
        right: &mut Mat<f64>,
        par: Par,
    ) -> Option<()> {
        let mut system = Mat::zeros(free.len(), free.len());
        for (a, &i) in free.iter().enumerate() {
            let source = column(self.matrix, i);
            let target = column_mut(&mut system, a);
            for (target, &j) in target[a..].iter_mut().zip(&free[a..]) {
                *target = source[j];
            }
            target[a] += extra[a];
        }
        Cholesky::new(system, par).ok()?.solve(right.as_mut());
        Some(())
    }

    fn dense(&self, index: &[usize]) -> Option<Mat<f64>> {
        Some(submatrix(self.matrix, index, index))
    }

    /// The active sets' systems cost O(n^3), a step O(n): the larger the problem, the better a start
    /// pays.
    fn approach(&self) -> usize {
        let n = self.matrix.nrows();
        (n.saturating_mul(n) / 5000).clamp((n / 2).max(64), 4 * n.max(64))
    }

    fn descend(
        &self,
        descent: &Descent,
        iterate: &mut Iterate<'_>,
        most: usize,
        settings: Settings,
    ) -> (Certificate, bool) {
        descent.run(self, iterate, most, settings)
    }
}

/// `Q = G G^T`, given by `G^T`: nothing of size n x n is ever formed.
pub struct Factored<'a> {
    /// `G^T`, a column per coordinate.
    pub rows: MatRef<'a, f64>,
}

impl Factored<'_> {
    /// The columns `index` of `G^T`, each times its weight.
    fn weighted(&self, index: &[usize], weight: impl Fn(usize) -> f64) -> Mat<f64> {
        Mat::from_fn(self.rows.nrows(), index.len(), |a, c| {
            weight(c) * self.rows[(a, index[c])]
        })
    }
}

impl Quadratic for Factored<'_> {
    fn diagonal(&self, i: usize) -> f64 {
        let row = column(self.rows, i);
        algebra::inner(row, row)
    }

    fn add_columns(&self, changes: &[(usize, f64)], y: &mut [f64]) {
        if changes.is_empty() {
            return;
        }
        let mut inside = vec![0.0; self.rows.nrows()];
        for &(i, change) in changes {
            add_scaled(&mut inside, change, column(self.rows, i));
        }
        add_times_vector(y, 1.0, self.rows.transpose(), &inside, Par::Seq);
    }

    /// `(D + H H^T)^-1 = D^-1 - D^-1 H (I + H^T D^-1 H)^-1 H^T D^-1` with the rows `H` of `G`, where
    /// that system is the smaller one.
    fn solve_shifted(
        &self,
        free: &[usize],
        extra: &[f64],
        right: &mut Mat<f64>,
        par: Par,
    ) -> Option<()> {
        let rank = self.rows.nrows();
        if free.len() <= rank {
            let h = self.weighted(free, |_| 1.0);
            let mut system = Mat::zeros(free.len(), free.len());
            add_lower_product(system.as_mut(), 1.0, h.transpose(), h.as_ref(), par);
            for (a, extra) in extra.iter().enumerate() {
                system[(a, a)] += extra;
            }
            Cholesky::new(system, par).ok()?.solve(right.as_mut());
            return Some(());
        }
        let h = self.weighted(free, |c| extra[c].sqrt().recip());
        let mut system = Mat::identity(rank, rank);
        add_lower_product(system.as_mut(), 1.0, h.as_ref(), h.transpose(), par);
        let factor = Cholesky::new(system, par).ok()?;
        let scaled = Mat::from_fn(free.len(), 1, |c, _| right[(c, 0)] / extra[c].sqrt());
        let mut inside = algebra::product(h.as_ref(), scaled.as_ref(), par);
        factor.solve(inside.as_mut());
        let outside = algebra::product(h.transpose(), inside.as_ref(), par);
        for (c, extra) in extra.iter().enumerate() {
            right[(c, 0)] = (scaled[(c, 0)] - outside[(c, 0)]) / extra.sqrt();
        }
        Some(())
    }

    fn dense(&self, index: &[usize]) -> Option<Mat<f64>> {
        let is_small = index.len() <= 2 * self.rows.nrows().max(500);
        is_small.then(|| {
            let h = self.weighted(index, |_| 1.0);
            algebra::product(h.transpose(), h.as_ref(), Par::Seq)
        })
    }

    /// A step costs O(rank), a system of the active sets O(n rank^2).
    fn approach(&self) -> usize {
        20 * self.rows.ncols()
    }

    fn descend(
        &self,
        descent: &Descent,
        iterate: &mut Iterate<'_>,
        most: usize,
        settings: Settings,
    ) -> (Certificate, bool) {
        sweep::run(self, descent, iterate, most, settings)
    }
}
