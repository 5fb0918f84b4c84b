//! A square similarity loss: the similar samples are eliminated exactly.
//!
//! For hyperplane `l` let `p` be the similar samples, `q` the dissimilar ones and `S = K + r I`. The
//! dual of `min_u r/2 |u - g|^2 + 1/2 sum_p f_i^2 + sum_q loss(f_j)` has one variable per dissimilar
//! sample and the matrix
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
//! Rest versus one, where `q` is small: ONE inverse of `S` serves all classes,
//! `M = ((S^-1)_qq)^-1 - r I` and `(S_pp)^-1 K_pq = -(S^-1)_pq ((S^-1)_qq)^-1`. With a factor
//! `K = G G^T`, either scheme: `C = r I + G_p^T G_p` is small, `M = r G_q C^-1 G_q^T`,
//! `K_qp (S_pp)^-1 = G_q C^-1 G_p^T` and `f_p = g_p + G_p C^-1 (G_q^T lambda - G_p^T g_p)`.

use std::sync::Arc;

use faer::{Mat, MatRef, Par};
use rayon::prelude::*;

use super::{FitError, Problem, Scheme};
use crate::kernel::algebra::{
    add_lower_product, add_scaled, add_times_vector, column, column_mut, inner, product,
};
use crate::kernel::{Cholesky, Gram, LowRank, columns, principal_submatrix};
use crate::solve::box_qp::{self, Dense, Factored, Settings, Solution, Term};

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

/// What all hyperplanes of a problem share.
pub struct Planes<'a> {
    y: &'a [usize],
    par: Par,
    r: f64,
    scheme: Scheme,
    shared: Shared<'a>,
}

enum Shared<'a> {
    /// `(K + r I)^-1`.
    Inverse(Arc<Mat<f64>>),
    /// `G`.
    Factor(&'a LowRank),
}

impl<'a> Planes<'a> {
    /// Prepares the elimination for regulariser `r > 0`, if that is worth while: one versus rest
    /// leaves nearly all samples, unless there is a factor of the kernel matrix. `bias` appends a
    /// constant feature.
    pub fn new(
        problem: &'a Problem,
        r: f64,
        scheme: Scheme,
        bias: bool,
    ) -> Result<Option<Self>, FitError> {
        problem.require_every_class()?;
        let par = problem.par();
        let shared = match (problem.gram_with(bias), scheme) {
            (Gram::Full(_), Scheme::Ovr) => return Ok(None),
            (Gram::Full(k), Scheme::Rvo) => {
                let make = || {
                    let mut s = k.to_owned();
                    for i in 0..s.nrows() {
                        s[(i, i)] += r;
                    }
                    Ok(cholesky(s, r, par)?.into_inverse())
                };
                Shared::Inverse(problem.inverse(r, bias, make)?)
            }
            (Gram::LowRank(low), _) => Shared::Factor(low),
        };
        Ok(Some(Self {
            y: problem.y(),
            par,
            r,
            scheme,
            shared,
        }))
    }

    /// What [`Plane::pull`] asks for, for functions with values `g` (a column per class, zero on the
    /// class's dissimilar samples): `S^-1 g` or `G^T g`, in one product.
    pub fn pulls(&self, g: MatRef<'_, f64>) -> Mat<f64> {
        match &self.shared {
            Shared::Inverse(s_inverse) => {
                Gram::Full(s_inverse.as_ref().as_ref()).times(g, self.par)
            }
            Shared::Factor(low) => product(low.rows(), g, self.par),
        }
    }

    /// `f_p = (S_pp)^-1 (r g_p + K_pq lambda)` of some planes, with one product for all of them
    /// where there is a factor.
    pub fn near_values(
        &self,
        planes: &[Plane<'_>],
        lambdas: &[Vec<f64>],
        pulls: Option<&[Pull]>,
    ) -> Vec<Vec<f64>> {
        let pull = |index: usize| pulls.map(|pulls| &pulls[index]);
        let one = |index: usize| {
            let (plane, lambda) = (&planes[index], &lambdas[index]);
            match &plane.form {
                Form::Inverse {
                    s_inverse, schur, ..
                } => (
                    plane.near_values(*s_inverse, schur, lambda, pull(index)),
                    Mat::zeros(0, 1),
                ),
                Form::Factor { rows, c, .. } => {
                    let known = pull(index).map(|pull| pull.at_near.clone());
                    (
                        known.unwrap_or_else(|| vec![0.0; plane.near.len()]),
                        plane.inside(*rows, c, lambda, pull(index)),
                    )
                }
            }
        };
        let (mut values, insides): (Vec<Vec<f64>>, Vec<Mat<f64>>) = if self.par.degree() > 1 {
            (0..planes.len()).into_par_iter().map(one).unzip()
        } else {
            (0..planes.len()).map(one).unzip()
        };
        if let Shared::Factor(low) = &self.shared {
            let all = Mat::from_fn(low.rank(), insides.len(), |a, l| insides[l][(a, 0)]);
            let spread = product(low.rows().transpose(), all.as_ref(), self.par);
            for (l, (plane, values)) in planes.iter().zip(&mut values).enumerate() {
                for (value, &i) in values.iter_mut().zip(&plane.near) {
                    *value += spread[(i, l)];
                }
            }
        }
        values
    }

    /// The hyperplane of class `l`.
    pub fn plane(&self, l: usize) -> Result<Plane<'_>, FitError> {
        let Sides { near, far } = self.scheme.sides(self.y, l);
        let form = match &self.shared {
            Shared::Inverse(s_inverse) => {
                let block = principal_submatrix(s_inverse.as_ref().as_ref(), &far, 0.0);
                let schur = cholesky(block, self.r, self.par)?.into_inverse();
                let mut reduced = schur.clone();
                for i in 0..reduced.nrows() {
                    reduced[(i, i)] -= self.r;
                }
                Form::Inverse {
                    s_inverse: s_inverse.as_ref().as_ref(),
                    schur,
                    reduced,
                }
            }
            Shared::Factor(low) => {
                let c = shifted_gram(low.rows(), &near, self.r, self.par)?;
                let mut reduced = columns(low.rows(), &far);
                reduced *= faer::Scale(self.r.sqrt());
                c.solve_lower(reduced.as_mut());
                Form::Factor {
                    rows: low.rows(),
                    c: c.sequential(),
                    reduced,
                }
            }
        };
        Ok(Plane {
            r: self.r,
            par: self.par,
            near,
            far,
            form,
        })
    }
}

/// The Cholesky factor of `r I + G_p^T G_p`.
pub(super) fn shifted_gram(
    rows: MatRef<'_, f64>,
    index: &[usize],
    r: f64,
    par: Par,
) -> Result<Cholesky, FitError> {
    let some = columns(rows, index);
    let mut c = Mat::from_fn(
        rows.nrows(),
        rows.nrows(),
        |i, j| {
            if i == j { r } else { 0.0 }
        },
    );
    add_lower_product(c.as_mut(), 1.0, some.as_ref(), some.transpose(), par);
    cholesky(c, r, par)
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
    form: Form<'a>,
}

enum Form<'a> {
    Inverse {
        s_inverse: MatRef<'a, f64>,
        /// `((S^-1)_qq)^-1`.
        schur: Mat<f64>,
        /// `M`.
        reduced: Mat<f64>,
    },
    Factor {
        /// `G^T`.
        rows: MatRef<'a, f64>,
        /// Of `C`, lower factor `L`.
        c: Cholesky,
        /// `sqrt(r) L^-1 G_q^T`: with it, `M` is this transposed times this.
        reduced: Mat<f64>,
    },
}

/// What a known function `g` contributes: see [`Plane::pull`].
#[derive(Clone, Debug)]
pub struct Pull {
    /// `K_qp (S_pp)^-1 g_p`, on the dissimilar samples.
    pub at_far: Vec<f64>,
    /// What is known of `f_p` by now: `r (S^-1 g)_p`, or `g_p` if there is a factor.
    at_near: Vec<f64>,
    /// `C^-1 G_p^T g_p`, if there is a factor.
    inside: Vec<f64>,
}

impl Plane<'_> {
    /// Solves the box QP with the matrix `M`.
    pub fn solve(&self, terms: &[Term], start: Option<&[f64]>, settings: Settings) -> Solution {
        match &self.form {
            Form::Inverse { reduced, .. } => {
                let matrix = reduced.as_ref();
                box_qp::solve(&Dense { matrix }, terms, start, settings)
            }
            Form::Factor { reduced, .. } => {
                let rows = reduced.as_ref();
                box_qp::solve(&Factored { rows }, terms, start, settings)
            }
        }
    }

    /// `M x`.
    pub fn times_vector(&self, x: &[f64]) -> Vec<f64> {
        let mut values = vec![0.0; x.len()];
        match &self.form {
            Form::Inverse { reduced, .. } => {
                add_times_vector(&mut values, 1.0, reduced.as_ref(), x, self.par);
            }
            Form::Factor { reduced, .. } => {
                let mut inside = vec![0.0; reduced.nrows()];
                add_times_vector(&mut inside, 1.0, reduced.as_ref(), x, self.par);
                add_times_vector(&mut values, 1.0, reduced.transpose(), &inside, self.par);
            }
        }
        values
    }

    /// The contribution of a function with values `g`, zero on the dissimilar samples, of which
    /// `pulled` is the column of [`Planes::pulls`].
    pub fn pull(&self, g: &[f64], pulled: &[f64]) -> Pull {
        match &self.form {
            Form::Inverse { schur, .. } => {
                let inside: Vec<f64> = self.far.iter().map(|&j| pulled[j]).collect();
                let mut at_far = vec![0.0; self.far.len()];
                add_times_vector(&mut at_far, -1.0, schur.as_ref(), &inside, self.par);
                Pull {
                    at_far,
                    at_near: self.near.iter().map(|&i| self.r * pulled[i]).collect(),
                    inside: Vec::new(),
                }
            }
            Form::Factor { rows, c, .. } => {
                let mut inside = Mat::from_fn(pulled.len(), 1, |a, _| pulled[a]);
                c.solve(inside.as_mut());
                let inside = column(inside.as_ref(), 0).to_vec();
                Pull {
                    at_far: (self.far.iter())
                        .map(|&j| inner(column(*rows, j), &inside))
                        .collect(),
                    at_near: self.near.iter().map(|&i| g[i]).collect(),
                    inside,
                }
            }
        }
    }

    /// `f_p` through the inverse of S.
    fn near_values(
        &self,
        s_inverse: MatRef<'_, f64>,
        schur: &Mat<f64>,
        lambda: &[f64],
        pull: Option<&Pull>,
    ) -> Vec<f64> {
        let (mut weights, mut values) = match pull {
            Some(pull) => (
                pull.at_far.iter().map(|value| -self.r * value).collect(),
                pull.at_near.clone(),
            ),
            None => (vec![0.0; self.far.len()], vec![0.0; self.near.len()]),
        };
        add_times_vector(&mut weights, 1.0, schur.as_ref(), lambda, Par::Seq);
        // On all samples first: whole columns are read much faster than picked entries.
        let mut all = vec![0.0; s_inverse.nrows()];
        for (&j, weight) in self.far.iter().zip(&weights) {
            add_scaled(&mut all, *weight, column(s_inverse, j));
        }
        for (value, &i) in values.iter_mut().zip(&self.near) {
            *value -= all[i];
        }
        values
    }

    /// `C^-1 (G_q^T lambda - G_p^T g_p)`.
    fn inside(
        &self,
        rows: MatRef<'_, f64>,
        c: &Cholesky,
        lambda: &[f64],
        pull: Option<&Pull>,
    ) -> Mat<f64> {
        let mut inside = Mat::zeros(rows.nrows(), 1);
        let sum = column_mut(&mut inside, 0);
        for (&j, lambda) in self.far.iter().zip(lambda) {
            add_scaled(sum, *lambda, column(rows, j));
        }
        c.solve(inside.as_mut());
        if let Some(pull) = pull {
            for (sum, pulled) in column_mut(&mut inside, 0).iter_mut().zip(&pull.inside) {
                *sum -= pulled;
            }
        }
        inside
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
