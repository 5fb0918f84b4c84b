//! Hyperplanes with a square similarity loss: the similar samples are eliminated exactly.
//!
//! For hyperplane `l` let `p` be the similar samples, `q` the dissimilar ones and `S = K + r I`.
//! The dual of `min_u r/2 |u - g|^2 + 1/2 sum_p f_i^2 + sum_q loss(f_j)` has one variable per
//! dissimilar sample and the matrix
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
//! One versus rest has small `p`: one Cholesky of `S_pp` per class, O(n^3) for all classes
//! together. Rest versus one has small `q`, and ONE inverse of `S` serves all classes:
//! `M = ((S^-1)_qq)^-1 - r I` and `(S_pp)^-1 K_pq = -(S^-1)_pq ((S^-1)_qq)^-1`.

use faer::{ColMut, Mat, MatRef, Par};

use super::{FitError, Problem, Scheme};
use crate::kernel::algebra::{add_lower_product, add_times_vector, column, inner};
use crate::kernel::{Cholesky, mirror_lower, principal_submatrix, submatrix};
use crate::solve::box_qp::Quadratic;

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

/// The factorisations all hyperplanes of a problem share.
pub struct Planes<'a> {
    k: MatRef<'a, f64>,
    y: &'a [usize],
    par: Par,
    r: f64,
    scheme: Scheme,
    s_inverse: Option<Mat<f64>>,
}

impl<'a> Planes<'a> {
    /// Prepares the elimination for regulariser `r > 0`; `bias` appends a constant feature.
    pub fn new(problem: &'a Problem, r: f64, scheme: Scheme, bias: bool) -> Result<Self, FitError> {
        problem.require_every_class()?;
        let (k, par) = (problem.gram_with(bias), problem.par());
        let s_inverse = match scheme {
            Scheme::Ovr => None,
            Scheme::Rvo => Some(ridge_inverse(k, r, par)?),
        };
        Ok(Self {
            k,
            y: problem.y(),
            par,
            r,
            scheme,
            s_inverse,
        })
    }

    /// `(K + r I)^-1`, where the scheme needs it.
    pub fn s_inverse(&self) -> Option<MatRef<'_, f64>> {
        self.s_inverse.as_ref().map(Mat::as_ref)
    }

    /// The hyperplane of class `l`.
    pub fn plane(&self, l: usize) -> Result<Plane<'_>, FitError> {
        let Sides { near, far } = self.scheme.sides(self.y, l);
        let (k, r, par) = (self.k, self.r, self.par);
        let elimination = match &self.s_inverse {
            None => {
                let factor = cholesky(principal_submatrix(k, &near, r), r, par)?;
                let mut w = submatrix(k, &near, &far);
                factor.solve_lower(w.as_mut());
                Elimination::Direct { factor, w }
            }
            Some(s_inverse) => {
                let block = principal_submatrix(s_inverse.as_ref(), &far, 0.0);
                let schur = cholesky(block, r, par)?.into_inverse();
                Elimination::Inverse {
                    s_inverse: s_inverse.as_ref(),
                    schur,
                }
            }
        };
        Ok(Plane {
            k,
            r,
            par,
            near,
            far,
            elimination,
        })
    }
}

/// `(K + r I)^-1`.
fn ridge_inverse(k: MatRef<'_, f64>, r: f64, par: Par) -> Result<Mat<f64>, FitError> {
    let mut s = k.to_owned();
    for i in 0..s.nrows() {
        s[(i, i)] += r;
    }
    Ok(cholesky(s, r, par)?.into_inverse())
}

pub(super) fn cholesky(s: Mat<f64>, ridge: f64, par: Par) -> Result<Cholesky, FitError> {
    Cholesky::new(s, par).map_err(|error| FitError::NotPositiveDefinite {
        ridge,
        pivot: error.pivot,
    })
}

/// One hyperplane, its similar samples eliminated.
pub struct Plane<'a> {
    k: MatRef<'a, f64>,
    r: f64,
    par: Par,
    pub near: Vec<usize>,
    pub far: Vec<usize>,
    elimination: Elimination<'a>,
}

enum Elimination<'a> {
    /// `S_pp = L L^T` and `W = L^-1 K_pq`.
    Direct { factor: Cholesky, w: Mat<f64> },
    /// `S^-1` and `((S^-1)_qq)^-1`.
    Inverse {
        s_inverse: MatRef<'a, f64>,
        schur: Mat<f64>,
    },
}

/// What a known function `g` contributes: see [`Plane::pull`].
#[derive(Clone, Debug)]
pub struct Pull {
    /// `K_qp (S_pp)^-1 g_p`, on the dissimilar samples.
    pub at_far: Vec<f64>,
    /// What [`Plane::near_values`] needs of `g`, in the elimination's own coordinates.
    remainder: Vec<f64>,
}

impl Plane<'_> {
    /// `M = K_qq - K_qp (S_pp)^-1 K_pq`.
    pub fn reduced_matrix(&self) -> Mat<f64> {
        match &self.elimination {
            Elimination::Direct { w, .. } => {
                let mut m = submatrix(self.k, &self.far, &self.far);
                add_lower_product(m.as_mut(), -1.0, w.transpose(), w.as_ref(), self.par);
                mirror_lower(&mut m);
                m
            }
            Elimination::Inverse { schur, .. } => {
                let mut m = schur.clone();
                for i in 0..m.nrows() {
                    m[(i, i)] -= self.r;
                }
                m
            }
        }
    }

    /// The contribution of a function with values `g` on all samples. `s_inverse_g` is
    /// `S^-1 g` with `g` zero on the dissimilar samples; only the inverse elimination reads it,
    /// so that a caller can compute it for all classes in one product.
    pub fn pull(&self, g: &[f64], s_inverse_g: Option<&[f64]>) -> Pull {
        match &self.elimination {
            Elimination::Direct { factor, w } => {
                let mut h = Mat::from_fn(self.near.len(), 1, |i, _| g[self.near[i]]);
                factor.solve_lower(h.as_mut());
                let mut at_far = vec![0.0; self.far.len()];
                add_times_vector(
                    &mut at_far,
                    1.0,
                    w.transpose(),
                    column(h.as_ref(), 0),
                    self.par,
                );
                Pull {
                    at_far,
                    remainder: h.col(0).iter().copied().collect(),
                }
            }
            Elimination::Inverse { schur, .. } => {
                let t = s_inverse_g.expect("the inverse elimination is given S^-1 g");
                let t_far: Vec<f64> = self.far.iter().map(|&j| t[j]).collect();
                let mut w = vec![0.0; self.far.len()];
                add_times_vector(&mut w, 1.0, schur.as_ref(), &t_far, self.par);
                let at_far = w.iter().map(|value| -value).collect();
                let mut remainder: Vec<f64> = self.near.iter().map(|&i| t[i]).collect();
                remainder.extend(w);
                Pull { at_far, remainder }
            }
        }
    }

    /// `f_p = (S_pp)^-1 (r g_p + K_pq lambda)`.
    pub fn near_values(&self, lambda: &[f64], pull: Option<&Pull>) -> Vec<f64> {
        match &self.elimination {
            Elimination::Direct { factor, w } => {
                let mut values = match pull {
                    Some(pull) => pull.remainder.iter().map(|h| self.r * h).collect(),
                    None => vec![0.0; self.near.len()],
                };
                add_times_vector(&mut values, 1.0, w.as_ref(), lambda, self.par);
                factor.solve_upper(ColMut::from_slice_mut(&mut values).as_mat_mut());
                values
            }
            Elimination::Inverse { s_inverse, schur } => {
                let near = self.near.len();
                let mut weights = match pull {
                    Some(pull) => pull.remainder[near..].iter().map(|w| self.r * w).collect(),
                    None => vec![0.0; self.far.len()],
                };
                add_times_vector(&mut weights, 1.0, schur.as_ref(), lambda, self.par);
                let mut values = match pull {
                    Some(pull) => pull.remainder[..near].iter().map(|t| self.r * t).collect(),
                    None => vec![0.0; near],
                };
                for (&j, weight) in self.far.iter().zip(&weights) {
                    let column = s_inverse.col(j);
                    for (value, &i) in values.iter_mut().zip(&self.near) {
                        *value -= weight * column[i];
                    }
                }
                values
            }
        }
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

/// A hyperplane ready for repeated QPs: [`Plane`] plus the columns of `M`.
///
/// For rest versus one `M` is small and kept. For one versus rest it has nearly n^2 entries, but
/// most dissimilar samples never become active, so columns are computed when first asked for.
pub struct Reduced<'a> {
    plane: Plane<'a>,
    is_near: Vec<bool>,
    columns: Columns,
}

enum Columns {
    Dense(Mat<f64>),
    OnDemand {
        diagonal: Vec<f64>,
        known: Vec<Option<Vec<f64>>>,
    },
}

impl<'a> Plane<'a> {
    /// Prepares the columns of `M`.
    pub fn reduce(self) -> Reduced<'a> {
        let mut is_near = vec![false; self.near.len() + self.far.len()];
        for &i in &self.near {
            is_near[i] = true;
        }
        let columns = match &self.elimination {
            Elimination::Inverse { .. } => Columns::Dense(self.reduced_matrix()),
            Elimination::Direct { w, .. } => Columns::OnDemand {
                diagonal: (0..self.far.len())
                    .map(|j| {
                        self.k[(self.far[j], self.far[j])] - {
                            let w = column(w.as_ref(), j);
                            inner(w, w)
                        }
                    })
                    .collect(),
                known: vec![None; self.far.len()],
            },
        };
        Reduced {
            plane: self,
            is_near,
            columns,
        }
    }

    /// Column `j` of `M`, counted in the dissimilar samples.
    fn reduced_column(&self, j: usize) -> Vec<f64> {
        let Elimination::Direct { w, .. } = &self.elimination else {
            return self.reduced_matrix().col(j).iter().copied().collect();
        };
        let source = self.k.col(self.far[j]);
        let mut out: Vec<f64> = self.far.iter().map(|&i| source[i]).collect();
        add_times_vector(
            &mut out,
            -1.0,
            w.transpose(),
            column(w.as_ref(), j),
            self.par,
        );
        out
    }
}

impl<'a> std::ops::Deref for Reduced<'a> {
    type Target = Plane<'a>;
    fn deref(&self) -> &Plane<'a> {
        &self.plane
    }
}

impl Reduced<'_> {
    /// Whether sample `i` is a similar one.
    pub fn is_near(&self, i: usize) -> bool {
        self.is_near[i]
    }
}

impl Quadratic for Reduced<'_> {
    fn dense(&self, index: &[usize]) -> Mat<f64> {
        let m = self.plane.reduced_matrix();
        submatrix(m.as_ref(), index, index)
    }

    fn diagonal(&self, i: usize) -> f64 {
        match &self.columns {
            Columns::Dense(m) => m[(i, i)],
            Columns::OnDemand { diagonal, .. } => diagonal[i],
        }
    }

    fn column(&mut self, i: usize) -> &[f64] {
        match &mut self.columns {
            Columns::Dense(m) => column(m.as_ref(), i),
            Columns::OnDemand { known, .. } => {
                known[i].get_or_insert_with(|| self.plane.reduced_column(i))
            }
        }
    }
}
