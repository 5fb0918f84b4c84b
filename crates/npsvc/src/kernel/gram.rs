//! The training kernel matrix as methods see it: all of it, or a factor of low rank.

use faer::{Mat, MatRef, Par};

use super::algebra::{add_times_vector, column, inner, product, set_product};
use super::{LowRank, columns, principal_submatrix};

/// A kernel matrix K; either form answers what methods ask of it.
#[derive(Clone, Copy, Debug)]
pub enum Gram<'a> {
    Full(MatRef<'a, f64>),
    LowRank(&'a LowRank),
}

impl Gram<'_> {
    /// Training samples.
    pub fn n(&self) -> usize {
        match self {
            Self::Full(k) => k.nrows(),
            Self::LowRank(low) => low.n(),
        }
    }

    /// `K m`.
    pub fn times(&self, m: MatRef<'_, f64>, par: Par) -> Mat<f64> {
        match self {
            // `K` is symmetric, and for a narrow `m` faer needs up to half the time this way round.
            Self::Full(k) => product(m.transpose(), *k, par).transpose().to_owned(),
            Self::LowRank(low) => low.times(m, par),
        }
    }

    /// `out = mt K`; for few rows that is faster than `K m`.
    pub fn set_rows_times(&self, out: &mut Mat<f64>, mt: MatRef<'_, f64>, par: Par) {
        match self {
            Self::Full(k) => set_product(out, mt, *k, par),
            Self::LowRank(low) => {
                let inside = product(mt, low.rows().transpose(), par);
                set_product(out, inside.as_ref(), low.rows(), par);
            }
        }
    }

    /// `K x`.
    pub fn times_vector(&self, x: &[f64], par: Par) -> Vec<f64> {
        let mut values = vec![0.0; self.n()];
        match self {
            Self::Full(k) => add_times_vector(&mut values, 1.0, *k, x, par),
            Self::LowRank(low) => {
                let mut inside = vec![0.0; low.rank()];
                add_times_vector(&mut inside, 1.0, low.rows(), x, par);
                add_times_vector(&mut values, 1.0, low.rows().transpose(), &inside, par);
            }
        }
        values
    }

    /// The rows and columns `index`, with `ridge` added to the diagonal.
    pub fn principal_submatrix(&self, index: &[usize], ridge: f64) -> Mat<f64> {
        match self {
            Self::Full(k) => principal_submatrix(*k, index, ridge),
            Self::LowRank(low) => {
                let some = columns(low.rows(), index);
                let mut block = product(some.transpose(), some.as_ref(), Par::Seq);
                for i in 0..index.len() {
                    block[(i, i)] += ridge;
                }
                block
            }
        }
    }

    /// `|K|_F`.
    pub fn norm(&self) -> f64 {
        match self {
            Self::Full(k) => {
                let squared = |j| inner(column(*k, j), column(*k, j));
                (0..k.ncols()).map(squared).sum::<f64>().sqrt()
            }
            // |G G^T|_F = |G^T G|_F, of which only the smaller is formed.
            Self::LowRank(low) => product(low.rows(), low.rows().transpose(), Par::Seq).norm_l2(),
        }
    }
}
