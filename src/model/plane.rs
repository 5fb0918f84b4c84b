//! Rest versus one with a square similarity loss: the many similar samples are eliminated exactly.
//!
//! For hyperplane `l` let `p` be the similar samples (all other classes), `q` the dissimilar ones
//! (class `l`) and `S = K + r I`. The dual of `min_u r/2 |u - g|^2 + 1/2 sum_p f_i^2 + sum_q
//! loss(f_j)` has one variable per dissimilar sample and the matrix
//!
//! ```text
//! M / r,   M = K_qq - K_qp (S_pp)^-1 K_pq,
//! ```
//!
//! where `g` is a function known on the samples (zero for the plain methods, `P v_l` in NPSVC++).
//! Its linear part is `g_q - K_qp (S_pp)^-1 g_p`, and the function values on `p` are
//! `f_p = (S_pp)^-1 (r g_p + K_pq lambda)`. Then `u = g + phi(X) e / r`, `e_q = lambda`,
//! `e_p = -f_p`.
//!
//! ONE inverse of `S` serves all classes: `M = ((S^-1)_qq)^-1 - r I` and
//! `(S_pp)^-1 K_pq = -(S^-1)_pq ((S^-1)_qq)^-1`.

use faer::{Mat, MatRef, Par};

use super::{FitError, Problem, Scheme};
use crate::kernel::algebra::add_times_vector;
use crate::kernel::{Cholesky, principal_submatrix};

/// Similar (`near`) and dissimilar (`far`) samples of one hyperplane, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sides {
    pub near: Vec<usize>,
    pub far: Vec<usize>,
}

impl Scheme {
    /// The two sides of hyperplane `l`.
    pub fn sides(self, y: &[usize], l: usize) -> Sides {
        let (own, others) = (0..y.len()).partition(|&i| y[i] == l);
        match self {
            Self::Ovr => Sides {
                near: own,
                far: others,
            },
            Self::Rvo => Sides {
                near: others,
                far: own,
            },
        }
    }
}

/// The factorisation all hyperplanes of a problem share.
pub struct Planes<'a> {
    y: &'a [usize],
    par: Par,
    r: f64,
    s_inverse: Mat<f64>,
}

impl<'a> Planes<'a> {
    /// Prepares the elimination for regulariser `r > 0`; `bias` appends a constant feature.
    pub fn new(problem: &'a Problem, r: f64, bias: bool) -> Result<Self, FitError> {
        problem.require_every_class()?;
        let par = problem.par();
        let mut s = problem.gram_with(bias).to_owned();
        for i in 0..s.nrows() {
            s[(i, i)] += r;
        }
        Ok(Self {
            y: problem.y(),
            par,
            r,
            s_inverse: cholesky(s, r, par)?.into_inverse(),
        })
    }

    /// `(K + r I)^-1`.
    pub fn s_inverse(&self) -> MatRef<'_, f64> {
        self.s_inverse.as_ref()
    }

    /// The hyperplane of class `l`.
    pub fn plane(&self, l: usize) -> Result<Plane<'_>, FitError> {
        let Sides { near, far } = Scheme::Rvo.sides(self.y, l);
        let block = principal_submatrix(self.s_inverse.as_ref(), &far, 0.0);
        Ok(Plane {
            r: self.r,
            par: self.par,
            near,
            far,
            s_inverse: self.s_inverse.as_ref(),
            schur: cholesky(block, self.r, self.par)?.into_inverse(),
        })
    }
}

pub(super) fn cholesky(s: Mat<f64>, ridge: f64, par: Par) -> Result<Cholesky, FitError> {
    Cholesky::new(s, par).map_err(|error| FitError::NotPositiveDefinite {
        ridge,
        pivot: error.pivot,
    })
}

/// One hyperplane, its similar samples eliminated.
pub struct Plane<'a> {
    r: f64,
    par: Par,
    pub near: Vec<usize>,
    pub far: Vec<usize>,
    s_inverse: MatRef<'a, f64>,
    /// `((S^-1)_qq)^-1`.
    schur: Mat<f64>,
}

/// What a known function `g` contributes: see [`Plane::pull`].
#[derive(Clone, Debug)]
pub struct Pull {
    /// `K_qp (S_pp)^-1 g_p`, on the dissimilar samples.
    pub at_far: Vec<f64>,
    /// `(S^-1 g)_p` with `g` zero on the dissimilar samples.
    at_near: Vec<f64>,
}

impl Plane<'_> {
    /// `M = K_qq - K_qp (S_pp)^-1 K_pq`.
    pub fn reduced_matrix(&self) -> Mat<f64> {
        let mut m = self.schur.clone();
        for i in 0..m.nrows() {
            m[(i, i)] -= self.r;
        }
        m
    }

    /// The contribution of a function `g`: `s_inverse_g` is `S^-1 g` with `g` zero on the dissimilar
    /// samples, which a caller computes for all classes in one product.
    pub fn pull(&self, s_inverse_g: &[f64]) -> Pull {
        let at = |index: &[usize]| -> Vec<f64> { index.iter().map(|&i| s_inverse_g[i]).collect() };
        let mut at_far = vec![0.0; self.far.len()];
        let schur = self.schur.as_ref();
        add_times_vector(&mut at_far, -1.0, schur, &at(&self.far), self.par);
        Pull {
            at_far,
            at_near: at(&self.near),
        }
    }

    /// `f_p = (S_pp)^-1 (r g_p + K_pq lambda)`.
    pub fn near_values(&self, lambda: &[f64], pull: Option<&Pull>) -> Vec<f64> {
        let (mut weights, mut values) = match pull {
            Some(pull) => (
                pull.at_far.iter().map(|value| -self.r * value).collect(),
                pull.at_near.iter().map(|value| self.r * value).collect(),
            ),
            None => (vec![0.0; self.far.len()], vec![0.0; self.near.len()]),
        };
        add_times_vector(&mut weights, 1.0, self.schur.as_ref(), lambda, self.par);
        for (&j, weight) in self.far.iter().zip(&weights) {
            let column = self.s_inverse.col(j);
            for (value, &i) in values.iter_mut().zip(&self.near) {
                *value -= weight * column[i];
            }
        }
        values
    }

    /// `e / r` on all samples: `lambda / r` on the dissimilar ones, `-f_p / r` on the similar ones.
    pub fn coefficients(&self, lambda: &[f64], near_values: &[f64]) -> Vec<f64> {
        let mut coefficients = vec![0.0; self.near.len() + self.far.len()];
        for (&j, value) in self.far.iter().zip(lambda) {
            coefficients[j] = value / self.r;
        }
        for (&i, value) in self.near.iter().zip(near_values) {
            coefficients[i] = -value / self.r;
        }
        coefficients
    }
}
