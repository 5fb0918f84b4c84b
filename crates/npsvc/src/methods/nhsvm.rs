//! NHSVM: the two hyperplanes of a class against the rest in one problem.
//!
//! ```text
//! min_{f,h}  r/2 (|f|^2 + |h|^2) + 1/2 sum_p f(x_i)^2 + 1/2 sum_q h(x_j)^2
//!            + c sum_p [1 - (h - f)(x_i)]_+ + c sum_q [1 - (f - h)(x_j)]_+
//! ```
//!
//! `f` is close to class `p`, `h` to the rest `q`, and the hinge compares the two as the prediction
//! does. With `s = -1` on `p`, `+1` on `q` and `N_p = K - K_:p (r I + K_pp)^-1 K_p:`, the dual is
//! `min 1/2 l^T (s s^T o (N_p + N_q)) l / r - 1^T l` on `0 <= l <= c`. `ovr` predicts by the nearest
//! `f_l`, `rvo` by the farthest `h_l`. With a factor `K = G G^T`, `N_p = r G C_p^-1 G^T` and
//! `C_p = r I + G_p^T G_p`.

use faer::{Accum, Mat, MatRef, Par};

use super::duals::{CommonParameters, cholesky, shifted_gram};
use crate::algebra::{
    Cholesky, Matrix, OwnedMatrix, add_times_vector, column, column_mut, inner, lower_product,
    lower_submatrix, mirror_lower, submatrix,
};
use crate::params::{Range, method_parameters};
use crate::plain::Problem;
use crate::solve::box_qp::{self, Term};
use crate::sweep::ChainKey;
use crate::training_set::Shape;
use crate::{FitError, FitOptions, Method, MethodInfo, Scheme, Trained, TrainingSet};

method_parameters! {
    /// NHSVM: both hyperplanes of a class against the rest in one problem.
    ///
    /// ```text
    /// min_{f,h}  r/2 (|f|^2 + |h|^2) + 1/2 sum_p f(x_i)^2 + 1/2 sum_q h(x_j)^2
    ///            + c sum_p [1 - (h - f)(x_i)]_+ + c sum_q [1 - (f - h)(x_j)]_+
    /// ```
    ///
    /// ```
    /// use npsvc::ndarray::array;
    /// use npsvc::{FitOptions, Kernel, Method, Nhsvm, TrainingSet};
    ///
    /// let x = array![[0.0, 0.1], [0.2, 0.0], [1.0, 0.9], [0.8, 1.0]];
    /// let set = TrainingSet::new(x, vec![0, 0, 1, 1], &Kernel::default())?;
    /// let model = Nhsvm { c: 2.0, ..Nhsvm::default() }.fit(&set, FitOptions::default())?;
    /// assert_eq!(model.predict(set.x())?, set.y());
    /// assert!(model.certificate().converged());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct Nhsvm {
        /// Weight of the dissimilarity loss.
        c: f64 = 1.0, Range::Above(0.0);
        /// Regulariser.
        r: f64 = 0.1, Range::Above(0.0);
        /// Which samples a hyperplane is close to.
        scheme: Scheme = Scheme::Ovr;
        /// Append a constant feature, so that the hyperplanes need not pass through the origin.
        bias: bool = false;
        /// Relative duality gap at which a hyperplane counts as solved.
        tolerance: f64 = 1e-5, Range::Above(0.0);
    }
}

impl Method for Nhsvm {
    fn info(&self) -> &'static MethodInfo {
        &MethodInfo {
            name: "nhsvm",
            title: "NHSVM",
            about: "both hyperplanes of a class in one problem (after Shao et al. 2014)",
            losses: ["a²/2 for both planes", "[s − (b − a)]₊ between them"],
            version: 1,
            learns_representation: false,
        }
    }

    fn scheme(&self) -> Option<Scheme> {
        Some(self.scheme)
    }

    fn problem(&self) -> Option<Problem> {
        Some(Problem::Joint { c: self.c, common: self.common().plain() })
    }

    fn chain_key(&self) -> ChainKey {
        ChainKey::new(&Self { c: 0.0, ..self.clone() }, &[self.c], self.r)
    }

    fn train(&self, set: &TrainingSet, options: &mut FitOptions<'_>) -> Result<Trained, FitError> {
        let common = self.common();
        let (k, par) = (set.matrix(self.bias), options.par(set));
        let Shape { n, classes, .. } = set.shape();
        let mut b = Mat::zeros(n, classes);
        let mut certificates = Vec::with_capacity(classes);
        let terms = vec![Term::hinge(self.c).rescaled(self.r); n];
        for l in 0..classes {
            let joint = Joint::new(k, self.r, set.y(), l, par)?;
            let solution = box_qp::solve(joint.matrix.view(), &terms, None, common.settings(par));
            let column = joint.coefficients(k, &solution.x, self.scheme);
            column_mut(&mut b, l).copy_from_slice(&column);
            certificates.push(solution.certificate.scaled(self.r));
        }
        let values = k.times(b.as_ref(), par);
        common.trained(set, b, values.as_ref(), certificates)
    }
}

impl Nhsvm {
    fn common(&self) -> CommonParameters {
        CommonParameters::new(self.r, self.scheme, self.bias, self.tolerance)
    }
}

/// The joint dual of one class against the rest.
struct Joint {
    /// `s s^T o (N_p + N_q)`.
    matrix: OwnedMatrix,
    signs: Vec<f64>,
    /// The class and the rest.
    sides: [Side; 2],
}

/// Samples that are eliminated, and the factor of `r I + K_pp` or of `C_p`.
struct Side {
    index: Vec<usize>,
    factor: Cholesky,
}

impl Side {
    fn new(k: Matrix<'_>, r: f64, index: Vec<usize>, par: Par) -> Result<Self, FitError> {
        let factor = match k {
            Matrix::Full(k) => cholesky(lower_submatrix(k, &index, |_| r), r, par)?,
            Matrix::Factor(rows) => shifted_gram(rows, &index, r, par)?,
        };
        Ok(Self { index, factor })
    }
}

impl Joint {
    fn new(k: Matrix<'_>, r: f64, y: &[usize], l: usize, par: Par) -> Result<Self, FitError> {
        let (class, rest) = Scheme::Ovr.sides(y, l);
        let signs: Vec<f64> = y.iter().map(|&y| if y == l { -1.0 } else { 1.0 }).collect();
        let sides = [Side::new(k, r, class, par)?, Side::new(k, r, rest, par)?];
        let matrix = match k {
            Matrix::Full(k) => OwnedMatrix::Full(full(k, &signs, &sides, par)),
            Matrix::Factor(rows) => OwnedMatrix::Factor(factored(rows, r, &signs, &sides)),
        };
        Ok(Self { matrix, signs, sides })
    }

    /// The coefficients of `f` (scheme ovr) or `h` (scheme rvo) from the dual variables over `r`.
    fn coefficients(&self, k: Matrix<'_>, x: &[f64], scheme: Scheme) -> Vec<f64> {
        let [class, rest] = &self.sides;
        let (Side { index, factor }, sign) = match scheme {
            Scheme::Ovr => (class, 1.0),
            Scheme::Rvo => (rest, -1.0),
        };
        let signed = |(x, s): (&f64, &f64)| sign * s * x;
        let mut coefficients: Vec<f64> = x.iter().zip(&self.signs).map(signed).collect();
        match k {
            Matrix::Full(k) => {
                let mut values = Mat::from_fn(index.len(), 1, |a, _| {
                    let value = |(j, b): (usize, &f64)| k[(j, index[a])] * b;
                    coefficients.iter().enumerate().map(value).sum()
                });
                factor.solve(values.as_mut());
                for (a, &i) in index.iter().enumerate() {
                    coefficients[i] -= values[(a, 0)];
                }
            }
            // `(r I + K_pp)^-1 K_p: b = G_p C_p^-1 G^T b`.
            Matrix::Factor(rows) => {
                let mut inside = Mat::zeros(rows.nrows(), 1);
                let sum = column_mut(&mut inside, 0);
                add_times_vector(sum, 1.0, rows, &coefficients, Par::Seq);
                factor.solve(inside.as_mut());
                let inside = column(inside.as_ref(), 0);
                for &i in index {
                    coefficients[i] -= inner(column(rows, i), inside);
                }
            }
        }
        coefficients
    }
}

/// `2 K` less `K_:p (r I + K_pp)^-1 K_p:` of both sides, times the signs of row and column.
fn full(k: MatRef<'_, f64>, signs: &[f64], sides: &[Side; 2], par: Par) -> Mat<f64> {
    let n = k.nrows();
    let every: Vec<usize> = (0..n).collect();
    let mut matrix = Mat::from_fn(n, n, |i, j| 2.0 * k[(i, j)]);
    for Side { index, factor } in sides {
        let mut w = submatrix(k, index, &every);
        factor.solve_lower(w.as_mut());
        lower_product(matrix.as_mut(), Accum::Add, -1.0, w.transpose(), w.as_ref(), par);
    }
    for j in 0..n {
        for i in j..n {
            matrix[(i, j)] *= signs[i] * signs[j];
        }
    }
    mirror_lower(&mut matrix, par);
    matrix
}

/// The factor of the joint matrix: `sqrt(r) L^-1 G^T` of both sides, one above the other, the columns
/// times their signs.
fn factored(g: MatRef<'_, f64>, r: f64, signs: &[f64], [class, rest]: &[Side; 2]) -> Mat<f64> {
    let rank = g.nrows();
    let mut rows = Mat::from_fn(2 * rank, g.ncols(), |a, i| r.sqrt() * signs[i] * g[(a % rank, i)]);
    let (above, below) = rows.as_mut().split_at_row_mut(rank);
    class.factor.solve_lower(above);
    rest.factor.solve_lower(below);
    rows
}
